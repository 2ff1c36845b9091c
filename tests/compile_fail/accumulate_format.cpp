// SPDX-License-Identifier: Apache-2.0
// expected-error: zero::Accumulate: gradients are summed in FP32 or kept in the type of the
// parameters
#include <zero/policy/accumulate.hpp>

#ifdef ZERO_CONTROL
constexpr bool native = zero::Accumulate<zero::Native>::native;
#else
constexpr bool native = zero::Accumulate<zero::BF16>::native;
#endif
