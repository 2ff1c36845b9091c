// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/version.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace zero::inline ZERO_ABI {

/// The collective operations a communicator offers; the key of its `traffic`.
enum class collective : std::uint8_t {
  all_gather,
  all_to_others,
  reduce_scatter,
  all_reduce,
  broadcast
};

/// Number of enumerators of `collective`.
inline constexpr int collective_count = 5;

/// The name of a collective as messages spell it, e.g. "all_gather".
[[nodiscard]] constexpr char const* name(collective operation) noexcept {
  constexpr char const* names[collective_count] = {
      "all_gather", "all_to_others", "reduce_scatter", "all_reduce", "broadcast"};
  return names[static_cast<std::size_t>(operation)];
}

/// What one rank has put on the wire, per collective: a value, taken by `counters()`.
///
/// Bytes are the payload *sent by this rank* by the cheapest known algorithm, so that they compare
/// with the closed form of a stage whatever the transport does inside. With n ranks:
///
/// | call | bytes |
/// |---|---|
/// | all_gather, all_to_others | (n-1) * bytes of one shard |
/// | reduce_scatter | (n-1) * bytes of one shard |
/// | all_reduce | 2 (n-1) / n * bytes of the buffer, rounded down |
/// | broadcast | (n-1) * bytes at the root, 0 elsewhere |
///
/// A call in a world of one rank sends nothing and is not counted; a call inside a group counts
/// as one call.
struct traffic {
  /// Calls and bytes of one collective.
  struct entry {
    std::int64_t count = 0;  ///< calls
    std::int64_t bytes = 0;  ///< payload bytes this rank sent

    friend constexpr bool operator==(entry const&, entry const&) = default;
  };

  std::array<entry, collective_count> entries{};  ///< indexed by `collective`

  /// The entry of one collective.
  [[nodiscard]] constexpr entry const& operator[](collective operation) const noexcept {
    return entries[static_cast<std::size_t>(operation)];
  }

  /// The entry of one collective, to be changed.
  [[nodiscard]] constexpr entry& operator[](collective operation) noexcept {
    return entries[static_cast<std::size_t>(operation)];
  }

  /// Calls and bytes of all collectives together.
  [[nodiscard]] constexpr entry total() const noexcept {
    entry sum;
    for (entry const& e : entries) {
      sum.count += e.count;
      sum.bytes += e.bytes;
    }
    return sum;
  }

  /// What was sent between two readings: `after - before`.
  [[nodiscard]] friend constexpr traffic operator-(traffic after, traffic const& before) noexcept {
    for (std::size_t i = 0; i < after.entries.size(); ++i) {
      after.entries[i].count -= before.entries[i].count;
      after.entries[i].bytes -= before.entries[i].bytes;
    }
    return after;
  }

  friend constexpr bool operator==(traffic const&, traffic const&) = default;
};

namespace detail {

/// Bytes a rank sends in one call: the table of `traffic`. `bytes` is that of one shard
/// (all_gather, all_to_others, reduce_scatter) or of the whole buffer (all_reduce, broadcast).
[[nodiscard]] constexpr std::int64_t sent_bytes(collective operation,
                                                std::int64_t bytes,
                                                int ranks,
                                                bool is_root) noexcept {
  std::int64_t const others = ranks - 1;
  switch (operation) {
    case collective::all_reduce:
      return 2 * others * (bytes / ranks) + 2 * others * (bytes % ranks) / ranks;
    case collective::broadcast:
      return is_root ? others * bytes : 0;
    case collective::all_gather:
    case collective::all_to_others:
    case collective::reduce_scatter:
      break;
  }
  return others * bytes;
}

/// The live counters behind a `traffic`: written by the communication thread, read by any
/// thread. A reading is exact once the calls it should contain have returned.
class traffic_counters {
 public:
  /// Counts one call of this rank. Nothing is counted in a world of one rank.
  void add(collective operation, std::int64_t bytes, int ranks, bool is_root = true) noexcept {
    if (ranks > 1) {
      auto& counters = entries_[static_cast<std::size_t>(operation)];
      counters.count.fetch_add(1, std::memory_order_relaxed);
      counters.bytes.fetch_add(sent_bytes(operation, bytes, ranks, is_root),
                               std::memory_order_relaxed);
    }
  }

  /// The counters as a value.
  [[nodiscard]] traffic read() const noexcept {
    traffic result;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      result.entries[i].count = entries_[i].count.load(std::memory_order_relaxed);
      result.entries[i].bytes = entries_[i].bytes.load(std::memory_order_relaxed);
    }
    return result;
  }

 private:
  struct entry {
    std::atomic<std::int64_t> count{0};
    std::atomic<std::int64_t> bytes{0};
  };

  std::array<entry, collective_count> entries_{};
};

}  // namespace detail

}  // namespace zero::inline ZERO_ABI
