// SPDX-License-Identifier: Apache-2.0
#include "shared.hpp"

#include <utility>

namespace odr {

namespace {

struct host_unit {};

}  // namespace

std::vector<std::size_t> host_type_sizes() {
  return type_sizes<host_unit>();
}

Engine host_engine(zero::local_communicator communicator) {
  return Engine(make_net(), std::move(communicator), {.clip_norm = 1.0});
}

void host_initialize(Engine& engine) {
  initialize<host_unit>(engine);
}

void host_train(Engine& engine, int first, int last) {
  train<host_unit>(engine, first, last);
}

std::uint64_t host_hash(Engine& engine) {
  return engine.parameters_hash();
}

}  // namespace odr
