// SPDX-License-Identifier: Apache-2.0
// expected-error: zero: <zero/cuda.cuh> needs nvcc
#ifdef ZERO_CONTROL
#  include <zero/zero.hpp>
#else
#  include <zero/cuda.cuh>
#endif
