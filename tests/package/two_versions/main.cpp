// SPDX-License-Identifier: Apache-2.0
namespace this_version {
bool run();
}

namespace next_version {
bool run();
}

int main() {
  return this_version::run() && next_version::run() && this_version::run() ? 0 : 1;
}
