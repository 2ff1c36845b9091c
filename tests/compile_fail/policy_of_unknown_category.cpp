// SPDX-License-Identifier: Apache-2.0
// expected-error: zero::ZeroEngine: the policy_category of this policy is not one that an engine
// chooses by
#include <zero/policy/policy_set.hpp>

struct Model;

struct colour_category {};

struct Red {
  using policy_category = colour_category;
};

#ifdef ZERO_CONTROL
using Engine = zero::ZeroEngine<Model>;
#else
using Engine = zero::ZeroEngine<Model, Red>;
#endif
