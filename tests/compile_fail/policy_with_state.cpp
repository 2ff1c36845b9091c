// SPDX-License-Identifier: Apache-2.0
// expected-error: zero::ZeroEngine: this template argument is not a policy
#include <zero/policy/policy_set.hpp>

struct Model;

struct Empty {
  using policy_category = zero::communicator_category;
};

struct Stateful {
  using policy_category = zero::communicator_category;
  int port = 0;
};

#ifdef ZERO_CONTROL
using Engine = zero::ZeroEngine<Model, Empty>;
#else
using Engine = zero::ZeroEngine<Model, Stateful>;
#endif
