// SPDX-License-Identifier: Apache-2.0
// expected-error: zero::Offload: this version keeps everything in the memory of the device
#include <zero/policy/offload.hpp>

struct Disk {};

#ifdef ZERO_CONTROL
using tier = zero::Offload<zero::None>::tier;
#else
using tier = zero::Offload<Disk>::tier;
#endif
