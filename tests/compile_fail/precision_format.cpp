// SPDX-License-Identifier: Apache-2.0
// expected-error: zero::Precision: the argument is not a number format of this library
#include <zero/policy/precision.hpp>

#ifdef ZERO_CONTROL
constexpr bool scaled = zero::Precision<zero::FP16>::loss_scaling;
#else
constexpr bool scaled = zero::Precision<zero::fp16>::loss_scaling;
#endif
