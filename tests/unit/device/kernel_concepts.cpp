// SPDX-License-Identifier: Apache-2.0
#include <zero/device/kernel_concepts.hpp>

#include <zero/device/host_kernels.hpp>
#include <zero/device/host_stream.hpp>
#include <zero/optim/adamw.hpp>
#include <zero/optim/lion.hpp>
#include <zero/optim/sgd.hpp>

#include <doctest/doctest.h>

#include <cstdint>

namespace {

using zero::AdamW;
using zero::bf16;
using zero::fp16;
using zero::host_kernels;
using zero::host_stream;

template <class K>
concept whole = zero::kernels_of<K, host_stream, AdamW, bf16, float>;

static_assert(whole<host_kernels>);
static_assert(zero::kernels_of<host_kernels, host_stream, zero::Lion, fp16, fp16>);
static_assert(zero::kernels_of<host_kernels, host_stream, zero::PlainSgd, float, float>);
static_assert(!zero::kernels_of<host_kernels, void*, AdamW, bf16, float>, "another stream");
static_assert(!zero::kernels_of<host_kernels, host_stream, int, bf16, float>, "no optimizer");
static_assert(!zero::kernels_of<host_kernels, host_stream, AdamW, int, float>, "no element");
static_assert(!whole<int>);

struct parts {};

static_assert(!zero::preloading_kernels<host_kernels, AdamW, bf16, float>);
static_assert(!zero::peer_summing_kernels<host_kernels, host_stream, parts, bf16, float>);

// The host's kernels, each time without one of them.
struct without_fill : host_kernels {
  static void fill() {}
};

struct without_copy : host_kernels {
  static void copy() {}
};

struct without_accumulate : host_kernels {
  static void accumulate() {}
};

struct without_sum : host_kernels {
  static void sum() {}
};

struct without_squares : host_kernels {
  static void squares() {}
};

struct without_reduce_partials : host_kernels {
  static void reduce_partials() {}
};

struct without_set_control : host_kernels {
  static void set_control() {}
};

struct without_decide : host_kernels {
  static void decide() {}
};

struct without_update : host_kernels {
  static void update() {}
};

struct without_widen : host_kernels {
  static void widen() {}
};

static_assert(!whole<without_fill>);
static_assert(!whole<without_copy>);
static_assert(!whole<without_accumulate>);
static_assert(!whole<without_sum>);
static_assert(!whole<without_squares>);
static_assert(!whole<without_reduce_partials>);
static_assert(!whole<without_set_control>);
static_assert(!whole<without_decide>);
static_assert(!whole<without_update>);
static_assert(!whole<without_widen>);

// What no engine launches need not be there.
struct without_the_rest : host_kernels {
  static void zero() {}

  static void cast() {}

  static void partials_scratch() {}
};

static_assert(whole<without_the_rest>);

// Kernels of one type do not do for parameters of another; FP32 ones may stand beside any.
struct of_floats : host_kernels {
  template <zero::optimizer O, class P, class A>
  static void update(host_stream,
                     zero::update_arguments<float, float> const&,
                     zero::step_state<O> const*) {}
};

static_assert(zero::kernels_of<of_floats, host_stream, AdamW, float, float>);
static_assert(!whole<of_floats>);

struct loaded : host_kernels {
  template <zero::optimizer O, zero::element P, zero::element A>
  static void preload() {}

  template <zero::element W, zero::element A>
  static void sum_of_peers(host_stream, parts const&, A*, std::int64_t, bool, double*) {}

  template <zero::element P, zero::element A>
  static void preload_sums_of_peers() {}
};

static_assert(zero::preloading_kernels<loaded, AdamW, bf16, float>);
static_assert(zero::peer_summing_kernels<loaded, host_stream, parts, bf16, float>);
static_assert(!zero::peer_summing_kernels<loaded, host_stream, int, bf16, float>);

TEST_CASE("what models the concept is what host_kernels has, one function the less and it is not") {
  CHECK(whole<host_kernels>);
  CHECK_FALSE(whole<without_sum>);
}

}  // namespace
