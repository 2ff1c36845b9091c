// SPDX-License-Identifier: Apache-2.0
// expected-error: zero::test: Stage<3> is colourless
#include "../support/colour.hpp"

using zero::test::Colour;
using zero::test::coloured_categories;

template <class... Policies>
using resolved = typename zero::detail::resolve_policies<zero::policy_list<Policies...>,
                                                         coloured_categories>::type;

#ifdef ZERO_CONTROL
using List = resolved<zero::Stage<3>, Colour<0>>;
#else
using List = resolved<zero::Stage<3>, Colour<1>>;
#endif
