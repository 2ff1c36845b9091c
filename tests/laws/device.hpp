// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/error.hpp>
#include <zero/core/queue.hpp>
#include <zero/device/concepts.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

/// @file
/// The laws of the concept `device`; they use `D::kernels::copy` to see what has run.
/// `device_laws(lab)` takes an object that makes devices of a type D:
///
///     struct some_lab {
///       std::unique_ptr<D> make(int events);           // a fresh device
///       auto slow();                                   // a body that takes a millisecond or so
///       void write(D&, void* to, void const* from, std::int64_t bytes);  // from the host; returns
///       void read(D&, void* to, void const* from, std::int64_t bytes);   // when the bytes are
///       there
///     };

namespace zero::laws {

inline constexpr queue all_queues[] = {queue::compute, queue::comm, queue::reduce};

/// A row of integers in the memory of a device, moved along by copies.
template <class Lab, class Device>
class copied_cells {
 public:
  using kernels = typename Device::kernels;

  copied_cells(Lab& lab, Device& device, int count)
      : lab_(&lab),
        device_(&device),
        count_(count),
        cells_(static_cast<std::int32_t*>(device.allocate(bytes(), "cells"))) {
    std::vector<std::int32_t> const nothing(static_cast<std::size_t>(count), -1);
    lab.write(device, cells_, nothing.data(), bytes());
  }

  copied_cells(copied_cells const&) = delete;
  copied_cells& operator=(copied_cells const&) = delete;

  ~copied_cells() {
    device_->finish();
    device_->deallocate(cells_, bytes());
  }

  void set(int cell, std::int32_t value) { lab_->write(*device_, cells_ + cell, &value, 4); }

  [[nodiscard]] std::int32_t get(int cell) {
    std::int32_t value = 0;
    lab_->read(*device_, &value, cells_ + cell, 4);
    return value;
  }

  /// Where a cell lies in the device's memory.
  [[nodiscard]] std::int32_t* address(int cell) const { return cells_ + cell; }

  /// Copies cell `from` to cell `to` in a queue.
  void copy(queue q, int to, int from) {
    device_->enqueue(
        q, [a = cells_ + to, b = cells_ + from](auto stream) { kernels::copy(stream, a, b, 4); });
  }

 private:
  [[nodiscard]] std::int64_t bytes() const { return 4 * std::int64_t{count_}; }

  Lab* lab_;
  Device* device_;
  int count_;
  std::int32_t* cells_;
};

template <class Lab>
using device_of_lab = typename decltype(std::declval<Lab&>().make(0))::element_type;

template <class Lab>
void order_in_a_queue_law(Lab& lab) {
  auto const device = lab.make(1);
  for (queue const q : all_queues) {
    int const n = 50;
    copied_cells<Lab, device_of_lab<Lab>> cells(lab, *device, n + 1);
    cells.set(0, 77);
    device->enqueue(q, lab.slow());
    for (int i = 0; i < n; ++i) {
      cells.copy(q, i + 1, i);
    }
    device->finish();
    CHECK(cells.get(n) == 77);
  }
  device->check();
}

template <class Lab>
void order_between_queues_law(Lab& lab) {
  auto const device = lab.make(3);
  int const n = 60;
  copied_cells<Lab, device_of_lab<Lab>> cells(lab, *device, n + 1);
  cells.set(0, 5);
  for (int i = 0; i < n; ++i) {
    // Rounds of comm, reduce, compute, and back, with an event a queue.
    int const here = i % 3;
    queue const from = all_queues[(here + 1) % 3];
    queue const to = all_queues[(here + 2) % 3];
    device->enqueue(from, lab.slow());
    cells.copy(from, i + 1, i);
    device->record(from, here);
    device->wait(to, here);
  }
  device->finish();
  CHECK(cells.get(n) == 5);
  device->check();
}

template <class Lab>
void latest_record_law(Lab& lab) {
  auto const device = lab.make(2);
  copied_cells<Lab, device_of_lab<Lab>> cells(lab, *device, 4);
  cells.set(0, 1);
  device->wait(queue::reduce, 1);  // never recorded: holds nothing up
  device->wait(queue::compute, 1);
  device->record(queue::comm, 0);
  device->enqueue(queue::comm, lab.slow());
  cells.copy(queue::comm, 1, 0);
  device->record(queue::comm, 0);
  device->wait(queue::reduce, 0);  // sees the second record
  cells.copy(queue::reduce, 2, 1);
  device->record(queue::reduce, 0);  // an event may move to another queue
  device->wait(queue::comm, 0);
  cells.copy(queue::comm, 3, 2);
  device->finish();
  CHECK(cells.get(2) == 1);
  CHECK(cells.get(3) == 1);
  device->check();
}

template <class Lab>
void failure_law(Lab& lab) {
  struct own_error : std::runtime_error {
    using std::runtime_error::runtime_error;
  };

  for (queue const q : all_queues) {
    int told = 0;
    std::string text;
    auto const device = lab.make(1);
    device->on_failure([&](std::exception_ptr const& error) {
      ++told;
      try {
        std::rethrow_exception(error);
      } catch (std::exception const& e) {
        text = e.what();
      }
    });
    copied_cells<Lab, device_of_lab<Lab>> cells(lab, *device, 2);
    cells.set(0, 9);
    device->enqueue(q, [](auto) { throw own_error("first"); });
    device->enqueue(q, [](auto) { throw own_error("second"); });
    cells.copy(q, 1, 0);  // dropped
    device->record(q, 0);
    for (queue const other : all_queues) {
      device->wait(other, 0);  // nobody hangs
    }
    device->finish();
    device->fail(std::make_exception_ptr(own_error("third")));
    CHECK(told == 1);
    CHECK(text == "first");
    CHECK(cells.get(1) == -1);
    CHECK_THROWS_AS(device->check(), own_error);
    CHECK_THROWS_WITH(device->check(), "first");  // again and again
  }
}

template <class Lab>
void outside_failure_law(Lab& lab) {
  int told = 0;
  auto const device = lab.make(1);
  device->on_failure([&](std::exception_ptr const&) { ++told; });
  device->check();
  device->fail(std::make_exception_ptr(std::runtime_error("from outside")));
  device->fail(std::make_exception_ptr(std::runtime_error("too late")));
  CHECK(told == 1);
  CHECK_THROWS_WITH(device->check(), "from outside");
}

template <class Lab>
void allocation_law(Lab& lab) {
  auto const device = lab.make(0);
  allocation_counters const before = device->allocations();
  std::int64_t calls = 0;
  std::int64_t bytes = 0;
  std::vector<void*> addresses;
  std::vector<std::int64_t> const sizes = {1, 255, 256, 4097};
  for (std::int64_t const size : sizes) {
    addresses.push_back(device->allocate(size, "law"));
    CHECK(reinterpret_cast<std::uintptr_t>(addresses.back()) % 256 == 0);
    ++calls;
    bytes += size;
  }
  CHECK(device->allocate(0, "nothing") == nullptr);
  device->deallocate(nullptr, 0);
  allocation_counters const now = device->allocations();
  CHECK(now.calls - before.calls == calls);
  CHECK(now.bytes - before.bytes == bytes);
  CHECK(now.live_bytes - before.live_bytes == bytes);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    device->deallocate(addresses[i], sizes[i]);
  }
  CHECK(device->allocations().live_bytes == before.live_bytes);
  CHECK(device->allocations().bytes == now.bytes);
}

/// All laws.
template <class Lab>
void device_laws(Lab& lab) {
  static_assert(device<device_of_lab<Lab>>);
  order_in_a_queue_law(lab);
  order_between_queues_law(lab);
  latest_record_law(lab);
  failure_law(lab);
  outside_failure_law(lab);
  allocation_law(lab);
}

}  // namespace zero::laws
