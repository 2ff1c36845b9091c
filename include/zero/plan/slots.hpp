// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace zero {

/// A stretch of a pass during which one unit needs a slot: from the point that opens it to the point
/// that closes it for good. Intervals are in the order of opening.
struct slot_interval {
  std::int32_t unit = 0;
  std::int32_t open = 0;   ///< point of the pass
  std::int32_t close = 0;  ///< point of the pass, after `open`
  std::int64_t bytes = 0;
  std::int32_t slot = -1;      ///< assigned
  std::int32_t next = -1;      ///< interval that takes the slot when this one closes
  bool head = false;           ///< first holder of its slot
};

namespace detail {

/// Work on one slot while intervals are assigned to it.
struct slot_track {
  std::int64_t bytes = 0;
  std::vector<std::int32_t> larger;  ///< intervals placed by earlier, larger size classes, by time
  std::size_t cursor = 0;            ///< first of `larger` that may still matter
  std::int32_t last = -1;            ///< latest interval of the class at hand
  std::vector<std::int32_t> holders; ///< all, by time
};

/// Merges the intervals that the class at hand placed with those of the larger classes.
constexpr void merge_holders(slot_track& track, std::vector<slot_interval> const& v) {
  std::vector<std::int32_t> merged;
  std::size_t a = 0;
  std::size_t b = 0;
  while (a < track.larger.size() || b < track.holders.size()) {
    bool const first = b == track.holders.size() ||
                       (a < track.larger.size() &&
                        v[static_cast<std::size_t>(track.larger[a])].open <
                            v[static_cast<std::size_t>(track.holders[b])].open);
    merged.push_back(first ? track.larger[a++] : track.holders[b++]);
  }
  track.larger = merged;
  track.holders.clear();
  track.cursor = 0;
  track.last = -1;
}

}  // namespace detail

/// Assigns intervals to slots, each slot as large as the largest unit it holds, and returns the slot
/// sizes in bytes, largest first.
///
/// An interval reserves its slot from the opening of the `ahead`-th interval before it, so that its
/// gather (issued when the slot's previous holder closes) runs at least `ahead` visits early; with
/// `ahead` 0 it reserves the slot for its own visit only. Units are placed in size classes, larger
/// ones first: a large unit shares slots with other large ones, and small units use the gaps of large
/// slots before they get slots of their own, so that one large unit does not inflate the ring of
/// the others. (Greedy placement by size is the usual heuristic for shared buffers of known lifetime.)
/// Linear in the intervals for a bounded number of classes and slots.
constexpr std::vector<std::int64_t> assign_slots(std::vector<slot_interval>& v, int ahead) {
  std::vector<detail::slot_track> tracks;
  auto reserved = [&](std::int32_t i) {
    return v[static_cast<std::size_t>(std::max(0, i - ahead))].open;
  };
  std::int64_t above = std::numeric_limits<std::int64_t>::max();
  for (;;) {
    std::int64_t largest = -1;
    for (auto const& interval : v) {
      if (interval.bytes < above) {
        largest = std::max(largest, interval.bytes);
      }
    }
    if (largest < 0) {
      break;
    }
    auto const lower = largest - largest / 2;  // a class spans a factor of two
    for (std::int32_t i = 0; i < static_cast<std::int32_t>(v.size()); ++i) {
      auto& interval = v[static_cast<std::size_t>(i)];
      if (interval.bytes < lower || interval.bytes >= above) {
        continue;
      }
      std::int32_t best = -1;
      std::int32_t best_close = 0;
      for (std::int32_t t = 0; t < static_cast<std::int32_t>(tracks.size()); ++t) {
        auto& track = tracks[static_cast<std::size_t>(t)];
        while (track.cursor < track.larger.size() &&
               v[static_cast<std::size_t>(track.larger[track.cursor])].close < reserved(i)) {
          ++track.cursor;
        }
        if (track.cursor < track.larger.size() &&
            reserved(track.larger[track.cursor]) <= interval.close) {
          continue;
        }
        auto const close = track.last < 0 ? -1 : v[static_cast<std::size_t>(track.last)].close;
        if (close >= reserved(i)) {
          continue;
        }
        if (best < 0 || close < best_close) {  // free for longest: its gather may start earliest
          best = t;
          best_close = close;
        }
      }
      if (best < 0) {
        best = static_cast<std::int32_t>(tracks.size());
        tracks.push_back({});
      }
      auto& track = tracks[static_cast<std::size_t>(best)];
      track.bytes = std::max(track.bytes, interval.bytes);
      track.last = i;
      track.holders.push_back(i);
      interval.slot = best;
    }
    for (auto& track : tracks) {
      detail::merge_holders(track, v);
    }
    above = lower;
  }
  std::vector<std::int64_t> sizes;
  std::vector<std::int32_t> rank(tracks.size(), 0);  // position of each track, largest first
  for (std::size_t t = 0; t < tracks.size(); ++t) {
    for (std::size_t o = 0; o < tracks.size(); ++o) {
      bool const before = tracks[o].bytes > tracks[t].bytes ||
                          (tracks[o].bytes == tracks[t].bytes && o < t);
      rank[t] += before ? 1 : 0;
    }
  }
  sizes = std::vector<std::int64_t>(tracks.size(), std::int64_t{0});
  for (std::size_t t = 0; t < tracks.size(); ++t) {
    sizes[static_cast<std::size_t>(rank[t])] = tracks[t].bytes;
    std::int32_t previous = -1;
    for (auto const i : tracks[t].larger) {
      auto& interval = v[static_cast<std::size_t>(i)];
      interval.slot = rank[t];
      interval.head = previous < 0;
      if (previous >= 0) {
        v[static_cast<std::size_t>(previous)].next = i;
      }
      previous = i;
    }
  }
  return sizes;
}

}  // namespace zero
