// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/comm/detail/deadline.hpp>
#include <zero/core/error.hpp>
#include <zero/version.hpp>

#include <cerrno>
#include <cstddef>
#include <fcntl.h>
#include <memory>
#include <netdb.h>
#include <poll.h>
#include <span>
#include <string>
#include <sys/socket.h>
#include <sys/types.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace zero::inline ZERO_ABI::detail {

/// Owns a file descriptor; -1 owns nothing.
class descriptor {
 public:
  descriptor() = default;

  explicit descriptor(int fd) noexcept
      : fd_(fd) {}

  descriptor(descriptor&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)) {}

  descriptor& operator=(descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }

  ~descriptor() { reset(); }

  void reset() noexcept {
    if (fd_ >= 0) {
      static_cast<void>(::close(std::exchange(fd_, -1)));
    }
  }

  [[nodiscard]] int get() const noexcept { return fd_; }

  explicit operator bool() const noexcept { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

/// What the system says about an error number, e.g. "Connection refused".
[[nodiscard]] inline std::string error_text(int code) {
  return std::generic_category().message(code);
}

using address_list = std::unique_ptr<::addrinfo, decltype(&::freeaddrinfo)>;

/// The addresses behind a host name or number. The resolver keeps its own time limit.
/// @throws io_error when the name is unknown
[[nodiscard]] inline address_list resolve(std::string const& host, int port, bool to_listen) {
  ::addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | (to_listen ? AI_PASSIVE : 0);
  ::addrinfo* found = nullptr;
  int const code = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (code != 0) {
    throw io_error(code,
                   "getaddrinfo",
                   "the address '" + host + "' of rank 0 is unknown, " + ::gai_strerror(code) +
                       "; set MASTER_ADDR to a name or number that every rank can reach");
  }
  return {found, &::freeaddrinfo};
}

/// Waits until the socket is ready for `events` (POLLIN, POLLOUT). @return false past the deadline
[[nodiscard]] inline bool wait_ready(descriptor const& socket,
                                     short events,
                                     deadline const& until) {
  for (;;) {
    ::pollfd entry{socket.get(), events, 0};
    int const ready = ::poll(&entry, 1, until.poll_milliseconds());
    if (ready > 0) {
      return true;
    }
    if (ready == 0 && until.passed()) {
      return false;
    }
    if (ready < 0 && errno != EINTR) {
      return false;
    }
  }
}

/// Sends all bytes. @return 0, or the error number
[[nodiscard]] inline int send_all(descriptor const& socket,
                                  std::span<std::byte const> bytes,
                                  deadline const& until) {
  if (!socket) {
    return EBADF;
  }
  while (!bytes.empty()) {
    // MSG_NOSIGNAL: a peer that went away is an error code here, not a SIGPIPE in the user's
    // program.
    auto const sent = ::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(sent));
      continue;
    }
    int const code = errno;
    if (code == EAGAIN || code == EWOULDBLOCK) {
      if (!wait_ready(socket, POLLOUT, until)) {
        return ETIMEDOUT;
      }
    } else if (code != EINTR) {
      return code;
    }
  }
  return 0;
}

/// Receives exactly `bytes.size()` bytes. @return 0, or the error number; ECONNRESET when the other
/// end closed before
[[nodiscard]] inline int receive_all(descriptor const& socket,
                                     std::span<std::byte> bytes,
                                     deadline const& until) {
  if (!socket) {
    return EBADF;
  }
  while (!bytes.empty()) {
    auto const got = ::recv(socket.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got > 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(got));
      continue;
    }
    int const code = got == 0 ? ECONNRESET : errno;
    if (code == EAGAIN || code == EWOULDBLOCK) {
      if (!wait_ready(socket, POLLIN, until)) {
        return ETIMEDOUT;
      }
    } else if (code != EINTR) {
      return code;
    }
  }
  return 0;
}

}  // namespace zero::inline ZERO_ABI::detail
