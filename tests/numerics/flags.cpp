// SPDX-License-Identifier: Apache-2.0
//
// Prints one line: a hash of all results that must not depend on compiler, flags or vector width.
// Compiled several times (-O1; -O3 -march=native; -Ofast -march=native; clang -O3 -march=native),
// each program must print the same line.

#include "flags.hpp"

#include <zero/core/float_environment.hpp>

#include <cstdint>
#include <cstdio>
#include <vector>

namespace {

// As the library's kernels: a plain loop that the compiler may vectorise.
template <class O>
ZERO_EXACT [[gnu::noinline]] void update_all(flags::buffers const& buffers,
                                             typename O::scalars const& scalars) {
  zero::exact_float_environment const environment;
  for (std::int64_t i = 0; i < flags::elements; ++i) {
    flags::update<O>(buffers, i, scalars);
  }
}

template <class F>
[[gnu::noinline]] std::uint64_t sum_all(F const& hash_of) {
  zero::exact_float_environment const environment;
  std::uint64_t sum = 0;
  for (std::int64_t i = 0; i < flags::elements; ++i) {
    sum += hash_of(i);
  }
  return sum;
}

template <class O>
std::uint64_t optimizer() {
  std::vector<float> w(flags::elements);
  std::vector<float> g(flags::elements);
  std::vector<float> m0(flags::elements);
  std::vector<float> m1(flags::elements);
  flags::buffers const buffers{w.data(), g.data(), {m0.data(), m1.data()}};
  sum_all([&](std::int64_t i) {
    flags::fill(buffers, i);
    return std::uint64_t{0};
  });
  for (int step = 1; step <= flags::steps; ++step) {
    update_all<O>(buffers, O::prepare(typename O::options{}, 1e-2, 1, step));
  }
  return sum_all([&](std::int64_t i) { return flags::hash(buffers, i); });
}

}  // namespace

int main() {
  std::uint64_t const sum = 3 * optimizer<zero::AdamW>() + 5 * optimizer<zero::Sgd>() +
                            7 * optimizer<zero::PlainSgd>() + 11 * optimizer<zero::Lion>() +
                            13 * optimizer<flags::plain_user>() + 17 * sum_all(flags::primitives) +
                            19 * sum_all(flags::norm) + 23 * sum_all(flags::decision);
  std::printf("%016llx\n", static_cast<unsigned long long>(sum));
}
