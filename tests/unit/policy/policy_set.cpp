// SPDX-License-Identifier: Apache-2.0
#include <zero/policy/policy_set.hpp>

#include <zero/comm/local.hpp>
#include <zero/device/host.hpp>
#include <zero/optim/adamw.hpp>
#include <zero/optim/lion.hpp>
#include <zero/optim/sgd.hpp>
#include <zero/policy/policy_list.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

namespace {

struct Model;  // an engine can be named before its container is defined

struct Parts {
  int head;
};

using zero::Accumulate;
using zero::For;
using zero::Offload;
using zero::PerUnit;
using zero::Precision;
using zero::Reduction;
using zero::Stage;
using zero::ZeroEngine;

using defaults = zero::basic_zero_engine<Model,
                                         zero::policy_list<Stage<0>,
                                                           PerUnit<>,
                                                           Offload<zero::None>,
                                                           Precision<zero::BF16>,
                                                           Accumulate<zero::FP32>,
                                                           Reduction<zero::Ordered>,
                                                           zero::AdamW,
                                                           zero::Local,
                                                           zero::Host>>;

using others = zero::basic_zero_engine<Model,
                                       zero::policy_list<Stage<3>,
                                                         PerUnit<For<&Parts::head, Stage<2>>>,
                                                         Offload<zero::None>,
                                                         Precision<zero::FP16>,
                                                         Accumulate<zero::Native>,
                                                         Reduction<zero::Native>,
                                                         zero::Lion,
                                                         zero::Local,
                                                         zero::Host>>;

// Each default, said and not said, is the same engine.
static_assert(std::is_same_v<ZeroEngine<Model>, defaults>);
static_assert(std::is_same_v<ZeroEngine<Model, Stage<0>>, defaults>);
static_assert(std::is_same_v<ZeroEngine<Model, PerUnit<>>, defaults>);
static_assert(std::is_same_v<ZeroEngine<Model, Offload<zero::None>>, defaults>);
static_assert(std::is_same_v<ZeroEngine<Model, Precision<zero::BF16>>, defaults>);
static_assert(std::is_same_v<ZeroEngine<Model, Accumulate<zero::FP32>>, defaults>);
static_assert(std::is_same_v<ZeroEngine<Model, Reduction<zero::Ordered>>, defaults>);
static_assert(std::is_same_v<ZeroEngine<Model, zero::AdamW>, defaults>);
static_assert(std::is_same_v<ZeroEngine<Model, zero::Local>, defaults>);
static_assert(std::is_same_v<ZeroEngine<Model, zero::Host>, defaults>);

// Each policy takes its own place.
static_assert(std::is_same_v<ZeroEngine<Model,
                                        zero::Lion,
                                        Reduction<zero::Native>,
                                        Accumulate<zero::Native>,
                                        Precision<zero::FP16>,
                                        PerUnit<For<&Parts::head, Stage<2>>>,
                                        Stage<3>>,
                             others>);

// Policies of the user's own join a category.
struct Mail {
  using policy_category = zero::communicator_category;
};

struct Signs {
  using policy_category = zero::optimizer_category;
  static constexpr int moments = 0;

  struct options {
    double lr = 1;
  };

  struct scalars {
    float lr;
  };
};

static_assert(std::is_same_v<ZeroEngine<Model, Signs, Mail>,
                             zero::basic_zero_engine<Model,
                                                     zero::policy_list<Stage<0>,
                                                                       PerUnit<>,
                                                                       Offload<zero::None>,
                                                                       Precision<zero::BF16>,
                                                                       Accumulate<zero::FP32>,
                                                                       Reduction<zero::Ordered>,
                                                                       Signs,
                                                                       Mail,
                                                                       zero::Host>>>);

/// The permutation of 0 ... `Size` - 1 with the given index, of `Size`!.
template <std::size_t Size>
constexpr std::array<std::size_t, Size> permutation(std::size_t index) {
  std::array<std::size_t, Size> left{};
  for (std::size_t i = 0; i < Size; ++i) {
    left[i] = i;
  }
  std::array<std::size_t, Size> order{};
  for (std::size_t i = 0; i < Size; ++i) {
    std::size_t const choices = Size - i;
    std::size_t const at = index % choices;
    index /= choices;
    order[i] = left[at];
    for (std::size_t k = at; k + 1 < choices; ++k) {
      left[k] = left[k + 1];
    }
  }
  return order;
}

template <class Policies, std::size_t Index, std::size_t... I>
consteval bool names(std::type_identity<others>, std::index_sequence<I...>) {
  constexpr auto order = permutation<sizeof...(I)>(Index);
  return std::is_same_v<ZeroEngine<Model, std::tuple_element_t<order[I], Policies>...>, others>;
}

template <class Policies, std::size_t... Indices>
consteval std::size_t orders_that_name_others(std::index_sequence<Indices...>) {
  constexpr auto size = std::make_index_sequence<std::tuple_size_v<Policies>>{};
  // No fold: clang takes one of 256 terms at most.
  std::array<bool, sizeof...(Indices)> const named{
      names<Policies, Indices>(std::type_identity<others>{}, size)...};
  return static_cast<std::size_t>(std::ranges::count(named, true));
}

struct Muon {
  using policy_category = zero::optimizer_category;
};

struct colour_category {};

struct Red {
  using policy_category = colour_category;
};

}  // namespace

TEST_CASE("all orders of one set of policies name one engine type") {
  using policies = std::tuple<Stage<3>,
                              PerUnit<For<&Parts::head, Stage<2>>>,
                              Precision<zero::FP16>,
                              Accumulate<zero::Native>,
                              Reduction<zero::Native>,
                              zero::Lion>;
  constexpr std::size_t orders = 720;  // 6!
  CHECK(orders_that_name_others<policies>(std::make_index_sequence<orders>{}) == orders);
}

TEST_CASE("any policy of a full set may come first, last or between") {
  // Every place for every policy: the rotations, and the rotations of the reverse.
  using policies = std::tuple<Stage<3>,
                              PerUnit<For<&Parts::head, Stage<2>>>,
                              Offload<zero::None>,
                              Precision<zero::FP16>,
                              Accumulate<zero::Native>,
                              Reduction<zero::Native>,
                              zero::Lion,
                              zero::Local,
                              zero::Host>;
  auto const all = []<std::size_t... R>(std::index_sequence<R...>) {
    auto const rotation = []<std::size_t By, std::size_t... I>(
                              std::integral_constant<std::size_t, By>, std::index_sequence<I...>) {
      constexpr std::size_t size = sizeof...(I);
      return std::is_same_v<ZeroEngine<Model, std::tuple_element_t<(I + By) % size, policies>...>,
                            others> &&
             std::is_same_v<
                 ZeroEngine<Model,
                            std::tuple_element_t<(2 * size - 1 - I - By) % size, policies>...>,
                 others>;
    };
    return (rotation(std::integral_constant<std::size_t, R>{}, std::make_index_sequence<9>{}) &&
            ...);
  };
  CHECK(all(std::make_index_sequence<9>{}));
}

TEST_CASE("a list of policies can be asked about without an error") {
  CHECK(zero::valid_policies<>);
  CHECK(zero::valid_policies<Stage<3>, zero::Sgd, Precision<zero::FP32>>);
  CHECK_FALSE(zero::valid_policies<Stage<3>, Stage<3>>);
  CHECK_FALSE(zero::valid_policies<zero::Sgd, zero::AdamW>);
  CHECK_FALSE(zero::valid_policies<Model>);
  CHECK_FALSE(zero::valid_policies<int>);
  CHECK_FALSE(zero::valid_policies<Stage<3> const>);
  CHECK_FALSE(zero::valid_policies<zero::FP32>);
  CHECK_FALSE(zero::valid_policies<Muon>);
  CHECK_FALSE(zero::valid_policies<Red>);
  CHECK(zero::valid_policies<Mail, Signs>);
}
