// SPDX-License-Identifier: Apache-2.0
// [container]
#include <zero/zero.hpp>

#include <boost/hana/define_struct.hpp>

#undef NDEBUG  // each assertion below is something that this page says
#include <algorithm>
#include <array>
#include <cassert>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

constexpr int depth = 4, width = 128;

struct Embedding {
  BOOST_HANA_DEFINE_STRUCT(Embedding, (zero::Tensor<zero::bf16, 1200, width>, tokens));
};

struct Layer {
  Layer() = default;

  explicit Layer(std::int64_t channels)
      : weight(zero::shape{channels, channels}),
        scale(zero::shape{channels}, {.weight_decay = false, .lr_scale = 0.5}) {}

  BOOST_HANA_DEFINE_STRUCT(Layer,
                           (zero::Tensor<zero::bf16>, weight),
                           (zero::Tensor<float>, scale),
                           (std::optional<zero::Tensor<zero::bf16>>, bias));
};

using Heads = std::array<zero::Tensor<float, 10, width>, 2>;
using Positions = zero::Tensor<zero::bf16, 128, width>;

struct Model {
  Model() = default;

  Model(int layer_count, std::int64_t channels)
      : positions(zero::parameter_traits{.frozen = true}),
        layers(layer_count, Layer(channels)) {}

  BOOST_HANA_DEFINE_STRUCT(Model,
                           (Embedding, embed),
                           (Positions, positions),
                           (std::vector<Layer>, layers),
                           (Heads, heads));
};

// [container]
// [names]
void look_at_names() {
  Model const model(2, width);
  assert((zero::unit_names(model) ==
          std::vector<std::string>{
              "embed", "positions", "layers.0", "layers.1", "heads.0", "heads.1"}));
  assert((zero::parameter_names(model) == std::vector<std::string>{"embed.tokens",
                                                                   "positions",
                                                                   "layers.0.weight",
                                                                   "layers.0.scale",
                                                                   "layers.1.weight",
                                                                   "layers.1.scale",
                                                                   "heads.0",
                                                                   "heads.1"}));
  assert(zero::describe(model).parameters[1].traits.frozen);
}

// [names]
// [program]
constexpr void zero_program(Model const&, zero::ProgramBuilder<Model>& program) {
  program.visit(&Model::positions);
  program.visit(&Model::embed);
  program.visit(&Model::layers);  // one after the other
  program.visit(&Model::heads);
  program.visit(&Model::embed);  // tied: the same unit, visited a second time
}

// [program]
// [declared]
struct Tuned {
  constexpr Tuned()
      : base(zero::parameter_traits{.frozen = true}) {}

  using Weight = zero::Tensor<float, 10'000>;
  BOOST_HANA_DEFINE_STRUCT(Tuned, (Weight, base), (Weight, adapter));
};

constexpr void zero_program(Tuned const&, zero::ProgramBuilder<Tuned>& program) {
  program.open(&Tuned::base);  // open over the visits that follow
  program.visit(&Tuned::adapter);
  program.close(&Tuned::base);
  program.backward();  // what follows is the backward phase; `base` is frozen and left out of it
  program.visit(&Tuned::adapter);
}

// [declared]
// [engine]
template <int Stage>
using Engine =
    zero::ZeroEngine<Model, zero::Stage<Stage>, zero::Precision<zero::BF16>, zero::AdamW>;

using Tuner = zero::ZeroEngine<Tuned, zero::PlainSgd, zero::Stage<3>, zero::Precision<zero::FP32>>;

// [engine]
// [plan]
using namespace zero::literals;
static_assert(zero::plan<Tuner>(zero::world<8>).device_bytes() < 1_MiB);

void plan_first() {
  Model const model(depth, width);
  zero::execution_plan const plan = zero::plan<Engine<3>>(model, 8);  // for eight ranks
  assert(plan.device_bytes() < zero::plan<Engine<0>>(model, 8).device_bytes());
  assert(plan.fits(80_GiB, 60_GiB));  // free bytes of the device; those of activations and so on
  assert(plan.formula_bytes() <= plan.device_bytes());
  std::fputs(zero::to_string(plan, zero::unit_names(model)).c_str(), stdout);
}

// [plan]
// [forward]
template <class Pass>  // an engine, or an evaluation pass of it
float forward(Pass& pass) {
  float output = 0;
  {
    auto const positions = pass.forward(&Model::positions);
    output += zero::to_float((*positions)[0]);
  }
  {
    auto const embed = pass.forward(&Model::embed);
    output += zero::to_float(embed->tokens[0]);
  }
  for (int l = 0; l < depth; ++l) {
    auto const layer = pass.forward(&Model::layers, l);
    assert(layer->weight.data() != nullptr && layer->weight.size() == width * width);
    assert(!layer->bias);
    output += layer->scale[0];
  }
  for (int h = 0; h < 2; ++h) {
    auto const head = pass.forward(&Model::heads, h);
    output += (*head)[0];
  }
  auto embed = pass.forward(&Model::embed);
  output += zero::to_float(embed->tokens[0]);
  embed.close();
  assert(embed.params().tokens.data() == nullptr);
  return output;
}

// [forward]
// [backward]
template <class Tensor>  // stands for kernels: adds a number to each element
void add(Tensor& gradient, float value) {
  for (std::int64_t i = 0; i < gradient.size(); ++i) {
    gradient[i] =
        zero::from_float<typename Tensor::value_type>(zero::to_float(gradient[i]) + value);
  }
}

template <class Tensor>  // the same, but does not read what was there
void fill(Tensor& gradient, float value) {
  std::fill_n(
      gradient.data(), gradient.size(), zero::from_float<typename Tensor::value_type>(value));
}

template <class Engine>
void backward(Engine& engine, float value) {
  {
    auto embed = engine.backward(&Model::embed);  // the tied head: the first visit of this phase
    assert(!embed.accumulate());
    fill(embed.grads(zero::overwrite).tokens, value);
    assert(embed.accumulate());
  }
  for (int h = 2; h-- > 0;) {
    auto head = engine.backward(&Model::heads, h);
    assert(head.grads()[0] == 0);  // zeroed at the first request of a pass ...
    add(head.grads(), value);
    assert(head.grads()[0] == value);  // ... and kept at all others
  }
  for (int l = depth; l-- > 0;) {
    auto layer = engine.backward(&Model::layers, l);
    auto& gradients = layer.grads(zero::overwrite);
    fill(gradients.weight, value);
    fill(gradients.scale, value);
  }
  {
    auto embed = engine.backward(&Model::embed);  // the second visit finds what the first one left
    assert(embed.accumulate());                   // so `grads(zero::overwrite)` would throw
    assert(zero::to_float(embed.grads().tokens[7]) == value);
    add(embed.grads().tokens, value);
  }
  auto positions = engine.backward(&Model::positions);  // frozen, but in the program
  assert(positions->data() != nullptr && positions.grads().data() == nullptr);
}

// [backward]
// [values]
void initial_values(zero::parameter_view const& parameter,
                    std::int64_t first,
                    std::span<float> values) {
  for (float& value : values) {
    value = 0.02F * zero::approximately_normal(parameter.key, first++);
  }
}

// [values]
// [train]
constexpr float gradient = 0.5F;  // of each element, on each rank and in each micro-step

template <class Engine>
void train_step(Engine& engine, std::int64_t micro_steps, float value = gradient) {
  for (auto const micro : engine.micro_steps(micro_steps)) {
    assert(micro.index < micro.count && micro.count == micro_steps);
    forward(engine);
    backward(engine, value);
  }
  engine.step({.lr = 1e-3});
}

template <int Stage>
std::uint64_t train(zero::local_communicator communicator) {
  typename Engine<Stage>::options options;
  options.clip_norm = 1;
  options.optimizer.weight_decay = 0.1;
  Engine<Stage> engine(Model(depth, width), std::move(communicator), options);
  engine.initialize(initial_values);
  for (int step = 0; step < 3; ++step) {
    train_step(engine, 2);
  }
  return engine.parameters_hash();
}

void compare_stages() {
  zero::Local::run(4, [](zero::local_communicator communicator) {
    auto const hash = train<2>(communicator.duplicate());
    assert(hash == train<3>(communicator.duplicate()));
  });
}

// [train]
// [result]
void look_at_results(Engine<2>& engine) {
  std::int64_t trained = 0;
  for (zero::parameter_view const& p : engine.parameters()) {
    trained += p.traits.frozen ? 0 : p.elements;
  }
  auto const before = engine.traffic();
  train_step(engine, 2);
  zero::StepResult const result = engine.result();
  assert(result.step == 1 && result.applied && result.reason == zero::skip_reason::none);
  assert(result.applied_steps == 1 && result.skipped_in_row == 0);
  double const tied = 1200 * width;  // these elements have twice the gradient
  double const norm = gradient * std::sqrt(static_cast<double>(trained) - tied + 4 * tied);
  assert(std::abs(result.norm / norm - 1) < 1e-6);
  assert(std::abs(result.clip_factor * result.norm - 1) < 1e-6);  // clip_norm is 1
  assert(result.loss_scale == 1 && !result.at_floor);
  assert((engine.traffic() - before).total().bytes > 0);  // sent by this rank
}

// [result]
// [pools]
void look_at_memory(Engine<2> const& engine) {
  std::int64_t bytes = 0;
  for (zero::pool_bytes const& pool : engine.pools()) {
    assert(pool.planned_bytes == pool.allocated_bytes);
    assert(pool.tier == std::string("host"));  // "device" on a GPU
    bytes += pool.allocated_bytes;
  }
  assert(engine.pools()[2].name == std::string("optimizer"));
  assert(bytes == engine.plan().device_bytes() && engine.formula_bytes() <= bytes);
}

// [pools]
// [evaluation]
void evaluate(Engine<2>& engine) {
  int const batches = engine.rank() == 0 ? 3 : 2;  // rank 0 has one batch more
  float output = 0;
  for (int batch = 0; batch < 3; ++batch) {
    auto pass = engine.evaluation();
    if (batch < batches) {
      output = forward(pass);
    } else {
      pass.follow();  // takes part in the gathers, and computes nothing
    }
    pass.end();
  }
  assert(engine.mean(output) == output);  // the replicas are equal
  assert(engine.mean(engine.rank()) == 1.5);
}

// [evaluation]
// [full]
void read_and_write(Engine<2>& engine) {
  std::map<std::string, std::vector<float>> saved;
  int windows = 0;
  engine.full([&](zero::parameter_view const& parameter,
                  std::int64_t first,
                  std::span<float const> window) {
    assert(window.size() <= 65536);
    windows += parameter.name == "embed.tokens" ? 1 : 0;
    auto& whole = saved[parameter.name];
    whole.resize(parameter.elements);
    std::ranges::copy(window, whole.begin() + first);
  });
  assert(windows > 1 && std::ssize(saved["embed.tokens"]) == 1200 * width);
  auto const load =
      [&](zero::parameter_view const& parameter, std::int64_t first, std::span<float> window) {
        std::copy_n(saved[parameter.name].begin() + first, window.size(), window.begin());
      };
  auto const hash = engine.parameters_hash();
  engine.set_full(load);  // values alone: moments and step count stay
  assert(engine.parameters_hash() == hash && engine.completed_steps() == 1);
  train_step(engine, 1, 0.0F);
  assert(engine.result().step == 2 && engine.parameters_hash() != hash);  // moments moved it
  engine.initialize(load);  // training begins anew: no moments, step count 0
  assert(engine.parameters_hash() == hash && engine.completed_steps() == 0);
  train_step(engine, 1, 0.0F);
  assert(engine.result().step == 1 && engine.parameters_hash() == hash);  // nothing moved it
  auto progress = engine.progress();  // counters and loss scale, the same on every rank
  assert(progress.steps == 1 && progress.applied_steps == 1);
  progress.steps = progress.applied_steps = 100;
  engine.set_progress(progress);  // the next step is number 101
  train_step(engine, 1, 0.0F);
  assert(engine.result().step == 101 && engine.completed_steps() == 101);
  static_cast<void>(engine.replica_hash());  // throws if the ranks' parameters differ
}

// [full]
// [one_engine]
void use_one_engine() {
  Engine<2>::options options;
  options.clip_norm = 1;
  options.optimizer.weight_decay = 0;
  zero::Local::run(4, [&](zero::local_communicator communicator) {
    Engine<2> engine(Model(depth, width), std::move(communicator), options);
    engine.initialize(initial_values);
    look_at_results(engine);
    look_at_memory(engine);
    evaluate(engine);
    read_and_write(engine);
  });
}

// [one_engine]
// [skip]
template <class Engine>
void tuning_step(Engine& engine, float value, zero::step_options const& numbers = {}) {
  for ([[maybe_unused]] auto const micro : engine.micro_steps(2)) {
    auto base = engine.forward(&Tuned::base);
    {
      auto const adapter = engine.forward(&Tuned::adapter);
    }
    base.close();
    if (value == 0) {
      engine.skip(&Tuned::adapter);  // opens and closes it: a gradient of zeros
    } else {
      auto adapter = engine.backward(&Tuned::adapter);
      fill(adapter.grads(zero::overwrite), value);
    }
  }
  engine.step(numbers);
}

// [skip]
// [numbers]
void sum_over_tokens() {
  zero::Local::run(4, [](zero::local_communicator communicator) {
    Tuner engine(Tuned(), std::move(communicator), {.mean = false});     // 4 ranks, 2 micro-steps
    tuning_step(engine, 1.0F, {.lr = 0.1, .gradient_scale = 1.0 / 16});  // 16 tokens a step
    assert(std::abs(engine.result().norm - 8.0 / 16 * std::sqrt(10'000)) < 1e-9);
    tuning_step(engine, 0.0F);
    assert(engine.result().norm == 0 && engine.result().applied);
  });
}

// [numbers]
// [loss_scale]
struct Half {
  using Weight = zero::Tensor<zero::fp16, 1000>;
  BOOST_HANA_DEFINE_STRUCT(Half, (Weight, weight));
};

void scale_the_loss() {
  using Scaled = zero::ZeroEngine<Half, zero::Stage<1>, zero::Precision<zero::FP16>>;
  Scaled::options options;
  options.loss_scale = {.initial = 1024, .window = 2, .hysteresis = 1};
  zero::Local::run(2, [&](zero::local_communicator communicator) {
    Scaled engine(Half(), std::move(communicator), options);
    auto const train = [&](float loss_gradient) {
      for ([[maybe_unused]] auto const micro : engine.micro_steps()) {
        engine.skip(&Half::weight);
        auto weight = engine.backward(&Half::weight);
        fill(weight.grads(zero::overwrite), loss_gradient * *engine.loss_scale());
      }
      engine.step();
      return engine.result();
    };
    bool const last = engine.rank() == 1;
    auto const skipped = train(last ? std::numeric_limits<float>::infinity() : 1.0F);
    assert(!skipped.applied && skipped.reason == zero::skip_reason::nonfinite_gradient);
    assert(skipped.step == 1 && skipped.applied_steps == 0 && skipped.skipped_in_row == 1);
    assert(!std::isfinite(skipped.norm));
    assert(skipped.loss_scale == 1024 && *engine.loss_scale() == 512);
    auto const applied = train(0.25F);
    assert(applied.applied && applied.step == 2 && applied.applied_steps == 1);
    assert(std::abs(applied.norm - 0.25 * std::sqrt(1000)) < 1e-6);          // unscaled
    assert(train(0.25F).loss_scale == 512 && *engine.loss_scale() == 1024);  // two good steps
  });
}

// [loss_scale]
// [refused]
void refuse() {
  zero::Local::run(2, [](zero::local_communicator communicator) {
    Tuner engine(Tuned(), std::move(communicator));
    std::string sentence;
    try {
      static_cast<void>(engine.forward(&Tuned::base, 3));
    } catch (zero::logic_error const& error) {
      sentence = error.what();
    }
    assert(sentence == "zero: base[3] is out of range; base is one unit and takes no index.");
    assert(!engine.failed());  // the call was refused before anything was done
    tuning_step(engine, 1.0F);
    assert(engine.result().applied);
  });
}

// [refused]
// [errors]
void fail() {
  bool caught = false;
  try {
    zero::Local::run(2, [](zero::local_communicator communicator) {
      Tuner engine(Tuned(), std::move(communicator));
      tuning_step(engine, 1.0F);
      try {
        if (engine.rank() == 1) {
          for ([[maybe_unused]] auto const micro : engine.micro_steps(2)) {
            throw std::runtime_error("no more data");
          }
        }
        tuning_step(engine, 1.0F);
        static_cast<void>(engine.result());
      } catch (zero::peer_error const& error) {
        assert(engine.rank() == 0 && error.rank() == 1);
      } catch (std::runtime_error const& error) {
        assert(engine.rank() == 1 && error.what() == std::string("no more data"));
      }
      assert(engine.failed() && engine.completed_steps() == 1);
      engine.step();  // throws what happened, as every call does from now on
    });
  } catch (std::runtime_error const&) {
    caught = true;
  }
  assert(caught);
}

// [errors]
// [timeline]
void record_a_timeline() {
  zero::Local::run(2, [](zero::local_communicator communicator) {
    Tuner engine(Tuned(), std::move(communicator));
    engine.start_timeline();
    tuning_step(engine, 1.0F);
    auto const entries = engine.stop_timeline();
    assert(std::ranges::any_of(
        entries, [](auto const& e) { return e.name == "backward" && e.unit == "adapter"; }));
    std::string const json = zero::trace_json(entries, engine.rank());  // for ui.perfetto.dev
    assert(json.find("adapter") != std::string::npos);
  });
}

// [timeline]
// [engines]
void use_two_engines() {
  zero::Local::run(2, [](zero::local_communicator communicator) {
    Tuner student(Tuned(), communicator.duplicate());
    Tuner teacher(Tuned(), std::move(communicator));
    tuning_step(student, 1.0F);
    teacher.evaluation().follow();
    assert(student.result().step == 1 && teacher.completed_steps() == 0);
  });
}

// [engines]
// [stress]
void disturb() {
  zero::Local::run(
      2,
      [](zero::local_communicator communicator) {
        Tuner::options options;
        Tuner quiet(Tuned(), communicator.duplicate(), options);
        options.stress.poison = true;  // NaN in slots and receive buffers that are not in use
        options.stress.delay = [](zero::queue, void*) {
          std::this_thread::sleep_for(std::chrono::microseconds(100));
        };
        Tuner disturbed(Tuned(), std::move(communicator), options);
        tuning_step(quiet, 1.0F);
        tuning_step(disturbed, 1.0F);
        assert(quiet.parameters_hash() == disturbed.parameters_hash());
      },
      {.stall_limit = std::chrono::minutes(1)});  // how long a rank waits for the others
}

// [stress]
// [main]
int main() {
  look_at_names();
  plan_first();
  compare_stages();
  use_one_engine();
  sum_over_tokens();
  scale_the_loss();
  refuse();
  fail();
  record_a_timeline();
  use_two_engines();
  disturb();
}

// [main]
