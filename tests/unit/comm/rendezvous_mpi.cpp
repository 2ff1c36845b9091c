// SPDX-License-Identifier: Apache-2.0
#include <zero/comm/rendezvous_mpi.hpp>

// A program of its own, started by mpirun: every rank runs the same cases in the same order.
#define DOCTEST_CONFIG_IMPLEMENT
#include "tests/support/text.hpp"

#include <zero/core/error.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdio>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

using zero::rendezvous_by_mpi;
using zero::test::contains;

namespace {

struct world {
  int rank = -1;
  int size = -1;

  world() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
  }
};

/// Fills all bytes with a number.
auto number(int value) {
  return [value](std::span<std::byte> bytes) {
    for (auto& b : bytes) {
      b = static_cast<std::byte>(value);
    }
  };
}

template <class F>
std::string refusal(F&& f) {
  try {
    f();
  } catch (zero::logic_error const& error) {
    return error.what();
  }
  return "";
}

/// What is refused where MPI does not run, on any communicator.
std::string refusal_outside() {
  std::array<std::byte, 1> bytes{};
  return refusal([&] { rendezvous_by_mpi(MPI_COMM_WORLD, bytes, number(1)); });
}

}  // namespace

TEST_CASE("all ranks have rank 0's bytes, and know their place") {
  world const here;
  for (std::size_t const n : {0, 1, 128, 100'003}) {
    std::vector<std::byte> bytes(n, std::byte{0xEE});
    int calls = 0;
    auto const place = rendezvous_by_mpi(MPI_COMM_WORLD, bytes, [&](std::span<std::byte> to) {
      ++calls;
      CHECK(to.size() == n);
      number(7)(to);
    });
    CHECK(place.rank == here.rank);
    CHECK(place.size == here.size);
    CHECK(calls == (here.rank == 0 ? 1 : 0));
    bool const same = bytes == std::vector<std::byte>(n, std::byte{7});
    CHECK(same);
  }
}

TEST_CASE("ranks and size are those of the user's communicator, in its order") {
  world const here;
  // The ranks backwards; and each parity by itself.
  MPI_Comm backwards = MPI_COMM_NULL;
  MPI_Comm parity = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, 0, -here.rank, &backwards);
  MPI_Comm_split(MPI_COMM_WORLD, here.rank % 2, here.rank, &parity);
  std::array<std::byte, 64> bytes{};
  auto place = rendezvous_by_mpi(backwards, bytes, number(here.rank));
  CHECK(place.rank == here.size - 1 - here.rank);
  CHECK(bytes[63] == static_cast<std::byte>(here.size - 1));
  place = rendezvous_by_mpi(parity, bytes, number(10 + here.rank));
  CHECK(place.rank == here.rank / 2);
  CHECK(place.size == (here.size + 1 - here.rank % 2) / 2);
  CHECK(bytes[63] == static_cast<std::byte>(10 + here.rank % 2));
  MPI_Comm_free(&backwards);
  MPI_Comm_free(&parity);
}

TEST_CASE("what the user has under way on his communicator stays apart") {
  world const here;
  // Messages to anyone with any tag, and a broadcast that only ends after the rendezvous.
  int sent = 100 + here.rank;
  int received = -1;
  int shared = here.rank == 0 ? 42 : -1;
  std::array<MPI_Request, 3> pending{};
  MPI_Irecv(&received, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, pending.data());
  MPI_Ibcast(&shared, 1, MPI_INT, 0, MPI_COMM_WORLD, pending.data() + 1);
  std::array<std::byte, 128> bytes{};
  rendezvous_by_mpi(MPI_COMM_WORLD, bytes, number(9));
  CHECK(bytes[127] == std::byte{9});
  int const to = (here.rank + 1) % here.size;
  MPI_Isend(&sent, 1, MPI_INT, to, 5, MPI_COMM_WORLD, pending.data() + 2);
  MPI_Waitall(3, pending.data(), MPI_STATUSES_IGNORE);
  CHECK(received == 100 + (here.rank + here.size - 1) % here.size);
  CHECK(shared == 42);
}

TEST_CASE("where rank 0 fails, all do, each with its own error, and may meet again") {
  world const here;
  std::array<std::byte, 16> bytes{};
  auto const fail = [](std::span<std::byte>) { throw std::runtime_error("no entropy"); };
  if (here.rank == 0) {
    CHECK_THROWS_WITH_AS(
        rendezvous_by_mpi(MPI_COMM_WORLD, bytes, fail), "no entropy", std::runtime_error);
  } else {
    try {
      rendezvous_by_mpi(MPI_COMM_WORLD, bytes, fail, "the caller");
      FAIL("no exception");
    } catch (zero::peer_error const& error) {
      CHECK(contains(error.what(), "the caller: rank 0 could not make what it was to bring"));
      CHECK(error.rank() == 0);
    }
  }
  rendezvous_by_mpi(MPI_COMM_WORLD, bytes, number(3));
  CHECK(bytes[15] == std::byte{3});
}

TEST_CASE("many rendezvous leave no communicator behind") {
  std::array<std::byte, 1> bytes{};
  int const rounds = world().size == 1 ? 70'000 : 10;  // MPI has some 2^16 of them
  for (int i = 0; i < rounds; ++i) {
    rendezvous_by_mpi(MPI_COMM_SELF, bytes, number(1));
  }
  CHECK(bytes[0] == std::byte{1});
}

TEST_CASE("errors of the duplicate are returned, whatever the user has asked for on his own") {
  zero::detail::mpi_duplicate const ours(MPI_COMM_WORLD);
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  MPI_Comm_get_errhandler(MPI_COMM_WORLD, &handler);
  CHECK(handler == MPI_ERRORS_ARE_FATAL);
  MPI_Errhandler_free(&handler);
  int value = 0;
  int const no_rank = world().size;
  CHECK_THROWS_AS(
      zero::detail::check_mpi(MPI_Bcast(&value, 1, MPI_INT, no_rank, ours.get()), "MPI_Bcast"),
      zero::io_error);
}

TEST_CASE("a communicator that cannot serve is refused by a sentence") {
  world const here;
  std::array<std::byte, 1> bytes{};
  CHECK(refusal([&] { rendezvous_by_mpi(MPI_COMM_NULL, bytes, number(1)); }) ==
        "zero::rendezvous_by_mpi: needs a communicator, not MPI_COMM_NULL");
  if (here.size >= 2) {
    MPI_Comm half = MPI_COMM_NULL;
    MPI_Comm both = MPI_COMM_NULL;
    int const side = here.rank == 0 ? 0 : 1;
    MPI_Comm_split(MPI_COMM_WORLD, side, here.rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - side, 1, &both);
    CHECK(refusal([&] { rendezvous_by_mpi(both, bytes, number(1), "the caller"); }) ==
          "the caller: needs an intra-communicator; MPI_Intercomm_merge makes one");
    MPI_Comm_free(&both);
    MPI_Comm_free(&half);
  }
}

TEST_CASE("an error that MPI returns is thrown with its text") {
  try {
    zero::detail::check_mpi(MPI_ERR_COUNT, "MPI_Bcast");
    FAIL("no exception");
  } catch (zero::io_error const& error) {
    CHECK(error.code() == MPI_ERR_COUNT);
    CHECK(contains(error.what(), "MPI_Bcast"));
    CHECK(contains(error.what(), "MPI_ERR_COUNT"));
  }
}

int main(int argc, char** argv) {
  std::string const before = refusal_outside();
  MPI_Init(&argc, &argv);
  int failed = doctest::Context(argc, argv).run();
  MPI_Finalize();
  std::string const after = refusal_outside();
  if (before != "zero::rendezvous_by_mpi: call MPI_Init before" ||
      after != "zero::rendezvous_by_mpi: call it before MPI_Finalize") {
    std::printf("where MPI does not run: '%s', '%s'\n", before.c_str(), after.c_str());
    failed = 1;
  }
  return failed;
}
