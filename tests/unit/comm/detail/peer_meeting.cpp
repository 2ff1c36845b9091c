// SPDX-License-Identifier: Apache-2.0
#include <zero/comm/detail/peer_meeting.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

using zero::detail::for_each_act;
using zero::detail::meeting_act;

namespace {

/// A world of ranks whose streams are lists of small steps, run in any order that the streams and
/// the flags allow. Collective k of rank r writes k into the memory of each other rank.
class world {
 public:
  explicit world(int ranks)
      : ranks_(ranks),
        flags_(std::size_t{2} * static_cast<std::size_t>(ranks) * static_cast<std::size_t>(ranks)),
        released_(static_cast<std::size_t>(ranks)),
        streams_(static_cast<std::size_t>(ranks)),
        at_(static_cast<std::size_t>(ranks)),
        round_(static_cast<std::size_t>(ranks)),
        memory_(static_cast<std::size_t>(ranks),
                std::vector<int>(static_cast<std::size_t>(ranks))) {}

  /// Appends one collective to every rank's stream, `without` the meeting at one place if told so.
  void add(int k, int without = -1) {
    for (int r = 0; r < ranks_; ++r) {
      auto& stream = streams_[static_cast<std::size_t>(r)];
      auto const simple = [](std::function<void()> f) {
        return step{[] { return true; }, std::move(f)};
      };
      stream.push_back(simple([this, r, k] { round_[static_cast<std::size_t>(r)] = k; }));
      if (without != 0) {
        meet(r, 0);
      }
      for (int to = 0; to < ranks_; ++to) {
        if (to != r) {
          stream.push_back(simple([this, r, to, k] { write(r, to, k); }));
        }
      }
      if (without != 1) {
        meet(r, 1);
      }
      stream.push_back(simple([this, r, k] { read(r, k); }));
    }
  }

  /// Runs steps in a random order; stops when none can run. Rank `dead` does nothing.
  /// @return whether all others have ended
  bool run(std::mt19937& random, int dead = -1) {
    for (;;) {
      std::vector<int> able;
      bool ended = true;
      for (int r = 0; r < ranks_; ++r) {
        auto const i = static_cast<std::size_t>(r);
        if (r != dead && at_[i] < streams_[i].size()) {
          ended = false;
          if (streams_[i][at_[i]].ready()) {
            able.push_back(r);
          }
        }
      }
      if (able.empty()) {
        return ended;
      }
      auto const r = static_cast<std::size_t>(able[random() % able.size()]);
      streams_[r][at_[r]++].run();
    }
  }

  void release(int rank) { released_[static_cast<std::size_t>(rank)] = 1; }

  /// What went wrong: writes at the wrong time and reads of the wrong values.
  [[nodiscard]] int wrong() const { return wrong_; }

 private:
  struct step {
    std::function<bool()> ready;
    std::function<void()> run;
  };

  [[nodiscard]] int& flag(int owner, int where, int from) {
    int const index = (owner * 2 + where) * ranks_ + from;
    return flags_[static_cast<std::size_t>(index)];
  }

  void meet(int r, int where) {
    for_each_act(r, ranks_, [&](meeting_act act, int owner, int from) {
      int* const word = &flag(owner, where, from);
      auto const free = [] { return true; };
      auto& stream = streams_[static_cast<std::size_t>(r)];
      switch (act) {
        case meeting_act::raise:
          return stream.push_back({free, [this, word] {
                                     wrong_ += *word;
                                     *word = 1;
                                   }});
        case meeting_act::await:
          return stream.push_back({[this, word, r] {
                                     return *word == 1 ||
                                            released_[static_cast<std::size_t>(r)] != 0;
                                   },
                                   [] {}});
        case meeting_act::clear:
          return stream.push_back({free, [word] { *word = 0; }});
      }
    });
  }

  /// The owner must be in the same collective: neither before it nor past it.
  void write(int from, int to, int k) {
    wrong_ += round_[static_cast<std::size_t>(to)] == k ? 0 : 1;
    memory_[static_cast<std::size_t>(to)][static_cast<std::size_t>(from)] = k;
  }

  void read(int r, int k) {
    for (int from = 0; from < ranks_; ++from) {
      wrong_ +=
          from == r || memory_[static_cast<std::size_t>(r)][static_cast<std::size_t>(from)] == k
              ? 0
              : 1;
    }
  }

  int ranks_;
  std::vector<int> flags_;
  std::vector<char> released_;
  std::vector<std::vector<step>> streams_;
  std::vector<std::size_t> at_;
  std::vector<int> round_;
  std::vector<std::vector<int>> memory_;
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
        w.add(k);
      }
      CHECK(w.run(random));
      CHECK(w.wrong() == 0);
    }
  }
}

TEST_CASE("neither meeting can be left out") {
  for (int const without : {0, 1}) {
    CAPTURE(without);
    std::mt19937 random(7);
    int wrong = 0;
    for (int turn = 0; turn < 40; ++turn) {
      world w(3);
      for (int k = 1; k <= 6; ++k) {
        w.add(k, without);
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
    w.add(1);
    w.add(2);
    if (let_go) {
      w.release(0);
      w.release(1);
    }
    CHECK(w.run(random, 2) == let_go);
  }
}
