// SPDX-License-Identifier: Apache-2.0
// expected-error: zero::ZeroEngine: Precision<Format> was given more than once
#include <zero/policy/policy_set.hpp>

struct Model;

#ifdef ZERO_CONTROL
using Engine = zero::ZeroEngine<Model, zero::Stage<0>, zero::Precision<zero::FP16>>;
#else
using Engine = zero::
    ZeroEngine<Model, zero::Precision<zero::BF16>, zero::Stage<0>, zero::Precision<zero::FP16>>;
#endif
