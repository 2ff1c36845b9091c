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
#include <utility>
#include <vector>

namespace zero::inline ZERO_ABI::detail {

/// Rank 0's side of `rendezvous_by_tcp`: one thread, one poll loop, so that a stranger who connects
/// and says nothing holds up nobody.
class rendezvous_host {
 public:
  rendezvous_host(rendezvous const& who, std::string const& address, int port)
      : who_(who),
        place_(address + ":" + std::to_string(port)),
        until_(who.limit),
        token_(token_hash(who.token)),
        present_(static_cast<std::size_t>(who.size)),
        missing_(who.size - 1) {
    listen_at(address, port);
  }

  /// Waits for all ranks, then gives the payload to each of them.
  void serve(std::span<std::byte const> payload) {
    payload_bytes_ = static_cast<std::uint32_t>(payload.size());
    while (missing_ > 0) {
      if (until_.passed()) {
        std::string const text = absence();
        refuse_all(text);
        throw io_error(ETIMEDOUT, "zero::rendezvous", text);
      }
      look_around();
    }
    listener_.reset();
    for (std::size_t rank = 1; rank < present_.size(); ++rank) {
      if (int const code = answer(present_[rank], rendezvous_answer::payload, payload); code != 0) {
        throw io_error(code,
                       "zero::rendezvous",
                       "rank " + std::to_string(rank) + " went away before it was answered, " +
                           error_text(code));
      }
    }
  }

 private:
  struct newcomer {
    descriptor socket;
    rendezvous_hello hello;
    std::size_t received = 0;
    deadline until{std::chrono::seconds(5)};
  };

  void listen_at(std::string const& address, int port) {
    address_list const found = resolve(address, port, true);
    int code = 0;
    for (auto const* at = found.get(); at != nullptr; at = at->ai_next) {
      descriptor candidate(
          ::socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, at->ai_protocol));
      int const yes = 1;  // a port of a run that has just ended may be taken again at once
      if (candidate &&
          ::setsockopt(candidate.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0 &&
          ::bind(candidate.get(), at->ai_addr, at->ai_addrlen) == 0 &&
          ::listen(candidate.get(), std::min(who_.size, SOMAXCONN)) == 0) {
        listener_ = std::move(candidate);
        return;
      }
      code = errno;
    }
    std::string reason = "rank 0 cannot listen at " + place_ + ", " + error_text(code);
    if (code == EADDRINUSE) {
      reason = place_ + " is in use by another program; set ZERO_PORT to a free port on every rank";
    } else if (code == EADDRNOTAVAIL) {
      reason = place_ +
               " is not an address of this machine, but this process is rank 0; set MASTER_ADDR to "
               "the machine of rank 0 on every rank";
    }
    throw io_error(code, "zero::rendezvous", reason);
  }

  void look_around() {
    polls_.clear();
    polls_.push_back({listener_.get(), POLLIN, 0});
    for (descriptor const& guest : present_) {
      polls_.push_back({guest.get(), POLLIN, 0});  // poll ignores negative descriptors
    }
    for (newcomer const& guest : newcomers_) {
      polls_.push_back({guest.socket.get(), POLLIN, 0});
    }
    if (::poll(polls_.data(), polls_.size(), until_.poll_milliseconds()) < 0 && errno != EINTR) {
      throw io_error(errno, "poll", "rank 0 waits at " + place_ + ", " + error_text(errno));
    }
    std::size_t at = 1;
    for (descriptor& guest : present_) {
      if (polls_[at++].revents != 0) {  // it has nothing to say, so it has gone; it may come again
        guest.reset();
        ++missing_;
      }
    }
    for (newcomer& guest : newcomers_) {
      if (polls_[at++].revents != 0) {
        listen_to(guest);
      } else if (guest.until.passed()) {
        guest.socket.reset();
      }
    }
    std::erase_if(newcomers_, [](newcomer const& guest) { return !guest.socket; });
    if (polls_[0].revents != 0) {
      welcome();
    }
  }

  void welcome() {
    constexpr std::size_t most_strangers = 64;
    for (;;) {
      descriptor socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (!socket) {
        return;
      }
      if (newcomers_.size() >= present_.size() + most_strangers) {
        newcomers_.erase(newcomers_.begin());
      }
      newcomers_.push_back({std::move(socket), {}, 0});
    }
  }

  void listen_to(newcomer& guest) {
    auto const rest = bytes_of(guest.hello).subspan(guest.received);
    auto const got = ::recv(guest.socket.get(), rest.data(), rest.size(), MSG_DONTWAIT);
    if (got > 0) {
      guest.received += static_cast<std::size_t>(got);
      if (guest.received == sizeof guest.hello) {
        judge(guest);
      }
    } else if (got == 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)) {
      guest.socket.reset();
    }
  }

  void judge(newcomer& guest) {
    rendezvous_hello const& hello = guest.hello;
    if (hello.magic != rendezvous_magic) {
      guest.socket.reset();
      return;
    }
    if (hello.token != token_) {
      ++turned_away_;
      refuse(
          guest.socket,
          "zero::rendezvous: " + place_ + " belongs to a job with another token; set " +
              "ZERO_JOB_TOKEN to the same text on all ranks of a job, and ZERO_PORT to another " +
              "port for each job");
      return;
    }
    std::string const rank = std::to_string(hello.rank);
    std::string disagreement;
    if (hello.size != who_.size) {
      disagreement = "rank " + rank + " was told a world size of " + std::to_string(hello.size) +
                     ", rank 0 one of " + std::to_string(who_.size) +
                     "; set WORLD_SIZE to the same number on all ranks";
    } else if (hello.payload_bytes != payload_bytes_) {
      disagreement = "rank " + rank + " expects " + std::to_string(hello.payload_bytes) +
                     " bytes, rank 0 has " + std::to_string(payload_bytes_) +
                     "; run the same program on all ranks";
    } else if (hello.rank < 0 || hello.rank >= who_.size) {
      disagreement = "a process says it is rank " + rank + " of " + std::to_string(who_.size) +
                     "; give the ranks 0 to " + std::to_string(who_.size - 1) + " once each";
    } else if (hello.rank == 0 || present_[static_cast<std::size_t>(hello.rank)]) {
      disagreement = "two processes say they are rank " + rank + "; give each process its own RANK";
    }
    if (!disagreement.empty()) {
      refuse(guest.socket, disagreement);
      refuse_all(disagreement);
      throw logic_error("zero::rendezvous: " + disagreement);
    }
    present_[static_cast<std::size_t>(hello.rank)] = std::move(guest.socket);
    --missing_;
  }

  [[nodiscard]] std::string absence() const {
    std::string ranks;
    int named = 0;
    for (std::size_t rank = 1; rank < present_.size() && named < 8; ++rank) {
      if (!present_[rank]) {
        ranks += (named++ == 0 ? "" : ", ") + std::to_string(rank);
      }
    }
    std::string text = std::string(missing_ == 1 ? "rank " : "ranks ") + ranks +
                       (named < missing_ ? ", ..." : "") + " of " + std::to_string(who_.size) +
                       " did not come to " + place_ + " within " + until_.text();
    if (turned_away_ > 0) {
      text += "; " + std::to_string(turned_away_) +
              " processes with another job token were turned away";
    }
    return text;
  }

  [[nodiscard]] static int answer(descriptor const& socket,
                                  std::uint32_t status,
                                  std::span<std::byte const> body) {
    rendezvous_answer head{.status = status, .bytes = static_cast<std::uint32_t>(body.size())};
    deadline const soon{std::chrono::seconds(5)};
    int const code = send_all(socket, bytes_of(head), soon);
    return code != 0 ? code : send_all(socket, body, soon);
  }

  /// Best effort: the sentence spares the other rank its time limit, no more.
  static void refuse(descriptor& socket, std::string const& why) {
    if (socket) {
      auto const text = std::as_bytes(std::span<char const>(why));
      static_cast<void>(answer(socket,
                               rendezvous_answer::refusal,
                               text.first(std::min<std::size_t>(text.size(), longest_refusal))));
      socket.reset();
    }
  }

  void refuse_all(std::string const& why) {
    for (descriptor& guest : present_) {
      refuse(guest, why);
    }
  }

  rendezvous const& who_;
  std::string place_;
  deadline until_;
  std::uint64_t token_;
  std::uint32_t payload_bytes_ = 0;
  descriptor listener_;
  std::vector<descriptor> present_;  // by rank; 0 stays empty
  std::vector<newcomer> newcomers_;  // connected, not yet introduced
  std::vector<::pollfd> polls_;
  int missing_;
  int turned_away_ = 0;
};

}  // namespace zero::inline ZERO_ABI::detail
