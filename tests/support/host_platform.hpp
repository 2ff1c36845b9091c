// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/comm/local.hpp>
#include <zero/core/queue.hpp>
#include <zero/device/host.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

namespace zero::test {

/// What the laws of the engine need of a machine: policies, a way to run ranks, and access to
/// memory that kernels of a user would have. Others have the same members; `read` and `write` are
/// ordered with the engine's compute queue.
struct host_platform {
  using device = Host;
  using communicator = Local;

  /// Runs `body(communicator)` on each of `ranks` ranks; throws what explains the first failure.
  template <class Body>
  static void run(int ranks, Body&& body, local_options options = {}) {
    Local::run(ranks, std::forward<Body>(body), options);
  }

  /// An engine of one rank.
  template <class Engine>
  static Engine make(typename Engine::model_type model,
                     typename Engine::communicator_type communicator,
                     typename Engine::options const& options) {
    return Engine(std::move(model), std::move(communicator), options);
  }

  /// A number in memory that kernels read.
  static std::shared_ptr<double const> number(double value) {
    return std::make_shared<double const>(value);
  }

  /// `n` elements from where a user's kernels would read them.
  template <class T>
  static std::vector<T> read(T const* from, std::int64_t n) {
    return n == 0 ? std::vector<T>() : std::vector<T>(from, from + n);
  }

  /// Writes elements to where a user's kernels would write them.
  template <class T>
  static void write(T* to, std::vector<T> const& values) {
    if (!values.empty()) {
      std::memcpy(to, values.data(), values.size() * sizeof(T));
    }
  }
};

}  // namespace zero::test
