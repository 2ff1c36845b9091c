// SPDX-License-Identifier: Apache-2.0
// expected-error: zero::ZeroEngine: start_timeline needs time stamps on the streams of this device
#include <zero/zero.hpp>

#include <cstddef>

struct own_stream {};

#ifdef ZERO_CONTROL
using stream = zero::host_stream;
#else
using stream = own_stream;
#endif

zero::timeline_recorder<stream> const recorder(std::size_t{8});
