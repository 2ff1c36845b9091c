// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "allocation_count.hpp"
#include "new_file.hpp"
#include "options.hpp"

#include <zero/trace/timeline.hpp>

#include <cstdint>
#include <string>

namespace train_gpt {

/// Records when the operations of a rank's last steps ran, for `--timeline`. A figure of its own:
/// time stamps cost a little, and rank 0 alone takes them.
template <class Engine>
class step_timeline {
 public:
  /// The engine must outlive this.
  step_timeline(Engine& engine, options const& chosen)
      : engine_(engine),
        path_(engine.rank() == 0 ? chosen.timeline : std::string()),
        first_(chosen.steps > steps ? chosen.steps - steps : 0) {}

  /// To be called before each step.
  void before_step(std::int64_t step) {
    if (!path_.empty() && step == first_) {
      uncounted_allocations const scope;
      engine_.start_timeline();
    }
  }

  /// Writes the file. After the last step. @throws std::runtime_error
  void write() {
    if (!path_.empty()) {
      std::string const text = zero::trace_json(engine_.stop_timeline(), engine_.rank());
      new_file file(path_);
      file.write(text.data(), text.size());
      file.commit();
    }
  }

 private:
  static constexpr std::int64_t steps = 3;

  Engine& engine_;
  std::string path_;  ///< empty: nothing is recorded
  std::int64_t first_;
};

}  // namespace train_gpt
