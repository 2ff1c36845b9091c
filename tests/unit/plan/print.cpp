// SPDX-License-Identifier: Apache-2.0
#include <zero/plan/print.hpp>

#include "random_plan.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <random>
#include <string>

namespace {

TEST_CASE("a printed plan names pools, units and the operations of a step") {
  zero::test::random_case c;
  c.units = 2;
  for (std::int32_t u = 0; u < 2; ++u) {
    zero::parameter p;
    p.elements = 1234567;
    p.type = zero::dtype::bf16;
    p.unit = u;
    c.parameters.push_back(p);
    zero::test::visit(c.program.forward, zero::phase::forward, u);
  }
  zero::test::visit(c.program.backward, zero::phase::backward, 1);
  zero::test::visit(c.program.backward, zero::phase::backward, 0);
  c.config.world = 2;
  c.config.stage = 3;
  auto const text = zero::to_string(c.plan(), {"embed", "head"});
  for (auto const* piece : {"stage 3, 2 ranks, 2 units",
                            "parameter_slots",
                            "embed",
                            "1 234 567 elements",
                            "open forward embed",
                            "close backward head",
                            "comm    gather",
                            "reduce  sum",
                            "collectives",
                            "compute norm",
                            "compute update"}) {
    CAPTURE(piece);
    CHECK(text.find(piece) != std::string::npos);
  }
}

TEST_CASE("a printed plan says where the parameters of a unit are that holds none itself") {
  zero::test::random_case c;
  c.units = 2;
  for (std::int32_t u = 0; u < 2; ++u) {
    zero::parameter p;
    p.elements = u == 0 ? 10 : 1234567;
    p.unit = u;
    c.parameters.push_back(p);
    zero::test::visit(c.program.forward, zero::phase::forward, u);
  }
  zero::test::visit(c.program.backward, zero::phase::backward, 1);
  zero::test::visit(c.program.backward, zero::phase::backward, 0);
  c.config.world = 2;
  c.config.stage = 3;
  auto const text = zero::to_string(c.plan(), {"norm", "head", "(resident)"});
  CHECK(text.find("nothing of its own, see (resident)") != std::string::npos);
  CHECK(text.find("frozen") == std::string::npos);
  c.parameters[0].elements = 0;
  auto const without = zero::to_string(c.plan(), {"norm", "head"});
  CHECK(without.find("nothing of its own\n") != std::string::npos);
}

TEST_CASE("a printed plan names the stages of a mix, in its head and at each unit") {
  zero::test::random_case c;
  c.units = 4;
  for (std::int32_t u = 0; u < c.units; ++u) {
    zero::parameter p;
    p.elements = 100'000;
    p.unit = u;
    c.parameters.push_back(p);
    zero::test::visit(c.program.forward, zero::phase::forward, u);
  }
  c.parameters.push_back(c.parameters.back());
  c.parameters.back().elements = 10;  // resident
  for (std::int32_t u = c.units; u-- > 0;) {
    zero::test::visit(c.program.backward, zero::phase::backward, u);
  }
  c.config.world = 2;
  c.config.stage = 3;
  c.config.unit_stages = {2, 0, -1, 1};
  auto const text =
      zero::to_string(c.plan(), {"vision", "embedding", "text", "head", "(resident parameters)"});
  CHECK(text.find("stage 3, some units in stage 0 and 1 and 2, 2 ranks, 5 units\n") == 0);
  auto const row = [&](std::string const& name, std::string const& rest) {
    auto const line = "  " + name + std::string(24 - name.size(), ' ') + rest + "\n";
    CAPTURE(line);
    CHECK(text.find(line) != std::string::npos);
  };
  row("vision", "gradients, state sharded, stage 2");
  row("embedding", "whole, stage 0");
  row("text", "parameters, gradients, state sharded, stage 3");
  row("head", "state sharded, stage 1");
  row("(resident parameters)", "gradients, state sharded, stage 3, resident");
  c.config.unit_stages.clear();
  CHECK(zero::to_string(c.plan()).find(", stage 3") == std::string::npos);
}

TEST_CASE("two plans print alike only if they are alike") {
  std::mt19937 random(71);
  for (int round = 0; round < 100; ++round) {
    auto c = zero::test::draw_case(random);
    auto const a = zero::to_string(c.plan());
    CHECK(a == zero::to_string(c.plan()));
    c.config.stage = (c.config.stage + 1) % 4;
    CHECK(a != zero::to_string(c.plan()));
  }
}

TEST_CASE("numbers are grouped in threes") {
  CHECK(zero::detail::grouped(0) == "0");
  CHECK(zero::detail::grouped(999) == "999");
  CHECK(zero::detail::grouped(1000) == "1 000");
  CHECK(zero::detail::grouped(1234567890) == "1 234 567 890");
}

}  // namespace
