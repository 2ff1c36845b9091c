// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/error.hpp>

#include <climits>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

namespace zero::test {

/// Whether this process was started by `run_workers`: test cases that are one rank's part run only
/// there. Use it as `TEST_CASE("worker: ..." * doctest::skip(!is_worker()))`.
[[nodiscard]] inline bool is_worker() {
  return std::getenv("ZERO_TEST_WORKERS") != nullptr;
}

/// A directory that the workers of one run share.
[[nodiscard]] inline std::filesystem::path worker_directory() {
  char const* const path = std::getenv("ZERO_TEST_WORKERS");
  precondition(path != nullptr, "a worker's test case runs in a worker");
  return path;
}

/// To be called at the end of a worker's test case: a worker that never came here has not passed.
inline void worker_passed() {
  std::ofstream(worker_directory() / (std::string("passed.") + std::getenv("RANK"))) << "passed\n";
}

/// Runs one test case of this program in `n` processes, by tests/gpu/run_processes.
///
/// @param test_case  its name; "worker: ..." by custom
/// @param gpu_each   one GPU a process; otherwise all share GPU 0
/// @return whether all of them ended well and came to their end
[[nodiscard]] inline bool run_workers(std::string const& test_case, int n, bool gpu_each = false) {
  std::string directory = std::filesystem::temp_directory_path() / "zero-workers-XXXXXX";
  precondition(::mkdtemp(directory.data()) != nullptr, "no temporary directory");
  std::string program(PATH_MAX, '\0');
  auto const length = ::readlink("/proc/self/exe", program.data(), program.size());
  program.resize(length < 0 ? 0 : static_cast<std::size_t>(length));
  char const* const given = std::getenv("ZERO_RUN_PROCESSES");
  std::string const launcher =
      given != nullptr
          ? given
          : std::filesystem::path(__FILE__).parent_path().parent_path() / "gpu/run_processes";

  std::string const command = "ZERO_TEST_WORKERS='" + directory + "' '" + launcher +
                              "' --limit 240 " + (gpu_each ? "--gpu-each " : "") +
                              std::to_string(n) + " '" + program + "' --test-case='" + test_case +
                              "'";
  int const status = std::system(command.c_str());
  auto const passed = std::distance(std::filesystem::directory_iterator(directory), {});
  std::filesystem::remove_all(directory);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 && passed == n;
}

}  // namespace zero::test
