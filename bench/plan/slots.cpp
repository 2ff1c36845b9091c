// SPDX-License-Identifier: Apache-2.0
// Stage 3's gather slots, planned, over the most that is open and prefetched at one point of the
// program: equal units, and an embedding and a head of four blocks' size around equal blocks.
#include <zero/plan/plan.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace {

struct figures {
  std::int64_t planned = 0;
  std::int64_t needed = 0;
};

figures measure(std::vector<std::int64_t> const& sizes, int ahead) {
  std::vector<zero::parameter> parameters;
  zero::program program;
  auto const units = static_cast<std::int32_t>(sizes.size());
  for (std::int32_t u = 0; u < units; ++u) {
    zero::parameter p;
    p.elements = sizes[static_cast<std::size_t>(u)];
    p.type = zero::dtype::bf16;
    p.unit = u;
    parameters.push_back(p);
    program.forward.push_back({u, zero::phase::forward, true});
    program.forward.push_back({u, zero::phase::forward, false});
  }
  for (std::int32_t u = units; u-- > 0;) {
    program.backward.push_back({u, zero::phase::backward, true});
    program.backward.push_back({u, zero::phase::backward, false});
  }
  zero::plan_config config;
  config.world = 8;
  config.stage = 3;
  config.schedule.prefetch_units = ahead;
  auto const plan = zero::make_memory_plan(parameters, units, program, config);
  figures f;
  f.planned = plan.pools.rows[static_cast<std::size_t>(zero::pool::parameter_slots)].bytes;
  // the open unit and the next ones of the program, the unit at the turn counted once
  std::vector<std::int32_t> order;
  for (std::int32_t u = 0; u < units; ++u) {
    order.push_back(u);
  }
  for (std::int32_t u = units - 1; u-- > 0;) {
    order.push_back(u);
  }
  for (std::size_t i = 0; i < order.size(); ++i) {
    std::int64_t sum = 0;
    for (std::size_t j = i; j < std::min(order.size(), i + 1 + static_cast<std::size_t>(ahead));
         ++j) {
      sum += plan.layout.units[static_cast<std::size_t>(order[j])].parameter_slot_bytes;
    }
    f.needed = std::max(f.needed, sum);
  }
  return f;
}

}  // namespace

int main() {
  constexpr std::int64_t block = 1 << 20;
  bool good = true;
  std::printf("%10s %8s %10s %16s %16s %8s %6s\n",
              "units",
              "layers",
              "prefetch",
              "slot_bytes",
              "needed_bytes",
              "ratio",
              "bar");
  for (bool const equal : {true, false}) {
    for (int const layers : {8, 64}) {
      for (int const ahead : {1, 2}) {
        std::vector<std::int64_t> sizes(static_cast<std::size_t>(layers), block);
        if (!equal) {
          sizes.insert(sizes.begin(), 4 * block);
          sizes.push_back(4 * block);
        }
        auto const f = measure(sizes, ahead);
        double const ratio = static_cast<double>(f.planned) / static_cast<double>(f.needed);
        bool const met = ratio <= (equal ? 1.0 : 1.25);
        good = good && met;
        std::printf("%10s %8d %10d %16lld %16lld %8.4f %6s\n",
                    equal ? "equal" : "ends of 4",
                    layers,
                    ahead,
                    static_cast<long long>(f.planned),
                    static_cast<long long>(f.needed),
                    ratio,
                    met ? "met" : "MISSED");
      }
    }
  }
  return good ? 0 : 1;
}
