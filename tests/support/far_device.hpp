// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/support/inline_device.hpp"

#include <zero/core/dtype.hpp>
#include <zero/core/queue.hpp>
#include <zero/device/abilities.hpp>
#include <zero/device/concepts.hpp>
#include <zero/device/host_kernels.hpp>
#include <zero/device/host_stream.hpp>
#include <zero/device/stamps.hpp>
#include <zero/device/update_arguments.hpp>
#include <zero/policy/concepts.hpp>
#include <zero/policy/device.hpp>

#include <atomic>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

/// @file
/// A device whose memory the host cannot touch: the addresses that it hands out bear a mark, with
/// which they point nowhere; its kernels take the mark off. Whoever looks behind one on the host
/// ends the program.

namespace zero::test {

/// Set in every address of far memory; no address of a program has it.
inline constexpr std::uintptr_t far_mark = std::uintptr_t{1} << 62U;

/// What a kernel finds at an address; the host's own addresses stay as they are.
template <class T>
[[nodiscard]] T* near(T* address) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  return reinterpret_cast<T*>(reinterpret_cast<std::uintptr_t>(address) & ~far_mark);
}

[[nodiscard]] inline void* far(void* address) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(address) | far_mark);
}

/// Numbers are no addresses.
template <class T>
  requires std::is_arithmetic_v<T>
[[nodiscard]] T near(T number) {
  return number;
}

[[nodiscard]] inline std::nullptr_t near(std::nullptr_t nothing) {
  return nothing;
}

template <element P, element A>
[[nodiscard]] update_arguments<P, A> near(update_arguments<P, A> arguments) {
  arguments.gradient = near(arguments.gradient);
  arguments.master = near(arguments.master);
  for (auto& moment : arguments.moments) {
    moment = near(moment);
  }
  arguments.parameter = near(arguments.parameter);
  arguments.segments = near(arguments.segments);
  return arguments;
}

/// The queue that a body is in.
struct far_stream {
  queue of = queue::compute;
};

/// The host's kernels on far memory.
struct far_kernels {
  static void fill(far_stream /*stream*/, void* to, int byte, std::int64_t bytes) {
    host_kernels::fill({}, near(to), byte, bytes);
  }

  /// Either side may be the host's.
  static void copy(far_stream /*stream*/, void* to, void const* from, std::int64_t bytes) {
    host_kernels::copy({}, near(to), near(from), bytes);
  }

  template <element P, element A, class... Arguments>
  static void accumulate(far_stream /*stream*/, Arguments... arguments) {
    host_kernels::accumulate<P, A>({}, near(arguments)...);
  }

  template <element W, element A, class... Arguments>
  static void sum(far_stream /*stream*/, Arguments... arguments) {
    host_kernels::sum<W, A>({}, near(arguments)...);
  }

  template <element A>
  static void squares(far_stream /*stream*/, A const* values, std::int64_t n, double* partials) {
    host_kernels::squares<A>({}, near(values), n, near(partials));
  }

  static void reduce_partials(far_stream /*stream*/,
                              double const* partials,
                              std::int64_t n,
                              double* scratch,
                              double* result) {
    host_kernels::reduce_partials({}, near(partials), n, near(scratch), near(result));
  }

  static void set_control(far_stream /*stream*/, step_control* to, step_control const& control) {
    *near(to) = control;
  }

  template <optimizer O>
  static void decide(far_stream /*stream*/,
                     step_state<O>* state,
                     rank_record const* records,
                     int ranks,
                     step_control const* control,
                     step_config<O> const* config,
                     step_record* ring,
                     std::int64_t slot) {
    step_control numbers = *near(control);
    numbers.device_gradient_scale = near(numbers.device_gradient_scale);
    host_kernels::decide<O>(
        {}, near(state), near(records), ranks, &numbers, near(config), near(ring), slot);
  }

  template <optimizer O, element P, element A>
  static void update(far_stream /*stream*/,
                     update_arguments<P, A> const& arguments,
                     step_state<O> const* state) {
    host_kernels::update<O, P, A>({}, near(arguments), near(state));
  }

  template <element P>
  static void widen(far_stream /*stream*/, P const* from, float* to, std::int64_t n) {
    host_kernels::widen<P>({}, near(from), near(to), n);
  }
};

/// Far memory, queues that run at once, and every optional ability.
class far_device {
 public:
  using stream_type = far_stream;
  using kernels = far_kernels;
  using graph = std::vector<std::function<void()>>;

  /// @param number  which of several devices this one is
  explicit far_device(int events, int number = 0)
      : base_(events),
        number_(number) {}

  [[nodiscard]] void* allocate(std::int64_t bytes, char const* pool) {
    void* const address = base_.allocate(bytes, pool);
    return address == nullptr ? nullptr : far(address);
  }

  void deallocate(void* address, std::int64_t bytes) noexcept {
    base_.deallocate(near(address), bytes);
  }

  [[nodiscard]] allocation_counters allocations() const { return base_.allocations(); }

  template <class Body>
  void enqueue(queue q, Body body) {
    if (capturing_) {
      kept_.push_back([this, q, body] { run(q, body); });
    } else {
      run(q, body);
    }
  }

  void record(queue q, int event) { base_.record(q, event); }

  void wait(queue q, int event) { base_.wait(q, event); }

  [[nodiscard]] far_stream stream(queue q) const { return {q}; }

  void finish() noexcept {}

  void check() const { base_.check(); }

  void fail(std::exception_ptr error) noexcept { base_.fail(std::move(error)); }

  void on_failure(std::function<void(std::exception_ptr)> callback) {
    base_.on_failure(std::move(callback));
  }

  // separate_memory_device

  void upload(void* to, void const* from, std::int64_t bytes) { move(near(to), from, bytes); }

  void download(void* to, void const* from, std::int64_t bytes) { move(to, near(from), bytes); }

  // stream_ordering_device: everything put into a stream has run when the call returns

  void include(far_stream /*other*/) { ++included; }

  void make_wait(far_stream /*other*/) { ++waited_for; }

  // graph_device

  void begin_capture() { capturing_ = true; }

  [[nodiscard]] graph end_capture() {
    capturing_ = false;
    return std::exchange(kept_, {});
  }

  void abandon_capture() noexcept {
    capturing_ = false;
    kept_.clear();
  }

  void launch(graph const& captured) {
    for (auto const& body : captured) {
      body();
    }
  }

  // delayable_device

  void set_delay(std::function<void(queue, far_stream)> delay) { delay_ = std::move(delay); }

  // numbered_device

  [[nodiscard]] int ordinal() const { return number_; }

  static inline std::atomic<int> included{0};    ///< calls of `include`, on all devices
  static inline std::atomic<int> waited_for{0};  ///< calls of `make_wait`

 private:
  template <class Body>
  void run(queue q, Body body) {
    base_.enqueue(q, [this, q, body](host_stream) mutable {
      if (delay_) {
        delay_(q, stream(q));
      }
      body(stream(q));
    });
  }

  void move(void* to, void const* from, std::int64_t bytes) const {
    if (capturing_) {
      throw std::logic_error("a copy that waits inside a capture");
    }
    check();
    host_kernels::copy({}, to, from, bytes);
  }

  inline_device base_;
  int number_;
  std::function<void(queue, far_stream)> delay_;
  bool capturing_ = false;
  graph kept_;
};

struct Far {
  using policy_category = device_category;
  using device = far_device;
};

}  // namespace zero::test

/// Clocks, so that timelines can be recorded.
template <>
class zero::time_stamps<zero::test::far_stream> {
 public:
  explicit time_stamps(std::size_t places)
      : at_(places) {}

  void set(std::size_t place, test::far_stream /*stream*/) {
    at_[place] = std::chrono::steady_clock::now();
  }

  [[nodiscard]] double microseconds(std::size_t from, std::size_t to) const {
    return std::chrono::duration<double, std::micro>(at_[to] - at_[from]).count();
  }

 private:
  std::vector<std::chrono::steady_clock::time_point> at_;
};

static_assert(zero::device<zero::test::far_device>);
static_assert(zero::separate_memory_device<zero::test::far_device>);
static_assert(zero::stream_ordering_device<zero::test::far_device>);
static_assert(zero::graph_device<zero::test::far_device>);
static_assert(zero::delayable_device<zero::test::far_device>);
static_assert(zero::timeline_device<zero::test::far_device>);
static_assert(zero::numbered_device<zero::test::far_device>);
