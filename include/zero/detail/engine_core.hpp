// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/comm/concepts.hpp>
#include <zero/core/error.hpp>
#include <zero/detail/control_block.hpp>
#include <zero/detail/executor.hpp>
#include <zero/detail/operations.hpp>
#include <zero/detail/plan_comparison.hpp>
#include <zero/detail/pool_memory.hpp>
#include <zero/detail/rank_exchange.hpp>
#include <zero/detail/step_digest.hpp>
#include <zero/detail/tensor_binding.hpp>
#include <zero/device/transfer.hpp>
#include <zero/options.hpp>
#include <zero/plan/digest.hpp>
#include <zero/plan/plan.hpp>
#include <zero/plan/travel.hpp>
#include <zero/version.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace zero::inline ZERO_ABI::detail {

/// The policies that code depends on, apart from the container and the stage: engines that differ
/// only in these share all code below.
template <class Device, class Communicator, class Optimizer, class Parameter, bool NativeAccumulate>
struct engine_types {
  using device = Device;
  using communicator = Communicator;
  using optimizer = Optimizer;
  using parameter_type = Parameter;
  using bodies = operations<Device, Communicator, Optimizer, Parameter, NativeAccumulate>;
};

/// Whether calls that are in flight when a communicator fails may leave undefined bytes behind:
/// where something has to watch them and to cut them short. Others fail inside the call.
template <class Communicator>
inline constexpr bool cut_short_by_failure =
    requires(Communicator& c, typename Communicator::stream_type s, collective_tag const& tag) {
      c.begin_watch(s, tag);
    };

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
              double prescale,
              DeviceArguments&&... device_arguments)
      : plan_(std::move(plan)),
        model_(std::move(model)),
        options_(options),
        communicator_(std::move(communicator)),
        device_(race_checker::index_for(plan_).events(),
                std::forward<DeviceArguments>(device_arguments)...),
        memory_(shared_device(), plan_, communicator_.rank()),
        control_(memory_.base(pool::control), plan_),
        bodies_(plan_, memory_, control_, communicator_, prescale, options.stress.poison),
        executor_(plan_, device_, bodies_, communicator_, model_.unit_names),
        binding_(plan_, memory_, model_),
        exchange_(*this, plan_.config.world),
        touched_(plan_.layout.units.size(), char{0}) {
    device_.on_failure([this](std::exception_ptr error) { tell_others(error); });
    if (options.stress.delay != nullptr) {
      device_.set_delay([delay = options.stress.delay](queue q, auto... s) {
        void* of_queue = nullptr;
        ((of_queue = s), ...);  // a GPU's hook has a stream, the host's has none
        delay(q, of_queue);
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
    deregister_pools();
    communicator_.leave();
  }

  // --- passes and leases

  void begin_pass(pass_kind pass) {
    executor_.begin(pass);
    std::ranges::fill(touched_, char{0});
    auto const resident = plan_.layout.resident_unit;
    if (pass.train && resident >= 0 &&
        plan_.layout.units[static_cast<std::size_t>(resident)].trained) {
      auto const& segment = plan_.passes[static_cast<std::size_t>(index_of(pass))];
      for (auto i = segment.starts[0]; i < segment.starts[1]; ++i) {
        auto const& op = segment.operations[static_cast<std::size_t>(i)];
        if (op.unit == resident && op.gradient_slot >= 0) {
          resident_slot_ = op.gradient_slot;
          fill(memory_.gradient_slot(op.gradient_slot),
               0,
               plan_.layout.units[static_cast<std::size_t>(resident)].gradient_slot_bytes);
        }
      }
    }
  }

  void end_pass() { executor_.end(); }

  /// Opens a unit: waits for its parameters and writes the addresses of its tensors.
  void open(std::int32_t unit, phase ph) {
    auto const op = executor_.pass_token({unit, ph, true});
    if (options_.stress.poison && op.gradient_slot >= 0 && op.has(flag_opens)) {
      fill(memory_.gradient_slot(op.gradient_slot),
           0xff,
           plan_.layout.units[static_cast<std::size_t>(unit)].gradient_slot_bytes);
    }
    binding_.bind(unit, ph, op, resident_slot_);
  }

  /// Closes a unit. A gradient that nobody asked for is zero; addresses are null from here on.
  void close(std::int32_t unit, phase ph) {
    if (executor_.in_pass() && executor_.cursor().expects({unit, ph, false})) {
      auto const& op = executor_.next_operation();
      if (op.gradient_slot >= 0 && op.has(flag_closes) &&
          touched_[static_cast<std::size_t>(unit)] == 0) {
        fill(memory_.gradient_slot(op.gradient_slot),
             0,
             plan_.layout.units[static_cast<std::size_t>(unit)].gradient_slot_bytes);
      }
      if (options_.stress.poison && op.parameter_slot >= 0 && op.has(flag_frees)) {
        fill(memory_.parameter_slot(op.parameter_slot),
             0xff,
             plan_.layout.units[static_cast<std::size_t>(unit)].parameter_slot_bytes);
      }
    }
    executor_.pass_token({unit, ph, false});
    binding_.unbind(unit);
  }

  /// Whether the unit's gradient holds a sum already in this pass.
  [[nodiscard]] bool accumulates(std::int32_t unit) const {
    return touched_[static_cast<std::size_t>(unit)] != 0;
  }

  /// Makes a unit's gradient ready to be added to, or, if the caller will write every element, only
  /// its padding.
  void request_gradients(std::int32_t unit, bool overwrite) {
    executor_.check();
    auto& touched = touched_[static_cast<std::size_t>(unit)];
    if (touched != 0) {
      if (overwrite) {
        throw logic_error(executor_.sentence(
            "the gradient of '" + model_.unit_names[static_cast<std::size_t>(unit)] +
            "' holds a sum already and must not be overwritten; add to it where accumulate() is "
            "true."));
      }
      return;
    }
    touched = 1;
    zero_gradients(unit, overwrite);
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
    executor_.step(++steps_, control_of(step, micro_steps));
    result_slot_ = steps_ % result_ring;
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
  void used_on(Stream users) {
    device_.include(users);
  }

  /// A stream of the user's waits for what is in all queues.
  template <class Stream>
  void join(Stream users) {
    device_.make_wait(users);
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
    auto const steps = steps_;
    auto const slot = result_slot_;
    executor_.begin_capture();
    device_.begin_capture();
    try {
      issue();
    } catch (...) {
      device_.abandon_capture();
      executor_.end_capture();
      abandon("an exception passed through capture");
      throw;
    }
    if (executor_.in_pass() || steps_ != steps + 1) {
      device_.abandon_capture();
      executor_.end_capture();
      executor_.fail_misuse(
          "a capture holds exactly one step, with its micro-steps or alone; call step once, last");
    }
    auto graph = device_.end_capture();
    executor_.end_capture();
    captured_slot_ = result_slot_;
    steps_ = steps;
    result_slot_ = slot;
    executor_.check();
    return graph;
  }

  [[nodiscard]] bool capturing() const { return executor_.capturing(); }

  /// Where the latest capture writes its step's result.
  [[nodiscard]] std::int64_t captured_slot() const { return captured_slot_; }

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
    auto const control = control_of(step, micro_steps);
    device_.enqueue(queue::compute, [to = control_.control(), control](stream s) {
      kernels::set_control(s, to, control);
    });
    watch_replay(true);
    device_.launch(graph);
    watch_replay(false);
    executor_.replayed(++steps_);
    result_slot_ = slot;
  }

  /// The record of the latest step; waits for it.
  [[nodiscard]] step_record result() {
    expects(steps_ > 0, "zero::ZeroEngine: result() was called before any step; call step first");
    drain();
    step_record record;
    download(device_, &record, control_.ring() + result_slot_, sizeof record);
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
      return seen_steps_;
    }
    device_.finish();
    if (!failed()) {
      seen_steps_ = executor_.completed();
      return seen_steps_;
    }
    return !cut_short_by_failure<communicator_type> && memory_answers() ? executor_.completed()
                                                                        : seen_steps_;
  }

  [[nodiscard]] float const* loss_scale() const { return &control_.state()->loss_scale; }

  /// Waits for all that was enqueued, and throws a failure. Not inside a capture, of which nothing
  /// has run.
  void drain() {
    expect_no_capture("a call that waits was made");
    device_.finish();
    executor_.check();
    executor_.joined();
    seen_steps_ = executor_.completed();
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

  [[nodiscard]] std::byte* window() const { return control_.window(); }

  [[nodiscard]] collective_tag outside_tag(char const* what) {
    collective_tag tag;
    tag.sequence = executor_.next_sequence();
    tag.step = steps_;
    tag.operation = 0xff;
    tag.operation_name = what;
    tag.unit_name = "";
    return tag;
  }

  // --- what the parts of the engine look at

  [[nodiscard]] execution_plan const& plan() const { return plan_; }

  [[nodiscard]] bound_model const& model() const { return model_; }

  [[nodiscard]] pool_memory<device_type> const& memory() const { return memory_; }

  [[nodiscard]] control_block<optimizer> const& control() const { return control_; }

  [[nodiscard]] device_type& device() { return device_; }

  [[nodiscard]] communicator_type& communicator() { return communicator_; }

  [[nodiscard]] communicator_type const& communicator() const { return communicator_; }

  /// The whole parameters are as the masters say, on every rank.
  void parameters_written() { executor_.published(); }

  /// Resets moments and step state to those before the first step.
  void reset_optimizer() {
    drain();
    fill_now(pool::optimizer);
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

  /// Zeroes a unit's gradient slot, or only what lies between and after its parameters.
  void zero_gradients(std::int32_t unit, bool only_padding) {
    auto const slot = slot_of_open_gradient(unit);
    if (slot < 0) {
      return;
    }
    auto* const base = memory_.gradient_slot(slot);
    if (!only_padding) {
      fill(base, 0, plan_.layout.units[static_cast<std::size_t>(unit)].gradient_slot_bytes);
      return;
    }
    binding_.for_gaps(
        unit, [&](std::int64_t begin, std::int64_t bytes) { fill(base + begin, 0, bytes); });
  }

  /// The gradient slot of the unit's open backward visit: the one its next close names.
  [[nodiscard]] int slot_of_open_gradient(std::int32_t unit) const {
    auto const& segment = plan_.passes[static_cast<std::size_t>(index_of(executor_.pass()))];
    for (auto p = static_cast<std::size_t>(executor_.cursor().position());
         p < segment.tokens.size();
         ++p) {
      auto const& token = segment.tokens[p];
      if (token.unit == unit && token.ph == phase::backward && !token.open) {
        return segment.operations[static_cast<std::size_t>(segment.starts[p + 1])].gradient_slot;
      }
    }
    return -1;
  }

  /// Fills memory on the compute queue.
  void fill(std::byte* address, int byte, std::int64_t bytes) {
    device_.enqueue(queue::compute,
                    [address, byte, bytes](stream s) { kernels::fill(s, address, byte, bytes); });
  }

  void fill_now(pool p) {
    if (memory_.allocated_bytes(p) > 0) {
      fill(memory_.base(p), 0, memory_.allocated_bytes(p));
    }
    drain();
  }

  /// Whether what was enqueued before a failure has run: after a fault of a GPU nothing of its
  /// memory can be read any more.
  [[nodiscard]] bool memory_answers() noexcept {
    if constexpr (requires { device_.download(nullptr, nullptr, std::int64_t{}); }) {
      try {
        std::int64_t applied = -1;
        kernels::copy(device_.stream(queue::comm),
                      &applied,
                      &control_.state()->applied_steps,
                      sizeof applied);
        device_.finish();
        return applied >= 0;
      } catch (...) {
        return false;
      }
    } else {
      return true;
    }
  }

  [[nodiscard]] double mean_factor(std::int64_t micro_steps) const {
    auto const world = static_cast<double>(plan_.config.world);
    // contributions that were scaled by 1 / world on the wire are scaled back
    bool const wide = plan_.config.world > 1 && plan_.config.stage < 2 && micro_steps > 1;
    auto const wire = bodies_.prescale(wide) == 1.0 ? 1.0 : world;
    return options_.mean ? wire / (world * static_cast<double>(micro_steps)) : wire;
  }

  void start(bool loss_scaling) {
    loss_scaling_ = loss_scaling;
    device_.enqueue(queue::compute, [this](stream) { bodies_.preload(); });
    for (int p = 0; p < pool_count; ++p) {
      fill_now(static_cast<pool>(p));
    }
    if (options_.stress.poison) {
      for (auto const p :
           {pool::gradients, pool::parameter_slots, pool::gradient_slots, pool::receive}) {
        if (memory_.allocated_bytes(p) > 0) {
          fill(memory_.base(p), 0xff, memory_.allocated_bytes(p));
        }
      }
    }
    if (!bodies_.segments().empty()) {
      upload(device_,
             control_.segments(),
             bodies_.segments().data(),
             static_cast<std::int64_t>(bodies_.segments().size() * sizeof(update_segment)));
    }
    reset_state();
    compare_plans();
    register_pools();
    exchange_.template warm_up<parameter_type>(plan_.config.native_reduction,
                                               bodies_.prescale(false));
  }

  void reset_state() {
    step_config<optimizer> config{};
    config.options = options_.optimizer;
    config.scaled = loss_scaling_;
    config.scaling = options_.loss_scale;
    config.group_count = static_cast<std::int32_t>(plan_.groups.groups.size());
    for (std::size_t g = 0; g < plan_.groups.groups.size(); ++g) {
      config.groups[g] = {plan_.groups.groups[g].lr_scale,
                          plan_.groups.groups[g].weight_decay ? 1.0 : 0.0};
    }
    auto const state = initial_state(config);
    upload(device_, control_.config(), &config, sizeof config);
    upload(device_, control_.state(), &state, sizeof state);
    steps_ = 0;
    seen_steps_ = 0;
    executor_.restarted();
  }

  /// Has a communicator that watches its operations watch those of a graph.
  void watch_replay(bool begins) {
    if constexpr (cut_short_by_failure<communicator_type>) {
      collective_tag const tag{.step = steps_ + 1, .operation_name = "replay"};
      device_.enqueue(queue::compute, [this, begins, tag](stream s) {
        if (begins) {
          communicator_.begin_watch(s, tag);
        } else {
          communicator_.end_watch(s);
        }
      });
    }
  }

  /// Calls `f(p)` for each pool of which the communicator is told, where it can make use of that.
  template <class F>
  void for_registered_pools(F&& f) const {
    auto const travel = travel_of(plan_);
    bool sources = true;
    if constexpr (requires { communicator_.registers_sources(); }) {
      sources = communicator_.registers_sources();
    }
    for (int i = 0; i < pool_count; ++i) {
      auto const p = static_cast<pool>(i);
      auto const& t = travel[static_cast<std::size_t>(i)];
      if (memory_.allocated_bytes(p) > 0 && (t.received || t.summed || (t.sent && sources))) {
        f(p);
      }
    }
  }

  /// Tells a communicator that can make use of it where the pools lie that collectives touch.
  void register_pools() {
    if constexpr (requires { communicator_.register_memory(nullptr, std::int64_t{}); }) {
      for_registered_pools([this](pool p) {
        communicator_.register_memory(memory_.base(p), memory_.allocated_bytes(p));
      });
    }
  }

  void deregister_pools() noexcept {
    if constexpr (requires { communicator_.deregister_memory(nullptr); }) {
      for_registered_pools([this](pool p) { communicator_.deregister_memory(memory_.base(p)); });
    }
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
  control_block<optimizer> control_;
  typename Types::bodies bodies_;
  executor<device_type, typename Types::bodies, communicator_type> executor_;
  std::unique_ptr<timeline_recorder<stream>> timeline_;
  tensor_binding<device_type> binding_;
  rank_exchange<engine_core> exchange_;
  std::vector<char> touched_;
  int resident_slot_ = -1;
  std::int64_t steps_ = 0;
  std::int64_t seen_steps_ = 0;  // the latest of which a call that waits saw that it is complete
  std::int64_t result_slot_ = 0;
  std::int64_t captured_slot_ = 0;
};

}  // namespace zero::inline ZERO_ABI::detail
