// SPDX-License-Identifier: Apache-2.0
// Ranges for NVIDIA's profilers, as a tool sees them: compiled with ZERO_ENABLE_NVTX, without a
// GPU. The tool is in this program: NVTX asks for it when the first range begins.
#include <zero/engine.hpp>
#include <zero/trace/ranges.hpp>

#include <boost/hana/define_struct.hpp>
#include <doctest/doctest.h>

#include <nvtx3/nvToolsExt.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

static_assert(ZERO_ENABLE_NVTX == 1);

namespace {

/// What the tool has seen. Ranges that are pushed belong to a thread, others to the process.
struct seen {
  std::mutex mutex;
  std::vector<std::string> pushed;            ///< text of each
  std::map<nvtxRangeId_t, std::string> open;  ///< started and not ended
  std::vector<std::string> started;           ///< text of each
  std::int64_t unmatched = 0;                 ///< ends of what had not begun
};

seen all;
thread_local std::int64_t depth = 0;
std::atomic<std::int64_t> deepest{0};
std::atomic<std::int64_t> popped{0};

int NVTX_API push(char const* text) {
  std::lock_guard const lock(all.mutex);
  all.pushed.emplace_back(text);
  ++depth;
  if (depth > deepest) {
    deepest = depth;
  }
  return static_cast<int>(depth - 1);
}

int NVTX_API pop() {
  ++popped;
  std::lock_guard const lock(all.mutex);
  all.unmatched += depth == 0 ? 1 : 0;
  return static_cast<int>(--depth);
}

nvtxRangeId_t NVTX_API start(char const* text) {
  std::lock_guard const lock(all.mutex);
  all.started.emplace_back(text);
  nvtxRangeId_t const id = all.started.size();
  all.open[id] = text;
  return id;
}

void NVTX_API end(nvtxRangeId_t id) {
  std::lock_guard const lock(all.mutex);
  all.unmatched += all.open.erase(id) == 1 ? 0 : 1;
}

template <class Function>
void put(NvtxFunctionTable table, NvtxCallbackIdCore id, Function function) {
  *table[id] = reinterpret_cast<NvtxFunctionPointer>(function);
}

int NVTX_API initialize(NvtxGetExportTableFunc_t tables) {
  auto const* const callbacks =
      static_cast<NvtxExportTableCallbacks const*>(tables(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned int size = 0;
  if (callbacks == nullptr ||
      callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &table, &size) == 0) {
    return 0;
  }
  put(table, NVTX_CBID_CORE_RangePushA, push);
  put(table, NVTX_CBID_CORE_RangePop, pop);
  put(table, NVTX_CBID_CORE_RangeStartA, start);
  put(table, NVTX_CBID_CORE_RangeEnd, end);
  return 1;
}

struct Model {
  BOOST_HANA_DEFINE_STRUCT(Model, (std::array<zero::Tensor<float, 5000>, 3>, layers));
};

std::int64_t count_of(std::vector<std::string> const& texts, std::string const& wanted) {
  std::int64_t count = 0;
  for (auto const& text : texts) {
    count += text == wanted ? 1 : 0;
  }
  return count;
}

/// A tool that is linked in is asked for through this pointer of NVTX's, when the first range
/// begins.
bool const linked_in = [] {
  InitializeInjectionNvtx2_fnptr = initialize;
  return true;
}();

}  // namespace

TEST_CASE("a profiler sees a range for each operation and each lease, and the end of every one") {
  using Engine = zero::ZeroEngine<Model, zero::Stage<3>, zero::Precision<zero::FP32>>;
  REQUIRE(linked_in);
  zero::Local::run(2, [](auto communicator) {
    typename Engine::options options;
    options.schedule.residency_bytes = 0;
    Engine engine(Model{}, std::move(communicator), options);
    for ([[maybe_unused]] auto micro : engine.micro_steps(1)) {
      for (int l = 0; l < 3; ++l) {
        auto const lease = engine.forward(&Model::layers, l);
      }
      for (int l = 3; l-- > 0;) {
        auto const lease = engine.backward(&Model::layers, l);
      }
    }
    engine.step();
    static_cast<void>(engine.result());
  });
  // Two ranks, three layers; the last is gathered once for both phases.
  for (int l = 0; l < 3; ++l) {
    auto const layer = "layers." + std::to_string(l);
    CAPTURE(layer);
    CHECK(count_of(all.started, "zero: forward " + layer) == 2);
    CHECK(count_of(all.started, "zero: backward " + layer) == 2);
    CHECK(count_of(all.pushed, "zero: gather " + layer) == (l == 2 ? 2 : 4));
    CHECK(count_of(all.pushed, "zero: exchange " + layer) == 2);
    CHECK(count_of(all.pushed, "zero: update " + layer) == 2);
  }
  CHECK(all.open.empty());
  CHECK(all.unmatched == 0);
  CHECK(deepest == 1);  // an operation's range holds no other
  CHECK(popped == static_cast<std::int64_t>(all.pushed.size()));
}
