// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/error.hpp>
#include <zero/plan/pass_kind.hpp>
#include <zero/version.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <utility>

namespace zero::inline ZERO_ABI {

/// One micro-step of a step: which one, of how many.
struct MicroStep {
  std::int64_t index = 0;  ///< 0 to count - 1
  std::int64_t count = 1;  ///< of the step
};

/// The micro-steps of one step, to be iterated once: `for (auto micro : engine.micro_steps(k))`.
/// Each turn is a training pass, forward and backward; the first overwrites the accumulators, the
/// last completes the reduction. The pass begins with its first lease, so that an evaluation pass
/// may come before it in the turn, or after its last lease.
///
/// The loop runs to its end: an exception that leaves it, and `break` or `return` while something
/// of it is still to come, end the run on every rank at once. Neither copied nor moved.
template <class Engine>
class MicroSteps {
 public:
  /// See `ZeroEngine::micro_steps`. The engine must not be moved while this lives. Begins nothing.
  /// @throws logic_error for a count below 1
  MicroSteps(Engine& engine, std::int64_t count)
      : engine_(&engine),
        at_{0, count},
        exceptions_(std::uncaught_exceptions()) {
    precondition(count >= 1, "zero::ZeroEngine: micro_steps needs a count of at least 1");
  }

  MicroSteps(MicroSteps const&) = delete;
  MicroSteps& operator=(MicroSteps const&) = delete;

  /// Does nothing after the end of the loop. A loop that is left before it fails on every rank: by
  /// an exception, which passes; otherwise with a sentence that names what is missing, thrown here
  /// by the next call of the engine. Leaving the last turn when its program is finished ends it.
  ~MicroSteps() {
    if (running_) {
      engine_->leave_micro_steps(at_, std::uncaught_exceptions() > exceptions_);
    }
  }

  /// The end of the loop.
  struct sentinel {};

  /// One turn of the loop; going on ends the turn's pass. Of the range that it came from.
  class iterator {
   public:
    using difference_type = std::ptrdiff_t;  ///< unused, but iterators have it
    using value_type = MicroStep;            ///< what the loop sees

    /// Stands at the turn that `steps` is in.
    explicit iterator(MicroSteps& steps)
        : steps_(&steps) {}

    /// The turn at hand.
    [[nodiscard]] MicroStep operator*() const { return steps_->at_; }

    /// Ends the turn and begins the next one, if there is one.
    /// @throws logic_error when units of the pass are left; what `step` throws after a failure
    iterator& operator++() {
      steps_->advance();
      return *this;
    }

    /// The same.
    void operator++(int) { ++*this; }

    [[nodiscard]] bool operator==(sentinel) const { return steps_->at_.index == steps_->at_.count; }

   private:
    MicroSteps* steps_;
  };

  /// Announces the first micro-step. Once only: a turn that was left cannot be taken up again.
  /// @throws logic_error inside another loop, or when a loop has ended and `step` was not called,
  ///         or the second time
  [[nodiscard]] iterator begin() {
    precondition(
        at_.index == 0,
        "zero::ZeroEngine: the same micro_steps were iterated a second time; ask the engine "
        "for new ones for each step, and let each loop come to its end");
    announce();
    running_ = true;
    return iterator(*this);
  }

  /// The end of the loop.
  [[nodiscard]] sentinel end() const { return {}; }

 private:
  void announce() {
    engine_->announce_micro_step({true, at_.index == 0, at_.index + 1 == at_.count, false});
  }

  void advance() {
    bool const last = at_.index + 1 == at_.count;
    engine_->end_micro_step(last ? at_.count : 0);
    ++at_.index;
    running_ = !last;
    if (!last) {
      announce();
    }
  }

  Engine* engine_;
  MicroStep at_;
  int exceptions_;
  bool running_ = false;
};

/// A pass that only reads parameters: the forward phase of the program, without gradients.
/// Collective in every stage: every rank makes the same number of passes. Move-only.
template <class Engine>
class EvaluationPass {
 public:
  /// See `ZeroEngine::evaluation`. The engine must not be moved while the pass is open.
  /// @throws logic_error inside a pass; the engine's failure
  explicit EvaluationPass(Engine& engine)
      : engine_(&engine),
        exceptions_(std::uncaught_exceptions()) {
    engine.begin_evaluation();
  }

  /// Takes over the pass; `other` ends nothing any more.
  EvaluationPass(EvaluationPass&& other) noexcept
      : engine_(std::exchange(other.engine_, nullptr)),
        exceptions_(other.exceptions_) {}

  EvaluationPass(EvaluationPass const&) = delete;
  EvaluationPass& operator=(EvaluationPass const&) = delete;
  EvaluationPass& operator=(EvaluationPass&&) = delete;

  /// Ends the pass. A failure is kept and thrown by the next call of the engine; while an exception
  /// unwinds, the run is abandoned on every rank instead.
  ~EvaluationPass() {
    if (engine_ == nullptr) {
      return;
    }
    if (std::uncaught_exceptions() > exceptions_) {
      engine_->abandon("an exception passed through an evaluation pass");
      return;
    }
    try {
      end();
    } catch (...) {  // the engine keeps its failures; its next call throws this one
    }
  }

  /// Opens a unit of the program's forward phase; see `ZeroEngine::forward`.
  /// @throws logic_error when the program expects something else, or after the end of the pass
  template <class Pointer>
  [[nodiscard]] auto forward(Pointer pointer, std::int64_t index = 0) {
    return engine().forward(pointer, index);
  }

  /// Goes through the rest of the program without using it: serves the gathers of ranks that have
  /// one batch more. Collective, as the leases that it stands for.
  /// @pre no lease is open
  /// @throws logic_error after the end of the pass; the engine's failure
  void follow() { engine().follow(); }

  /// Ends the pass now, if it has not ended. Collective.
  /// @throws logic_error when units are left; the engine's failure, or peer_error when another rank
  ///         failed
  void end() {
    if (engine_ != nullptr) {
      std::exchange(engine_, nullptr)->end_evaluation();
    }
  }

 private:
  [[nodiscard]] Engine& engine() const {
    if (engine_ == nullptr) {  // spelled out: g++ 12 does not look into `precondition` and warns
      throw logic_error("zero: this evaluation pass has ended; begin another one");
    }
    return *engine_;
  }

  Engine* engine_;
  int exceptions_;
};

}  // namespace zero::inline ZERO_ABI
