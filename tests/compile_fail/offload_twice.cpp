// SPDX-License-Identifier: Apache-2.0
// expected-error: zero::ZeroEngine: Offload<Tier> was given more than once
#include <zero/policy/policy_set.hpp>

struct Model;

#ifdef ZERO_CONTROL
using Engine = zero::ZeroEngine<Model, zero::Stage<0>, zero::Offload<zero::None>>;
#else
using Engine =
    zero::ZeroEngine<Model, zero::Offload<zero::None>, zero::Stage<0>, zero::Offload<zero::None>>;
#endif
