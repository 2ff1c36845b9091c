// SPDX-License-Identifier: Apache-2.0
#include "consumer.hpp"

int main() {
  return trains() ? 0 : 1;
}
