// SPDX-License-Identifier: Apache-2.0
// expected-error: zero::test: Staged<N> brings Stage<N> with it
#include "../support/colour.hpp"

template <class... Policies>
using resolved = typename zero::detail::resolve_policies<zero::policy_list<Policies...>,
                                                         zero::test::coloured_categories>::type;

#ifdef ZERO_CONTROL
using List = resolved<zero::test::Staged<2>, zero::Offload<zero::None>>;
#else
using List = resolved<zero::test::Staged<2>, zero::Stage<2>>;
#endif
