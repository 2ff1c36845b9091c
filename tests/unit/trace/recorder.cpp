// SPDX-License-Identifier: Apache-2.0
#include <zero/trace/recorder.hpp>

#include <zero/device/host.hpp>
#include <zero/engine.hpp>

#include <boost/hana/define_struct.hpp>
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
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
    options.residency_bytes = 0;
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
    auto count = [&](std::string const& name) {
      return std::count_if(
          entries.begin(), entries.end(), [&](auto const& e) { return e.name == name; });
    };
    CHECK(count("forward") == 3);
    CHECK(count("backward") == 3);
    CHECK(count("gather") == 5);  // the last layer is gathered once for both phases
    CHECK(count("exchange") == 3);
    CHECK(count("sum") == 3);
    CHECK(count("update") == 3);
    for (auto const& e : entries) {
      CHECK(e.end_us >= e.begin_us);
      CHECK((e.row == zero::queue::comm) ==
            (e.name == "gather" || e.name == "exchange" || e.name == "agree"));
    }
    CHECK_THROWS_AS(static_cast<void>(engine.stop_timeline()), zero::logic_error);
  });
}

}  // namespace
