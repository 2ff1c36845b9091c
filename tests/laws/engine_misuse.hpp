// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/laws/engine.hpp"
#include "tests/support/text.hpp"

#include <zero/core/dtype.hpp>
#include <zero/core/error.hpp>
#include <zero/core/queue.hpp>
#include <zero/lease.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

/// @file
/// The laws of misuse: each wrong call is one sentence that says what was done and what was
/// expected, on the rank that did it, and every other rank fails soon with its number.

namespace zero::laws {

using test::contains;

/// Runs a body on each rank and gives what each threw, "" where it threw nothing. The error ends in
/// the body: only the engine can have told the other ranks of it.
template <class Platform, class Body>
[[nodiscard]] std::vector<std::string> errors_of(int ranks, Body body, local_options options = {}) {
  std::vector<std::string> errors(static_cast<std::size_t>(ranks));
  Platform::run(
      ranks,
      [&](auto communicator) {
        auto const rank = static_cast<std::size_t>(communicator.rank());
        try {
          body(std::move(communicator));
        } catch (std::exception const& error) {
          errors[rank] = error.what();
        }
      },
      options);
  return errors;
}

/// A plain step with gradients of zero.
template <class Engine>
void plain_step(Engine& engine, std::int64_t micro_steps = 1) {
  using model = typename Engine::model_type;
  for ([[maybe_unused]] auto const micro : engine.micro_steps(micro_steps)) {
    model::forward(engine, [](auto&, int) {});
    model::backward(engine, [](auto&, int) {});
  }
  engine.step();
}

/// What all ranks do after a good step; the one that is told so does it wrong.
template <class Engine>
using mistake = std::function<void(Engine&, bool wrong)>;

/// A mistake in which the others have no part.
template <class Engine>
[[nodiscard]] mistake<Engine> alone(std::function<void(Engine&)> act) {
  return [act = std::move(act)](Engine& engine, bool wrong) {
    if (wrong) {
      act(engine);
    }
  };
}

/// Three ranks; the second makes a mistake after a good step, the others go on.
/// @return what each rank threw
template <class Platform, class Engine>
[[nodiscard]] std::vector<std::string> after_mistake(typename Engine::model_type const& model,
                                                     bool overlap,
                                                     mistake<Engine> const& act,
                                                     local_options options = {}) {
  return errors_of<Platform>(
      3,
      [&](auto communicator) {
        training_job job;
        job.overlap = overlap;
        job.residency_bytes = 0;
        auto engine = Platform::template make<Engine>(
            model, std::move(communicator), options_of<Engine>(job));
        plain_step(engine);
        act(engine, engine.rank() == 1);
        for (int step = 0; step < 3; ++step) {
          plain_step(engine);
          static_cast<void>(engine.result());
        }
      },
      options);
}

/// The second rank's mistake gives a sentence with all of `parts` there, and one with its number on
/// the others, soon.
template <class Platform, class Engine>
void mistake_law(typename Engine::model_type const& model,
                 std::vector<std::string> const& parts,
                 mistake<Engine> const& act,
                 std::vector<std::string> const& parts_elsewhere = {}) {
  for (bool const overlap : {true, false}) {
    CAPTURE(Engine::stage);
    CAPTURE(overlap);
    auto const start = std::chrono::steady_clock::now();
    auto const errors = after_mistake<Platform, Engine>(model, overlap, act);
    auto const took = std::chrono::steady_clock::now() - start;
    CHECK(took < std::chrono::seconds(30));  // not the stall limit; a second on a quiet machine
    CAPTURE(errors[0]);
    CAPTURE(errors[1]);
    CAPTURE(errors[2]);
    for (auto const& part : parts) {
      CAPTURE(part);
      CHECK(contains(errors[1], part));
    }
    CHECK(contains(errors[0], "rank 1"));
    CHECK(contains(errors[2], "rank 1"));
    for (auto const& part : parts_elsewhere) {
      CAPTURE(part);
      CHECK(contains(errors[0], part));
      CHECK(contains(errors[2], part));
    }
  }
}

/// Calls out of place, on a plain stack of layers.
template <class Platform, class Engine>
void wrong_calls_law(typename Engine::model_type const& model) {
  using M = typename Engine::model_type;
  using names = std::vector<std::string>;
  auto const law =
      [&](names const& parts, std::function<void(Engine&)> act, names const& elsewhere = {}) {
        mistake_law<Platform, Engine>(model, parts, alone<Engine>(std::move(act)), elsewhere);
      };
  auto const shared_law = [&](names const& parts, mistake<Engine> const& act) {
    mistake_law<Platform, Engine>(model, parts, act);
  };
  auto const forward_all = [](Engine& engine) { M::forward(engine, [](auto&, int) {}); };
  auto const in_micro_step = [](Engine& engine, auto body) {
    for ([[maybe_unused]] auto const micro : engine.micro_steps()) {
      body();
    }
  };

  law({"rank 1, step 2",
       "open forward 'layers.1' was asked for",
       "open forward 'layers.0' was expected"},
      [&](Engine& engine) {
        in_micro_step(engine, [&] { static_cast<void>(engine.forward(&M::layers, 1)); });
      },
      {"layers.1", "layers.0"});

  law({"open forward 'layers.1' was asked for", "close forward 'layers.0' was expected"},
      [&](Engine& engine) {
        in_micro_step(engine, [&] {
          auto const first = engine.forward(&M::layers, 0);
          auto const second = engine.forward(&M::layers, 1);
        });
      });

  law({"open backward 'layers.4' was asked for", "open forward 'layers.0' was expected"},
      [&](Engine& engine) {
        in_micro_step(engine, [&] { static_cast<void>(engine.backward(&M::layers, 4)); });
      });

  law({"the pass ended", "open backward 'layers.0' was expected"},
      [&](Engine& engine) {
        in_micro_step(engine, [&] {
          forward_all(engine);
          for (std::int64_t i = M::depth; i-- > 1;) {
            static_cast<void>(engine.backward(&M::layers, i));
          }
        });
      },
      {"layers.0"});

  law({"the pass ended", "open forward 'layers.0' was expected"},
      [&](Engine& engine) { in_micro_step(engine, [] {}); });

  law({"'layers.0' was used outside a pass"},
      [](Engine& engine) { static_cast<void>(engine.forward(&M::layers, 0)); });

  law({"step was called before any micro-step"}, [](Engine& engine) { engine.step(); });

  law({"step was called inside the loop over the micro-steps"}, [&](Engine& engine) {
    in_micro_step(engine, [&] {
      forward_all(engine);
      M::backward(engine, [](auto&, int) {});
      engine.step();
    });
  });

  law({"a pass was begun inside a pass"}, [&](Engine& engine) {
    in_micro_step(engine, [&] {
      forward_all(engine);
      static_cast<void>(engine.evaluation());
    });
  });

  shared_law({"a pass was begun inside a pass"}, [](Engine& engine, bool wrong) {
    auto first = engine.evaluation();
    if (wrong) {
      auto second = engine.evaluation();
    }
    first.follow();
  });

  shared_law({"open backward 'layers.4' was asked for", "the end of the pass was expected"},
             [&](Engine& engine, bool wrong) {
               auto pass = engine.evaluation();
               M::forward(pass, [](auto&, int) {});
               if (wrong) {
                 static_cast<void>(engine.backward(&M::layers, 4));
               }
             });

  shared_law({"the pass ended", "open forward 'layers.2' was expected"},
             [&](Engine& engine, bool wrong) {
               auto pass = engine.evaluation();
               {
                 auto const lease = pass.forward(&M::layers, 0);
               }
               {
                 auto const lease = pass.forward(&M::layers, 1);
               }
               if (!wrong) {
                 pass.follow();
               }
               pass.end();
             });

  shared_law({"a second loop over micro-steps began before step"}, [](Engine& engine, bool wrong) {
    for (int loop = 0; loop < (wrong ? 2 : 1); ++loop) {
      for ([[maybe_unused]] auto const micro : engine.micro_steps()) {
        M::forward(engine, [](auto&, int) {});
        M::backward(engine, [](auto&, int) {});
      }
    }
    engine.step();
  });

  char const* const again = "the same micro_steps were iterated a second time";
  law({again}, [&](Engine& engine) {  // after its end
    auto steps = engine.micro_steps();
    for (int loop = 0; loop < 2; ++loop) {
      for ([[maybe_unused]] auto const micro : steps) {
        M::forward(engine, [](auto&, int) {});
        M::backward(engine, [](auto&, int) {});
      }
      engine.step();
    }
  });

  shared_law({again}, [&](Engine& engine, bool wrong) {  // in the turn that was left
    if (!wrong) {
      return plain_step(engine, 2);
    }
    auto steps = engine.micro_steps(2);
    for (int loop = 0; loop < 2; ++loop) {
      for (auto const micro : steps) {
        M::forward(engine, [](auto&, int) {});
        M::backward(engine, [](auto&, int) {});
        if (micro.index == 1) {
          break;
        }
      }
    }
  });

  law({"initialize was called inside the loop over the micro-steps"},
      [&](Engine& engine) { in_micro_step(engine, [&] { engine.initialize(initial_values); }); });

  shared_law({"a micro-step ended inside an evaluation pass"}, [&](Engine& engine, bool wrong) {
    std::optional<decltype(engine.evaluation())> pass;
    for ([[maybe_unused]] auto const micro : engine.micro_steps()) {
      pass.emplace(engine.evaluation());
      pass->follow();
      if (!wrong) {
        pass.reset();
        M::forward(engine, [](auto&, int) {});
        M::backward(engine, [](auto&, int) {});
      }
    }
  });
}

/// Exceptions of the user's own: they pass, and the other ranks hear of the lease they passed.
template <class Platform, class Engine>
void exceptions_law(typename Engine::model_type const& model) {
  using M = typename Engine::model_type;
  mistake_law<Platform, Engine>(model,
                                {"the user's own"},
                                alone<Engine>([](Engine& engine) {
                                  for ([[maybe_unused]] auto const micro : engine.micro_steps()) {
                                    M::forward(engine, [](auto&, int unit) {
                                      if (unit == 2) {
                                        throw std::runtime_error("the user's own");
                                      }
                                    });
                                  }
                                }),
                                {"an exception passed while the lease of 'layers.2' was open"});
  mistake_law<Platform, Engine>(model,
                                {"the user's own"},
                                alone<Engine>([](Engine& engine) {
                                  for ([[maybe_unused]] auto const micro : engine.micro_steps()) {
                                    M::forward(engine, [](auto&, int) {});
                                    M::backward(engine, [](auto&, int unit) {
                                      if (unit == 3) {
                                        throw std::runtime_error("the user's own");
                                      }
                                    });
                                  }
                                }),
                                {"an exception passed while the lease of 'layers.3' was open"});
  mistake_law<Platform, Engine>(model,
                                {"the user's own"},
                                alone<Engine>([](Engine& engine) {
                                  for ([[maybe_unused]] auto const micro : engine.micro_steps()) {
                                    M::forward(engine, [](auto&, int) {});
                                    throw std::runtime_error("the user's own");  // no lease is open
                                  }
                                }),
                                {"an exception passed through micro-step 1 of 1"});
  mistake_law<Platform, Engine>(model,
                                {"the user's own"},
                                [](Engine& engine, bool wrong) {
                                  auto pass = engine.evaluation();
                                  if (wrong) {
                                    throw std::runtime_error("the user's own");
                                  }
                                  pass.follow();
                                },
                                {"an exception passed through an evaluation pass"});
  mistake_law<Platform, Engine>(
      model,
      {"the user's own"},
      alone<Engine>([](Engine& engine) {
        engine.initialize([](auto const&...) { throw std::runtime_error("the user's own"); });
      }),
      {"an exception passed through initialize"});
  mistake_law<Platform, Engine>(model,
                                {"the user's own"},
                                [](Engine& engine, bool wrong) {
                                  engine.full([wrong](auto const&...) {
                                    if (wrong) {
                                      throw std::runtime_error("the user's own");
                                    }
                                  });
                                },
                                {"an exception passed through full"});
}

/// Ranks that do different things, each of them right by itself.
template <class Platform, class Engine>
void divergence_law(typename Engine::model_type const& model) {
  // Not the same number of micro-steps: ranks are told so where they meet, by both their places.
  auto const other_count = after_mistake<Platform, Engine>(
      model, true, alone<Engine>([](Engine& engine) { plain_step(engine, 2); }));
  for (auto const& error : other_count) {
    CAPTURE(error);
    CHECK(contains(error, "rank 0 is at"));
    CHECK(contains(error, "in the only micro-step"));
    CHECK(contains(error, " of several micro-steps"));
    CHECK(contains(error, "all ranks must make the same calls in the same order"));
  }
  // An evaluation pass on one rank alone.
  if (Engine::stage == 3) {
    auto const lonely = after_mistake<Platform, Engine>(
        model, true, alone<Engine>([](Engine& engine) { engine.evaluation().follow(); }));
    for (auto const& error : lonely) {
      CAPTURE(error);
      CHECK(contains(error, "all ranks must make the same calls in the same order"));
    }
  }
  // Gone while the others go on: destroyed between steps.
  auto const gone = errors_of<Platform>(3, [&](auto communicator) {
    auto engine =
        Platform::template make<Engine>(model, std::move(communicator), typename Engine::options{});
    plain_step(engine);
    static_cast<void>(engine.result());
    for (int step = 0; step < 3 && engine.rank() != 1; ++step) {
      plain_step(engine);
      static_cast<void>(engine.result());
    }
  });
  CHECK(gone[1].empty());
  CHECK(contains(gone[0], "rank 1 left after step"));
  CHECK(contains(gone[2], "rank 1 left after step"));
  // ... and destroyed inside a pass, whose end never comes.
  auto const inside = errors_of<Platform>(3, [&](auto communicator) {
    auto engine =
        Platform::template make<Engine>(model, std::move(communicator), typename Engine::options{});
    plain_step(engine);
    if (engine.rank() == 1) {
      using loop = decltype(engine.micro_steps());
      alignas(loop) std::byte room[sizeof(loop)];
      static_cast<void>((::new (room) loop(engine, 1))->begin());
      static_cast<void>(engine.forward(&Engine::model_type::layers, 0));
      return;
    }
    for (int step = 0; step < 3; ++step) {
      plain_step(engine);
      static_cast<void>(engine.result());
    }
  });
  CHECK(inside[1].empty());
  CHECK(contains(inside[0], "the engine was destroyed inside a pass"));
  CHECK(contains(inside[2], "the engine was destroyed inside a pass"));
}

/// Three ranks, the second of which leaves the loop over its micro-steps before its end and keeps
/// its engine: the others hear of it at once, by `text`. Then its own engine is unusable.
/// @param leave  called on the second rank; may throw
template <class Platform, class Engine>
void left_loop_law(typename Engine::model_type const& model,
                   std::string const& text,
                   std::function<void(Engine&)> const& leave) {
  for (bool const overlap : {true, false}) {
    CAPTURE(Engine::stage);
    CAPTURE(overlap);
    CAPTURE(text);
    std::atomic<int> others_told{0};
    auto const errors = errors_of<Platform>(3, [&](auto communicator) {
      training_job job;
      job.overlap = overlap;
      auto engine =
          Platform::template make<Engine>(model, std::move(communicator), options_of<Engine>(job));
      if (engine.rank() != 1) {
        try {
          plain_step(engine);
          plain_step(engine, 2);
          plain_step(engine, 2);
          static_cast<void>(engine.result());
        } catch (...) {
          ++others_told;
          throw;
        }
        return;
      }
      plain_step(engine);
      auto const start = std::chrono::steady_clock::now();
      auto const waited = [&] { return std::chrono::steady_clock::now() - start; };
      try {
        leave(engine);
      } catch (std::runtime_error const& error) {
        CHECK(error.what() == std::string("the user's own"));
      }
      while (others_told < 2 && waited() < std::chrono::seconds(30)) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      CHECK(waited() < std::chrono::seconds(10));  // a millisecond on a quiet machine
      auto const fails = [&](auto call) {
        std::string message = "nothing was thrown";
        try {
          call();
        } catch (std::exception const& error) {
          message = error.what();
        }
        CAPTURE(message);
        CHECK(contains(message, text));
      };
      fails([&] { engine.step(); });
      fails([&] { static_cast<void>(engine.result()); });
      fails([&] { static_cast<void>(engine.evaluation()); });
      fails([&] { plain_step(engine); });
      CHECK(engine.failed());
    });
    CHECK(errors[1] == std::string());
    CHECK(contains(errors[0], text));
    CHECK(contains(errors[0], "rank 1"));
    CHECK(contains(errors[2], text));
  }
}

/// All the ways out of the loop over the micro-steps.
template <class Platform, class Engine>
void left_loops_law(typename Engine::model_type const& model) {
  using M = typename Engine::model_type;
  auto const law = [&](std::string const& text, std::function<void(Engine&)> const& leave) {
    left_loop_law<Platform, Engine>(model, text, leave);
  };
  auto const forward_all = [](Engine& engine) { M::forward(engine, [](auto&, int) {}); };
  auto const backward_all = [](Engine& engine) { M::backward(engine, [](auto&, int) {}); };
  auto const own = [] { throw std::runtime_error("the user's own"); };

  law("an exception passed through micro-step 1 of 2", [&](Engine& engine) {
    for ([[maybe_unused]] auto const micro : engine.micro_steps(2)) {
      own();  // before the first lease
    }
  });
  law("an exception passed through micro-step 1 of 2", [&](Engine& engine) {
    for ([[maybe_unused]] auto const micro : engine.micro_steps(2)) {
      forward_all(engine);
      own();  // between leases
    }
  });
  law("an exception passed through micro-step 2 of 2", [&](Engine& engine) {
    for (auto const micro : engine.micro_steps(2)) {
      forward_all(engine);
      backward_all(engine);
      micro.index == 1 ? own() : void();  // after the last lease
    }
  });
  law("the loop over the micro-steps was left in micro-step 1 of 2, but open forward 'layers.0' "
      "was expected",
      [&](Engine& engine) {
        for ([[maybe_unused]] auto const micro : engine.micro_steps(2)) {
          break;
        }
      });
  law("the loop over the micro-steps was left in micro-step 2 of 2, but open backward 'layers.4' "
      "was expected",
      [&](Engine& engine) {
        for (auto const micro : engine.micro_steps(2)) {
          forward_all(engine);
          if (micro.index == 1) {
            return;
          }
          backward_all(engine);
        }
      });
  law("the loop over the micro-steps was left in micro-step 1 of 2, but micro-step 2 was expected",
      [&](Engine& engine) {
        for ([[maybe_unused]] auto const micro : engine.micro_steps(2)) {
          forward_all(engine);
          backward_all(engine);
          break;
        }
      });
  law("a loop over micro-steps began inside another one", [&](Engine& engine) {
    try {
      for ([[maybe_unused]] auto const micro : engine.micro_steps(2)) {
        plain_step(engine);
      }
    } catch (logic_error const& error) {
      CHECK(contains(error.what(), "a loop over micro-steps began inside another one"));
    }
  });
  // Leaving the last turn where nothing is missing is an end like any other.
  auto const errors = errors_of<Platform>(2, [&](auto communicator) {
    auto engine =
        Platform::template make<Engine>(model, std::move(communicator), typename Engine::options{});
    for (auto const micro : engine.micro_steps(2)) {
      forward_all(engine);
      backward_all(engine);
      if (engine.rank() == 1 && micro.index == 1) {
        break;
      }
    }
    engine.step();
    plain_step(engine);
    CHECK(engine.result().step == 2);
  });
  CHECK(errors[0] == std::string());
  CHECK(errors[1] == std::string());
}

/// A rank that stalls: the others fail after the limit, by its number and their place; so does it
/// when it comes back.
template <class Platform, class Engine>
void stall_law(typename Engine::model_type const& model) {
  auto const errors = after_mistake<Platform, Engine>(
      model,
      true,
      alone<Engine>([](Engine&) { std::this_thread::sleep_for(std::chrono::milliseconds(2500)); }),
      {.stall_limit = std::chrono::milliseconds(1000)});
  CAPTURE(errors[0]);
  CAPTURE(errors[1]);
  CAPTURE(errors[2]);
  CHECK(contains(errors[0], "rank 1 did not come to"));
  CHECK(contains(errors[2], "rank 1 did not come to"));
  CHECK(contains(errors[0], "within 1000 ms"));
  CHECK_FALSE(errors[1].empty());
}

/// After an error every call of the engine throws it again.
template <class Platform, class Engine>
void unusable_law(typename Engine::model_type const& model) {
  using M = typename Engine::model_type;
  auto const errors = errors_of<Platform>(2, [&](auto communicator) {
    auto engine =
        Platform::template make<Engine>(model, std::move(communicator), typename Engine::options{});
    if (engine.rank() == 1) {
      plain_step(engine);
      static_cast<void>(engine.result());
      CHECK_THROWS_AS(engine.step(), logic_error);  // no micro-step
    } else {
      try {
        for (int step = 0; step < 4; ++step) {
          plain_step(engine);
          static_cast<void>(engine.result());
        }
      } catch (peer_error const& error) {
        CHECK(error.rank() == 1);
      }
    }
    auto const fails = [](auto call) {
      std::string message = "nothing was thrown";
      try {
        call();
      } catch (std::exception const& error) {
        message = error.what();
      }
      CAPTURE(message);
      CHECK(contains(message, "before any micro-step"));
      CHECK(contains(message, "rank 1"));
    };
    fails([&] { plain_step(engine); });
    fails([&] { static_cast<void>(engine.result()); });
    fails([&] { static_cast<void>(engine.mean(1)); });
    fails([&] { static_cast<void>(engine.parameters_hash()); });
    fails([&] { static_cast<void>(engine.replica_hash()); });
    fails([&] { static_cast<void>(engine.evaluation()); });
    fails([&] { engine.full([](auto const&...) {}); });
    fails([&] { engine.set_full(initial_values); });
    fails([&] { engine.initialize(initial_values); });
    fails([&] { engine.skip(&M::layers, 0); });
  });
  CHECK(errors[0] == std::string());
  CHECK(errors[1] == std::string());
}

/// The number of the next calls in the compute queue of an engine that was given `compute_fault`,
/// the last of which throws.
inline std::atomic<int> compute_calls_left{0};

/// A hook that fails in the compute queue when its calls are counted down.
inline void compute_fault(queue q, void* /*stream*/) {
  if (q == queue::compute && compute_calls_left.fetch_sub(1) == 1) {
    throw std::runtime_error("a fault in the compute queue");
  }
}

/// What a rank says of itself in the end.
struct rank_progress {
  std::int64_t before = -1;  ///< completed steps before the mistake
  std::int64_t after = -1;   ///< and after what came of it
  bool failed = false;
};

/// Three ranks make two good steps and one that is skipped; then the second one makes a mistake
/// and the others go on. Every rank is asked how far it came while its engine lives.
/// @return what each rank said
template <class Platform, class Engine>
[[nodiscard]] std::vector<rank_progress> progress_of(typename Engine::model_type const& model,
                                                     bool overlap,
                                                     mistake<Engine> const& act) {
  using M = typename Engine::model_type;
  std::vector<rank_progress> said(3);
  auto const errors = errors_of<Platform>(3, [&](auto communicator) {
    auto& mine = said[static_cast<std::size_t>(communicator.rank())];
    training_job job;
    job.overlap = overlap;
    job.residency_bytes = 0;
    auto options = options_of<Engine>(job);
    if (communicator.rank() == 1) {
      options.stress.delay = compute_fault;
    }
    auto engine = Platform::template make<Engine>(model, std::move(communicator), options);
    CHECK(engine.completed_steps() == 0);
    plain_step(engine);
    engine.initialize(initial_values);
    CHECK(engine.completed_steps() == 0);  // training begins anew
    for (int step = 1; step <= 3; ++step) {
      for ([[maybe_unused]] auto const micro : engine.micro_steps()) {
        M::forward(engine, [](auto&, int) {});
        CHECK(engine.completed_steps() == step - 1);  // a pass is no step
        M::backward(engine, [&](auto& lease, int) {
          auto& weight = lease.grads().weight;
          if (step == 3 && engine.rank() == 2) {
            auto values = Platform::read(
                static_cast<std::remove_pointer_t<decltype(weight.data())> const*>(weight.data()),
                weight.size());
            values.back() = from_float<std::remove_reference_t<decltype(values.back())>>(
                std::numeric_limits<float>::infinity());
            Platform::write(weight.data(), values);
          }
        });
      }
      engine.step();
      CHECK(engine.completed_steps() == step);
      CHECK(engine.result().step == step);
      CHECK(engine.result().applied == (step < 3));
    }
    CHECK_FALSE(engine.failed());
    mine.before = engine.completed_steps();
    static_cast<void>(engine.mean(1));  // nobody fails before all have come so far
    try {
      act(engine, engine.rank() == 1);
      for (int step = 0; step < 3; ++step) {
        plain_step(engine);
        static_cast<void>(engine.result());
      }
    } catch (std::exception const&) {
      mine.after = engine.completed_steps();
      mine.failed = engine.failed();
      CHECK(engine.completed_steps() == mine.after);
      throw;
    }
  });
  for (auto const& error : errors) {
    CAPTURE(error);
    CHECK_FALSE(error.empty());
    for (auto const& mine : said) {
      CHECK(mine.before == 3);
      CHECK(mine.failed);
    }
  }
  return said;
}

/// After a failure every rank says which step it has behind it, wherever in the next one it was.
template <class Platform, class Engine>
void progress_law(typename Engine::model_type const& model) {
  using M = typename Engine::model_type;
  auto const own = [] { throw std::runtime_error("the user's own"); };
  auto const in_forward = alone<Engine>([own](Engine& engine) {
    for ([[maybe_unused]] auto const micro : engine.micro_steps()) {
      M::forward(engine, [own](auto&, int unit) { unit == 2 ? own() : void(); });
    }
  });
  auto const in_backward = alone<Engine>([own](Engine& engine) {
    for ([[maybe_unused]] auto const micro : engine.micro_steps()) {
      M::forward(engine, [](auto&, int) {});
      M::backward(engine, [own](auto&, int unit) { unit == 2 ? own() : void(); });
    }
  });
  auto const in_last_micro_step = alone<Engine>([own](Engine& engine) {
    for (auto const micro : engine.micro_steps(2)) {
      M::forward(engine, [](auto&, int) {});
      M::backward(engine, [&](auto&, int unit) { unit == 0 && micro.index == 1 ? own() : void(); });
    }
  });
  mistake<Engine> const in_evaluation = [own](Engine& engine, bool wrong) {
    auto pass = engine.evaluation();
    wrong ? own() : pass.follow();
  };
  auto const misused = alone<Engine>([](Engine& engine) { engine.step(); });
  auto const in_full = [own](Engine& engine, bool wrong) {
    engine.full([&](auto const&...) { wrong ? own() : void(); });
  };
  for (bool const overlap : {true, false}) {
    CAPTURE(Engine::stage);
    CAPTURE(overlap);
    for (auto const& act : std::vector<mistake<Engine>>{
             in_forward, in_backward, in_last_micro_step, in_evaluation, misused, in_full}) {
      for (auto const& rank : progress_of<Platform, Engine>(model, overlap, act)) {
        CHECK(rank.before == 3);
        CHECK(rank.after == 3);
        CHECK(rank.failed);
      }
    }
  }
}

/// A rank that fails while it updates its units says the step before; the others have agreed on
/// that step and have it behind them.
template <class Platform, class Engine>
void torn_step_law(typename Engine::model_type const& model) {
  using M = typename Engine::model_type;
  for (bool const overlap : {true, false}) {
    CAPTURE(Engine::stage);
    CAPTURE(overlap);
    auto const said = progress_of<Platform, Engine>(model, overlap, [](Engine& engine, bool wrong) {
      for ([[maybe_unused]] auto const micro : engine.micro_steps()) {
        M::forward(engine, [](auto&, int) {});
        M::backward(engine, [](auto&, int) {});
      }
      if (wrong) {
        compute_calls_left = 3;  // the norm, the first unit's update, the second one's
      }
      engine.step();
      static_cast<void>(engine.result());
    });
    CHECK(said[0].after == 4);
    CHECK(said[1].after == 3);
    CHECK(said[2].after == 4);
  }
}

/// Mistakes that concern one call alone: they throw there, and the engine goes on.
template <class Platform, class Engine>
void harmless_mistakes_law(typename Engine::model_type const& model) {
  using M = typename Engine::model_type;
  auto const message_of = [](auto call) -> std::string {
    try {
      call();
    } catch (logic_error const& error) {
      return error.what();
    }
    return "";
  };
  auto const errors = errors_of<Platform>(2, [&](auto communicator) {
    auto engine =
        Platform::template make<Engine>(model, std::move(communicator), typename Engine::options{});
    CHECK(contains(message_of([&] { static_cast<void>(engine.result()); }), "before any step"));
    CHECK(contains(message_of([&] { static_cast<void>(engine.micro_steps(0)); }), "at least 1"));
    {
      auto pass = engine.evaluation();
      pass.follow();
      pass.end();
      CHECK(contains(message_of([&] { pass.follow(); }), "this evaluation pass has ended"));
      CHECK(contains(message_of([&] { static_cast<void>(pass.forward(&M::layers, 0)); }),
                     "this evaluation pass has ended"));
    }
    for ([[maybe_unused]] auto const micro : engine.micro_steps()) {
      CHECK(contains(message_of([&] { static_cast<void>(engine.forward(&M::layers, 5)); }),
                     "layers[5] is out of range; layers has 5"));
      M::forward(engine, [&](auto& lease, int unit) {
        CHECK(lease.params().weight.data() != nullptr);
        CHECK(contains(message_of([&] { static_cast<void>(engine.mean(1)); }),
                       "mean was called inside a pass"));
        if (unit == 3) {
          auto moved = std::move(lease);
          moved.close();
          moved.close();  // again: nothing
          CHECK(moved.params().weight.data() == nullptr);
        }
      });
      M::backward(engine, [&](auto& lease, int) {
        CHECK_FALSE(lease.accumulate());
        auto& gradients = lease.grads(overwrite);
        CHECK(gradients.weight.data() != nullptr);
        CHECK(lease.accumulate());
        lease.close();
        CHECK(gradients.weight.data() == nullptr);
        CHECK(contains(message_of([&] { static_cast<void>(lease.grads()); }),
                       "this lease is closed"));
      });
      CHECK(engine.mean(engine.rank()) == 0.5);  // after the last lease
    }
    for (double const lr : {std::numeric_limits<double>::infinity(),
                            std::numeric_limits<double>::quiet_NaN(),
                            -1e-9}) {
      CHECK(contains(message_of([&] { engine.step({.lr = lr}); }), "must be finite"));
    }
    engine.step();
    CHECK(engine.result().step == 1);
  });
  CHECK(errors[0] == std::string());
  CHECK(errors[1] == std::string());
}

/// Mistakes with a unit that is visited twice in a pass, and with one that is open over others; the
/// model is the zoo.
template <class Platform, class Engine>
void overlapping_leases_law(typename Engine::model_type const& model) {
  using M = typename Engine::model_type;
  // The gradient of the tied unit holds a sum at its second visit.
  mistake_law<Platform, Engine>(
      model,
      {"the gradient of 'embed' holds a sum already and must not be overwritten"},
      alone<Engine>([](Engine& engine) {
        for ([[maybe_unused]] auto const micro : engine.micro_steps()) {
          M::forward(engine, [](auto&, int) {});
          M::backward(engine, [](auto& lease, int unit) {
            if (unit == 0) {
              static_cast<void>(lease.grads(overwrite));
            }
          });
        }
      }),
      {"'embed' was open"});
  // A unit that should stay open is closed, in a destructor: the next call throws what happened.
  mistake_law<Platform, Engine>(
      model,
      {"close forward 'around' was asked for", "open forward 'fixed' was expected"},
      alone<Engine>([](Engine& engine) {
        for ([[maybe_unused]] auto const micro : engine.micro_steps()) {
          {
            auto const lease = engine.forward(&M::embed);
          }
          {
            auto const around = engine.forward(&M::around);
          }
          static_cast<void>(engine.forward(&M::fixed));
        }
      }));
  // ... or at once, where the lease is told to close.
  mistake_law<Platform, Engine>(
      model,
      {"close forward 'around' was asked for", "close forward 'fixed' was expected"},
      alone<Engine>([](Engine& engine) {
        for ([[maybe_unused]] auto const micro : engine.micro_steps()) {
          {
            auto const lease = engine.forward(&M::embed);
          }
          auto around = engine.forward(&M::around);
          auto const inner = engine.forward(&M::fixed);
          around.close();
        }
      }));
}

/// A fault in an operation of a queue, on whichever rank: it fails with the fault itself, the
/// others with its number, their own place and the fault's text.
template <class Platform, class Engine>
void queue_fault_law(typename Engine::model_type const& model) {
  CAPTURE(Engine::stage);
  static std::atomic<int> calls_left{0};
  for (bool const overlap : {true, false}) {
    calls_left = 150;
    auto const errors = errors_of<Platform>(3, [&](auto communicator) {
      typename Engine::options options;
      options.overlap = overlap;
      options.stress.delay = [](queue q, void*) {
        if (q == queue::comm && calls_left.fetch_sub(1) == 1) {
          throw std::runtime_error("a fault in a queue");
        }
      };
      auto engine = Platform::template make<Engine>(model, std::move(communicator), options);
      for (int step = 0; step < 100; ++step) {
        plain_step(engine);
      }
      static_cast<void>(engine.result());
    });
    CHECK(calls_left < 1);
    int originals = 0;
    for (auto const& error : errors) {
      CAPTURE(error);
      CHECK(contains(error, "a fault in a queue"));
      bool const original = error == "a fault in a queue";
      originals += original ? 1 : 0;
      CHECK((original || contains(error, " failed after ")));
    }
    CHECK(originals == 1);
  }
}

}  // namespace zero::laws
