// SPDX-License-Identifier: Apache-2.0
// expected-error: zero::Reduction: no such way to add the contributions of the ranks
#include <zero/policy/reduction.hpp>

struct Sorted {};

#ifdef ZERO_CONTROL
constexpr bool native = zero::Reduction<zero::Ordered>::native;
#else
constexpr bool native = zero::Reduction<Sorted>::native;
#endif
