// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/support/inline_device.hpp"
#include "tests/support/mailbox.hpp"

#include <zero/comm/abilities.hpp>
#include <zero/comm/concepts.hpp>
#include <zero/core/error.hpp>
#include <zero/core/traffic.hpp>
#include <zero/policy/communicator.hpp>
#include <zero/policy/concepts.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

namespace zero::test {

/// A mailbox whose ranks are told where each other's memory lies and whose kernels read it there:
/// every optional ability. For devices whose bodies run on the thread that makes the calls, so that
/// no rank gives memory back while another one reads it.
template <class Device>
class peer_mailbox_communicator : public mailbox_communicator<Device> {
 public:
  using base = mailbox_communicator<Device>;
  using stream_type = typename base::stream_type;
  using reading_type = parts_of_ranks;

  using base::base;

  /// Which device this rank's bytes are on.
  static inline int number = 0;

  [[nodiscard]] int device() const { return number; }

  // registering_communicator

  void register_memory(void* address, std::int64_t bytes) {
    ranges_.push_back({static_cast<std::byte*>(address), bytes});
  }

  void deregister_memory(void* address) noexcept {
    std::erase_if(ranges_, [&](range const& r) { return r.begin == address; });
  }

  [[nodiscard]] bool registers_sources() const { return false; }

  // peer_reading_communicator

  [[nodiscard]] bool reads_others(void const* shard, std::int64_t bytes) const {
    return range_of(shard, bytes) != nullptr;
  }

  template <class Launch>
  void read_others(stream_type /*stream*/,
                   collective_tag const& tag,
                   void const* own,
                   std::int64_t bytes,
                   bool /*continues*/,
                   Launch&& launch) {
    this->room().count(this->rank(), collective::all_to_others, (this->size() - 1) * bytes);
    range const* const mine = range_of(own, bytes);
    precondition(mine != nullptr, "zero::test::PeerMailbox: this memory was not registered");
    auto* const box = this->begin(collective::all_to_others, tag, bytes, sizeof mine->begin);
    std::memcpy(box, &mine->begin, sizeof mine->begin);
    this->room().meet(this->rank());
    this->compare();
    parts_of_ranks parts;
    parts.ranks = this->size();
    for (int i = 0; i < parts.ranks; ++i) {
      std::byte* begin = nullptr;
      std::memcpy(&begin, this->box_of(i), sizeof begin);
      parts.at[static_cast<std::size_t>(i)] =
          begin + (static_cast<std::byte const*>(own) - mine->begin);
    }
    launch(std::as_const(parts));
    this->room().meet(this->rank());
  }

  // watching_communicator

  void begin_watch(stream_type /*stream*/, collective_tag const& /*tag*/) {}

  void end_watch(stream_type /*stream*/) {}

 private:
  struct range {
    std::byte* begin;
    std::int64_t bytes;
  };

  [[nodiscard]] range const* range_of(void const* address, std::int64_t bytes) const {
    auto const* const at = static_cast<std::byte const*>(address);
    for (auto const& r : ranges_) {
      if (at >= r.begin && at + bytes <= r.begin + r.bytes) {
        return &r;
      }
    }
    return nullptr;
  }

  std::vector<range> ranges_;
};

struct PeerMailbox {
  using policy_category = communicator_category;

  template <class DevicePolicy>
  using communicator = peer_mailbox_communicator<typename DevicePolicy::device>;
};

}  // namespace zero::test
