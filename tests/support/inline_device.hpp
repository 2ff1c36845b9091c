// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/arithmetic.hpp>
#include <zero/core/config.hpp>
#include <zero/core/dtype.hpp>
#include <zero/core/error.hpp>
#include <zero/core/float_environment.hpp>
#include <zero/core/norm.hpp>
#include <zero/core/queue.hpp>
#include <zero/device/concepts.hpp>
#include <zero/device/host_kernels.hpp>
#include <zero/device/host_stream.hpp>
#include <zero/device/kernel_concepts.hpp>
#include <zero/policy/concepts.hpp>
#include <zero/policy/device.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <mutex>
#include <utility>

/// @file
/// A device and kernels as a user writes them who knows the documents alone: no word of
/// `zero::detail`, nothing but what the concepts ask for.

namespace zero::test {

/// Where each rank's part of a sum lies, for kernels that read it there.
struct parts_of_ranks {
  std::array<void const*, 8> at{};
  int ranks = 0;
};

/// Counts its launches; has some kernels of its own, and leaves the rest to the host's.
struct counted_kernels {
  static inline std::atomic<std::int64_t> sums{0};
  static inline std::atomic<std::int64_t> updates{0};
  static inline std::atomic<std::int64_t> sums_in_place{0};

  static void fill(host_stream /*stream*/, void* to, int byte, std::int64_t bytes) {
    if (bytes > 0) {
      std::memset(to, byte, static_cast<std::size_t>(bytes));
    }
  }

  static void copy(host_stream /*stream*/, void* to, void const* from, std::int64_t bytes) {
    if (bytes > 0) {
      std::memmove(to, from, static_cast<std::size_t>(bytes));
    }
  }

  template <element P>
  static void widen(host_stream /*stream*/, P const* from, float* to, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) {
      to[i] = to_float(from[i]);
    }
  }

  template <element P, element A, class... Arguments>
  static void accumulate(host_stream stream, Arguments... arguments) {
    host_kernels::accumulate<P, A>(stream, arguments...);
  }

  // [kernels]
  template <element W, element A, class... Arguments>
  static void sum(host_stream stream, Arguments... arguments) {
    ++sums;
    host_kernels::sum<W, A>(stream, arguments...);
  }

  template <optimizer O, element P, element A>
  static void update(host_stream stream,
                     update_arguments<P, A> const& arguments,
                     step_state<O> const* state) {
    ++updates;
    host_kernels::update<O, P, A>(stream, arguments, state);
  }

  // [kernels]

  template <element A>
  ZERO_EXACT static void squares(host_stream /*stream*/,
                                 A const* values,
                                 std::int64_t n,
                                 double* partials) {
    exact_float_environment const environment;
    for (std::int64_t block = 0; block < norm_blocks(n); ++block) {
      std::int64_t const first = block * norm_block;
      std::int64_t const count = n - first < norm_block ? n - first : norm_block;
      partials[block] = block_squares(values + first, count);
    }
  }

  static void reduce_partials(
      host_stream stream, double const* partials, std::int64_t n, double* scratch, double* result) {
    host_kernels::reduce_partials(stream, partials, n, scratch, result);
  }

  static void set_control(host_stream /*stream*/, step_control* to, step_control const& control) {
    *to = control;
  }

  template <optimizer O, class... Arguments>
  static void decide(host_stream stream, step_state<O>* state, Arguments... arguments) {
    host_kernels::decide<O>(stream, state, arguments...);
  }

  /// Optional: the sum without an exchange, ((r0 + r1) + r2 ...) in FP32 as `sum` forms it.
  template <element W, element A>
  ZERO_EXACT static void sum_of_peers(host_stream stream,
                                      parts_of_ranks const& parts,
                                      A* accumulator,
                                      std::int64_t n,
                                      bool add,
                                      double* partials) {
    ++sums_in_place;
    exact_float_environment const environment;
    for (std::int64_t i = 0; i < n; ++i) {
      float total = to_float(static_cast<W const*>(parts.at[0])[i]);
      for (int k = 1; k < parts.ranks; ++k) {
        auto const* const part = static_cast<W const*>(parts.at[static_cast<std::size_t>(k)]);
        total = zero::add(total, to_float(part[i]));
      }
      accumulator[i] = from_float<A>(add ? zero::add(to_float(accumulator[i]), total) : total);
    }
    if (partials != nullptr) {
      squares(stream, static_cast<A const*>(accumulator), n, partials);
    }
  }

  template <element P, element A>
  static void preload_sums_of_peers() {}
};

// [device]
/// Memory of the host and no queue at all: a body runs inside `enqueue`, on the calling thread, so
/// that everything is in order and events have nothing to do.
class inline_device {
 public:
  using stream_type = host_stream;  // Local serves devices that have it
  using kernels = counted_kernels;

  explicit inline_device(int /*events*/) {}

  inline_device(inline_device const&) = delete;
  inline_device& operator=(inline_device const&) = delete;

  [[nodiscard]] void* allocate(std::int64_t bytes, char const* pool) {
    if (bytes == 0) {
      return nullptr;
    }
    auto const whole = static_cast<std::size_t>((bytes + 255) / 256 * 256);
    void* const address = std::aligned_alloc(256, whole);
    if (address == nullptr) {
      throw out_of_memory(bytes, pool);
    }
    std::lock_guard const lock(mutex_);
    counters_.calls += 1;
    counters_.bytes += bytes;
    counters_.live_bytes += bytes;
    return address;
  }

  void deallocate(void* address, std::int64_t bytes) noexcept {
    std::free(address);
    std::lock_guard const lock(mutex_);
    counters_.live_bytes -= bytes;
  }

  [[nodiscard]] allocation_counters allocations() const {
    std::lock_guard const lock(mutex_);
    return counters_;
  }

  template <class Body>
  void enqueue(queue q, Body body) {
    if (failed_) {
      return;
    }
    try {
      body(stream(q));
    } catch (...) {
      fail(std::current_exception());
    }
  }

  void record(queue /*q*/, int /*event*/) {}

  void wait(queue /*q*/, int /*event*/) {}

  [[nodiscard]] stream_type stream(queue /*q*/) const { return {}; }

  void finish() noexcept {}

  void check() const {
    if (failed_) {
      std::lock_guard const lock(mutex_);
      std::rethrow_exception(failure_);
    }
  }

  void fail(std::exception_ptr error) noexcept {
    {
      std::lock_guard const lock(mutex_);
      if (failed_) {
        return;
      }
      failure_ = error;
      failed_ = true;
    }
    if (callback_) {
      callback_(error);
    }
  }

  void on_failure(std::function<void(std::exception_ptr)> callback) {
    callback_ = std::move(callback);
  }

 private:
  mutable std::mutex mutex_;
  allocation_counters counters_;
  std::exception_ptr failure_;
  std::atomic<bool> failed_{false};
  std::function<void(std::exception_ptr)> callback_;
};

static_assert(zero::device<inline_device>);

struct Inline {
  using policy_category = device_category;
  using device = inline_device;
};

// [device]

}  // namespace zero::test
