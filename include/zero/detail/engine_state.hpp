// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/comm/abilities.hpp>
#include <zero/comm/concepts.hpp>
#include <zero/core/error.hpp>
#include <zero/core/queue.hpp>
#include <zero/detail/control_block.hpp>
#include <zero/detail/engine_types.hpp>
#include <zero/detail/fill.hpp>
#include <zero/detail/pool_memory.hpp>
#include <zero/detail/program_cursor.hpp>
#include <zero/detail/rank_exchange.hpp>
#include <zero/detail/step_ledger.hpp>
#include <zero/detail/step_memory.hpp>
#include <zero/detail/tensor_binding.hpp>
#include <zero/device/abilities.hpp>
#include <zero/options.hpp>
#include <zero/plan/plan.hpp>
#include <zero/plan/pools.hpp>
#include <zero/plan/race_checker.hpp>
#include <zero/version.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>

namespace zero::inline ZERO_ABI::detail {

/// What one rank's engine is made of, and how it fails and waits: the lowest of the layers that an
/// `engine_core` consists of. Each of them knows those below it alone.
template <class Types>
class engine_state {
 public:
  using device_type = typename Types::device;
  using kernels = typename device_type::kernels;
  using communicator_type = typename Types::communicator;
  using optimizer = typename Types::optimizer;
  using parameter_type = typename Types::parameter_type;
  using stream = typename device_type::stream_type;

  template <class... DeviceArguments>
  engine_state(execution_plan plan,
               bound_model model,
               communicator_type communicator,
               engine_options<optimizer> const& options,
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
        exchange_(*this, plan_.config.world) {
    device_.on_failure([this](std::exception_ptr error) { tell_others(error); });
    if constexpr (delayable_device<device_type>) {
      if (options.stress.delay != nullptr) {
        device_.set_delay([delay = options.stress.delay](queue q, stream s) {
          if constexpr (std::convertible_to<stream, void*>) {
            delay(q, s);
          } else {
            delay(q, nullptr);
          }
        });
      }
    }
  }

  engine_state(engine_state const&) = delete;
  engine_state& operator=(engine_state const&) = delete;

  // --- failing

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

  // --- waiting

  /// Waits for all that was enqueued, and throws a failure. Not inside a capture, of which nothing
  /// has run.
  void drain() {
    expect_no_capture("a call that waits was made");
    device_.finish();
    executor_.check();
    executor_.joined();
    ledger_.see(executor_.completed());
  }

  /// Refuses a call that waits, or captures, inside a capture.
  void expect_no_capture(char const* what) {
    if (executor_.capturing()) {
      executor_.fail_misuse(std::string(what) +
                            " inside a capture; make the call before or after it");
    }
  }

  // --- small exchanges outside the plan

  [[nodiscard]] rank_exchange<engine_state>& exchange() { return exchange_; }

  /// Waits for all that was enqueued, and throws a failure of this rank's alone; of any rank where
  /// that may have left undefined bytes here, because what was in flight is cut short.
  void settle() {
    device_.finish();
    device_.check();
    if constexpr (watching_communicator<communicator_type>) {
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

  [[nodiscard]] bool capturing() const { return executor_.capturing(); }

 protected:
  /// Fills a pool, and waits.
  void fill_now(pool p, int byte) {
    if (memory_.allocated_bytes(p) > 0) {
      enqueue_fill(device_, memory_.base(p), byte, memory_.allocated_bytes(p));
    }
    drain();
  }

  execution_plan plan_;
  bound_model model_;
  engine_options<optimizer> options_;
  communicator_type communicator_;
  device_type device_;
  pool_memory<device_type> memory_;
  step_ledger ledger_;
  step_memory<device_type, optimizer> step_memory_;
  typename Types::bodies bodies_;
  typename Types::runner executor_;

 private:
  /// The device, which has to be the communicator's: known before anything is allocated on it.
  [[nodiscard]] device_type& shared_device() {
    if constexpr (numbered_communicator<communicator_type> && numbered_device<device_type>) {
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

  rank_exchange<engine_state> exchange_;
};

}  // namespace zero::inline ZERO_ABI::detail
