// SPDX-License-Identifier: Apache-2.0
#include "tests/laws/communicator.hpp"
#include "tests/laws/engine_bits.hpp"
#include "tests/support/far_device.hpp"
#include "tests/support/host_memory.hpp"
#include "tests/support/host_platform.hpp"
#include "tests/support/inline_device.hpp"
#include "tests/support/mailbox.hpp"
#include "tests/support/own_platform.hpp"
#include "tests/support/peer_mailbox.hpp"
#include "tests/support/text.hpp"
#include "tests/support/zoo.hpp"

#include <zero/core/dtype.hpp>
#include <zero/core/error.hpp>
#include <zero/device/host.hpp>
#include <zero/engine.hpp>
#include <zero/policy/policy_set.hpp>
#include <zero/policy/reduction.hpp>
#include <zero/policy/stage.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

// A communicator that is none of the library's, from the documents of the concepts alone, on the
// library's own device and on others.

namespace {

using zero::Host;
using zero::test::contains;
using zero::test::Far;
using zero::test::Inline;
using zero::test::Mailbox;
using zero::test::mailbox_communicator;
using zero::test::own_platform;
using zero::test::PeerMailbox;

using host = zero::test::host_platform;
using model = zero::test::zoo::model<zero::bf16>;

model const zoo = zero::test::zoo::make<zero::bf16>();

static_assert(zero::valid_policies<zero::Stage<3>, Mailbox>);

// [rank]
using mailbox = mailbox_communicator<zero::host_device>;

class mail_rank : public zero::test::host_memory {  // upload, download, stream
 public:
  explicit mail_rank(mailbox comm)
      : comm_(std::move(comm)) {}

  mailbox& comm() { return comm_; }

 private:
  mailbox comm_;
};

TEST_CASE("a communicator of one's own obeys the laws of communicators") {
  for (int const ranks : {1, 2, 3, 5}) {
    zero::test::run_mail<mailbox>(ranks, [](mailbox comm) {
      mail_rank rank(std::move(comm));
      zero::laws::communicator_laws(rank);
    });
  }
}

// [rank]
template <class Platform, class... Policies>
void trains_as_the_host() {
  for (int const ranks : {2, 3}) {
    zero::laws::training_job job = zero::laws::clipped_job(ranks, 2);
    job.poison = true;
    for (job.stage = 0; job.stage < 4; ++job.stage) {
      CAPTURE(ranks);
      CAPTURE(job.stage);
      auto const expected = zero::laws::train_stage<host, model, Policies...>(job, zoo);
      auto const outcome = zero::laws::train_stage<Platform, model, Policies...>(job, zoo);
      zero::laws::check_clipped(outcome);
      CHECK(outcome == expected);
    }
  }
}

TEST_CASE("a communicator of one's own gives the bits of local ranks") {
  trains_as_the_host<own_platform<Host, Mailbox>>();
}

TEST_CASE("its own sum does, too") {
  trains_as_the_host<own_platform<Host, Mailbox>, zero::Reduction<zero::Native>>();
}

TEST_CASE("kernels that read the ranks' parts where they lie change no bit") {
  auto const sums = zero::test::counted_kernels::sums_in_place.load();
  trains_as_the_host<own_platform<Inline, PeerMailbox>>();
  CHECK(zero::test::counted_kernels::sums_in_place > sums);
}

TEST_CASE("a rank that fails in a communicator of one's own is known to the others") {
  using platform = own_platform<Host, Mailbox>;
  using Engine = zero::laws::engine_on<platform, model, zero::Stage<2>>;
  std::atomic<int> told{0};
  CHECK_THROWS_WITH_AS(platform::run(3,
                                     [&](auto communicator) {
                                       int const rank = communicator.rank();
                                       Engine engine(zoo, std::move(communicator));
                                       engine.initialize(zero::laws::initial_values);
                                       zero::laws::training_job job;
                                       job.ranks = 3;
                                       zero::test::training_rank<platform, Engine> loop(engine,
                                                                                        job);
                                       try {  // the others may hear of it in the first step already
                                         loop.step(0);
                                         if (rank == 1) {
                                           throw std::runtime_error("the lamp fell over");
                                         }
                                         loop.step(1);
                                         static_cast<void>(engine.result());
                                       } catch (zero::peer_error const& error) {
                                         told += error.rank() == 1 ? 1 : 0;
                                         throw;
                                       }
                                     }),
                       "the lamp fell over",
                       std::runtime_error);
  CHECK(told == 2);
}

TEST_CASE("ranks that plan differently are told by a communicator of one's own") {
  using platform = own_platform<Host, Mailbox>;
  using Engine = zero::laws::engine_on<platform, model, zero::Stage<1>>;
  CHECK_THROWS_AS(platform::run(2,
                                [&](auto communicator) {
                                  typename Engine::options options;
                                  options.clip_norm = communicator.rank();
                                  Engine const engine(zoo, std::move(communicator), options);
                                }),
                  zero::logic_error);
}

TEST_CASE("a communicator bound to another device than the engine's is refused") {
  using communicator = zero::test::peer_mailbox_communicator<zero::test::far_device>;
  using Engine = zero::ZeroEngine<model, Far, PeerMailbox>;
  zero::test::run_mail<communicator>(1, [](communicator comm) {
    CHECK_THROWS_AS(Engine(zoo, std::move(comm), {}, 4), zero::logic_error);
  });
  zero::test::run_mail<communicator>(1, [](communicator comm) {
    Engine const engine(zoo, std::move(comm), {}, 0);
    CHECK(engine.size() == 1);
  });
}

}  // namespace
