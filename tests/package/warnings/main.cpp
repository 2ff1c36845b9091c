// SPDX-License-Identifier: Apache-2.0
#include "train.hpp"

int main() {
  return trains_all() ? 0 : 1;
}
