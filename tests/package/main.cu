// SPDX-License-Identifier: Apache-2.0
#include "consumer.hpp"

#include <zero/cuda.cuh>

int main() {
  return trains() ? 0 : 1;
}
