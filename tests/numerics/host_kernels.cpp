// SPDX-License-Identifier: Apache-2.0
//
// Prints one line: a hash of what the host's kernels and the sums of local ranks compute, over
// random inputs with denormals, infinities and NaN among them. No compiler and no flag may change
// it.

#include <zero/device/host_kernels.hpp>

#include <zero/comm/local.hpp>
#include <zero/core/dtype.hpp>
#include <zero/core/hash.hpp>
#include <zero/core/norm.hpp>
#include <zero/core/random.hpp>
#include <zero/optim/adamw.hpp>
#include <zero/optim/step_state.hpp>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <type_traits>
#include <vector>

namespace {

using zero::host_kernels;

constexpr std::int64_t elements = 9 * zero::norm_block + 77;
constexpr int ranks = 3;

// NaN is one value here: which NaN an operation gives is not part of the contract.
std::uint64_t bits_of(float value) {
  auto const bits = __builtin_bit_cast(std::uint32_t, value);
  return (bits & 0x7fff'ffffU) > 0x7f80'0000U ? 0x7fc0'0000U : bits;
}

std::uint64_t bits_of(double value) {
  auto const bits = __builtin_bit_cast(std::uint64_t, value);
  std::uint64_t const infinity = 0x7ff0'0000'0000'0000U;
  return (bits & ~(std::uint64_t{1} << 63U)) > infinity ? infinity + 1 : bits;
}

std::uint64_t bits_of(zero::bf16 value) {
  return bits_of(zero::to_float(value));
}

std::uint64_t bits_of(zero::fp16 value) {
  return bits_of(zero::to_float(value));
}

template <class T>
std::uint64_t hash_of(std::vector<T> const& values) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    sum += zero::mix_hash(17, i, bits_of(values[i]));
  }
  return sum;
}

// Any bits at all; `finite` keeps away from infinities and from each other's overflow.
template <zero::element T>
std::vector<T> numbers(std::uint64_t key, std::int64_t n, bool finite) {
  std::vector<T> values;
  for (std::int64_t i = 0; i < n; ++i) {
    auto bits = static_cast<std::uint32_t>(zero::random_bits(key, static_cast<std::uint64_t>(i)));
    if (finite) {
      bits &= 0xbfff'ffffU;  // below 2
    }
    values.push_back(zero::from_float<T>(__builtin_bit_cast(float, bits)));
  }
  return values;
}

template <zero::element P, zero::element A>
std::uint64_t sums(std::uint64_t key, bool finite) {
  auto const gradient = numbers<P>(key, elements * ranks, finite);
  auto accumulator = numbers<A>(key + 1, elements, finite);
  std::vector<double> partials(static_cast<std::size_t>(zero::norm_blocks(elements)));
  std::uint64_t hash = 0;
  for (bool const add : {true, false, true}) {
    host_kernels::accumulate<P, A>(
        {}, gradient.data(), accumulator.data(), elements, add, 1, partials.data());
    hash = hash * 31 + hash_of(accumulator) + hash_of(partials);
    host_kernels::sum<P, A>({},
                            gradient.data(),
                            gradient.data() + elements,
                            elements,
                            0,
                            ranks,
                            accumulator.data(),
                            elements,
                            add,
                            partials.data());
    hash = hash * 31 + hash_of(accumulator) + hash_of(partials);
  }
  std::vector<double> total(1);
  host_kernels::reduce_partials(
      {}, partials.data(), static_cast<std::int64_t>(partials.size()), nullptr, total.data());
  return hash * 31 + hash_of(total);
}

template <zero::element P, zero::element A>
std::uint64_t update(std::uint64_t key) {
  auto const gradient = numbers<A>(key, elements, true);
  auto master = numbers<float>(key + 1, elements, true);
  auto parameter = numbers<P>(key + 2, elements, true);
  auto m = numbers<float>(key + 3, elements, true);
  auto v = numbers<float>(key + 4, elements, true);
  for (float& x : v) {
    x = zero::abs(x);
  }
  zero::step_config<zero::AdamW> config;
  config.group_count = 2;
  config.groups[1] = {.lr_scale = 0.3, .decay = 0};
  auto state = zero::initial_state(config);
  zero::rank_record const record{123.4};
  zero::step_control const control{.lr = 1e-2, .mean = 0.3, .clip_norm = 1};
  std::vector<zero::step_record> ring(1);
  host_kernels::decide<zero::AdamW>({}, &state, &record, 1, &control, &config, ring.data(), 0);
  std::vector<zero::update_segment> segments = {{.begin = 0, .end = 1024, .group = 0},
                                                {.begin = 1024, .end = elements, .group = 1}};
  zero::index_segments(segments, elements);
  zero::update_arguments<P, A> arguments;
  arguments.gradient = gradient.data();
  arguments.master = master.data();
  arguments.moments[0] = m.data();
  arguments.moments[1] = v.data();
  arguments.parameter = parameter.data();
  arguments.n = elements;
  arguments.segments = segments.data();
  arguments.segment_count = 2;
  host_kernels::update<zero::AdamW>({}, arguments, &state);
  return hash_of(master) + 3 * hash_of(m) + 5 * hash_of(v) + 7 * hash_of(parameter) +
         11 * hash_of(std::vector<double>{ring[0].norm, ring[0].clip_factor});
}

template <zero::element W>
std::uint64_t reductions(std::uint64_t key) {
  std::atomic<std::uint64_t> hash{0};
  zero::Local::run(ranks, [&](zero::local_communicator comm) {
    auto const rank = static_cast<std::uint64_t>(comm.rank());
    auto buffer = numbers<W>(key + rank, elements * ranks, false);
    comm.reduce_scatter({}, {.sequence = 1}, buffer.data(), elements, zero::dtype_of<W>, 0.37);
    hash += (rank + 1) * hash_of(buffer);
    buffer = numbers<W>(key + rank, elements * ranks, false);
    comm.all_reduce({}, {.sequence = 2}, buffer.data(), elements * ranks, zero::dtype_of<W>);
    hash += (rank + 5) * hash_of(buffer);
  });
  return hash;
}

}  // namespace

int main() {
  std::uint64_t hash = 0;
  for (bool const finite : {true, false}) {
    hash = hash * 31 + sums<float, float>(1, finite);
    hash = hash * 31 + sums<zero::bf16, float>(2, finite);
    hash = hash * 31 + sums<zero::bf16, zero::bf16>(3, finite);
    hash = hash * 31 + sums<zero::fp16, float>(4, finite);
    hash = hash * 31 + sums<zero::fp16, zero::fp16>(5, finite);
  }
  hash = hash * 31 + update<float, float>(6);
  hash = hash * 31 + update<zero::bf16, float>(7);
  hash = hash * 31 + update<zero::fp16, zero::fp16>(8);
  hash = hash * 31 + reductions<float>(9);
  hash = hash * 31 + reductions<zero::bf16>(10);
  hash = hash * 31 + reductions<zero::fp16>(11);
  std::printf("%016llx\n", static_cast<unsigned long long>(hash));
}
