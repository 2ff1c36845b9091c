// SPDX-License-Identifier: Apache-2.0
#include <zero/policy/compatible.hpp>

#include <zero/comm/local.hpp>
#include <zero/device/host.hpp>
#include <zero/optim/adamw.hpp>
#include <zero/optim/lion.hpp>
#include <zero/optim/sgd.hpp>
#include <zero/policy/accumulate.hpp>
#include <zero/policy/offload.hpp>
#include <zero/policy/per_unit.hpp>
#include <zero/policy/policy_set.hpp>
#include <zero/policy/precision.hpp>
#include <zero/policy/reduction.hpp>
#include <zero/policy/stage.hpp>
#include <zero/version.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

// Stand-ins, so that a host without CUDA and NCCL can ask about them.
namespace zero::inline ZERO_ABI {

struct Nccl {
  using policy_category = communicator_category;
};

struct Cuda {
  using policy_category = device_category;
};

}  // namespace zero::inline ZERO_ABI

namespace {

struct Parts {
  int head;
};

// A program's own communicator, which one of its own devices does not suit.
struct Mail {
  using policy_category = zero::communicator_category;
};

struct Abacus {
  using policy_category = zero::device_category;
};

static_assert(zero::compatible_v<Mail, Abacus>,
              "communicators serve every device, unless they say");

// The expectation, written by hand: a row and a column a policy, '.' allowed, 'x' refused.
constexpr std::array<std::string_view, 22> expected = {
    "xxxx.x................",  // Stage<0>
    "xxxx.x................",  // Stage<1>
    "xxxx.x................",  // Stage<2>
    "xxxx.x................",  // Stage<3>
    "....xx................",  // PerUnit<For<&Parts::head, Stage<1>>>
    "xxxxxx................",  // PerUnit<Default<Stage<2>>>
    "......x...............",  // Offload<None>
    ".......xxx............",  // Precision<FP32>
    ".......xxx............",  // Precision<BF16>
    ".......xxx............",  // Precision<FP16>
    "..........xx..........",  // Accumulate<FP32>
    "..........xx..........",  // Accumulate<Native>
    "............xx........",  // Reduction<Ordered>
    "............xx........",  // Reduction<Native>
    "..............xxxx....",  // AdamW
    "..............xxxx....",  // Sgd
    "..............xxxx....",  // PlainSgd
    "..............xxxx....",  // Lion
    "..................xx..",  // Local
    "..................xxx.",  // Nccl
    "...................xxx",  // Host
    "....................xx",  // Cuda
};

constexpr std::size_t nccl = 19;
constexpr std::size_t cuda = 21;

template <class... Policies>
struct table {
  template <class Row>
  static std::string compatible() {
    return {(zero::compatible_v<Row, Policies> ? '.' : 'x')...};
  }

  template <class Row>
  static std::string valid() {
    return {(zero::valid_policies<Row, Policies> ? '.' : 'x')...};
  }

  static std::array<std::string, sizeof...(Policies)> all_compatible() {
    return {compatible<Policies>()...};
  }

  static std::array<std::string, sizeof...(Policies)> all_valid() { return {valid<Policies>()...}; }
};

using policies = table<zero::Stage<0>,
                       zero::Stage<1>,
                       zero::Stage<2>,
                       zero::Stage<3>,
                       zero::PerUnit<zero::For<&Parts::head, zero::Stage<1>>>,
                       zero::PerUnit<zero::Default<zero::Stage<2>>>,
                       zero::Offload<zero::None>,
                       zero::Precision<zero::FP32>,
                       zero::Precision<zero::BF16>,
                       zero::Precision<zero::FP16>,
                       zero::Accumulate<zero::FP32>,
                       zero::Accumulate<zero::Native>,
                       zero::Reduction<zero::Ordered>,
                       zero::Reduction<zero::Native>,
                       zero::AdamW,
                       zero::Sgd,
                       zero::PlainSgd,
                       zero::Lion,
                       zero::Local,
                       zero::Nccl,
                       zero::Host,
                       zero::Cuda>;

}  // namespace

template <>
inline constexpr bool zero::serves_device_v<Mail, zero::Cuda> = false;

TEST_CASE("every policy against every policy: allowed or refused, as the table says") {
  auto const actual = policies::all_compatible();
  for (std::size_t row = 0; row < expected.size(); ++row) {
    CAPTURE(row);
    CHECK(actual[row] == expected[row]);
  }
}

TEST_CASE("compatibility is mutual") {
  auto const actual = policies::all_compatible();
  for (std::size_t row = 0; row < actual.size(); ++row) {
    for (std::size_t column = 0; column < actual.size(); ++column) {
      CAPTURE(row);
      CAPTURE(column);
      CHECK(actual[row][column] == actual[column][row]);
    }
  }
}

TEST_CASE("two policies make an engine if the table allows the pair and the defaults suit both") {
  auto const actual = policies::all_valid();
  for (std::size_t row = 0; row < expected.size(); ++row) {
    for (std::size_t column = 0; column < expected.size(); ++column) {
      // The default device is the host, which NCCL does not serve.
      bool const wants_cuda = row == nccl || column == nccl;
      bool const has_cuda = row == cuda || column == cuda;
      bool const allowed = expected[row][column] == '.' && (!wants_cuda || has_cuda);
      CAPTURE(row);
      CAPTURE(column);
      CHECK((actual[row][column] == '.') == allowed);
    }
  }
}

TEST_CASE("what is no policy is compatible with nothing") {
  CHECK_FALSE(zero::compatible_v<int, zero::Stage<1>>);
  CHECK_FALSE(zero::compatible_v<zero::Stage<1>, zero::FP32>);
  CHECK_FALSE(zero::compatible_v<zero::Stage<1> const, zero::Local>);
}

TEST_CASE("a communicator of the user's own can refuse a device") {
  CHECK(zero::compatible_v<Mail, zero::Host>);
  CHECK_FALSE(zero::compatible_v<Mail, zero::Cuda>);
  CHECK_FALSE(zero::compatible_v<zero::Cuda, Mail>);
  CHECK_FALSE(zero::valid_policies<zero::Cuda, Mail>);
  CHECK(zero::valid_policies<Mail>);
}
