// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/error.hpp>
#include <zero/core/limits.hpp>
#include <zero/model/parameter.hpp>
#include <zero/plan/layout.hpp>
#include <zero/version.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace zero::inline ZERO_ABI {

/// Segments begin at multiples of so many elements: a parameter starts at a multiple of 256 bytes,
/// and no element has more than four. A kernel's vector therefore lies in one segment.
inline constexpr std::int64_t update_segment_alignment = 64;

/// A stretch of a range whose elements are updated with one group's scalars.
struct update_segment {
  std::int64_t begin = 0;  ///< elements, inside the range or the shard, as its holder says
  std::int64_t end = 0;    ///< one past the last
  std::int32_t group = 0;  ///< index in `update_groups::groups`
  std::int32_t index = 0;  ///< an entry of the table that `index_segments` writes
};

/// What the parameters of one group have in common.
struct update_group {
  double lr_scale = 1;       ///< multiplies the learning rate
  bool weight_decay = true;  ///< whether the weights decay
  friend constexpr bool operator==(update_group const&, update_group const&) = default;
};

/// The groups of a model, and for each range its segments in order: they cover the range without a
/// gap. Neighbours of one group are one segment, so that a model of many small parameters has few.
/// Padding is updated with the parameter before it and stays zero, since an optimizer leaves zeros
/// alone (checked at construction).
struct update_groups {
  std::vector<update_group> groups;         ///< in the order of their first parameter
  std::vector<update_segment> segments;     ///< sorted by range, then by position
  std::vector<std::int32_t> first_segment;  ///< of range r; one more entry than ranges
};

/// Sorts parameters into update groups.
/// @throws logic_error for more than `max_groups` distinct pairs.
[[nodiscard]] constexpr update_groups make_groups(model_plan_layout const& layout,
                                                  std::vector<parameter> const& parameters) {
  update_groups result;
  std::vector<std::vector<update_segment>> of_range(layout.ranges.size());
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    auto const& place = layout.places[i];
    if (place.range < 0 || parameters[i].traits.frozen) {
      continue;
    }
    update_group const wanted{parameters[i].traits.lr_scale, parameters[i].traits.weight_decay};
    std::int32_t group = 0;
    while (group < static_cast<std::int32_t>(result.groups.size()) &&
           !(result.groups[static_cast<std::size_t>(group)] == wanted)) {
      ++group;
    }
    if (group == static_cast<std::int32_t>(result.groups.size())) {
      precondition(group < max_groups,
                   "zero: more than 16 different pairs of lr_scale and weight_decay; use fewer");
      result.groups.push_back(wanted);
    }
    auto& segments = of_range[static_cast<std::size_t>(place.range)];
    auto const end = layout.ranges[static_cast<std::size_t>(place.range)].elements;
    if (segments.empty()) {
      segments.push_back({0, end, group, 0});
    } else if (segments.back().group != group) {
      segments.back().end = place.offset;
      segments.push_back({place.offset, end, group, 0});
    }
  }
  for (auto const& segments : of_range) {
    result.first_segment.push_back(static_cast<std::int32_t>(result.segments.size()));
    for (auto const& s : segments) {
      result.segments.push_back(s);
    }
  }
  result.first_segment.push_back(static_cast<std::int32_t>(result.segments.size()));
  return result;
}

/// The number of segments that `make_groups` will find, without building them.
[[nodiscard]] constexpr std::int64_t count_segments(model_plan_layout const& layout,
                                                    std::vector<parameter> const& parameters) {
  std::vector<parameter const*> last(layout.ranges.size(), nullptr);  // of each range
  auto const* p = parameters.data();
  auto const* const end = p + parameters.size();
  auto const* place = layout.places.data();
  std::int64_t count = 0;
  for (; p != end; ++p, ++place) {
    if (place->range < 0 || p->traits.frozen) {
      continue;
    }
    auto& before = last.data()[place->range];
    count += before == nullptr || before->traits.lr_scale != p->traits.lr_scale ||
                     before->traits.weight_decay != p->traits.weight_decay
                 ? 1
                 : 0;
    before = p;
  }
  return count;
}

/// Bits by which a position is shifted right to give its entry in the table of `index_segments`:
/// the fewest with which `count` entries reach all `n` > 0 elements.
[[nodiscard]] constexpr int segment_shift(std::int64_t n, std::int32_t count) {
  return static_cast<int>(std::bit_width(static_cast<std::uint64_t>((n - 1) / count)));
}

/// Writes into the segments of `n` elements a table that leads from a position to its segment in
/// one step where segments are of similar size: entry i is the first segment that ends behind
/// position i << `segment_shift`. It needs no memory of its own, since it has one entry a segment.
/// @throws logic_error unless the segments follow each other from 0 to n, none of them empty, each
/// beginning at a multiple of `update_segment_alignment`
constexpr void index_segments(std::vector<update_segment>& segments, std::int64_t n) {
  std::int64_t at = 0;
  for (auto const& s : segments) {
    precondition(s.begin == at && s.end > s.begin && s.begin % update_segment_alignment == 0,
                 "zero: update segments must cover their elements in order, without gaps, from "
                 "multiples of 64 on");
    at = s.end;
  }
  precondition(at == n, "zero: update segments must cover all elements");
  if (n == 0) {
    return;
  }
  auto const shift = segment_shift(n, static_cast<std::int32_t>(segments.size()));
  std::size_t behind = 0;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    auto const position = static_cast<std::int64_t>(i) << shift;
    while (behind < segments.size() && segments[behind].end <= position) {
      ++behind;
    }
    segments[i].index = static_cast<std::int32_t>(behind);
  }
}

/// The part of a range's segments that lies in `[begin, end)`, relative to `begin`, with its table.
[[nodiscard]] constexpr std::vector<update_segment> clip_segments(update_groups const& groups,
                                                                  std::int32_t range,
                                                                  std::int64_t begin,
                                                                  std::int64_t end) {
  std::vector<update_segment> result;
  auto const r = static_cast<std::size_t>(range);
  for (auto i = groups.first_segment[r]; i < groups.first_segment[r + 1]; ++i) {
    auto s = groups.segments[static_cast<std::size_t>(i)];
    s.begin = s.begin < begin ? begin : s.begin;
    s.end = s.end > end ? end : s.end;
    if (s.begin < s.end) {
      result.push_back({s.begin - begin, s.end - begin, s.group, 0});
    }
  }
  if (!result.empty()) {  // nothing of a frozen range is updated
    index_segments(result, end - begin);
  }
  return result;
}

}  // namespace zero::inline ZERO_ABI
