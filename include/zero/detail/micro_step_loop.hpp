// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/plan/pass_kind.hpp>
#include <zero/version.hpp>

#include <cstdint>
#include <exception>
#include <string>
#include <utility>

namespace zero::inline ZERO_ABI::detail {

/// Where an engine is in the loop over the micro-steps of a step, and how many are ready for the
/// step. A micro-step's pass begins with its first lease and may end before its turn does, so that
/// evaluation passes find a place in the turn.
/// @tparam Core  passes and failures; see `engine_core`
template <class Core>
class micro_step_loop {
 public:
  explicit micro_step_loop(Core& core)
      : core_(&core) {}

  /// A turn begins whose training pass will be `pass`.
  void announce(pass_kind pass) {
    core_->check();
    if (state_ != state::none) {
      core_->fail_misuse(
          "a loop over micro-steps began inside another one; end the first one before it");
    }
    if (ready_ > 0) {
      core_->fail_misuse(
          "a second loop over micro-steps began before step; call step after each loop");
    }
    state_ = state::announced;
    pass_ = pass;
  }

  /// Begins the pass of the turn, if it has not begun: the first lease is to come.
  void begin_pass() {
    if (state_ == state::announced && !core_->in_pass()) {
      core_->begin_pass(pass_);
      state_ = state::running;
    }
  }

  /// Ends the pass of the turn, if no lease is to come.
  void complete_pass() {
    if (state_ == state::running && core_->cursor().finished()) {
      core_->end_pass();
      state_ = state::complete;
    }
  }

  /// Ends a turn; `completed` micro-steps are ready for the step, 0 if others are to come.
  void end_turn(std::int64_t completed) {
    begin_pass();
    complete_pass();
    if (core_->in_pass()) {
      core_->end_pass();  // says what is missing
      core_->fail_misuse("a micro-step ended inside an evaluation pass; end that pass first");
    }
    state_ = state::none;
    ready_ = completed;
    ended_ += completed;
  }

  /// The loop was left in turn `index` of `count`, by an exception or otherwise. Where nothing is
  /// missing it has come to its end.
  void leave(std::int64_t index, std::int64_t count, bool unwinding) noexcept {
    try {
      auto const turn = "micro-step " + std::to_string(index + 1) + " of " + std::to_string(count);
      if (unwinding) {
        core_->abandon("an exception passed through " + turn);
      } else if (index + 1 == count && is_pass_finished()) {
        end_turn(count);
      } else {
        core_->fail_misuse("the loop over the micro-steps was left in " + turn + ", but " +
                           missing(index, count) +
                           " was expected; let the loop come to its end, with engine.skip where "
                           "there is no work");
      }
    } catch (...) {
      core_->keep(std::current_exception());  // for the next call; the others know
    }
    state_ = state::none;
  }

  /// Refuses a call that has no place inside the loop.
  void expect_none(char const* call) {
    core_->check();
    if (state_ != state::none) {
      core_->fail_misuse(std::string(call) +
                         " was called inside the loop over the micro-steps; call it after the loop "
                         "has come to its end");
    }
  }

  /// The micro-steps that are ready for a step, which takes them.
  [[nodiscard]] std::int64_t take() { return std::exchange(ready_, 0); }

  /// So many are ready, and none has ended: before a capture.
  void restart(std::int64_t ready) {
    ready_ = ready;
    ended_ = 0;
  }

  /// Micro-steps of whole loops since `restart`.
  [[nodiscard]] std::int64_t ended() const { return ended_; }

 private:
  enum class state : std::uint8_t { none, announced, running, complete };

  [[nodiscard]] bool is_pass_finished() const {
    return state_ == state::complete ? !core_->in_pass()
                                     : state_ == state::running && core_->cursor().finished();
  }

  /// What a turn still waits for, in words.
  [[nodiscard]] std::string missing(std::int64_t index, std::int64_t count) const {
    if (core_->in_pass() && !core_->cursor().finished()) {
      return core_->cursor().describe_next();
    }
    auto const& tokens = core_->plan().program.forward;
    if (state_ == state::announced && !tokens.empty()) {
      return core_->cursor().describe(tokens.front());
    }
    return index + 1 < count ? "micro-step " + std::to_string(index + 2)
                             : std::string("the end of the pass");
  }

  Core* core_;
  std::int64_t ready_ = 0;
  std::int64_t ended_ = 0;
  state state_ = state::none;
  pass_kind pass_{};
};

}  // namespace zero::inline ZERO_ABI::detail
