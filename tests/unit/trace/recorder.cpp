// SPDX-License-Identifier: Apache-2.0
#include <zero/trace/recorder.hpp>

#include "tests/laws/timeline.hpp"

#include <zero/device/host.hpp>
#include <zero/engine.hpp>

#include <boost/hana/define_struct.hpp>
#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <utility>

namespace {

struct Model {
  BOOST_HANA_DEFINE_STRUCT(Model, (std::array<zero::Tensor<float, 5000>, 3>, layers));
};

TEST_CASE("a recorder keeps what it has places for and counts the rest") {
  zero::host_device device(1);
  zero::timeline_recorder<zero::host_stream> recorder(2);
  recorder.start(device);
  auto const a = recorder.begin(device, {"a", "x", zero::queue::comm, 1, false});
  auto const b = recorder.begin(device, {"b", "", zero::queue::compute, 1, false});
  auto const c = recorder.begin(device, {"c", "", zero::queue::compute, 1, false});
  CHECK(c == -1);
  recorder.end(device, c);
  recorder.end(device, a);
  device.finish();
  CHECK(recorder.left_out() == 1);
  CHECK(b == 1);
  auto const entries = recorder.entries();  // b has no end
  REQUIRE(entries.size() == 1);
  CHECK(entries[0].name == "a");
  CHECK(entries[0].end_us >= entries[0].begin_us);
}

TEST_CASE("an engine's timeline holds its visits and operations, each in its place") {
  using Engine = zero::ZeroEngine<Model, zero::Stage<3>, zero::Precision<zero::FP32>>;
  zero::Local::run(2, [](auto communicator) {
    typename Engine::options options;
    options.schedule.residency_bytes = 0;
    Engine engine(Model{}, std::move(communicator), options);
    engine.start_timeline();
    for ([[maybe_unused]] auto micro : engine.micro_steps(1)) {
      for (int l = 0; l < 3; ++l) {
        auto const lease = engine.forward(&Model::layers, l);
      }
      for (int l = 3; l-- > 0;) {
        auto const lease = engine.backward(&Model::layers, l);
      }
    }
    engine.step();
    auto const entries = engine.stop_timeline();
    zero::laws::check_timeline(entries);
    using zero::laws::count_of;
    CHECK(count_of(entries, "forward") == 3);
    CHECK(count_of(entries, "backward") == 3);
    CHECK(count_of(entries, "gather") == 5);  // the last layer is gathered once for both phases
    CHECK(count_of(entries, "exchange") == 3);
    CHECK(count_of(entries, "sum") == 3);
    CHECK(count_of(entries, "update") == 3);
    CHECK_THROWS_AS(static_cast<void>(engine.stop_timeline()), zero::logic_error);
  });
}

}  // namespace
