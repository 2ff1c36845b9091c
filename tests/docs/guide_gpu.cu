// SPDX-License-Identifier: Apache-2.0
// [engine]
#include <zero/cuda.cuh>

#include <boost/hana/define_struct.hpp>

#undef NDEBUG
#include <cuda_runtime.h>

#include <cassert>
#include <cstdint>
#include <utility>

struct Model {
  using Weight = zero::Tensor<zero::bf16, 1024, 256>;
  BOOST_HANA_DEFINE_STRUCT(Model, (Weight, weight));
};

template <class Communicator>
using Engine = zero::ZeroEngine<Model, zero::Stage<2>, Communicator, zero::Cuda>;

// Of (weight - 1)^2 / 2.
__global__ void gradient_kernel(zero::bf16 const* weight, zero::bf16* gradient, std::int64_t size) {
  std::int64_t const i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < size) {
    gradient[i] = zero::from_float<zero::bf16>(zero::to_float(weight[i]) - 1.0F);
  }
}

// [engine]
// [streams]
template <class Engine>
void micro_step(Engine& engine, cudaStream_t compute, cudaStream_t side) {
  for ([[maybe_unused]] auto const micro : engine.micro_steps(1)) {
    engine.skip(&Model::weight);
    auto weight = engine.backward(&Model::weight);
    auto& gradient = weight.grads(zero::overwrite);
    if (side !=
        nullptr) {  // kernels of another stream: it waits for the unit, and the close for it
      engine.join(side);
    }
    gradient_kernel<<<1024, 256, 0, side != nullptr ? side : compute>>>(
        weight->data(), gradient.data(), gradient.size());
    if (side != nullptr) {
      weight.used_on(side);
    }
  }
}

void use_streams(zero::local_gpu_communicator communicator) {
  zero::gpu::stream const compute(zero::gpu::stream_priority::normal);
  zero::gpu::stream const side(zero::gpu::stream_priority::normal);
  Engine<zero::Local> engine(
      Model(), std::move(communicator), {}, zero::cuda_options{.compute_stream = compute.get()});
  micro_step(engine, compute.get(), nullptr);
  engine.step();
  micro_step(engine, compute.get(), side.get());
  engine.step();
  engine.join(side.get());  // what is enqueued in `side` from here on comes after the step
  assert(engine.result().step == 2 && engine.result().applied);  // waits
}

// [streams]
// [capture]
void capture_and_replay(zero::local_gpu_communicator communicator) {
  zero::gpu::stream const compute(zero::gpu::stream_priority::normal);
  Engine<zero::Local> engine(
      Model(), std::move(communicator), {}, zero::cuda_options{.compute_stream = compute.get()});
  auto const captured = engine.capture([&] {  // records a step, and runs nothing
    micro_step(engine, compute.get(), nullptr);
    engine.step();
  });
  assert(engine.completed_steps() == 0);
  for (int step = 0; step < 3; ++step) {
    engine.replay(captured, {.lr = 0.01 / (1 + step)});  // numbers may change between replays
  }
  assert(engine.result().step == 3);
}

// [capture]
// [main]
int main() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    return 77;  // for the test runner: skipped, there is no GPU
  }
  zero::local_gpu_world::run(2, use_streams);  // both ranks use the current device
  zero::local_gpu_world::run(1, capture_and_replay);
}

// [main]
