// SPDX-License-Identifier: Apache-2.0
// expected-error: zero::ZeroEngine: this policy is only declared
#include <zero/comm/local.hpp>
#include <zero/policy/policy_set.hpp>

struct Model;

#ifdef ZERO_CONTROL
using Engine = zero::ZeroEngine<Model, zero::Local>;
#else
using Engine = zero::ZeroEngine<Model, zero::Nccl>;
#endif
