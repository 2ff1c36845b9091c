// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/comm/nccl/error.hpp>
#include <zero/core/dtype.hpp>
#include <zero/core/rank_order.hpp>
#include <zero/version.hpp>

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace zero::inline ZERO_ABI::detail {

/// NCCL's name of an element type.
[[nodiscard]] constexpr ncclDataType_t nccl_type(dtype type) noexcept {
  return type == dtype::fp32 ? ncclFloat32 : type == dtype::bf16 ? ncclBfloat16 : ncclFloat16;
}

/// `communicator::all_to_others` by sends and receives, beginning with the next rank, so that not
/// all turn to the same rank at once. The own chunk stays where it is.
inline ncclResult_t nccl_exchange(ncclComm_t comm,
                                  int rank,
                                  int ranks,
                                  cudaStream_t stream,
                                  std::byte const* send,
                                  std::int64_t stride_bytes,
                                  std::byte* receive,
                                  std::int64_t bytes) {
  auto const count = static_cast<std::size_t>(bytes);
  ncclResult_t result = ncclGroupStart();
  for (int i = 1; i < ranks && result == ncclSuccess; ++i) {
    int const to = (rank + i) % ranks;
    int const from = (rank + ranks - i) % ranks;
    result = ncclSend(send + to * stride_bytes, count, ncclUint8, to, comm, stream);
    if (result == ncclSuccess || result == ncclInProgress) {
      result = ncclRecv(
          receive + place_among_others(from, rank) * bytes, count, ncclUint8, from, comm, stream);
    }
    result = result == ncclInProgress ? ncclSuccess : result;
  }
  ncclResult_t const ended = ncclGroupEnd();
  return result == ncclSuccess ? ended : result;
}

/// NCCL's operators "multiply by a factor, then add" of one communicator, which frees what it has
/// in the end; one is kept for each type.
class nccl_sums {
 public:
  /// @throws nccl_error
  [[nodiscard]] ncclRedOp_t of(ncclComm_t comm, dtype type, double prescale) {
    if (prescale == 1) {
      return ncclSum;
    }
    scaled_sum& kept = scaled_[static_cast<std::size_t>(type)];
    if (!kept.made || kept.prescale != prescale) {
      if (std::exchange(kept.made, false)) {
        check_nccl(ncclRedOpDestroy(kept.operation, comm), "ncclRedOpDestroy", comm);
      }
      visit_dtype(type, [&](auto tag) {
        auto scale = from_float<typename decltype(tag)::type>(static_cast<float>(prescale));
        check_nccl(ncclRedOpCreatePreMulSum(
                       &kept.operation, &scale, nccl_type(type), ncclScalarHostImmediate, comm),
                   "ncclRedOpCreatePreMulSum",
                   comm);
      });
      kept.prescale = prescale;
      kept.made = true;
    }
    return kept.operation;
  }

 private:
  struct scaled_sum {
    ncclRedOp_t operation = ncclSum;
    double prescale = 1;
    bool made = false;
  };

  std::array<scaled_sum, 3> scaled_{};
};

}  // namespace zero::inline ZERO_ABI::detail
