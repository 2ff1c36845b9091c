// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/shape.hpp>
#include <zero/core/tensor.hpp>
#include <zero/model/program.hpp>

#include <boost/hana/define_struct.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

/// @file
/// A container with everything that a container may have: structs in structs, arrays, vectors and
/// optionals, empty ones too; parameters of no element, of one, of fewer than ranks and of prime
/// numbers of them; a tied unit, a unit that stays open over others, a frozen unit and frozen
/// parameters beside trained ones; all traits; FP32 parameters beside those of type T.

namespace zero::test::zoo {

template <class T>
struct embedding {
  BOOST_HANA_DEFINE_STRUCT(embedding, (Tensor<T>, table), (Tensor<T>, positions));
};

template <class T>
struct context {
  BOOST_HANA_DEFINE_STRUCT(context, (Tensor<float>, state), (Tensor<T>, mix));
};

template <class T>
struct constants {
  BOOST_HANA_DEFINE_STRUCT(constants, (Tensor<T>, table), (Tensor<float>, offsets));
};

template <class T>
struct attention {
  BOOST_HANA_DEFINE_STRUCT(attention, (Tensor<T>, qkv), (Tensor<T, 61, 59>, out));
};

template <class T>
struct norm {
  BOOST_HANA_DEFINE_STRUCT(norm, (Tensor<float>, gain), (Tensor<T>, bias));
};

template <class T>
struct adapter {
  BOOST_HANA_DEFINE_STRUCT(adapter, (Tensor<T>, base), (Tensor<T>, low_rank));
};

template <class T>
struct block {
  using mlp_type = std::array<Tensor<T>, 2>;
  BOOST_HANA_DEFINE_STRUCT(block,
                           (attention<T>, attn),
                           (norm<T>, ln),
                           (std::optional<adapter<T>>, lora),
                           (mlp_type, mlp));
};

template <class T>
struct head {
  BOOST_HANA_DEFINE_STRUCT(head, (Tensor<T>, weight), (Tensor<T>, bias));
};

template <class T>
struct model {
  using gates_type = std::array<Tensor<T>, 4>;
  BOOST_HANA_DEFINE_STRUCT(model,
                           (embedding<T>, embed),
                           (context<T>, around),
                           (constants<T>, fixed),
                           (std::vector<block<T>>, blocks),
                           (gates_type, gates),
                           (std::optional<head<T>>, present),
                           (std::optional<head<T>>, absent));

  /// What a forward pass does, for an engine or an evaluation pass: `see(lease, key)` at each
  /// visit.
  template <class Pass, class See>
  static void forward(Pass& pass, See&& see) {
    {
      auto lease = pass.forward(&model::embed);
      see(lease, 0);
    }
    {
      auto around = pass.forward(&model::around);
      see(around, 1);
      {
        auto lease = pass.forward(&model::fixed);
        see(lease, 2);
      }
      for (std::int64_t i = 0; i < 3; ++i) {
        auto lease = pass.forward(&model::blocks, i);
        see(lease, 3 + static_cast<int>(i));
      }
      for (std::int64_t i = 0; i < 4; ++i) {
        auto lease = pass.forward(&model::gates, i);
        see(lease, 6 + static_cast<int>(i));
      }
      see(around, 1);
    }
    {
      auto lease = pass.forward(&model::present);
      see(lease, 10);
    }
    {
      auto lease = pass.forward(&model::embed);
      see(lease, 0);
    }
  }

  /// What a backward pass does: `learn(lease, key)` at each visit.
  template <class Engine, class Learn>
  static void backward(Engine& engine, Learn&& learn) {
    {
      auto lease = engine.backward(&model::embed);
      learn(lease, 0);
    }
    {
      auto lease = engine.backward(&model::present);
      learn(lease, 10);
    }
    {
      auto around = engine.backward(&model::around);
      for (std::int64_t i = 4; i-- > 0;) {
        auto lease = engine.backward(&model::gates, i);
        learn(lease, 6 + static_cast<int>(i));
      }
      for (std::int64_t i = 3; i-- > 0;) {
        auto lease = engine.backward(&model::blocks, i);
        learn(lease, 3 + static_cast<int>(i));
      }
      {
        auto lease = engine.backward(&model::fixed);
        learn(lease, 2);
      }
      learn(around, 1);
    }
    {
      auto lease = engine.backward(&model::embed);
      learn(lease, 0);
    }
  }
};

/// The program: the embedding is opened at both ends, and the context stays open over the blocks.
template <class T>
constexpr void zero_program(model<T> const& /*model*/, ProgramBuilder<model<T>>& builder) {
  builder.visit(&model<T>::embed);
  builder.open(&model<T>::around);
  builder.visit(&model<T>::fixed);
  builder.visit(&model<T>::blocks);
  builder.visit(&model<T>::gates);
  builder.close(&model<T>::around);
  builder.visit(&model<T>::present);
  builder.visit(&model<T>::absent);  // empty: no visit
  builder.visit(&model<T>::embed);
}

/// The container with its shapes; some 57 thousand elements.
template <class T>
[[nodiscard]] model<T> make() {
  model<T> m;
  m.embed.table = Tensor<T>(shape{97, 31});
  m.embed.positions = Tensor<T>(shape{13}, {.weight_decay = false});
  m.around.state = Tensor<float>(shape{300}, {.lr_scale = 0.5});
  m.around.mix = Tensor<T>(shape{1031});
  m.fixed.table = Tensor<T>(shape{1500}, {.frozen = true});
  m.fixed.offsets = Tensor<float>(shape{20}, {.frozen = true});
  for (int i = 0; i < 3; ++i) {
    block<T> b;
    b.attn.qkv = Tensor<T>(i == 2 ? shape{20011} : shape{37, 113});
    b.ln.gain = Tensor<float>(shape{37}, {.weight_decay = false});
    b.ln.bias = Tensor<T>(shape{37}, {.weight_decay = false});
    if (i != 1) {
      b.lora = adapter<T>{};
      b.lora->base = Tensor<T>(shape{700}, {.frozen = true});
      b.lora->low_rank = Tensor<T>(shape{211}, {.lr_scale = 2});
    }
    b.mlp[0] = Tensor<T>(shape{1021});
    b.mlp[1] = Tensor<T>(shape{257});
    m.blocks.push_back(b);
  }
  m.gates[1] = Tensor<T>(shape{1});  // the first has no element
  m.gates[2] = Tensor<T>(shape{5});
  m.gates[3] = Tensor<T>(shape{256});
  m.present = head<T>{};
  m.present->weight = Tensor<T>(shape{2053});
  m.present->bias = Tensor<T>(shape{700}, {.resident = true});
  return m;
}

}  // namespace zero::test::zoo
