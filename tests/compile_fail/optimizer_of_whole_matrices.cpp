// SPDX-License-Identifier: Apache-2.0
// expected-error: zero::ZeroEngine: this optimizer does not update element by element
#include <zero/optim/adamw.hpp>
#include <zero/policy/policy_set.hpp>

struct Model;

struct Muon {
  using policy_category = zero::optimizer_category;
};

#ifdef ZERO_CONTROL
using Engine = zero::ZeroEngine<Model, zero::AdamW>;
#else
using Engine = zero::ZeroEngine<Model, Muon>;
#endif
