// SPDX-License-Identifier: Apache-2.0
// expected-error: zero::ZeroEngine: Accumulate<Format> was given more than once
#include <zero/policy/policy_set.hpp>

struct Model;

#ifdef ZERO_CONTROL
using Engine = zero::ZeroEngine<Model, zero::Stage<0>, zero::Accumulate<zero::Native>>;
#else
using Engine = zero::
    ZeroEngine<Model, zero::Accumulate<zero::FP32>, zero::Stage<0>, zero::Accumulate<zero::Native>>;
#endif
