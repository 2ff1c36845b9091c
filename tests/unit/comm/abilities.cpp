// SPDX-License-Identifier: Apache-2.0
#include <zero/comm/abilities.hpp>

#include "tests/laws/communicator_abilities.hpp"
#include "tests/support/host_memory.hpp"
#include "tests/support/inline_device.hpp"
#include "tests/support/peer_mailbox.hpp"

#include <zero/comm/local.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <utility>

namespace {

using zero::local_communicator;
using zero::test::inline_device;

using mailbox = zero::test::mailbox_communicator<inline_device>;
using peer_mailbox = zero::test::peer_mailbox_communicator<inline_device>;

static_assert(!zero::peer_reading_communicator<local_communicator>);
static_assert(!zero::watching_communicator<local_communicator>);
static_assert(!zero::registering_communicator<local_communicator>);
static_assert(!zero::numbered_communicator<local_communicator>);
static_assert(zero::peer_reading_communicator<peer_mailbox>);
static_assert(zero::watching_communicator<peer_mailbox>);
static_assert(zero::registering_communicator<peer_mailbox>);
static_assert(zero::numbered_communicator<peer_mailbox>);

// The abilities presuppose a communicator.
struct no_communicator {
  using stream_type = zero::host_stream;

  [[nodiscard]] int device() const { return 0; }

  void begin_watch(zero::host_stream, zero::collective_tag const&) {}

  void end_watch(zero::host_stream) {}
};

static_assert(!zero::numbered_communicator<no_communicator>);
static_assert(!zero::watching_communicator<no_communicator>);

// Each lacks one thing.
struct reading_unnamed : mailbox {
  using mailbox::mailbox;

  [[nodiscard]] bool reads_others(void const*, std::int64_t) const { return false; }

  template <class Launch>
  void read_others(
      stream_type, zero::collective_tag const&, void const*, std::int64_t, bool, Launch&&) {}
};

struct watch_without_end : mailbox {
  using mailbox::mailbox;

  void begin_watch(stream_type, zero::collective_tag const&) {}
};

struct deregister_that_throws : mailbox {
  using mailbox::mailbox;

  void register_memory(void*, std::int64_t) {}

  void deregister_memory(void*) {}

  [[nodiscard]] bool registers_sources() const { return true; }
};

static_assert(!zero::peer_reading_communicator<reading_unnamed>);
static_assert(!zero::watching_communicator<watch_without_end>);
static_assert(!zero::registering_communicator<deregister_that_throws>);

class peer_rank : public zero::test::host_memory {
 public:
  explicit peer_rank(peer_mailbox comm)
      : comm_(std::move(comm)) {}

  peer_mailbox& comm() { return comm_; }

 private:
  peer_mailbox comm_;
};

TEST_CASE("a communicator with every ability obeys the laws of each") {
  for (int const ranks : {1, 2, 5}) {
    zero::test::run_mail<peer_mailbox>(ranks, [](peer_mailbox comm) {
      peer_rank rank(std::move(comm));
      zero::laws::tag_sequence tags;
      zero::laws::registering_laws(rank, tags);
      zero::laws::watching_laws(rank, tags);
      zero::laws::peer_reading_laws<zero::test::counted_kernels, zero::bf16>(rank, tags);
      zero::laws::peer_reading_laws<zero::test::counted_kernels, float>(rank, tags);
    });
  }
}

}  // namespace
