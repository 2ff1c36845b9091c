// SPDX-License-Identifier: Apache-2.0
#include "tests/laws/device.hpp"
#include "tests/laws/device_abilities.hpp"
#include "tests/laws/engine_bits.hpp"
#include "tests/laws/kernels.hpp"
#include "tests/laws/timeline.hpp"
#include "tests/support/far_device.hpp"
#include "tests/support/host_memory.hpp"
#include "tests/support/host_platform.hpp"
#include "tests/support/inline_device.hpp"
#include "tests/support/mailbox.hpp"
#include "tests/support/own_platform.hpp"
#include "tests/support/zoo.hpp"

#include <zero/comm/local.hpp>
#include <zero/core/dtype.hpp>
#include <zero/core/error.hpp>
#include <zero/device/abilities.hpp>
#include <zero/engine.hpp>
#include <zero/policy/policy_set.hpp>
#include <zero/policy/stage.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

// Devices that are none of the library's, from the documents of the concepts alone: one in the
// memory of the host with kernels of its own, and one whose memory the host cannot touch.

namespace {

using zero::test::Far;
using zero::test::far_device;
using zero::test::Inline;
using zero::test::inline_device;
using zero::test::Mailbox;
using zero::test::own_platform;

using host = zero::test::host_platform;
using model = zero::test::zoo::model<zero::bf16>;

model const zoo = zero::test::zoo::make<zero::bf16>();

static_assert(zero::valid_policies<zero::Stage<3>, Inline>);
static_assert(zero::valid_policies<zero::Stage<3>, Far, Mailbox>);
static_assert(!zero::separate_memory_device<inline_device>);
static_assert(!zero::stream_ordering_device<inline_device>);
static_assert(!zero::graph_device<inline_device>);
static_assert(!zero::delayable_device<inline_device>);
static_assert(!zero::numbered_device<inline_device>);

// [lab]
struct inline_lab {
  std::unique_ptr<inline_device> make(int events) {
    return std::make_unique<inline_device>(events);
  }

  auto slow() {
    return [](auto) { std::this_thread::sleep_for(std::chrono::microseconds(100)); };
  }

  void write(inline_device&, void* to, void const* from, std::int64_t bytes) {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
  }

  void read(inline_device&, void* to, void const* from, std::int64_t bytes) {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
  }
};

TEST_CASE("a device of one's own obeys the laws of devices") {
  inline_lab lab;
  zero::laws::device_laws(lab);
}

// [lab]
struct far_lab {
  std::unique_ptr<far_device> make(int events) { return std::make_unique<far_device>(events); }

  auto slow() { return inline_lab().slow(); }

  // Of a device that has failed as well: not its own members.
  void write(far_device&, void* to, void const* from, std::int64_t bytes) {
    zero::test::far_kernels::copy({}, to, from, bytes);
  }

  void read(far_device&, void* to, void const* from, std::int64_t bytes) {
    zero::test::far_kernels::copy({}, to, from, bytes);
  }

  [[nodiscard]] zero::test::far_stream other() const { return {}; }

  template <class Body>
  void run(far_device&, Body body) {
    body(other());
  }

  void wait_for_other(far_device&) {}
};

TEST_CASE("a device with far memory obeys the laws of devices and of all abilities") {
  far_lab lab;
  zero::laws::device_laws(lab);
  zero::laws::separate_memory_laws(lab);
  zero::laws::stream_ordering_laws(lab);
  zero::laws::graph_laws(lab);
  zero::laws::delay_laws(lab);
}

/// Memory for the laws of kernels, with the marks of far addresses.
class far_memory : public zero::test::host_memory {
 public:
  template <class T>
  T* upload(std::vector<T> const& values) {
    return static_cast<T*>(zero::test::far(host_memory::upload(values)));
  }

  template <class T>
  std::vector<T> download(T const* from, std::int64_t n) {
    return host_memory::download(zero::test::near(from), n);
  }

  [[nodiscard]] zero::test::far_stream stream() const { return {}; }
};

TEST_CASE("kernels of one's own obey the laws of kernels") {
  SUBCASE("in the memory of the host") {
    zero::test::host_memory memory;
    zero::laws::minimal_kernel_laws<zero::test::counted_kernels>(memory);
  }
  SUBCASE("in far memory") {
    far_memory memory;
    zero::laws::minimal_kernel_laws<zero::test::far_kernels>(memory);
  }
}

template <class Platform>
void trains_as_the_host(bool delays) {
  for (int const ranks : {2, 3}) {
    zero::laws::training_job job = zero::laws::clipped_job(ranks, 2);
    job.poison = true;
    for (job.stage = 0; job.stage < 4; ++job.stage) {
      CAPTURE(ranks);
      CAPTURE(job.stage);
      job.delays = false;
      auto const expected = zero::laws::train_stage<host>(job, zoo);
      job.delays = delays;
      auto const outcome = zero::laws::train_stage<Platform>(job, zoo);
      zero::laws::check_clipped(outcome);
      CHECK(outcome == expected);
    }
  }
}

TEST_CASE("a device of one's own with local ranks gives the bits of the host") {
  auto const sums = zero::test::counted_kernels::sums.load();
  auto const updates = zero::test::counted_kernels::updates.load();
  trains_as_the_host<own_platform<Inline, zero::Local>>(false);
  CHECK(zero::test::counted_kernels::sums > sums);
  CHECK(zero::test::counted_kernels::updates > updates);
}

TEST_CASE(
    "a device with far memory gives the bits of the host; no address of it is looked behind") {
  trains_as_the_host<own_platform<Far, Mailbox>>(true);
}

template <class DevicePolicy, class Body>
void on_one_rank(Body body) {
  using platform = own_platform<DevicePolicy, Mailbox>;
  using engine_type = zero::laws::engine_on<platform, model, zero::Stage<2>>;
  platform::run(1, [&](auto communicator) {
    body(std::type_identity<engine_type>{}, std::move(communicator));
  });
}

TEST_CASE("a delay on a device that cannot delay is refused by a sentence") {
  on_one_rank<Inline>([]<class Engine>(std::type_identity<Engine>, auto communicator) {
    typename Engine::options options;
    options.stress.delay = zero::test::random_delay;
    CHECK_THROWS_WITH_AS(Engine(zoo, std::move(communicator), options),
                         "zero::ZeroEngine: stress.delay needs a device that can delay its bodies, "
                         "see zero::delayable_device; leave it null on this one",
                         zero::logic_error);
  });
}

TEST_CASE("pools lie where the device says, and are counted by it") {
  on_one_rank<Inline>([]<class Engine>(std::type_identity<Engine>, auto communicator) {
    Engine const engine(zoo, std::move(communicator));
    CHECK(std::string(engine.pools().front().tier) == "host");
  });
  on_one_rank<Far>([]<class Engine>(std::type_identity<Engine>, auto communicator) {
    Engine const engine(zoo, std::move(communicator));
    CHECK(std::string(engine.pools().front().tier) == "device");
  });
}

template <class Engine>
void train(Engine& engine, std::int64_t micro_steps) {
  zero::laws::training_job job;
  job.micro_steps = micro_steps;
  job.evaluate = false;
  zero::test::training_rank<own_platform<Far, Mailbox>, Engine> loop(engine, job);
  loop.step(0);
}

TEST_CASE("the engine uses the abilities that a device has: timelines, graphs, streams") {
  on_one_rank<Far>([]<class Engine>(std::type_identity<Engine>, auto communicator) {
    Engine engine(zoo, std::move(communicator), {}, 5);  // the device's own argument
    engine.initialize(zero::laws::initial_values);
    engine.start_timeline();
    train(engine, 2);
    auto const entries = engine.stop_timeline();
    CHECK(zero::laws::count_of(entries, "update") > 0);

    int visits = 0;
    far_device::included = far_device::waited_for = 0;
    for (auto const micro : engine.micro_steps(1)) {
      static_cast<void>(micro);
      model::forward(engine, [](auto&, int) {});
      model::backward(engine, [&](auto& lease, int) {
        lease.used_on(zero::test::far_stream{});
        ++visits;
      });
    }
    engine.step();
    engine.join(zero::test::far_stream{});
    CHECK(far_device::included == visits);
    CHECK(far_device::waited_for == 1);
    auto const passes = [&] {
      for (auto const micro : engine.micro_steps(1)) {
        static_cast<void>(micro);
        model::forward(engine, [](auto&, int) {});
        model::backward(engine, [](auto& lease, int) { lease.grads(); });
      }
    };
    auto const captured = engine.capture([&] {
      passes();
      engine.step();
    });
    auto const steps = engine.result().step;
    engine.replay(captured);
    CHECK(engine.result().step == steps + 1);
    CHECK(engine.result().applied);
  });
}

TEST_CASE("after a failure a device with far memory still says which step is behind it") {
  on_one_rank<Far>([]<class Engine>(std::type_identity<Engine>, auto communicator) {
    Engine engine(zoo, std::move(communicator));
    engine.initialize(zero::laws::initial_values);
    train(engine, 1);
    CHECK_THROWS_AS(engine.step(), zero::logic_error);  // before any micro-step
    CHECK(engine.failed());
    CHECK(engine.completed_steps() == 1);
  });
}

}  // namespace
