// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/config.hpp>
#include <zero/version.hpp>

#include <cstdint>

namespace zero::inline ZERO_ABI {

namespace detail {

/// Most ranks whose kernels meet.
inline constexpr int most_peers = 64;

/// Where the kernels of all ranks meet: words of each GPU's memory that the others can write.
///
/// A meeting has a number, one more than the one before. A rank's kernel writes it to the others'
/// `ready` words when it begins and to their `done` words when it has read what it wanted, and
/// waits for theirs. The number lies in memory, so that a graph may replay the kernel.
struct peer_meeting_flags {
  std::uint32_t* of[most_peers];           ///< each rank's words
  std::uint32_t const volatile* released;  ///< set by the host after a failure
  int rank;
  int ranks;

  static constexpr int stride = 8;  ///< words between those of two ranks: 32 bytes, a sector

  /// The word that rank `from` writes when it has begun.
  [[nodiscard]] ZERO_HOST_DEVICE static constexpr int ready(int from) { return from * stride; }

  /// The word that it writes when it has read.
  [[nodiscard]] ZERO_HOST_DEVICE static constexpr int done(int from) {
    return (most_peers + from) * stride;
  }

  static constexpr int number = 2 * most_peers * stride;  ///< of the last meeting
  static constexpr int begun = number + stride;           ///< blocks of this kernel that have begun
  static constexpr int ended = begun + stride;            ///< blocks that have ended

  /// Bytes of a rank's words, which are 0 at first.
  static constexpr std::int64_t bytes = std::int64_t{4} * (ended + stride);
};

}  // namespace detail

/// What a kernel needs in order to read the other ranks' memory: their addresses, in rank order,
/// and where the kernels meet. Made by `nccl_communicator::read_others`.
struct peer_reading {
  void const* at[detail::most_peers];  ///< the part of each rank
  detail::peer_meeting_flags flags;    ///< where the kernels meet
};

}  // namespace zero::inline ZERO_ABI
