// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/arithmetic.hpp>
#include <zero/core/dtype.hpp>
#include <zero/device/gpu/detail/segment_search.cuh>
#include <zero/device/gpu/detail/vectors.cuh>
#include <zero/device/update_arguments.hpp>
#include <zero/optim/concepts.hpp>
#include <zero/optim/step_state.hpp>
#include <zero/plan/groups.hpp>

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

namespace zero::detail {

/// Threads of a thread block of `update_kernel`.
inline constexpr int update_threads = 256;

/// Elements of a thread: 16 bytes of each FP32 array, so that a warp's accesses leave no gaps.
inline constexpr int update_elements = 4;

/// N consecutive elements of a shard in the registers of one thread.
template <optimizer O, element P, element A, int N>
class update_lane {
 public:
  /// Reads gradient, weight and moments of the elements from `first` on.
  template <access_by By>
  __device__ void read(update_arguments<P, A> const& arguments,
                       std::int64_t first,
                       std::int64_t count) {
    load<By>(arguments.gradient + first, count, gradient_);
    load<By>(weights(arguments) + first, count, weight_);
#pragma unroll
    for (int m = 0; m < O::moments; ++m) {
      load<By>(arguments.moments[m] + first, count, moments_[m]);
    }
  }

  /// Scales the gradient and updates weight and moments. The same for elements that do not exist:
  /// zeros, which nobody writes.
  __device__ void update(float coefficient, typename O::scalars const& scalars) {
#pragma unroll
    for (int i = 0; i < N; ++i) {
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
  }

  /// Writes moments, weight and the weight rounded to P.
  template <access_by By>
  __device__ void write(update_arguments<P, A> const& arguments,
                        std::int64_t first,
                        std::int64_t count) {
#pragma unroll
    for (int m = 0; m < O::moments; ++m) {
      store<By>(arguments.moments[m] + first, count, moments_[m]);
    }
    store<By>(weights(arguments) + first, count, weight_);
    if constexpr (!std::is_same_v<P, float>) {
      store<By>(arguments.parameter + first, count, weight_);
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

  float gradient_[N];
  float weight_[N];
  float moments_[O::moments == 0 ? 1 : O::moments][N];
};

/// `gpu_kernels::update`: one pass, one thread a vector. A thread whose elements lie in one segment
/// moves them as vectors; where a segment begins or ends inside, element by element.
///
/// Loads are issued before the search for the segment, which then costs no time of its own.
template <optimizer O, element P, element A, int N = update_elements>
__global__ void __launch_bounds__(update_threads)
    update_kernel(update_arguments<P, A> arguments, step_state<O> const* state, bool aligned) {
  if (!state->apply) {
    return;
  }
  std::int64_t const thread = static_cast<std::int64_t>(blockIdx.x) * update_threads + threadIdx.x;
  std::int64_t const first = thread * N;
  std::int64_t const last = first + N < arguments.n ? first + N : arguments.n;
  bool const whole = aligned && first + N <= arguments.n;
  update_lane<O, P, A, N> lane;
  if (whole) {
    lane.template read<access_by::vector>(arguments, first, N);
  }

  update_segment const* const segments = arguments.segments;
  std::int32_t const count = arguments.segment_count;
  std::int32_t s =
      count <= 1 ? 0 : first_segment_behind(segments, count, first - (threadIdx.x % 32) * N);
  while (s < count && segments[s].end <= first) {
    ++s;
  }

  float const coefficient = state->coefficient;
  if (whole && s < count && segments[s].begin <= first && last <= segments[s].end) {
    lane.update(coefficient, state->groups[segments[s].group]);
    lane.template write<access_by::vector>(arguments, first, N);
    return;
  }
  update_lane<O, P, A, 1> single;
  for (; s < count && segments[s].begin < last; ++s) {
    std::int64_t const begin = segments[s].begin > first ? segments[s].begin : first;
    std::int64_t const end = segments[s].end < last ? segments[s].end : last;
    for (std::int64_t i = begin; i < end; ++i) {
      single.template read<access_by::element>(arguments, i, 1);
      single.update(coefficient, state->groups[segments[s].group]);
      single.template write<access_by::element>(arguments, i, 1);
    }
  }
}

}  // namespace zero::detail
