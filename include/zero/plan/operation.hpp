// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/queue.hpp>
#include <zero/version.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace zero::inline ZERO_ABI {

/// What an operation of a segment does. One executor runs them all, whatever the stage.
enum class operation_kind : std::uint8_t {
  acquire,         ///< compute waits until a unit's parameters (and gradient slot) may be used
  release,         ///< compute signals that the visit's work has been enqueued
  gather,          ///< all-gather of a unit's parameter shards into a slot
  accumulate,      ///< adds the gradient slot to the rank's own accumulators
  exchange,        ///< the other ranks' parts of one piece of the gradients, into a receive buffer
  reduce_scatter,  ///< the communicator's own reduce-scatter, in place (`Reduction<Native>`)
  sum,             ///< adds the own part and what was received, in rank order, into the
                   ///< accumulators of the shard; or reads the others' memory in place of that
  gather_sums,     ///< all-gather of the summed shards of the accumulators (stage 0)
  norm,            ///< total of the squared gradients of the rank's shard
  agree,           ///< all-gather of one small record a rank; decides norm, skip, clip and scale
  update,          ///< optimizer step of a unit's shard, predicated on the decision
  publish,         ///< all-gather of updated parameters (stages 1 and 2), at the start of a pass
};

/// Number of enumerators of `operation_kind`.
inline constexpr int operation_kinds = 12;

/// Name of an operation for messages and printed plans.
[[nodiscard]] constexpr char const* name(operation_kind kind) {
  constexpr std::array<char const*, operation_kinds> names{"acquire",
                                                           "release",
                                                           "gather",
                                                           "accumulate",
                                                           "exchange",
                                                           "reduce_scatter",
                                                           "sum",
                                                           "gather_sums",
                                                           "norm",
                                                           "agree",
                                                           "update",
                                                           "publish"};
  return names[static_cast<std::size_t>(kind)];
}

/// Properties of one operation that depend on where in the step it stands.
enum operation_flags : std::uint8_t {
  flag_first = 1,   ///< overwrites the accumulators: first micro-step of the step
  flag_last = 2,    ///< completes the reduction: last micro-step; norm blocks are written
  flag_opens = 4,   ///< acquire: first visit that uses the gradient slot
  flag_closes = 8,  ///< release: last visit that uses the gradient slot
  flag_frees = 16,  ///< release: the parameter slot is given away afterwards
  flag_wide = 32,   ///< the accumulators travel, not the gradient slot (stages 0 and 1, k > 1)
  flag_whole = 64,  ///< uses the accumulators of all shards, not of the own one alone
};

/// One operation of a segment: a kind and the buffers it uses. Elements and pieces are positions
/// inside the shard of one range.
struct operation {
  operation_kind kind = operation_kind::acquire;  ///< what is done
  std::uint8_t flags = 0;                         ///< `operation_flags`, or-ed
  std::int16_t receive = -1;                      ///< receive buffer, 0 or 1; -1: none
  std::int32_t parameter_slot = -1;               ///< -1: none
  std::int32_t gradient_slot = -1;                ///< -1: none
  std::int32_t unit = -1;                         ///< -1: of the whole step
  std::int32_t range = -1;                        ///< set where an operation covers one range only
  std::int64_t piece_begin = 0;                   ///< elements inside the shard
  std::int64_t piece_end = 0;                     ///< one past the last

  /// Whether a flag is set.
  [[nodiscard]] constexpr bool has(std::uint8_t flag) const { return (flags & flag) != 0; }

  friend constexpr bool operator==(operation const&, operation const&) = default;
};

/// The queue that an operation runs on. A single rank agrees with itself: no hop between queues.
[[nodiscard]] constexpr queue queue_of(operation_kind kind, int world) {
  switch (kind) {
    case operation_kind::gather:
    case operation_kind::exchange:
    case operation_kind::reduce_scatter:
    case operation_kind::gather_sums:
    case operation_kind::publish:
      return queue::comm;
    case operation_kind::agree:
      return world > 1 ? queue::comm : queue::compute;
    case operation_kind::accumulate:
    case operation_kind::sum:
      return queue::reduce;
    case operation_kind::acquire:
    case operation_kind::release:
    case operation_kind::norm:
    case operation_kind::update:
      return queue::compute;
  }
  return queue::compute;  // not reached: every kind is named above
}

/// Things that operations read and write; dependencies are stated in these terms only.
enum class resource_kind : std::uint8_t {
  parameters,           ///< of a unit, in the pool of parameters
  accumulators,         ///< of a unit, the rank's own shard
  others_accumulators,  ///< of a unit, the other ranks' shards, where this rank holds them
  parameter_slot,       ///< a range of the working memory, with one unit's gathered parameters
  gradient_slot,        ///< the same with one unit's gradients
  receive,              ///< a receive buffer
  optimizer_state,      ///< of a unit, what the rank updates: masters and moments
  partials,             ///< the norm's blocks, all units
  scalars,              ///< decision of the step, loss scale
};

/// Number of enumerators of `resource_kind`.
inline constexpr int resource_kinds = 9;

/// Name of a resource for messages and printed plans.
[[nodiscard]] constexpr char const* name(resource_kind kind) {
  constexpr std::array<char const*, resource_kinds> names{"parameters",
                                                          "accumulators",
                                                          "others' accumulators",
                                                          "parameter slot",
                                                          "gradient slot",
                                                          "receive buffer",
                                                          "optimizer state",
                                                          "norm partials",
                                                          "scalars"};
  return names[static_cast<std::size_t>(kind)];
}

/// One access of an operation.
struct access {
  resource_kind resource = resource_kind::parameters;  ///< of what kind it is
  std::int32_t index = 0;  ///< which one of that kind: a unit, a slot, a buffer
  bool write = false;      ///< else it is read
};

/// The accesses of one operation.
struct access_list {
  static constexpr std::size_t max_accesses = 5;  ///< of one operation

  std::array<access, max_accesses> list{};  ///< the first `count` are set
  int count = 0;                            ///< how many there are

  /// Appends an access.
  constexpr void add(resource_kind resource, std::int32_t index, bool write) {
    list[static_cast<std::size_t>(count++)] = {resource, index, write};
  }

  /// The first access.
  [[nodiscard]] constexpr access const* begin() const { return list.data(); }

  /// One past the last.
  [[nodiscard]] constexpr access const* end() const { return list.data() + count; }
};

/// What each kind of operation reads and writes. This is the only place that states a dependency:
/// waits and records are derived from it, and an operation's body receives only these buffers.
[[nodiscard]] constexpr access_list accesses_of(operation const& op) {
  using enum resource_kind;
  access_list a;
  switch (op.kind) {
    case operation_kind::acquire:
    case operation_kind::release:
      if (op.parameter_slot >= 0) {
        a.add(parameter_slot, op.parameter_slot, false);
      } else {
        a.add(parameters, op.unit, false);
      }
      if (op.gradient_slot >= 0) {
        a.add(gradient_slot, op.gradient_slot, true);
      }
      break;
    case operation_kind::gather:
      a.add(parameters, op.unit, false);
      a.add(parameter_slot, op.parameter_slot, true);
      break;
    case operation_kind::accumulate:
      a.add(gradient_slot, op.gradient_slot, false);
      a.add(accumulators, op.unit, true);
      if (op.has(flag_whole)) {
        a.add(others_accumulators, op.unit, true);
      }
      if (op.has(flag_last)) {
        a.add(partials, 0, true);
      }
      break;
    case operation_kind::exchange:
      if (op.has(flag_wide)) {
        a.add(others_accumulators, op.unit, false);
      } else {
        a.add(gradient_slot, op.gradient_slot, false);
      }
      a.add(receive, op.receive, true);
      break;
    case operation_kind::reduce_scatter:
      if (op.has(flag_wide)) {
        a.add(accumulators, op.unit, true);
        a.add(others_accumulators, op.unit, true);
      } else {
        a.add(gradient_slot, op.gradient_slot, true);
      }
      break;
    case operation_kind::sum:
      if (op.receive >= 0) {
        a.add(receive, op.receive, false);
      }
      if (op.gradient_slot >= 0) {
        a.add(gradient_slot, op.gradient_slot, false);
      }
      if (op.receive >= 0 && op.has(flag_wide)) {
        a.add(others_accumulators, op.unit, false);  // by the others, if their sums read them here
      }
      a.add(accumulators, op.unit, true);
      if (op.has(flag_last)) {
        a.add(partials, 0, true);
      }
      break;
    case operation_kind::gather_sums:
      a.add(accumulators, op.unit, false);
      a.add(others_accumulators, op.unit, true);
      break;
    case operation_kind::norm:
      a.add(partials, 0, false);
      a.add(scalars, 0, true);
      break;
    case operation_kind::agree:
      a.add(scalars, 0, true);
      break;
    case operation_kind::update:
      a.add(accumulators, op.unit, false);
      if (op.has(flag_whole)) {
        a.add(others_accumulators, op.unit, false);
      }
      a.add(scalars, 0, false);
      a.add(optimizer_state, op.unit, true);
      a.add(parameters, op.unit, true);
      break;
    case operation_kind::publish:
      a.add(parameters, op.unit, true);
      break;
  }
  return a;
}

}  // namespace zero::inline ZERO_ABI
