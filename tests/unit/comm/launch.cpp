// SPDX-License-Identifier: Apache-2.0
#include <zero/comm/launch.hpp>

#include "tests/support/ports.hpp"
#include "tests/support/rank_threads.hpp"
#include "tests/support/text.hpp"

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <map>
#include <span>
#include <string>

using namespace std::chrono_literals;
using zero::test::contains;
using zero::test::errors_of_ranks;

namespace {

using variables = std::map<std::string, std::string>;

zero::launch_environment read(variables const& values) {
  return zero::read_launch_environment([&](char const* name) -> char const* {
    auto const found = values.find(name);
    return found == values.end() ? nullptr : found->second.c_str();
  });
}

std::string error_of(variables const& values) {
  try {
    static_cast<void>(read(values));
  } catch (zero::logic_error const& error) {
    return error.what();
  }
  return "";
}

variables const torchrun{{"RANK", "3"},
                         {"WORLD_SIZE", "8"},
                         {"LOCAL_RANK", "1"},
                         {"MASTER_ADDR", "node0"},
                         {"MASTER_PORT", "29500"},
                         {"TORCHELASTIC_RUN_ID", "none"}};

variables with(variables base, std::string const& name, std::string const& value) {
  base[name] = value;
  return base;
}

variables without(variables base, std::string const& name) {
  base.erase(name);
  return base;
}

}  // namespace

TEST_CASE("the variables that torchrun sets are enough") {
  auto const result = read(torchrun);
  CHECK(result.rank == 3);
  CHECK(result.size == 8);
  CHECK(result.local_rank == 1);
  CHECK(result.address == "node0");
  CHECK(result.port == 29501);
  CHECK(result.token == "none");
  CHECK_FALSE(result.has_comm_id);
}

TEST_CASE("our own variables come first") {
  auto values = with(torchrun, "ZERO_PORT", "4000");
  values["ZERO_JOB_TOKEN"] = "mine";
  CHECK(read(values).port == 4000);
  CHECK(read(values).token == "mine");
  CHECK(read(without(values, "MASTER_PORT")).port == 4000);
}

TEST_CASE("LOCAL_RANK and the token may be missing; empty is missing") {
  CHECK(read(without(torchrun, "LOCAL_RANK")).local_rank == -1);
  CHECK(read(without(torchrun, "TORCHELASTIC_RUN_ID")).token == "");
  CHECK(read(with(torchrun, "ZERO_JOB_TOKEN", "")).token == "none");
  CHECK(read(with(torchrun, "ZERO_PORT", "")).port == 29501);
}

TEST_CASE("a world of one needs no address") {
  auto const result = read({{"RANK", "0"}, {"WORLD_SIZE", "1"}});
  CHECK(result.rank == 0);
  CHECK(result.size == 1);
}

TEST_CASE("NCCL_COMM_ID makes address and port unnecessary") {
  auto const result =
      read({{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"NCCL_COMM_ID", "127.0.0.1:4000"}});
  CHECK(result.has_comm_id);
}

TEST_CASE("what is missing or wrong is named") {
  for (char const* name : {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"}) {
    CAPTURE(name);
    CHECK(contains(error_of(without(torchrun, name)), std::string(name) + " is not set"));
  }
  CHECK(contains(error_of(with(torchrun, "RANK", "8")), "RANK is '8'"));
  CHECK(contains(error_of(with(torchrun, "RANK", "-1")), "RANK is '-1'"));
  CHECK(contains(error_of(with(torchrun, "RANK", "3x")), "RANK is '3x'"));
  CHECK(contains(error_of(with(torchrun, "RANK", " 3")), "RANK is ' 3'"));
  CHECK(contains(error_of(with(torchrun, "WORLD_SIZE", "0")), "WORLD_SIZE is '0'"));
  CHECK(contains(error_of(with(torchrun, "WORLD_SIZE", "99999999999")), "WORLD_SIZE is"));
  CHECK(contains(error_of(with(torchrun, "MASTER_PORT", "65535")), "MASTER_PORT is '65535'"));
  CHECK(contains(error_of(with(torchrun, "ZERO_PORT", "0")), "ZERO_PORT is '0'"));
  CHECK(contains(error_of(with(torchrun, "LOCAL_RANK", "?")), "LOCAL_RANK is '?'"));
}

TEST_CASE("all ranks agree on the bytes that rank 0 makes") {
  int const port = zero::test::free_port();
  std::atomic<int> made{0};
  auto const errors = errors_of_ranks(4, [&](int rank) {
    std::array<std::byte, 32> bytes{};
    zero::agree_on_bytes(
        {.rank = rank, .size = 4, .address = "127.0.0.1", .port = port},
        bytes,
        [&](std::span<std::byte> to) {
          ++made;
          to[31] = std::byte{77};
        },
        20s);
    zero::precondition(bytes[31] == std::byte{77}, "wrong bytes");
  });
  for (auto const& error : errors) {
    CHECK(error == "");
  }
  CHECK(made == 1);
}

TEST_CASE("with NCCL_COMM_ID each rank makes the bytes and nobody waits") {
  std::array<std::byte, 8> bytes{};
  zero::agree_on_bytes(
      {.rank = 1, .size = 2, .has_comm_id = true},
      bytes,
      [](std::span<std::byte> to) { to[0] = std::byte{5}; },
      1ms);
  CHECK(bytes[0] == std::byte{5});
}

TEST_CASE("a world of one makes the bytes and opens no socket") {
  std::array<std::byte, 8> bytes{};
  zero::agree_on_bytes({}, bytes, [](std::span<std::byte> to) { to[0] = std::byte{5}; }, 1ms);
  CHECK(bytes[0] == std::byte{5});
}

TEST_CASE("the process's own environment is read") {
  // The test program is started without a launcher's variables, or with all of them.
  try {
    auto const here = zero::read_launch_environment();
    CHECK(here.size >= 1);
  } catch (zero::logic_error const& error) {
    CHECK(contains(error.what(), "WORLD_SIZE is not set"));
  }
}
