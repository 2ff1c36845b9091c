// SPDX-License-Identifier: Apache-2.0
// expected-error: zero::ZeroEngine: this template argument is not a policy
#include <zero/policy/policy_set.hpp>

struct Model;

#ifdef ZERO_CONTROL
using Engine = zero::ZeroEngine<Model, zero::Precision<zero::FP32>>;
#else
using Engine = zero::ZeroEngine<Model, zero::FP32>;
#endif
