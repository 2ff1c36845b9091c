// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// What the library uses of Boost.Hana, and users need of it: the macros that describe structs. The
/// one place that includes it. Hana has template parameters called `Bool`, which Xlib makes a
/// macro: it is put aside meanwhile.

#pragma push_macro("Bool")
#undef Bool
#include <boost/hana/accessors.hpp>
#include <boost/hana/adapt_struct.hpp>
#include <boost/hana/concept/struct.hpp>
#include <boost/hana/define_struct.hpp>
#include <boost/hana/pair.hpp>
#include <boost/hana/string.hpp>
#include <boost/hana/tuple.hpp>
#pragma pop_macro("Bool")
