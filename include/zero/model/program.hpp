// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/error.hpp>
#include <zero/model/describe.hpp>
#include <zero/model/unit.hpp>
#include <zero/version.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace zero::inline ZERO_ABI {

/// The two directions of a training pass.
enum class phase : std::uint8_t { forward, backward };

/// One end of a lease: user code opens or closes a unit.
struct program_token {
  std::int32_t unit = 0;      ///< index of the unit
  phase ph = phase::forward;  ///< whether a forward or a backward lease
  bool open = true;           ///< opens the unit; otherwise closes it

  friend constexpr bool operator==(program_token const&, program_token const&) = default;
};

/// The opens and closes of a training pass, in the order in which every rank does them: first those
/// of the forward phase, then those of the backward phase. An evaluation pass is the forward phase.
struct program {
  std::vector<program_token> forward;   ///< the tokens of the forward phase
  std::vector<program_token> backward;  ///< the tokens of the backward phase

  friend constexpr bool operator==(program const&, program const&) = default;
};

namespace detail {

/// The backward phase of a pass that undoes the forward phase step by step.
[[nodiscard]] constexpr std::vector<program_token> reversed(
    std::vector<program_token> const& forward) {
  std::vector<program_token> backward(forward.size(), program_token{});
  auto* next = backward.data() + backward.size();
  for (auto const& token : forward) {
    *--next = program_token{token.unit, phase::backward, !token.open};
  }
  return backward;
}

/// The forward phase that opens and closes units 0 to `units` - 1 in order.
[[nodiscard]] constexpr std::vector<program_token> visit_in_order(std::int32_t units) {
  std::vector<program_token> forward(2 * static_cast<std::size_t>(units), program_token{});
  auto* next = forward.data();
  for (std::int32_t unit = 0; unit < units; ++unit) {
    *next++ = program_token{unit, phase::forward, true};
    *next++ = program_token{unit, phase::forward, false};
  }
  return forward;
}

}  // namespace detail

/// Builds the program of a container out of visits. Pass it to a function `zero_program(model,
/// builder)` that argument-dependent lookup finds, and call the members below in the order in which
/// the training loop opens and closes units:
///
///     template <class T>
///     constexpr void zero_program(Gpt<T> const&, zero::ProgramBuilder<Gpt<T>>& builder) {
///       builder.visit(&Gpt<T>::embed);
///       builder.visit(&Gpt<T>::blocks);
///       builder.visit(&Gpt<T>::embed);  // the tied head
///     }
///
/// The backward phase is the exact reverse of the forward phase, unless `backward()` is called and
/// visits of it follow. Usable in constant expressions; not collective.
template <class Model>
class ProgramBuilder {
 public:
  /// Starts with no visit. The builder refers to `model`, which must outlive it.
  explicit constexpr ProgramBuilder(Model const& model)
      : model_(model),
        units_(static_cast<std::size_t>(unit_count(model)), unit_state{}) {}

  ProgramBuilder(ProgramBuilder const&) = delete;
  ProgramBuilder& operator=(ProgramBuilder const&) = delete;

  /// Opens and closes each unit of a member, in order, one after the other. An empty vector or
  /// optional has none.
  /// @throws logic_error if one of them is open.
  template <class Member>
  constexpr void visit(Member Model::* pointer) {
    auto const units = unit_count_of(model_, pointer);
    if (units > 0) {
      auto const first = detail::first_unit(model_, pointer);
      if (first < 0) {
        detail::throw_no_unit(model_, pointer, 0, detail::position_out_of_range);
      }
      for (std::int32_t i = 0; i < units; ++i) {
        open_unit(first + i);
        close_unit(first + i);
      }
    }
  }

  /// Opens and closes one unit: element `index` of a member.
  /// @throws logic_error if it is open, or as `find_unit` does.
  template <class Member>
  constexpr void visit(Member Model::* pointer, std::int64_t index) {
    auto const unit = find_unit(model_, pointer, index);
    open_unit(unit);
    close_unit(unit);
  }

  /// Opens a unit that stays open over what follows, until `close`.
  /// @throws logic_error if it is open, or as `find_unit` does.
  template <class Member>
  constexpr void open(Member Model::* pointer, std::int64_t index = 0) {
    open_unit(find_unit(model_, pointer, index));
  }

  /// Closes a unit.
  /// @throws logic_error if it is not open, or as `find_unit` does.
  template <class Member>
  constexpr void close(Member Model::* pointer, std::int64_t index = 0) {
    close_unit(find_unit(model_, pointer, index));
  }

  /// Opens and closes every unit of the container, in order, one after the other.
  /// @throws logic_error if one of them is open.
  constexpr void visit_all() {
    for (std::int32_t unit = 0; unit < static_cast<std::int32_t>(units_.size()); ++unit) {
      open_unit(unit);
      close_unit(unit);
    }
  }

  /// Ends the forward phase; what follows is the backward phase, instead of the forward phase's
  /// reverse. Units without a trained parameter may be left out of it.
  /// @throws logic_error if a unit is open, or at a second call.
  constexpr void backward() {
    if (phase_ == phase::backward) {
      throw logic_error(
          "zero::ProgramBuilder: backward() was called twice; a program has one backward phase.");
    }
    end_phase();
    phase_ = phase::backward;
  }

  /// Ends the program and returns it. To be called once, by `make_program`.
  /// @throws logic_error if a unit is open, or was not visited in the forward phase, or, trained,
  /// not in a declared backward phase.
  [[nodiscard]] constexpr program finish() {
    end_phase();
    if (phase_ == phase::forward) {
      program_.backward = detail::reversed(program_.forward);
    }
    return static_cast<program&&>(program_);
  }

 private:
  struct unit_state {
    bool open = false;
    bool visited = false;  // in this phase
  };

  constexpr void open_unit(std::int32_t unit) {
    auto& state = units_[static_cast<std::size_t>(unit)];
    if (state.open) {
      fail(unit, "is opened while it is open; close it first, or use the lease that is open");
    }
    state.open = true;
    state.visited = true;
    add(unit, true);
  }

  constexpr void close_unit(std::int32_t unit) {
    auto& state = units_[static_cast<std::size_t>(unit)];
    if (!state.open) {
      fail(unit, "is closed but not open; open it first");
    }
    state.open = false;
    add(unit, false);
  }

  constexpr void add(std::int32_t unit, bool open) {
    auto& tokens = phase_ == phase::forward ? program_.forward : program_.backward;
    tokens.push_back(program_token{unit, phase_, open});
  }

  /// Checks that nothing is open and nothing was left out, and forgets both.
  constexpr void end_phase() {
    std::int32_t unit = 0;
    for (auto& state : units_) {
      if (state.open) {
        fail(unit, "is still open at the end; close it");
      }
      if (!state.visited && (phase_ == phase::forward || is_trained(unit))) {
        fail(unit,
             phase_ == phase::forward
                 ? "is never visited; visit every unit, or leave it out of the container"
                 : "is never visited but has trained parameters; visit it, or freeze them");
      }
      state = unit_state{};
      ++unit;
    }
  }

  [[nodiscard]] constexpr bool is_trained(std::int32_t wanted) const {
    bool trained = false;
    std::int32_t unit = 0;
    auto look = [&trained](auto const& tensor) {
      trained = trained || !static_cast<detail::tensor_base const&>(tensor).traits.frozen;
    };
    auto visit = [&](auto const& object) {
      if (unit++ == wanted) {
        detail::for_each_tensor(object, look);
      }
    };
    detail::for_each_unit(model_, visit);
    return trained;
  }

  [[noreturn]] void fail(std::int32_t unit, char const* what) const {
    throw logic_error("zero::ProgramBuilder: in the " +
                      std::string(phase_ == phase::forward ? "forward" : "backward") +
                      " phase unit " + unit_names(model_)[static_cast<std::size_t>(unit)] + " " +
                      what + ".");
  }

  Model const& model_;
  std::vector<unit_state> units_;
  program program_;
  phase phase_ = phase::forward;
};

/// A container whose namespace has a `zero_program(model, builder)` for it.
template <class Model>
concept has_declared_program =
    requires(Model const& model, ProgramBuilder<Model>& builder) { zero_program(model, builder); };

namespace detail {

/// Stands for any argument passed by reference, in a search for functions of a wrong signature.
struct any_reference {
  template <class T>
  operator T&() const;
};

/// The same for arguments passed by value.
struct any_value {
  template <class T>
  operator T() const;
};

/// The rule of declared programs, with its sentence.
template <class Model>
struct check_program {
  static constexpr bool value = true;
  static constexpr bool mentioned = requires(Model& model, any_reference builder) {
    zero_program(model, builder);
  } || requires(Model& model, any_value builder) { zero_program(model, builder); };
  static_assert(
      !mentioned || has_declared_program<Model>,
      "zero::make_program: this container has a zero_program that cannot be called; declare "
      "it as zero_program(Model const&, zero::ProgramBuilder<Model>&).");
};

}  // namespace detail

/// The program of a container: what its `zero_program` declares, or else the canonical one, which
/// visits the units in order and then in reverse. Usable in constant expressions; not collective.
/// @throws logic_error if the declared program is not one, naming the unit.
template <class Model>
[[nodiscard]] constexpr program make_program(Model const& model) {
  if constexpr (has_declared_program<Model>) {
    ProgramBuilder<Model> builder(model);
    zero_program(model, builder);
    return builder.finish();
  } else {
    static_assert(detail::check_program<Model>::value);
    program canonical;
    canonical.forward = detail::visit_in_order(unit_count(model));
    canonical.backward = detail::reversed(canonical.forward);
    return canonical;
  }
}

}  // namespace zero::inline ZERO_ABI
