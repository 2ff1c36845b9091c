// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/error.hpp>
#include <zero/plan/schedule.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <utility>

namespace zero {

/// One micro-step of a step: which one, of how many.
struct MicroStep {
  std::int64_t index = 0;  ///< 0 to count - 1
  std::int64_t count = 1;  ///< of the step
};

/// The micro-steps of one step, to be iterated once: `for (auto micro : engine.micro_steps(k))`.
/// Each turn is a training pass, forward and backward; the first overwrites the accumulators, the
/// last completes the reduction. The pass begins with its first lease, so that an evaluation pass
/// may come before it in the turn, or after its last lease.
template <class Engine>
class MicroSteps {
 public:
  /// See `ZeroEngine::micro_steps`. The engine must not be moved while this is iterated over.
  MicroSteps(Engine& engine, std::int64_t count)
      : engine_(&engine),
        count_(count) {
    expects(count >= 1, "zero::ZeroEngine: micro_steps needs a count of at least 1");
  }

  /// The end of the loop.
  struct sentinel {};

  /// One turn of the loop; going on ends the turn's pass.
  class iterator {
   public:
    using difference_type = std::ptrdiff_t;  ///< unused, but iterators have it
    using value_type = MicroStep;            ///< what the loop sees

    /// Begins the first turn of `count`.
    iterator(Engine& engine, std::int64_t count)
        : engine_(&engine),
          at_{0, count} {
      begin();
    }

    /// The turn at hand.
    [[nodiscard]] MicroStep operator*() const { return at_; }

    /// Ends the turn and begins the next one, if there is one.
    iterator& operator++() {
      engine_->end_micro_step(at_.index + 1 == at_.count ? at_.count : 0);
      if (++at_.index < at_.count) {
        begin();
      }
      return *this;
    }

    /// The same.
    void operator++(int) { ++*this; }

    [[nodiscard]] bool operator==(sentinel) const { return at_.index == at_.count; }

   private:
    void begin() {
      engine_->announce_micro_step({true, at_.index == 0, at_.index + 1 == at_.count, false});
    }

    Engine* engine_;
    MicroStep at_;
  };

  /// Announces the first micro-step.
  [[nodiscard]] iterator begin() { return iterator(*engine_, count_); }

  /// The end of the loop.
  [[nodiscard]] sentinel end() const { return {}; }

 private:
  Engine* engine_;
  std::int64_t count_;
};

/// A pass that only reads parameters: the forward phase of the program, without gradients.
/// Collective in every stage: every rank makes the same number of passes. Move-only.
template <class Engine>
class EvaluationPass {
 public:
  /// See `ZeroEngine::evaluation`. The engine must not be moved while the pass is open.
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
  /// one batch more.
  /// @pre no lease is open
  /// @throws logic_error after the end of the pass
  void follow() { engine().follow(); }

  /// Ends the pass now.
  /// @throws logic_error when units are left; peer_error when another rank failed.
  void end() {
    if (engine_ != nullptr) {
      std::exchange(engine_, nullptr)->end_evaluation();
    }
  }

 private:
  [[nodiscard]] Engine& engine() const {
    expects(engine_ != nullptr, "zero: this evaluation pass has ended; begin another one");
    return *engine_;
  }

  Engine* engine_;
  int exceptions_;
};

}  // namespace zero
