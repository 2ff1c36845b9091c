// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/config.hpp>
#include <zero/core/limits.hpp>
#include <zero/policy/concepts.hpp>
#include <zero/policy/optimizer.hpp>
#include <zero/version.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace zero::inline ZERO_ABI {

namespace detail {

template <int N>
struct moment_array_of {
  using type = float (&)[static_cast<std::size_t>(N)];
};

template <>
struct moment_array_of<0> {
  using type = float*;
};

}  // namespace detail

/// How an optimizer receives its N moments of one element: `float (&)[N]`, or `float*`, not to be
/// read, if it has none.
template <int N>
using moment_array = typename detail::moment_array_of<N>::type;

/// An element-wise optimizer: a policy that says how one element changes in one step.
///
/// Intuition: `prepare` runs once a step and group of parameters, on the device too, and turns the
/// FP64 hyper-parameters and the step's number into a few floats; `update` then runs for each
/// element with these floats.
///
/// Minimal definition, for an empty policy O of category optimizer_category:
/// - `static constexpr int moments`, 0 to max_moments: FP32 numbers kept for each element, 0 at
/// first;
/// - `struct options`: an aggregate with defaults that has a `double lr`; trivially copyable;
/// - `struct scalars`: what `update` needs; trivially copyable;
/// - `ZERO_HOST_DEVICE static scalars prepare(options const&, double lr, double
/// weight_decay_factor,
///   std::int64_t t)`: `lr` is the step's rate with the group's scale in it and replaces
///   options.lr; `weight_decay_factor` is 1, or 0 for parameters without weight decay; `t` is 1 in
///   the first step that is applied;
/// - `ZERO_HOST_DEVICE ZERO_EXACT static void update(float& w, float g, moment_array<moments> m,
///   scalars const&)`: `w` is the FP32 master, `g` the averaged, unscaled, clipped gradient.
///
/// Optional: `static void check(options const&)`, which throws `logic_error` for options that make
/// no sense; the engine's constructor calls it.
///
/// Laws: `update` of an element depends on its arguments alone, and both functions are written in
/// the functions of `core/arithmetic.hpp` (no + - * /, no comparison of floats but `less`), so that
/// host and devices give the same bits and shard borders do not matter. A gradient is always
/// finite: a step that has another is skipped before `update` is called.
///
/// Models: AdamW, Sgd, PlainSgd, Lion. Law test: tests/laws/optimizer.hpp.
template <class O>
concept optimizer = policy_of<O, optimizer_category> && std::is_aggregate_v<typename O::options> &&
                    std::is_default_constructible_v<typename O::options> &&
                    std::is_trivially_copyable_v<typename O::options> &&
                    std::is_default_constructible_v<typename O::scalars> &&
                    std::is_trivially_copyable_v<typename O::scalars> &&
                    std::same_as<decltype(O::moments), int const> && (O::moments >= 0) &&
                    (O::moments <= max_moments) &&
                    requires(typename O::options const& options,
                             typename O::scalars const& scalars,
                             double number,
                             std::int64_t t,
                             float& w,
                             float g,
                             moment_array<O::moments> m) {
                      { options.lr } -> std::same_as<double const&>;
                      {
                        O::prepare(options, number, number, t)
                      } -> std::same_as<typename O::scalars>;
                      { O::update(w, g, m, scalars) } -> std::same_as<void>;
                    };

}  // namespace zero::inline ZERO_ABI
