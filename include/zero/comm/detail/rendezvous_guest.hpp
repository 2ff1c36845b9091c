// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/comm/detail/deadline.hpp>
#include <zero/comm/detail/rendezvous_message.hpp>
#include <zero/comm/detail/socket.hpp>
#include <zero/comm/rendezvous.hpp>
#include <zero/core/error.hpp>
#include <zero/version.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <poll.h>
#include <span>
#include <string>
#include <sys/socket.h>

namespace zero::inline ZERO_ABI::detail {

/// The side of `rendezvous_by_tcp` of every rank but 0: connects as often as it takes, since rank 0
/// may start last.
class rendezvous_guest {
 public:
  rendezvous_guest(rendezvous const& who, std::string const& address, int port)
      : who_(who),
        place_(address + ":" + std::to_string(port)),
        until_(who.limit),
        addresses_(resolve(address, port, false)) {}

  void receive(std::span<std::byte> payload) {
    std::chrono::milliseconds pause{10};
    for (;;) {
      for (auto const* at = addresses_.get(); at != nullptr; at = at->ai_next) {
        if (attempt(*at, payload)) {
          return;
        }
      }
      if (until_.passed()) {
        throw io_error(ETIMEDOUT,
                       "zero::rendezvous",
                       "rank " + std::to_string(who_.rank) + " got no answer from rank 0 at " +
                           place_ + " within " + until_.text() + ": " + reason_);
      }
      until_.sleep(pause);
      pause = std::min(2 * pause, std::chrono::milliseconds(200));
    }
  }

 private:
  /// @return whether the payload is there; if not, `reason_` says why
  bool attempt(::addrinfo const& address, std::span<std::byte> payload) {
    descriptor const socket = connect_to(address);
    if (!socket) {
      return false;
    }
    rendezvous_hello hello{.token = token_hash(who_.token),
                           .size = who_.size,
                           .rank = who_.rank,
                           .payload_bytes = static_cast<std::uint32_t>(payload.size())};
    rendezvous_answer head;
    int code = send_all(socket, bytes_of(hello), until_);
    code = code != 0 ? code : receive_all(socket, bytes_of(head), until_);
    if (code != 0) {
      return fail(code == ETIMEDOUT
                      ? "it is still waiting for other ranks"
                      : "the connection was closed without an answer: rank 0 has ended, or another "
                        "program listens there");
    }
    if (head.magic != rendezvous_magic) {
      throw io_error(
          EPROTO,
          "zero::rendezvous",
          "another program answers at " + place_ + "; set ZERO_PORT to a free port on every rank");
    }
    if (head.status == rendezvous_answer::refusal) {
      std::string text(std::min(head.bytes, longest_refusal), '\0');
      static_cast<void>(receive_all(socket, std::as_writable_bytes(std::span<char>(text)), until_));
      throw io_error(ECONNABORTED,
                     "zero::rendezvous",
                     "rank 0 tells rank " + std::to_string(who_.rank) + ": " + text);
    }
    if (head.bytes != payload.size()) {
      throw io_error(EPROTO,
                     "zero::rendezvous",
                     "rank 0 sent " + std::to_string(head.bytes) + " bytes where " +
                         std::to_string(payload.size()) +
                         " were expected; run the same program on all ranks");
    }
    code = receive_all(socket, payload, until_);
    return code == 0 || fail("the answer broke off: " + error_text(code));
  }

  [[nodiscard]] descriptor connect_to(::addrinfo const& address) {
    descriptor socket(::socket(address.ai_family,
                               address.ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK,
                               address.ai_protocol));
    if (!socket) {
      fail(error_text(errno));
      return {};
    }
    if (::connect(socket.get(), address.ai_addr, address.ai_addrlen) == 0) {
      return socket;
    }
    int code = errno;
    if (code == EINPROGRESS) {
      code = ETIMEDOUT;
      if (wait_ready(socket, POLLOUT, until_)) {
        ::socklen_t length = sizeof code;
        static_cast<void>(::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &code, &length));
      }
    }
    if (code != 0) {
      fail(error_text(code));
      return {};
    }
    return socket;
  }

  bool fail(std::string reason) {
    reason_ = std::move(reason);
    return false;
  }

  rendezvous const& who_;
  std::string place_;
  deadline until_;
  address_list addresses_;
  std::string reason_ = "no attempt was made";
};

}  // namespace zero::inline ZERO_ABI::detail
