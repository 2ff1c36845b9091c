// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/laws/communicator.hpp"
#include "tests/support/wild.hpp"

#include <zero/comm/abilities.hpp>
#include <zero/core/dtype.hpp>
#include <zero/core/norm.hpp>
#include <zero/core/traffic.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

/// @file
/// The laws of what a communicator may be able to do besides, one function an ability. Collective;
/// they take the rank of tests/laws/communicator.hpp and the tags of the calls before them.

namespace zero::laws {

/// Calls into known memory bring what they bring elsewhere, and memory may be made known again.
template <class Rank>
void registering_laws(Rank& rank, tag_sequence& tags) {
  auto& comm = rank.comm();
  static_assert(registering_communicator<std::remove_cvref_t<decltype(comm)>>);
  std::int64_t const n = 300;
  std::vector<unsigned char> expected;
  for (int i = 0; i < comm.size(); ++i) {
    auto const part = bytes_of_rank(i, n, 8);
    expected.insert(expected.end(), part.begin(), part.end());
  }
  auto* const send = rank.upload(bytes_of_rank(comm.rank(), n, 8));
  for (int round = 0; round < 2; ++round) {
    auto* const receive = rank.upload(std::vector<unsigned char>(expected.size()));
    comm.register_memory(send, n);
    comm.register_memory(receive, static_cast<std::int64_t>(expected.size()));
    comm.all_gather(rank.stream(), tags.next(), send, receive, n);
    bool const gathered =
        rank.download(receive, static_cast<std::int64_t>(expected.size())) == expected;
    CHECK(gathered);
    comm.deregister_memory(send);
    comm.deregister_memory(receive);
  }
  static_cast<void>(comm.registers_sources());
}

/// A watch that ends leaves the stream and the communicator as they were.
template <class Rank>
void watching_laws(Rank& rank, tag_sequence& tags) {
  auto& comm = rank.comm();
  static_assert(watching_communicator<std::remove_cvref_t<decltype(comm)>>);
  traffic const before = comm.counters();
  for (int i = 0; i < 3; ++i) {
    comm.begin_watch(rank.stream(), tags.tag);
    comm.end_watch(rank.stream());
  }
  CHECK(comm.counters() == before);
  auto* const value = rank.upload(bytes_of_rank(comm.rank(), 40, 9));
  comm.broadcast(rank.stream(), tags.next(), value, 40, 0);
  bool const arrived = rank.download(value, 40) == bytes_of_rank(0, 40, 9);
  CHECK(arrived);
  comm.check();
}

/// The sum of what is read where it lies is, to the bit, that of what is exchanged; pieces of a
/// shard too; and counts as the exchange does.
template <class Kernels, element W, class Rank>
void peer_reading_laws(Rank& rank, tag_sequence& tags) {
  auto& comm = rank.comm();
  static_assert(peer_reading_communicator<std::remove_cvref_t<decltype(comm)>>);
  auto const ranks = std::int64_t{comm.size()};
  for (std::int64_t const shard : {std::int64_t{1}, std::int64_t{255}, 2 * norm_block + 5}) {
    CAPTURE(shard);
    auto const width = static_cast<std::int64_t>(sizeof(W));
    auto const whole = contribution<W>(comm.rank(), ranks * shard, false, 11);
    W* const mine = rank.upload(whole);
    W* const own = mine + comm.rank() * shard;
    auto const blocks = norm_blocks(shard);
    auto const blank = std::vector<float>(static_cast<std::size_t>(shard), 0.5F);
    auto const no_squares = std::vector<double>(static_cast<std::size_t>(blocks));
    float* const read = rank.upload(blank);
    float* const exchanged = rank.upload(blank);
    double* const read_squares = rank.upload(no_squares);
    double* const exchanged_squares = rank.upload(no_squares);
    W* const received = rank.upload(std::vector<W>(static_cast<std::size_t>(ranks * shard)));

    comm.register_memory(mine, ranks * shard * width);
    REQUIRE(comm.reads_others(own, shard * width));
    traffic const before = comm.counters();
    for (std::int64_t at = 0; at < shard; at += norm_block) {  // pieces, as an engine cuts them
      auto const n = std::min(norm_block, shard - at);
      auto const launch = [&](auto const& reading) {
        Kernels::template sum_of_peers<W, float>(
            rank.stream(), reading, read + at, n, true, read_squares + at / norm_block);
      };
      comm.read_others(rank.stream(), tags.next(), own + at, n * width, at > 0, launch);
    }
    traffic const sent = comm.counters() - before;
    CHECK(sent[collective::all_to_others].bytes == (ranks - 1) * shard * width);
    comm.all_to_others(rank.stream(), tags.next(), mine, shard * width, received, shard * width);
    Kernels::template sum<W, float>(rank.stream(),
                                    static_cast<W const*>(own),
                                    static_cast<W const*>(received),
                                    shard,
                                    comm.rank(),
                                    comm.size(),
                                    exchanged,
                                    shard,
                                    true,
                                    exchanged_squares);
    std::size_t const differing =
        test::differences(rank.download(read, shard), rank.download(exchanged, shard)) +
        test::differences(rank.download(read_squares, blocks),
                          rank.download(exchanged_squares, blocks));
    CHECK(differing == 0);
    comm.deregister_memory(mine);
  }
}

}  // namespace zero::laws
