// SPDX-License-Identifier: Apache-2.0
// The second translation unit of every test program: whatever a header defines twice fails to link.
#include <zero/zero.hpp>
