// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/version.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

namespace zero::inline ZERO_ABI::detail {

// The messages of the rendezvous, in the byte order of the machine: a rank of another byte order is
// not understood, as it would not be by the communicator that follows.

inline constexpr std::uint64_t rendezvous_magic = 0x315a44565f4f5245u;

/// A rank to rank 0, right after connecting.
struct rendezvous_hello {
  std::uint64_t magic = rendezvous_magic;
  std::uint64_t token = 0;  // token_hash
  std::int32_t size = 0;
  std::int32_t rank = 0;
  std::uint32_t payload_bytes = 0;
  std::uint32_t unused = 0;
};

/// Rank 0 to a rank; `bytes` of payload or of text follow.
struct rendezvous_answer {
  enum kind : std::uint32_t { payload = 1, refusal = 2 };

  std::uint64_t magic = rendezvous_magic;
  std::uint32_t status = payload;
  std::uint32_t bytes = 0;
};

inline constexpr std::uint32_t longest_refusal = 4096;

static_assert(sizeof(rendezvous_hello) == 32 && sizeof(rendezvous_answer) == 16);

template <class Message>
  requires std::is_trivially_copyable_v<Message>
[[nodiscard]] std::span<std::byte> bytes_of(Message& message) noexcept {
  return std::as_writable_bytes(std::span<Message, 1>(&message, 1));
}

}  // namespace zero::inline ZERO_ABI::detail
