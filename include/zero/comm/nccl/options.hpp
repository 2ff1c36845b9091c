// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/version.hpp>

#include <nccl.h>

#include <chrono>
#include <cstdint>

namespace zero::inline ZERO_ABI {

/// How device memory is made known by `nccl_communicator::register_memory`, and to whom.
enum class nccl_registration : std::uint8_t {
  none,    ///< the plain path: any memory, nothing is registered
  buffer,  ///< `ncclCommRegister` (NCCL 2.29.2 and newer; older ones hang, NVIDIA/nccl issue 1859)
  symmetric,  ///< symmetric windows (NCCL 2.27 and newer); memory of `nccl_allocator`, same sizes
              ///< on all ranks
  peers,  ///< CUDA IPC between the ranks of one host: `all_gather` and `all_to_others` into known
          ///< memory are copies by copy engines, which take no multiprocessor from the products
          ///< beside them, sums read the others' memory, and NCCL moves the rest. Memory of
          ///< `cudaMalloc`, same sizes and offsets on all ranks; GPUs with peer access; at most 64
          ///< ranks. Streams wait for other ranks where CUDA cannot see it: several communicators
          ///< of one GPU must be used in the same order on all ranks
};

/// Which part of the GPU NCCL's kernels may take.
enum class nccl_cta_policy : std::uint8_t {
  library,     ///< NCCL's own choice
  efficiency,  ///< few blocks (NCCL 2.27 and newer)
  zero,  ///< copy engines where it can, no blocks (NCCL 2.28 and newer); symmetric memory only
};

/// What an NCCL communicator may be told. Nothing here touches NCCL's environment variables, which
/// stay in force (`NCCL_NVLS_ENABLE` among them).
struct nccl_options {
  /// How long an operation may take once it has begun, and the ranks may take to find each other.
  /// Past it this rank aborts its communicator and fails with a message. A replayed step is one
  /// operation.
  std::chrono::milliseconds limit = std::chrono::seconds(120);

  /// The device of this rank; -1: what `Nccl::from_environment` makes of `LOCAL_RANK`, otherwise
  /// the current device of the calling thread.
  int device = -1;

  /// Whether calls of NCCL may block the calling thread on the host, e.g. while a connection is
  /// made that no earlier call needed. Without it NCCL starts a thread a call, which costs some ten
  /// microseconds each, and `abort` never meets a blocked call.
  bool blocking = true;

  /// `from_handle`: make a communicator of our own out of the user's, by `ncclCommSplit`.
  bool split = false;

  int min_ctas = -1;  ///< fewest blocks of a kernel; -1: NCCL's choice
  int max_ctas = -1;  ///< most blocks of a kernel; -1: NCCL's choice
  nccl_cta_policy cta_policy = nccl_cta_policy::library;  ///< which blocks to use at all

  /// What `register_memory` does. The same on all ranks.
  nccl_registration registration = nccl_registration::none;

  /// `nccl_registration::peers`: most bytes of a shard whose sum reads the other ranks'
  /// contributions where they lie, by one kernel: that is faster in itself, but takes
  /// multiprocessors from the products beside it for as long as the bytes travel. Larger shards
  /// travel in pieces, by copy engines, each summed while the next one comes. 0: all do. So do FP32
  /// sums of several micro-steps in stage 1, whose pool is not known to the others. The same on all
  /// ranks.
  std::int64_t peer_reading_bytes = std::int64_t{64} << 20;

  /// Bytes of the largest collective that the constructor runs, so that NCCL connects and allocates
  /// before the first step. 0 runs the small ones alone. The same on all ranks.
  std::int64_t warm_up_bytes = std::int64_t{32} << 20;

  /// How often the watchdog looks.
  std::chrono::milliseconds watch_interval{10};
};

/// The version of NCCL that is loaded, as `NCCL_VERSION_CODE` counts; headers of another version
/// may have been compiled against. 0 when it does not say.
[[nodiscard]] inline int nccl_library_version() noexcept {
  int version = 0;
  return ncclGetVersion(&version) == ncclSuccess ? version : 0;
}

namespace detail {

/// What the headers declare *and* the loaded library has.
struct nccl_features {
  bool memory = false;        // ncclMemAlloc
  bool registration = false;  // ncclCommRegister, such that gathers may follow exchanges
  bool windows = false;       // ncclCommWindowRegister
  bool cta_policy = false;    // ncclConfig_t::CTAPolicy
  bool revoke = false;        // ncclCommRevoke

  [[nodiscard]] static nccl_features of_library() noexcept {
    [[maybe_unused]] int const loaded = nccl_library_version();
    nccl_features result;
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 19, 1)
    result.memory = loaded >= NCCL_VERSION(2, 19, 1);
    result.registration = loaded >= NCCL_VERSION(2, 29, 2);
#endif
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 27, 3)
    result.windows = loaded >= NCCL_VERSION(2, 27, 3);
#endif
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 28, 3)
    result.cta_policy = loaded >= NCCL_VERSION(2, 28, 3);
#endif
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 28, 7)
    result.revoke = loaded >= NCCL_VERSION(2, 28, 7);
#endif
    return result;
  }
};

}  // namespace detail

}  // namespace zero::inline ZERO_ABI
