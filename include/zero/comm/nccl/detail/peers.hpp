// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/comm/detail/peer_board.hpp>
#include <zero/comm/nccl/detail/peer_copies.hpp>
#include <zero/comm/nccl/detail/peer_memory.hpp>
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

/// What `nccl_registration::peers` needs of a rank: the board on which the ranks of the host meet,
/// and the copies into their memory. The ranks find each other through `gather`, a function that
/// makes of one value a rank, trivially copyable, the vector of all in rank order; collective.
///
/// Whatever one rank cannot do, all refuse alike.
class nccl_peers {
 public:
  /// Collective. The current device is the rank's.
  /// @throws logic_error the ranks do not share a host, or a process
  template <class Gather>
  nccl_peers(int rank, int ranks, Gather&& gather)
      : board_(meet(rank, ranks, gather)) {
    std::int32_t error = cudaSuccess;
    try {
      copies_ = std::make_unique<peer_copies>(board_);
      words_ = gpu::memory(peer_meeting_flags::bytes, "flags of the ranks' kernels");
      check_cuda(cudaMemset(words_.get(), 0, static_cast<std::size_t>(words_.size())),
                 "cudaMemset");
      check_cuda(cudaStreamSynchronize(nullptr), "cudaStreamSynchronize");
    } catch (cuda_error const& failure) {
      error = failure.code();
    } catch (out_of_memory const&) {
      error = cudaErrorMemoryAllocation;
    }
    refuse_errors(gather(error),
                  "cannot make memory that the ranks share known to its GPU",
                  "use nccl_registration::none");
    add(words_.get(), words_.size(), gather);
  }

  nccl_peers(nccl_peers const&) = delete;
  nccl_peers& operator=(nccl_peers const&) = delete;

  [[nodiscard]] peer_board& board() noexcept { return board_; }

  [[nodiscard]] peer_copies& copies() noexcept { return *copies_; }

  /// What a kernel needs to read, in each rank's memory, what this rank has at `address`.
  /// @pre `range` holds it
  [[nodiscard]] peer_reading reading(peer_range const& range, void const* address) const {
    static_assert(peer_board::max_ranks <= most_peers);
    peer_reading result{};
    auto const& words = *copies_->range_of(words_.get(), words_.size());
    for (int k = 0; k < board_.ranks(); ++k) {
      result.at[k] = range.at(k, address);
      result.flags.of[k] = reinterpret_cast<std::uint32_t*>(words.at(k, words_.get()));
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
    for (std::size_t r = 0; r < offers.size(); ++r) {
      errors.push_back(offers[r].error);
      expects(offers[r].bytes == offers[0].bytes,
              "zero::Nccl: register_memory needs the same size on all ranks");
      expects(std::ranges::count(offers, offers[r].process, &peer_range::offer::process) == 1,
              "zero::Nccl: nccl_registration::peers needs a process for each rank; zero::Local is "
              "for ranks that share one");
    }
    refuse_errors(errors,
                  "cannot hand its memory to other processes",
                  "nccl_registration::peers needs memory of one cudaMalloc: leave "
                  "cuda_options::allocator at its default");
    peer_range range(board_.rank(), offers);
    refuse_errors(gather(static_cast<std::int32_t>(range.error())),
                  "cannot reach the other ranks' memory",
                  "nccl_registration::peers needs peer access between all GPUs (nvidia-smi topo "
                  "-p2p w) and ranks of one container; else use nccl_registration::none");
    copies_->add(std::move(range));
  }

 private:
  /// @throws logic_error when a rank has an error, alike on all
  static void refuse_errors(std::vector<std::int32_t> const& errors,
                            std::string const& what,
                            std::string const& remedy) {
    auto const found = std::ranges::find_if(errors, [](auto code) { return code != cudaSuccess; });
    if (found != errors.end()) {
      throw logic_error("zero::Nccl: rank " + std::to_string(found - errors.begin()) + " " + what +
                        " (" + cudaGetErrorName(static_cast<cudaError_t>(*found)) + "); " + remedy);
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
  [[nodiscard]] static peer_board meet(int rank, int ranks, Gather& gather) {
    expects(ranks <= peer_board::max_ranks,
            "zero::Nccl: nccl_registration::peers is for 64 ranks of one host at most; use "
            "nccl_registration::none");
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
      throw logic_error(
          "zero::Nccl: nccl_registration::peers needs ranks of one host that share /dev/shm; "
          "rank " +
          std::to_string(found - errors.begin()) + " cannot open memory there (" +
          std::strerror(*found) + "); use nccl_registration::none");
    }
    return std::move(*board);
  }

  peer_board board_;
  gpu::memory words_;  // `peer_meeting_flags`
  std::unique_ptr<peer_copies> copies_;
};

}  // namespace zero::inline ZERO_ABI::detail
