// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/comm/concepts.hpp>
#include <zero/core/error.hpp>
#include <zero/detail/captured_steps.hpp>
#include <zero/detail/control_block.hpp>
#include <zero/detail/engine_types.hpp>
#include <zero/detail/executor.hpp>
#include <zero/detail/fill.hpp>
#include <zero/detail/open_gradients.hpp>
#include <zero/detail/plan_comparison.hpp>
#include <zero/detail/pool_memory.hpp>
#include <zero/detail/rank_exchange.hpp>
#include <zero/detail/registered_pools.hpp>
#include <zero/detail/step_digest.hpp>
#include <zero/detail/step_ledger.hpp>
#include <zero/detail/step_memory.hpp>
#include <zero/detail/tensor_binding.hpp>
#include <zero/options.hpp>
#include <zero/plan/digest.hpp>
#include <zero/plan/plan.hpp>
#include <zero/plan/transfers.hpp>
#include <zero/version.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace zero::inline ZERO_ABI::detail {

/// What an engine does, without the type of the user's container: memory, schedule, leases by unit
/// number, steps and results. Every public call of the engine ends here.
template <class Types>
class engine_core {
 public:
  using device_type = typename Types::device;
  using kernels = typename device_type::kernels;
  using communicator_type = typename Types::communicator;
  using optimizer = typename Types::optimizer;
  using parameter_type = typename Types::parameter_type;
  using stream = typename device_type::stream_type;

  /// Collective: zeroes the pools, loads the kernels, compares the plan's digest over the ranks,
  /// runs each collective once; ends with a barrier.
  template <class... DeviceArguments>
  engine_core(execution_plan plan,
              bound_model model,
              communicator_type communicator,
              engine_options<optimizer> const& options,
              bool loss_scaling,
              DeviceArguments&&... device_arguments)
      : plan_(std::move(plan)),
        model_(std::move(model)),
        options_(options),
        communicator_(std::move(communicator)),
        device_(race_checker::index_for(plan_).events(),
                std::forward<DeviceArguments>(device_arguments)...),
        memory_(shared_device(), plan_, communicator_.rank()),
        step_memory_(control_block<optimizer>(memory_.base(pool::control), plan_), device_),
        bodies_(memory_, step_memory_.control(), communicator_, options.stress.poison),
        executor_(plan_, device_, bodies_, communicator_, model_.unit_names),
        binding_(plan_, memory_, model_),
        gradients_(plan_, memory_, binding_, device_, options.stress.poison),
        captures_(device_, executor_, communicator_, ledger_, step_memory_.control()),
        registered_(memory_, communicator_),
        exchange_(*this, plan_.config.world) {
    device_.on_failure([this](std::exception_ptr error) { tell_others(error); });
    if (options.stress.delay != nullptr) {
      device_.set_delay([delay = options.stress.delay](queue q, auto... s) {
        void* stream = nullptr;
        ((stream = s), ...);  // a GPU's hook has a stream, the host's has none
        delay(q, stream);
      });
    }
    start(loss_scaling);
  }

  engine_core(engine_core const&) = delete;
  engine_core& operator=(engine_core const&) = delete;

  ~engine_core() {
    if (executor_.in_pass()) {
      abandon("the engine was destroyed inside a pass");
    }
    device_.finish();
    registered_.forget();
    communicator_.leave();
  }

  // --- passes and leases

  void begin_pass(pass_kind pass) {
    executor_.begin(pass);
    gradients_.begin_pass(executor_.segment_at_hand());
  }

  void end_pass() { executor_.end(); }

  /// Opens a unit: waits for its parameters and writes the addresses of its tensors.
  void open(std::int32_t unit, phase ph) {
    auto const& op = executor_.pass_token({unit, ph, true});
    gradients_.open(op);
    binding_.bind(unit, ph, op, gradients_.resident_slot());
  }

  /// Closes a unit. A gradient that nobody asked for is zero; addresses are null from here on.
  void close(std::int32_t unit, phase ph) {
    if (executor_.in_pass() && executor_.cursor().expects({unit, ph, false})) {
      auto const& op = executor_.next_operation();
      gradients_.close(op);
      if (options_.stress.poison && op.parameter_slot >= 0 && op.has(flag_frees)) {
        enqueue_fill(device_,
                     memory_.parameter_slot(op.parameter_slot),
                     0xff,
                     plan_.layout.unit(unit).parameter_slot_bytes);
      }
    }
    executor_.pass_token({unit, ph, false});
    binding_.unbind(unit);
  }

  /// Whether the unit's gradient holds a sum already in this pass.
  [[nodiscard]] bool accumulates(std::int32_t unit) const { return gradients_.holds_sum(unit); }

  /// Makes a unit's gradient ready to be added to, or, if the caller will write every element, only
  /// its padding.
  void request_gradients(std::int32_t unit, bool overwrite) {
    executor_.check();
    if (!gradients_.holds_sum(unit)) {
      gradients_.prepare(unit, overwrite);
    } else if (overwrite) {
      throw logic_error(executor_.sentence(
          "the gradient of '" + model_.unit_names[static_cast<std::size_t>(unit)] +
          "' holds a sum already and must not be overwritten; add to it where accumulate() is "
          "true."));
    }
  }

  /// Abandons the run on every rank; for leases that unwind.
  void abandon(std::string const& what) noexcept {
    try {
      auto const text = executor_.sentence(what + ".");
      executor_.abandon(std::make_exception_ptr(std::runtime_error(text)), text);
    } catch (...) {
      executor_.abandon(std::current_exception(), "zero: a rank failed.");
    }
  }

  /// Keeps a failure for the next call, from where nothing may be thrown.
  void keep(std::exception_ptr failure) noexcept { device_.fail(std::move(failure)); }

  /// Fails everywhere with a sentence about a wrong call, and throws it here.
  [[noreturn]] void fail_misuse(std::string const& what) { executor_.fail_misuse(what); }

  void check() { executor_.check(); }

  [[nodiscard]] bool failed() noexcept {
    try {
      executor_.check();
      return false;
    } catch (...) {
      return true;
    }
  }

  [[nodiscard]] bool in_pass() const { return executor_.in_pass(); }

  [[nodiscard]] program_cursor const& cursor() const { return executor_.cursor(); }

  // --- steps and results

  void step(step_options const& step, std::int64_t micro_steps) {
    executor_.check();
    if (executor_.in_pass()) {
      executor_.fail_misuse("step was called inside a pass; end the pass first");
    }
    if (micro_steps == 0) {
      executor_.fail_misuse(
          "step was called before any micro-step; loop over engine.micro_steps(k) first");
    }
    executor_.step(ledger_.issue(), control_of(step, micro_steps));
  }

  /// The numbers of a step as the device reads them.
  [[nodiscard]] step_control control_of(step_options const& step, std::int64_t micro_steps) const {
    step_control control;
    control.lr = step.lr.value_or(options_.optimizer.lr);
    control.gradient_scale = step.gradient_scale;
    control.device_gradient_scale = step.device_gradient_scale;
    control.clip_norm = options_.clip_norm;
    control.mean = mean_factor(micro_steps);
    return control;
  }

  // --- streams of the user's

  /// The compute queue waits for what is in a stream of the user's.
  template <class Stream>
  void used_on(Stream stream) {
    device_.include(stream);
  }

  /// A stream of the user's waits for what is in all queues.
  template <class Stream>
  void join(Stream stream) {
    device_.make_wait(stream);
  }

  // --- timeline

  void start_timeline(std::int64_t most) {
    expects(most >= 0, "zero::ZeroEngine: start_timeline needs a number of entries of 0 or more");
    drain();
    timeline_ = std::make_unique<timeline_recorder<stream>>(static_cast<std::size_t>(most));
    timeline_->start(device_);
    executor_.record_timeline(timeline_.get());
  }

  [[nodiscard]] std::vector<timeline_entry> stop_timeline() {
    expects(timeline_ != nullptr,
            "zero::ZeroEngine: stop_timeline needs a start_timeline before it");
    executor_.record_timeline(nullptr);
    drain();
    auto entries = timeline_->entries();
    timeline_.reset();
    return entries;
  }

  // --- capture

  /// Captures what `issue` puts into the queues, on devices that can.
  /// @return the device's graph
  template <class Issue>
  [[nodiscard]] auto capture(Issue&& issue) {
    executor_.check();
    if (executor_.in_pass()) {
      executor_.fail_misuse("capture was called inside a pass; end the pass first");
    }
    expect_no_capture("capture was called");
    return captures_.capture(issue, [this] { abandon("an exception passed through capture"); });
  }

  [[nodiscard]] bool capturing() const { return executor_.capturing(); }

  /// Where the latest capture writes its step's result.
  [[nodiscard]] std::int64_t captured_slot() const { return captures_.slot(); }

  /// Runs a captured step once more, with new numbers; its result goes to `slot`.
  template <class Graph>
  void replay(Graph const& graph,
              std::int64_t slot,
              step_options const& step,
              std::int64_t micro_steps) {
    executor_.check();
    if (executor_.in_pass()) {
      executor_.fail_misuse("replay was called inside a pass; end the pass first");
    }
    expect_no_capture("replay was called");
    captures_.replay(graph, slot, control_of(step, micro_steps));
  }

  /// The record of the latest step; waits for it.
  [[nodiscard]] step_record result() {
    expects(ledger_.issued() > first_step_,
            "zero::ZeroEngine: result() was called before any step; call step first");
    drain();
    auto const record = step_memory_.record(ledger_.slot());
    if (record.at_floor && options_.loss_scale.at_floor == at_floor::raise) {
      throw numeric_error(
          executor_.sentence("an overflow wants a loss scale below its minimum; raise the minimum "
                             "or lower the learning "
                             "rate."));
    }
    return record;
  }

  /// The latest step that this rank has behind it; see the engine.
  [[nodiscard]] std::int64_t completed_steps() noexcept {
    if (executor_.capturing()) {
      return ledger_.seen();
    }
    device_.finish();
    if (!failed()) {
      ledger_.see(executor_.completed());
      return ledger_.seen();
    }
    return !cut_short_by_failure<communicator_type> && step_memory_.answers()
               ? executor_.completed()
               : ledger_.seen();
  }

  /// How far the training has come. Waits.
  [[nodiscard]] step_progress progress() {
    drain();
    return step_memory_.progress();
  }

  /// Goes on from a progress. Waits.
  void set_progress(step_progress const& progress) {
    drain();
    step_memory_.set_progress(progress);
    restart(progress.steps);
  }

  [[nodiscard]] float const* loss_scale() const { return &control().state()->loss_scale; }

  /// Waits for all that was enqueued, and throws a failure. Not inside a capture, of which nothing
  /// has run.
  void drain() {
    expect_no_capture("a call that waits was made");
    device_.finish();
    executor_.check();
    executor_.joined();
    ledger_.see(executor_.completed());
  }

  // --- small exchanges outside the plan

  [[nodiscard]] rank_exchange<engine_core>& exchange() { return exchange_; }

  /// Waits for all that was enqueued, and throws a failure of this rank's alone; of any rank where
  /// that may have left undefined bytes here.
  void settle() {
    device_.finish();
    device_.check();
    if constexpr (cut_short_by_failure<communicator_type>) {
      communicator_.check();
    }
    executor_.joined();
  }

  [[nodiscard]] std::byte* window() const { return control().window(); }

  [[nodiscard]] collective_tag outside_tag(char const* what) {
    collective_tag tag;
    tag.sequence = executor_.next_sequence();
    tag.step = ledger_.issued();
    tag.operation = 0xff;
    tag.operation_name = what;
    tag.unit_name = "";
    return tag;
  }

  // --- what the parts of the engine look at

  [[nodiscard]] execution_plan const& plan() const { return plan_; }

  [[nodiscard]] bound_model const& model() const { return model_; }

  [[nodiscard]] pool_memory<device_type> const& memory() const { return memory_; }

  [[nodiscard]] control_block<optimizer> const& control() const { return step_memory_.control(); }

  [[nodiscard]] device_type& device() { return device_; }

  [[nodiscard]] communicator_type& communicator() { return communicator_; }

  [[nodiscard]] communicator_type const& communicator() const { return communicator_; }

  /// The whole parameters are as the masters say, on every rank.
  void parameters_written() { executor_.published(); }

  /// Resets moments and step state to those before the first step.
  void reset_optimizer() {
    drain();
    fill_now(pool::optimizer, 0);
    reset_state();
  }

 private:
  /// The device, which has to be the communicator's: known before anything is allocated on it.
  [[nodiscard]] device_type& shared_device() {
    if constexpr (requires {
                    { communicator_.device() } -> std::convertible_to<int>;
                    { device_.ordinal() } -> std::convertible_to<int>;
                  }) {
      if (communicator_.device() != device_.ordinal()) {
        throw logic_error(
            "zero::ZeroEngine: the communicator works on GPU " +
            std::to_string(communicator_.device()) + " and the engine on GPU " +
            std::to_string(device_.ordinal()) +
            "; call cudaSetDevice(communicator.device()) before construction, and leave "
            "cuda_options::ordinal at -1");
      }
    }
    return device_;
  }

  void expect_no_capture(char const* what) {
    if (executor_.capturing()) {
      executor_.fail_misuse(std::string(what) +
                            " inside a capture; make the call before or after it");
    }
  }

  void fill_now(pool p, int byte) {
    if (memory_.allocated_bytes(p) > 0) {
      enqueue_fill(device_, memory_.base(p), byte, memory_.allocated_bytes(p));
    }
    drain();
  }

  /// What makes the mean, or the sum, of what the accumulators hold.
  [[nodiscard]] double mean_factor(std::int64_t micro_steps) const {
    auto const kept = kept_divisor(plan_.config);
    auto const all = static_cast<double>(plan_.config.world) * static_cast<double>(micro_steps);
    return options_.mean ? kept / all : kept;
  }

  void start(bool loss_scaling) {
    loss_scaling_ = loss_scaling;
    device_.enqueue(queue::compute, [this](stream) { bodies_.preload(); });
    for (int p = 0; p < pool_count; ++p) {
      fill_now(static_cast<pool>(p), 0);
    }
    if (options_.stress.poison) {
      for (auto const p :
           {pool::gradients, pool::parameter_slots, pool::gradient_slots, pool::receive}) {
        fill_now(p, 0xff);
      }
    }
    step_memory_.write_segments(bodies_.segments());
    reset_state();
    compare_plans();
    registered_.tell();
    exchange_.template warm_up<parameter_type>(plan_.config.native_reduction,
                                               prescale_of(plan_.config, false));
  }

  void reset_state() {
    step_memory_.reset(options_, loss_scaling_, plan_.groups.groups);
    restart(0);
  }

  void restart(std::int64_t steps) {
    ledger_.restart(steps);
    executor_.restarted(steps);
    first_step_ = steps;
  }

  void compare_plans() {
    auto mine = digest_of(plan_);
    mine.parts[digest_part_of_step] = digest_of_step(options_, loss_scaling_);
    compare_between_ranks(mine, model_.parameters, [this](auto const& value) {
      return exchange_.gather(value, "comparison of plans");
    });
  }

  void tell_others(std::exception_ptr error) noexcept {
    try {
      try {
        std::rethrow_exception(error);
      } catch (peer_error const&) {
        return;  // the others know
      } catch (std::exception const& e) {
        communicator_.abort(e.what());
      } catch (...) {
        communicator_.abort("an exception of unknown type");
      }
    } catch (...) {  // no memory for the text: the others learn it when this rank leaves
    }
  }

  execution_plan plan_;
  bound_model model_;
  engine_options<optimizer> options_;
  bool loss_scaling_ = false;
  communicator_type communicator_;
  device_type device_;
  pool_memory<device_type> memory_;
  step_ledger ledger_;
  step_memory<device_type, optimizer> step_memory_;
  typename Types::bodies bodies_;
  typename Types::runner executor_;
  std::unique_ptr<timeline_recorder<stream>> timeline_;
  tensor_binding<device_type> binding_;
  open_gradients<device_type> gradients_;
  captured_steps<Types> captures_;
  registered_pools<device_type, communicator_type> registered_;
  rank_exchange<engine_core> exchange_;
  std::int64_t first_step_ = 0;  // made before this engine's own
};

}  // namespace zero::inline ZERO_ABI::detail
