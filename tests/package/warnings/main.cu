// SPDX-License-Identifier: Apache-2.0
#include "train.hpp"

#include <zero/cuda.cuh>

int main() {
  return trains_all() ? 0 : 1;
}
