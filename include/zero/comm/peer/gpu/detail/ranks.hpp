// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/comm/peer/concepts.hpp>
#include <zero/comm/peer/detail/board.hpp>
#include <zero/comm/peer/gpu/detail/copies.hpp>
#include <zero/comm/peer/gpu/detail/range.hpp>
#include <zero/comm/peer/news.hpp>
#include <zero/core/error.hpp>
#include <zero/device/gpu/error.hpp>
#include <zero/device/gpu/memory.hpp>
#include <zero/device/gpu/peer_reading.hpp>
#include <zero/version.hpp>

#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace zero::inline ZERO_ABI::detail {

/// What a rank needs to share memory with the other ranks of its host: the board on which they
/// meet, and the copies into their memory. The ranks find each other through `gather`, a function
/// that makes of one value a rank, trivially copyable, the vector of all in rank order; collective.
///
/// Whatever one rank cannot do, all refuse alike.
class peer_ranks {
 public:
  /// Collective. The current device is the rank's.
  /// @throws logic_error the ranks do not share a host, or a process
  template <class Gather>
  peer_ranks(peer_words const& words, int rank, int ranks, Gather&& gather)
      : words_(words),
        board_(meet(words, rank, ranks, gather)),
        news_(board_) {
    std::int32_t error = cudaSuccess;
    try {
      copies_ = std::make_unique<peer_copies>(board_, words_.name);
      flags_ = gpu::memory(peer_meeting_flags::bytes, "flags of the ranks' kernels");
      check_cuda(cudaMemset(flags_.get(), 0, static_cast<std::size_t>(flags_.size())),
                 "cudaMemset");
      check_cuda(cudaStreamSynchronize(nullptr), "cudaStreamSynchronize");
    } catch (cuda_error const& failure) {
      error = failure.code();
    } catch (out_of_memory const&) {
      error = cudaErrorMemoryAllocation;
    }
    refuse_errors(gather(error),
                  "cannot make memory that the ranks share known to its GPU",
                  "use " + std::string(words_.plain));
    add(flags_.get(), flags_.size(), gather);
  }

  peer_ranks(peer_ranks const&) = delete;
  peer_ranks& operator=(peer_ranks const&) = delete;

  [[nodiscard]] peer_news& news() noexcept { return news_; }

  [[nodiscard]] peer_copies& copies() noexcept { return *copies_; }

  /// What a kernel needs to read, in each rank's memory, what this rank has at `address`.
  /// @pre `range` holds it
  [[nodiscard]] peer_reading reading(peer_range const& range, void const* address) const {
    static_assert(peer_board::max_ranks <= most_peers);
    peer_reading result{};
    auto const& flags = *copies_->range_of(flags_.get(), flags_.size());
    for (int k = 0; k < board_.ranks(); ++k) {
      result.at[k] = range.at(k, address);
      result.flags.of[k] = reinterpret_cast<std::uint32_t*>(flags.at(k, flags_.get()));
    }
    result.flags.released = copies_->released_on_device();
    result.flags.rank = board_.rank();
    result.flags.ranks = board_.ranks();
    return result;
  }

  /// Makes a range of each rank known to all of them. Collective.
  /// @throws logic_error the memory cannot be shared, or the ranks' sizes differ
  template <class Gather>
  void add(void* address, std::int64_t bytes, Gather&& gather) {
    auto const offers = gather(peer_range::make_offer(address, bytes));
    std::vector<std::int32_t> errors;
    for (auto const& offer : offers) {
      errors.push_back(offer.error);
      if (offer.bytes != offers[0].bytes) {
        throw logic_error(std::string(words_.name) +
                          ": register_memory needs the same size on all ranks");
      }
      if (std::ranges::count(offers, offer.process, &peer_range::offer::process) != 1) {
        throw logic_error(needs(words_) +
                          "a process for each rank; zero::Local is for ranks that share one");
      }
    }
    refuse_errors(errors,
                  "cannot hand its memory to other processes",
                  std::string(words_.option) +
                      " needs memory of one cudaMalloc: leave cuda_options::allocator at its "
                      "default");
    peer_range range(board_.rank(), offers);
    refuse_errors(gather(static_cast<std::int32_t>(range.error())),
                  "cannot reach the other ranks' memory",
                  std::string(words_.option) +
                      " needs peer access between all GPUs (nvidia-smi topo -p2p w) and ranks of "
                      "one container; else use " +
                      words_.plain);
    copies_->add(std::move(range));
  }

 private:
  [[nodiscard]] static std::string needs(peer_words const& words) {
    return std::string(words.name) + ": " + words.option + " needs ";
  }

  /// @throws logic_error when a rank has an error, alike on all
  void refuse_errors(std::vector<std::int32_t> const& errors,
                     std::string const& what,
                     std::string const& remedy) const {
    auto const found = std::ranges::find_if(errors, [](auto code) { return code != cudaSuccess; });
    if (found != errors.end()) {
      throw logic_error(std::string(words_.name) + ": rank " +
                        std::to_string(found - errors.begin()) + " " + what + " (" +
                        cudaGetErrorName(static_cast<cudaError_t>(*found)) + "); " + remedy);
    }
  }

  /// The name of a segment, until everyone has opened it.
  struct segment_name {
    std::string text;

    ~segment_name() {
      if (!text.empty()) {
        peer_board::remove(text);
      }
    }
  };

  template <class Gather>
  [[nodiscard]] static peer_board meet(peer_words const& words,
                                       int rank,
                                       int ranks,
                                       Gather& gather) {
    if (ranks > peer_board::max_ranks) {
      throw logic_error(std::string(words.name) + ": " + words.option +
                        " is for 64 ranks of one host at most; use " + words.plain);
    }
    std::unique_ptr<peer_board> board;
    std::int32_t error = 0;
    auto const attempt = [&](auto&& make) {
      try {
        board = std::make_unique<peer_board>(make());
      } catch (io_error const& failure) {
        error = failure.code();
      }
    };
    segment_name made;
    if (rank == 0) {
      made.text = peer_board::new_name();
      attempt([&] { return peer_board::make(made.text, rank, ranks); });
    }
    std::array<char, peer_board::name_bytes> name{};
    made.text.copy(name.data(), name.size() - 1);
    name = gather(name).front();
    if (rank != 0) {
      attempt([&] { return peer_board::open(name.data(), rank, ranks); });
    }
    auto const errors = gather(error);
    auto const found = std::ranges::find_if(errors, [](auto code) { return code != 0; });
    if (found != errors.end()) {
      throw logic_error(needs(words) + "ranks of one host that share /dev/shm; rank " +
                        std::to_string(found - errors.begin()) + " cannot open memory there (" +
                        std::strerror(*found) + "); use " + words.plain);
    }
    return std::move(*board);
  }

  peer_words words_;
  peer_board board_;
  peer_news news_;
  gpu::memory flags_;  // `peer_meeting_flags`
  std::unique_ptr<peer_copies> copies_;
};

}  // namespace zero::inline ZERO_ABI::detail
