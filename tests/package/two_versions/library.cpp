// SPDX-License-Identifier: Apache-2.0
// A shared library that trains. Its types and functions are in a namespace of its own; what it
// shares with another library can only be a name of zero's.
#include <zero/zero.hpp>

#include <boost/hana/define_struct.hpp>

#include <span>
#include <utility>
#include <vector>

namespace LIBRARY {

#include "../consumer.hpp"

bool run() {
  return trains() && trains();
}

}  // namespace LIBRARY
