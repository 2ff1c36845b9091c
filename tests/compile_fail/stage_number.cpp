// SPDX-License-Identifier: Apache-2.0
// expected-error: zero::Stage: there is no such stage
#include <zero/policy/stage.hpp>

#ifdef ZERO_CONTROL
constexpr int stage = zero::Stage<3>::value;
#else
constexpr int stage = zero::Stage<4>::value;
#endif
