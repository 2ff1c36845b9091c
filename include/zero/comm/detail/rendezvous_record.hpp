// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/comm/detail/rendezvous_message.hpp>
#include <zero/comm/detail/socket.hpp>
#include <zero/core/error.hpp>
#include <zero/version.hpp>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fcntl.h>
#include <random>
#include <span>
#include <string>
#include <sys/types.h>
#include <unistd.h>
#include <vector>

namespace zero::inline ZERO_ABI::detail {

/// A number that no earlier run has used.
using nonce = std::array<std::uint64_t, 2>;

[[nodiscard]] inline nonce make_nonce() {
  std::random_device source;
  nonce result;
  for (std::uint64_t& word : result) {
    word = (std::uint64_t{source()} << 32U) | source();
  }
  return result;
}

/// The file of a rank: "here I am", and later "I have read what rank 0 called `answer_to`".
struct rendezvous_presence {
  std::uint64_t magic = rendezvous_magic;
  std::uint64_t token = 0;
  std::int32_t size = 0;
  std::int32_t rank = 0;
  nonce own{};
  nonce answer_to{};
};

/// The head of rank 0's file; the nonces of all ranks and the payload follow.
struct rendezvous_publication {
  std::uint64_t magic = rendezvous_magic;
  std::uint64_t token = 0;
  std::int32_t size = 0;
  std::uint32_t payload_bytes = 0;
  nonce own{};
};

static_assert(sizeof(rendezvous_presence) == 56 && sizeof(rendezvous_publication) == 40);

/// Reads a whole file that should have `bytes` bytes; an empty result when it is not there or has
/// another size. Opened anew each time, so that network file systems look again.
[[nodiscard]] inline std::vector<std::byte> read_record(std::string const& path,
                                                        std::size_t bytes) {
  descriptor const file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::vector<std::byte> content(bytes + 1);
  std::size_t got = 0;
  while (file && got < content.size()) {
    auto const n = ::read(file.get(), content.data() + got, content.size() - got);
    if (n > 0) {
      got += static_cast<std::size_t>(n);
    } else if (n == 0 || errno != EINTR) {
      break;
    }
  }
  content.resize(got == bytes ? bytes : 0);
  return content;
}

/// Puts a record in place at once: nobody ever reads half of it.
/// @throws io_error
inline void write_record(std::string const& path, std::span<std::byte const> content) {
  std::string const aside = path + "." + std::to_string(::getpid()) + ".tmp";
  static_cast<void>(::unlink(aside.c_str()));
  descriptor file(::open(aside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file) {
    throw io_error(errno, "open", aside + ", " + error_text(errno));
  }
  while (!content.empty()) {
    auto const n = ::write(file.get(), content.data(), content.size());
    if (n > 0) {
      content = content.subspan(static_cast<std::size_t>(n));
    } else if (errno != EINTR) {
      int const code = errno;
      static_cast<void>(::unlink(aside.c_str()));
      throw io_error(code, "write", aside + ", " + error_text(code));
    }
  }
  file.reset();
  if (std::rename(aside.c_str(), path.c_str()) != 0) {
    int const code = errno;
    static_cast<void>(::unlink(aside.c_str()));
    throw io_error(code, "rename", path + ", " + error_text(code));
  }
}

}  // namespace zero::inline ZERO_ABI::detail
