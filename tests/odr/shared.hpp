// SPDX-License-Identifier: Apache-2.0
#pragma once

// One engine that two translation units share, one compiled by the host compiler and one by nvcc.

#include <zero/core/random.hpp>
#include <zero/engine.hpp>

#include <boost/hana/define_struct.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace odr {

struct Layer {
  BOOST_HANA_DEFINE_STRUCT(Layer,
                           (zero::Tensor<zero::bf16>, weight),
                           (zero::Tensor<zero::bf16>, bias));
};

struct Net {
  BOOST_HANA_DEFINE_STRUCT(Net, (std::vector<Layer>, layers));
};

using Engine = zero::ZeroEngine<Net, zero::Stage<2>, zero::AdamW, zero::Precision<zero::BF16>>;

inline Net make_net() {
  Net net;
  for (int i = 0; i < 3; ++i) {
    net.layers.push_back(
        {zero::Tensor<zero::bf16>(zero::shape{17, 31}), zero::Tensor<zero::bf16>(zero::shape{31})});
  }
  return net;
}

/// Sizes and alignments of what crosses the border between units. `Unit` is the unit that asks:
/// each has an instance of its own, which the linker cannot merge with the other's.
template <class Unit>
std::vector<std::size_t> type_sizes() {
  return {sizeof(Engine),
          alignof(Engine),
          sizeof(Engine::options),
          sizeof(zero::step_options),
          sizeof(zero::StepResult),
          sizeof(zero::execution_plan),
          sizeof(zero::local_communicator),
          sizeof(zero::host_device),
          sizeof(zero::step_state<zero::AdamW>),
          sizeof(zero::parameter_view),
          sizeof(zero::parameter),
          sizeof(zero::Tensor<zero::bf16>),
          sizeof(zero::Tensor<float, 4, 4>),
          sizeof(Net)};
}

/// Initial values that depend on the element alone.
template <class Unit>
void initialize(Engine& engine) {
  engine.initialize(
      [](zero::parameter_view const& view, std::int64_t first, std::span<float> values) {
        for (std::size_t i = 0; i < values.size(); ++i) {
          values[i] = zero::uniform(view.key, static_cast<std::uint64_t>(first) + i) - 0.5f;
        }
      });
}

/// The steps from `first` to `last` - 1, with gradients that depend on step and element alone.
template <class Unit>
void train(Engine& engine, int first, int last) {
  for (int s = first; s < last; ++s) {
    for ([[maybe_unused]] auto micro : engine.micro_steps(2)) {
      for (int l = 0; l < 3; ++l) {
        engine.skip(&Net::layers, l);
      }
      for (int l = 3; l-- > 0;) {
        auto lease = engine.backward(&Net::layers, l);
        auto& gradients = lease.grads();
        for (std::int64_t i = 0; i < gradients.weight.size(); ++i) {
          gradients.weight.data()[i] = zero::from_float<zero::bf16>(
              zero::uniform(static_cast<std::uint64_t>(s), static_cast<std::uint64_t>(i)) - 0.5f);
        }
      }
    }
    engine.step({.lr = 0.01});
  }
}

// What the unit of the host compiler offers.
std::vector<std::size_t> host_type_sizes();
Engine host_engine(zero::local_communicator communicator);
void host_initialize(Engine& engine);
void host_train(Engine& engine, int first, int last);
std::uint64_t host_hash(Engine& engine);

}  // namespace odr
