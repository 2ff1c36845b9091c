// SPDX-License-Identifier: Apache-2.0
#include <zero/comm/detail/rank_sum.cuh>

#include "tests/support/wild.hpp"

#include <zero/core/arithmetic.hpp>
#include <zero/core/dtype.hpp>
#include <zero/device/gpu/memory.hpp>
#include <zero/device/gpu/stream.hpp>

#include <doctest/doctest.h>

#include <cuda_runtime.h>

#include <cstdint>
#include <vector>

static_assert(sizeof(zero::detail::rank_addresses) <= 2048);

namespace {

template <zero::element W>
W on_host(std::vector<std::vector<W>> const& parts, std::size_t i, double prescale) {
  auto const term = [&](std::size_t rank) {
    float const value = zero::to_float(parts[rank][i]);
    return prescale == 1 ? value
                         : zero::to_float(
                               zero::from_float<W>(zero::mul(value, static_cast<float>(prescale))));
  };
  float sum = term(0);
  for (std::size_t rank = 1; rank < parts.size(); ++rank) {
    sum = zero::to_float(zero::from_float<W>(zero::add(sum, term(rank))));
  }
  return zero::from_float<W>(sum);
}

}  // namespace

TEST_CASE_TEMPLATE("the sum of ranks on a GPU is the host's, aligned or not, in place or not",
                   W,
                   float,
                   zero::bf16,
                   zero::fp16) {
  zero::gpu::stream const stream(zero::gpu::stream_priority::normal);
  for (int const ranks : {1, 2, 7}) {
    for (std::int64_t const n : {1, 8, 9, 2048, 5000}) {
      for (std::int64_t const shift : {0, 1}) {
        for (double const prescale : {1.0, 1.0 / 3.0}) {
          zero::test::wild_numbers source(static_cast<std::uint64_t>(n + ranks));
          std::vector<std::vector<W>> parts;
          std::vector<zero::gpu::memory> buffers;
          zero::detail::rank_addresses addresses{};
          for (int rank = 0; rank < ranks; ++rank) {
            parts.push_back(source.vector<W>(n));
            buffers.emplace_back((n + shift) * static_cast<std::int64_t>(sizeof(W)), "test");
            W* const at = static_cast<W*>(buffers.back().get()) + shift;
            zero::check_cuda(cudaMemcpyAsync(at,
                                             parts.back().data(),
                                             static_cast<std::size_t>(n) * sizeof(W),
                                             cudaMemcpyHostToDevice,
                                             stream.get()),
                             "cudaMemcpyAsync");
            addresses.at[rank] = at;
          }
          W* const to = static_cast<W*>(buffers.back().get()) + shift;  // the last rank's own
          zero::detail::launch_rank_sum<W>(stream.get(), addresses, ranks, n, prescale, to);
          zero::check_cuda(cudaStreamSynchronize(stream.get()), "cudaStreamSynchronize");
          std::vector<W> got(static_cast<std::size_t>(n));
          zero::check_cuda(
              cudaMemcpy(got.data(), to, got.size() * sizeof(W), cudaMemcpyDeviceToHost),
              "cudaMemcpy");
          std::size_t differing = 0;
          for (std::size_t i = 0; i < got.size(); ++i) {
            differing += zero::test::same(got[i], on_host(parts, i, prescale)) ? 0 : 1;
          }
          CHECK(differing == 0);
        }
      }
    }
  }
}
