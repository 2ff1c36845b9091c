// SPDX-License-Identifier: Apache-2.0
// expected-error: zero::ZeroEngine: Reduction<Kind> was given more than once
#include <zero/policy/policy_set.hpp>

struct Model;

#ifdef ZERO_CONTROL
using Engine = zero::ZeroEngine<Model, zero::Stage<0>, zero::Reduction<zero::Native>>;
#else
using Engine = zero::ZeroEngine<Model,
                                zero::Reduction<zero::Ordered>,
                                zero::Stage<0>,
                                zero::Reduction<zero::Native>>;
#endif
