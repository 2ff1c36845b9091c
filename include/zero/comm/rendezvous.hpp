// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/error.hpp>
#include <zero/version.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace zero::inline ZERO_ABI {

/// Who meets to receive a few bytes from rank 0, typically the identifier of a communicator, before
/// any communicator exists.
///
/// The ways to meet are `rendezvous_by_tcp` and `rendezvous_by_file`. Both are collective over
/// `size` processes, both wait at most `limit` and then say in one sentence who was missing, and
/// neither keeps a thread, a socket or a file after it has returned.
struct rendezvous {
  int rank = 0;         ///< this process, 0 <= rank < size
  int size = 1;         ///< number of processes, the same for all
  std::string token{};  ///< names the job; processes with another token are turned away
  std::chrono::nanoseconds limit = std::chrono::seconds(120);  ///< longest wait of a process
};

namespace detail {

/// What travels of a token: its FNV-1a hash (Fowler, Noll, Vo), so that messages have one length
/// and no token appears in another job's memory or file.
[[nodiscard]] constexpr std::uint64_t token_hash(std::string_view token) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (char const c : token) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  }
  return hash;
}

/// @throws logic_error when the numbers make no sense
inline void check_rendezvous(rendezvous const& who) {
  precondition(who.size >= 1, "zero::rendezvous: the world size must be at least 1");
  precondition(who.rank >= 0 && who.rank < who.size,
               "zero::rendezvous: the rank must be at least 0 and below the world size");
  precondition(who.limit.count() > 0, "zero::rendezvous: the time limit must be positive");
}

}  // namespace detail

}  // namespace zero::inline ZERO_ABI
