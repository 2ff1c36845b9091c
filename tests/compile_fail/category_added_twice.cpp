// SPDX-License-Identifier: Apache-2.0
// expected-error: zero::test: Colour<N> was given more than once
#include "../support/colour.hpp"

using zero::test::Colour;
using zero::test::coloured_categories;

template <class... Policies>
using resolved = typename zero::detail::resolve_policies<zero::policy_list<Policies...>,
                                                         coloured_categories>::type;

#ifdef ZERO_CONTROL
using List = resolved<zero::Stage<1>, Colour<1>>;
#else
using List = resolved<Colour<1>, zero::Stage<1>, Colour<2>>;
#endif
