// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/device/gpu/launch.cuh>
#include <zero/optim/concepts.hpp>
#include <zero/optim/step_control.hpp>
#include <zero/optim/step_state.hpp>
#include <zero/version.hpp>

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

namespace zero::inline ZERO_ABI::detail {

/// Threads of `decide_kernel`: they carry bytes, one of them decides.
inline constexpr int decide_threads = 128;

/// Records that `decide_kernel` brings into shared memory; more are read where they are.
inline constexpr int decide_records = 512;

/// Copies a value between global and shared memory, by all threads of a thread block.
template <class T>
__device__ void copy_by_block(T* to, T const* from, int count) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) % sizeof(std::uint32_t) == 0);
  auto* const words = reinterpret_cast<std::uint32_t*>(to);
  auto const* const source = reinterpret_cast<std::uint32_t const*>(from);
  int const total = static_cast<int>(sizeof(T) / sizeof(std::uint32_t)) * count;
  for (int i = static_cast<int>(threadIdx.x); i < total; i += decide_threads) {
    words[i] = source[i];
  }
}

/// `gpu_kernels::decide`, one thread block. The work of a step's decision is a chain; what it reads
/// is brought into shared memory first, so that the chain does not wait for memory at each link.
template <optimizer O>
__global__ void __launch_bounds__(decide_threads) decide_kernel(step_state<O>* state,
                                                                rank_record const* records,
                                                                int ranks,
                                                                step_control const* control,
                                                                step_config<O> const* config,
                                                                step_record* ring,
                                                                std::int64_t ring_slot) {
  gpu::wait_for_previous_kernel();
  // Bytes, because shared memory cannot have members with initial values.
  alignas(step_state<O>) __shared__ unsigned char state_bytes[sizeof(step_state<O>)];
  alignas(step_config<O>) __shared__ unsigned char config_bytes[sizeof(step_config<O>)];
  alignas(step_control) __shared__ unsigned char control_bytes[sizeof(step_control)];
  alignas(rank_record) __shared__ unsigned char record_bytes[decide_records * sizeof(rank_record)];
  auto* const my_state = reinterpret_cast<step_state<O>*>(state_bytes);
  auto* const my_config = reinterpret_cast<step_config<O>*>(config_bytes);
  auto* const my_control = reinterpret_cast<step_control*>(control_bytes);
  auto* const my_records = reinterpret_cast<rank_record*>(record_bytes);
  bool const staged = ranks <= decide_records;
  copy_by_block(my_state, state, 1);
  copy_by_block(my_config, config, 1);
  copy_by_block(my_control, control, 1);
  if (staged) {
    copy_by_block(my_records, records, ranks);
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    zero::decide(*my_state, staged ? my_records : records, ranks, *my_control, *my_config);
  }
  __syncthreads();
  copy_by_block(state, my_state, 1);
  copy_by_block(ring + ring_slot, &my_state->last, 1);
}

/// `gpu_kernels::set_control`: the value travels as the launch's argument.
template <class T>
__global__ void set_value_kernel(T* to, T value) {
  static_assert(std::is_trivially_copyable_v<T>);
  gpu::wait_for_previous_kernel();
  *to = value;
}

}  // namespace zero::inline ZERO_ABI::detail
