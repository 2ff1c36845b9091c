// SPDX-License-Identifier: Apache-2.0
// The example's bridge between parameters of any element type and its float kernels.
#include "examples/train_gpt/float_copy.hpp"

#include <zero/zero.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <span>
#include <vector>

namespace {

constexpr train_gpt::gpt_shape shape{.layers = 1, .channels = 4, .heads = 2, .context = 3};

/// The numbers 0, 1, 2, ... as parameters of a block, which small numbers are in every type.
template <class Engine>
void check_round_trip() {
  using model = typename Engine::model_type;
  zero::Local::run(1, [](auto communicator) {
    Engine engine(model(shape), std::move(communicator), {});
    engine.initialize([](auto const&, std::int64_t first, std::span<float> values) {
      for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = static_cast<float>(first) + static_cast<float>(i);
      }
    });
    train_gpt::float_copy weights(shape);
    train_gpt::float_copy room(shape);
    for (auto const micro : engine.micro_steps(1)) {
      (void)micro;
      engine.skip(&model::embed);
      {
        auto const lease = engine.forward(&model::blocks, 0);
        auto const w = weights.of(*lease);
        CHECK(w.norm1.weight[3] == 3);
        CHECK(w.qkv.weight[47] == 47);
        CHECK(w.qkv.bias[11] == 11);
        CHECK(w.down.weight[63] == 63);
        CHECK(w.down.bias[3] == 3);
      }
      engine.skip(&model::norm);
      engine.skip(&model::embed);
      engine.skip(&model::embed);
      engine.skip(&model::norm);
      {
        auto lease = engine.backward(&model::blocks, 0);
        auto const d = room.room_for(lease.params());
        for (int i = 0; i < 12; ++i) {
          d.qkv.bias[i] = static_cast<float>(i);
        }
        auto& gradients = lease.grads();
        train_gpt::store(gradients.qkv.bias, d.qkv.bias, false);
        train_gpt::store(gradients.qkv.bias, d.qkv.bias, true);
        CHECK(zero::to_float(gradients.qkv.bias[11]) == 22);
      }
      engine.skip(&model::embed);
    }
    engine.step();
  });
}

template <class T, class Format>
using engine_of = zero::ZeroEngine<train_gpt::Gpt<T>, zero::Stage<0>, zero::Precision<Format>>;

}  // namespace

TEST_CASE("parameters of every type reach the kernels as floats, and gradients come back") {
  check_round_trip<engine_of<float, zero::FP32>>();
  check_round_trip<engine_of<zero::bf16, zero::BF16>>();
  check_round_trip<engine_of<zero::fp16, zero::FP16>>();
}
