// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/error.hpp>
#include <zero/core/queue.hpp>
#include <zero/detail/operation_context.hpp>
#include <zero/detail/program_cursor.hpp>
#include <zero/model/program.hpp>
#include <zero/optim/step_control.hpp>
#include <zero/plan/operation.hpp>
#include <zero/plan/pass_kind.hpp>
#include <zero/plan/plan.hpp>
#include <zero/plan/race_checker.hpp>
#include <zero/plan/segment.hpp>
#include <zero/plan/wait_tracker.hpp>
#include <zero/trace/ranges.hpp>
#include <zero/trace/recorder.hpp>
#include <zero/version.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <utility>
#include <vector>

namespace zero::inline ZERO_ABI::detail {

/// Runs the segments of a plan: for each operation wait, run, signal. Follows user code through the
/// program, and turns any failure into one that every rank learns of.
///
/// @tparam Device      queues and events
/// @tparam Operations  the bodies; see `operations`
/// @tparam Communicator  told of failures
template <class Device, class Operations, class Communicator>
class executor {
 public:
  using stream = typename Device::stream_type;

  executor(execution_plan const& plan,
           Device& device,
           Operations& bodies,
           Communicator& communicator,
           std::vector<std::string> unit_names)
      : plan_(&plan),
        device_(&device),
        bodies_(&bodies),
        communicator_(&communicator),
        cursor_(std::move(unit_names)),
        tracker_(race_checker::index_for(plan)),
        visits_(plan.layout.units.size()) {}

  /// Starts a pass. @throws logic_error inside a pass.
  void begin(pass_kind pass) {
    check();
    if (in_pass()) {
      fail_misuse("a pass was begun inside a pass; end the first one");
    }
    pass.fresh = fresh_;
    fresh_ = false;
    pass_index_ = static_cast<std::uint8_t>(index_of(pass));
    pass_ = pass;
    segment_ = &plan_->passes[pass_index_];
    cursor_.begin(segment_->tokens);
    issue_point(0);
  }

  /// The operations of the pass at hand.
  [[nodiscard]] segment const& segment_at_hand() const { return *segment_; }

  /// Passes one open or close of user code and returns the acquire or release that stands there.
  operation const& pass_token(program_token const& token) {
    check();
    if (!in_pass()) {
      fail_misuse(
          "'" + std::string(cursor_.unit_name(token.unit)) +
          "' was used outside a pass; open units in the loop over engine.micro_steps(k) or in an "
          "engine.evaluation()");
    }
    if (!cursor_.awaits(token)) {
      fail_misuse(cursor_.describe(token) + " was asked for, but " + cursor_.describe_next() +
                  " was expected");
    }
    auto const point = static_cast<std::size_t>(cursor_.position()) + 1;
    cursor_.advance();
    auto& current = visits_[static_cast<std::size_t>(token.unit)];
    if (!token.open) {
      end_visit(current);
    }
    issue_point(point);
    check();  // a wait for a peer that failed has returned with nothing to show
    if (token.open) {
      begin_visit(current, token);
    }
    return segment_->at(point).front();
  }

  /// Records operations and visits from now on; null: no more. The recorder must outlive that.
  void record_timeline(timeline_recorder<stream>* recorder) {
    timeline_ = recorder;
    for (auto& v : visits_) {
      v.entry = -1;  // a number of the recorder before
    }
  }

  /// The operation that the next token will issue first; what an open is about to use.
  [[nodiscard]] operation const& next_operation() const {
    return segment_->at(static_cast<std::size_t>(cursor_.position()) + 1).front();
  }

  /// Ends a pass. @throws logic_error when the program is not finished.
  void end() {
    check();
    if (!in_pass()) {
      fail_misuse("a pass was ended outside a pass");
    }
    if (!cursor_.finished()) {
      fail_misuse("the pass ended, but " + cursor_.describe_next() +
                  " was expected; visit every unit, by engine.skip where there is no work");
    }
    issue_point(segment_->tokens.size() + 1);
    cursor_.end();
  }

  /// Runs the step segment as step number `step`.
  void step(std::int64_t step, step_control const& control) {
    step_ = step;
    control_ = control;
    segment_ = &plan_->step;
    pass_index_ = pass_kinds;
    issue_point(0);
    fresh_ = true;
    if (!capturing_) {
      complete(step);
    }
    check();
  }

  /// `steps` have been made before; they are complete.
  void restarted(std::int64_t steps) {
    step_ = steps;
    completed_ = steps;
  }

  /// The latest step that was issued whole, and none of whose operations was dropped after a
  /// failure. To be read when the queues are empty.
  [[nodiscard]] std::int64_t completed() const { return completed_; }

  [[nodiscard]] bool capturing() const { return capturing_; }

  /// The step that what is issued now belongs to: the one that a training pass prepares, else the
  /// latest; 1 is the first.
  [[nodiscard]] std::int64_t step_at_hand() const {
    return in_pass() && pass_.train ? step_ + 1 : step_;
  }

  [[nodiscard]] bool in_pass() const { return cursor_.active(); }

  [[nodiscard]] program_cursor const& cursor() const { return cursor_; }

  /// A sequence number for a collective outside the plan.
  [[nodiscard]] std::uint64_t next_sequence() { return ++sequence_; }

  /// What is issued from now on is captured and replayed later: the first pass publishes, whatever
  /// ran before, and the step's numbers are read from where they are written before each replay.
  void begin_capture() {
    tracker_.join();
    fresh_before_capture_ = fresh_;
    step_before_capture_ = step_;
    fresh_ = true;
    capturing_ = true;
  }

  /// Back to issuing. Nothing that was captured has run.
  void end_capture() {
    tracker_.join();
    fresh_ = fresh_before_capture_;
    step_ = step_before_capture_;
    capturing_ = false;
  }

  /// A captured step has run as step number `step`: the next pass publishes.
  void replayed(std::int64_t step) {
    tracker_.join();
    step_ = step;
    fresh_ = true;
    complete(step);
  }

  /// The queues are empty: nothing that was recorded needs a wait any more.
  void joined() { tracker_.join(); }

  /// Parameters changed outside a step: nothing has to be published.
  void published() { fresh_ = false; }

  /// Rethrows the first failure of this rank or, as peer_error, of another.
  void check() {
    device_->check();
    communicator_->check();
  }

  /// Makes this rank and, through the communicator, all others fail with `why`.
  void abandon(std::exception_ptr failure, std::string const& why) noexcept {
    device_->fail(std::move(failure));
    try {
      communicator_->abort(why);
    } catch (...) {  // the text could not be built; the others learn it from the leaving handshake
    }
  }

  /// The text of a failure: which rank, which step, what.
  [[nodiscard]] std::string sentence(std::string const& what) const {
    return "zero: rank " + std::to_string(communicator_->rank()) + ", step " +
           std::to_string(step_at_hand()) + ": " + what;
  }

  /// Fails everywhere with a sentence about a wrong call, and throws it here.
  [[noreturn]] void fail_misuse(std::string const& what) {
    auto const text = sentence(what + ".");
    logic_error error(text);
    abandon(std::make_exception_ptr(error), text);
    throw error;
  }

 private:
  /// Notes a step behind its last operation, on the queue of the updates.
  void complete(std::int64_t step) {
    device_->enqueue(queue::compute, [completed = &completed_, step](auto) { *completed = step; });
  }

  void issue_point(std::size_t point) {
    for (auto const& op : segment_->at(point)) {
      issue(op);
    }
  }

  void issue(operation const& op) {
    auto const q = queue_of(op.kind, plan_->config.world);
    tracker_.before(op, q, [&](access const&, queue, std::int32_t event) {
      device_->wait(q, event);
      return true;
    });
    if (op.kind != operation_kind::acquire && op.kind != operation_kind::release) {
      operation_context context;
      context.sequence = ++sequence_;
      context.step = step_at_hand();
      context.pass = pass_index_;
      context.unit_name = cursor_.unit_name(op.unit);
      context.control_is_set = capturing_;
      profiler_range const range(name(op.kind), context.unit_name);
      auto const number = begin_entry(name(op.kind), context.unit_name, q);
      device_->enqueue(q, [bodies = bodies_, op, context, control = control_](auto s) {
        bodies->run(op, context, control, s);
      });
      end_entry(number);
    }
    tracker_.after(op, q, [&](std::int32_t event) { device_->record(q, event); });
  }

  /// What a profiler and a timeline know of a lease that is open.
  struct visit {
    std::int64_t entry = -1;
    std::uint64_t range = 0;
  };

  void begin_visit(visit& v, program_token const& token) {
    auto const* const what = token.ph == phase::forward ? "forward" : "backward";
    auto const* const unit = cursor_.unit_name(token.unit);
    v.range = start_profiler_range(what, unit);
    v.entry = begin_entry(what, unit, queue::compute);
  }

  void end_visit(visit& v) {
    end_entry(std::exchange(v.entry, -1));
    end_profiler_range(std::exchange(v.range, 0));
  }

  [[nodiscard]] std::int64_t begin_entry(char const* what, char const* unit, queue row) {
    return timeline_ == nullptr || capturing_
               ? -1
               : timeline_->begin(*device_, {what, unit, row, step_at_hand(), false});
  }

  void end_entry(std::int64_t number) {
    if (timeline_ != nullptr) {
      timeline_->end(*device_, number);
    }
  }

  execution_plan const* plan_;
  Device* device_;
  Operations* bodies_;
  Communicator* communicator_;
  program_cursor cursor_;
  wait_tracker tracker_;
  segment const* segment_ = nullptr;
  pass_kind pass_{};
  std::uint8_t pass_index_ = 0;
  bool fresh_ = false;
  bool fresh_before_capture_ = false;
  std::int64_t step_before_capture_ = 0;
  bool capturing_ = false;
  std::int64_t step_ = 0;
  std::int64_t completed_ = 0;
  std::uint64_t sequence_ = 0;
  step_control control_{};
  std::vector<visit> visits_;  // of each unit, while its lease is open
  timeline_recorder<stream>* timeline_ = nullptr;
};

}  // namespace zero::inline ZERO_ABI::detail
