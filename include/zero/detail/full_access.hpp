// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/dtype.hpp>
#include <zero/core/hash.hpp>
#include <zero/detail/engine_core.hpp>
#include <zero/device/transfer.hpp>
#include <zero/plan/plan.hpp>
#include <zero/version.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

namespace zero::inline ZERO_ABI::detail {

/// Reads and writes whole parameters through a window of `full_window_bytes`, one parameter after
/// the other, wherever their shards lie.
template <class Types>
class full_access {
 public:
  using core = engine_core<Types>;
  using stream = typename core::stream;
  using kernels = typename core::kernels;
  static constexpr std::int64_t window_elements = full_window_bytes / 4;

  explicit full_access(core& c)
      : core_(&c) {}

  /// Calls `fill(view, first, span<float>)` for the parts of each parameter that this rank holds,
  /// and stores what it wrote: rounded once in the parameter, in full in the master.
  template <class Fill>
  void write(Fill&& fill) {
    core_->drain();
    std::vector<float> values(static_cast<std::size_t>(window_elements));
    for_parameters(
        [&](std::size_t i, unit_range const& r, std::int64_t offset, std::int64_t count) {
          auto const& unit = memory().unit_of(r);
          auto const held = unit.parameters_sharded ? memory().shard_begin(r) : 0;
          auto const held_end = held + (unit.parameters_sharded ? r.shard : r.elements);
          auto const begin = std::max(offset, held);
          auto const end = std::min(offset + count, held_end);
          for (auto at = begin; at < end; at += window_elements) {
            auto const n = std::min(window_elements, end - at);
            std::span<float> const window(values.data(), static_cast<std::size_t>(n));
            fill(core_->model().parameters[i], at - offset, window);
            store(r, at, window, held);
          }
        });
    core_->parameters_written();
  }

  /// Calls `read(view, first, span<float const>)` with the values of each parameter, in order, on
  /// every rank: the FP32 master where there is one, the widened parameter otherwise. Collective.
  template <class Read>
  void read(Read&& read) {
    core_->drain();
    std::vector<float> values(static_cast<std::size_t>(window_elements));
    for_parameters(
        [&](std::size_t i, unit_range const& r, std::int64_t offset, std::int64_t count) {
          auto const& unit = memory().unit_of(r);
          bool const spread = r.frozen ? unit.parameters_sharded : unit.optimizer_sharded;
          for (auto at = offset; at < offset + count;) {
            auto const owner = spread ? at / r.shard : std::int64_t{0};
            auto const border = spread ? (owner + 1) * r.shard : r.elements;
            auto const n = std::min({window_elements, offset + count - at, border - at});
            fetch(r, at, n, spread, static_cast<int>(owner), values.data());
            read(core_->model().parameters[i],
                 at - offset,
                 std::span<float const>(values.data(), static_cast<std::size_t>(n)));
            at += n;
          }
        });
  }

  /// Hash of all masters (and of frozen parameters), the same for every stage, number of ranks and
  /// device. Collective.
  [[nodiscard]] std::uint64_t masters_hash() {
    std::uint64_t hash = 0;
    read([&](parameter_view const& p, std::int64_t first, std::span<float const> values) {
      for (std::size_t i = 0; i < values.size(); ++i) {
        hash += mix_hash(p.key,
                         static_cast<std::uint64_t>(first) + i,
                         __builtin_bit_cast(std::uint32_t, values[i]));
      }
    });
    return hash;
  }

  /// Adds the hash of the parameters of an open unit, in their own type, as this rank sees them.
  void add_replica_hash(std::int32_t unit, std::uint64_t& hash) {
    core_->drain();
    auto const& model = core_->model();
    std::vector<std::byte> bytes;
    for (std::size_t i = 0; i < model.parameters.size(); ++i) {
      auto const& p = core_->plan().parameters[i];
      if (p.unit != unit || p.elements == 0) {
        continue;
      }
      auto const width = bytes_of(p.type);
      bytes.resize(static_cast<std::size_t>(window_elements * width));
      auto const* const source = static_cast<std::byte const*>(model.values[i]->address);
      for (std::int64_t at = 0; at < p.elements; at += window_elements) {
        auto const n = std::min(window_elements, p.elements - at);
        download(core_->device(), bytes.data(), source + at * width, n * width);
        for (std::int64_t e = 0; e < n; ++e) {
          std::uint32_t bits = 0;
          std::memcpy(&bits, bytes.data() + e * width, static_cast<std::size_t>(width));
          hash += mix_hash(model.parameters[i].key, static_cast<std::uint64_t>(at + e), bits);
        }
      }
    }
  }

 private:
  [[nodiscard]] pool_memory<typename core::device_type> const& memory() const {
    return core_->memory();
  }

  template <class F>
  void for_parameters(F&& f) {
    auto const& plan = core_->plan();
    for (std::size_t i = 0; i < plan.parameters.size(); ++i) {
      auto const& place = plan.layout.places[i];
      if (place.range >= 0) {
        f(i,
          plan.layout.ranges[static_cast<std::size_t>(place.range)],
          place.offset,
          plan.parameters[i].elements);
      }
    }
  }

  void store(unit_range const& r,
             std::int64_t at,
             std::span<float const> values,
             std::int64_t held) {
    auto const n = static_cast<std::int64_t>(values.size());
    visit_dtype(r.type, [&]<class P>(std::type_identity<P>) {
      std::vector<P> rounded(values.size());
      std::transform(
          values.begin(), values.end(), rounded.begin(), [](float v) { return from_float<P>(v); });
      upload(core_->device(),
             memory().held_parameters(r) + (at - held) * bytes_of(r.type),
             rounded.data(),
             n * bytes_of(r.type));
    });
    if (r.frozen || r.type == dtype::fp32) {
      return;
    }
    auto const owned = memory().owned_begin(r);
    auto const begin = std::max(at, owned);
    auto const end = std::min(at + n, owned + memory().owned_elements(r));
    if (begin < end) {
      upload(core_->device(),
             memory().masters(r) + (begin - owned),
             values.data() + (begin - at),
             (end - begin) * 4);
    }
  }

  void fetch(
      unit_range const& r, std::int64_t at, std::int64_t n, bool spread, int owner, float* values) {
    auto& device = core_->device();
    auto& comm = core_->communicator();
    auto* const window = reinterpret_cast<float*>(core_->control().window());
    if (!spread || comm.rank() == owner) {
      device.enqueue(queue::comm, [this, r = &r, at, n, window](stream s) {
        if (r->frozen) {
          visit_dtype(r->type, [&]<class P>(std::type_identity<P>) {
            auto const held =
                memory().unit_of(*r).parameters_sharded ? memory().shard_begin(*r) : 0;
            kernels::template widen<P>(
                s,
                reinterpret_cast<P const*>(memory().held_parameters(*r)) + (at - held),
                window,
                n);
          });
        } else {
          kernels::copy(s, window, memory().masters(*r) + (at - memory().owned_begin(*r)), n * 4);
        }
      });
    }
    if (spread) {
      auto const tag = core_->outside_tag("full");
      device.enqueue(queue::comm, [&comm, tag, window, n, owner](stream s) {
        comm.broadcast(s, tag, window, n * 4, owner);
      });
    }
    core_->drain();
    download(device, values, window, n * 4);
  }

  core* core_;
};

}  // namespace zero::inline ZERO_ABI::detail
