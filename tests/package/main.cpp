// SPDX-License-Identifier: Apache-2.0
#include <zero/zero.hpp>

int main() {
  return zero::version_major == ZERO_VERSION_MAJOR ? 0 : 1;
}
