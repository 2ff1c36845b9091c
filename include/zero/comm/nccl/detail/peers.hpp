// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/comm/detail/peer_board.hpp>
#include <zero/comm/nccl/detail/peer_copies.hpp>
#include <zero/comm/nccl/detail/peer_memory.hpp>
#include <zero/core/error.hpp>

#include <cuda_runtime_api.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace zero::detail {

/// What `nccl_registration::peers` needs of a rank: the board on which the ranks of the host meet,
/// and the copies into their memory. The ranks find each other through `gather`, a function that
/// makes of one value a rank, trivially copyable, the vector of all in rank order; collective.
///
/// Whatever one rank cannot do, all refuse alike.
class nccl_peers {
 public:
  /// Collective. The current device is the rank's.
  /// @throws logic_error the ranks do not share a host; cuda_error
  template <class Gather>
  nccl_peers(int rank, int ranks, Gather&& gather)
      : board_(meet(rank, ranks, gather)),
        copies_(board_) {}

  nccl_peers(nccl_peers const&) = delete;
  nccl_peers& operator=(nccl_peers const&) = delete;

  [[nodiscard]] peer_board& board() noexcept { return board_; }

  [[nodiscard]] peer_copies& copies() noexcept { return copies_; }

  /// Makes a range of each rank known to all of them. Collective.
  /// @throws logic_error the memory cannot be shared, or the ranks' sizes differ
  template <class Gather>
  void add(void* address, std::int64_t bytes, int device, Gather&& gather) {
    auto const offers = gather(peer_range::make_offer(address, bytes, device));
    for (std::size_t r = 0; r < offers.size(); ++r) {
      if (offers[r].error != cudaSuccess) {
        throw logic_error("zero::Nccl: rank " + std::to_string(r) +
                          " cannot hand its memory to other processes (" +
                          cudaGetErrorName(static_cast<cudaError_t>(offers[r].error)) +
                          "): nccl_registration::peers needs memory of cudaMalloc; leave "
                          "cuda_options::allocator at its default");
      }
      if (offers[r].bytes != offers[0].bytes) {
        throw logic_error(
            "zero::Nccl: register_memory needs the same size on all ranks: rank 0 "
            "has " +
            std::to_string(offers[0].bytes) + " bytes, rank " + std::to_string(r) + " has " +
            std::to_string(offers[r].bytes));
      }
    }
    peer_range range(board_.rank(), offers);
    auto const errors = gather(static_cast<std::int32_t>(range.error()));
    for (std::size_t r = 0; r < errors.size(); ++r) {
      if (errors[r] != cudaSuccess) {
        throw logic_error("zero::Nccl: rank " + std::to_string(r) +
                          " cannot write the other ranks' memory (" +
                          cudaGetErrorName(static_cast<cudaError_t>(errors[r])) +
                          "): nccl_registration::peers needs peer access between all GPUs "
                          "(nvidia-smi topo -p2p w) and processes that see all of them; else use "
                          "nccl_registration::none");
      }
    }
    copies_.add(std::move(range));
  }

 private:
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
    std::optional<peer_board> board;
    std::int32_t error = 0;
    auto const attempt = [&](auto&& make) {
      try {
        board.emplace(make());
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
    for (std::size_t r = 0; r < errors.size(); ++r) {
      if (errors[r] != 0) {
        throw logic_error(
            "zero::Nccl: nccl_registration::peers needs ranks of one host that share /dev/shm; "
            "rank " +
            std::to_string(r) + " cannot open memory there (" + std::strerror(errors[r]) +
            "); use nccl_registration::none");
      }
    }
    return std::move(*board);
  }

  peer_board board_;
  peer_copies copies_;
};

}  // namespace zero::detail
