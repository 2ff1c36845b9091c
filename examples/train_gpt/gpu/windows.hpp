// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../corpus.hpp"

#include <zero/device/gpu/memory.hpp>

#include <cuda_runtime_api.h>

#include <cstdint>
#include <functional>
#include <span>

namespace train_gpt::gpu {

/// The windows of a micro-step in device memory: tokens [size, context], and for each the token
/// after it. The whole text lies there too, so a window is named by its place alone, which travels
/// with a launch: nothing is copied from the host inside a step, and nothing waits.
class windows {
 public:
  /// Brings the text to the device. Waits.
  windows(corpus const& text, std::int64_t size, std::int64_t context, cudaStream_t stream);

  /// Enqueues the copies of all windows. `window(i)` is what the corpus calls the i-th: a span of
  /// context + 1 bytes in it.
  template <class Window>
  void fill(Window&& window) {
    for (std::int64_t i = 0; i < size_; ++i) {
      set(i, window(i));
    }
    flush();
  }

  /// Puts tokens of the host's memory at the first window's beginning. What follows them is
  /// anything. May wait.
  void fill_first(std::span<std::uint8_t const> tokens);

  [[nodiscard]] std::uint8_t const* tokens() const noexcept {
    return static_cast<std::uint8_t const*>(tokens_.get());
  }

  [[nodiscard]] std::uint8_t const* targets() const noexcept {
    return static_cast<std::uint8_t const*>(targets_.get());
  }

 private:
  static constexpr int most = 64;  // windows a launch

  void set(std::int64_t index, std::span<std::uint8_t const> window);
  void flush();

  corpus const& corpus_;
  std::int64_t size_;
  std::int64_t context_;
  cudaStream_t stream_;
  zero::gpu::memory text_;  ///< what is trained on, then what is held out
  zero::gpu::memory tokens_;
  zero::gpu::memory targets_;
  std::int64_t places_[most] = {};
  std::int64_t first_ = 0;  ///< window of places_[0]
  int count_ = 0;
};

}  // namespace train_gpt::gpu
