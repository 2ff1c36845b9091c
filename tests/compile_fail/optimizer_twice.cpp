// SPDX-License-Identifier: Apache-2.0
// expected-error: zero::ZeroEngine: an optimizer was given more than once
#include <zero/optim/adamw.hpp>
#include <zero/optim/lion.hpp>
#include <zero/policy/policy_set.hpp>

struct Model;

#ifdef ZERO_CONTROL
using Engine = zero::ZeroEngine<Model, zero::Stage<0>, zero::Lion>;
#else
using Engine = zero::ZeroEngine<Model, zero::AdamW, zero::Stage<0>, zero::Lion>;
#endif
