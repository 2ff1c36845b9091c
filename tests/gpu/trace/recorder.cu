// SPDX-License-Identifier: Apache-2.0
#include <zero/trace/recorder.hpp>

#include "tests/laws/timeline.hpp"
#include "tests/support/gpu_platform.cuh"

#include <zero/engine.hpp>

#include <boost/hana/define_struct.hpp>
#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <utility>

namespace {

using platform = zero::test::local_gpu_platform;

struct Model {
  BOOST_HANA_DEFINE_STRUCT(Model, (std::array<zero::Tensor<float, 500'000>, 3>, layers));
};

template <class Engine>
void train(Engine& engine, std::int64_t micro_steps) {
  for ([[maybe_unused]] auto micro : engine.micro_steps(micro_steps)) {
    for (int l = 0; l < 3; ++l) {
      auto const lease = engine.forward(&Model::layers, l);
    }
    for (int l = 3; l-- > 0;) {
      auto const lease = engine.backward(&Model::layers, l);
    }
  }
  engine.step();
}

TEST_CASE("a timeline of a GPU has its rows, in the order of time, with every operation") {
  using Engine = zero::ZeroEngine<Model, zero::Stage<3>, zero::Precision<zero::FP32>, zero::Cuda>;
  platform::run(2, [](auto communicator) {
    typename Engine::options options;
    options.schedule.residency_bytes = 0;
    auto engine = platform::make<Engine>(Model{}, std::move(communicator), options);
    train(engine, 1);
    engine.start_timeline();
    train(engine, 2);
    train(engine, 2);
    auto const entries = engine.stop_timeline();
    zero::laws::check_timeline(entries);
    // Two steps of two micro-steps over three layers; the last is gathered once for both phases.
    using zero::laws::count_of;
    CHECK(count_of(entries, "forward") == 2 * 2 * 3);
    CHECK(count_of(entries, "backward") == 2 * 2 * 3);
    CHECK(count_of(entries, "gather") == 2 * 2 * 5);
    CHECK(count_of(entries, "exchange") == 2 * 2 * 3);
    CHECK(count_of(entries, "update") == 2 * 3);
    for (auto const& entry : entries) {
      CHECK(entry.step >= 2);
      CHECK(entry.step <= 3);
      // Work takes time: half a million elements a layer are not moved in no time.
      CHECK((entry.name != "gather" || entry.end_us > entry.begin_us));
    }
    train(engine, 1);  // nobody records any more
  });
}

}  // namespace
