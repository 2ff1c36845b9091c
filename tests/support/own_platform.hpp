// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/support/far_device.hpp"
#include "tests/support/mailbox.hpp"

#include <zero/comm/local.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace zero::test {

/// What the laws of the engine need of a machine (tests/support/host_platform.hpp), for devices and
/// communicators of the tests' own.
template <class DevicePolicy, class CommunicatorPolicy>
struct own_platform {
  using device = DevicePolicy;
  using communicator = CommunicatorPolicy;

  template <class Body>
  static void run(int ranks, Body&& body) {
    if constexpr (std::is_same_v<CommunicatorPolicy, Local>) {
      Local::run(ranks, std::forward<Body>(body));
    } else {
      run_mail<typename CommunicatorPolicy::template communicator<DevicePolicy>>(
          ranks, std::forward<Body>(body));
    }
  }

  template <class Engine>
  static Engine make(typename Engine::model_type model,
                     typename Engine::communicator_type communicator,
                     typename Engine::options const& options) {
    return Engine(std::move(model), std::move(communicator), options);
  }

  template <class T>
  static std::vector<T> read(T const* from, std::int64_t n) {
    return n == 0 ? std::vector<T>() : std::vector<T>(near(from), near(from) + n);
  }

  template <class T>
  static void write(T* to, std::vector<T> const& values) {
    if (!values.empty()) {
      std::memcpy(near(to), values.data(), values.size() * sizeof(T));
    }
  }
};

}  // namespace zero::test
