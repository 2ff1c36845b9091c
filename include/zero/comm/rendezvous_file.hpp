// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/comm/detail/deadline.hpp>
#include <zero/comm/detail/rendezvous_message.hpp>
#include <zero/comm/detail/rendezvous_record.hpp>
#include <zero/comm/rendezvous.hpp>
#include <zero/core/error.hpp>
#include <zero/version.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <unistd.h>
#include <vector>

namespace zero::inline ZERO_ABI {

namespace detail {

/// `rendezvous_by_file`, one object a rank. Every file is replaced by a rename, never written in
/// place, and is believed only for a nonce that its reader has drawn in this very call:
///
///  1. rank r writes `path.r` with a nonce of its own;
///  2. rank 0, once it has seen a file of each rank, writes `path`: its own nonce, the nonces it
///  has
///     seen, the payload; it writes it again when a rank's nonce changes, i.e. when what it had
///     seen was a leftover;
///  3. rank r believes `path` when it holds r's nonce, and then writes rank 0's nonce into
///  `path.r`;
///  4. rank 0 removes all files when every rank has written rank 0's nonce.
class file_rendezvous {
 public:
  file_rendezvous(rendezvous const& who, std::string const& path)
      : who_(who),
        path_(path),
        until_(who.limit),
        token_(token_hash(who.token)),
        own_(make_nonce()) {}

  void give(std::span<std::byte const> payload) {
    auto const ranks = static_cast<std::size_t>(who_.size);
    std::vector<nonce> seen(ranks);
    std::vector<char> known(ranks);
    std::vector<char> done(ranks);
    known[0] = done[0] = 1;
    for (;;) {
      bool news = false;
      for (int rank = 1; rank < who_.size; ++rank) {
        auto const i = static_cast<std::size_t>(rank);
        rendezvous_presence guest;
        if (done[i] != 0 || !read_presence(rank, guest)) {
          continue;
        }
        news = news || known[i] == 0 || guest.own != seen[i];
        known[i] = 1;
        seen[i] = guest.own;
        done[i] = guest.answer_to == own_ ? 1 : 0;
      }
      if (std::ranges::all_of(done, [](char c) { return c != 0; })) {
        break;
      }
      if (news && std::ranges::all_of(known, [](char c) { return c != 0; })) {
        publish(seen, payload);
      }
      if (until_.passed()) {
        throw io_error(ETIMEDOUT, "zero::rendezvous", absence(done));
      }
      until_.sleep(poll_interval);
    }
    static_cast<void>(::unlink(path_.c_str()));
    for (int rank = 1; rank < who_.size; ++rank) {
      static_cast<void>(::unlink(path_of(rank).c_str()));
    }
  }

  void take(std::span<std::byte> payload) {
    rendezvous_presence presence{
        .token = token_, .size = who_.size, .rank = who_.rank, .own = own_};
    write_record(path_of(who_.rank), bytes_of(presence));
    std::size_t const nonces = sizeof(nonce) * static_cast<std::size_t>(who_.size);
    rendezvous_publication head;
    for (;;) {
      auto const content = read_record(path_, sizeof head + nonces + payload.size());
      if (!content.empty()) {
        std::memcpy(&head, content.data(), sizeof head);
        nonce mine;
        std::memcpy(
            &mine,
            content.data() + sizeof head + sizeof mine * static_cast<std::size_t>(who_.rank),
            sizeof mine);
        if (head.magic == rendezvous_magic && head.token == token_ && mine == own_) {
          std::copy_n(content.end() - static_cast<std::ptrdiff_t>(payload.size()),
                      payload.size(),
                      payload.begin());
          break;
        }
      }
      if (until_.passed()) {
        throw io_error(ETIMEDOUT,
                       "zero::rendezvous",
                       "rank " + std::to_string(who_.rank) + " got no answer from rank 0 in the " +
                           "file " + path_ + " within " + until_.text() +
                           "; start all ranks with the same path, world size and job token");
      }
      until_.sleep(poll_interval);
    }
    presence.answer_to = head.own;
    write_record(path_of(who_.rank), bytes_of(presence));
  }

 private:
  static constexpr std::chrono::milliseconds poll_interval{20};

  [[nodiscard]] std::string path_of(int rank) const { return path_ + "." + std::to_string(rank); }

  [[nodiscard]] bool read_presence(int rank, rendezvous_presence& guest) {
    auto const content = read_record(path_of(rank), sizeof guest);
    if (content.empty()) {
      return false;
    }
    std::memcpy(&guest, content.data(), sizeof guest);
    if (guest.magic != rendezvous_magic || guest.token != token_ || guest.rank != rank) {
      foreign_ = "; the file of rank " + std::to_string(rank) + " belongs to another job";
      return false;
    }
    if (guest.size != who_.size) {  // perhaps a leftover, so it is only remembered
      foreign_ = "; the file of rank " + std::to_string(rank) + " speaks of a world size of " +
                 std::to_string(guest.size);
      return false;
    }
    return true;
  }

  void publish(std::vector<nonce> const& seen, std::span<std::byte const> payload) const {
    rendezvous_publication head{.token = token_,
                                .size = who_.size,
                                .payload_bytes = static_cast<std::uint32_t>(payload.size()),
                                .own = own_};
    std::vector<std::byte> content;
    auto const append = [&](std::span<std::byte const> part) {
      content.insert(content.end(), part.begin(), part.end());
    };
    append(bytes_of(head));
    append(std::as_bytes(std::span<nonce const>(seen)));
    append(payload);
    write_record(path_, content);
  }

  [[nodiscard]] std::string absence(std::vector<char> const& done) const {
    std::string ranks;
    for (std::size_t rank = 1; rank < done.size(); ++rank) {
      if (done[rank] == 0) {
        ranks += (ranks.empty() ? "" : ", ") + std::to_string(rank);
      }
    }
    return "these ranks of " + std::to_string(who_.size) + " did not come to the file " + path_ +
           " within " + until_.text() + ": " + ranks + foreign_;
  }

  rendezvous const& who_;
  std::string const& path_;
  deadline until_;
  std::uint64_t token_;
  nonce own_;
  std::string foreign_;
};

}  // namespace detail

/// Gives the bytes that rank 0 holds to all other ranks through files in a directory they share.
///
/// Leftovers of earlier runs under the same path do no harm, whatever they hold: every rank draws a
/// random number first and believes only what answers to it. Rank 0 removes the files when all
/// ranks have read; a run that was killed leaves at most `path`, and `path.r` for each rank r. Two
/// jobs that run at the same time need two paths. Polls every 20 ms. Collective.
///
/// @param who     this process and its job
/// @param path    the file of rank 0; the others are made beside it
/// @param payload rank 0: the bytes to give; others: room for as many
/// @throws io_error when a rank is missing at the end of the limit, or a file cannot be written
/// @throws logic_error when the rank is not below the world size
inline void rendezvous_by_file(rendezvous const& who,
                               std::string const& path,
                               std::span<std::byte> payload) {
  detail::check_rendezvous(who);
  precondition(!path.empty(), "zero::rendezvous: the path of the shared file must not be empty");
  if (who.size == 1) {
    return;
  }
  detail::file_rendezvous here(who, path);
  if (who.rank == 0) {
    here.give(payload);
  } else {
    here.take(payload);
  }
}

}  // namespace zero::inline ZERO_ABI
