// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/version.hpp>

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>
#include <thread>
#include <type_traits>
#include <vector>

namespace zero::inline ZERO_ABI::detail {

/// A task of a queue: a trivially copyable body in place, and the function that runs it.
struct host_task {
  static constexpr std::size_t body_bytes = 208;  // a user's body, its queue and its device
  static constexpr std::size_t body_alignment = 16;

  void (*run)(void* body) = nullptr;
  alignas(body_alignment) std::array<std::byte, body_bytes> body{};

  /// Makes this the task of calling `callable()`.
  template <class Callable>
  void assign(Callable const& callable) noexcept {
    static_assert(std::is_trivially_copyable_v<Callable>);
    static_assert(sizeof(Callable) <= body_bytes && alignof(Callable) <= body_alignment);
    ::new (static_cast<void*>(body.data())) Callable(callable);
    run = [](void* place) { (*std::launder(static_cast<Callable*>(place)))(); };
  }
};

/// A thread that runs tasks in order, out of a ring that is allocated once. Tasks must not throw.
///
/// Tasks are numbered from 1; `issued()` is the number of the last one put in, and a *ticket* for
/// everything up to it. One thread at a time puts tasks in; any thread waits for a ticket. Whoever
/// waits sleeps on a condition variable; a ticket that is reached costs one atomic read.
class host_queue {
 public:
  explicit host_queue(std::size_t capacity)
      : ring_(capacity) {
    thread_ = std::thread([this] { work(); });
  }

  host_queue(host_queue const&) = delete;
  host_queue& operator=(host_queue const&) = delete;

  /// Runs what is still in the ring, then ends the thread.
  ~host_queue() {
    {
      std::lock_guard const lock(mutex_);
      stop_ = true;
    }
    work_to_do_.notify_one();
    thread_.join();
  }

  /// Puts a task at the end. Waits while the ring is full.
  template <class Callable>
  void push(Callable const& callable) {
    {
      std::unique_lock lock(mutex_);
      room_.wait(lock,
                 [&] { return issued_ - done_.load(std::memory_order_relaxed) < ring_.size(); });
      task_at(issued_).assign(callable);
      ++issued_;
    }
    work_to_do_.notify_one();
  }

  /// The ticket of everything put in so far. For the thread that puts tasks in.
  [[nodiscard]] std::uint64_t issued() const noexcept { return issued_; }

  /// True when everything up to the ticket has run.
  [[nodiscard]] bool reached(std::uint64_t ticket) const noexcept {
    return done_.load(std::memory_order_acquire) >= ticket;
  }

  /// Waits until everything up to the ticket has run, or `give_up()`, which is asked again after
  /// each `wake`.
  template <class GiveUp>
  void await(std::uint64_t ticket, GiveUp give_up) {
    if (!reached(ticket)) {
      std::unique_lock lock(mutex_);
      ++waiting_;
      progress_.wait(lock, [&] { return reached(ticket) || give_up(); });
      --waiting_;
    }
  }

  /// Makes those who wait for a ticket ask again whether to give up.
  void wake() noexcept {
    {
      std::lock_guard const lock(mutex_);
    }  // whoever has asked in vain sleeps by now
    progress_.notify_all();
  }

 private:
  [[nodiscard]] host_task& task_at(std::uint64_t number) noexcept {
    return ring_[static_cast<std::size_t>(number % ring_.size())];
  }

  void work() {
    std::unique_lock lock(mutex_);
    for (std::uint64_t next = 0;; ++next) {
      work_to_do_.wait(lock, [&] { return stop_ || next != issued_; });
      if (next == issued_) {
        return;
      }
      host_task& task = task_at(next);  // not reused before done_ has passed it
      lock.unlock();
      task.run(task.body.data());
      lock.lock();
      done_.store(next + 1, std::memory_order_release);
      if (waiting_ > 0) {
        progress_.notify_all();
      }
      room_.notify_one();
    }
  }

  std::vector<host_task> ring_;
  std::mutex mutex_;
  std::condition_variable work_to_do_;
  std::condition_variable room_;
  std::condition_variable progress_;
  std::uint64_t issued_ = 0;
  std::atomic<std::uint64_t> done_{0};
  int waiting_ = 0;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace zero::inline ZERO_ABI::detail
