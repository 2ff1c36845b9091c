// SPDX-License-Identifier: Apache-2.0
#pragma once

// Engines of every stage, with each precision, optimizer, accumulator and reduction at least once.

#include <zero/zero.hpp>

#include <boost/hana/define_struct.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

template <class T>
struct Block {
  BOOST_HANA_DEFINE_STRUCT(Block, (zero::Tensor<T>, weight), (zero::Tensor<float, 3>, scale));
};

template <class T>
struct Model {
  BOOST_HANA_DEFINE_STRUCT(Model,
                           (std::vector<Block<T>>, blocks),
                           (std::optional<zero::Tensor<T>>, head));
};

template <class T>
Model<T> make_model() {
  Model<T> model;
  for (int i = 0; i < 2; ++i) {
    model.blocks.push_back({zero::Tensor<T>(zero::shape{5, 7}), zero::Tensor<float, 3>()});
  }
  model.head.emplace(zero::shape{9});
  return model;
}

/// Whether two ranks train a step to the same parameters.
template <class T, class... Policies>
bool trains() {
  std::uint64_t hash[2] = {0, 1};
  zero::Local::run(2, [&hash](zero::local_communicator communicator) {
    auto const rank = static_cast<std::size_t>(communicator.rank());
    zero::ZeroEngine<Model<T>, Policies...> engine(
        make_model<T>(), std::move(communicator), {.clip_norm = 1.0});
    engine.initialize([](zero::parameter_view const&, std::int64_t, std::span<float> values) {
      for (auto& value : values) {
        value = 1.0f;
      }
    });
    for ([[maybe_unused]] auto micro : engine.micro_steps(2)) {
      for (int b = 0; b < 2; ++b) {
        auto lease = engine.forward(&Model<T>::blocks, b);
      }
      engine.skip(&Model<T>::head);
      {
        auto lease = engine.backward(&Model<T>::head);
        lease.grads().data()[0] = zero::from_float<T>(1.0f);
      }
      for (int b = 2; b-- > 0;) {
        auto lease = engine.backward(&Model<T>::blocks, b);
        lease.grads().weight.data()[0] = zero::from_float<T>(0.5f);
      }
    }
    engine.step({.lr = 0.01});
    hash[rank] = engine.parameters_hash();
  });
  return hash[0] == hash[1];
}

inline bool trains_all() {
  using namespace zero;
  return trains<bf16, Stage<0>, AdamW, Precision<BF16>>() &&
         trains<fp16, Stage<1>, Lion, Precision<FP16>, Accumulate<Native>>() &&
         trains<float, Stage<2>, Sgd, Precision<FP32>>() &&
         trains<bf16, Stage<3>, PlainSgd, Precision<BF16>, Reduction<Native>>();
}
