// SPDX-License-Identifier: Apache-2.0
#include <zero/device/abilities.hpp>

#include "tests/laws/device_abilities.hpp"
#include "tests/support/host_lab.hpp"
#include "tests/support/recording_device.hpp"

#include <zero/device/host.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>

namespace {

using zero::host_device;
using zero::host_stream;
using zero::test::recording_device;

static_assert(!zero::separate_memory_device<host_device>);
static_assert(!zero::stream_ordering_device<host_device>);
static_assert(!zero::graph_device<host_device>);
static_assert(zero::delayable_device<host_device>);
static_assert(zero::timeline_device<host_device>);
static_assert(!zero::numbered_device<host_device>);
static_assert(zero::separate_memory_device<recording_device>);
static_assert(zero::graph_device<recording_device>);

// The abilities presuppose a device.
struct no_device {
  using stream_type = host_stream;

  void upload(void*, void const*, std::int64_t) {}

  void download(void*, void const*, std::int64_t) {}

  [[nodiscard]] int ordinal() const { return 0; }
};

static_assert(!zero::separate_memory_device<no_device>);
static_assert(!zero::numbered_device<no_device>);
static_assert(!zero::timeline_device<no_device>);

// Each lacks one thing.
struct upload_alone : host_device {
  void upload(void*, void const*, std::int64_t) {}
};

struct include_alone : host_device {
  void include(host_stream) {}
};

struct ordered : include_alone {
  void make_wait(host_stream) {}
};

struct abandon_that_throws : recording_device {
  void abandon_capture() {}
};

struct launch_of_another_graph : recording_device {
  void launch(int) {}
};

struct delay_of_the_queue_alone : host_device {
  void set_delay(std::function<void(zero::queue)> const&) {}
};

struct ordinal_that_changes : host_device {
  [[nodiscard]] int ordinal() { return 0; }
};

struct silent_stream {};

static_assert(!zero::separate_memory_device<upload_alone>);
static_assert(!zero::stream_ordering_device<include_alone>);
static_assert(zero::stream_ordering_device<ordered>);
static_assert(zero::stream_ordering_device<ordered, host_stream>);
static_assert(!zero::stream_ordering_device<ordered, void*>);
static_assert(!zero::graph_device<abandon_that_throws>);
static_assert(!zero::graph_device<launch_of_another_graph>);
static_assert(!zero::delayable_device<delay_of_the_queue_alone>);
static_assert(!zero::numbered_device<ordinal_that_changes>);
static_assert(!zero::timed_stream<silent_stream>);

TEST_CASE("a host device obeys the laws of delays") {
  for (bool const asynchronous : {false, true}) {
    zero::test::host_lab lab{{.asynchronous = asynchronous}};
    zero::laws::delay_laws(lab);
  }
}

struct recording_lab {
  [[nodiscard]] static std::unique_ptr<recording_device> make(int events) {
    return std::make_unique<recording_device>(events);
  }

  [[nodiscard]] static auto slow() { return zero::test::host_lab{}.slow(); }

  static void write(recording_device&, void* to, void const* from, std::int64_t bytes) {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
  }

  static void read(recording_device&, void* to, void const* from, std::int64_t bytes) {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
  }
};

TEST_CASE("a device that records obeys the laws of graphs and of separate memory") {
  recording_lab lab;
  zero::laws::graph_laws(lab);
  zero::laws::separate_memory_laws(lab);
}

}  // namespace
