// SPDX-License-Identifier: Apache-2.0
// Matrix products by OpenBLAS; compiled with TRAIN_GPT_HAS_OPENBLAS where it was found.
#include "allocation_count.hpp"
#include "blas.hpp"

#ifdef TRAIN_GPT_HAS_OPENBLAS
#  include <cblas.h>
#endif

#include <concepts>
#include <cstdint>
#include <string>
#include <type_traits>

namespace train_gpt {

template <std::floating_point Real>
void multiply(matrix<Real> c,
              matrix<std::type_identity_t<Real> const> a,
              matrix<std::type_identity_t<Real> const> b,
              std::int64_t m,
              std::int64_t n,
              std::int64_t k,
              std::type_identity_t<Real> alpha,
              std::type_identity_t<Real> beta) {
#ifdef TRAIN_GPT_HAS_OPENBLAS
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
#else
  for (std::int64_t i = 0; i < m; ++i) {
    Real* const row = c.data + i * c.stride;
    for (std::int64_t j = 0; j < n; ++j) {
      row[j] = beta == 0 ? 0 : beta * row[j];
    }
    for (std::int64_t l = 0; l < k; ++l) {
      Real const x = alpha * (a.transposed ? a.data[l * a.stride + i] : a.data[i * a.stride + l]);
      Real const* const other = b.data + (b.transposed ? l : l * b.stride);
      std::int64_t const step = b.transposed ? b.stride : 1;
      for (std::int64_t j = 0; j < n; ++j) {
        row[j] += x * other[j * step];
      }
    }
  }
#endif
}

template void multiply(matrix<float>,
                       matrix<float const>,
                       matrix<float const>,
                       std::int64_t,
                       std::int64_t,
                       std::int64_t,
                       float,
                       float);
template void multiply(matrix<double>,
                       matrix<double const>,
                       matrix<double const>,
                       std::int64_t,
                       std::int64_t,
                       std::int64_t,
                       double,
                       double);

std::string host_matrix_products() {
#ifdef TRAIN_GPT_HAS_OPENBLAS
  return "OpenBLAS";
#else
  return "plain loops (built without OpenBLAS)";
#endif
}

void multiply_on_one_thread() {
#ifdef TRAIN_GPT_HAS_OPENBLAS
  openblas_set_num_threads(1);
#endif
}

}  // namespace train_gpt
