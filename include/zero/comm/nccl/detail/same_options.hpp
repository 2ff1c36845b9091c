// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/comm/nccl/options.hpp>
#include <zero/core/error.hpp>
#include <zero/version.hpp>

#include <algorithm>
#include <cstdint>
#include <string>

namespace zero::inline ZERO_ABI::detail {

/// What of the options ranks compare.
struct nccl_shared_options {
  std::int64_t registration;
  std::int64_t peer_reading_bytes;
  std::int64_t warm_up_bytes;
};

/// Refuses options that differ between the ranks and would make them call different things.
/// Collective.
/// @param gather makes of one value a rank, trivially copyable, the vector of all in rank order
/// @throws logic_error alike on all ranks
template <class Gather>
void expect_same_options(nccl_options const& options, Gather&& gather) {
  using shared = nccl_shared_options;
  auto const all = gather(shared{.registration = std::int64_t(options.registration),
                                 .peer_reading_bytes = options.peer_reading_bytes,
                                 .warm_up_bytes = options.warm_up_bytes});
  auto const same = [&](std::int64_t shared::* field, char const* name) {
    if (std::ranges::any_of(all, [&](auto const& o) { return o.*field != all[0].*field; })) {
      throw logic_error(std::string("zero::Nccl: nccl_options::") + name +
                        " differs between the ranks; give all the same");
    }
  };
  same(&shared::registration, "registration");
  same(&shared::peer_reading_bytes, "peer_reading_bytes");
  same(&shared::warm_up_bytes, "warm_up_bytes");
}

}  // namespace zero::inline ZERO_ABI::detail
