// SPDX-License-Identifier: Apache-2.0
#include "kernels.hpp"
#include "windows.hpp"

#include <zero/device/gpu/error.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

namespace train_gpt::gpu {

windows::windows(corpus const& text, std::int64_t size, std::int64_t context, cudaStream_t stream)
    : corpus_(text),
      size_(size),
      context_(context),
      stream_(stream),
      text_(static_cast<std::int64_t>(text.training().size() + text.validation().size()), "text"),
      tokens_(size * context, "windows"),
      targets_(size * context, "windows") {
  auto* const to = static_cast<std::uint8_t*>(text_.get());
  auto const put = [&](std::uint8_t* place, std::span<std::uint8_t const> part) {
    zero::check_cuda(cudaMemcpy(place, part.data(), part.size(), cudaMemcpyHostToDevice),
                     "cudaMemcpy");
  };
  put(to, text.training());
  put(to + text.training().size(), text.validation());
  zero::check_cuda(cudaMemset(tokens_.get(), 0, static_cast<std::size_t>(size * context)),
                   "cudaMemset");
  zero::check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
}

void windows::set(std::int64_t index, std::span<std::uint8_t const> window) {
  if (count_ == 0) {
    first_ = index;
  }
  auto const training = corpus_.training();
  std::less<> const before;
  bool const inside = !before(window.data(), training.data()) &&
                      before(window.data(), training.data() + training.size());
  places_[count_++] = inside ? window.data() - training.data()
                             : window.data() - corpus_.validation().data() +
                                   static_cast<std::int64_t>(training.size());
  if (count_ == most) {
    flush();
  }
}

void windows::flush() {
  if (count_ == 0) {
    return;
  }
  static_assert(most == window_list::most);
  window_list list{};
  std::copy_n(places_, count_, list.first);
  copy_windows(stream_,
               static_cast<std::uint8_t*>(tokens_.get()) + first_ * context_,
               static_cast<std::uint8_t*>(targets_.get()) + first_ * context_,
               static_cast<std::uint8_t const*>(text_.get()),
               list,
               count_,
               context_);
  count_ = 0;
}

void windows::fill_first(std::span<std::uint8_t const> tokens) {
  zero::check_cuda(
      cudaMemcpyAsync(tokens_.get(), tokens.data(), tokens.size(), cudaMemcpyHostToDevice, stream_),
      "cudaMemcpyAsync");
}

}  // namespace train_gpt::gpu
