// SPDX-License-Identifier: Apache-2.0
// expected-error: zero::ZeroEngine: Stage<N> was given more than once
#include <zero/policy/policy_set.hpp>

struct Model;

#ifdef ZERO_CONTROL
using Engine = zero::ZeroEngine<Model, zero::Offload<zero::None>, zero::Stage<2>>;
#else
using Engine = zero::ZeroEngine<Model, zero::Stage<1>, zero::Offload<zero::None>, zero::Stage<2>>;
#endif
