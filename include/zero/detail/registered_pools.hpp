// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/comm/abilities.hpp>
#include <zero/detail/pool_memory.hpp>
#include <zero/plan/plan.hpp>
#include <zero/plan/pools.hpp>
#include <zero/plan/travel.hpp>
#include <zero/version.hpp>

#include <cstddef>
#include <cstdint>

namespace zero::inline ZERO_ABI::detail {

/// The pools of which a communicator is told, if it can make use of that: those that its
/// collectives touch.
template <class Device, class Communicator>
class registered_pools {
 public:
  /// All of these must outlive this. Tells nothing yet.
  registered_pools(pool_memory<Device> const& memory, Communicator& communicator)
      : memory_(&memory),
        communicator_(&communicator) {}

  /// Tells the communicator where the pools lie. Collective.
  void tell() {
    if constexpr (registering_communicator<Communicator>) {
      for_each([this](pool p) {
        communicator_->register_memory(memory_->base(p), memory_->allocated_bytes(p));
      });
    }
  }

  /// They end. Not collective.
  void forget() noexcept {
    if constexpr (registering_communicator<Communicator>) {
      for_each([this](pool p) { communicator_->deregister_memory(memory_->base(p)); });
    }
  }

 private:
  template <class F>
  void for_each(F&& f) const {
    auto const travel = travel_of(memory_->places().plan());
    bool const sources = communicator_->registers_sources();
    for (int i = 0; i < pool_count; ++i) {
      auto const p = static_cast<pool>(i);
      auto const& t = travel[static_cast<std::size_t>(i)];
      if (memory_->allocated_bytes(p) > 0 && (t.received || t.summed || (t.sent && sources))) {
        f(p);
      }
    }
  }

  pool_memory<Device> const* memory_;
  Communicator* communicator_;
};

}  // namespace zero::inline ZERO_ABI::detail
