// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/dtype.hpp>
#include <zero/core/hash.hpp>
#include <zero/core/queue.hpp>
#include <zero/detail/engine_core.hpp>
#include <zero/device/transfer.hpp>
#include <zero/parameter_view.hpp>
#include <zero/plan/control.hpp>
#include <zero/plan/owned_pieces.hpp>
#include <zero/plan/placement.hpp>
#include <zero/plan/places.hpp>
#include <zero/plan/plan.hpp>
#include <zero/plan/pools.hpp>
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
    for (std::int32_t i = 0; i < parameters(); ++i) {
      auto const held = held_piece(places(), i);
      for_windows(held, [&](std::int64_t first, std::int64_t n) {
        std::span<float> const window(values.data(), static_cast<std::size_t>(n));
        fill(view(i), first, window);
        visit_dtype(held.format,
                    [&]<class P>(std::type_identity<P>) { store<P>(held, first, window); });
        auto const weights = weights_piece(places(), i);
        if (weights.at.purpose == pool::optimizer) {  // a master apart from the parameter
          auto const begin = std::max(first, weights.first);
          auto const end = std::min(first + n, weights.end());
          if (begin < end) {
            store<float>(weights,
                         begin,
                         window.subspan(static_cast<std::size_t>(begin - first),
                                        static_cast<std::size_t>(end - begin)));
          }
        }
      });
    }
    core_->parameters_written();
  }

  /// Calls `read(view, first, span<float const>)` with the values of each parameter, in order, on
  /// every rank: the FP32 master where there is one, the widened parameter otherwise. Collective.
  template <class Read>
  void read(Read&& read) {
    core_->drain();
    std::vector<float> values(static_cast<std::size_t>(window_elements));
    for (std::int32_t i = 0; i < parameters(); ++i) {
      bool const spread = weights_piece(places(), i).over != group::none;
      for (int owner = 0; owner < (spread ? core_->plan().config.world : 1); ++owner) {
        rank_places const theirs(core_->plan(), spread ? owner : places().rank());
        auto const piece = weights_piece(theirs, i);
        for_windows(piece, [&](std::int64_t first, std::int64_t n) {
          fetch(piece, first, n, owner, values.data());
          read(view(i), first, std::span<float const>(values.data(), static_cast<std::size_t>(n)));
        });
      }
    }
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
  [[nodiscard]] rank_places const& places() const { return core_->memory().places(); }

  [[nodiscard]] std::int32_t parameters() const {
    return static_cast<std::int32_t>(core_->plan().parameters.size());
  }

  [[nodiscard]] parameter_view const& view(std::int32_t parameter) const {
    return core_->model().parameters[static_cast<std::size_t>(parameter)];
  }

  /// Calls `f(first, n)` for the windows of a piece.
  template <class F>
  static void for_windows(owned_piece const& piece, F&& f) {
    for (auto at = piece.first; at < piece.end(); at += window_elements) {
      f(at, std::min(window_elements, piece.end() - at));
    }
  }

  /// Writes elements of a piece of this rank's, rounded once to its format.
  template <class T>
  void store(owned_piece const& piece, std::int64_t first, std::span<float const> values) {
    std::vector<T> rounded(values.size());
    std::ranges::transform(values, rounded.begin(), [](float v) { return from_float<T>(v); });
    upload(core_->device(),
           core_->memory().template at<T>(piece.at) + (first - piece.first),
           rounded.data(),
           static_cast<std::int64_t>(rounded.size() * sizeof(T)));
  }

  /// Elements of a piece of `owner`'s, or of every rank's own, widened, on all ranks.
  void fetch(
      owned_piece const& piece, std::int64_t first, std::int64_t n, int owner, float* values) {
    auto& device = core_->device();
    auto& comm = core_->communicator();
    bool const spread = piece.over != group::none;
    auto* const window = reinterpret_cast<float*>(core_->control().window());
    if (!spread || comm.rank() == owner) {
      auto* const from =
          core_->memory().at(piece.at) + (first - piece.first) * bytes_of(piece.format);
      device.enqueue(queue::comm, [from, format = piece.format, n, window](stream s) {
        visit_dtype(format, [&]<class T>(std::type_identity<T>) {
          if constexpr (std::is_same_v<T, float>) {
            kernels::copy(s, window, from, n * 4);
          } else {
            kernels::template widen<T>(s, reinterpret_cast<T const*>(from), window, n);
          }
        });
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
