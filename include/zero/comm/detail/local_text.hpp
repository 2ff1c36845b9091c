// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/comm/concepts.hpp>
#include <zero/core/dtype.hpp>
#include <zero/version.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace zero::inline ZERO_ABI::detail {

/// What a rank brings to a collective of a local world.
struct local_call {
  collective kind = collective::all_gather;
  void const* send = nullptr;
  std::int64_t send_stride = 0;  // bytes; the sender's own business, not compared
  std::int64_t bytes = 0;
  dtype type = dtype::fp32;
  double prescale = 1;
  int root = 0;

  /// True when two ranks ask for the same movement of bytes.
  [[nodiscard]] bool matches(local_call const& other) const noexcept {
    return kind == other.kind && bytes == other.bytes && type == other.type &&
           prescale == other.prescale && root == other.root;
  }
};

/// Where a rank is, or was last, in the schedule. It owns its names (cut to what fits, never
/// allocated): a message may be made long after the engine that had them is gone.
struct local_place {
  collective_tag tag;
  collective kind = collective::all_gather;
  bool known = false;  // false until the rank's first collective
  std::array<char, 32> operation{};
  std::array<char, 96> unit{};
  std::array<char, 48> pass{};

  void assign(collective_tag const& from, collective operation_kind) noexcept {
    tag = from;
    tag.operation_name = nullptr;
    tag.unit_name = nullptr;
    tag.pass_name = nullptr;
    kind = operation_kind;
    known = true;
    copy(operation, from.operation_name != nullptr ? from.operation_name : name(operation_kind));
    copy(unit, from.unit_name != nullptr ? from.unit_name : "");
    copy(pass, from.pass_name != nullptr ? from.pass_name : "");
  }

 private:
  template <std::size_t Size>
  static void copy(std::array<char, Size>& to, std::string_view from) noexcept {
    to[from.copy(to.data(), Size - 1)] = '\0';
  }
};

/// "gather 'blocks.3'"
[[nodiscard]] inline std::string label(local_place const& place) {
  std::string text = place.operation.data();
  if (place.unit[0] != '\0') {
    text += std::string(" '") + place.unit.data() + "'";
  }
  return text;
}

/// "gather 'blocks.3' of step 4"
[[nodiscard]] inline std::string at(local_place const& place) {
  return label(place) + " of step " + std::to_string(place.tag.step);
}

/// The rest of a label, for calls whose labels are the same and which still differ.
[[nodiscard]] inline std::string particulars(local_place const& place, local_call const& call) {
  return std::string(" (") + name(call.kind) + ", step " + std::to_string(place.tag.step) +
         ", pass " + std::to_string(int{place.tag.pass}) + ", sequence " +
         std::to_string(place.tag.sequence) + ", " + std::to_string(call.bytes) + " bytes)";
}

/// Rank 0 and rank `other` have come to different collectives.
[[nodiscard]] inline std::string disagreement(local_place const& first,
                                              local_call const& first_call,
                                              int other,
                                              local_place const& second,
                                              local_call const& second_call) {
  std::string a = label(first);
  std::string b = label(second);
  std::string_view const pass = first.pass.data();
  std::string_view const other_pass = second.pass.data();
  if (!pass.empty() && !other_pass.empty() && pass != other_pass) {
    a.append(" in ").append(pass);
    b.append(" in ").append(other_pass);
  } else if (a == b) {
    a += particulars(first, first_call);
    b += particulars(second, second_call);
  }
  return "rank 0 is at " + a + ", rank " + std::to_string(other) + " at " + b +
         "; all ranks must make the same calls in the same order";
}

/// A rank has left, and another one still wants it.
[[nodiscard]] inline std::string departure(int gone,
                                           local_place const& last,
                                           int waiting,
                                           local_place const& wanted) {
  return "rank " + std::to_string(gone) + " left " +
         (last.known ? "after step " + std::to_string(last.tag.step)
                     : std::string("before its first collective")) +
         ", but rank " + std::to_string(waiting) + " is at " + at(wanted);
}

/// Some ranks did not come in time.
[[nodiscard]] inline std::string absence(std::vector<int> const& absent,
                                         local_place const& last,
                                         local_place const& wanted,
                                         std::chrono::milliseconds limit) {
  std::string text = absent.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < absent.size(); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(absent[i]);
  }
  return text + " did not come to " + at(wanted) + " within " + std::to_string(limit.count()) +
         " ms; rank " + std::to_string(absent.front()) + " was last " +
         (last.known ? "at " + at(last) : std::string("seen before its first collective"));
}

/// A rank has failed by itself.
[[nodiscard]] inline std::string death(int rank, local_place const& last, std::string const& why) {
  return "rank " + std::to_string(rank) + " failed " +
         (last.known ? "after " + at(last) : std::string("before its first collective")) + ": " +
         why;
}

}  // namespace zero::inline ZERO_ABI::detail
