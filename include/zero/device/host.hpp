// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/error.hpp>
#include <zero/core/queue.hpp>
#include <zero/device/abilities.hpp>
#include <zero/device/concepts.hpp>
#include <zero/device/detail/host_failure.hpp>
#include <zero/device/detail/host_queue.hpp>
#include <zero/device/host_stream.hpp>
#include <zero/policy/concepts.hpp>
#include <zero/policy/device.hpp>
#include <zero/version.hpp>

#include <array>
#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

namespace zero::inline ZERO_ABI {

struct host_kernels;

/// What a host device may be told.
struct host_options {
  bool asynchronous = true;        ///< false: all queues run inline on the calling thread
  std::int64_t ring_tasks = 1024;  ///< bodies and waits a queue holds before its producer waits
  std::int64_t memory_limit = -1;  ///< bytes that may be allocated at one time; -1: what there is
};

/// The host as a device: a model of `device` in plain C++.
///
/// The compute queue is the calling thread itself: its bodies run inside `enqueue`, and a wait on
/// it blocks the caller. The comm and the reduce queue are one thread each, with a ring of
/// fixed-size tasks; a full ring makes `enqueue` wait for room. An event is a number: how far its
/// queue had got.
///
/// `enqueue`, `record` and `wait` come from one thread at a time, and not from bodies; `check`,
/// `fail` and `allocations` from any. Nothing spins. No call allocates after construction, except
/// `allocate`. Bodies that are still queued run before the destructor returns, unless it has
/// failed.
class host_device {
 public:
  using stream_type = host_stream;
  using kernels = host_kernels;  ///< defined in device/host_kernels.hpp

  /// The largest body that `enqueue` takes, in bytes.
  static constexpr std::size_t max_body_bytes = 192;

  /// The largest alignment of a body.
  static constexpr std::size_t max_body_alignment = 16;

  /// @param events  events are numbered 0 ... events - 1
  /// @throws logic_error a negative number of events, or no room in the rings
  explicit host_device(int events, host_options options = {})
      : memory_limit_(options.memory_limit) {
    precondition(events >= 0, "zero::host_device: the number of events must not be negative");
    precondition(options.ring_tasks >= 1, "zero::host_device: ring_tasks must be at least 1");
    events_.resize(static_cast<std::size_t>(events));
    if (options.asynchronous) {
      auto const capacity = static_cast<std::size_t>(options.ring_tasks);
      queues_[index(queue::comm)] = std::make_unique<detail::host_queue>(capacity);
      queues_[index(queue::reduce)] = std::make_unique<detail::host_queue>(capacity);
    }
  }

  /// Waits until the queues are empty: a task may wait for another queue's.
  ~host_device() { finish(); }

  host_device(host_device const&) = delete;
  host_device& operator=(host_device const&) = delete;

  /// Host memory at a multiple of 256 bytes; null for zero bytes. Not initialised.
  /// @param pool  named in the exception
  /// @throws out_of_memory there is not as much, or `memory_limit` would be exceeded
  [[nodiscard]] void* allocate(std::int64_t bytes, char const* pool) {
    precondition(bytes >= 0, "zero::host_device: a size must not be negative");
    if (bytes == 0) {
      return nullptr;
    }
    std::int64_t const live = live_bytes_.fetch_add(bytes) + bytes;
    void* const address =
        memory_limit_ >= 0 && live > memory_limit_
            ? nullptr
            : ::operator new(
                  static_cast<std::size_t>(bytes), std::align_val_t(alignment), std::nothrow);
    if (address == nullptr) {
      live_bytes_.fetch_sub(bytes);
      throw out_of_memory(bytes, pool);
    }
    allocated_calls_.fetch_add(1);
    allocated_bytes_.fetch_add(bytes);
    return address;
  }

  /// Gives back what `allocate(bytes, ...)` gave; nothing for null.
  void deallocate(void* address, std::int64_t bytes) noexcept {
    if (address != nullptr) {
      ::operator delete(address, std::align_val_t(alignment));
      live_bytes_.fetch_sub(bytes);
    }
  }

  /// What has been allocated so far. Any thread.
  [[nodiscard]] allocation_counters allocations() const noexcept {
    return {.calls = allocated_calls_.load(),
            .bytes = allocated_bytes_.load(),
            .live_bytes = live_bytes_.load()};
  }

  /// `body(host_stream)` takes its turn in the queue; on the compute queue it runs now. What it
  /// throws is kept, see `check`; after a failure it does not run.
  template <class Body>
    requires std::invocable<Body&, host_stream>
  void enqueue(queue q, Body body) {
    constexpr bool copyable = std::is_trivially_copyable_v<Body>;
    constexpr bool fits = sizeof(Body) <= max_body_bytes && alignof(Body) <= max_body_alignment;
    static_assert(copyable,
                  "zero::host_device: a body is copied byte by byte; capture pointers and numbers "
                  "only.");
    static_assert(
        fits,
        "zero::host_device: a body is at most 192 bytes, aligned to 16; capture a pointer "
        "to the rest.");
    if constexpr (copyable && fits) {  // else one error is enough
      if (detail::host_queue* const worker = worker_of(q)) {
        worker->push([this, q, body]() mutable { run(q, body); });
      } else {
        run(q, body);
      }
    }
  }

  /// The event stands for everything put into the queue so far.
  /// @throws logic_error there is no such event
  void record(queue q, int event) {
    detail::host_queue const* const worker = worker_of(q);
    event_at(event) = {q, worker != nullptr ? worker->issued() : 0};
  }

  /// What is put into the queue from now on starts after what the event's latest record stands for.
  /// On the compute queue: waits for that, or until something has failed, see `check`.
  /// @throws logic_error there is no such event
  void wait(queue q, int event) {
    host_event const awaited = event_at(event);
    std::uint64_t& seen = seen_[index(q)][index(awaited.of)];
    if (q == awaited.of || awaited.ticket <= seen) {
      return;  // in order anyway, or an earlier wait implies this one
    }
    seen = awaited.ticket;
    detail::host_queue* const before = worker_of(awaited.of);
    if (before->reached(awaited.ticket)) {
      return;
    }
    auto const pause = [this, before, ticket = awaited.ticket] {
      before->await(ticket, [this] { return failure_.failed(); });
    };
    if (detail::host_queue* const worker = worker_of(q)) {
      worker->push(pause);
    } else {
      pause();
    }
  }

  /// The stream of a queue's bodies.
  [[nodiscard]] host_stream stream(queue /*q*/) const noexcept { return {}; }

  /// Waits until all queues are empty and idle, failed or not.
  void finish() noexcept {
    for (auto const& worker : queues_) {
      if (worker != nullptr) {
        worker->await(worker->issued(), [] { return false; });
      }
    }
  }

  /// Throws the first failure, the original exception, if there is one; one atomic read otherwise.
  void check() const { failure_.check(); }

  /// Fails, as if a body had thrown; the first failure stays. Any thread.
  void fail(std::exception_ptr const& error) noexcept {
    if (failure_.keep(error)) {
      for (auto const& worker : queues_) {
        if (worker != nullptr) {
          worker->wake();
        }
      }
    }
  }

  /// `callback(error)` is called once, at the first failure, by the thread that failed: to free
  /// bodies that wait for something outside of this device. To be set before the first body; what
  /// it refers to must outlive the device.
  void on_failure(std::function<void(std::exception_ptr)> callback) {
    failure_.set_callback(std::move(callback));
  }

  /// For tests: `delay(queue, stream)` is called before each body, by the thread that runs it, to
  /// move the queues against each other. To be set before the first body.
  void set_delay(std::function<void(queue, host_stream)> delay) { delay_ = std::move(delay); }

 private:
  static constexpr std::size_t alignment = 256;

  struct host_event {
    queue of = queue::compute;
    std::uint64_t ticket = 0;  // 0: never recorded, or reached by nature
  };

  [[nodiscard]] static constexpr std::size_t index(queue q) noexcept {
    return static_cast<std::size_t>(q);
  }

  [[nodiscard]] detail::host_queue* worker_of(queue q) const noexcept {
    return queues_[index(q)].get();
  }

  [[nodiscard]] host_event& event_at(int event) {
    precondition(event >= 0 && static_cast<std::size_t>(event) < events_.size(),
                 "zero::host_device: no such event; the constructor says how many there are");
    return events_[static_cast<std::size_t>(event)];
  }

  template <class Body>
  void run(queue q, Body& body) noexcept {
    if (failure_.failed()) {
      return;
    }
    try {
      if (delay_) {
        delay_(q, host_stream{});
      }
      body(host_stream{});
    } catch (...) {
      fail(std::current_exception());
    }
  }

  std::int64_t memory_limit_;
  std::atomic<std::int64_t> allocated_calls_{0};
  std::atomic<std::int64_t> allocated_bytes_{0};
  std::atomic<std::int64_t> live_bytes_{0};
  std::vector<host_event> events_;
  std::array<std::array<std::uint64_t, queue_count>, queue_count> seen_{};  // [who waits][for whom]
  std::function<void(queue, host_stream)> delay_;
  detail::host_failure failure_;
  // Last, so that the threads end before what they use. The compute queue has none.
  std::array<std::unique_ptr<detail::host_queue>, queue_count> queues_;
};

static_assert(device<host_device>);
static_assert(delayable_device<host_device>);
static_assert(timeline_device<host_device>);

/// The device policy of the host: memory and kernels are plain C++. The default.
struct Host {
  using policy_category = device_category;
  using device = host_device;  ///< memory, queues, events; names the kernels
};

static_assert(policy_of<Host, device_category>);

}  // namespace zero::inline ZERO_ABI
