// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/comm/detail/socket.hpp>

#include <arpa/inet.h>
#include <cstdint>
#include <netinet/in.h>
#include <stdexcept>
#include <sys/socket.h>

namespace zero::test {

/// A listening socket on a port of 127.0.0.1 that the system has chosen.
class listening_port {
 public:
  listening_port()
      : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    ::sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ::socklen_t length = sizeof address;
    auto* const generic = reinterpret_cast<::sockaddr*>(&address);
    if (!socket_ || ::bind(socket_.get(), generic, length) != 0 ||
        ::listen(socket_.get(), 16) != 0 || ::getsockname(socket_.get(), generic, &length) != 0) {
      throw std::runtime_error("no port of 127.0.0.1 can be had");
    }
    port_ = ntohs(address.sin_port);
  }

  [[nodiscard]] int port() const noexcept { return port_; }

  [[nodiscard]] detail::descriptor const& socket() const noexcept { return socket_; }

 private:
  detail::descriptor socket_;
  int port_ = 0;
};

/// A port of 127.0.0.1 that nobody held a moment ago.
[[nodiscard]] inline int free_port() {
  return listening_port().port();
}

}  // namespace zero::test
