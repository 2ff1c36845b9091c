// SPDX-License-Identifier: Apache-2.0
#include <zero/plan/owned_pieces.hpp>

#include "random_plan.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <tuple>
#include <vector>

namespace {

using key = std::tuple<std::int32_t, zero::state_role, std::int32_t>;

}  // namespace

TEST_CASE("the ranks' pieces are all of the state, each element once, or each rank has all of it") {
  std::mt19937 random(41);
  for (int round = 0; round < 200; ++round) {
    auto const plan = zero::test::draw_case(random).plan();
    std::map<key, std::int64_t> next;  // pieces of ascending ranks follow one another
    for (int rank = 0; rank < plan.config.world; ++rank) {
      zero::for_each_owned_piece(zero::rank_places(plan, rank),
                                 [&](zero::owned_piece const& piece) {
                                   auto& at = next[{piece.parameter, piece.role, piece.index}];
                                   if (piece.over == zero::group::none) {
                                     CHECK(piece.first == 0);
                                     CHECK((rank == 0 || at == piece.end()));
                                   } else {
                                     CHECK(piece.first == at);
                                   }
                                   at = piece.end();
                                 });
    }
    for (std::size_t i = 0; i < plan.parameters.size(); ++i) {
      auto const& p = plan.parameters[i];
      auto const parameter = static_cast<std::int32_t>(i);
      auto const all = [&](zero::state_role role, std::int32_t index) {
        auto const found = next.find({parameter, role, index});
        return found == next.end() ? std::int64_t{0} : found->second;
      };
      CHECK(all(zero::state_role::master, 0) == p.elements);
      for (std::int32_t m = 0; m < plan.config.moments; ++m) {
        CHECK(all(zero::state_role::moment, m) == (p.traits.frozen ? 0 : p.elements));
      }
    }
  }
}

TEST_CASE("pieces of one rank lie in its pools and do not overlap") {
  std::mt19937 random(42);
  for (int round = 0; round < 200; ++round) {
    auto const plan = zero::test::draw_case(random).plan();
    std::map<zero::pool, std::map<std::int64_t, std::int64_t>> taken;  // begin to end
    zero::for_each_owned_piece(
        zero::rank_places(plan, plan.config.world - 1), [&](zero::owned_piece const& piece) {
          auto const begin = piece.at.offset;
          auto const end = begin + piece.count * zero::bytes_of(piece.format);
          CHECK(begin >= 0);
          CHECK(end <= plan.pools.row(piece.at.purpose, piece.at.in).bytes);
          auto& pool = taken[piece.at.purpose];
          auto const behind = pool.lower_bound(begin);
          CHECK((behind == pool.end() || behind->first >= end));
          CHECK((behind == pool.begin() || std::prev(behind)->second <= begin));
          pool[begin] = end;
        });
  }
}

TEST_CASE("a rank holds what it owns, in the parameter's own type") {
  std::mt19937 random(43);
  for (int round = 0; round < 200; ++round) {
    auto const plan = zero::test::draw_case(random).plan();
    for (int rank = 0; rank < plan.config.world; ++rank) {
      zero::rank_places const places(plan, rank);
      for (std::size_t i = 0; i < plan.parameters.size(); ++i) {
        auto const parameter = static_cast<std::int32_t>(i);
        auto const held = zero::held_piece(places, parameter);
        auto const owned = zero::weights_piece(places, parameter);
        if (owned.count > 0) {
          CHECK(held.first <= owned.first);
          CHECK(held.end() >= owned.end());
          CHECK(held.format == plan.parameters[i].type);
        }
      }
    }
  }
}
