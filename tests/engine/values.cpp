// SPDX-License-Identifier: Apache-2.0
#include "tests/laws/engine_values.hpp"
#include "tests/support/host_platform.hpp"
#include "tests/support/stack.hpp"
#include "tests/support/zoo.hpp"

#include <zero/core/dtype.hpp>
#include <zero/optim/sgd.hpp>
#include <zero/policy/precision.hpp>
#include <zero/policy/stage.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <utility>

namespace {

using platform = zero::test::host_platform;
using model = zero::test::zoo::model<zero::bf16>;
using stack = zero::test::stack::model<zero::bf16>;

template <class Model, int Stage>
using engine = zero::laws::engine_on<platform, Model, zero::Stage<Stage>>;

model const zoo = zero::test::zoo::make<zero::bf16>();

TEST_CASE("initial values depend on neither ranks, stage nor residency") {
  zero::laws::initialize_law<platform>(zoo);
}

TEST_CASE("whole parameters go from any stage and ranks to any other") {
  zero::laws::round_trip_law<platform, engine<model, 3>, engine<model, 0>>(zoo, 3, 2);
  zero::laws::round_trip_law<platform, engine<model, 2>, engine<model, 3>>(zoo, 2, 5);
  zero::laws::round_trip_law<platform, engine<model, 1>, engine<model, 2>>(zoo, 4, 1);
  zero::laws::round_trip_law<platform, engine<model, 0>, engine<model, 1>>(zoo, 1, 3);
}

TEST_CASE("parameters larger than the window come in parts") {
  auto const large = zero::test::stack::make<zero::bf16>(200'000);
  zero::laws::round_trip_law<platform, engine<stack, 3>, engine<stack, 2>>(large, 3, 2);
}

TEST_CASE("writing values keeps the optimizer's state, initialize starts anew") {
  zero::laws::state_law<platform, engine<model, 0>>(zoo, 2);
  zero::laws::state_law<platform, engine<model, 2>>(zoo, 3);
  zero::laws::state_law<platform, engine<model, 3>>(zoo, 3);
}

TEST_CASE("a training goes on in another engine as if it had not stopped") {
  using fp16_model = zero::test::zoo::model<zero::fp16>;
  auto const small = zero::test::zoo::make<zero::fp16>();
  using plain = zero::PlainSgd;
  using fp16 = zero::Precision<zero::FP16>;
  zero::laws::resume_law<platform,
                         zero::laws::engine_on<platform, fp16_model, zero::Stage<3>, fp16, plain>,
                         zero::laws::engine_on<platform, fp16_model, zero::Stage<1>, fp16, plain>>(
      small, 3);
  zero::laws::resume_law<platform,
                         zero::laws::engine_on<platform, model, zero::Stage<0>, plain>,
                         zero::laws::engine_on<platform, model, zero::Stage<2>, plain>>(zoo, 2);
}

TEST_CASE("empty visits are gradients of zero") {
  auto const layers = zero::test::stack::make<zero::bf16>(1000);
  zero::laws::empty_visits_law<platform, engine<stack, 0>>(layers);
  zero::laws::empty_visits_law<platform, engine<stack, 1>>(layers);
  zero::laws::empty_visits_law<platform, engine<stack, 2>>(layers);
  zero::laws::empty_visits_law<platform, engine<stack, 3>>(layers);
}

TEST_CASE("several engines live in one process, each with a communicator of its own") {
  platform::run(2, [&](auto communicator) {
    zero::laws::training_job job;
    job.ranks = 2;
    auto other = communicator.duplicate();
    engine<model, 2> first(
        zoo, std::move(communicator), zero::laws::options_of<engine<model, 2>>(job));
    engine<model, 3> second(zoo, std::move(other), zero::laws::options_of<engine<model, 3>>(job));
    first.initialize(zero::laws::initial_values);
    second.initialize(zero::laws::initial_values);
    zero::test::training_rank<platform, engine<model, 2>> first_loop(first, job);
    zero::test::training_rank<platform, engine<model, 3>> second_loop(second, job);
    for (int step = 0; step < 3; ++step) {
      first_loop.step(step);
      second_loop.step(step);
    }
    CHECK(first.parameters_hash() == second.parameters_hash());
  });
}

TEST_CASE("an engine can be moved between steps") {
  platform::run(2, [&](auto communicator) {
    zero::laws::training_job job;
    job.ranks = 2;
    using type = engine<model, 3>;
    type first(zoo, std::move(communicator), zero::laws::options_of<type>(job));
    first.initialize(zero::laws::initial_values);
    zero::test::training_rank<platform, type>(first, job).step(0);
    type second = std::move(first);
    zero::test::training_rank<platform, type>(second, job).step(1);
    CHECK(second.result().step == 2);
    CHECK(second.size() == 2);
  });
}

}  // namespace
