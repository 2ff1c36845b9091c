// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/dtype.hpp>
#include <zero/core/error.hpp>
#include <zero/core/norm.hpp>
#include <zero/device/gpu/accumulate.cuh>
#include <zero/device/gpu/cast.cuh>
#include <zero/device/gpu/control.cuh>
#include <zero/device/gpu/cuda.hpp>
#include <zero/device/gpu/error.hpp>
#include <zero/device/gpu/launch.cuh>
#include <zero/device/gpu/norm.cuh>
#include <zero/device/gpu/peer_reading.hpp>
#include <zero/device/gpu/peer_sum.cuh>
#include <zero/device/gpu/sum.cuh>
#include <zero/device/gpu/update.cuh>
#include <zero/device/gpu/vectors.cuh>
#include <zero/device/kernel_concepts.hpp>
#include <zero/device/update_arguments.hpp>
#include <zero/optim/adamw.hpp>
#include <zero/optim/concepts.hpp>
#include <zero/optim/step_control.hpp>
#include <zero/optim/step_state.hpp>
#include <zero/version.hpp>

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace zero::inline ZERO_ABI {

/// The kernels of a GPU: the same functions as `host_kernels`, with the same bits.
///
/// Each call puts its work into `stream`, which belongs to the current device, and returns; nothing
/// waits and nothing is allocated. Pointers are memory of that device. Arithmetic is that of
/// `core/arithmetic.hpp`, the norm's tree that of `core/norm.hpp`, without atomics: results depend
/// on neither grid nor GPU, nor on `--use_fast_math`. Arrays at multiples of 16 bytes move in
/// accesses of 16 bytes; others work too, more slowly. Counts are elements unless they say bytes,
/// 64 bits wide, and may be 0.
///
/// All members throw `cuda_error`, with the name of the kernel, where the runtime refuses.
struct gpu_kernels {
  /// Sets every byte to `byte`.
  static void fill(cudaStream_t stream, void* to, int byte, std::int64_t bytes) {
    if (bytes > 0) {
      check_cuda(cudaMemsetAsync(to, byte, static_cast<std::size_t>(bytes), stream),
                 "cudaMemsetAsync");
    }
  }

  /// Sets bytes to zero.
  static void zero(cudaStream_t stream, void* to, std::int64_t bytes) {
    fill(stream, to, 0, bytes);
  }

  /// Copies bytes between ranges that do not overlap. Either side may be memory of the host; where
  /// that is not pinned, the call may wait for the copy.
  static void copy(cudaStream_t stream, void* to, void const* from, std::int64_t bytes) {
    if (bytes > 0) {
      check_cuda(
          cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), cudaMemcpyDefault, stream),
          "cudaMemcpyAsync");
    }
  }

  /// Adds a gradient, times a factor, to an accumulator, or starts it: products and sums in FP32,
  /// rounded once to A. Reads and writes each element once, the norm's squares included.
  /// @param gradient     n elements
  /// @param accumulator  n elements
  /// @param add          false: the old content is not read
  /// @param scale        of the gradient; 1 changes no bit
  /// @param partials     null, or `norm_blocks(n)` sums of the squares of the result
  template <element P, element A>
  static void accumulate(cudaStream_t stream,
                         P const* gradient,
                         A* accumulator,
                         std::int64_t n,
                         bool add,
                         float scale,
                         double* partials) {
    gpu::launch_early("zero::accumulate",
                      detail::accumulate_kernel<P, A>,
                      norm_blocks(n),
                      norm_lanes,
                      stream,
                      gradient,
                      accumulator,
                      n,
                      add,
                      scale,
                      partials,
                      gpu::aligned_for_vectors(gradient, accumulator));
  }

  /// Adds the ranks' contributions, in rank order and in FP32, and the total to the accumulator:
  /// ((r0 + r1) + r2 ...), then accumulator + total, rounded once to A.
  /// The own contribution is read where it lies, which may be the accumulator itself.
  /// @param own          rank `rank`'s n elements
  /// @param received     the others', as `all_to_others` delivers them: rank k's n elements start
  /// at
  ///                     `received + place_among_others(k, rank) * stride`; null for one rank
  /// @param stride       elements between them
  /// @param rank         from 0
  /// @param ranks        at least 1
  /// @param accumulator  n elements: `own`, or apart from it
  /// @param add          false: the old content is not read
  /// @param partials     null, or `norm_blocks(n)` sums of the squares of the result
  template <element W, element A>
  static void sum(cudaStream_t stream,
                  W const* own,
                  W const* received,
                  std::int64_t stride,
                  int rank,
                  int ranks,
                  A* accumulator,
                  std::int64_t n,
                  bool add,
                  double* partials) {
    bool const whole_stride =
        stride * static_cast<std::int64_t>(sizeof(W)) % gpu::vector_bytes == 0;
    gpu::launch_early(
        "zero::sum",
        detail::sum_kernel<W, A>,
        norm_blocks(n),
        norm_lanes,
        stream,
        detail::rank_parts<W>{own, received, stride, rank, ranks},
        accumulator,
        n,
        add,
        partials,
        (whole_stride || ranks <= 2) && gpu::aligned_for_vectors(own, received, accumulator));
  }

  /// `sum` without an exchange: the others' parts are read where they lie, in the memory of their
  /// GPUs. The kernels of all ranks meet when they begin and before they end, so each must run this
  /// at the same time. Its thread blocks, 256 at most, occupy their multiprocessors meanwhile.
  /// @param reading  the parts and where the kernels meet
  template <element W, element A>
  static void sum_of_peers(cudaStream_t stream,
                           peer_reading const& reading,
                           A* accumulator,
                           std::int64_t n,
                           bool add,
                           double* partials) {
    detail::peer_parts<W> parts{};
    parts.ranks = reading.flags.ranks;
    bool aligned = gpu::aligned_for_vectors(accumulator);
    for (int k = 0; k < parts.ranks; ++k) {
      parts.at[k] = static_cast<W const*>(reading.at[k]);
      aligned = aligned && gpu::aligned_for_vectors(parts.at[k]);
    }
    gpu::launch_early(
        "zero::sum_of_peers",
        detail::peer_sum_kernel<W, A>,
        std::clamp((norm_blocks(n) + detail::peer_sum_batch - 1) / detail::peer_sum_batch,
                   std::int64_t{1},
                   detail::peer_sum_blocks),
        norm_lanes,
        stream,
        parts,
        reading.flags,
        accumulator,
        n,
        add,
        partials,
        aligned);
  }

  /// Loads the kernels of `sum_of_peers`, as `preload` does the others.
  template <element P, element A>
  static void preload_sums_of_peers() {
    gpu::preload("zero::sum_of_peers", detail::peer_sum_kernel<P, A>);
    gpu::preload("zero::sum_of_peers", detail::peer_sum_kernel<A, A>);
  }

  /// The partial sums of squares of n elements that are there already: one read of them.
  /// @param partials  `norm_blocks(n)` sums
  template <element A>
  static void squares(cudaStream_t stream, A const* values, std::int64_t n, double* partials) {
    gpu::launch_early("zero::squares",
                      detail::squares_kernel<A>,
                      (norm_blocks(n) + detail::squares_blocks - 1) / detail::squares_blocks,
                      norm_lanes,
                      stream,
                      values,
                      n,
                      partials,
                      gpu::aligned_for_vectors(values));
  }

  /// The doubles of scratch that `reduce_partials` of n partials needs.
  [[nodiscard]] static constexpr std::int64_t partials_scratch(std::int64_t n) noexcept {
    return norm_scratch(n);
  }

  /// The sum of n partials by the tree of `core/norm.hpp`; 0 for none. One launch for up to 2048
  /// partials (4 million elements), two up to 8e9 elements.
  /// @param scratch  `partials_scratch(n)` doubles
  /// @param result   one double
  static void reduce_partials(cudaStream_t stream,
                              double const* partials,
                              std::int64_t n,
                              double* scratch,
                              double* result) {
    for (std::int64_t blocks = norm_blocks(n); blocks > 1; blocks = norm_blocks(n)) {
      sum_blocks(stream, partials, n, blocks, scratch);
      partials = scratch;
      scratch += blocks;
      n = blocks;
    }
    sum_blocks(stream, partials, n, 1, result);
  }

  /// Sets the numbers of the step that runs next. They travel with the launch, so that the host may
  /// change its own at once.
  static void set_control(cudaStream_t stream, step_control* to, step_control const& control) {
    gpu::launch_early(
        "zero::set_control", detail::set_value_kernel<step_control>, 1, 1, stream, to, control);
  }

  /// Decides a step, see `zero::decide`, and writes its record into a ring.
  /// @param state      changed
  /// @param records    one a rank
  /// @param ranks      how many
  /// @param ring       the records of the last steps
  /// @param ring_slot  where this one goes
  template <optimizer O>
  static void decide(cudaStream_t stream,
                     step_state<O>* state,
                     rank_record const* records,
                     int ranks,
                     step_control const* control,
                     step_config<O> const* config,
                     step_record* ring,
                     std::int64_t ring_slot) {
    gpu::launch_early("zero::decide",
                      detail::decide_kernel<O>,
                      1,
                      detail::decide_threads,
                      stream,
                      state,
                      records,
                      ranks,
                      control,
                      config,
                      ring,
                      ring_slot);
  }

  /// One pass over a shard: scale, update, round to P. Nothing happens unless `state->apply`, which
  /// is read when the kernel runs.
  template <optimizer O, element P, element A>
  static void update(cudaStream_t stream,
                     update_arguments<P, A> const& arguments,
                     step_state<O> const* state) {
    if (arguments.segment_count == 0) {
      return;
    }
    constexpr std::int64_t block = detail::update_threads * detail::update_elements;
    gpu::launch_early("zero::update",
                      detail::update_kernel<O, P, A>,
                      (arguments.n + block - 1) / block,
                      detail::update_threads,
                      stream,
                      arguments,
                      state,
                      segment_shift(arguments.n, arguments.segment_count),
                      gpu::aligned_for_vectors(arguments.gradient,
                                               arguments.master,
                                               arguments.moments[0],
                                               arguments.moments[1],
                                               arguments.parameter));
  }

  /// Rounds n floats to P.
  template <element P>
  static void cast(cudaStream_t stream, float const* from, P* to, std::int64_t n) {
    convert("zero::cast", stream, from, to, n);
  }

  /// Widens n elements to float; exact.
  template <element P>
  static void widen(cudaStream_t stream, P const* from, float* to, std::int64_t n) {
    convert("zero::widen", stream, from, to, n);
  }

  /// Loads every kernel that an engine of these types can launch onto the current device, so that
  /// nothing is loaded, and no memory taken for it, inside a step. An engine whose parameters are
  /// of two types calls it for both.
  /// @throws cuda_error the program has no code for this GPU
  template <optimizer O, element P, element A>
  static void preload() {
    gpu::preload("zero::accumulate", detail::accumulate_kernel<P, A>);
    gpu::preload("zero::sum", detail::sum_kernel<P, A>);
    gpu::preload("zero::sum", detail::sum_kernel<A, A>);
    gpu::preload("zero::squares", detail::squares_kernel<A>);
    gpu::preload("zero::reduce_partials", detail::sum_blocks_kernel<norm_lanes>);
    gpu::preload("zero::set_control", detail::set_value_kernel<step_control>);
    gpu::preload("zero::decide", detail::decide_kernel<O>);
    gpu::preload("zero::update", detail::update_kernel<O, P, A>);
    gpu::preload("zero::cast", detail::convert_kernel<float, P>);
    gpu::preload("zero::widen", detail::convert_kernel<P, float>);
  }

 private:
  static void sum_blocks(cudaStream_t stream,
                         double const* values,
                         std::int64_t n,
                         std::int64_t blocks,
                         double* sums) {
    gpu::launch_early("zero::reduce_partials",
                      detail::sum_blocks_kernel<norm_lanes>,
                      blocks,
                      norm_lanes,
                      stream,
                      values,
                      n,
                      sums);
  }

  template <element From, element To>
  static void convert(
      char const* name, cudaStream_t stream, From const* from, To* to, std::int64_t n) {
    constexpr std::int64_t block = detail::convert_threads * detail::convert_elements;
    gpu::launch_early(name,
                      detail::convert_kernel<From, To>,
                      (n + block - 1) / block,
                      detail::convert_threads,
                      stream,
                      from,
                      to,
                      n,
                      gpu::aligned_for_vectors(from, to));
  }
};

static_assert(kernels_of<gpu_kernels, cudaStream_t, AdamW, bf16, float>);
static_assert(kernels_of<gpu_kernels, cudaStream_t, AdamW, fp16, fp16>);
static_assert(preloading_kernels<gpu_kernels, AdamW, bf16, float>);
static_assert(peer_summing_kernels<gpu_kernels, cudaStream_t, peer_reading, bf16, float>);

}  // namespace zero::inline ZERO_ABI
