// SPDX-License-Identifier: Apache-2.0
// The example's sampler: draws by the probabilities it is given, the same text for the same seed.
#include "examples/train_gpt/sampler.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace {

std::string drawn(std::uint64_t seed, std::vector<float> const& probabilities, int count) {
  train_gpt::sampler text(seed);
  for (int i = 0; i < count; ++i) {
    text.draw(probabilities);
  }
  return text.printable();
}

}  // namespace

TEST_CASE("a certain token is drawn, and one without probability never") {
  std::vector<float> certain(256, 0.0F);
  certain['q'] = 1;
  CHECK(drawn(1, certain, 5) == "qqqqq");

  std::vector<float> even(256, 0.0F);
  even['a'] = even['b'] = 0.5F;
  std::string const text = drawn(1, even, 400);
  std::size_t a = 0;
  for (char const c : text) {
    CHECK((c == 'a' || c == 'b'));
    a += c == 'a' ? 1 : 0;
  }
  CHECK(a > 140);
  CHECK(a < 260);
  CHECK(text == drawn(1, even, 400));
  CHECK(text != drawn(2, even, 400));
}

TEST_CASE("a prediction looks at the latest tokens, at most a context of them") {
  train_gpt::sampler text(1);
  CHECK(text.latest(3).size() == 1);
  CHECK(text.latest(3)[0] == '\n');
  std::vector<float> certain(256, 0.0F);
  certain[200] = 1;
  for (int i = 0; i < 4; ++i) {
    text.draw(certain);
  }
  CHECK(text.latest(3).size() == 3);
  CHECK(text.latest(3)[0] == 200);
  CHECK(text.latest(9).size() == 5);
  CHECK(text.printable() == "....");
}
