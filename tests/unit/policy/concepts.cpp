// SPDX-License-Identifier: Apache-2.0
#include <zero/policy/concepts.hpp>

#include <zero/policy/device.hpp>
#include <zero/policy/stage.hpp>

#include <doctest/doctest.h>

namespace {

// The smallest model, and models with one fault each.
struct Smallest {
  using policy_category = zero::stage_category;
};

struct Stateful {
  using policy_category = zero::stage_category;
  int state = 0;
};

struct NeedsArguments {
  using policy_category = zero::stage_category;

  explicit NeedsArguments(int) {}
};

struct Uncategorised {};

struct Declared;

struct colour_category {};

struct Red {
  using policy_category = colour_category;
};

static_assert(zero::policy<Smallest>);
static_assert(!zero::policy<Stateful>);
static_assert(!zero::policy<NeedsArguments>);
static_assert(!zero::policy<Uncategorised>);
static_assert(!zero::policy<Declared>);
static_assert(!zero::policy<Smallest const>);
static_assert(!zero::policy<Smallest&>);
static_assert(!zero::policy<int>);
static_assert(!zero::policy<void>);
static_assert(!zero::policy<int()>);

static_assert(zero::policy_of<Smallest, zero::stage_category>);
static_assert(!zero::policy_of<Smallest, zero::device_category>);
static_assert(!zero::policy_of<Stateful, zero::stage_category>);
static_assert(zero::policy_of<Red, colour_category>, "categories are open");

}  // namespace

TEST_CASE("a policy takes no room in a class that derives from it") {
  struct Derived : Smallest {
    int number = 0;
  };

  CHECK(sizeof(Derived) == sizeof(int));
}
