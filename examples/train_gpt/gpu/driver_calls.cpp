// SPDX-License-Identifier: Apache-2.0
// CUPTI is opened when the program runs, so that it starts on machines without it. Compiled with
// TRAIN_GPT_HAS_CUPTI where its headers were found.
#include "driver_calls.hpp"

#include <zero/device/gpu/error.hpp>

#include <cuda_runtime_api.h>

#ifdef TRAIN_GPT_HAS_CUPTI
#  include <cupti.h>
#  include <dlfcn.h>
#endif

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace train_gpt::gpu {

namespace {

thread_local int watched = 0;

#ifdef TRAIN_GPT_HAS_CUPTI

/// A call of the runtime makes one of the driver, which may or may not be told apart; the larger
/// count is right.
struct counts {
  std::atomic<std::int64_t> runtime{0};
  std::atomic<std::int64_t> driver{0};

  [[nodiscard]] std::int64_t read() const noexcept {
    return std::max(runtime.load(), driver.load());
  }
};

counts allocations;
counts waits;
std::atomic<bool> counting{false};

constexpr CUpti_CallbackId runtime_allocations[] = {
    CUPTI_RUNTIME_TRACE_CBID_cudaMalloc_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaMallocPitch_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaMallocHost_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaHostAlloc_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaMallocManaged_v6000,
    CUPTI_RUNTIME_TRACE_CBID_cudaMallocAsync_v11020,
    CUPTI_RUNTIME_TRACE_CBID_cudaMallocAsync_ptsz_v11020,
    CUPTI_RUNTIME_TRACE_CBID_cudaMallocFromPoolAsync_v11020,
};
constexpr CUpti_CallbackId driver_allocations[] = {
    CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2,
    CUPTI_DRIVER_TRACE_CBID_cuMemAllocPitch_v2,
    CUPTI_DRIVER_TRACE_CBID_cuMemAllocHost_v2,
    CUPTI_DRIVER_TRACE_CBID_cuMemHostAlloc,
    CUPTI_DRIVER_TRACE_CBID_cuMemAllocManaged,
    CUPTI_DRIVER_TRACE_CBID_cuMemAllocAsync,
    CUPTI_DRIVER_TRACE_CBID_cuMemAllocAsync_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuMemAllocFromPoolAsync,
    CUPTI_DRIVER_TRACE_CBID_cuMemCreate,
};
constexpr CUpti_CallbackId runtime_waits[] = {
    CUPTI_RUNTIME_TRACE_CBID_cudaDeviceSynchronize_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaStreamSynchronize_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaStreamSynchronize_ptsz_v7000,
    CUPTI_RUNTIME_TRACE_CBID_cudaEventSynchronize_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaStreamQuery_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaStreamQuery_ptsz_v7000,
    CUPTI_RUNTIME_TRACE_CBID_cudaEventQuery_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaMemcpy_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaMemcpy_ptds_v7000,
    CUPTI_RUNTIME_TRACE_CBID_cudaMemcpy2D_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyToSymbol_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyFromSymbol_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaFree_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaFreeHost_v3020,
};
constexpr CUpti_CallbackId driver_waits[] = {
    CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize,
    CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize,
    CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuEventSynchronize,
    CUPTI_DRIVER_TRACE_CBID_cuStreamQuery,
    CUPTI_DRIVER_TRACE_CBID_cuStreamQuery_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuEventQuery,
    CUPTI_DRIVER_TRACE_CBID_cuMemcpy,
    CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoD_v2,
    CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoH_v2,
    CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoD_v2,
    CUPTI_DRIVER_TRACE_CBID_cuMemcpy2D_v2,
    CUPTI_DRIVER_TRACE_CBID_cuMemFree_v2,
    CUPTI_DRIVER_TRACE_CBID_cuMemFreeHost,
};

template <std::size_t Count>
bool among(CUpti_CallbackId const (&ids)[Count], CUpti_CallbackId id) noexcept {
  return std::find(ids, ids + Count, id) != ids + Count;
}

void CUPTIAPI called(void* /*data*/,
                     CUpti_CallbackDomain domain,
                     CUpti_CallbackId id,
                     void const* details) {
  auto const* const call = static_cast<CUpti_CallbackData const*>(details);
  if (watched == 0 || call->callbackSite != CUPTI_API_ENTER) {
    return;
  }
  if (domain == CUPTI_CB_DOMAIN_RUNTIME_API) {
    ++(among(runtime_allocations, id) ? allocations : waits).runtime;
  } else {
    ++(among(driver_allocations, id) ? allocations : waits).driver;
  }
}

void* open_cupti() noexcept {
  for (char const* const name : {
           "libcupti.so.13",
           "libcupti.so.12",
           "libcupti.so",
#  ifdef TRAIN_GPT_CUPTI
           TRAIN_GPT_CUPTI,  // where it was found when this was compiled
#  endif
       }) {
    if (void* const library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) {
      return library;
    }
  }
  return nullptr;
}

bool subscribe() noexcept {
  void* const library = open_cupti();
  if (library == nullptr) {
    return false;
  }
  auto const subscribe_call =
      reinterpret_cast<decltype(&cuptiSubscribe)>(dlsym(library, "cuptiSubscribe"));
  auto const enable =
      reinterpret_cast<decltype(&cuptiEnableCallback)>(dlsym(library, "cuptiEnableCallback"));
  CUpti_SubscriberHandle handle = nullptr;
  if (subscribe_call == nullptr || enable == nullptr ||
      subscribe_call(&handle, called, nullptr) != CUPTI_SUCCESS) {
    return false;
  }
  bool complete = true;
  auto const enable_all = [&](CUpti_CallbackDomain domain, auto const& ids) {
    for (CUpti_CallbackId const id : ids) {
      complete = enable(1, handle, domain, id) == CUPTI_SUCCESS && complete;
    }
  };
  enable_all(CUPTI_CB_DOMAIN_RUNTIME_API, runtime_allocations);
  enable_all(CUPTI_CB_DOMAIN_RUNTIME_API, runtime_waits);
  enable_all(CUPTI_CB_DOMAIN_DRIVER_API, driver_allocations);
  enable_all(CUPTI_CB_DOMAIN_DRIVER_API, driver_waits);
  return complete;
}

/// Whether an allocation and a wait of our own are seen.
bool sees_itself() noexcept {
  driver_calls const before{allocations.read(), waits.read()};
  {
    watched_scope const scope;
    void* memory = nullptr;
    (void)cudaMalloc(&memory, 256);
    (void)cudaDeviceSynchronize();
    (void)cudaFree(memory);
  }
  return allocations.read() == before.allocations + 1 && waits.read() == before.waits + 2;
}

#endif

}  // namespace

void watch_driver() noexcept {
#ifdef TRAIN_GPT_HAS_CUPTI
  static bool const once = [] {
    counting = subscribe() && sees_itself();
    return true;
  }();
  static_cast<void>(once);
#endif
}

std::optional<driver_calls> watched_driver_calls() noexcept {
#ifdef TRAIN_GPT_HAS_CUPTI
  if (counting) {
    return driver_calls{allocations.read(), waits.read()};
  }
#endif
  return std::nullopt;
}

watched_scope::watched_scope() noexcept {
  ++watched;
}

watched_scope::~watched_scope() {
  --watched;
}

std::int64_t device_bytes_taken() {
  std::size_t free = 0;
  std::size_t total = 0;
  zero::check_cuda(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
  return static_cast<std::int64_t>(total - free);
}

}  // namespace train_gpt::gpu
