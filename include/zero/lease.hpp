// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/error.hpp>
#include <zero/device/abilities.hpp>
#include <zero/model/program.hpp>
#include <zero/version.hpp>

#include <cstdint>
#include <exception>
#include <string>
#include <utility>

namespace zero::inline ZERO_ABI {

/// Tag for `grads(zero::overwrite)`: the caller's kernels will write every element of the gradient.
struct overwrite_t {
  explicit overwrite_t() = default;
};

/// The value of `overwrite_t`.
inline constexpr overwrite_t overwrite{};

namespace detail {

/// What both kinds of lease are: opens a unit on construction, closes it on destruction. Move-only,
/// not assignable: what a lease is for is decided when it is made. Must end before its engine does.
template <class Core>
class lease_base {
 public:
  lease_base(Core& core, std::int32_t unit, phase ph)
      : core_(&core),
        unit_(unit),
        phase_(ph),
        exceptions_(std::uncaught_exceptions()) {
    core.open(unit, ph);
  }

  lease_base(lease_base&& other) noexcept
      : core_(std::exchange(other.core_, nullptr)),
        unit_(other.unit_),
        phase_(other.phase_),
        exceptions_(other.exceptions_) {}

  lease_base(lease_base const&) = delete;
  lease_base& operator=(lease_base const&) = delete;
  lease_base& operator=(lease_base&&) = delete;

  /// Closes the unit. A failure is kept and thrown by the next call of the engine; while an
  /// exception unwinds, the run is abandoned on every rank instead, and nothing collective is
  /// started.
  ~lease_base() {
    if (core_ == nullptr) {
      return;
    }
    if (std::uncaught_exceptions() > exceptions_) {
      core_->abandon(std::string("an exception passed while the lease of '") +
                     core_->cursor().unit_name(unit_) + "' was open");
      return;
    }
    try {
      core_->close(unit_, phase_);
    } catch (...) {
      core_->keep(std::current_exception());
    }
  }

  /// Tells that work in another stream of the user's uses this unit: the close, and all that the
  /// user enqueues on the compute stream from now on, waits for what is in that stream now. Not a
  /// host wait; one event. Devices with streams only. Not collective.
  /// @throws logic_error after the close
  template <class Stream>
  void used_on(Stream stream) {
    constexpr bool has_streams = stream_ordering_device<typename Core::device_type, Stream>;
    static_assert(has_streams,
                  "zero: used_on takes a stream of the engine's device, e.g. a cudaStream_t with "
                  "zero::Cuda; zero::Host has none: leave the call out, and have other threads "
                  "done with the unit before the lease closes.");
    if constexpr (has_streams) {  // else one error is enough
      core().used_on(stream);
    }
  }

  /// Closes the unit now, if it is open. The addresses end here; what the user has enqueued on the
  /// compute stream still runs. Collective, as the opening was; a host wait for nothing.
  /// @throws logic_error when the program does not expect it; the engine's failure, or peer_error
  ///         when another rank failed
  void close() {
    if (core_ != nullptr) {
      auto* const core = std::exchange(core_, nullptr);
      core->close(unit_, phase_);
    }
  }

 protected:
  [[nodiscard]] Core& core() const {
    precondition(core_ != nullptr, "zero: this lease is closed; open the unit again");
    return *core_;
  }

  [[nodiscard]] std::int32_t unit() const { return unit_; }

 private:
  Core* core_;
  std::int32_t unit_;
  phase phase_;
  int exceptions_;
};

}  // namespace detail

/// The right to read one unit's parameters, in the forward phase of a training pass or in an
/// evaluation pass. Pointers are valid while it lives, for the compute stream and, with `used_on`,
/// for others. Move-only; closes on destruction, see `close`. Must end before its engine does.
/// @tparam Object the user's struct (or tensor) that the unit is
template <class Core, class Object>
class ForwardLease : public detail::lease_base<Core> {
 public:
  /// Opens `unit`; made by the engine.
  ForwardLease(Core& core, std::int32_t unit, Object const& object)
      : detail::lease_base<Core>(core, unit, phase::forward),
        object_(&object) {}

  /// The unit, its tensors' addresses set; null after the close.
  [[nodiscard]] Object const& params() const { return *object_; }

  /// The same.
  [[nodiscard]] Object const& operator*() const { return *object_; }

  /// A member of it.
  [[nodiscard]] Object const* operator->() const { return object_; }

 private:
  Object const* object_;
};

/// The right to read one unit's parameters and to write their gradients, in the backward phase.
/// Gradients have the parameters' types in every stage; those of frozen parameters are null.
/// Pointers are valid while it lives, as a `ForwardLease`'s are. A lease whose gradients nobody
/// asks for contributes zeros.
template <class Core, class Object>
class BackwardLease : public detail::lease_base<Core> {
 public:
  /// Opens `unit`; made by the engine.
  BackwardLease(Core& core, std::int32_t unit, Object const& object, Object& gradients)
      : detail::lease_base<Core>(core, unit, phase::backward),
        object_(&object),
        gradients_(&gradients) {}

  /// The unit, its tensors' addresses set; null after the close.
  [[nodiscard]] Object const& params() const { return *object_; }

  /// The same.
  [[nodiscard]] Object const& operator*() const { return *object_; }

  /// A member of it.
  [[nodiscard]] Object const* operator->() const { return object_; }

  /// Whether the gradients hold something to be added to already: a sum of an earlier visit of this
  /// pass, or what this one was given by `grads`.
  /// @throws logic_error after the close
  [[nodiscard]] bool accumulate() const { return this->core().accumulates(this->unit()); }

  /// The gradients, to be added to: zeroed, on the compute stream, at the first request of a pass.
  /// @return a unit of the same type whose tensors point to gradients; null after the close
  /// @throws logic_error after the close; the engine's failure
  Object& grads() {
    this->core().request_gradients(this->unit(), false);
    return *gradients_;
  }

  /// The gradients, every element of which the caller will write. Saves zeroing them; only the
  /// padding between them is zeroed.
  /// @throws logic_error when they hold a sum already, see `accumulate()`, or after the close; the
  ///         engine's failure
  Object& grads(overwrite_t) {
    this->core().request_gradients(this->unit(), true);
    return *gradients_;
  }

 private:
  Object const* object_;
  Object* gradients_;
};

}  // namespace zero::inline ZERO_ABI
