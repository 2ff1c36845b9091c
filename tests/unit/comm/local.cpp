// SPDX-License-Identifier: Apache-2.0
#include <zero/comm/local.hpp>

#include "tests/laws/communicator.hpp"
#include "tests/support/count_allocations.hpp"
#include "tests/support/host_rank.hpp"
#include "tests/support/rank_threads.hpp"
#include "tests/support/text.hpp"
#include "tests/support/wild.hpp"

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

using namespace std::chrono_literals;
using zero::collective_tag;
using zero::Local;
using zero::local_communicator;
using zero::test::contains;
using zero::test::errors_of_ranks;

static_assert(zero::policy_of<Local, zero::communicator_category>);
static_assert(std::is_same_v<Local::communicator<zero::Host>, local_communicator>);
static_assert(zero::communicator<local_communicator>);
static_assert(std::is_nothrow_move_constructible_v<local_communicator>);
static_assert(std::is_nothrow_move_assignable_v<local_communicator>);
static_assert(!std::is_copy_constructible_v<local_communicator>);

namespace {

using clock = std::chrono::steady_clock;

collective_tag tag(std::uint64_t sequence,
                   std::int64_t step,
                   char const* operation = "gather",
                   char const* unit = "blocks.3") {
  return {.sequence = sequence, .step = step, .operation_name = operation, .unit_name = unit};
}

/// One small collective.
void meet(local_communicator& comm, collective_tag const& t) {
  std::array<char, 8> all{};
  comm.all_gather({}, t, all.data() + comm.rank(), all.data(), 1);
}

/// A world whose ranks are run by `errors_of_ranks`, which does nothing when one dies.
template <class Body>
std::vector<std::string> errors_in(zero::local_world const& world, Body body) {
  return errors_of_ranks(world.size(), [&](int rank) { body(world.communicator(rank)); });
}

/// The sum as the wire type forms it, in doubles: independent of the library's arithmetic.
template <zero::element W>
W reference_sum(std::vector<std::vector<W>> const& parts, std::size_t i, double prescale) {
  auto const term = [&](std::vector<W> const& part) {
    double const value = zero::to_float(part[i]);
    return prescale == 1 ? value
                         : double{zero::to_float(zero::test::rounded<W>(
                               static_cast<float>(value * static_cast<float>(prescale))))};
  };
  double sum = term(parts[0]);
  for (std::size_t rank = 1; rank < parts.size(); ++rank) {
    sum = zero::to_float(zero::test::rounded<W>(static_cast<float>(sum + term(parts[rank]))));
  }
  return zero::test::rounded<W>(sum);
}

}  // namespace

TEST_CASE("the laws of communicators hold for local ranks") {
  for (int const ranks : {1, 2, 3, 5, 8}) {
    CAPTURE(ranks);
    Local::run(ranks, [](local_communicator comm) {
      zero::test::host_rank rank(std::move(comm));
      zero::laws::communicator_laws(rank);
    });
  }
}

TEST_CASE_TEMPLATE("local sums are formed in rank order and rounded to the wire type each time",
                   W,
                   float,
                   zero::bf16,
                   zero::fp16) {
  for (int const ranks : {1, 2, 3, 5}) {
    for (double const prescale : {1.0, 1.0 / 3.0, 0.125}) {
      std::int64_t const shard = 777;
      std::vector<std::vector<W>> parts;
      parts.reserve(static_cast<std::size_t>(ranks));
      for (int r = 0; r < ranks; ++r) {
        parts.push_back(zero::laws::contribution<W>(r, shard * ranks, false, 11));
      }
      std::atomic<std::size_t> differing{0};
      Local::run(ranks, [&](local_communicator comm) {
        auto const r = static_cast<std::size_t>(comm.rank());
        auto scattered = parts[r];
        comm.reduce_scatter({}, tag(1, 0), scattered.data(), shard, zero::dtype_of<W>, prescale);
        auto reduced = parts[r];
        comm.all_reduce({}, tag(2, 0), reduced.data(), shard * ranks, zero::dtype_of<W>);
        for (std::size_t i = 0; i < reduced.size(); ++i) {
          bool const mine = i / static_cast<std::size_t>(shard) == r;
          W const expected = mine ? reference_sum(parts, i, prescale) : parts[r][i];
          differing += zero::test::same(scattered[i], expected) ? 0 : 1;
          differing += zero::test::same(reduced[i], reference_sum(parts, i, 1)) ? 0 : 1;
        }
      });
      CHECK(differing == 0);
    }
  }
}

TEST_CASE("a prescale keeps an FP16 sum from overflowing") {
  Local::run(4, [](local_communicator comm) {
    std::vector<zero::fp16> buffer(4, zero::from_float<zero::fp16>(40000.0F));
    comm.reduce_scatter({}, tag(1, 0), buffer.data(), 1, zero::dtype::fp16, 0.25);
    bool const mean = zero::to_float(buffer[static_cast<std::size_t>(comm.rank())]) == 40000.0F;
    CHECK(mean);
  });
}

TEST_CASE("local collectives allocate nothing") {
  std::atomic<int> ready{0};
  std::atomic<std::int64_t> before{0};
  std::atomic<std::int64_t> allocated{0};
  int const ranks = 3;
  Local::run(ranks, [&](local_communicator comm) {
    std::vector<float> buffer(30);
    std::vector<float> other(30);
    auto const all_kinds = [&](std::uint64_t i) {
      comm.begin_group();
      comm.all_gather(
          {}, tag(i, 0), buffer.data() + std::ptrdiff_t{10} * comm.rank(), buffer.data(), 40);
      comm.end_group();
      comm.all_to_others({}, tag(i, 0), buffer.data(), 40, other.data(), 40);
      comm.reduce_scatter({}, tag(i, 0), buffer.data(), 10, zero::dtype::fp32, 0.5);
      comm.all_reduce({}, tag(i, 0), buffer.data(), 30, zero::dtype::fp32);
      comm.broadcast({}, tag(i, 0), buffer.data(), 120, 1);
      comm.check();
      static_cast<void>(comm.counters());
    };
    all_kinds(0);
    if (++ready == ranks) {  // the last one; nobody gets past his next collective without it
      before = zero::test::allocations();
    }
    for (std::uint64_t i = 1; i < 100; ++i) {
      all_kinds(i);
    }
    if (--ready == 0) {
      allocated = zero::test::allocations() - before;
    }
    meet(comm, tag(100, 0));  // nobody goes on to what allocates before the count is taken
  });
  CHECK(allocated == 0);
}

TEST_CASE("ranks at different calls are told both, and all fail") {
  struct {
    collective_tag second;
    std::int64_t bytes;
    std::string text;
  } const cases[] = {
      {{.sequence = 4,
        .step = 2,
        .operation = 1,
        .operation_name = "exchange",
        .unit_name = "embed"},
       4,
       "rank 0 is at gather 'blocks.3', rank 1 at exchange 'embed'"},
      {{.sequence = 4, .step = 3, .operation_name = "gather", .unit_name = "blocks.3"},
       4,
       "rank 0 is at gather 'blocks.3' (broadcast, step 2, pass 0, sequence 4, 4 bytes), rank 1 at "
       "gather 'blocks.3' (broadcast, step 3, pass 0, sequence 4, 4 bytes)"},
      {tag(4, 2), 3, "sequence 4, 4 bytes), rank 1 at gather 'blocks.3' (broadcast, step 2"},
      {{.sequence = 4, .step = 2, .unit = 5},
       4,
       "rank 0 is at gather 'blocks.3', rank 1 at broadcast"},
  };

  for (auto const& c : cases) {
    auto const errors = errors_in(Local::world(3), [&](local_communicator comm) {
      int value = 0;
      bool const odd = comm.rank() == 1;
      collective_tag const t = odd ? c.second : tag(4, 2);
      CHECK_THROWS_AS(comm.broadcast({}, t, &value, odd ? c.bytes : 4, 0), zero::logic_error);
      comm.check();
    });
    for (auto const& error : errors) {
      CHECK_MESSAGE(contains(error, c.text), error);
    }
  }
}

TEST_CASE("names alone do not make calls different") {
  Local::run(2, [](local_communicator comm) {
    meet(comm, tag(1, 0, comm.rank() == 0 ? "gather" : nullptr, comm.rank() == 0 ? "a" : "b"));
  });
}

TEST_CASE("a rank that throws makes the others fail at once, and its own error comes out") {
  struct own_error {};

  for (int const dying : {0, 2}) {
    std::atomic<int> peers{0};
    auto const start = clock::now();
    CHECK_THROWS_AS(Local::run(4,
                               [&](local_communicator comm) {
                                 meet(comm, tag(1, 6, "gather", "embed"));
                                 if (comm.rank() == dying) {
                                   std::this_thread::sleep_for(10ms);
                                   throw own_error();
                                 }
                                 try {
                                   meet(comm, tag(2, 6, "gather", "blocks.0"));
                                 } catch (zero::peer_error const& error) {
                                   ++peers;
                                   CHECK(error.rank() == dying);
                                   CHECK(error.step() == 6);
                                   CHECK(std::string(error.unit()) == "blocks.0");
                                   CHECK(std::string(error.operation()) == "gather");
                                   bool const told =
                                       contains(error.what(),
                                                "rank " + std::to_string(dying) +
                                                    " failed after gather 'embed' of step 6");
                                   CHECK_MESSAGE(told, error.what());
                                   throw;
                                 }
                               }),
                    own_error);
    CHECK(peers == 3);
    CHECK(clock::now() - start < 1s);
  }
}

TEST_CASE("run prefers an original error to the consequences, whichever came first") {
  CHECK_THROWS_WITH_AS(Local::run(2,
                                  [](local_communicator comm) {
                                    if (comm.rank() == 0) {
                                      comm.abort("told before it throws");
                                      std::this_thread::sleep_for(20ms);
                                      throw std::runtime_error("the original");
                                    }
                                    meet(comm, tag(1, 0));
                                  }),
                       "the original",
                       std::runtime_error);
}

TEST_CASE("an abort wakes ranks that wait, and is given out by check and by every later call") {
  auto const world = Local::world(3);
  auto const start = clock::now();
  auto const errors = errors_in(world, [&](local_communicator comm) {
    meet(comm, tag(1, 2));
    if (comm.rank() == 2) {
      std::this_thread::sleep_for(10ms);
      comm.abort("the disk is full");
      CHECK_THROWS_AS(comm.check(), zero::peer_error);
      return;
    }
    CHECK_THROWS_AS(meet(comm, tag(2, 2)), zero::peer_error);
    CHECK_THROWS_AS(meet(comm, tag(3, 2)), zero::peer_error);
    comm.abort("a later failure changes nothing");
    comm.check();
  });
  CHECK(clock::now() - start < 1s);
  CHECK(contains(errors[0], "rank 2 failed after gather 'blocks.3' of step 2: the disk is full"));
  CHECK(contains(errors[1], "rank 2 failed after gather 'blocks.3' of step 2: the disk is full"));
  CHECK(errors[2].empty());
}

TEST_CASE("a rank that stalls is named, with what was awaited") {
  auto const world = Local::world(3, {.stall_limit = 100ms});
  auto const errors = errors_in(world, [](local_communicator comm) {
    meet(comm, tag(1, 4, "exchange", "embed"));
    if (comm.rank() == 1) {
      std::this_thread::sleep_for(400ms);
    }
    meet(comm, tag(2, 4));
  });
  for (auto const& error : errors) {
    CHECK_MESSAGE(
        contains(error, "rank 1 did not come to gather 'blocks.3' of step 4 within 100 ms"), error);
    CHECK_MESSAGE(contains(error, "rank 1 was last at exchange 'embed' of step 4"), error);
  }
}

TEST_CASE("all ranks that are missing are named") {
  auto const world = Local::world(4, {.stall_limit = 50ms});
  auto const errors = errors_in(world, [](local_communicator comm) {
    if (comm.rank() % 2 == 1) {
      std::this_thread::sleep_for(300ms);
    }
    meet(comm, tag(1, 0));
  });
  CHECK_MESSAGE(contains(errors[0], "ranks 1, 3 did not come to gather 'blocks.3' of step 0"),
                errors[0]);
  CHECK_MESSAGE(contains(errors[0], "rank 1 was last seen before its first collective"), errors[0]);
}

TEST_CASE("a stall limit beyond all time is no limit") {
  Local::run(2,
             [](local_communicator comm) { meet(comm, tag(1, 0)); },
             {.stall_limit = std::chrono::milliseconds::max()});
}

TEST_CASE("a rank that has left is named at once by whoever still wants it") {
  auto const start = clock::now();
  auto const errors = errors_in(Local::world(3), [](local_communicator comm) {
    meet(comm, tag(1, 8));
    if (comm.rank() == 1) {
      std::this_thread::sleep_for(10ms);
      comm.leave();
      comm.leave();  // may be said twice
      CHECK_THROWS_AS(meet(comm, tag(2, 9)), zero::logic_error);
      return;
    }
    comm.check();  // that somebody left is no failure by itself
    meet(comm, tag(2, 9));
  });
  CHECK(clock::now() - start < 1s);
  for (int const rank : {0, 2}) {
    auto const& error = errors[static_cast<std::size_t>(rank)];
    CHECK_MESSAGE(contains(error, "rank 1 left after step 8, but rank "), error);
    CHECK_MESSAGE(contains(error, "is at gather 'blocks.3' of step 9"), error);
  }
}

TEST_CASE("a rank that leaves before its first collective is named as well") {
  auto const errors = errors_in(Local::world(2), [](local_communicator comm) {
    if (comm.rank() == 1) {
      meet(comm, tag(1, 0));
    }
  });
  CHECK(errors[0].empty());
  CHECK_MESSAGE(contains(errors[1], "rank 0 left before its first collective"), errors[1]);
}

TEST_CASE("leaving after the last collective disturbs nobody who is still finishing it") {
  std::mt19937 random(5);
  for (int round = 0; round < 300; ++round) {
    int const sleeper = static_cast<int>(random() % 4);
    Local::run(4, [&](local_communicator comm) {
      int value = comm.rank();
      comm.broadcast({}, tag(1, 0), &value, sizeof value, 3);
      if (comm.rank() == sleeper) {
        std::this_thread::yield();
        comm.check();
      }
      CHECK(value == 3);
    });
  }
}

TEST_CASE("nobody returns while his buffer is being read, even when the world fails") {
  std::mt19937 random(6);
  for (int round = 0; round < 60; ++round) {
    auto const world = Local::world(4);
    auto const delay = std::chrono::microseconds(random() % 3000);
    std::thread killer([&] {
      std::this_thread::sleep_for(delay);
      world.abort(2, "killed at a random moment");
    });
    auto const errors = errors_in(world, [](local_communicator comm) {
      for (std::uint64_t i = 0; i < 1000; ++i) {
        // Freed by the unwinding: a peer that still read it would be caught by a sanitizer.
        std::vector<float> buffer(1U << 14U, 1.0F);
        std::int64_t const shard = static_cast<std::int64_t>(buffer.size()) / comm.size();
        comm.reduce_scatter({}, tag(i, 0), buffer.data(), shard, zero::dtype::fp32, 1);
        comm.all_reduce({}, tag(i, 1), buffer.data(), 1000, zero::dtype::fp32);
        comm.all_gather(
            {}, tag(i, 2), buffer.data() + comm.rank() * shard, buffer.data(), shard * 4);
      }
    });
    killer.join();
    for (auto const& error : errors) {
      CHECK_MESSAGE(contains(error, "killed at a random moment"), error);
    }
  }
}

TEST_CASE("a communicator that an exception destroys fails the world") {
  auto const errors = errors_in(Local::world(2), [](local_communicator comm) {
    if (comm.rank() == 0) {
      try {
        local_communicator const mine = std::move(comm);
        throw 1;
      } catch (int) {
        return;  // the rank goes on, its communicator does not
      }
    }
    meet(comm, tag(1, 0));
  });
  CHECK_MESSAGE(contains(errors[1], "rank 0 failed before its first collective"), errors[1]);
}

TEST_CASE("a duplicate has calls of its own") {
  Local::run(3, [](local_communicator comm) {
    local_communicator second = comm.duplicate();
    CHECK(second.rank() == comm.rank());
    CHECK(second.size() == comm.size());
    // Two threads, two communicators, in no order to each other.
    std::thread other([&] {
      for (std::uint64_t i = 0; i < 200; ++i) {
        meet(second, tag(i, 1));
      }
    });
    for (std::uint64_t i = 0; i < 100; ++i) {
      meet(comm, tag(i, 2));
    }
    other.join();
    CHECK(comm.counters()[zero::collective::all_gather].count == 100);
    CHECK(second.counters()[zero::collective::all_gather].count == 200);
  });
}

TEST_CASE("a duplicate outlives the communicator it comes from") {
  Local::run(2, [](local_communicator comm) {
    local_communicator second = comm.duplicate();
    {
      local_communicator const gone = std::move(comm);
    }
    meet(second, tag(1, 0));
  });
}

TEST_CASE("a failure reaches the duplicates of a world, and not the other way round") {
  SUBCASE("downwards") {
    auto const errors = errors_in(Local::world(2), [](local_communicator comm) {
      local_communicator second = comm.duplicate();
      if (comm.rank() == 0) {
        comm.abort("above");
      } else {
        meet(second, tag(1, 0));
      }
    });
    CHECK_MESSAGE(contains(errors[1], "rank 0 failed before its first collective: above"),
                  errors[1]);
  }
  SUBCASE("upwards") {
    Local::run(2, [](local_communicator comm) {
      local_communicator second = comm.duplicate();
      if (comm.rank() == 0) {
        second.abort("below");
      }
      meet(comm, tag(1, 0));
      CHECK_THROWS_AS(second.check(), zero::peer_error);
    });
  }
  SUBCASE("a rank that leaves before it duplicates will never come") {
    auto sleep = 0ms;
    SUBCASE("and has left already") {
      sleep = 0ms;
    }
    SUBCASE("and leaves while it is awaited") {
      sleep = 20ms;
    }
    auto const errors =
        errors_in(Local::world(2, {.stall_limit = 5s}), [sleep](local_communicator comm) {
          if (comm.rank() == 0) {
            std::this_thread::sleep_for(sleep);
            return;
          }
          std::this_thread::sleep_for(20ms - sleep);
          local_communicator second = comm.duplicate();
          meet(second, tag(1, 0));
        });
    CHECK_MESSAGE(contains(errors[1], "rank 0 left before its first collective"), errors[1]);
  }
}

TEST_CASE("misuse of a local world is refused by a sentence") {
  CHECK_THROWS_AS(static_cast<void>(Local::world(0)), zero::logic_error);
  auto const world = Local::world(2);
  CHECK_THROWS_AS(static_cast<void>(world.communicator(2)), zero::logic_error);
  CHECK_THROWS_AS(static_cast<void>(world.communicator(-1)), zero::logic_error);
  local_communicator comm = world.communicator(0);
  CHECK_THROWS_AS(static_cast<void>(world.communicator(0)), zero::logic_error);
  int value = 0;
  CHECK_THROWS_AS(comm.broadcast({}, tag(1, 0), &value, 4, 2), zero::logic_error);
  CHECK_THROWS_AS(comm.broadcast({}, tag(1, 0), &value, -1, 0), zero::logic_error);
  CHECK_THROWS_AS(comm.all_gather({}, tag(1, 0), &value, &value, -1), zero::logic_error);
  CHECK_THROWS_AS(comm.all_to_others({}, tag(1, 0), &value, 0, &value, -1), zero::logic_error);
  CHECK_THROWS_AS(comm.all_reduce({}, tag(1, 0), &value, -1, zero::dtype::fp32), zero::logic_error);
  CHECK_THROWS_AS(comm.reduce_scatter({}, tag(1, 0), &value, -1, zero::dtype::fp32, 1),
                  zero::logic_error);
  CHECK_THROWS_AS(comm.reduce_scatter({}, tag(1, 0), &value, 0, zero::dtype::fp32, 1.0 / 0.0),
                  zero::logic_error);
  CHECK_THROWS_AS(comm.end_group(), zero::logic_error);
}

TEST_CASE("a world of one rank needs no one") {
  auto const world = Local::world(1);
  local_communicator comm = world.communicator(0);
  float value = 3;
  comm.all_reduce({}, tag(1, 0), &value, 1, zero::dtype::fp32);
  comm.reduce_scatter({}, tag(2, 0), &value, 1, zero::dtype::fp32, 0.5);
  CHECK(value == 1.5F);
  CHECK(comm.counters() == zero::traffic{});
}
