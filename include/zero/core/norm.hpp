// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/arithmetic.hpp>
#include <zero/core/config.hpp>
#include <zero/core/dtype.hpp>
#include <zero/version.hpp>

#include <cstdint>

/// @file
/// The sum of squares of a shard, by one stated tree, so that every device and stage gives the same
/// bits. A shard is cut into blocks of `norm_block` elements from its first one. In a block, lane t
/// of 256 takes the eight consecutive elements from 8 t:
///
///     s[t] = ((x0 x0 + x1 x1) + (x2 x2 + x3 x3)) + ((x4 x4 + x5 x5) + (x6 x6 + x7 x7))
///
/// in FP64 (the squares are exact), and then, for stride = 128, 64, ... 1, s[t] += s[t + stride]
/// for t < stride. Missing elements are 0. The blocks' sums are summed by the same tree without
/// squaring, 2048 of them to one, level by level until one is left.

namespace zero::inline ZERO_ABI {

/// Elements of a block.
inline constexpr std::int64_t norm_block = 2048;

/// Lanes of a block: threads of a GPU's block.
inline constexpr int norm_lanes = 256;

/// Consecutive elements of a lane.
inline constexpr int norm_lane_elements = 8;

static_assert(std::int64_t{norm_lanes} * norm_lane_elements == norm_block);

/// @param elements  0 or more
/// @return how many blocks they fill, the last one partly perhaps
[[nodiscard]] ZERO_HOST_DEVICE constexpr std::int64_t norm_blocks(std::int64_t elements) noexcept {
  return elements / norm_block + (elements % norm_block != 0 ? 1 : 0);
}

/// @param n  numbers to be summed level by level
/// @return how many numbers all levels between the first and the last have together: the scratch of
/// a
///         device that writes each level to memory
[[nodiscard]] ZERO_HOST_DEVICE constexpr std::int64_t norm_scratch(std::int64_t n) noexcept {
  std::int64_t total = 0;
  for (n = norm_blocks(n); n > 1; n = norm_blocks(n)) {
    total += n;
  }
  return total;
}

/// @param x  the eight numbers of a lane
/// @return their sum, in the order of the tree
[[nodiscard]] ZERO_HOST_DEVICE ZERO_EXACT constexpr double lane_sum(
    double const (&x)[norm_lane_elements]) noexcept {
  return add(add(add(x[0], x[1]), add(x[2], x[3])), add(add(x[4], x[5]), add(x[6], x[7])));
}

/// @param x  the eight elements of a lane
/// @return the sum of their squares, in the order of the tree
[[nodiscard]] ZERO_HOST_DEVICE ZERO_EXACT constexpr double lane_squares(
    float const (&x)[norm_lane_elements]) noexcept {
  double squares[norm_lane_elements] = {};
  for (int i = 0; i < norm_lane_elements; ++i) {
    squares[i] = mul(widen(x[i]), widen(x[i]));
  }
  return lane_sum(squares);
}

/// @param lanes  the sums of the lanes of a block; overwritten
/// @return the sum of the block, in the order of the tree. Host; a GPU's block does the same
/// between
///         its threads.
[[nodiscard]] ZERO_HOST_DEVICE ZERO_EXACT constexpr double sum_lanes(
    double (&lanes)[norm_lanes]) noexcept {
  for (int stride = norm_lanes / 2; stride > 0; stride /= 2) {
    for (int t = 0; t < stride; ++t) {
      lanes[t] = add(lanes[t], lanes[t + stride]);
    }
  }
  return lanes[0];
}

/// The sum of squares of one block. One thread.
/// @param values  the first element
/// @param n       how many there are: 0 to norm_block; the others count as 0
/// @return the sum; not finite if and only if an element is not
template <element T>
[[nodiscard]] ZERO_HOST_DEVICE ZERO_EXACT constexpr double block_squares(T const* values,
                                                                         std::int64_t n) noexcept {
  double lanes[norm_lanes] = {};
  int const whole = static_cast<int>(n / norm_lane_elements);
  for (int t = 0; t < whole; ++t) {
    float x[norm_lane_elements] = {};
    for (int i = 0; i < norm_lane_elements; ++i) {
      x[i] = to_float(values[t * norm_lane_elements + i]);
    }
    lanes[t] = lane_squares(x);
  }
  int const rest = static_cast<int>(n % norm_lane_elements);
  if (rest != 0) {
    float x[norm_lane_elements] = {};
    for (int i = 0; i < rest; ++i) {
      x[i] = to_float(values[whole * norm_lane_elements + i]);
    }
    lanes[whole] = lane_squares(x);
  }
  return sum_lanes(lanes);
}

/// The sum of one block of numbers, without squaring. One thread.
/// @param values  the first number
/// @param n       how many there are: 0 to norm_block; the others count as 0
/// @return the sum
[[nodiscard]] ZERO_HOST_DEVICE ZERO_EXACT constexpr double block_sum(double const* values,
                                                                     std::int64_t n) noexcept {
  double lanes[norm_lanes] = {};
  int const count = static_cast<int>(n);
  for (int t = 0; t * norm_lane_elements < count; ++t) {
    double x[norm_lane_elements] = {};
    for (int i = 0; i < norm_lane_elements && t * norm_lane_elements + i < count; ++i) {
      x[i] = values[t * norm_lane_elements + i];
    }
    lanes[t] = lane_sum(x);
  }
  return sum_lanes(lanes);
}

/// The sum of the blocks' sums, level by level. One thread; allocates nothing: each level keeps 256
/// numbers on the stack, and there are at most six, two for anything below 2^33 elements.
/// @param partials  the first sum
/// @param n         how many there are, 0 or more
/// @return the sum of all; 0 if there are none
[[nodiscard]] ZERO_HOST_DEVICE ZERO_EXACT constexpr double reduce_partials(
    double const* partials, std::int64_t n) noexcept {
  if (n <= norm_block) {
    return block_sum(partials, n);
  }
  std::int64_t span = norm_block;  // numbers below one of the last level's numbers
  while (n / norm_block > span || (n / norm_block == span && n % norm_block != 0)) {
    span *= norm_block;
  }
  // The last level has at most norm_block numbers, each the sum of the `span` below it. Every
  // number below it stands at a whole level, so that the sum of its part is the level-by-level one.
  double lanes[norm_lanes] = {};
  int const count = static_cast<int>(n / span) + (n % span != 0 ? 1 : 0);
  for (int t = 0; t * norm_lane_elements < count; ++t) {
    double x[norm_lane_elements] = {};
    for (int i = 0; i < norm_lane_elements && t * norm_lane_elements + i < count; ++i) {
      std::int64_t const first = (t * norm_lane_elements + i) * span;
      x[i] = reduce_partials(partials + first, n - first < span ? n - first : span);
    }
    lanes[t] = lane_sum(x);
  }
  return sum_lanes(lanes);
}

}  // namespace zero::inline ZERO_ABI
