// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/comm/rendezvous.hpp>
#include <zero/comm/rendezvous_tcp.hpp>
#include <zero/core/error.hpp>
#include <zero/version.hpp>

#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace zero::inline ZERO_ABI {

/// What a launcher tells one process of a job through its environment.
///
/// | variable | field |
/// |---|---|
/// | `RANK`, `WORLD_SIZE` | `rank`, `size`; both required |
/// | `LOCAL_RANK` | `local_rank`; -1 when it is not set |
/// | `MASTER_ADDR` | `address`: the machine of rank 0; required when `size` > 1 |
/// | `ZERO_PORT`, else `MASTER_PORT` + 1 | `port`; one is required when `size` > 1. torchrun's own
/// store holds `MASTER_PORT` | | `ZERO_JOB_TOKEN`, else `TORCHELASTIC_RUN_ID` | `token`; empty when
/// neither is set | | `NCCL_COMM_ID` | `has_comm_id`: the ranks meet where NCCL says, without us |
///
/// torchrun sets all it needs. Under srun the user's script exports them:
/// `export RANK=$SLURM_PROCID WORLD_SIZE=$SLURM_NTASKS LOCAL_RANK=$SLURM_LOCALID`, `MASTER_ADDR`
/// the first host of the job, `ZERO_PORT` a free port there, `ZERO_JOB_TOKEN=$SLURM_JOB_ID`.
struct launch_environment {
  int rank = 0;              ///< of this process
  int size = 1;              ///< number of ranks
  int local_rank = -1;       ///< among those of this machine; -1 where nothing says
  std::string address{};     ///< of the host where the ranks meet
  int port = 0;              ///< there; 0 where nothing says
  std::string token{};       ///< of the job, so that strangers are turned away
  bool has_comm_id = false;  ///< the ranks meet where `NCCL_COMM_ID` says
};

namespace detail {

/// One variable as a number from `least` to `most`. @throws logic_error naming the variable
[[nodiscard]] inline int parse_variable(char const* name, char const* text, int least, int most) {
  std::string_view const digits(text);
  int value = 0;
  auto const [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (code != std::errc{} || end != digits.data() + digits.size() || value < least ||
      value > most) {
    throw logic_error("zero::launch: " + std::string(name) + " is '" + text +
                      "'; set it to a whole number from " + std::to_string(least) + " to " +
                      std::to_string(most));
  }
  return value;
}

}  // namespace detail

/// The token of this job: `ZERO_JOB_TOKEN`, else `TORCHELASTIC_RUN_ID`, else empty.
/// @param get see `read_launch_environment`
template <class Get>
[[nodiscard]] std::string read_job_token(Get&& get) {
  for (char const* const name : {"ZERO_JOB_TOKEN", "TORCHELASTIC_RUN_ID"}) {
    char const* const text = get(name);
    if (text != nullptr && *text != '\0') {
      return text;
    }
  }
  return {};
}

/// The token of this job, from this process's environment.
[[nodiscard]] inline std::string read_job_token() {
  return read_job_token([](char const* name) -> char const* { return std::getenv(name); });
}

/// Reads the launcher's variables; sets none.
///
/// @param get how to read one: takes its name, returns its text or null; `std::getenv` by default
/// @throws logic_error naming the variable that is missing or wrong, and what to set
template <class Get>
[[nodiscard]] launch_environment read_launch_environment(Get&& get) {
  constexpr int most_ranks = 1 << 24;
  constexpr int last_port = 65535;
  auto const required = [&](char const* name) -> char const* {
    char const* const text = get(name);
    if (text == nullptr || *text == '\0') {
      throw logic_error("zero::launch: the environment variable " + std::string(name) +
                        " is not set; start the ranks with torchrun, or export RANK, WORLD_SIZE, "
                        "LOCAL_RANK, MASTER_ADDR and ZERO_PORT in your script");
    }
    return text;
  };
  auto const set = [&](char const* name) -> char const* {
    char const* const text = get(name);
    return text == nullptr || *text == '\0' ? nullptr : text;
  };

  launch_environment result;
  result.size = detail::parse_variable("WORLD_SIZE", required("WORLD_SIZE"), 1, most_ranks);
  result.rank = detail::parse_variable("RANK", required("RANK"), 0, result.size - 1);
  if (char const* const text = set("LOCAL_RANK")) {
    result.local_rank = detail::parse_variable("LOCAL_RANK", text, 0, most_ranks);
  }
  result.token = read_job_token(get);
  result.has_comm_id = set("NCCL_COMM_ID") != nullptr;
  if (result.size > 1 && !result.has_comm_id) {
    result.address = required("MASTER_ADDR");
    if (char const* const text = set("ZERO_PORT")) {
      result.port = detail::parse_variable("ZERO_PORT", text, 1, last_port);
    } else {
      result.port =
          1 + detail::parse_variable("MASTER_PORT", required("MASTER_PORT"), 0, last_port - 1);
    }
  }
  return result;
}

/// Reads the launcher's variables from this process's environment.
/// @throws logic_error naming the variable that is missing or wrong, and what to set
[[nodiscard]] inline launch_environment read_launch_environment() {
  return read_launch_environment([](char const* name) -> char const* { return std::getenv(name); });
}

/// Brings all ranks of a job to the same bytes, e.g. the identifier of a communicator.
///
/// Rank 0 makes them and hands them to the others by `rendezvous_by_tcp`. Where `NCCL_COMM_ID` is
/// set the ranks meet where it says: each makes the bytes itself and nothing is sent. Collective.
///
/// @param environment what `read_launch_environment` has returned
/// @param bytes       receives the bytes; the same number on all ranks
/// @param make        fills its argument, a `std::span<std::byte>`
/// @param limit       the longest wait for the other ranks
/// @throws io_error, logic_error see `rendezvous_by_tcp`
template <class Make>
void agree_on_bytes(launch_environment const& environment,
                    std::span<std::byte> bytes,
                    Make&& make,
                    std::chrono::nanoseconds limit = std::chrono::seconds(120)) {
  if (environment.rank == 0 || environment.has_comm_id) {
    make(bytes);
  }
  if (!environment.has_comm_id && environment.size > 1) {
    rendezvous_by_tcp({.rank = environment.rank,
                       .size = environment.size,
                       .token = environment.token,
                       .limit = limit},
                      environment.address,
                      environment.port,
                      bytes);
  }
}

}  // namespace zero::inline ZERO_ABI
