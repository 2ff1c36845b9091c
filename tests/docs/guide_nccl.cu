// SPDX-License-Identifier: Apache-2.0
// [nccl]
#include <zero/cuda.cuh>

#include <cuda_runtime.h>

struct Model {
  BOOST_HANA_DEFINE_STRUCT(Model, (zero::Tensor<zero::bf16, 1'000'000>, weight));
};

int main() {  // one process a GPU, started by torchrun or another launcher
  // [nccl]
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    return 77;  // for the test runner: skipped, there is no GPU
  }
  // [nccl]
  using Engine = zero::ZeroEngine<Model, zero::Stage<3>, zero::Nccl, zero::Cuda>;
  auto communicator = zero::Nccl::from_environment();
  zero::check_cuda(cudaSetDevice(communicator.device()), "cudaSetDevice");
  Engine engine(Model(), std::move(communicator));
  for (int step = 0; step < 10; ++step) {
    for ([[maybe_unused]] auto micro : engine.micro_steps(1)) {
      engine.forward(&Model::weight).close();
      auto weight = engine.backward(&Model::weight);
      cudaMemsetAsync(weight.grads(zero::overwrite).data(), 0, 2'000'000);  // your kernels
    }
    engine.step({.lr = 0.01});
  }
  return engine.result().applied_steps == 10 ? 0 : 1;
}

// [nccl]
