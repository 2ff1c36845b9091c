// SPDX-License-Identifier: Apache-2.0
#include <zero/comm/peer/gpu/detail/ranks.hpp>

#include "tests/support/text.hpp"

#include <zero/core/error.hpp>
#include <zero/device/gpu/memory.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

// One rank, and answers of ranks that are not there. What several processes do is in the test of
// the transport.

using zero::detail::peer_range;
using zero::detail::peer_ranks;
using zero::test::contains;

namespace {

constexpr zero::peer_words words{"zero::test", "sharing", "no sharing"};

template <class T>
std::vector<T> alone(T const& mine) {
  return {mine};
}

template <class F>
std::string refusal(F&& f) {
  try {
    f();
  } catch (zero::logic_error const& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a rank alone knows its memory, and where kernels read it") {
  auto const gather = [](auto const& mine) { return alone(mine); };
  peer_ranks ranks(words, 0, 1, gather);
  zero::gpu::memory const memory(4096, "test");
  auto* const bytes = static_cast<std::byte*>(memory.get());
  CHECK(ranks.copies().range_of(bytes, 4096) == nullptr);
  ranks.add(bytes, 4096, gather);
  auto const* const range = ranks.copies().range_of(bytes, 4096);
  REQUIRE(range != nullptr);
  auto const reading = ranks.reading(*range, bytes + 256);
  CHECK(reading.at[0] == bytes + 256);
  CHECK(reading.flags.rank == 0);
  CHECK(reading.flags.ranks == 1);
  CHECK(reading.flags.of[0] != nullptr);
  CHECK_FALSE(ranks.news().any_failed());
}

TEST_CASE("what cannot be shared is refused in the communicator's words") {
  auto const gather = [](auto const& mine) { return alone(mine); };
  CHECK(contains(refusal([&] { peer_ranks(words, 0, 65, gather); }),
                 "zero::test: sharing is for 64 ranks of one host at most; use no sharing"));
  // Another rank says that it cannot open the segment.
  auto const closed = [](auto const& mine) {
    auto all = alone(mine);
    if constexpr (std::is_same_v<decltype(all), std::vector<std::int32_t>>) {
      all.push_back(2);  // ENOENT
    }
    return all;
  };
  CHECK(contains(refusal([&] { peer_ranks(words, 0, 2, closed); }),
                 "zero::test: sharing needs ranks of one host that share /dev/shm; rank 1 cannot "
                 "open memory there (No such file or directory); use no sharing"));

  peer_ranks ranks(words, 0, 1, gather);
  zero::gpu::memory const memory(4096, "test");
  auto const with_another = [&](auto&& change) {
    return refusal([&] {
      ranks.add(memory.get(), 4096, [&](auto const& mine) {
        auto all = std::vector{mine, mine};
        if constexpr (std::is_same_v<decltype(all), std::vector<peer_range::offer>>) {
          ++all[1].process;
          change(all[1]);
        }
        return all;
      });
    });
  };
  CHECK(with_another([](auto& offer) { offer.bytes = 8192; }) ==
        "zero::test: register_memory needs the same size on all ranks");
  CHECK(with_another([](auto& offer) { --offer.process; }) ==
        "zero::test: sharing needs a process for each rank; zero::Local is for ranks that share "
        "one");
  CHECK(contains(with_another([](auto& offer) { offer.error = cudaErrorInvalidValue; }),
                 "zero::test: rank 1 cannot hand its memory to other processes "
                 "(cudaErrorInvalidValue); sharing needs memory of one cudaMalloc"));
  int on_host = 0;
  CHECK(
      contains(refusal([&] { ranks.add(&on_host, 4, gather); }), "rank 0 cannot hand its memory"));
}
