// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <type_traits>

namespace train_gpt {

/// A row-major matrix, possibly inside a larger one: `stride` elements from row to row.
template <class Real>
struct matrix {
  Real* data;
  std::int64_t stride;
  bool transposed = false;
};

/// c [m, n] = alpha * a [m, k] * b [k, n] + beta * c, on the calling thread. `Real` is float or
/// double, c is not transposed.
template <std::floating_point Real>
void multiply(matrix<Real> c,
              matrix<std::type_identity_t<Real> const> a,
              matrix<std::type_identity_t<Real> const> b,
              std::int64_t m,
              std::int64_t n,
              std::int64_t k,
              std::type_identity_t<Real> alpha = 1,
              std::type_identity_t<Real> beta = 0);

/// Who computes `multiply`, for people: a library, or loops where this program was built without.
[[nodiscard]] std::string host_matrix_products();

/// Keeps `multiply` from starting threads of its own: ranks are threads already. Before the first
/// product.
void multiply_on_one_thread();

}  // namespace train_gpt
