// SPDX-License-Identifier: Apache-2.0
// What it shows: an optimizer of one's own, RMSprop with decoupled weight decay, as a policy.
//   Written in zero::add, sub, mul, div and sqrt, it gives the same bits on every device and under
//   every stage.
// How to run it: example_02_custom_optimizer, in the folder `examples` of the build.
// What it prints: the distance from the target after training in each stage, on 2 ranks. Returns
//   non-zero unless every parameter equals, bit for bit, what a plain loop makes of it.
#include <zero/zero.hpp>

#include <boost/hana/define_struct.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <utility>
#include <vector>

// [optimizer]
struct RmsProp {
  using policy_category = zero::optimizer_category;
  static constexpr int moments = 1;  // floats kept for each element

  struct options {
    double lr = 1e-3, decay = 0.99, eps = 1e-8, weight_decay = 0;
  };

  struct scalars {  // what one step needs, formed in double and rounded once
    float decay, rest, eps, keep, lr;
  };

  ZERO_HOST_DEVICE ZERO_EXACT static scalars prepare(options const& o,
                                                     double lr,
                                                     double weight_decay_factor,
                                                     std::int64_t /*step*/) {
    double const shrink = zero::mul(zero::mul(o.weight_decay, weight_decay_factor), lr);
    return {zero::narrow(o.decay),
            zero::narrow(zero::sub(1.0, o.decay)),
            zero::narrow(o.eps),
            zero::narrow(zero::sub(1.0, shrink)),
            zero::narrow(lr)};
  }

  ZERO_HOST_DEVICE ZERO_EXACT static void update(float& w,
                                                 float g,
                                                 float (&m)[1],
                                                 scalars const& s) {
    m[0] = zero::add(zero::mul(s.decay, m[0]), zero::mul(s.rest, zero::mul(g, g)));
    float const direction = zero::div(g, zero::add(zero::sqrt(m[0]), s.eps));
    w = zero::sub(zero::mul(w, s.keep), zero::mul(s.lr, direction));
  }
};

// [optimizer]
struct Model {
  BOOST_HANA_DEFINE_STRUCT(Model, (zero::Tensor<float, 1000>, weights));
};

constexpr int steps = 50;
constexpr RmsProp::options hyper_parameters{.lr = 0.05, .weight_decay = 0.01};

float start_of(std::size_t i) {
  return zero::uniform(1, i);
}

float gradient_of(float w, std::size_t i) {
  return w - zero::uniform(2, i);
}  // of (w - target)^2 / 2

std::vector<float> train_plainly() {
  std::vector<float> weights(1000);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    float w = start_of(i);
    float m[1] = {0};
    for (int step = 1; step <= steps; ++step) {
      RmsProp::update(w,
                      gradient_of(w, i),
                      m,
                      RmsProp::prepare(hyper_parameters, hyper_parameters.lr, 1, step));
    }
    weights[i] = w;
  }
  return weights;
}

template <class Stage>
std::vector<float> train() {
  std::vector<float> weights;
  zero::Local::run(2, [&weights](auto communicator) {
    using Engine = zero::ZeroEngine<Model, Stage, zero::Precision<zero::FP32>, RmsProp>;
    Engine engine(Model(), std::move(communicator), {.optimizer = hyper_parameters});
    engine.initialize([](auto const&, std::int64_t first, std::span<float> values) {
      for (float& w : values) {
        w = start_of(static_cast<std::size_t>(first++));
      }
    });
    for (int step = 0; step < steps; ++step) {
      for ([[maybe_unused]] auto micro : engine.micro_steps(1)) {
        engine.skip(&Model::weights);  // nothing to compute forward
        auto lease = engine.backward(&Model::weights);
        auto& gradient = lease.grads(zero::overwrite);
        for (std::size_t i = 0; i < 1000; ++i) {
          gradient[static_cast<std::int64_t>(i)] =
              gradient_of(lease.params()[static_cast<std::int64_t>(i)], i);
        }
      }
      engine.step();
    }
    engine.full([&](auto const&, std::int64_t, std::span<float const> values) {
      if (engine.rank() == 0) {
        weights.insert(weights.end(), values.begin(), values.end());
      }
    });
  });
  double distance = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    distance = std::max(distance, std::fabs(double(gradient_of(weights[i], i))));
  }
  std::printf("stage %d: at most %.4f from the target\n", Stage::value, distance);
  return weights;
}

int main() {
  std::vector<float> const plain = train_plainly();
  bool const equal = train<zero::Stage<0>>() == plain && train<zero::Stage<1>>() == plain &&
                     train<zero::Stage<2>>() == plain && train<zero::Stage<3>>() == plain;
  return equal ? 0 : 1;
}
