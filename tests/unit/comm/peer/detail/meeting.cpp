// SPDX-License-Identifier: Apache-2.0
#include <zero/comm/peer/detail/meeting.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <random>
#include <utility>
#include <vector>

using zero::detail::for_each_act;
using zero::detail::meeting_act;
using zero::detail::meeting_place;
using zero::detail::peer_flag;

namespace {

/// A world of ranks whose streams are lists of small steps, run in any order that the streams and
/// the flags allow. What a stream writes into flags lands later, in its order; the stream itself
/// sees it at once.
class world {
 public:
  explicit world(int ranks)
      : ranks_(ranks),
        flags_(std::size_t{2} * size() * size()),
        released_(size()),
        streams_(size()),
        written_(size()),
        at_(size()),
        round_(size()),
        received_(size(), std::vector<int>(size())),
        shard_(size()),
        read_(size(), std::vector<int>(size())) {}

  /// Collective k: every rank writes k into the memory of each other one, which reads it then.
  /// `without` leaves the meeting at one place out.
  void move(int k, std::optional<meeting_place> without = {}) {
    for (int r = 0; r < ranks_; ++r) {
      then(r, [this, r, k] { at(round_, r) = k; });
      meet(r, meeting_place::begin, without);
      for_each_other(r, [&](int to) { then(r, [this, r, to, k] { write(r, to, k); }); });
      meet(r, meeting_place::end, without);
      for_each_other(r, [&](int from) {
        then(r, [this, r, from, k] { wrong_ += at(at(received_, r), from) != k ? 1 : 0; });
      });
    }
  }

  /// Collective k: every rank has k in its memory, which each other one reads, in a kernel that
  /// ends when all others have read.
  void read(int k, std::optional<meeting_place> without = {}) {
    for (int r = 0; r < ranks_; ++r) {
      then(r, [this, r, k] { at(shard_, r) = k; });
      meet(r, meeting_place::read, without);
      for_each_other(r, [&](int from) {
        then(r, [this, from, k] { wrong_ += at(shard_, from) != k ? 1 : 0; });
      });
      for_each_other(r, [&](int to) { then(r, [this, r, to, k] { at(at(read_, to), r) = k; }); });
      for_each_other(r, [&](int from) {
        at(streams_, r)
            .push_back({[this, r, from, k] {
                          return at(at(read_, r), from) == k || at(released_, r) != 0;
                        },
                        [] {}});
      });
    }
  }

  /// Runs steps in a random order; stops when none can run. Rank `dead` does nothing.
  /// @return whether all others have ended
  bool run(std::mt19937& random, int dead = -1) {
    for (;;) {
      std::vector<int> able;  // rank r: its next step; r + ranks: its oldest write lands
      bool ended = true;
      for (int r = 0; r < ranks_; ++r) {
        if (r != dead && at(at_, r) < at(streams_, r).size()) {
          ended = false;
          if (at(streams_, r)[at(at_, r)].ready()) {
            able.push_back(r);
          }
        }
        if (!at(written_, r).empty()) {
          able.push_back(r + ranks_);
        }
      }
      if (able.empty()) {
        return ended;
      }
      int const r = able[random() % able.size()];
      if (r < ranks_) {
        at(streams_, r)[at(at_, r)++].run();
      } else {
        auto& [to, value] = at(written_, r - ranks_).front();
        wrong_ += to->seen ? 0 : 1;
        *to = {value, false};
        at(written_, r - ranks_).pop_front();
      }
    }
  }

  void release(int rank) { at(released_, rank) = 1; }

  /// What went wrong: writes at the wrong time, reads of the wrong values, and flags that were
  /// overwritten before anyone had seen them.
  [[nodiscard]] int wrong() const { return wrong_; }

 private:
  struct step {
    std::function<bool()> ready;
    std::function<void()> run;
  };

  struct flag {
    std::uint32_t state = peer_flag::answered;
    bool seen = true;
  };

  /// What rank r sees in a flag.
  [[nodiscard]] std::uint32_t state_for(int r, flag const* f) {
    auto const& own = at(written_, r);
    auto const latest =
        std::find_if(own.rbegin(), own.rend(), [&](auto const& w) { return w.first == f; });
    return latest != own.rend() ? latest->second : f->state;
  }

  template <class T>
  [[nodiscard]] static T& at(std::vector<T>& values, int i) {
    return values[static_cast<std::size_t>(i)];
  }

  [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(ranks_); }

  template <class F>
  void for_each_other(int r, F&& f) const {
    for (int other = 0; other < ranks_; ++other) {
      if (other != r) {
        f(other);
      }
    }
  }

  void then(int r, std::function<void()> run) {
    at(streams_, r).push_back({[] { return true; }, std::move(run)});
  }

  void meet(int r, meeting_place where, std::optional<meeting_place> without) {
    if (where == without) {
      return;
    }
    for_each_act(where, r, ranks_, [&](meeting_act const& act) {
      flag* const f =
          &at(flags_, (static_cast<int>(act.flag) * ranks_ + act.owner) * ranks_ + act.from);
      std::uint32_t const value = act.value;
      if (act.what == meeting_act::kind::write) {
        then(r, [this, r, f, value] { at(written_, r).emplace_back(f, value); });
      } else {
        at(streams_, r)
            .push_back({[this, f, value, r] {
                          return (state_for(r, f) & value) != 0 || at(released_, r) != 0;
                        },
                        [f] { f->seen = true; }});
      }
    });
  }

  /// The owner must be in the same collective: neither before it nor past it.
  void write(int from, int to, int k) {
    wrong_ += at(round_, to) == k ? 0 : 1;
    at(at(received_, to), from) = k;
  }

  int ranks_;
  std::vector<flag> flags_;
  std::vector<char> released_;
  std::vector<std::vector<step>> streams_;
  std::vector<std::deque<std::pair<flag*, std::uint32_t>>>
      written_;  // not landed, the oldest first
  std::vector<std::size_t> at_;
  std::vector<int> round_;                  // the collective in which each rank is
  std::vector<std::vector<int>> received_;  // each rank's memory, by sender
  std::vector<int> shard_;                  // what each rank shows the others
  std::vector<std::vector<int>> read_;      // the collective of which each has read, by reader
  int wrong_ = 0;
};

}  // namespace

TEST_CASE("between two meetings a rank's memory may be written, and after them it is whole") {
  std::mt19937 random(7);
  for (int const ranks : {1, 2, 3, 5, 8}) {
    for (int turn = 0; turn < 40; ++turn) {
      CAPTURE(ranks);
      CAPTURE(turn);
      world w(ranks);
      for (int k = 1; k <= 6; ++k) {
        random() % 2 == 0 ? w.move(k) : w.read(k);
      }
      CHECK(w.run(random));
      CHECK(w.wrong() == 0);
    }
  }
}

TEST_CASE("no meeting can be left out") {
  for (auto const without : {meeting_place::begin, meeting_place::end, meeting_place::read}) {
    CAPTURE(static_cast<int>(without));
    std::mt19937 random(7);
    int wrong = 0;
    for (int turn = 0; turn < 40; ++turn) {
      world w(3);
      for (int k = 1; k <= 6; ++k) {
        without == meeting_place::read ? w.read(k, without) : w.move(k, without);
      }
      static_cast<void>(w.run(random));
      wrong += w.wrong();
    }
    CHECK(wrong > 0);
  }
}

TEST_CASE("a rank that was let go comes to its end without the others, and only then") {
  for (bool const let_go : {false, true}) {
    CAPTURE(let_go);
    std::mt19937 random(7);
    world w(3);
    w.move(1);
    w.read(2);
    w.move(3);
    if (let_go) {
      w.release(0);
      w.release(1);
    }
    CHECK(w.run(random, 2) == let_go);
  }
}
