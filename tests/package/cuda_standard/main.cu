// SPDX-License-Identifier: Apache-2.0
#include <zero/core/dtype.hpp>

int main() {
  return zero::to_float(zero::from_float<zero::bf16>(1.0f)) == 1.0f ? 0 : 1;
}
