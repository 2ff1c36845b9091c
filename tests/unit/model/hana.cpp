// SPDX-License-Identifier: Apache-2.0
#define Bool int  // as Xlib has it
#include <zero/model/hana.hpp>

#include <zero/core/tensor.hpp>
#include <zero/model/describe.hpp>

#include <doctest/doctest.h>

#include <type_traits>

static_assert(std::is_same_v<Bool, int>, "the user's macro is in force again");

namespace {

struct described {
  BOOST_HANA_DEFINE_STRUCT(described, (zero::Tensor<float, 3>, a), (zero::Tensor<float, 4>, b));
};

}  // namespace

TEST_CASE("structs are described beside a macro of Xlib") {
  CHECK(zero::describe(described{}).parameters.size() == 2);
}
