// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/comm/local.hpp>
#include <zero/core/queue.hpp>
#include <zero/device/concepts.hpp>
#include <zero/device/host.hpp>
#include <zero/device/host_kernels.hpp>
#include <zero/policy/device.hpp>

#include <concepts>
#include <cstdint>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <utility>
#include <vector>

namespace zero::test {

/// The host as a device with graphs: while it captures, bodies are kept instead of run, and a
/// launch runs what was kept. What a GPU demands of captures is demanded here: no copy that waits,
/// no capture in a capture. All queues are the calling thread.
class recording_device : public host_device {
 public:
  using graph = std::vector<std::function<void()>>;

  explicit recording_device(int events)
      : host_device(events, host_options{.asynchronous = false}) {}

  template <class Body>
    requires std::invocable<Body&, host_stream>
  void enqueue(queue q, Body body) {
    if (capturing_) {
      kept_.push_back([this, q, body] { host_device::enqueue(q, body); });
    } else {
      host_device::enqueue(q, body);
    }
  }

  void upload(void* to, void const* from, std::int64_t bytes) { copy(to, from, bytes); }

  void download(void* to, void const* from, std::int64_t bytes) { copy(to, from, bytes); }

  void begin_capture() {
    if (std::exchange(capturing_, true)) {
      throw std::logic_error("a capture began inside a capture");
    }
  }

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

 private:
  void copy(void* to, void const* from, std::int64_t bytes) const {
    if (capturing_) {
      throw std::logic_error("a copy waits inside a capture");
    }
    check();
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
  }

  bool capturing_ = false;
  graph kept_;
};

static_assert(device<recording_device>);

/// Its policy.
struct Recorder {
  using policy_category = device_category;
  using device = recording_device;
};

}  // namespace zero::test

template <>
struct zero::detail::local_communicator_of<zero::test::Recorder> {
  using type = local_communicator;
};
