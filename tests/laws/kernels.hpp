// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/support/wild.hpp"

#include <zero/core/dtype.hpp>
#include <zero/core/norm.hpp>
#include <zero/core/rank_order.hpp>
#include <zero/device/update_arguments.hpp>
#include <zero/optim/adamw.hpp>
#include <zero/optim/concepts.hpp>
#include <zero/optim/lion.hpp>
#include <zero/optim/sgd.hpp>
#include <zero/optim/step_control.hpp>
#include <zero/optim/step_state.hpp>
#include <zero/plan/groups.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

/// @file
/// What the kernels of every device must do, to the bit: `kernel_laws<Kernels>(memory)`. The
/// references are loops over doubles, written apart from the library's arithmetic: a sum or a
/// product of two floats that is formed in double and rounded to float is rounded as if once.
///
///     struct some_memory {
///       auto stream();                                               // what the kernels take
///       template <class T> T* upload(std::vector<T> const&);         // aligned to 256 bytes
///       template <class T> std::vector<T> download(T const*, n);     // after the kernels before
///       it
///     };
///
/// Every result has guard elements behind it that must stay, and what must not be read is NaN.

namespace zero::laws {

/// Sizes around those of a vector, a warp, a row of lanes and a block of the norm.
inline constexpr std::int64_t kernel_sizes[] = {
    0, 1, 7, 8, 9, 255, 256, 257, 1000, 2047, 2048, 2049, 4097, 10000};

inline constexpr std::int64_t guard = 9;

/// Values with a guard of NaN behind them.
template <class T>
[[nodiscard]] std::vector<T> guarded(std::vector<T> values) {
  if constexpr (std::is_same_v<T, double>) {
    values.insert(values.end(), guard, std::numeric_limits<double>::quiet_NaN());
  } else {
    values.insert(values.end(), guard, test::poison<T>);
  }
  return values;
}

template <class T>
[[nodiscard]] std::vector<T> nothing_known(std::int64_t n) {
  auto values = guarded(std::vector<T>());
  values.assign(static_cast<std::size_t>(n), values[0]);
  return values;
}

/// s[t] of optim/norm.hpp after `halvings` halvings of the stride, by recursion.
template <class Lane>
[[nodiscard]] double reference_tree(Lane const& lane, int t, int halvings) {
  if (halvings == 0) {
    return lane(t);
  }
  return reference_tree(lane, t, halvings - 1) +
         reference_tree(lane, t + (256 >> halvings), halvings - 1);
}

/// The sum of one block of at most 2048 numbers.
template <class Number>
[[nodiscard]] double reference_block(Number const& number, std::int64_t n) {
  auto const at = [&](std::int64_t i) { return i < n ? number(i) : 0.0; };
  auto const lane = [&](int t) {
    std::int64_t const i = 8 * std::int64_t{t};
    return ((at(i) + at(i + 1)) + (at(i + 2) + at(i + 3))) +
           ((at(i + 4) + at(i + 5)) + (at(i + 6) + at(i + 7)));
  };
  return reference_tree(lane, 0, 8);
}

/// The squares' sums of the blocks of a shard.
template <element T>
[[nodiscard]] std::vector<double> reference_partials(std::vector<T> const& values) {
  auto const n = static_cast<std::int64_t>(values.size());
  std::vector<double> partials;
  for (std::int64_t first = 0; first < n; first += 2048) {
    auto const square = [&](std::int64_t i) {
      double const x = to_float(values[static_cast<std::size_t>(first + i)]);
      return x * x;
    };
    partials.push_back(reference_block(square, std::min<std::int64_t>(2048, n - first)));
  }
  return partials;
}

/// Level by level until one is left.
[[nodiscard]] inline double reference_total(std::vector<double> numbers) {
  do {
    std::vector<double> next;
    auto const n = static_cast<std::int64_t>(numbers.size());
    for (std::int64_t first = 0; first < n || first == 0; first += 2048) {
      auto const number = [&](std::int64_t i) {
        return numbers[static_cast<std::size_t>(first + i)];
      };
      next.push_back(reference_block(number, std::min<std::int64_t>(2048, n - first)));
    }
    numbers = next;
  } while (numbers.size() > 1);
  return numbers[0];
}

template <class Kernels, element P, element A, class Memory>
void accumulate_law(Memory& memory) {
  test::wild_numbers source(1);
  for (std::int64_t const n : kernel_sizes) {
    for (bool const add : {false, true}) {
      for (bool const norm : {false, true}) {
        auto const gradient = source.vector<P>(n);
        auto const before = add ? source.vector<A>(n) : nothing_known<A>(n);
        std::vector<A> expected;
        float const scale =
            std::array{1.0F, 3.0F, 0x1p-3F}[static_cast<std::size_t>(source.below(3))];
        for (std::size_t i = 0; i < gradient.size(); ++i) {
          double const g = static_cast<float>(double{to_float(gradient[i])} * scale);
          double const sum = add ? double{to_float(before[i])} + g : g;
          expected.push_back(test::rounded<A>(static_cast<float>(sum)));
        }
        auto const partials = guarded(nothing_known<double>(norm_blocks(n)));
        P* const g = memory.upload(guarded(gradient));
        A* const acc = memory.upload(guarded(before));
        double* const p = norm ? memory.upload(partials) : nullptr;
        Kernels::template accumulate<P, A>(memory.stream(), g, acc, n, add, scale, p);
        CAPTURE(n);
        CAPTURE(add);
        std::size_t const differing =
            test::differences(memory.download(acc, n + guard), guarded(expected));
        CHECK(differing == 0);
        if (norm) {
          std::size_t const sums = test::differences(memory.download(p, norm_blocks(n) + guard),
                                                     guarded(reference_partials(expected)));
          CHECK(sums == 0);
        }
      }
    }
  }
}

template <class Kernels, element W, element A, class Memory>
void sum_law(Memory& memory) {
  test::wild_numbers source(2);
  for (std::int64_t const n : kernel_sizes) {
    for (int const ranks : {1, 2, 3, 8}) {
      bool const add = source.below(2) == 1;
      bool const norm = source.below(2) == 1;
      std::int64_t const stride = (n + 255) / 256 * 256 + 256 * source.below(2);
      int const rank = static_cast<int>(source.below(ranks));
      auto received = nothing_known<W>(stride * (ranks - 1));
      std::vector<std::vector<W>> parts;
      for (int r = 0; r < ranks; ++r) {
        parts.push_back(source.vector<W>(n));
        if (r != rank) {
          std::copy(parts.back().begin(),
                    parts.back().end(),
                    received.begin() + place_among_others(r, rank) * stride);
        }
      }
      auto const before = add ? source.vector<A>(n) : nothing_known<A>(n);
      std::vector<A> expected;
      for (std::size_t i = 0; i < before.size(); ++i) {
        auto total = double{to_float(parts[0][i])};
        for (std::size_t r = 1; r < parts.size(); ++r) {
          total = static_cast<float>(total + double{to_float(parts[r][i])});
        }
        if (add) {
          total = static_cast<float>(double{to_float(before[i])} + total);
        }
        expected.push_back(test::rounded<A>(total));
      }
      W* const own = memory.upload(guarded(parts[static_cast<std::size_t>(rank)]));
      W* const from = memory.upload(received);
      A* const acc = memory.upload(guarded(before));
      double* const p =
          norm ? memory.upload(guarded(nothing_known<double>(norm_blocks(n)))) : nullptr;
      Kernels::template sum<W, A>(memory.stream(), own, from, stride, rank, ranks, acc, n, add, p);
      CAPTURE(n);
      CAPTURE(rank);
      CAPTURE(ranks);
      CAPTURE(add);
      std::size_t const differing =
          test::differences(memory.download(acc, n + guard), guarded(expected));
      CHECK(differing == 0);
      if (norm) {
        std::size_t const sums = test::differences(memory.download(p, norm_blocks(n) + guard),
                                                   guarded(reference_partials(expected)));
        CHECK(sums == 0);
      }
      if constexpr (std::is_same_v<W, A>) {  // the total takes the own part's place
        if (!add) {
          Kernels::template sum<W, A>(
              memory.stream(), own, from, stride, rank, ranks, own, n, false, nullptr);
          std::size_t const in_place =
              test::differences(memory.download(own, n + guard), guarded(expected));
          CHECK(in_place == 0);
        }
      }
    }
  }
}

template <class Kernels, element A, class Memory>
void squares_law(Memory& memory) {
  test::wild_numbers source(3);
  for (std::int64_t const n : kernel_sizes) {
    auto const values = source.vector<A>(n);
    double* const p = memory.upload(guarded(nothing_known<double>(norm_blocks(n))));
    Kernels::template squares<A>(memory.stream(), memory.upload(guarded(values)), n, p);
    std::size_t const sums = test::differences(memory.download(p, norm_blocks(n) + guard),
                                               guarded(reference_partials(values)));
    CAPTURE(n);
    CHECK(sums == 0);
  }
}

/// An element that is not finite shows in its block alone; large ones whose squares FP32 cannot
/// hold do not.
template <class Kernels, class Memory>
void nonfinite_law(Memory& memory) {
  std::int64_t const n = 3 * norm_block + 5;
  std::vector<float> values(static_cast<std::size_t>(n), 3e38F);
  for (float const bad : {std::numeric_limits<float>::infinity(),
                          -std::numeric_limits<float>::infinity(),
                          std::numeric_limits<float>::quiet_NaN()}) {
    for (std::int64_t const place : {norm_block, 2 * norm_block - 1, n - 1}) {
      auto gradient = values;
      gradient[static_cast<std::size_t>(place)] = bad;
      float* const acc = memory.upload(nothing_known<float>(n));
      double* const p = memory.upload(nothing_known<double>(norm_blocks(n)));
      Kernels::template accumulate<float, float>(
          memory.stream(), memory.upload(gradient), acc, n, false, 1, p);
      auto const partials = memory.download(p, norm_blocks(n));
      for (std::size_t block = 0; block < partials.size(); ++block) {
        bool const here = block == static_cast<std::size_t>(place / norm_block);
        CHECK(std::isfinite(partials[block]) != here);
      }
    }
  }
}

template <class Kernels, class Memory>
void reduce_partials_law(Memory& memory) {
  test::wild_numbers source(4);
  for (std::int64_t const n :
       {0, 1, 2, 255, 256, 2047, 2048, 2049, 5000, 3 * 2048, 7 * 2048 + 5, 2048 * 2048 + 1}) {
    std::vector<double> partials;
    for (std::int64_t i = 0; i < n; ++i) {
      double const x = source.next();
      partials.push_back(x * x);
    }
    double* const scratch = memory.upload(guarded(nothing_known<double>(norm_scratch(n))));
    double* const result = memory.upload(guarded(nothing_known<double>(1)));
    Kernels::reduce_partials(memory.stream(), memory.upload(guarded(partials)), n, scratch, result);
    CAPTURE(n);
    std::size_t const differing = test::differences(
        memory.download(result, 1 + guard), guarded(std::vector{reference_total(partials)}));
    CHECK(differing == 0);
    std::size_t const beyond = test::differences(memory.download(scratch + norm_scratch(n), guard),
                                                 guarded(std::vector<double>()));
    CHECK(beyond == 0);
  }
}

/// A state that has decided a step with random groups.
template <optimizer O>
[[nodiscard]] step_state<O> decided_state(bool finite, int groups) {
  step_config<O> config;
  config.group_count = groups;
  for (int group = 0; group < groups; ++group) {
    config.groups[group] = {.lr_scale = 1.0 + group, .decay = group % 2 == 0 ? 1.0 : 0.0};
  }
  step_state<O> state = initial_state(config);
  rank_record const record{finite ? 12.5 : std::numeric_limits<double>::infinity()};
  zero::decide(state, &record, 1, {.lr = 3e-3, .mean = 0.37, .clip_norm = 1.0}, config);
  return state;
}

/// Random segments of n elements, of sizes that differ by orders of magnitude.
[[nodiscard]] inline std::vector<update_segment> random_segments(test::wild_numbers& source,
                                                                 std::int64_t n,
                                                                 int groups) {
  std::vector<update_segment> segments;
  std::int64_t const lines = (n + update_segment_alignment - 1) / update_segment_alignment;
  for (std::int64_t at = 0; at < lines;) {
    std::int64_t const most = source.below(3) == 0 ? 1 + lines / 3 : 2;
    std::int64_t const end = at + 1 + source.below(most);
    segments.push_back({.begin = at * update_segment_alignment,
                        .end = std::min(n, end * update_segment_alignment),
                        .group = static_cast<std::int32_t>(source.below(groups))});
    at = end;
  }
  index_segments(segments, n);
  return segments;
}

/// One element as the optimizer's own function, on the host, updates it; what is compared is all
/// that the kernel adds: scaling, groups, rounding, predication and where things lie.
template <optimizer O>
void reference_update(
    float& w, float gradient, float (&m)[max_moments], step_state<O> const& state, int group) {
  auto const g = static_cast<float>(double{gradient} * double{state.coefficient});
  if constexpr (O::moments == 0) {
    O::update(w, g, nullptr, state.groups[group]);
  } else {
    float moments[O::moments];
    std::copy_n(m, O::moments, moments);
    O::update(w, g, moments, state.groups[group]);
    std::copy_n(moments, O::moments, m);
  }
}

template <class Kernels, optimizer O, element P, element A, class Memory>
void update_law(Memory& memory) {
  constexpr bool own_master = std::is_same_v<P, float>;
  test::wild_numbers source(5);
  for (std::int64_t const n : kernel_sizes) {
    bool const apply = source.below(4) != 0;
    int const groups = 1 + static_cast<int>(source.below(max_groups));
    auto const state = decided_state<O>(apply, groups);
    auto const segments = random_segments(source, n, groups);
    auto gradient = nothing_known<A>(n);
    auto master = nothing_known<float>(n);
    auto parameter = nothing_known<P>(n);
    std::vector<float> moments[max_moments] = {nothing_known<float>(n), nothing_known<float>(n)};
    for (auto const& segment : segments) {
      for (auto i = static_cast<std::size_t>(segment.begin);
           i < static_cast<std::size_t>(segment.end);
           ++i) {
        gradient[i] = from_float<A>(source.next());
        master[i] = source.next();
        parameter[i] = from_float<P>(master[i]);
        for (int m = 0; m < O::moments; ++m) {
          moments[m][i] = std::fabs(source.next());  // AdamW's second one is never negative
        }
      }
    }
    update_arguments<P, A> arguments;
    arguments.n = n;
    arguments.gradient = memory.upload(guarded(gradient));
    arguments.master = own_master ? nullptr : memory.upload(guarded(master));
    arguments.parameter = memory.upload(guarded(parameter));
    for (int m = 0; m < O::moments; ++m) {
      arguments.moments[m] = memory.upload(guarded(moments[m]));
    }
    arguments.segments = memory.upload(segments);
    arguments.segment_count = static_cast<std::int32_t>(segments.size());
    Kernels::template update<O, P, A>(
        memory.stream(), arguments, memory.upload(std::vector<step_state<O>>{state}));

    for (auto const& segment : segments) {
      for (auto i = static_cast<std::size_t>(segment.begin);
           apply && i < static_cast<std::size_t>(segment.end);
           ++i) {
        float m[max_moments] = {moments[0][i], moments[1][i]};
        reference_update<O>(master[i], to_float(gradient[i]), m, state, segment.group);
        moments[0][i] = m[0];
        moments[1][i] = m[1];
        parameter[i] = test::rounded<P>(master[i]);
      }
    }
    CAPTURE(n);
    CAPTURE(apply);
    std::size_t differing =
        test::differences(memory.download(arguments.parameter, n + guard), guarded(parameter)) +
        test::differences(memory.download(arguments.gradient, n + guard), guarded(gradient));
    if (!own_master) {
      differing += test::differences(memory.download(arguments.master, n + guard), guarded(master));
    }
    for (int m = 0; m < O::moments; ++m) {
      differing +=
          test::differences(memory.download(arguments.moments[m], n + guard), guarded(moments[m]));
    }
    CHECK(differing == 0);
  }
}

/// AdamW against its formula in FP64, with the bounds of docs: m and v within 2^-21 of the
/// magnitudes of their terms, w within 2^-20 of its own.
template <class Kernels, class Memory>
void adamw_formula_law(Memory& memory) {
  test::wild_numbers source(6);
  std::int64_t const n = 5000;
  auto const state = decided_state<AdamW>(true, 1);
  AdamW::options const o;
  auto const gradient = source.vector<float>(n);
  auto const w = source.vector<float>(n);
  auto const m = source.vector<float>(n);
  auto v = source.vector<float>(n);
  for (float& x : v) {
    x = std::fabs(x);
  }
  std::vector<update_segment> const all = {{.begin = 0, .end = n, .group = 0}};
  update_arguments<float, float> arguments;
  arguments.n = n;
  arguments.gradient = memory.upload(gradient);
  arguments.parameter = memory.upload(w);
  arguments.moments[0] = memory.upload(m);
  arguments.moments[1] = memory.upload(v);
  arguments.segments = memory.upload(all);
  arguments.segment_count = 1;
  Kernels::template update<AdamW, float, float>(
      memory.stream(), arguments, memory.upload(std::vector<step_state<AdamW>>{state}));
  auto const new_w = memory.download(arguments.parameter, n);
  auto const new_m = memory.download(arguments.moments[0], n);
  auto const new_v = memory.download(arguments.moments[1], n);

  // 0.37 sqrt(12.5) is above 1, so that clipping is active.
  double const norm = std::sqrt(12.5) * 0.37;
  double const coefficient = 0.37 / (norm + 1e-6);
  double const lr = 3e-3;
  std::size_t far = 0;
  for (std::size_t i = 0; i < w.size(); ++i) {
    double const g = gradient[i] * coefficient;
    double const m_terms[] = {o.beta1 * double{m[i]}, (1 - o.beta1) * g};
    double const v_terms[] = {o.beta2 * double{v[i]}, (1 - o.beta2) * g * g};
    double const em = m_terms[0] + m_terms[1];
    double const ev = v_terms[0] + v_terms[1];
    double const denominator = std::sqrt(ev) / std::sqrt(1 - o.beta2) + o.eps;
    double const kept = w[i] * (1 - lr * o.weight_decay);
    double const step = lr / (1 - o.beta1);
    double const magnitude = std::fabs(m_terms[0]) + std::fabs(m_terms[1]);
    double const least = 0x1p-148;
    far += std::fabs(new_m[i] - em) <= 0x1p-21 * magnitude + least ? 0 : 1;
    far += std::fabs(new_v[i] - ev) <= 0x1p-21 * ev + least ? 0 : 1;
    far += std::fabs(new_w[i] - (kept - step * em / denominator)) <=
                   0x1p-20 * (std::fabs(kept) + step * magnitude / denominator) + least
               ? 0
               : 1;
  }
  CHECK(far == 0);
}

template <class Kernels, optimizer O, class Memory>
void decide_law(Memory& memory) {
  test::wild_numbers source(7);
  step_config<O> config;
  config.group_count = 3;
  config.groups[1] = {.lr_scale = 0.5, .decay = 0};
  config.groups[2] = {.lr_scale = 2, .decay = 1};
  config.scaled = true;
  config.scaling = {.initial = 1024, .window = 2, .hysteresis = 1};
  step_state<O> expected = initial_state(config);
  std::int64_t const slots = 4;
  auto* const on_device = memory.upload(std::vector<step_state<O>>{expected});
  auto* const device_config = memory.upload(std::vector<step_config<O>>{config});
  auto* const device_control = memory.upload(std::vector<step_control>(1));
  step_record never;
  never.step = -1;
  auto* const ring =
      memory.upload(std::vector<step_record>(static_cast<std::size_t>(slots), never));
  double* const device_scale = memory.upload(std::vector<double>{0.25});
  std::vector<step_record> wanted(static_cast<std::size_t>(slots), never);
  for (std::int64_t step = 0; step < 9; ++step) {
    std::vector<rank_record> records;
    for (int r = 0; r < 3; ++r) {
      double const x = source.next();
      records.push_back({x * x});
    }
    if (step % 4 == 2) {
      records[1].squares = std::numeric_limits<double>::quiet_NaN();
    }
    step_control control{.lr = 1e-3 * static_cast<double>(step + 1),
                         .gradient_scale = 3,
                         .device_gradient_scale = nullptr,
                         .mean = 1.0 / 3,
                         .clip_norm = step % 2 == 0 ? 1e-3 : 0};
    step_control host_control = control;
    double const host_scale = 0.25;
    if (step % 3 == 0) {
      control.device_gradient_scale = device_scale;
      host_control.device_gradient_scale = &host_scale;
    }
    Kernels::set_control(memory.stream(), device_control, control);
    Kernels::template decide<O>(memory.stream(),
                                on_device,
                                memory.upload(records),
                                3,
                                device_control,
                                device_config,
                                ring,
                                step % slots);
    zero::decide(expected, records.data(), 3, host_control, config);
    wanted[static_cast<std::size_t>(step % slots)] = expected.last;

    step_state<O> const state = memory.download(on_device, 1)[0];
    CAPTURE(step);
    CHECK(state.applied_steps == expected.applied_steps);
    CHECK(state.apply == expected.apply);
    CHECK(state.apply == (step % 4 != 2));
    CHECK(test::same(state.coefficient, expected.coefficient));
    CHECK(test::same(state.loss_scale, expected.loss_scale));
    CHECK(test::same(state.scaling.scale, expected.scaling.scale));
    CHECK(state.scaling.good_steps == expected.scaling.good_steps);
    CHECK(state.scaling.hysteresis == expected.scaling.hysteresis);
    auto const records_of_steps = memory.download(ring, slots);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      step_record const& a = records_of_steps[i];
      step_record const& b = wanted[i];
      bool const equal = a.step == b.step && a.applied == b.applied && a.reason == b.reason &&
                         test::same(a.norm, b.norm) && test::same(a.clip_factor, b.clip_factor) &&
                         test::same(a.loss_scale, b.loss_scale) &&
                         a.applied_steps == b.applied_steps &&
                         a.skipped_in_row == b.skipped_in_row && a.at_floor == b.at_floor;
      CHECK(equal);
    }
    for (int group = 0; group < config.group_count; ++group) {
      // The scalars as an update sees them.
      float m[max_moments] = {0.5F, 0.25F};
      float n[max_moments] = {0.5F, 0.25F};
      float a = 1.0F;
      float b = 1.0F;
      reference_update<O>(a, 0.125F, m, state, group);
      reference_update<O>(b, 0.125F, n, expected, group);
      bool const equal = test::same(a, b) && test::same(m[0], n[0]) && test::same(m[1], n[1]);
      CHECK(equal);
    }
  }
}

/// Widening is exact, also of infinities and of the smallest numbers.
template <class Kernels, element P, class Memory>
void widen_law(Memory& memory) {
  test::wild_numbers source(9);
  for (std::int64_t const n : kernel_sizes) {
    auto narrow = source.vector<P>(n);
    if (n > 3) {
      narrow[0] = from_float<P>(std::numeric_limits<float>::infinity());
      narrow[1] = from_float<P>(0x1p-24F);
      narrow[2] = from_float<P>(-0.0F);
    }
    std::vector<float> expected;
    for (P const x : narrow) {
      expected.push_back(test::decoded(x));
    }
    float* const to = memory.upload(guarded(nothing_known<float>(n)));
    Kernels::template widen<P>(
        memory.stream(), static_cast<P const*>(memory.upload(guarded(narrow))), to, n);
    CAPTURE(n);
    std::size_t const differing =
        test::differences(memory.download(to, n + guard), guarded(expected));
    CHECK(differing == 0);
  }
}

template <class Kernels, element P, class Memory>
void cast_law(Memory& memory) {
  test::wild_numbers source(8);
  for (std::int64_t const n : kernel_sizes) {
    auto wide = source.vector<float>(n);
    if (n > 8) {
      wide[0] = std::numeric_limits<float>::infinity();
      wide[1] = -std::numeric_limits<float>::infinity();
      wide[2] = std::numeric_limits<float>::quiet_NaN();
      wide[3] = std::numeric_limits<float>::max();
      wide[4] = 65520.0F;  // halfway beyond the largest FP16 number
      wide[5] = 65519.0F;
      wide[6] = 0x1p-25F;  // halfway to the smallest
      wide[7] = 0x1.000002p-25F;
    }
    std::vector<P> narrow;
    std::vector<float> widened;
    for (float const x : wide) {
      narrow.push_back(test::rounded<P>(x));
      widened.push_back(test::decoded(narrow.back()));
    }
    P* const to = memory.upload(guarded(nothing_known<P>(n)));
    Kernels::template cast<P>(memory.stream(), memory.upload(guarded(wide)), to, n);
    std::size_t const cast = test::differences(memory.download(to, n + guard), guarded(narrow));
    float* const back = memory.upload(guarded(nothing_known<float>(n)));
    Kernels::template widen<P>(memory.stream(), to, back, n);
    std::size_t const wid = test::differences(memory.download(back, n + guard), guarded(widened));
    CAPTURE(n);
    CHECK(cast == 0);
    CHECK(wid == 0);
  }
}

template <class Kernels, class Memory>
void bytes_law(Memory& memory) {
  for (std::int64_t const n : kernel_sizes) {
    std::vector<unsigned char> source;
    for (std::int64_t i = 0; i < n; ++i) {
      source.push_back(static_cast<unsigned char>(1 + i * 37 % 255));
    }
    auto expected = source;
    expected.insert(expected.end(), guard, 0xee);
    std::vector<unsigned char> blank(expected.size(), 0xee);
    unsigned char* const to = memory.upload(blank);
    Kernels::copy(memory.stream(), to, memory.upload(source), n);
    CHECK(memory.download(to, n + guard) == expected);
    for (int const byte : {0x5a, 0}) {
      Kernels::fill(memory.stream(), to, byte, n);
      std::fill_n(expected.begin(), n, static_cast<unsigned char>(byte));
      CHECK(memory.download(to, n + guard) == expected);
    }
  }
}

/// The laws that take each pair of element types.
template <class Kernels, element First, class Memory>
void pair_laws(Memory& memory) {
  accumulate_law<Kernels, First, float>(memory);
  accumulate_law<Kernels, First, bf16>(memory);
  accumulate_law<Kernels, First, fp16>(memory);
  sum_law<Kernels, First, float>(memory);
  sum_law<Kernels, First, bf16>(memory);
  sum_law<Kernels, First, fp16>(memory);
  update_law<Kernels, AdamW, First, float>(memory);
  update_law<Kernels, AdamW, First, bf16>(memory);
  update_law<Kernels, AdamW, First, fp16>(memory);
}

/// What `kernels_of<Kernels, Stream, AdamW, bf16, float>` asks for, and no more.
template <class Kernels, class Memory>
void minimal_kernel_laws(Memory& memory) {
  bytes_law<Kernels>(memory);
  accumulate_law<Kernels, bf16, float>(memory);
  accumulate_law<Kernels, float, float>(memory);
  sum_law<Kernels, bf16, float>(memory);
  sum_law<Kernels, float, float>(memory);
  squares_law<Kernels, float>(memory);
  reduce_partials_law<Kernels>(memory);
  update_law<Kernels, AdamW, bf16, float>(memory);
  update_law<Kernels, AdamW, float, float>(memory);
  decide_law<Kernels, AdamW>(memory);
  widen_law<Kernels, float>(memory);
  widen_law<Kernels, bf16>(memory);
  widen_law<Kernels, fp16>(memory);
}

/// All laws.
template <class Kernels, class Memory>
void kernel_laws(Memory& memory) {
  bytes_law<Kernels>(memory);
  pair_laws<Kernels, float>(memory);
  pair_laws<Kernels, bf16>(memory);
  pair_laws<Kernels, fp16>(memory);
  squares_law<Kernels, float>(memory);
  squares_law<Kernels, bf16>(memory);
  squares_law<Kernels, fp16>(memory);
  nonfinite_law<Kernels>(memory);
  reduce_partials_law<Kernels>(memory);
  update_law<Kernels, PlainSgd, bf16, float>(memory);
  update_law<Kernels, Sgd, bf16, float>(memory);
  update_law<Kernels, Lion, float, float>(memory);
  adamw_formula_law<Kernels>(memory);
  decide_law<Kernels, AdamW>(memory);
  decide_law<Kernels, PlainSgd>(memory);
  cast_law<Kernels, float>(memory);
  cast_law<Kernels, bf16>(memory);
  cast_law<Kernels, fp16>(memory);
}

}  // namespace zero::laws
