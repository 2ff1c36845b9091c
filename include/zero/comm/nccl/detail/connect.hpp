// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/comm/detail/deadline.hpp>
#include <zero/comm/nccl/error.hpp>
#include <zero/comm/nccl/options.hpp>
#include <zero/core/error.hpp>
#include <zero/version.hpp>

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

namespace zero::inline ZERO_ABI::detail {

/// Waits until a communicator that does not block has done what it was asked for.
[[nodiscard]] inline ncclResult_t settled(ncclResult_t result, ncclComm_t comm) {
  while (result == ncclInProgress) {
    std::this_thread::sleep_for(std::chrono::microseconds(100));
    ncclResult_t state = ncclInProgress;
    ncclResult_t const asked = ncclCommGetAsyncError(comm, &state);
    result = asked == ncclSuccess ? state : asked;
  }
  return result;
}

/// The configuration that the options ask for.
/// @throws logic_error when the loaded NCCL cannot do it
[[nodiscard]] inline ncclConfig_t make_config(nccl_options const& options) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = options.blocking ? 1 : 0;
  if (options.min_ctas >= 0) {
    config.minCTAs = options.min_ctas;
  }
  if (options.max_ctas >= 0) {
    config.maxCTAs = options.max_ctas;
  }
  if (options.cta_policy != nccl_cta_policy::library) {
    precondition(nccl_features::of_library().cta_policy,
                 "zero::Nccl: nccl_options::cta_policy needs NCCL 2.28.3 or newer; leave it at "
                 "nccl_cta_policy::library");
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 28, 3)
    config.CTAPolicy = options.cta_policy == nccl_cta_policy::zero ? NCCL_CTA_POLICY_ZERO
                                                                   : NCCL_CTA_POLICY_EFFICIENCY;
#endif
  }
  return config;
}

/// Makes a communicator on a thread of its own and waits for it no longer than the limit: a rank
/// that never comes would hold NCCL's call for ever, and until it returns there is nothing to
/// abort.
///
/// @param device the device of this rank
/// @param limit  longest wait
/// @param call   name of NCCL's call, a string literal
/// @param make   make(ncclComm_t*) -> ncclResult_t, copied to the thread
/// @throws nccl_error when NCCL refuses; peer_error when the limit passes; the thread is then left
///         to itself and aborts what it may still get
template <class Make>
[[nodiscard]] ncclComm_t connect_in_time(int device,
                                         std::chrono::nanoseconds limit,
                                         char const* call,
                                         Make make) {
  struct attempt {
    std::mutex mutex;
    std::condition_variable ended;
    bool over = false;
    bool abandoned = false;
    ncclComm_t comm = nullptr;
    ncclResult_t result = ncclInProgress;
    std::string text;
  };

  auto const shared = std::make_shared<attempt>();
  std::thread worker([shared, device, make = std::move(make)]() mutable {
    ncclComm_t comm = nullptr;
    ncclResult_t result = cudaSetDevice(device) == cudaSuccess ? ncclSuccess : ncclInvalidArgument;
    if (result == ncclSuccess) {
      result = make(&comm);
      result = comm == nullptr ? result : settled(result, comm);
    }
    std::unique_lock lock(shared->mutex);
    if (shared->abandoned) {
      lock.unlock();
      if (comm != nullptr) {
        static_cast<void>(ncclCommAbort(comm));
      }
      return;
    }
    shared->comm = comm;
    shared->result = result;
    if (result != ncclSuccess) {
      shared->text = nccl_error_text(result, nullptr);
    }
    shared->over = true;
    shared->ended.notify_one();
  });

  std::unique_lock lock(shared->mutex);
  if (!shared->ended.wait_for(lock, limit, [&] { return shared->over; })) {
    shared->abandoned = true;
    worker.detach();
    throw peer_error("NCCL did not connect all ranks within " + deadline(limit).text() +
                         "; start all ranks, and see NCCL_DEBUG=INFO for what each waits for",
                     -1,
                     0,
                     "",
                     call);
  }
  lock.unlock();
  worker.join();
  if (shared->result != ncclSuccess) {
    if (shared->comm != nullptr) {
      static_cast<void>(ncclCommAbort(shared->comm));
    }
    throw nccl_error(static_cast<int>(shared->result), call, shared->text);
  }
  return shared->comm;
}

/// A communicator of the same ranks as `parent`. Collective.
/// @param limit,config the options' limit and `make_config`
/// @throws see connect_in_time
[[nodiscard]] inline ncclComm_t split_in_time(ncclComm_t parent,
                                              int rank,
                                              int device,
                                              std::chrono::nanoseconds limit,
                                              ncclConfig_t const& config) {
  return connect_in_time(
      device, limit, "ncclCommSplit", [parent, rank, config = config](ncclComm_t* made) mutable {
        ncclResult_t const result = ncclCommSplit(parent, 0, rank, made, &config);
        // NCCL 2.28 says success while a parent that does not block is at it.
        return settled(result == ncclSuccess ? ncclInProgress : result, parent);
      });
}

}  // namespace zero::inline ZERO_ABI::detail
