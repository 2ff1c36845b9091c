// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/arithmetic.hpp>
#include <zero/core/dtype.hpp>
#include <zero/device/gpu/launch.cuh>
#include <zero/device/gpu/vectors.cuh>
#include <zero/device/update_arguments.hpp>
#include <zero/optim/concepts.hpp>
#include <zero/optim/step_state.hpp>
#include <zero/plan/groups.hpp>
#include <zero/version.hpp>

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace zero::inline ZERO_ABI::detail {

/// Threads of a thread block of `update_kernel`.
inline constexpr int update_threads = 256;

/// Elements of a thread: 16 bytes of each FP32 array, so that a warp's accesses leave no gaps.
inline constexpr int update_elements = 4;

/// N consecutive elements of a shard in the registers of one thread.
template <optimizer O, element P, element A, int N>
class update_lane {
 public:
  /// Reads gradient, weight and moments of the elements from `first` on; those from `count` on do
  /// not exist and are zeros, which nobody writes.
  template <gpu::access_by By>
  __device__ void read(update_arguments<P, A> const& arguments,
                       std::int64_t first,
                       std::int64_t count) {
    gpu::load<By>(arguments.gradient + first, count, gradient_);
    gpu::load<By>(weights(arguments) + first, count, weight_);
#pragma unroll
    for (int m = 0; m < O::moments; ++m) {
      gpu::load<By>(arguments.moments[m] + first, count, moments_[m]);
    }
  }

  /// Scales the gradient of element i and updates its weight and moments.
  __device__ void update(int i, float coefficient, typename O::scalars const& scalars) {
    float const gradient = mul(gradient_[i], coefficient);
    if constexpr (O::moments == 0) {
      O::update(weight_[i], gradient, nullptr, scalars);
    } else {
      float moments[O::moments];
#pragma unroll
      for (int m = 0; m < O::moments; ++m) {
        moments[m] = moments_[m][i];
      }
      O::update(weight_[i], gradient, moments, scalars);
#pragma unroll
      for (int m = 0; m < O::moments; ++m) {
        moments_[m][i] = moments[m];
      }
    }
  }

  /// Writes moments, weights and the weights rounded to P, all N as vectors.
  __device__ void write(update_arguments<P, A> const& arguments, std::int64_t first) {
#pragma unroll
    for (int m = 0; m < O::moments; ++m) {
      gpu::store_vector(arguments.moments[m] + first, moments_[m]);
    }
    gpu::store_vector(weights(arguments) + first, weight_);
    if constexpr (!std::is_same_v<P, float>) {
      gpu::store_vector(arguments.parameter + first, weight_);
    }
  }

  /// Writes the same of element i alone.
  __device__ void write(update_arguments<P, A> const& arguments, std::int64_t first, int i) const {
#pragma unroll
    for (int m = 0; m < O::moments; ++m) {
      arguments.moments[m][first + i] = moments_[m][i];
    }
    weights(arguments)[first + i] = weight_[i];
    if constexpr (!std::is_same_v<P, float>) {
      arguments.parameter[first + i] = from_float<P>(weight_[i]);
    }
  }

 private:
  /// An FP32 parameter is its own master.
  [[nodiscard]] __device__ static float* weights(update_arguments<P, A> const& arguments) {
    if constexpr (std::is_same_v<P, float>) {
      return arguments.parameter;
    } else {
      return arguments.master;
    }
  }

  static constexpr auto count_ = static_cast<std::size_t>(N);

  float gradient_[count_];
  float weight_[count_];
  float moments_[O::moments == 0 ? 1 : O::moments][count_];
};

/// The segment of element `position`, 0 <= `position` < n: the table of `index_segments` narrows
/// the search to the segments that end in one stretch of elements, of which there are few unless
/// sizes differ widely.
template <element P, element A>
[[nodiscard]] __device__ std::int32_t segment_of(update_arguments<P, A> const& arguments,
                                                 int shift,
                                                 std::int64_t position) {
  update_segment const* const segments = arguments.segments;
  auto const entry = static_cast<std::int32_t>(position >> shift);
  std::int32_t low = segments[entry].index;  // the first that may be it
  std::int32_t high =
      entry + 1 < arguments.segment_count ? segments[entry + 1].index : arguments.segment_count - 1;
  while (low < high) {
    std::int32_t const middle = low + (high - low) / 2;
    if (segments[middle].end > position) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

/// `gpu_kernels::update`: one pass, one thread a vector.
///
/// Loads are issued before the search for the segment, which runs in their shadow.
template <optimizer O, element P, element A, int N = update_elements>
__global__ void __launch_bounds__(update_threads) update_kernel(update_arguments<P, A> arguments,
                                                                step_state<O> const* state,
                                                                int shift,
                                                                bool aligned) {
  static_assert(update_segment_alignment % N == 0, "a vector lies in one segment");
  gpu::wait_for_previous_kernel();
  if (!state->apply) {
    return;
  }
  std::int64_t const first =
      (static_cast<std::int64_t>(blockIdx.x) * update_threads + threadIdx.x) * N;
  if (first >= arguments.n) {
    return;
  }
  bool const whole = aligned && first + N <= arguments.n;
  auto const count = static_cast<int>(first + N <= arguments.n ? N : arguments.n - first);
  update_lane<O, P, A, N> lane;
  if (whole) {
    lane.template read<gpu::access_by::vector>(arguments, first, N);
  } else {
    lane.template read<gpu::access_by::element>(arguments, first, count);
  }
  std::int32_t const s = arguments.segment_count == 1 ? 0 : segment_of(arguments, shift, first);
  float const coefficient = state->coefficient;
  auto const& scalars = state->groups[arguments.segments[s].group];
#pragma unroll
  for (int i = 0; i < N; ++i) {
    lane.update(i, coefficient, scalars);
  }
  if (whole) {
    lane.write(arguments, first);
    return;
  }
#pragma unroll
  for (int i = 0; i < N; ++i) {
    if (i < count) {
      lane.write(arguments, first, i);
    }
  }
}

}  // namespace zero::inline ZERO_ABI::detail
