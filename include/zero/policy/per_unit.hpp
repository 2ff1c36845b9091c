// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/error.hpp>
#include <zero/fwd.hpp>
#include <zero/model/unit.hpp>
#include <zero/policy/concepts.hpp>
#include <zero/policy/policy_list.hpp>
#include <zero/policy/stage.hpp>
#include <zero/version.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

namespace zero::inline ZERO_ABI {

/// Category of `PerUnit<...>`: the units that have another stage than the engine's.
struct per_unit_category {
  using default_policy = PerUnit<>;  ///< none has

  /// Judges how often an engine's list chooses.
  template <std::size_t Count>
  struct check_given_once {
    static constexpr bool value = true;  ///< to be asserted on
    static_assert(Count <= 1,
                  "zero::ZeroEngine: PerUnit<...> was given more than once; keep one, with every "
                  "For<&Model::member, Stage<N>> in it.");
  };

  /// Judges whether somebody else chooses the stage of all other units.
  template <bool Alone>
  struct check_brought {
    static constexpr bool value = true;  ///< to be asserted on
    static_assert(
        Alone,
        "zero::ZeroEngine: Stage<N> was given beside PerUnit<Default<Stage<N>>, ...>, and "
        "both say the stage of all other units; remove one of the two.");
  };
};

namespace detail {

/// The rule of `Default`, with its sentence.
template <class Choice>
struct check_default {
  static constexpr bool value = true;
  static_assert(policy_of<Choice, stage_category>,
                "zero::Default: the argument is no stage; write Default<Stage<N>>.");
};

/// The rules of `For`, with their sentences.
template <auto Member, class... Choices>
struct check_for {
  static constexpr bool value = true;
  static constexpr bool names_member = std::is_member_object_pointer_v<decltype(Member)>;
  static constexpr bool names_stage =
      sizeof...(Choices) == 1 && (policy_of<Choices, stage_category> && ... && true);
  static_assert(names_member,
                "zero::For: the first argument is not a pointer to a data member; write "
                "For<&Model::member, Stage<N>>.");
  static_assert(!names_member || names_stage,
                "zero::For: a member takes one stage and nothing else; write For<&Model::member, "
                "Stage<N>>.");
};

}  // namespace detail

/// Argument of `PerUnit`: the stage of all units that no `For` names, and of the unit of resident
/// parameters.
/// @tparam Choice a `Stage<N>`
template <class Choice>
struct Default {
  static_assert(detail::check_default<Choice>::value);
};

/// Argument of `PerUnit`: the stage of the units of one member, all of them if it is an array or a
/// vector.
/// @tparam Member  a pointer to a member of the engine's container, e.g. `&Model::vision`
/// @tparam Choices one `Stage<N>`
template <auto Member, class... Choices>
struct For {
  static_assert(detail::check_for<Member, Choices...>::value);
};

namespace detail {

/// A member as a type, so that members of different types can be compared.
template <auto Member>
struct member_constant {};

/// Whether a pointer is one to a member of `Model`.
template <class Pointer, class Model>
inline constexpr bool points_into_v = false;
template <class Member, class Model>
inline constexpr bool points_into_v<Member Model::*, Model> = true;

/// Refuses a member that the description of the container does not list, and whose name is unknown
/// therefore.
[[noreturn]] inline void throw_unlisted(int number) {
  throw logic_error("zero::PerUnit: the member of For number " + std::to_string(number) +
                    " is not listed in the description of the container; add it to "
                    "BOOST_HANA_DEFINE_STRUCT, or remove the For.");
}

/// Refuses a member that stands for no unit.
template <class Model, class Member>
[[noreturn]] void throw_without_units(Model const& model, Member Model::* pointer) {
  throw logic_error("zero::PerUnit: " + name_of_member(model, pointer) +
                    " has no units; give the vector or optional its elements before the engine "
                    "takes the container, or remove the For.");
}

/// What `PerUnit` reads in one of its arguments. This, in what is none of them.
template <class Choice>
struct unit_choice {
  static constexpr bool is_default = false;
  static constexpr bool is_for = false;
  using brings = policy_list<>;
  using member = void;

  template <class Model>
  static constexpr bool belongs_to = true;

  template <class Model>
  static constexpr void write(Model const& /*model*/,
                              std::vector<std::int8_t>& /*stages*/,
                              int& /*number*/) {}
};

template <class Choice>
struct unit_choice<Default<Choice>> : unit_choice<void> {
  static constexpr bool is_default = sizeof(Default<Choice>) > 0;  // complete: it was judged
  using brings =
      std::conditional_t<policy_of<Choice, stage_category>, policy_list<Choice>, policy_list<>>;
};

template <auto Member, class... Choices>
struct unit_choice<For<Member, Choices...>> : unit_choice<void> {
  using rules = check_for<Member, Choices...>;
  static constexpr bool is_for = sizeof(For<Member, Choices...>) > 0;  // complete: it was judged
  using member = member_constant<Member>;

  template <class Model>
  static constexpr bool belongs_to = !rules::names_member || points_into_v<decltype(Member), Model>;

  template <class Model>
  static constexpr void write(Model const& model, std::vector<std::int8_t>& stages, int& number) {
    if constexpr (rules::names_stage && points_into_v<decltype(Member), Model>) {
      ++number;
      auto const first = first_unit(model, Member);
      if (first < 0) {
        throw_unlisted(number);
      }
      auto const end = first + unit_count_of(model, Member);
      if (first == end) {
        throw_without_units(model, Member);
      }
      for (auto unit = first; unit < end; ++unit) {
        stages[static_cast<std::size_t>(unit)] = static_cast<std::int8_t>((Choices::value + ...));
      }
    }
  }
};

/// The stage of the first `Default` among `Choices`, in a `policy_list`.
template <class... Choices>
struct default_stage {
  using type = policy_list<>;
};

template <class Choice, class... Choices>
struct default_stage<Choice, Choices...>
    : std::conditional_t<unit_choice<Choice>::is_default,
                         std::type_identity<typename unit_choice<Choice>::brings>,
                         default_stage<Choices...>> {};

/// How many of `Choices` name a member.
template <class Member, class... Choices>
inline constexpr int namings_v =
    (0 + ... + static_cast<int>(std::is_same_v<typename unit_choice<Choices>::member, Member>));

/// Judges one argument of `PerUnit`. One instantiation an argument, so that compilers name the
/// culprit.
template <class Choice>
struct require_unit_choice {
  static constexpr bool value = true;
  static_assert(unit_choice<Choice>::is_default || unit_choice<Choice>::is_for,
                "zero::PerUnit: an argument is neither Default<Stage<N>> nor For<&Model::member, "
                "Stage<N>>; other policies stand beside PerUnit<...>, not inside.");
};

/// The rules of `PerUnit`, with their sentences.
template <class... Choices>
struct check_per_unit {
  static constexpr bool value = true;
  static_assert((require_unit_choice<Choices>::value && ... && true));
  static_assert((0 + ... + static_cast<int>(unit_choice<Choices>::is_default)) <= 1,
                "zero::PerUnit: Default<Stage<N>> was given more than once; keep one.");
  static_assert(((!unit_choice<Choices>::is_for ||
                  namings_v<typename unit_choice<Choices>::member, Choices...> == 1) &&
                 ... && true),
                "zero::PerUnit: a member was named by more than one For; keep one of them.");
};

}  // namespace detail

/// Mixes stages inside one model: `PerUnit<Default<Stage<3>>, For<&Model::vision, Stage<2>>>`. Each
/// unit is held, reduced and updated as its own stage says, and costs memory and wire what it costs
/// in that stage. Bits are those of the unmixed engine, for one micro-step; for several, stages 0
/// and 1 may be mixed, and 2 and 3, with the same bits.
///
/// Units are the members of the container; tensors and structs inside them follow. Parameters that
/// are resident (small ones, and those with the trait) belong to a unit of their own, which has the
/// engine's stage whatever member they are in: a member whose parameters all are has no bytes that
/// a `For` could move.
///
/// Default: `PerUnit<>`, no mix.
/// @tparam Choices in any order: at most one `Default<Stage<N>>`, which replaces `Stage<N>` in the
/// engine's list, and one `For<&Model::member, Stage<N>>` for each member that differs.
template <class... Choices>
struct PerUnit {
  using policy_category = per_unit_category;
  /// The stage of `Default`: a policy of the engine like any other.
  using brings = typename detail::default_stage<Choices...>::type;
  static_assert(detail::check_per_unit<Choices...>::value);

  /// The stages as a plan takes them: one for each of the model's units, -1 for the engine's; none
  /// at all where no `For` is given. A constant expression for models of static shapes.
  /// @throws logic_error for a member that the description of the container does not list, or that
  ///         has no units
  template <class Model>
  [[nodiscard]] static constexpr std::vector<std::int8_t> unit_stages(Model const& model) {
    std::vector<std::int8_t> stages;
    if constexpr ((detail::unit_choice<Choices>::is_for || ... || false)) {
      stages.assign(static_cast<std::size_t>(unit_count(model)), std::int8_t{-1});
      int number = 0;
      (detail::unit_choice<Choices>::write(model, stages, number), ...);
    }
    return stages;
  }
};

namespace detail {

/// Judges one argument of `PerUnit` beside the container of an engine.
template <class Choice, class Model>
struct require_own_member {
  static constexpr bool value = true;
  static_assert(unit_choice<Choice>::template belongs_to<Model>,
                "zero::PerUnit: For names a member of another class than the container of the "
                "engine; name a member of the container itself, whose units all follow it.");
};

/// What an engine asserts about its choice of stages and its container.
template <class P, class Model>
struct check_own_members : std::true_type {};

template <class... Choices, class Model>
struct check_own_members<PerUnit<Choices...>, Model> {
  static constexpr bool value = true;
  static_assert((require_own_member<Choices, Model>::value && ... && true));
};

}  // namespace detail

static_assert(policy_of<PerUnit<Default<Stage<3>>>, per_unit_category>);

}  // namespace zero::inline ZERO_ABI
