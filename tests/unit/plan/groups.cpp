// SPDX-License-Identifier: Apache-2.0
#include <zero/plan/groups.hpp>

#include "random_plan.hpp"

#include <zero/core/error.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <random>
#include <vector>

static_assert(sizeof(zero::update_segment) == 24, "control.hpp plans 24 bytes a segment");

TEST_CASE("every trained element lies in exactly one segment, of its parameter's group") {
  std::mt19937 random(11);
  for (int round = 0; round < 300; ++round) {
    auto const c = zero::test::draw_case(random);
    auto const plan = c.plan();
    CHECK(zero::count_segments(plan.layout, plan.parameters) ==
          static_cast<std::int64_t>(plan.groups.segments.size()));
    for (std::size_t i = 0; i < plan.parameters.size(); ++i) {
      auto const& p = plan.parameters[i];
      auto const& place = plan.layout.places[i];
      if (place.range < 0 || p.traits.frozen) {
        continue;
      }
      int covering = 0;
      auto const r = static_cast<std::size_t>(place.range);
      for (auto s = plan.groups.first_segment[r]; s < plan.groups.first_segment[r + 1]; ++s) {
        auto const& segment = plan.groups.segments[static_cast<std::size_t>(s)];
        if (segment.begin <= place.offset && place.offset + p.elements <= segment.end) {
          ++covering;
          auto const& group = plan.groups.groups[static_cast<std::size_t>(segment.group)];
          CHECK(group.lr_scale == p.traits.lr_scale);
          CHECK(group.weight_decay == p.traits.weight_decay);
        }
      }
      CHECK(covering == 1);
    }
  }
}

TEST_CASE("clipped segments cover every shard, in the groups of the range") {
  std::mt19937 random(12);
  for (int round = 0; round < 200; ++round) {
    auto const plan = zero::test::draw_case(random).plan();
    for (std::size_t r = 0; r < plan.layout.ranges.size(); ++r) {
      auto const& range = plan.layout.ranges[r];
      auto const first = plan.groups.first_segment[r];
      auto const last = plan.groups.first_segment[r + 1];
      for (int rank = 0; rank < plan.config.world; ++rank) {
        std::int64_t const begin = rank * range.shard();
        auto const clipped = zero::clip_segments(
            plan.groups, static_cast<std::int32_t>(r), begin, begin + range.shard());
        std::int64_t at = 0;
        for (auto const& s : clipped) {
          CHECK(s.begin == at);
          at = s.end;
          bool inside = false;
          for (auto i = first; i < last; ++i) {
            auto const& whole = plan.groups.segments[static_cast<std::size_t>(i)];
            inside = inside || (whole.begin <= begin + s.begin && begin + s.end <= whole.end &&
                                whole.group == s.group);
          }
          CHECK(inside);
        }
        CHECK(at == (range.frozen ? 0 : range.shard()));
      }
    }
  }
}

TEST_CASE("the table of segments leads to every element's segment") {
  std::mt19937 random(13);
  auto const below = [&](std::int64_t n) { return static_cast<std::int64_t>(random() % n); };
  for (int round = 0; round < 300; ++round) {
    std::vector<zero::update_segment> segments;
    std::int64_t n = 0;
    for (std::int64_t i = 1 + below(300); i > 0; --i) {
      std::int64_t const lines = 1 + (below(10) == 0 ? below(1000) : below(3));
      segments.push_back({n, n + lines * zero::update_segment_alignment, 0, 0});
      n = segments.back().end;
    }
    segments.back().end = n -= below(zero::update_segment_alignment);
    zero::index_segments(segments, n);
    auto const count = static_cast<std::int32_t>(segments.size());
    int const shift = zero::segment_shift(n, count);
    CHECK(((n - 1) >> shift) < count);
    CHECK((shift == 0 || ((n - 1) >> (shift - 1)) >= count));  // no coarser than need be
    std::int32_t s = 0;
    bool found = true;
    for (std::int64_t i = 0; i < n; ++i) {
      s += segments[static_cast<std::size_t>(s)].end <= i ? 1 : 0;
      auto const entry = static_cast<std::size_t>(i >> shift);
      auto const low = segments[entry].index;
      auto const high = entry + 1 < segments.size() ? segments[entry + 1].index : count - 1;
      found = found && low <= s && s <= high;
    }
    CHECK(found);
  }
}

TEST_CASE("segments that overlap, leave a gap or begin between lines are refused") {
  using list = std::vector<zero::update_segment>;
  for (list segments : {list{{0, 64, 0, 0}, {128, 200, 0, 0}},
                        list{{0, 128, 0, 0}, {64, 200, 0, 0}},
                        list{{0, 100, 0, 0}, {100, 200, 0, 0}},
                        list{{64, 200, 0, 0}},
                        list{{0, 64, 0, 0}, {64, 64, 0, 0}, {64, 200, 0, 0}},
                        list{{0, 199, 0, 0}},
                        list{}}) {
    CHECK_THROWS_AS(zero::index_segments(segments, 200), zero::logic_error);
  }
}

TEST_CASE("more than 16 groups are refused with a sentence") {
  zero::test::random_case c;
  c.units = 1;
  for (int i = 0; i < 17; ++i) {
    zero::parameter p;
    p.elements = 100;
    p.traits.lr_scale = 1.0 + i;
    c.parameters.push_back(p);
  }
  zero::test::visit(c.program.forward, zero::phase::forward, 0);
  zero::test::visit(c.program.backward, zero::phase::backward, 0);
  CHECK_THROWS_WITH_AS(static_cast<void>(c.plan()),
                       "zero: more than 16 different pairs of lr_scale and weight_decay; use fewer",
                       zero::logic_error);
}
