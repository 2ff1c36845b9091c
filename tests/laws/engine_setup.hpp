// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/laws/engine.hpp"
#include "tests/laws/engine_misuse.hpp"
#include "tests/support/stack.hpp"

#include <zero/core/dtype.hpp>
#include <zero/core/error.hpp>
#include <zero/core/shape.hpp>
#include <zero/core/tensor.hpp>
#include <zero/core/traffic.hpp>
#include <zero/model/program.hpp>

#include <boost/hana/define_struct.hpp>
#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

/// @file
/// The laws of construction: ranks that are not built alike are told which rank differs, and in
/// what; settings that make no sense are refused by a sentence.

namespace zero::laws {

/// A container whose program is chosen at run time.
struct two_ways {
  BOOST_HANA_DEFINE_STRUCT(two_ways, (Tensor<bf16>, first), (Tensor<bf16>, second));
  bool swapped = false;
};

constexpr void zero_program(two_ways const& model, ProgramBuilder<two_ways>& builder) {
  builder.visit(model.swapped ? &two_ways::second : &two_ways::first);
  builder.visit(model.swapped ? &two_ways::first : &two_ways::second);
}

/// Three ranks, the last of which is built as `other` says: every rank throws the same sentence.
template <class Engine>
struct differing {
  using model = typename Engine::model_type;
  using options = typename Engine::options;
  std::function<void(model&, options&)> other;
  std::string part;
};

template <class Platform, class Engine>
void disagreement_law(typename Engine::model_type const& model,
                      std::vector<differing<Engine>> const& cases) {
  for (auto const& one : cases) {
    auto const errors = errors_of<Platform>(3, [&](auto communicator) {
      auto container = model;
      typename Engine::options options;
      options.loss_scale.initial = 8;
      if (communicator.rank() == 2) {
        one.other(container, options);
      }
      static_cast<void>(
          Platform::template make<Engine>(std::move(container), std::move(communicator), options));
    });
    for (auto const& error : errors) {
      CAPTURE(error);
      CAPTURE(one.part);
      CHECK(contains(error, "the ranks disagree"));
      CHECK(contains(error, one.part));
      CHECK(contains(error, "rank 2"));
    }
  }
}

/// The plain stack of layers under another name of one parameter.
struct renamed_layer {
  BOOST_HANA_DEFINE_STRUCT(renamed_layer, (Tensor<bf16>, weight), (Tensor<bf16>, offset));
};

struct renamed_stack {
  BOOST_HANA_DEFINE_STRUCT(renamed_stack, (std::vector<renamed_layer>, layers));
};

[[nodiscard]] inline renamed_stack rename(test::stack::model<bf16> const& model) {
  renamed_stack renamed;
  for (auto const& l : model.layers) {
    renamed.layers.push_back({l.weight, l.bias});
  }
  return renamed;
}

/// Ranks with different engine types.
template <class Platform, class Engine, class Other>
void other_type_law(typename Engine::model_type const& model,
                    typename Other::model_type const& other_model,
                    std::string const& part) {
  auto const errors = errors_of<Platform>(3, [&](auto communicator) {
    if (communicator.rank() == 2) {
      static_cast<void>(Platform::template make<Other>(other_model, std::move(communicator), {}));
    } else {
      static_cast<void>(Platform::template make<Engine>(model, std::move(communicator), {}));
    }
  });
  for (auto const& error : errors) {
    CAPTURE(error);
    CAPTURE(part);
    CHECK(contains(error, part));
    CHECK(contains(error, "rank 2"));
  }
}

/// Construction runs each kind of collective that the engine makes, and no rank returns from it
/// before all have come.
template <class Platform, class Engine>
void warm_up_law(typename Engine::model_type const& model, bool native_reduction) {
  for (int const ranks : {1, 2, 3}) {
    std::atomic<int> come{0};
    auto const errors = errors_of<Platform>(ranks, [&](auto communicator) {
      if (communicator.rank() + 1 == ranks) {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
      }
      ++come;
      auto engine = Platform::template make<Engine>(
          model, std::move(communicator), typename Engine::options{});
      CHECK(come == ranks);
      auto const sent = engine.traffic();
      bool const several = ranks > 1;
      CHECK((sent[collective::all_gather].count > 0) == several);
      CHECK((sent[collective::broadcast].count > 0) == several);
      CHECK((sent[collective::all_to_others].count > 0) == (several && !native_reduction));
      CHECK((sent[collective::reduce_scatter].count > 0) == (several && native_reduction));
      // Nothing comes later that was not there: each kind that a run needs has been run.
      engine.initialize(initial_values);
      plain_step(engine);
      plain_step(engine, 2);
      static_cast<void>(engine.replica_hash());
      static_cast<void>(engine.parameters_hash());
      auto const all = engine.traffic();
      for (int c = 0; c < collective_count; ++c) {
        auto const kind = static_cast<collective>(c);
        CAPTURE(name(kind));
        CHECK((all[kind].count == 0 || sent[kind].count > 0));
      }
    });
    for (auto const& error : errors) {
      CHECK(error == std::string());
    }
  }
}

/// One setting out of its range, on all ranks.
template <class Platform, class Engine>
void bad_setting_law(typename Engine::model_type const& model,
                     std::string const& part,
                     std::function<void(typename Engine::options&)> const& change) {
  auto const errors = errors_of<Platform>(2, [&](auto communicator) {
    typename Engine::options options;
    change(options);
    static_cast<void>(Platform::template make<Engine>(model, std::move(communicator), options));
  });
  for (auto const& error : errors) {
    CAPTURE(error);
    CAPTURE(part);
    // A rank may hear of the other's failure before it finds its own.
    CHECK((contains(error, part) || contains(error, "an exception ended it")));
  }
  CHECK((contains(errors[0], part) || contains(errors[1], part)));
}

}  // namespace zero::laws
