// SPDX-License-Identifier: Apache-2.0
#include <zero/plan/digest.hpp>

#include "random_plan.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <utility>

namespace {

std::string first_difference(zero::execution_plan const& a, zero::execution_plan const& b) {
  auto const x = zero::digest_of(a);
  auto const y = zero::digest_of(b);
  for (std::size_t i = 0; i < x.parts.size(); ++i) {
    if (x.parts[i] != y.parts[i]) {
      return zero::digest_part_name(i);
    }
  }
  return "";
}

zero::test::random_case plain() {
  zero::test::random_case c;
  c.units = 2;
  for (std::int32_t u = 0; u < 2; ++u) {
    zero::parameter p;
    p.elements = 5000 + u;
    p.unit = u;
    c.parameters.push_back(p);
    zero::test::visit(c.program.forward, zero::phase::forward, u);
  }
  zero::test::visit(c.program.backward, zero::phase::backward, 1);
  zero::test::visit(c.program.backward, zero::phase::backward, 0);
  c.config.world = 3;
  c.config.stage = 2;
  return c;
}

TEST_CASE("each part has a name, and two are left for the engine") {
  auto const digest = zero::digest_of(plain().plan());
  for (std::size_t part = 0; part < digest.parts.size(); ++part) {
    CHECK(std::string(zero::digest_part_name(part)).size() > 5);
    bool const of_engine = part == zero::digest_part_of_names || part == zero::digest_part_of_step;
    CHECK((digest.parts[part] == 0) == of_engine);
  }
}

TEST_CASE("texts are hashed with their borders") {
  auto const hash = [](auto... texts) {
    zero::detail::fnv1a h;
    (h.add(std::string_view(texts)), ...);
    return h.value();
  };
  CHECK(hash("blocks.0", "qkv") == hash("blocks.0", "qkv"));
  CHECK(hash("blocks.0", "qkv") != hash("blocks.0q", "kv"));
  CHECK(hash("blocks.0", "qkv") != hash("qkv", "blocks.0"));
  CHECK(hash("") != hash());
}

TEST_CASE("equal plans have equal digests") {
  std::mt19937 random(41);
  for (int round = 0; round < 100; ++round) {
    auto const c = zero::test::draw_case(random);
    CHECK(first_difference(c.plan(), c.plan()).empty());
  }
}

TEST_CASE("the digest names the first part that differs") {
  auto const base = plain().plan();
  auto c = plain();
  c.config.stage = 1;
  CHECK(first_difference(base, c.plan()) == "the policies");
  c = plain();
  c.config.world = 2;
  CHECK(first_difference(base, c.plan()) == "the number of ranks");
  c = plain();
  c.config.schedule.piece_bytes /= 2;
  CHECK(first_difference(base, c.plan()) == "the settings of the schedule");
  c = plain();
  for (double const lr_scale : {2.0, 1 + 0x1p-52, 0x1p100}) {
    c.parameters[1].traits.lr_scale = lr_scale;
    CHECK(first_difference(base, c.plan()) == "the parameters (count, sizes, types or traits)");
  }
  c = plain();
  std::swap(c.program.backward[0], c.program.backward[2]);
  std::swap(c.program.backward[1], c.program.backward[3]);
  CHECK(first_difference(base, c.plan()) == "the program");
  auto plan = plain().plan();
  ++plan.pools.rows[0].bytes;
  CHECK(first_difference(base, plan) == "the sizes of the pools");
  plan = plain().plan();
  plan.step.operations.pop_back();
  CHECK(first_difference(base, plan) == "the schedule");
}

}  // namespace
