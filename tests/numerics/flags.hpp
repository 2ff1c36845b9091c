// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/arithmetic.hpp>
#include <zero/core/config.hpp>
#include <zero/core/dtype.hpp>
#include <zero/core/hash.hpp>
#include <zero/core/norm.hpp>
#include <zero/core/random.hpp>
#include <zero/optim/adamw.hpp>
#include <zero/optim/concepts.hpp>
#include <zero/optim/lion.hpp>
#include <zero/optim/sgd.hpp>
#include <zero/optim/step_state.hpp>

#include <cstdint>

// The work of flags.cpp: results of everything that must be exact, over random inputs
// with denormals, infinities and NaN among them, folded into one number. A case is a function of
// its index alone, so that the host may loop and a GPU may spread.

namespace flags {

inline constexpr std::int64_t elements = 1 << 16;
inline constexpr int steps = 3;

// NaN is one value here: which NaN an operation gives is not part of the contract.
ZERO_HOST_DEVICE inline std::uint64_t bits_of(float value) {
  std::uint32_t const bits = __builtin_bit_cast(std::uint32_t, value);
  return (bits & 0x7fff'ffffU) > 0x7f80'0000U ? 0x7fc0'0000U : bits;
}

ZERO_HOST_DEVICE inline std::uint64_t bits_of(double value) {
  std::uint64_t const bits = __builtin_bit_cast(std::uint64_t, value);
  std::uint64_t const infinity = 0x7ff0'0000'0000'0000U;
  return (bits & ~(std::uint64_t{1} << 63U)) > infinity ? infinity + 1 : bits;
}

// Any bits at all: each exponent is as likely as any other, denormals and infinities included.
ZERO_HOST_DEVICE inline float any_float(std::uint64_t key, std::int64_t i) {
  auto const bits =
      static_cast<std::uint32_t>(zero::random_bits(key, static_cast<std::uint64_t>(i)));
  return __builtin_bit_cast(float, bits);
}

ZERO_HOST_DEVICE inline double any_double(std::uint64_t key, std::int64_t i) {
  return __builtin_bit_cast(double, zero::random_bits(key, static_cast<std::uint64_t>(i)));
}

// Of a size that weights and gradients have.
ZERO_HOST_DEVICE inline float tame_float(std::uint64_t key, std::int64_t i) {
  return zero::mul(0.125F, zero::approximately_normal(key, static_cast<std::uint64_t>(i)));
}

// A user's functor that knows nothing of ZERO_EXACT: the primitives must hold by themselves.
struct plain_user {
  using policy_category = zero::optimizer_category;
  static constexpr int moments = 1;

  struct options {
    double lr = 0.1;
  };

  struct scalars {
    float lr = 0;
  };

  ZERO_HOST_DEVICE static scalars prepare(options const&, double lr, double, std::int64_t) {
    return {zero::narrow(lr)};
  }

  ZERO_HOST_DEVICE static void update(float& w, float g, float (&m)[1], scalars const& s) {
    m[0] = zero::add(zero::mul(0.9F, m[0]), zero::mul(g, g));
    float const ratio = zero::div(g, zero::add(zero::sqrt(m[0]), 1e-8F));
    w = zero::sub(w, zero::mul(s.lr, zero::less(g, 0.0F) ? zero::neg(zero::abs(ratio)) : ratio));
    w = zero::fma(zero::sub(w, zero::sub(w, g)), 0.5F, w);
  }
};

struct buffers {
  float* w;
  float* g;
  float* m[2];
};

// The first half of the elements is tame, the second anything.
ZERO_HOST_DEVICE inline void fill(buffers const& b, std::int64_t i) {
  bool const tame = i < elements / 2;
  b.w[i] = tame ? tame_float(1, i) : any_float(1, i);
  b.g[i] = tame ? tame_float(2, i) : any_float(2, i);
  b.m[0][i] = tame ? tame_float(3, i) : any_float(3, i);
  b.m[1][i] = zero::abs(tame ? tame_float(4, i) : any_float(4, i));
}

ZERO_HOST_DEVICE inline std::uint64_t hash(buffers const& b, std::int64_t i) {
  auto const index = static_cast<std::uint64_t>(i);
  return zero::mix_hash(11, index, bits_of(b.w[i])) +
         zero::mix_hash(12, index, bits_of(b.m[0][i])) +
         zero::mix_hash(13, index, bits_of(b.m[1][i]));
}

template <class O>
ZERO_HOST_DEVICE ZERO_EXACT inline void update(buffers const& b,
                                               std::int64_t i,
                                               typename O::scalars const& scalars) {
  float m[2] = {b.m[0][i], b.m[1][i]};
  float w = b.w[i];
  if constexpr (O::moments == 0) {
    O::update(w, b.g[i], m, scalars);
  } else if constexpr (O::moments == 1) {
    float one[1] = {m[0]};
    O::update(w, b.g[i], one, scalars);
    m[0] = one[0];
  } else {
    O::update(w, b.g[i], m, scalars);
  }
  b.w[i] = w;
  b.m[0][i] = m[0];
  b.m[1][i] = m[1];
}

template <class T>
ZERO_HOST_DEVICE std::uint64_t conversion(float value, std::uint64_t index) {
  T const converted = zero::from_float<T>(value);
  return zero::mix_hash(21, index, converted.bits) +
         zero::mix_hash(22, index, bits_of(zero::to_float(converted)));
}

// Each primitive once.
ZERO_HOST_DEVICE inline std::uint64_t primitives(std::int64_t i) {
  auto const index = static_cast<std::uint64_t>(i);
  float const a = any_float(31, i);
  float const b = any_float(32, i);
  float const c = any_float(33, i);
  double const d = any_double(34, i);
  double const e = any_double(35, i);
  double const f = any_double(36, i);
  std::uint64_t sum = zero::mix_hash(41, index, bits_of(zero::add(a, b)));
  sum += zero::mix_hash(42, index, bits_of(zero::sub(a, b)));
  sum += zero::mix_hash(43, index, bits_of(zero::mul(a, b)));
  sum += zero::mix_hash(44, index, bits_of(zero::div(a, b)));
  sum += zero::mix_hash(45, index, bits_of(zero::fma(a, b, c)));
  sum += zero::mix_hash(46, index, bits_of(zero::sqrt(a)));
  sum += zero::mix_hash(47, index, bits_of(zero::sub(zero::mul(a, b), c)));
  sum += zero::mix_hash(48, index, bits_of(zero::neg(a)));
  sum += zero::mix_hash(49, index, bits_of(zero::sign(a)));
  sum += zero::mix_hash(50, index, zero::less(a, b) ? 1 : 0);
  sum += zero::mix_hash(51, index, bits_of(zero::widen(a)));
  sum += zero::mix_hash(52, index, zero::is_finite(a) ? 1 : 0);
  sum += zero::mix_hash(61, index, bits_of(zero::add(d, e)));
  sum += zero::mix_hash(62, index, bits_of(zero::sub(d, e)));
  sum += zero::mix_hash(63, index, bits_of(zero::mul(d, e)));
  sum += zero::mix_hash(64, index, bits_of(zero::div(d, e)));
  sum += zero::mix_hash(65, index, bits_of(zero::fma(d, e, f)));
  sum += zero::mix_hash(66, index, bits_of(zero::sqrt(d)));
  sum += zero::mix_hash(67, index, bits_of(zero::sub(zero::mul(d, e), f)));
  sum += zero::mix_hash(68, index, bits_of(zero::narrow(d)));
  sum += zero::mix_hash(69, index, zero::less(d, e) ? 1 : 0);
  sum += zero::mix_hash(70, index, zero::is_finite(d) ? 1 : 0);
  sum += zero::mix_hash(71, index, bits_of(zero::power(tame_float(37, i), i)));
  return sum + conversion<zero::bf16>(a, index) + conversion<zero::fp16>(a, index) +
         conversion<zero::fp16>(tame_float(38, i), index);
}

// A few elements of one block; every seventh case has one that is not finite or anything at all.
ZERO_HOST_DEVICE inline std::uint64_t norm(std::int64_t i) {
  float values[37];
  double numbers[37];
  int const n = static_cast<int>(i % 38);
  for (int k = 0; k < n; ++k) {
    values[k] = i % 7 == 0 ? any_float(81, 37 * i + k) : tame_float(81, 37 * i + k);
    numbers[k] = zero::mul(zero::widen(values[k]), 0x1p-30);
  }
  auto const index = static_cast<std::uint64_t>(i);
  return zero::mix_hash(82, index, bits_of(zero::block_squares(values, n))) +
         zero::mix_hash(83, index, bits_of(zero::reduce_partials(numbers, n)));
}

// A whole decision, and the next one from the state it leaves.
ZERO_HOST_DEVICE inline std::uint64_t decision(std::int64_t i) {
  using state_type = zero::step_state<zero::AdamW>;
  auto const index = static_cast<std::uint64_t>(i);
  zero::step_config<zero::AdamW> config;
  config.scaled = i % 2 == 0;
  config.scaling.window = 1;
  config.scaling.hysteresis = 1;
  config.group_count = 2;
  config.groups[1] = {0.3, 0};
  state_type state = zero::initial_state(config);
  state.applied_steps = i * i;
  std::uint64_t sum = 0;
  for (int step = 0; step < 2; ++step) {
    zero::rank_record records[3];
    for (int rank = 0; rank < 3; ++rank) {
      float const size = i % 5 == 0 ? any_float(91, 6 * i + 3 * step + rank)
                                    : tame_float(91, 6 * i + 3 * step + rank);
      records[rank].squares = zero::mul(zero::widen(size), zero::widen(size));
    }
    double const token_scale = zero::add(1.0, zero::widen(zero::uniform(92, index)));
    zero::step_control control;
    control.lr = 3e-4;
    control.mean = 1.0 / 3;
    control.clip_norm = i % 3 == 0 ? 0 : 0.03125;
    control.device_gradient_scale = &token_scale;
    zero::decide(state, records, 3, control, config);
    sum += zero::mix_hash(93, index, bits_of(state.last.norm));
    sum += zero::mix_hash(94, index, bits_of(state.last.clip_factor));
    sum += zero::mix_hash(95, index, bits_of(state.coefficient));
    sum += zero::mix_hash(96, index, bits_of(state.loss_scale));
    sum += zero::mix_hash(97, index, static_cast<std::uint64_t>(state.last.reason));
    for (int group = 0; group < 2; ++group) {
      sum += zero::mix_hash(98, index, bits_of(state.groups[group].step));
      sum += zero::mix_hash(99, index, bits_of(state.groups[group].keep));
      sum += zero::mix_hash(100, index, bits_of(state.groups[group].inverse_correction));
    }
  }
  return sum;
}

}  // namespace flags
