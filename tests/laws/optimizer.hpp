// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/arithmetic.hpp>
#include <zero/core/config.hpp>
#include <zero/core/float_environment.hpp>
#include <zero/optim/concepts.hpp>

#include <doctest/doctest.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace zero::test {

/// What an optimizer keeps for each of a number of elements.
struct optimizer_elements {
  std::vector<float> w;
  std::vector<float> g;
  std::vector<float> m[max_moments];

  explicit optimizer_elements(std::int64_t n, std::uint64_t seed = 1) {
    std::mt19937_64 bits(seed);
    auto const number = [&] {
      // Both signs, sizes from 2^-20 to 1.
      auto const fraction =
          static_cast<float>(static_cast<std::int64_t>(bits() >> 40U) - (1 << 23));
      auto const places = static_cast<std::uint32_t>(bits() % 20);
      return mul(fraction, 1.0F / static_cast<float>(std::uint32_t{1} << 23U << places % 8));
    };
    for (std::int64_t i = 0; i < n; ++i) {
      w.push_back(number());
      g.push_back(number());
      for (std::vector<float>& moment : m) {
        moment.push_back(abs(number()));
      }
    }
  }

  /// Bits, and not values: zeros of both signs differ.
  friend bool operator==(optimizer_elements const& a, optimizer_elements const& b) {
    auto const same = [](std::vector<float> const& x, std::vector<float> const& y) {
      bool equal = x.size() == y.size();
      for (std::size_t i = 0; equal && i < x.size(); ++i) {
        equal = std::bit_cast<std::uint32_t>(x[i]) == std::bit_cast<std::uint32_t>(y[i]);
      }
      return equal;
    };
    return same(a.w, b.w) && same(a.m[0], b.m[0]) && same(a.m[1], b.m[1]);
  }
};

/// Updates the elements [first, last) as the library's kernels do.
template <optimizer O>
ZERO_EXACT void update_elements(optimizer_elements& elements,
                                std::int64_t first,
                                std::int64_t last,
                                typename O::scalars const& scalars) {
  exact_float_environment const environment;
  float* const w = elements.w.data();
  float const* const g = elements.g.data();
  float* const m[max_moments] = {elements.m[0].data(), elements.m[1].data()};
  for (std::int64_t i = first; i < last; ++i) {
    float moments[O::moments > 0 ? O::moments : 1] = {};
    for (int k = 0; k < O::moments; ++k) {
      moments[k] = m[k][i];
    }
    O::update(w[i], g[i], moments, scalars);
    for (int k = 0; k < O::moments; ++k) {
      m[k][i] = moments[k];
    }
  }
}

/// The laws of concept `optimizer`.
template <optimizer O>
void check_optimizer_laws() {
  using options = typename O::options;
  constexpr std::int64_t n = 1000;

  SUBCASE("a shard's update is the whole's, restricted: any borders, any vector tails") {
    typename O::scalars const scalars = O::prepare(options{}, 0.01, 1, 3);
    optimizer_elements whole(n);
    update_elements<O>(whole, 0, n, scalars);
    for (std::int64_t const step : {1, 3, 7, 16, 333}) {
      optimizer_elements parts(n);
      for (std::int64_t first = 0; first < n; first += step) {
        update_elements<O>(parts, first, first + step < n ? first + step : n, scalars);
      }
      CHECK(parts == whole);
    }
  }

  SUBCASE("the step's learning rate replaces the one of the options") {
    options other;
    other.lr = 123;
    optimizer_elements a(n);
    optimizer_elements b(n);
    update_elements<O>(a, 0, n, O::prepare(options{}, 0.01, 1, 3));
    update_elements<O>(b, 0, n, O::prepare(other, 0.01, 1, 3));
    CHECK(a == b);
  }

  SUBCASE("a first step without gradient and weight decay changes nothing") {
    optimizer_elements a(n);
    a.g.assign(n, 0.0F);
    for (std::vector<float>& moment : a.m) {
      moment.assign(n, 0.0F);
    }
    optimizer_elements const before = a;
    update_elements<O>(a, 0, n, O::prepare(options{}, 0.01, 0, 1));
    CHECK(a == before);
  }

  SUBCASE("a learning rate of 0 leaves the elements as they are") {
    optimizer_elements a(n);
    optimizer_elements const before = a;
    update_elements<O>(a, 0, n, O::prepare(options{}, 0, 1, 5));
    CHECK(a.w == before.w);
  }

  SUBCASE("finite numbers stay finite over a thousand steps") {
    optimizer_elements a(64);
    for (int t = 1; t <= 1000; ++t) {
      update_elements<O>(a, 0, 64, O::prepare(options{}, 0.001, 1, t));
    }
    for (std::size_t i = 0; i < a.w.size(); ++i) {
      REQUIRE(is_finite(a.w[i]));
      REQUIRE(is_finite(a.m[0][i]));
      REQUIRE(is_finite(a.m[1][i]));
    }
  }

  SUBCASE("a gradient of the other sign moves the element the other way") {
    optimizer_elements a(n);
    for (std::vector<float>& moment : a.m) {
      moment.assign(n, 0.0F);
    }
    optimizer_elements b = a;
    for (float& g : b.g) {
      g = neg(g);
    }
    optimizer_elements const before = a;
    typename O::scalars const scalars = O::prepare(options{}, 0.01, 0, 1);
    update_elements<O>(a, 0, n, scalars);
    update_elements<O>(b, 0, n, scalars);
    bool against = true;
    for (std::size_t i = 0; i < a.w.size(); ++i) {
      bool const down = before.g[i] > 0;
      against = against && (down ? a.w[i] <= before.w[i] && b.w[i] >= before.w[i]
                                 : a.w[i] >= before.w[i] && b.w[i] <= before.w[i]);
    }
    CHECK(against);
  }
}

}  // namespace zero::test
