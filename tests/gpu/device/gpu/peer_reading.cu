// SPDX-License-Identifier: Apache-2.0
#include <zero/device/gpu/peer_reading.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <set>

using flags = zero::detail::peer_meeting_flags;

TEST_CASE("every word of a meeting is its own, in its own sector, and inside") {
  std::set<int> words{flags::number, flags::begun, flags::ended};
  for (int from = 0; from < zero::detail::most_peers; ++from) {
    words.insert(flags::ready(from));
    words.insert(flags::done(from));
  }
  CHECK(words.size() == std::size_t{2} * zero::detail::most_peers + 3);
  for (int const word : words) {
    CHECK(word % flags::stride == 0);
    CHECK((word + 1) * 4 <= flags::bytes);
  }
}
