// SPDX-License-Identifier: Apache-2.0
#include <zero/device/gpu/peer_sum.cuh>

#include "tests/gpu/device/gpu/array.hpp"
#include "tests/gpu/device/gpu/spin.cuh"
#include "tests/support/wild.hpp"

#include <zero/core/norm.hpp>
#include <zero/device/gpu/kernels.cuh>
#include <zero/device/gpu/stream.hpp>
#include <zero/device/host_kernels.hpp>

#include <doctest/doctest.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

// The ranks are streams of one GPU, so that their kernels run beside each other and meet. What
// processes on several GPUs do is in tests/gpu/comm/nccl/detail/peers.cu.

namespace zero::test {

namespace {

using flags = detail::peer_meeting_flags;

/// The words and streams of some ranks.
class meeting_place {
 public:
  explicit meeting_place(int ranks)
      : released_(1) {
    for (int rank = 0; rank < ranks; ++rank) {
      words_.push_back(std::make_unique<gpu_array<std::uint32_t>>(flags::bytes / 4));
      streams_.emplace_back(gpu::stream_priority::normal);
    }
  }

  [[nodiscard]] cudaStream_t stream(int rank) const {
    return streams_[static_cast<std::size_t>(rank)].get();
  }

  /// What rank `rank`'s kernel needs to read the parts.
  [[nodiscard]] peer_reading reading(int rank, std::vector<void const*> const& parts) const {
    peer_reading result{};
    for (std::size_t k = 0; k < words_.size(); ++k) {
      result.at[k] = parts[k];
      result.flags.of[k] = words_[k]->data();
    }
    result.flags.released = released_.data();
    result.flags.rank = rank;
    result.flags.ranks = static_cast<int>(words_.size());
    return result;
  }

 private:
  std::vector<std::unique_ptr<gpu_array<std::uint32_t>>> words_;
  std::vector<gpu::stream> streams_;
  gpu_array<std::uint32_t> released_;
};

/// Every rank sums its shard of what all hold, twice; the second time it adds.
template <class W, class A>
void compare(int ranks, std::int64_t n, std::int64_t shift, std::uint64_t seed) {
  CAPTURE(ranks);
  CAPTURE(n);
  meeting_place const place(ranks);
  wild_numbers numbers(seed);
  std::vector<std::vector<W>> whole;  // of each rank: a part for each rank, one behind the other
  std::vector<std::unique_ptr<gpu_array<W>>> on_gpu;
  for (int rank = 0; rank < ranks; ++rank) {
    whole.push_back(numbers.vector<W>(n * ranks));
    on_gpu.push_back(std::make_unique<gpu_array<W>>(whole.back(), shift));
  }
  std::vector<std::unique_ptr<gpu_array<A>>> sums;
  std::vector<std::unique_ptr<gpu_array<double>>> squares;
  for (int rank = 0; rank < ranks; ++rank) {
    sums.push_back(std::make_unique<gpu_array<A>>(n));
    squares.push_back(std::make_unique<gpu_array<double>>(norm_blocks(n)));
  }
  for (bool const add : {false, true}) {
    for (int rank = 0; rank < ranks; ++rank) {
      auto const i = static_cast<std::size_t>(rank);
      std::vector<void const*> parts;
      for (auto const& theirs : on_gpu) {
        parts.push_back(theirs->data() + rank * n);
      }
      gpu_kernels::sum_of_peers<W, A>(place.stream(rank),
                                      place.reading(rank, parts),
                                      sums[i]->data(),
                                      n,
                                      add,
                                      add ? squares[i]->data() : nullptr);
    }
  }
  for (int rank = 0; rank < ranks; ++rank) {
    auto const i = static_cast<std::size_t>(rank);
    std::vector<W> const own(whole[i].begin() + rank * n, whole[i].begin() + (rank + 1) * n);
    std::vector<W> received;
    for (int k = 0; k < ranks; ++k) {
      auto const& theirs = whole[static_cast<std::size_t>(k)];
      if (k != rank) {
        received.insert(received.end(), theirs.begin() + rank * n, theirs.begin() + (rank + 1) * n);
      }
    }
    std::vector<A> expected(static_cast<std::size_t>(n));
    std::vector<double> partials(static_cast<std::size_t>(norm_blocks(n)));
    for (bool const add : {false, true}) {
      host_kernels::sum<W, A>({},
                              own.data(),
                              received.data(),
                              n,
                              rank,
                              ranks,
                              expected.data(),
                              n,
                              add,
                              add ? partials.data() : nullptr);
    }
    CHECK(differences(sums[i]->values(), expected) == 0);
    CHECK(differences(squares[i]->values(), partials) == 0);
  }
}

}  // namespace

TEST_CASE_TEMPLATE("sums that read the other ranks' memory have the bits of the host",
                   T,
                   types<bf16, float>,
                   types<bf16, bf16>,
                   types<fp16, float>,
                   types<float, float>) {
  using W = typename T::first;
  using A = typename T::second;
  for (int const ranks : {1, 2, 3}) {
    // Less than a block; whole batches; a tail; more than all thread blocks do at once.
    for (std::int64_t const n : {std::int64_t{1},
                                 std::int64_t{7},
                                 norm_block,
                                 4 * norm_block,
                                 9 * norm_block + 5,
                                 600 * norm_block + 77}) {
      compare<W, A>(ranks, n, 0, 31);
    }
    compare<W, A>(ranks, 5 * norm_block, 3, 32);  // not aligned
  }
}

TEST_CASE("a kernel waits for a rank that is late, at its begin and at its end") {
  std::int64_t const n = 3 * norm_block;
  meeting_place const place(2);
  gpu_array<float> const first(n * 2);
  gpu_array<float> const second(n * 2);
  gpu_array<float> const sums(n * 2);
  int wrong = 0;
  for (int round = 1; round <= 20; ++round) {
    int const late = round % 2;
    zero::test::spin(place.stream(late), 3);
    for (int rank = 0; rank < 2; ++rank) {
      auto const& mine = rank == 0 ? first : second;
      auto const bytes = static_cast<std::size_t>(n) * 2 * sizeof(float);
      // Floats of equal bytes, others on each rank.
      check_cuda(cudaMemsetAsync(mine.data(), rank == 0 ? 0x3f : 0x40, bytes, place.stream(rank)),
                 "cudaMemsetAsync");
      gpu_kernels::sum_of_peers<float, float>(
          place.stream(rank),
          place.reading(rank, {first.data() + rank * n, second.data() + rank * n}),
          sums.data() + rank * n,
          n,
          false,
          nullptr);
      check_cuda(cudaMemsetAsync(mine.data(), 0xff, bytes, place.stream(rank)), "cudaMemsetAsync");
    }
    float const expected = std::bit_cast<float>(0x3f3f3f3fU) + std::bit_cast<float>(0x40404040U);
    for (float const got : sums.values()) {
      wrong += got == expected ? 0 : 1;
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("a kernel whose peers do not come ends when the host lets go") {
  std::int64_t const n = norm_block;
  meeting_place const place(2);
  gpu_array<float> const part(n);
  gpu_array<float> const sum(n);
  auto reading = place.reading(0, {part.data(), part.data()});
  gpu_array<std::uint32_t> const let_go(std::vector<std::uint32_t>{1});
  reading.flags.released = let_go.data();
  gpu_kernels::sum_of_peers<float, float>(place.stream(0), reading, sum.data(), n, false, nullptr);
  CHECK(cudaStreamSynchronize(place.stream(0)) == cudaSuccess);
}

}  // namespace zero::test
