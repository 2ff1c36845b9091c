// SPDX-License-Identifier: Apache-2.0
#include <zero/model/program.hpp>

#include "random_container.hpp"

#include <zero/core/error.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

namespace {

using zero::phase;
using zero::program;
using zero::program_token;
using zero::ProgramBuilder;
using zero::Tensor;

static_assert(std::is_trivially_copyable_v<program_token>);
static_assert(sizeof(program_token) == 8);
static_assert(sizeof(phase) == 1);

}  // namespace

// Containers with a program of their own: the function is found beside the container.
namespace {
namespace programs {

struct Layer {
  BOOST_HANA_DEFINE_STRUCT(Layer, (Tensor<float, 2>, weight));
};

struct Plain {
  BOOST_HANA_DEFINE_STRUCT(Plain,
                           (Layer, embed),
                           (std::vector<Layer>, blocks),
                           (std::optional<Layer>, head));
};

// The head is the embedding, used again.
struct Tied {
  BOOST_HANA_DEFINE_STRUCT(Tied, (Layer, embed), (std::vector<Layer>, blocks));
};

constexpr void zero_program(Tied const&, ProgramBuilder<Tied>& builder) {
  builder.visit(&Tied::embed);
  builder.visit(&Tied::blocks);
  builder.visit(&Tied::embed);
}

// A table that every layer reads stays open over all of them.
struct Held {
  BOOST_HANA_DEFINE_STRUCT(Held, (Layer, table), (std::vector<Layer>, blocks));
};

constexpr void zero_program(Held const&, auto& builder) {
  builder.open(&Held::table);
  builder.visit(&Held::blocks);
  builder.close(&Held::table);
}

// Recomputation: backward opens the embedding last and layers in an order of its own.
template <class T>
struct Declared {
  BOOST_HANA_DEFINE_STRUCT(Declared, (Tensor<T, 2>, frozen), (std::vector<Layer>, blocks));
};

template <class T>
constexpr void zero_program(Declared<T> const& model, ProgramBuilder<Declared<T>>& builder) {
  builder.visit_all();
  builder.backward();
  for (std::size_t i = 0; i < model.blocks.size(); ++i) {
    builder.visit(&Declared<T>::blocks, static_cast<std::int64_t>(i));
  }
}

template <class Model>
constexpr Model with_blocks(int blocks) {
  Model model{};
  for (int i = 0; i < blocks; ++i) {
    model.blocks.push_back(Layer{});
  }
  return model;
}

}  // namespace programs
}  // namespace

namespace {

using programs::Declared;
using programs::Held;
using programs::Plain;
using programs::Tied;
using programs::with_blocks;

static_assert(!zero::has_declared_program<Plain>);
static_assert(zero::has_declared_program<Tied>);
static_assert(zero::has_declared_program<Held>);
static_assert(zero::has_declared_program<Declared<float>>);
static_assert(!std::is_copy_constructible_v<ProgramBuilder<Plain>>,
              "visits of a copy would be lost");

/// A program as text: `+0` opens unit 0, `-0` closes it.
std::string text(std::vector<program_token> const& tokens) {
  std::string out;
  for (auto const& token : tokens) {
    out += (token.open ? "+" : "-") + std::to_string(token.unit) + " ";
  }
  return out;
}

bool all_of_phase(std::vector<program_token> const& tokens, phase wanted) {
  return std::ranges::all_of(tokens, [wanted](auto const& token) { return token.ph == wanted; });
}

// A program is a constant expression.
static_assert(zero::make_program(with_blocks<Plain>(256)).backward.size() == std::size_t{2} * 257);
static_assert(zero::make_program(with_blocks<Tied>(2)).forward.size() == std::size_t{2} * 4);
static_assert(zero::make_program(with_blocks<Held>(2)).forward[5] ==
              program_token{0, phase::forward, false});

/// The message of the error that `build` runs into, or "" if there is none.
template <class Model, class Build>
std::string error_of(Model const& model, Build build) {
  ProgramBuilder<Model> builder(model);
  try {
    build(builder);
    (void)builder.finish();
  } catch (zero::logic_error const& error) {
    return error.what();
  }
  return "";
}

void has(std::string const& message, std::string const& part) {
  CAPTURE(message);
  CAPTURE(part);
  CHECK(message.find(part) != std::string::npos);
}

}  // namespace

TEST_CASE("the canonical program visits the units in order, and then in reverse") {
  auto model = with_blocks<Plain>(2);
  auto const p = zero::make_program(model);
  CHECK(text(p.forward) == "+0 -0 +1 -1 +2 -2 ");
  CHECK(text(p.backward) == "+2 -2 +1 -1 +0 -0 ");
  CHECK(all_of_phase(p.forward, phase::forward));
  CHECK(all_of_phase(p.backward, phase::backward));
  model.head.emplace();
  CHECK(text(zero::make_program(model).forward) == "+0 -0 +1 -1 +2 -2 +3 -3 ");
}

TEST_CASE("a tied unit is visited twice in each phase") {
  auto const p = zero::make_program(with_blocks<Tied>(2));
  CHECK(text(p.forward) == "+0 -0 +1 -1 +2 -2 +0 -0 ");
  CHECK(text(p.backward) == "+0 -0 +2 -2 +1 -1 +0 -0 ");
}

TEST_CASE("a unit can stay open over others, and does so in the reverse too") {
  auto const p = zero::make_program(with_blocks<Held>(2));
  CHECK(text(p.forward) == "+0 +1 -1 +2 -2 -0 ");
  CHECK(text(p.backward) == "+0 +2 -2 +1 -1 -0 ");
}

TEST_CASE("leases that overlap without nesting are reversed token by token") {
  auto const model = with_blocks<Plain>(1);
  ProgramBuilder<Plain> builder(model);
  builder.open(&Plain::embed);
  builder.open(&Plain::blocks, 0);
  builder.close(&Plain::embed);
  builder.close(&Plain::blocks, 0);
  auto const p = builder.finish();
  CHECK(text(p.forward) == "+0 +1 -0 -1 ");
  CHECK(text(p.backward) == "+1 +0 -1 -0 ");
}

TEST_CASE("a declared backward phase replaces the reverse and may leave frozen units out") {
  auto model = with_blocks<Declared<float>>(2);
  model.frozen.traits.frozen = true;
  auto const p = zero::make_program(model);
  CHECK(text(p.forward) == "+0 -0 +1 -1 +2 -2 ");
  CHECK(text(p.backward) == "+1 -1 +2 -2 ");
  CHECK(all_of_phase(p.backward, phase::backward));
}

TEST_CASE("a declared backward phase may not leave out a unit with trained parameters") {
  has(
      [] {
        try {
          (void)zero::make_program(with_blocks<Declared<float>>(2));
        } catch (zero::logic_error const& error) {
          return std::string(error.what());
        }
        return std::string();
      }(),
      "in the backward phase unit frozen is never visited but has trained parameters");
}

TEST_CASE("a member without units is visited by visiting nothing") {
  Plain const model;
  ProgramBuilder<Plain> builder(model);
  builder.visit(&Plain::blocks);
  builder.visit(&Plain::head);
  builder.visit(&Plain::embed);
  CHECK(text(builder.finish().forward) == "+0 -0 ");
}

TEST_CASE("each mistake in a program names the unit") {
  auto const model = with_blocks<Plain>(3);
  using builder_type = ProgramBuilder<Plain>;
  has(error_of(model,
               [](builder_type& builder) {
                 builder.open(&Plain::blocks, 1);
                 builder.visit(&Plain::blocks);
               }),
      "in the forward phase unit blocks.1 is opened while it is open");
  has(error_of(model,
               [](builder_type& builder) {
                 builder.open(&Plain::embed);
                 builder.open(&Plain::embed);
               }),
      "unit embed is opened while it is open");
  has(error_of(model, [](builder_type& builder) { builder.close(&Plain::blocks, 2); }),
      "unit blocks.2 is closed but not open");
  has(error_of(model,
               [](builder_type& builder) {
                 builder.visit(&Plain::embed);
                 builder.visit(&Plain::blocks, 0);
                 builder.visit(&Plain::blocks, 2);
               }),
      "in the forward phase unit blocks.1 is never visited");
  has(error_of(model,
               [](builder_type& builder) {
                 builder.visit(&Plain::blocks);
                 builder.open(&Plain::embed);
               }),
      "in the forward phase unit embed is still open");
  has(error_of(model,
               [](builder_type& builder) {
                 builder.visit_all();
                 builder.backward();
                 builder.open(&Plain::blocks, 2);
                 builder.open(&Plain::blocks, 2);
               }),
      "in the backward phase unit blocks.2 is opened while it is open");
  has(error_of(model,
               [](builder_type& builder) {
                 builder.visit_all();
                 builder.backward();
                 builder.backward();
               }),
      "backward() was called twice");
  has(error_of(model, [](builder_type& builder) { builder.visit(&Plain::blocks, 3); }),
      "blocks[3] is out of range");
  has(error_of(model, [](builder_type& builder) { builder.open(&Plain::head); }),
      "head is an empty optional");
  has(error_of(model, [](builder_type& builder) { builder.backward(); }),
      "in the forward phase unit embed is never visited");
  CHECK(error_of(model, [](builder_type& builder) { builder.visit_all(); }).empty());
}

TEST_CASE("a member that the description does not list cannot be visited") {
  struct Partial {
    programs::Layer unlisted;
    BOOST_HANA_DEFINE_STRUCT(Partial, (programs::Layer, listed));
  };

  has(error_of(Partial{}, [](auto& builder) { builder.visit(&Partial::unlisted); }), "not listed");
}

TEST_CASE("random programs are accepted exactly if each unit opens and closes in turn") {
  std::mt19937 random(5);
  int accepted = 0;
  int refused = 0;
  for (int round = 0; round < 2000; ++round) {
    CAPTURE(round);
    auto const model = with_blocks<Plain>(static_cast<int>(random() % 3));
    auto const units = static_cast<std::int32_t>(model.blocks.size()) + 1;
    ProgramBuilder<Plain> builder(model);

    // The reference: plain flags, beside the tokens that were asked for.
    std::vector<char> open(static_cast<std::size_t>(units), char{0});
    std::vector<char> seen = open;
    std::vector<program_token> tokens;
    bool legal = true;
    bool threw = false;
    auto const ask = [&](std::int32_t unit, bool opens) {
      auto& flag = open[static_cast<std::size_t>(unit)];
      legal = legal && (flag == 0) == opens;
      flag = opens ? 1 : 0;
      seen[static_cast<std::size_t>(unit)] = 1;
      tokens.push_back(program_token{unit, phase::forward, opens});
      if (unit == 0) {
        opens ? builder.open(&Plain::embed) : builder.close(&Plain::embed);
      } else {
        opens ? builder.open(&Plain::blocks, unit - 1) : builder.close(&Plain::blocks, unit - 1);
      }
    };
    program built;
    try {
      auto const steps = random() % 12;
      for (std::uint32_t i = 0; i < steps; ++i) {
        auto const unit = static_cast<std::int32_t>(random() % static_cast<std::uint32_t>(units));
        // Mostly legal steps, so that both outcomes are common.
        bool const is_open = open[static_cast<std::size_t>(unit)] != 0;
        ask(unit, random() % 16 == 0 ? is_open : !is_open);
      }
      for (std::int32_t unit = 0; unit < units; ++unit) {
        if (open[static_cast<std::size_t>(unit)] != 0 && random() % 8 != 0) {
          ask(unit, false);
        }
        if (seen[static_cast<std::size_t>(unit)] == 0 && random() % 8 != 0) {
          ask(unit, true);
          ask(unit, false);
        }
      }
      for (std::size_t unit = 0; unit < open.size(); ++unit) {
        legal = legal && open[unit] == 0 && seen[unit] == 1;
      }
      built = builder.finish();
    } catch (zero::logic_error const&) {
      threw = true;
    }
    CHECK(threw == !legal);
    ++(threw ? refused : accepted);
    if (!threw) {
      CHECK(built.forward == tokens);
      std::ranges::reverse(tokens);
      for (auto& token : tokens) {
        token.ph = phase::backward;
        token.open = !token.open;
      }
      CHECK(built.backward == tokens);
    }
  }
  CHECK(accepted > 500);
  CHECK(refused > 500);
}

TEST_CASE("the canonical program of a random container opens every unit once in each phase") {
  for (std::uint32_t seed = 0; seed < 100; ++seed) {
    zero::test::random_container const container(seed);
    auto const p = zero::make_program(container.model);
    auto const units = zero::unit_count(container.model);
    REQUIRE(p.forward.size() == 2 * static_cast<std::size_t>(units));
    REQUIRE(p.backward.size() == p.forward.size());
    ProgramBuilder<zero::test::Everything> builder(container.model);
    builder.visit_all();
    CHECK(builder.finish() == p);
  }
}
