// SPDX-License-Identifier: Apache-2.0
#include "tests/laws/engine_misuse.hpp"
#include "tests/support/recording_device.hpp"
#include "tests/support/stack.hpp"

#include <zero/comm/local.hpp>
#include <zero/engine.hpp>
#include <zero/policy/precision.hpp>
#include <zero/policy/stage.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

// What an engine keeps account of when steps are captured, on a host that plays a device with
// graphs. tests/engine/gpu/capture.cu has the same on a GPU, user's kernels inside.

namespace {

using zero::laws::contains;
using model = zero::test::stack::model<float>;
using Engine = zero::ZeroEngine<model,
                                zero::Stage<2>,
                                zero::Precision<zero::FP32>,
                                zero::Local,
                                zero::test::Recorder>;

model const layers = zero::test::stack::make<float>(1000);

enum class how { issued, alone, alone_twice, whole };

struct told {
  zero::StepResult result;
  std::uint64_t hash = 0;
};

/// Micro-steps whose gradients depend on the parameters and on their number; zeros where the
/// passes may be inside a graph, since what the user computes here is not recorded.
void passes(Engine& engine, std::int64_t count, bool zeros) {
  for (auto const micro : engine.micro_steps(count)) {
    model::forward(engine, [](auto&, int) {});
    model::backward(engine, [&](auto& lease, int unit) {
      if (!zeros) {
        auto& gradient = lease.grads().weight;
        for (std::int64_t i = 0; i < gradient.size(); ++i) {
          gradient[i] = lease->weight[i] * 0.5F + static_cast<float>(micro.index + unit);
        }
      }
    });
  }
}

/// Some steps of one rank, each with a learning rate of its own.
std::vector<told> train(how mode, bool zeros, int steps) {
  std::vector<told> all;
  zero::Local::run(1, [&](auto communicator) {
    typename Engine::options options;
    options.clip_norm = 3;
    options.schedule.residency_bytes = 0;
    Engine engine(layers, std::move(communicator), options);
    engine.initialize(zero::laws::initial_values);
    auto const capture = [&] {
      return engine.capture([&] {
        if (mode == how::whole) {
          passes(engine, 2, zeros);
        }
        CHECK(engine.completed_steps() == static_cast<std::int64_t>(all.size()));
        engine.step();
      });
    };
    std::optional<decltype(capture())> captured;
    std::optional<decltype(capture())> later;
    for (int step = 0; step < steps; ++step) {
      if (mode != how::issued && step == 1) {
        captured.emplace(capture());
        CHECK(captured->micro_steps == (mode == how::whole ? 2 : 0));
      }
      if (mode == how::alone_twice && step == 3) {
        later.emplace(capture());
      }
      if (!captured || mode != how::whole) {
        // The number of micro-steps is the replay's where the step was captured alone.
        passes(engine, mode == how::whole || zeros ? 2 : 1 + step % 3, zeros);
      }
      zero::step_options const numbers{.lr = 0.01 / (1 + step)};
      if (!captured) {
        engine.step(numbers);
      } else {
        engine.replay(later && step % 2 == 0 ? *later : *captured, numbers);
      }
      all.push_back({engine.result(), engine.parameters_hash()});
      CHECK(engine.completed_steps() == step + 1);
    }
    if (mode == how::whole) {
      // After a replay the engine is as after a step: evaluation and issued steps go on.
      engine.evaluation().follow();
      passes(engine, 1, zeros);
      engine.step();
      CHECK(engine.result().step == steps + 1);
    }
  });
  return all;
}

void check_equal(std::vector<told> const& a, std::vector<told> const& b) {
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    CAPTURE(i);
    CHECK(a[i].hash == b[i].hash);
    CHECK(a[i].result.step == static_cast<std::int64_t>(i) + 1);
    CHECK(b[i].result.step == a[i].result.step);
    CHECK(b[i].result.norm == a[i].result.norm);
    CHECK(b[i].result.clip_factor == a[i].result.clip_factor);
    CHECK((i == 0 || a[i].hash != a[i - 1].hash));
  }
}

TEST_CASE("a step captured alone takes its numbers and its micro-steps from each replay") {
  check_equal(train(how::issued, false, 6), train(how::alone, false, 6));
}

TEST_CASE("two captured steps, replayed in turn, each tell their own result") {
  check_equal(train(how::issued, false, 9), train(how::alone_twice, false, 9));
}

TEST_CASE("a step captured with its micro-steps counts them itself") {
  check_equal(train(how::issued, true, 5), train(how::whole, true, 5));
}

/// What one rank throws, after a good step, and that its engine is unusable then.
std::string mistake(std::function<void(Engine&)> const& act) {
  std::string message = "nothing was thrown";
  zero::Local::run(1, [&](auto communicator) {
    Engine engine(layers, std::move(communicator));
    passes(engine, 1, true);
    engine.step();
    try {
      act(engine);
    } catch (std::exception const& error) {
      message = error.what();
    }
    CHECK(engine.failed());
    CHECK(engine.completed_steps() == 1);
    CHECK_THROWS(static_cast<void>(engine.result()));
  });
  return message;
}

TEST_CASE("wrong captures and replays say what is wrong") {
  auto const whole = [](Engine& engine) {
    return engine.capture([&] {
      passes(engine, 1, true);
      engine.step();
    });
  };
  auto const alone = [](Engine& engine) { return engine.capture([&] { engine.step(); }); };
  CHECK(contains(mistake([](Engine& e) { static_cast<void>(e.capture([] {})); }),
                 "a capture holds exactly one step"));
  CHECK(contains(
      mistake([](Engine& e) { static_cast<void>(e.capture([&] { passes(e, 1, true); })); }),
      "a capture holds exactly one step"));
  CHECK(contains(mistake([](Engine& e) {
                   static_cast<void>(e.capture([&] {
                     passes(e, 1, true);
                     e.step();
                     passes(e, 1, true);
                     e.step();
                   }));
                 }),
                 "a capture holds exactly one step"));
  CHECK(contains(mistake([](Engine& e) {
                   static_cast<void>(e.capture([&] {
                     passes(e, 1, true);
                     e.step();
                     e.step();
                   }));
                 }),
                 "step was called before any micro-step"));
  CHECK(contains(mistake([](Engine& e) {
                   passes(e, 1, true);
                   static_cast<void>(e.capture([&] {
                     passes(e, 1, true);
                     e.step();
                   }));
                 }),
                 "a second loop over micro-steps began before step"));
  CHECK(contains(mistake([&](Engine& e) {
                   for ([[maybe_unused]] auto const micro : e.micro_steps()) {
                     static_cast<void>(alone(e));
                   }
                 }),
                 "capture was called inside the loop over the micro-steps"));
  CHECK(contains(mistake([&](Engine& e) {
                   auto const pass = e.evaluation();
                   static_cast<void>(alone(e));
                 }),
                 "capture was called inside a pass"));
  CHECK(contains(mistake([](Engine& e) {
                   static_cast<void>(e.capture([] { throw std::runtime_error("the user's own"); }));
                 }),
                 "the user's own"));
  CHECK(contains(mistake([&](Engine& e) { e.replay(alone(e)); }),
                 "a step alone was replayed before any micro-step"));
  CHECK(contains(mistake([&](Engine& e) {
                   auto const captured = whole(e);
                   passes(e, 1, true);
                   e.replay(captured);
                 }),
                 "micro-steps with their step were replayed after a loop"));
  CHECK(contains(mistake([&](Engine& e) {
                   auto const captured = whole(e);
                   for ([[maybe_unused]] auto const micro : e.micro_steps()) {
                     e.replay(captured);
                   }
                 }),
                 "replay was called inside the loop over the micro-steps"));
}

TEST_CASE("what waits, captures or replays has no place inside a capture") {
  auto const inside = [](std::function<void(Engine&)> const& act) {
    return mistake([&](Engine& e) {
      static_cast<void>(e.capture([&] {
        passes(e, 1, true);
        e.step();
        act(e);
      }));
    });
  };
  auto const values = [](auto const&...) {};
  std::vector<std::function<void(Engine&)>> const waiting{
      [](Engine& e) { static_cast<void>(e.result()); },
      [](Engine& e) { static_cast<void>(e.mean(1)); },
      [&](Engine& e) { e.full(values); },
      [&](Engine& e) { e.set_full(values); },
      [&](Engine& e) { e.initialize(values); },
      [](Engine& e) { static_cast<void>(e.parameters_hash()); },
      [](Engine& e) { static_cast<void>(e.replica_hash()); },
      [](Engine& e) { e.start_timeline(); }};
  for (std::size_t i = 0; i < waiting.size(); ++i) {
    CAPTURE(i);
    CHECK(contains(inside(waiting[i]), "a call that waits was made inside a capture"));
  }
  CHECK(contains(inside([](Engine& e) { static_cast<void>(e.capture([] {})); }),
                 "capture was called inside a capture"));
  CHECK(contains(mistake([](Engine& e) {
                   auto const captured = e.capture([&] {
                     passes(e, 1, true);
                     e.step();
                   });
                   static_cast<void>(e.capture([&] { e.replay(captured); }));
                 }),
                 "replay was called inside a capture"));
}

}  // namespace
