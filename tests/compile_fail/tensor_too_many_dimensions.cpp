// SPDX-License-Identifier: Apache-2.0
// expected-error: zero::Tensor: more than 8 dimensions
#include <zero/core/tensor.hpp>

#ifdef ZERO_CONTROL
zero::Tensor<float, 1, 2, 3, 4, 5, 6, 7, 8> tensor;
#else
zero::Tensor<float, 1, 2, 3, 4, 5, 6, 7, 8, 9> tensor;
#endif
