// SPDX-License-Identifier: Apache-2.0
#pragma once

// A step of training with two ranks: needs the headers, Boost's and threads.

#include <zero/zero.hpp>

#include <boost/hana/define_struct.hpp>

#include <span>
#include <utility>
#include <vector>

struct Layer {
  BOOST_HANA_DEFINE_STRUCT(Layer, (zero::Tensor<float, 8, 8>, weight));
};

struct Net {
  BOOST_HANA_DEFINE_STRUCT(Net, (std::vector<Layer>, layers));
};

inline bool trains() {
  using Engine = zero::ZeroEngine<Net, zero::Stage<3>, zero::Precision<zero::FP32>>;
  bool applied[2] = {false, false};
  zero::Local::run(2, [&](zero::local_communicator communicator) {
    auto const rank = communicator.rank();
    Engine engine(Net{std::vector<Layer>(2)}, std::move(communicator));
    engine.initialize([](zero::parameter_view const&, std::int64_t, std::span<float> values) {
      for (auto& value : values) {
        value = 1.0f;
      }
    });
    for ([[maybe_unused]] auto micro : engine.micro_steps()) {
      for (int l = 0; l < 2; ++l) {
        engine.skip(&Net::layers, l);
      }
      for (int l = 2; l-- > 0;) {
        auto lease = engine.backward(&Net::layers, l);
        lease.grads().weight.data()[0] = 1.0f;
      }
    }
    engine.step();
    applied[rank] = engine.result().applied;
  });
  return applied[0] && applied[1] && zero::version_major == ZERO_VERSION_MAJOR;
}
