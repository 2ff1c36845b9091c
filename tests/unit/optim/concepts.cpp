// SPDX-License-Identifier: Apache-2.0
#include <zero/optim/concepts.hpp>

#include <zero/policy/optimizer.hpp>
#include <zero/policy/stage.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <type_traits>

namespace {

// A minimal model, and models with exactly one fault.
struct minimal {
  using policy_category = zero::optimizer_category;
  static constexpr int moments = 1;

  struct options {
    double lr = 0;
  };

  struct scalars {
    float lr = 0;
  };

  static scalars prepare(options const&, double lr, double, std::int64_t) {
    return {static_cast<float>(lr)};
  }

  static void update(float& w, float g, float (&m)[1], scalars const& s) {
    m[0] = g;
    w = w - s.lr * m[0];
  }
};

struct without_moments : minimal {
  static constexpr int moments = 0;

  static void update(float& w, float g, float*, scalars const& s) { w = w - s.lr * g; }
};

struct other_category : minimal {
  using policy_category = zero::stage_category;
};

struct not_empty : minimal {
  int state = 0;
};

struct too_many_moments : minimal {
  static constexpr int moments = 3;

  static void update(float&, float, float (&)[3], scalars const&) {}
};

struct negative_moments : minimal {
  static constexpr int moments = -1;
};

struct moments_of_another_type : minimal {
  static constexpr long moments = 1;
};

struct wrong_moment_count : minimal {
  static constexpr int moments = 2;  // its update takes one
};

struct options_without_lr : minimal {
  struct options {
    double rate = 0;
  };

  static scalars prepare(options const&, double, double, std::int64_t) { return {}; }
};

struct options_with_float_lr : minimal {
  struct options {
    float lr = 0;
  };

  static scalars prepare(options const&, double, double, std::int64_t) { return {}; }
};

struct scalars_with_a_destructor : minimal {
  struct scalars {
    float lr = 0;

    ~scalars() { lr = 0; }
  };

  static scalars prepare(options const&, double, double, std::int64_t) { return {}; }

  static void update(float&, float, float (&)[1], scalars const&) {}
};

struct prepare_of_another_type : minimal {
  static float prepare(options const&, double, double, std::int64_t) { return 0; }
};

struct update_with_a_result : minimal {
  static float update(float& w, float, float (&)[1], scalars const&) { return w; }
};

struct without_update {
  using policy_category = zero::optimizer_category;
  static constexpr int moments = 1;
  using options = minimal::options;
  using scalars = minimal::scalars;

  static scalars prepare(options const&, double, double, std::int64_t) { return {}; }
};

}  // namespace

static_assert(zero::optimizer<minimal>);
static_assert(zero::optimizer<without_moments>);
static_assert(!zero::optimizer<int>);
static_assert(!zero::optimizer<other_category>);
static_assert(!zero::optimizer<not_empty>);
static_assert(!zero::optimizer<too_many_moments>);
static_assert(!zero::optimizer<negative_moments>);
static_assert(!zero::optimizer<moments_of_another_type>);
static_assert(!zero::optimizer<wrong_moment_count>);
static_assert(!zero::optimizer<options_without_lr>);
static_assert(!zero::optimizer<options_with_float_lr>);
static_assert(!zero::optimizer<scalars_with_a_destructor>);
static_assert(!zero::optimizer<prepare_of_another_type>);
static_assert(!zero::optimizer<update_with_a_result>);
static_assert(!zero::optimizer<without_update>);

static_assert(std::is_same_v<zero::moment_array<2>, float (&)[2]>);
static_assert(std::is_same_v<zero::moment_array<0>, float*>);

TEST_CASE("moments of every count pass from one kind of storage") {
  float storage[1] = {5};
  float w = 1;
  minimal::update(w, 0.5F, storage, {1});
  CHECK(w == 0.5F);
  CHECK(storage[0] == 0.5F);
  without_moments::update(w, 0.5F, storage, {1});
  CHECK(w == 0.0F);
  CHECK(storage[0] == 0.5F);
}
