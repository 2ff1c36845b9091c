// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/support/wild.hpp"

#include <zero/comm/concepts.hpp>
#include <zero/core/dtype.hpp>
#include <zero/core/rank_order.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

/// @file
/// The laws of the concept `communicator`. Each rank of a world calls `communicator_laws(rank)`
/// with an object of its own:
///
///     struct some_rank {
///       communicator auto& comm();
///       auto stream();                            // what the calls take
///       template <class T> T* upload(std::vector<T> const&);          // memory that the calls can
///       use; template <class T> std::vector<T> download(T const*, n);     // after the calls
///       before it
///     };
///
/// Uploaded memory lives as long as the rank. The world may have any size.

namespace zero::laws {

/// What the ranks bring: the same function on each, so that all know all contributions.
template <element T>
[[nodiscard]] std::vector<T> contribution(int rank,
                                          std::int64_t n,
                                          bool exact,
                                          std::uint64_t seed) {
  test::wild_numbers source(seed * 1000 + static_cast<std::uint64_t>(rank));
  if (!exact) {
    return source.vector<T>(n);
  }
  std::vector<T> values;  // small multiples of 1/2: every sum of up to 16 of them is exact in bf16
  for (std::int64_t i = 0; i < n; ++i) {
    values.push_back(from_float<T>(static_cast<float>(source.below(15) - 7) * 0.5F));
  }
  return values;
}

/// Byte counts that nothing divides, too.
inline constexpr std::int64_t byte_counts[] = {0, 1, 7, 256, 4099};

/// A tag for each call of a rank in turn.
struct tag_sequence {
  collective_tag tag{.step = 7, .unit = 3, .operation_name = "law", .unit_name = "blocks.3"};

  collective_tag next() {
    ++tag.sequence;
    return tag;
  }
};

[[nodiscard]] inline std::vector<unsigned char> bytes_of_rank(int rank, std::int64_t n, int salt) {
  std::vector<unsigned char> values;
  for (std::int64_t i = 0; i < n; ++i) {
    values.push_back(static_cast<unsigned char>(i * 7 + rank * 31 + salt * 101 + i / 256));
  }
  return values;
}

template <class Rank>
void all_gather_law(Rank& rank, tag_sequence& tags) {
  auto& comm = rank.comm();
  for (std::int64_t const n : byte_counts) {
    std::vector<unsigned char> expected;
    for (int i = 0; i < comm.size(); ++i) {
      auto const part = bytes_of_rank(i, n, 0);
      expected.insert(expected.end(), part.begin(), part.end());
    }
    auto* const send = rank.upload(bytes_of_rank(comm.rank(), n, 0));
    auto* const receive = rank.upload(std::vector<unsigned char>(expected.size()));
    comm.all_gather(rank.stream(), tags.next(), send, receive, n);
    bool const apart = rank.download(receive, n * comm.size()) == expected;
    CHECK(apart);

    auto own_part = std::vector<unsigned char>(expected.size());
    std::copy_n(expected.begin() + comm.rank() * n, n, own_part.begin() + comm.rank() * n);
    auto* const both = rank.upload(own_part);
    comm.all_gather(rank.stream(), tags.next(), both + comm.rank() * n, both, n);
    bool const in_place = rank.download(both, n * comm.size()) == expected;
    CHECK(in_place);
  }
}

template <class Rank>
void all_to_others_law(Rank& rank, tag_sequence& tags) {
  auto& comm = rank.comm();
  int const me = comm.rank();
  int const ranks = comm.size();
  for (std::int64_t const n : byte_counts) {
    std::int64_t const stride = n + 5;
    auto const outgoing = bytes_of_rank(me, stride * ranks, 1);
    auto* const send = rank.upload(outgoing);
    // The others' chunks without a gap, and nothing behind them.
    std::int64_t const behind = n + 3;
    auto const blank =
        std::vector<unsigned char>(static_cast<std::size_t>(n * (ranks - 1) + behind), 0xAB);
    auto const arrived = static_cast<std::int64_t>(blank.size());
    auto* const receive = rank.upload(blank);
    comm.all_to_others(rank.stream(), tags.next(), send, stride, receive, n);
    auto expected = blank;
    for (int i = 0; i < ranks; ++i) {
      if (i != me) {
        auto const theirs = bytes_of_rank(i, stride * ranks, 1);
        std::copy_n(
            theirs.begin() + me * stride, n, expected.begin() + place_among_others(i, me) * n);
      }
    }
    auto const got = rank.download(receive, arrived);
    bool const exchanged = got == expected;
    CHECK(exchanged);
    bool const stays = rank.download(send, stride * ranks) == outgoing;
    CHECK(stays);

    // Back again, rank i's chunk in the place of rank i's: every chunk comes home.
    std::vector<unsigned char> apart(static_cast<std::size_t>(stride * ranks), 0xCD);
    auto home = blank;
    for (int i = 0; i < ranks; ++i) {
      if (i != me) {
        auto const at = place_among_others(i, me) * n;
        std::copy_n(got.begin() + at, n, apart.begin() + i * stride);
        std::copy_n(outgoing.begin() + i * stride, n, home.begin() + at);
      }
    }
    auto* const returned = rank.upload(blank);
    comm.all_to_others(rank.stream(), tags.next(), rank.upload(apart), stride, returned, n);
    bool const came_home = rank.download(returned, arrived) == home;
    CHECK(came_home);
  }
}

template <class Rank>
void broadcast_law(Rank& rank, tag_sequence& tags) {
  auto& comm = rank.comm();
  for (int root = 0; root < comm.size(); ++root) {
    for (std::int64_t const n : byte_counts) {
      auto* const buffer = rank.upload(bytes_of_rank(comm.rank(), n, 2));
      comm.broadcast(rank.stream(), tags.next(), buffer, n, root);
      bool const roots = rank.download(buffer, n) == bytes_of_rank(root, n, 2);
      CHECK(roots);
    }
  }
}

/// Where every sum is exact, the order of adding and the library's algorithm cannot matter.
template <element T, class Rank>
void exact_sum_law(Rank& rank, tag_sequence& tags) {
  auto& comm = rank.comm();
  for (std::int64_t const shard : {0, 1, 5, 256, 1027}) {
    std::int64_t const n = shard * comm.size();
    for (double const prescale : {1.0, 0.5}) {
      std::vector<T> expected;
      for (std::int64_t i = 0; i < n; ++i) {
        expected.push_back(T{});
      }
      for (int r = 0; r < comm.size(); ++r) {
        auto const part = contribution<T>(r, n, true, 3);
        for (std::size_t i = 0; i < part.size(); ++i) {
          double const sum = double{to_float(expected[i])} + prescale * double{to_float(part[i])};
          expected[i] = test::rounded<T>(sum);
        }
      }
      T* const buffer = rank.upload(contribution<T>(comm.rank(), n, true, 3));
      comm.reduce_scatter(rank.stream(), tags.next(), buffer, shard, dtype_of<T>, prescale);
      comm.all_gather(rank.stream(),
                      tags.next(),
                      buffer + comm.rank() * shard,
                      buffer,
                      shard * bytes_of(dtype_of<T>));
      std::size_t const scattered = test::differences(rank.download(buffer, n), expected);
      CHECK(scattered == 0);
      if (prescale == 1) {
        T* const whole = rank.upload(contribution<T>(comm.rank(), n, true, 3));
        comm.all_reduce(rank.stream(), tags.next(), whole, n, dtype_of<T>);
        std::size_t const reduced = test::differences(rank.download(whole, n), expected);
        CHECK(reduced == 0);
      }
    }
  }
}

/// Whatever the numbers: all ranks have the same bits, and they are near the sum.
template <element T, class Rank>
void agreement_law(Rank& rank, tag_sequence& tags) {
  auto& comm = rank.comm();
  for (std::int64_t const n : {1, 2, 1001}) {  // not multiples of the number of ranks
    T* const mine = rank.upload(contribution<T>(comm.rank(), n, false, 4));
    comm.all_reduce(rank.stream(), tags.next(), mine, n, dtype_of<T>);
    auto const got = rank.download(mine, n);
    T* const everyones = rank.upload(std::vector<T>(static_cast<std::size_t>(n * comm.size())));
    comm.all_gather(rank.stream(), tags.next(), mine, everyones, n * bytes_of(dtype_of<T>));
    auto const all = rank.download(everyones, n * comm.size());
    std::size_t differing = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      differing += test::same(all[i], got[i % got.size()]) ? 0 : 1;
    }
    CHECK(differing == 0);

    // Each of at most `size` roundings errs by half a unit in the last place of a partial sum.
    double const unit = std::is_same_v<T, float>  ? 0x1p-24
                        : std::is_same_v<T, bf16> ? 0x1p-8
                                                  : 0x1p-11;
    double const denormal = std::is_same_v<T, float>  ? 0x1p-149
                            : std::is_same_v<T, bf16> ? 0x1p-133
                                                      : 0x1p-24;
    std::vector<double> sum(static_cast<std::size_t>(n));
    std::vector<double> magnitude(sum.size());
    for (int r = 0; r < comm.size(); ++r) {
      auto const part = contribution<T>(r, n, false, 4);
      for (std::size_t i = 0; i < sum.size(); ++i) {
        sum[i] += double{to_float(part[i])};
        magnitude[i] += std::fabs(double{to_float(part[i])});
      }
    }
    std::size_t far = 0;
    for (std::size_t i = 0; i < sum.size(); ++i) {
      double const bound = 2 * comm.size() * (unit * magnitude[i] + denormal);
      far += std::fabs(double{to_float(got[i])} - sum[i]) <= bound ? 0 : 1;
    }
    CHECK(far == 0);
  }
}

/// Inside groups, nested ones too, calls do and count what they do alone.
template <class Rank>
void group_law(Rank& rank, tag_sequence& tags) {
  auto& comm = rank.comm();
  std::int64_t const n = 300;
  auto const ranks = static_cast<std::size_t>(comm.size());
  auto* const first = rank.upload(bytes_of_rank(comm.rank(), n, 5));
  auto* const second = rank.upload(bytes_of_rank(comm.rank(), n, 6));
  auto* const first_all = rank.upload(std::vector<unsigned char>(ranks * n));
  auto* const second_all = rank.upload(std::vector<unsigned char>(ranks * n));
  traffic const before = comm.counters();
  comm.begin_group();
  comm.all_gather(rank.stream(), tags.next(), first, first_all, n);
  comm.begin_group();
  comm.all_gather(rank.stream(), tags.next(), second, second_all, n);
  comm.end_group();
  comm.end_group();
  std::vector<unsigned char> expected_first;
  std::vector<unsigned char> expected_second;
  for (int i = 0; i < comm.size(); ++i) {
    auto const a = bytes_of_rank(i, n, 5);
    auto const b = bytes_of_rank(i, n, 6);
    expected_first.insert(expected_first.end(), a.begin(), a.end());
    expected_second.insert(expected_second.end(), b.begin(), b.end());
  }
  bool const both = rank.download(first_all, n * comm.size()) == expected_first &&
                    rank.download(second_all, n * comm.size()) == expected_second;
  CHECK(both);
  traffic const sent = comm.counters() - before;
  CHECK(sent[collective::all_gather].count == (comm.size() > 1 ? 2 : 0));
}

/// The table of `traffic`, and nothing but it.
template <class Rank>
void traffic_law(Rank& rank, tag_sequence& tags) {
  auto& comm = rank.comm();
  std::int64_t const n = 24;
  std::int64_t const ranks = comm.size();
  std::int64_t const others = ranks - 1;
  auto* const send = rank.upload(std::vector<unsigned char>(static_cast<std::size_t>(ranks * n)));
  auto* const receive =
      rank.upload(std::vector<unsigned char>(static_cast<std::size_t>(ranks * n)));
  auto* const floats = rank.upload(std::vector<float>(static_cast<std::size_t>(ranks * n)));
  traffic const before = comm.counters();
  comm.all_gather(rank.stream(), tags.next(), send, receive, n);
  comm.all_to_others(rank.stream(), tags.next(), send, n, receive, n);
  comm.reduce_scatter(rank.stream(), tags.next(), floats, n, dtype::fp32, 1);
  comm.all_reduce(rank.stream(), tags.next(), floats, n * ranks, dtype::fp32);
  comm.broadcast(rank.stream(), tags.next(), receive, n, 0);
  traffic const sent = comm.counters() - before;
  std::int64_t const calls = ranks > 1 ? 1 : 0;
  CHECK(sent[collective::all_gather] == traffic::entry{calls, others * n});
  CHECK(sent[collective::all_to_others] == traffic::entry{calls, others * n});
  CHECK(sent[collective::reduce_scatter] == traffic::entry{calls, others * n * 4});
  CHECK(sent[collective::all_reduce] == traffic::entry{calls, 2 * others * n * 4});
  CHECK(sent[collective::broadcast] == traffic::entry{calls, comm.rank() == 0 ? others * n : 0});
  static_cast<void>(rank.download(floats, n));
}

/// All laws of a world that works. Collective: every rank calls it once.
template <class Rank>
void communicator_laws(Rank& rank) {
  static_assert(communicator<std::remove_cvref_t<decltype(rank.comm())>>);
  tag_sequence tags;
  CHECK(rank.comm().size() >= 1);
  CHECK((rank.comm().rank() >= 0 && rank.comm().rank() < rank.comm().size()));
  all_gather_law(rank, tags);
  all_to_others_law(rank, tags);
  broadcast_law(rank, tags);
  exact_sum_law<float>(rank, tags);
  exact_sum_law<bf16>(rank, tags);
  exact_sum_law<fp16>(rank, tags);
  agreement_law<float>(rank, tags);
  agreement_law<bf16>(rank, tags);
  agreement_law<fp16>(rank, tags);
  group_law(rank, tags);
  traffic_law(rank, tags);
  rank.comm().check();
}

}  // namespace zero::laws
