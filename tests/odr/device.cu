// SPDX-License-Identifier: Apache-2.0
#include "shared.hpp"

#include <zero/cuda.cuh>

#include <cstdio>
#include <utility>

namespace {

struct cuda_unit {};

int fail(char const* what) {
  std::printf("the host compiler's unit and nvcc's do not agree on %s\n", what);
  return 1;
}

}  // namespace

int main() {
  if (odr::type_sizes<cuda_unit>() != odr::host_type_sizes()) {
    return fail("the sizes of types");
  }

  // The same training three times: in the host's unit, in this one, and in both by turns.
  auto const communicator = [] { return zero::Local::world(1).communicator(0); };
  auto host = odr::host_engine(communicator());
  odr::host_initialize(host);
  odr::host_train(host, 0, 4);

  odr::Engine here(odr::make_net(), communicator(), {.clip_norm = 1.0});
  odr::initialize<cuda_unit>(here);
  odr::train<cuda_unit>(here, 0, 4);

  auto both = odr::host_engine(communicator());
  odr::initialize<cuda_unit>(both);
  odr::host_train(both, 0, 2);
  odr::train<cuda_unit>(both, 2, 4);

  auto const hash = odr::host_hash(host);
  if (here.parameters_hash() != hash || odr::host_hash(here) != hash) {
    return fail("training");
  }
  if (both.parameters_hash() != hash) {
    return fail("an engine that goes from one to the other");
  }
  std::printf("both units trained to the hash %016llx\n", static_cast<unsigned long long>(hash));
  return 0;
}
