// SPDX-License-Identifier: Apache-2.0
// expected-error: zero::Tensor: a negative extent
#include <zero/core/tensor.hpp>

#ifdef ZERO_CONTROL
zero::Tensor<float, 2, 0> tensor;
#else
zero::Tensor<float, 2, -1> tensor;
#endif
