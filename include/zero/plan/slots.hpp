// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/version.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace zero::inline ZERO_ABI {

/// A stretch of a pass during which one unit needs a slot: from the point that opens it to the
/// point that closes it for good. Intervals are in the order of opening.
struct slot_interval {
  std::int32_t unit = 0;   ///< that needs the slot
  std::int32_t open = 0;   ///< point of the pass
  std::int32_t close = 0;  ///< point of the pass, after `open`
  std::int64_t bytes = 0;  ///< of the unit in the slot
  std::int32_t slot = -1;  ///< assigned
  std::int32_t next = -1;  ///< interval that takes the slot when this one closes
  bool head = false;       ///< first holder of its slot
};

namespace detail {

/// Work on one slot while intervals are assigned to it.
struct slot_track {
  std::int64_t bytes = 0;
  std::int32_t first = -1;       ///< earliest interval placed so far; the others follow by `next`
  std::int32_t last = -1;        ///< latest one
  std::int32_t cursor = -1;      ///< first interval of a larger class that may still matter
  std::int32_t last_close = -1;  ///< where the latest interval of the class at hand closes
};

/// Links the intervals of each track in the order of time.
constexpr void link_tracks(std::vector<slot_track>& tracks, slot_interval* v, std::int32_t n) {
  auto* const track_of = tracks.data();
  for (auto& track : tracks) {
    track.first = -1;
    track.last = -1;
  }
  for (std::int32_t i = 0; i < n; ++i) {
    if (v[i].slot >= 0) {
      auto& track = track_of[v[i].slot];
      (track.last < 0 ? track.first : v[track.last].next) = i;
      track.last = i;
      v[i].next = -1;
    }
  }
}

}  // namespace detail

/// Assigns intervals to slots, each slot as large as the largest unit it holds, and returns the
/// slot sizes in bytes, largest first.
///
/// An interval reserves its slot from the opening of the `ahead`-th interval before it, so that its
/// gather (issued when the slot's previous holder closes) runs at least `ahead` visits early; with
/// `ahead` 0 it reserves the slot for its own visit only. Units are placed in size classes, larger
/// ones first: a large unit shares slots with other large ones, and small units use the gaps of
/// large slots before they get slots of their own, so that one large unit does not inflate the ring
/// of the others. (Greedy placement by size is the usual heuristic for shared buffers of known
/// lifetime.) Linear in the intervals for a bounded number of classes and slots. Written with plain
/// pointers, since a call an element costs more than the work under clang's limit of
/// constant-expression steps.
constexpr std::vector<std::int64_t> assign_slots(std::vector<slot_interval>& intervals, int ahead) {
  auto const n = static_cast<std::int32_t>(intervals.size());
  auto* const v = intervals.data();
  std::vector<detail::slot_track> tracks;
  auto above = std::numeric_limits<std::int64_t>::max();
  for (;;) {
    std::int64_t largest = -1;
    for (std::int32_t i = 0; i < n; ++i) {
      largest = v[i].bytes < above && v[i].bytes > largest ? v[i].bytes : largest;
    }
    if (largest < 0) {
      break;
    }
    auto const lower = largest - largest / 2;  // a class spans a factor of two
    for (auto& track : tracks) {
      track.cursor = track.first;
      track.last_close = -1;
    }
    for (std::int32_t i = 0; i < n; ++i) {
      if (v[i].bytes < lower || v[i].bytes >= above) {
        continue;
      }
      auto const reserved = v[i < ahead ? 0 : i - ahead].open;
      auto const count = static_cast<std::int32_t>(tracks.size());
      std::int32_t best = -1;
      auto* const track = tracks.data();
      for (std::int32_t t = 0; t < count; ++t) {
        auto c = track[t].cursor;
        while (c >= 0 && v[c].close < reserved) {
          c = v[c].next;
        }
        track[t].cursor = c;
        bool const taken = (c >= 0 && v[c < ahead ? 0 : c - ahead].open <= v[i].close) ||
                           track[t].last_close >= reserved;
        // of the free ones the one that is free for longest: its gather may start earliest
        best = !taken && (best < 0 || track[t].last_close < track[best].last_close) ? t : best;
      }
      if (best < 0) {
        best = count;
        tracks.push_back({});
      }
      auto& chosen = tracks[static_cast<std::size_t>(best)];
      chosen.bytes = chosen.bytes > v[i].bytes ? chosen.bytes : v[i].bytes;
      chosen.last_close = v[i].close;
      v[i].slot = best;
    }
    detail::link_tracks(tracks, v, n);
    above = lower;
  }
  std::vector<std::int64_t> sizes(tracks.size(), std::int64_t{0});
  std::vector<std::int32_t> position(tracks.size(), 0);  // of each track, largest first
  for (std::size_t t = 0; t < tracks.size(); ++t) {
    for (std::size_t o = 0; o < tracks.size(); ++o) {
      bool const before =
          tracks[o].bytes > tracks[t].bytes || (tracks[o].bytes == tracks[t].bytes && o < t);
      position[t] += before ? 1 : 0;
    }
    sizes[static_cast<std::size_t>(position[t])] = tracks[t].bytes;
    v[tracks[t].first].head = true;
  }
  auto const* const to = position.data();
  for (std::int32_t i = 0; i < n; ++i) {
    v[i].slot = to[v[i].slot];
  }
  return sizes;
}

}  // namespace zero::inline ZERO_ABI
