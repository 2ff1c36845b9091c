// SPDX-License-Identifier: Apache-2.0
#include <zero/detail/rank_exchange.hpp>

#include <zero/comm/concepts.hpp>
#include <zero/comm/local.hpp>
#include <zero/core/dtype.hpp>
#include <zero/core/error.hpp>
#include <zero/core/traffic.hpp>
#include <zero/device/host.hpp>
#include <zero/plan/control.hpp>

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace {

/// A core with nothing but what an exchange needs.
class bare_core {
 public:
  using stream = zero::host_stream;

  explicit bare_core(zero::local_communicator communicator)
      : communicator_(std::move(communicator)),
        device_(0, zero::host_options{}) {}

  [[nodiscard]] zero::local_communicator& communicator() { return communicator_; }

  [[nodiscard]] zero::host_device& device() { return device_; }

  [[nodiscard]] std::byte* window() { return window_.data(); }

  void drain() {
    settle();
    communicator_.check();
  }

  void settle() {
    device_.finish();
    device_.check();
  }

  [[nodiscard]] zero::collective_tag outside_tag(char const* what) {
    zero::collective_tag tag;
    tag.sequence = ++sequence_;
    tag.operation_name = what;
    tag.unit_name = "";
    return tag;
  }

 private:
  zero::local_communicator communicator_;
  std::vector<std::byte> window_ =
      std::vector<std::byte>(static_cast<std::size_t>(zero::full_window_bytes));
  std::uint64_t sequence_ = 0;
  zero::host_device device_;  // the last: its threads use the others
};

/// Runs a body on each of some ranks with a core and an exchange.
template <class Body>
void on_ranks(int ranks, Body body) {
  zero::Local::run(ranks, [&](zero::local_communicator communicator) {
    bare_core core(std::move(communicator));
    zero::detail::rank_exchange<bare_core> exchange(core, ranks);
    body(core, exchange);
    core.drain();
    core.communicator().leave();
  });
}

TEST_CASE("values of all ranks arrive on each in rank order, whatever their size") {
  for (int const ranks : {1, 2, 3, 5, 8}) {
    CAPTURE(ranks);
    on_ranks(ranks, [&](auto& core, auto& exchange) {
      for (std::int64_t turn = 0; turn < 3; ++turn) {
        std::array<std::int64_t, 9> mine{};
        mine.fill(100 * core.communicator().rank() + turn);
        auto const all = exchange.gather(mine, "test");
        REQUIRE(all.size() == static_cast<std::size_t>(ranks));
        for (std::size_t r = 0; r < all.size(); ++r) {
          CHECK(all[r][0] == 100 * static_cast<std::int64_t>(r) + turn);
          CHECK(all[r][8] == all[r][0]);
        }
        auto const letters =
            exchange.gather(static_cast<char>('a' + core.communicator().rank()), "test");
        CHECK(letters.back() == static_cast<char>('a' + ranks - 1));
      }
    });
  }
}

TEST_CASE("a mean is added in rank order") {
  on_ranks(4, [](auto& core, auto& exchange) {
    std::array<double, 4> const values{1, 0x1p60, -0x1p60, 4};  // in another order 5 / 4 or 1 / 4
    CHECK(exchange.mean(values[static_cast<std::size_t>(core.communicator().rank())]) == 1);
  });
  on_ranks(1, [](auto&, auto& exchange) { CHECK(exchange.mean(0.1) == 0.1); });
}

TEST_CASE("more than the window holds is refused, and nothing is sent") {
  on_ranks(2, [](auto& core, auto& exchange) {
    std::vector<char> mine(static_cast<std::size_t>(zero::full_window_bytes / 2 + 1));
    std::vector<char> all(2 * mine.size());
    CHECK_THROWS_AS(exchange.gather_bytes(
                        mine.data(), static_cast<std::int64_t>(mine.size()), all.data(), "test"),
                    zero::logic_error);
    CHECK(core.communicator().counters()[zero::collective::all_gather].count == 0);
    exchange.gather_bytes(
        mine.data(), static_cast<std::int64_t>(mine.size()) - 1, all.data(), "test");
    CHECK(core.communicator().counters()[zero::collective::all_gather].count == 1);
  });
}

TEST_CASE("a warm-up runs the collectives that an engine makes, and is left when all have come") {
  for (int const ranks : {1, 2, 3}) {
    for (bool const native : {false, true}) {
      CAPTURE(ranks);
      CAPTURE(native);
      std::atomic<int> come{0};
      on_ranks(ranks, [&](auto& core, auto& exchange) {
        ++come;
        exchange.template warm_up<zero::bf16>(native, 0.5);
        CHECK(come == ranks);
        auto const sent = core.communicator().counters();
        bool const several = ranks > 1;
        CHECK(sent[zero::collective::broadcast].count == (several ? 1 : 0));
        CHECK(sent[zero::collective::all_gather].count == (several ? 1 : 0));
        CHECK(sent[zero::collective::all_to_others].count == (several && !native ? 1 : 0));
        CHECK(sent[zero::collective::reduce_scatter].count == (several && native ? 2 : 0));
      });
    }
  }
}

}  // namespace
