// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "allocation_count.hpp"

#include <cblas.h>

#include <concepts>
#include <cstdint>
#include <type_traits>

namespace train_gpt {

/// A row-major matrix, possibly inside a larger one: `stride` elements from row to row.
template <class Real>
struct matrix {
  Real* data;
  std::int64_t stride;
  bool transposed = false;
};

/// c [m, n] = alpha * a [m, k] * b [k, n] + beta * c, on the calling thread.
template <std::floating_point Real>
void multiply(matrix<Real> c,
              matrix<std::type_identity_t<Real> const> a,
              matrix<std::type_identity_t<Real> const> b,
              std::int64_t m,
              std::int64_t n,
              std::int64_t k,
              std::type_identity_t<Real> alpha = 1,
              std::type_identity_t<Real> beta = 0) {
  uncounted_allocations const scope;  // OpenBLAS has scratch memory of its own for small matrices
  auto const call = [&](auto gemm) {
    gemm(CblasRowMajor,
         a.transposed ? CblasTrans : CblasNoTrans,
         b.transposed ? CblasTrans : CblasNoTrans,
         static_cast<blasint>(m),
         static_cast<blasint>(n),
         static_cast<blasint>(k),
         alpha,
         a.data,
         static_cast<blasint>(a.stride),
         b.data,
         static_cast<blasint>(b.stride),
         beta,
         c.data,
         static_cast<blasint>(c.stride));
  };
  if constexpr (std::same_as<Real, float>) {
    call(cblas_sgemm);
  } else {
    call(cblas_dgemm);
  }
}

}  // namespace train_gpt
