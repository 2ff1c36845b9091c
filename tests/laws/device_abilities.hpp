// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/laws/device.hpp"

#include <zero/core/queue.hpp>
#include <zero/device/abilities.hpp>

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <stdexcept>
#include <vector>

/// @file
/// The laws of what a device may be able to do besides, one function an ability; they take the lab
/// of tests/laws/device.hpp. `stream_ordering_laws` wants more of it:
///
///     auto other();                 // a stream that is none of the device's
///     void run(D&, body);           // body(stream) takes its turn in that stream
///     void wait_for_other(D&);      // returns when that stream is empty

namespace zero::laws {

/// What was uploaded is downloaded, after all that is queued; after a failure both throw it, and
/// the kernels' copy still brings bytes to the host.
template <class Lab>
void separate_memory_laws(Lab& lab) {
  using device_type = device_of_lab<Lab>;
  static_assert(separate_memory_device<device_type>);
  using kernels = typename device_type::kernels;
  auto const device = lab.make(1);
  for (std::int64_t const n : {1, 255, 256, 4097}) {
    std::vector<unsigned char> here;
    for (std::int64_t i = 0; i < n; ++i) {
      here.push_back(static_cast<unsigned char>(i * 7 + n));
    }
    void* const there = device->allocate(n, "law");
    device->upload(there, here.data(), n);
    std::vector<unsigned char> back(here.size());
    device->download(back.data(), there, n);
    bool const same = back == here;
    CHECK(same);
    device->deallocate(there, n);
  }

  copied_cells<Lab, device_type> cells(lab, *device, 2);
  std::int32_t value = 0;
  for (queue const q : all_queues) {
    cells.set(0, 40 + static_cast<std::int32_t>(q));
    device->enqueue(q, lab.slow());
    cells.copy(q, 1, 0);
    device->download(&value, cells.address(1), sizeof value);
    CHECK(value == 40 + static_cast<std::int32_t>(q));
  }
  device->enqueue(queue::compute, [from = &value, to = cells.address(0)](auto stream) {
    kernels::copy(stream, to, from, sizeof value);
  });
  device->finish();
  CHECK(cells.get(0) == value);

  device->fail(std::make_exception_ptr(std::runtime_error("gone")));
  CHECK_THROWS_WITH(device->upload(cells.address(0), &value, sizeof value), "gone");
  CHECK_THROWS_WITH(device->download(&value, cells.address(0), sizeof value), "gone");
  std::int32_t last = 0;
  kernels::copy(device->stream(queue::comm), &last, cells.address(1), sizeof last);
  device->finish();
  CHECK(last == value);
}

/// Work of another stream comes before what is queued after `include`, and after what was queued
/// before `make_wait`.
template <class Lab>
void stream_ordering_laws(Lab& lab) {
  using device_type = device_of_lab<Lab>;
  static_assert(stream_ordering_device<device_type>);
  using kernels = typename device_type::kernels;
  auto const device = lab.make(1);
  copied_cells<Lab, device_type> cells(lab, *device, 6);
  auto const copy = [&](int to, int from) {
    return [a = cells.address(to), b = cells.address(from)](auto stream) {
      kernels::copy(stream, a, b, sizeof *a);
    };
  };
  cells.set(0, 7);
  lab.run(*device, lab.slow());
  lab.run(*device, copy(1, 0));
  device->include(lab.other());
  cells.copy(queue::compute, 2, 1);
  device->record(queue::compute, 0);
  for (queue const q : {queue::comm, queue::reduce}) {
    device->wait(q, 0);
    device->enqueue(q, lab.slow());
    cells.copy(q, 2 + static_cast<int>(q), 2);
  }
  device->make_wait(lab.other());
  lab.run(*device, copy(5, 4));
  lab.wait_for_other(*device);
  CHECK(cells.get(3) == 7);
  CHECK(cells.get(5) == 7);
  device->check();
}

/// Nothing runs while it is captured; each launch runs it once, in the order of the queues; what is
/// abandoned never runs.
template <class Lab>
void graph_laws(Lab& lab) {
  using device_type = device_of_lab<Lab>;
  static_assert(graph_device<device_type>);
  auto const device = lab.make(2);
  copied_cells<Lab, device_type> cells(lab, *device, 4);
  cells.set(0, 1);
  device->begin_capture();
  cells.copy(queue::compute, 1, 0);
  device->record(queue::compute, 0);
  device->wait(queue::comm, 0);
  cells.copy(queue::comm, 2, 1);
  auto const record = device->end_capture();
  device->finish();
  CHECK(cells.get(2) == -1);
  for (std::int32_t const value : {1, 5}) {
    cells.set(0, value);
    device->launch(record);
    device->record(queue::comm, 1);
    device->wait(queue::reduce, 1);
    cells.copy(queue::reduce, 3, 2);  // after the graph
    device->finish();
    CHECK(cells.get(3) == value);
  }

  device->begin_capture();
  cells.copy(queue::compute, 0, 1);
  cells.copy(queue::compute, 3, 1);
  device->abandon_capture();
  cells.set(0, 9);
  device->finish();
  CHECK(cells.get(0) == 9);
  CHECK(cells.get(3) == 5);
  device->launch(record);
  cells.copy(queue::compute, 3, 2);
  device->finish();
  CHECK(cells.get(3) == 9);
  device->check();
}

/// The hook is called once a body, with its queue, and changes nothing.
template <class Lab>
void delay_laws(Lab& lab) {
  using device_type = device_of_lab<Lab>;
  static_assert(delayable_device<device_type>);
  auto const device = lab.make(0);
  std::array<std::atomic<int>, queue_count> calls{};
  device->set_delay([&](queue q, auto /*stream*/) { ++calls[static_cast<std::size_t>(q)]; });
  copied_cells<Lab, device_type> cells(lab, *device, 4);
  cells.set(0, 3);
  for (queue const q : all_queues) {
    for (int i = 0; i < 3; ++i) {
      cells.copy(q, i + 1, i);
    }
    device->finish();
    CHECK(cells.get(3) == 3);
    CHECK(calls[static_cast<std::size_t>(q)] == 3);
  }
  device->check();
}

}  // namespace zero::laws
