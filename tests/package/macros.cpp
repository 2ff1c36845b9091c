// SPDX-License-Identifier: Apache-2.0
// Macros of X11 and of <sys/sysmacros.h> before our headers, as a user's other headers define them,
// and three of a user's own. (Of `min` and `max` the standard library's headers rid themselves.)
#define expects(condition) static_assert(sizeof(condition) == 0, "expanded")
#define min(a, b) ((a) < (b) ? (a) : (b))
#define max(a, b) ((a) > (b) ? (a) : (b))
#define None 0L
#define Bool int
#define Status int
#define True 1
#define False 0
#define Success 0
#define Always 2
#define Complex 0
#define Above 0
#define Below 1
#define CurrentTime 0L
#define GrayScale 1
#define KeyPress 2
#define major(device) gnu_dev_major(device)
#define minor(device) gnu_dev_minor(device)
#define makedev(major, minor) gnu_dev_makedev(major, minor)

#include "consumer.hpp"

static_assert(None == 0L, "the user's macro is in force again");
static_assert(zero::policy_of<zero::Offload<zero::NoTier>, zero::offload_category>);

int main() {
  return trains() ? 0 : 1;
}
