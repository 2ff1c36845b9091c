// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/dtype.hpp>
#include <zero/device/update_arguments.hpp>
#include <zero/optim/concepts.hpp>
#include <zero/optim/step_control.hpp>
#include <zero/optim/step_state.hpp>
#include <zero/version.hpp>

#include <concepts>
#include <cstdint>

namespace zero::inline ZERO_ABI {

namespace detail {

/// Kernels that know no types but bytes and the step's own.
template <class K, class Stream, class O>
concept step_kernels = requires(Stream s,
                                void* to,
                                void const* from,
                                int number,
                                std::int64_t n,
                                double* doubles,
                                step_control* control,
                                step_state<O>* state,
                                rank_record const* records,
                                step_config<O> const* config,
                                step_record* ring) {
  { K::fill(s, to, number, n) } -> std::same_as<void>;
  { K::copy(s, to, from, n) } -> std::same_as<void>;
  { K::reduce_partials(s, doubles, n, doubles, doubles) } -> std::same_as<void>;
  { K::set_control(s, control, *control) } -> std::same_as<void>;
  {
    K::template decide<O>(s, state, records, number, control, config, ring, n)
  } -> std::same_as<void>;
};

/// Kernels of gradients of type `W` that are added to accumulators of type `A`.
template <class K, class Stream, class W, class A>
concept summing_kernels = requires(
    Stream s, W const* values, A* accumulator, std::int64_t n, int rank, bool add, double* sums) {
  {
    K::template accumulate<W, A>(s, values, accumulator, n, add, 1.0F, sums)
  } -> std::same_as<void>;
  {
    K::template sum<W, A>(s, values, values, n, rank, rank, accumulator, n, add, sums)
  } -> std::same_as<void>;
  { K::template squares<A>(s, accumulator, n, sums) } -> std::same_as<void>;
};

/// Kernels of parameters of type `P` with accumulators of type `A`.
template <class K, class Stream, class O, class P, class A>
concept parameter_kernels = summing_kernels<K, Stream, P, A> && summing_kernels<K, Stream, A, A> &&
                            requires(Stream s,
                                     update_arguments<P, A> const& arguments,
                                     step_state<O> const* state,
                                     P const* from,
                                     float* to,
                                     std::int64_t n) {
                              {
                                K::template update<O, P, A>(s, arguments, state)
                              } -> std::same_as<void>;
                              { K::template widen<P>(s, from, to, n) } -> std::same_as<void>;
                            };

}  // namespace detail

/// What an engine launches: all arithmetic on parameters, gradients and optimizer state.
///
/// **Intuition.** Static functions that put work into the stream that is their first argument.
/// Pointers are the device's. An engine calls them inside the bodies that it queues, so that an
/// exception fails the device. They wait for nothing and allocate nothing.
///
/// **Minimal definition**, with the arguments of `host_kernels`, where each is described:
/// - `fill(stream, to, byte, bytes)`, `copy(stream, to, from, bytes)`;
/// - `accumulate<P, A>(stream, gradient, accumulator, n, add, scale, partials)`;
/// - `sum<W, A>(stream, own, received, stride, rank, ranks, accumulator, n, add, partials)`, for
///   W = P and W = A;
/// - `squares<A>(stream, values, n, partials)`;
/// - `reduce_partials(stream, partials, n, scratch, result)`, with `norm_scratch(n)` doubles of
///   scratch;
/// - `set_control(stream, to, control)`: the control is copied before the call returns;
/// - `decide<O>(stream, state, records, ranks, control, config, ring, slot)`;
/// - `update<O, P, A>(stream, arguments, state)`: the arguments are copied before the call returns;
/// - `widen<P>(stream, from, to, n)`, of every element type.
///
/// All of them for parameters and accumulators of types `P`, `A`, and for `float`, `float`.
///
/// **Laws.** The results are those of `host_kernels`, bit for bit; nothing behind the n elements is
/// read or written; what must not be read may hold NaN. Law test: `tests/laws/kernels.hpp`.
///
/// **Models.** `host_kernels`, `gpu_kernels`. Optional: `preloading_kernels`,
/// `peer_summing_kernels`.
/// @tparam K       the class
/// @tparam Stream  the device's `stream_type`
/// @tparam O       the optimizer
/// @tparam P       type of most parameters
/// @tparam A       type of their accumulators
template <class K, class Stream, class O, class P, class A>
concept kernels_of =
    detail::step_kernels<K, Stream, O> && detail::parameter_kernels<K, Stream, O, P, A> &&
    detail::parameter_kernels<K, Stream, O, float, float> &&
    requires(Stream s, bf16 const* brain, fp16 const* half, float* to, std::int64_t n) {
      { K::template widen<bf16>(s, brain, to, n) } -> std::same_as<void>;
      { K::template widen<fp16>(s, half, to, n) } -> std::same_as<void>;
    };

/// Kernels that have to be loaded before they run, and can be at one time.
///
/// **Intuition.** CUDA loads a kernel at its first launch, which takes memory and time inside of a
/// step.
///
/// **Minimal definition.** `preload<O, P, A>()` loads what `kernels_of<K, Stream, O, P, A>` can
/// launch; called once, at construction, in a body of the compute queue.
///
/// **Laws.** After it no launch allocates. Law test: `tests/gpu/device/gpu/kernels.cu`.
///
/// **Models.** `gpu_kernels`.
template <class K, class O, class P, class A>
concept preloading_kernels = requires {
  { K::template preload<O, P, A>() } -> std::same_as<void>;
};

/// Kernels that add the ranks' contributions where these lie, instead of after an exchange.
///
/// **Minimal definition.** `sum_of_peers<W, A>(stream, reading, accumulator, n, add, partials)`
/// does what `sum<W, A>` does with what `reading` says: where each rank's n elements lie, the own
/// ones too. `preload_sums_of_peers<P, A>()` loads it for W = P and W = A, or does nothing.
///
/// **Laws.** Those of `sum`, and no bit differs from it. Law test: `peer_reading_laws` in
/// `tests/laws/communicator_abilities.hpp`.
///
/// **Models.** `gpu_kernels`, for `peer_reading`.
/// @tparam Reading  the communicator's `reading_type`, see `peer_reading_communicator`
template <class K, class Stream, class Reading, class W, class A>
concept peer_summing_kernels = requires(
    Stream s, Reading const& reading, A* accumulator, std::int64_t n, bool add, double* partials) {
  {
    K::template sum_of_peers<W, A>(s, reading, accumulator, n, add, partials)
  } -> std::same_as<void>;
  { K::template preload_sums_of_peers<W, A>() } -> std::same_as<void>;
};

}  // namespace zero::inline ZERO_ABI
