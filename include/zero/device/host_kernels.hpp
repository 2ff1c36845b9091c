// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/arithmetic.hpp>
#include <zero/core/config.hpp>
#include <zero/core/dtype.hpp>
#include <zero/core/float_environment.hpp>
#include <zero/core/norm.hpp>
#include <zero/core/rank_order.hpp>
#include <zero/device/host_stream.hpp>
#include <zero/device/kernel_concepts.hpp>
#include <zero/device/update_arguments.hpp>
#include <zero/optim/adamw.hpp>
#include <zero/optim/concepts.hpp>
#include <zero/optim/step_control.hpp>
#include <zero/optim/step_state.hpp>
#include <zero/plan/groups.hpp>
#include <zero/version.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace zero::inline ZERO_ABI {

/// The kernels of the host: what an engine does to a shard, in scalar C++. They are the reference
/// that the kernels of other devices equal bit for bit.
///
/// All arithmetic is that of `core/arithmetic.hpp` under an `exact_float_environment`, so that
/// the user's flags change no bit. A kernel runs on the calling thread, reads and writes what its
/// arguments name and nothing else, allocates nothing and cannot fail. Counts are elements unless
/// they say bytes; any count may be 0, and pointers to nothing may then be null.
///
/// Kernels that give `partials` write, in the same pass, the sum of squares of each block of
/// `norm_block` elements of their *result*: `norm_blocks(n)` numbers, by the tree of
/// `core/norm.hpp`. Pass null where no norm is wanted.
struct host_kernels {
  /// Sets every byte to `byte`.
  static void fill(host_stream /*stream*/, void* to, int byte, std::int64_t bytes) noexcept {
    if (bytes > 0) {
      std::memset(to, byte, static_cast<std::size_t>(bytes));
    }
  }

  /// Sets bytes to zero.
  static void zero(host_stream stream, void* to, std::int64_t bytes) noexcept {
    fill(stream, to, 0, bytes);
  }

  /// Copies bytes between ranges that do not overlap.
  static void copy(host_stream /*stream*/,
                   void* to,
                   void const* from,
                   std::int64_t bytes) noexcept {
    if (bytes > 0) {
      std::memcpy(to, from, static_cast<std::size_t>(bytes));
    }
  }

  /// Adds a gradient, times a factor, to an accumulator, or starts it: products and sums in FP32,
  /// rounded once to A.
  /// @param gradient     n elements
  /// @param accumulator  n elements
  /// @param add          false: the old content is not read
  /// @param scale        of the gradient; 1 changes no bit
  template <element P, element A>
  ZERO_EXACT static void accumulate(host_stream /*stream*/,
                                    P const* gradient,
                                    A* accumulator,
                                    std::int64_t n,
                                    bool add,
                                    float scale,
                                    double* partials) noexcept {
    exact_float_environment const environment;
    for (std::int64_t first = 0; first < n; first += norm_block) {
      std::int64_t const last = std::min(first + norm_block, n);
      for (std::int64_t i = first; i < last; ++i) {
        float const value = mul(to_float(gradient[i]), scale);
        accumulator[i] = from_float<A>(add ? zero::add(to_float(accumulator[i]), value) : value);
      }
      if (partials != nullptr) {
        partials[first / norm_block] = block_squares(accumulator + first, last - first);
      }
    }
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
  template <element W, element A>
  ZERO_EXACT static void sum(host_stream /*stream*/,
                             W const* own,
                             W const* received,
                             std::int64_t stride,
                             int rank,
                             int ranks,
                             A* accumulator,
                             std::int64_t n,
                             bool add,
                             double* partials) noexcept {
    exact_float_environment const environment;
    detail::rank_parts<W> const parts{own, received, stride, rank, ranks};
    float total[norm_block];
    for (std::int64_t first = 0; first < n; first += norm_block) {
      std::int64_t const count = std::min(norm_block, n - first);
      W const* const start = parts.of(0) + first;
      for (std::int64_t i = 0; i < count; ++i) {
        total[i] = to_float(start[i]);
      }
      for (int k = 1; k < ranks; ++k) {
        W const* const contribution = parts.of(k) + first;
        for (std::int64_t i = 0; i < count; ++i) {
          total[i] = zero::add(total[i], to_float(contribution[i]));
        }
      }
      for (std::int64_t i = 0; i < count; ++i) {
        A& result = accumulator[first + i];
        result = from_float<A>(add ? zero::add(to_float(result), total[i]) : total[i]);
      }
      if (partials != nullptr) {
        partials[first / norm_block] = block_squares(accumulator + first, count);
      }
    }
  }

  /// The partial sums of squares of n elements that are there already.
  template <element A>
  ZERO_EXACT static void squares(host_stream /*stream*/,
                                 A const* values,
                                 std::int64_t n,
                                 double* partials) noexcept {
    exact_float_environment const environment;
    for (std::int64_t first = 0; first < n; first += norm_block) {
      partials[first / norm_block] = block_squares(values + first, std::min(norm_block, n - first));
    }
  }

  /// The doubles of scratch that `reduce_partials` of n partials needs: none on the host.
  [[nodiscard]] static constexpr std::int64_t partials_scratch(std::int64_t /*n*/) noexcept {
    return 0;
  }

  /// The sum of n partials by the tree of `core/norm.hpp`; 0 for none.
  /// @param scratch  `partials_scratch(n)` doubles
  /// @param result   one double
  ZERO_EXACT static void reduce_partials(host_stream /*stream*/,
                                         double const* partials,
                                         std::int64_t n,
                                         [[maybe_unused]] double* scratch,
                                         double* result) noexcept {
    exact_float_environment const environment;
    *result = zero::reduce_partials(partials, n);
  }

  /// Sets the numbers of the step that runs next.
  static void set_control(host_stream /*stream*/,
                          step_control* to,
                          step_control const& control) noexcept {
    *to = control;
  }

  /// Decides a step, see `zero::decide`, and writes its record into a ring.
  /// @param state      changed
  /// @param records    one a rank
  /// @param ranks      how many
  /// @param ring       the records of the last steps
  /// @param ring_slot  where this one goes
  template <optimizer O>
  ZERO_EXACT static void decide(host_stream /*stream*/,
                                step_state<O>* state,
                                rank_record const* records,
                                int ranks,
                                step_control const* control,
                                step_config<O> const* config,
                                step_record* ring,
                                std::int64_t ring_slot) noexcept {
    exact_float_environment const environment;
    zero::decide(*state, records, ranks, *control, *config);
    ring[ring_slot] = state->last;
  }

  /// One pass over a shard: scale, update, round to P. Nothing happens unless `state->apply`.
  template <optimizer O, element P, element A>
  ZERO_EXACT static void update(host_stream /*stream*/,
                                update_arguments<P, A> const& arguments,
                                step_state<O> const* state) noexcept {
    if (!state->apply) {
      return;
    }
    exact_float_environment const environment;
    for (std::int32_t s = 0; s < arguments.segment_count; ++s) {
      update_segment const& segment = arguments.segments[s];
      update_range<O>(arguments, segment, state->coefficient, state->groups[segment.group]);
    }
  }

  /// Rounds n floats to P.
  template <element P>
  static void cast(host_stream /*stream*/, float const* from, P* to, std::int64_t n) noexcept {
    for (std::int64_t i = 0; i < n; ++i) {
      to[i] = from_float<P>(from[i]);
    }
  }

  /// Widens n elements to float; exact.
  template <element P>
  static void widen(host_stream /*stream*/, P const* from, float* to, std::int64_t n) noexcept {
    for (std::int64_t i = 0; i < n; ++i) {
      to[i] = to_float(from[i]);
    }
  }

 private:
  // Scalars and pointers are copied first: no store to an array can change them then.
  template <class O, class P, class A>
  ZERO_EXACT static void update_range(update_arguments<P, A> const arguments,
                                      update_segment const segment,
                                      float const coefficient,
                                      typename O::scalars const scalars) noexcept {
    float* const master = [&] {
      if constexpr (std::is_same_v<P, float>) {
        return arguments.parameter;
      } else {
        return arguments.master;
      }
    }();
    for (std::int64_t i = segment.begin; i < segment.end; ++i) {
      float const gradient = mul(to_float(arguments.gradient[i]), coefficient);
      float weight = master[i];
      if constexpr (O::moments == 0) {
        O::update(weight, gradient, nullptr, scalars);
      } else {
        float moments[O::moments];
        for (int m = 0; m < O::moments; ++m) {
          moments[m] = arguments.moments[m][i];
        }
        O::update(weight, gradient, moments, scalars);
        for (int m = 0; m < O::moments; ++m) {
          arguments.moments[m][i] = moments[m];
        }
      }
      master[i] = weight;
      if constexpr (!std::is_same_v<P, float>) {
        arguments.parameter[i] = from_float<P>(weight);
      }
    }
  }
};

static_assert(kernels_of<host_kernels, host_stream, AdamW, bf16, float>);
static_assert(kernels_of<host_kernels, host_stream, AdamW, fp16, fp16>);

}  // namespace zero::inline ZERO_ABI
