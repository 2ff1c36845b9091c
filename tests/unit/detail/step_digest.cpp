// SPDX-License-Identifier: Apache-2.0
#include <zero/detail/step_digest.hpp>

#include <zero/optim/adamw.hpp>
#include <zero/optim/concepts.hpp>
#include <zero/optim/lion.hpp>
#include <zero/optim/loss_scale.hpp>
#include <zero/optim/sgd.hpp>
#include <zero/options.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstring>
#include <functional>
#include <new>
#include <vector>

namespace {

template <class O>
using changes = std::vector<std::function<void(zero::engine_options<O>&)>>;

/// Each change of one option gives another digest, whatever the learning rate of the options is: a
/// schedule may begin at 0, and what the ranks then differ in shows in a later step.
template <class O>
void check_seen(changes<O> const& all, bool loss_scaling = false) {
  for (double const lr : {0.0, 1e-5, 1e-2}) {
    CAPTURE(lr);
    zero::engine_options<O> options;
    options.optimizer.lr = lr;
    auto const digest = zero::detail::digest_of_step(options, loss_scaling);
    CHECK(zero::detail::digest_of_step(options, loss_scaling) == digest);
    for (std::size_t i = 0; i < all.size(); ++i) {
      CAPTURE(i);
      auto other = options;
      all[i](other);
      CHECK(zero::detail::digest_of_step(other, loss_scaling) != digest);
    }
  }
}

TEST_CASE("every option of a step is in its digest") {
  check_seen<zero::AdamW>({[](auto& o) { o.clip_norm = 1; },
                           [](auto& o) { o.mean = false; },
                           [](auto& o) { o.optimizer.lr = 3e-4; },
                           [](auto& o) { o.optimizer.beta1 = 0.9001; },
                           [](auto& o) { o.optimizer.beta2 = 0.9991; },
                           [](auto& o) { o.optimizer.eps = 1.01e-8; },
                           [](auto& o) { o.optimizer.eps = 1e-12; },
                           [](auto& o) { o.optimizer.weight_decay = 1.001e-2; },
                           [](auto& o) { o.optimizer.weight_decay = 0; }});
  check_seen<zero::Sgd>({[](auto& o) { o.optimizer.lr = 3e-4; },
                         [](auto& o) { o.optimizer.momentum = 0.9001; },
                         [](auto& o) { o.optimizer.dampening = 1e-4; },
                         [](auto& o) { o.optimizer.weight_decay = 1e-4; },
                         [](auto& o) { o.optimizer.nesterov = true; }});
  check_seen<zero::PlainSgd>(
      {[](auto& o) { o.optimizer.lr = 3e-4; }, [](auto& o) { o.optimizer.weight_decay = 1e-4; }});
  check_seen<zero::Lion>({[](auto& o) { o.optimizer.lr = 3e-4; },
                          [](auto& o) { o.optimizer.beta1 = 0.91; },
                          [](auto& o) { o.optimizer.beta2 = 0.9901; },
                          [](auto& o) { o.optimizer.weight_decay = 1e-4; }});
}

TEST_CASE("optimizers that differ have digests that differ") {
  auto const lion = zero::detail::digest_of_step(zero::engine_options<zero::Lion>(), false);
  zero::engine_options<zero::Sgd> sgd;
  sgd.optimizer.lr = zero::Lion::options().lr;
  CHECK(zero::detail::digest_of_step(sgd, false) != lion);
}

TEST_CASE("the loss scale counts where there is one") {
  changes<zero::AdamW> const scaling{
      [](auto& o) { o.loss_scale.dynamic = false; },
      [](auto& o) { o.loss_scale.initial = 8; },
      [](auto& o) { o.loss_scale.window = 999; },
      [](auto& o) { o.loss_scale.hysteresis = 1; },
      [](auto& o) { o.loss_scale.consecutive_hysteresis = true; },
      [](auto& o) { o.loss_scale.minimum = 2; },
      [](auto& o) { o.loss_scale.maximum = 65536; },
      [](auto& o) { o.loss_scale.at_floor = zero::at_floor::raise; }};
  check_seen<zero::AdamW>(scaling, true);
  zero::engine_options<zero::AdamW> options;
  auto const digest = zero::detail::digest_of_step(options, false);
  for (auto const& change : scaling) {
    change(options);
    CHECK(zero::detail::digest_of_step(options, false) == digest);
  }
}

TEST_CASE("what changes no bit, and what lies between the options, is not in the digest") {
  zero::engine_options<zero::Sgd> plain;
  auto const digest = zero::detail::digest_of_step(plain, true);
  plain.overlap = false;
  plain.stress.poison = true;
  CHECK(zero::detail::digest_of_step(plain, true) == digest);
  for (int const byte : {0x00, 0xff}) {
    alignas(zero::engine_options<zero::Sgd>) std::byte memory[sizeof plain];
    std::memset(memory, byte, sizeof memory);
    auto const* const options = new (memory) zero::engine_options<zero::Sgd>;
    CHECK(zero::detail::digest_of_step(*options, true) == digest);
  }
}

}  // namespace
