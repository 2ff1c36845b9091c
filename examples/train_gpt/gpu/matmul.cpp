// SPDX-License-Identifier: Apache-2.0
#include "matmul.hpp"
#include "versioned.hpp"

#include <zero/core/dtype.hpp>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

namespace train_gpt::gpu {

namespace {

constexpr std::int64_t workspace_size = std::int64_t{32} << 20;

void check(cublasStatus_t status, char const* call) {
  if (status != CUBLAS_STATUS_SUCCESS) {
    throw std::runtime_error(std::string("train_gpt: ") + call +
                             " failed: " + cublasLtGetStatusString(status) + ".");
  }
}

cudaDataType_t cuda_type(zero::dtype type) {
  switch (type) {
    case zero::dtype::fp32:
      return CUDA_R_32F;
    case zero::dtype::bf16:
      return CUDA_R_16BF;
    case zero::dtype::fp16:
      return CUDA_R_16F;
  }
  return CUDA_R_32F;
}

template <class Value>
void set(cublasLtMatmulDesc_t description,
         cublasLtMatmulDescAttributes_t attribute,
         Value const& value) {
  check(cublasLtMatmulDescSetAttribute(description, attribute, &value, sizeof value),
        "cublasLtMatmulDescSetAttribute");
}

/// cuBLASLt's matrices are column-major, so it computes the transposed product: its A is our right
/// factor, its B our left one.
cublasLtEpilogue_t cublas_epilogue(epilogue after) {
  switch (after) {
    case epilogue::none:
      return CUBLASLT_EPILOGUE_DEFAULT;
    case epilogue::bias:
      return CUBLASLT_EPILOGUE_BIAS;
    case epilogue::gelu:
      return CUBLASLT_EPILOGUE_GELU_AUX_BIAS;
    case epilogue::gelu_gradient:
      return CUBLASLT_EPILOGUE_DGELU;
    case epilogue::bias_gradient:
      return CUBLASLT_EPILOGUE_BGRADB;
  }
  return CUBLASLT_EPILOGUE_DEFAULT;
}

cublasLtMatrixLayout_t make_layout(zero::dtype type,
                                   std::int64_t rows,
                                   std::int64_t columns,
                                   bool transposed) {
  if (transposed) {
    std::swap(rows, columns);
  }
  cublasLtMatrixLayout_t made = nullptr;
  check(cublasLtMatrixLayoutCreate(&made,
                                   cuda_type(type),
                                   static_cast<std::uint64_t>(columns),
                                   static_cast<std::uint64_t>(rows),
                                   columns),
        "cublasLtMatrixLayoutCreate");
  return made;
}

cublasLtMatmulDesc_t make_description() {
  cublasLtMatmulDesc_t made = nullptr;
  check(cublasLtMatmulDescCreate(&made, CUBLAS_COMPUTE_32F, CUDA_R_32F),
        "cublasLtMatmulDescCreate");
  return made;
}

}  // namespace

matmul_library::matmul_library()
    : workspace_(workspace_size, "matrix products") {
  check(cublasLtCreate(&handle_), "cublasLtCreate");
}

matmul_library::~matmul_library() {
  (void)cublasLtDestroy(handle_);
}

std::string matmul_library::name() {
  return versioned("cuBLASLt", cublasLtGetVersion());
}

matmul::matmul(matmul_library& library,
               zero::dtype type,
               matmul_shape const& shape,
               description_only /*what*/)
    : library_(&library),
      shape_(shape),
      description_(make_description()),
      left_(make_layout(type, shape.rows, shape.depth, shape.left_transposed)),
      right_(make_layout(type, shape.depth, shape.columns, shape.right_transposed)),
      out_(make_layout(type, shape.rows, shape.columns, false)) {
  auto const operation = [](bool transposed) { return transposed ? CUBLAS_OP_T : CUBLAS_OP_N; };
  set(description_.get(), CUBLASLT_MATMUL_DESC_TRANSA, operation(shape.right_transposed));
  set(description_.get(), CUBLASLT_MATMUL_DESC_TRANSB, operation(shape.left_transposed));
  set(description_.get(), CUBLASLT_MATMUL_DESC_EPILOGUE, cublas_epilogue(shape.after));
  if (shape.after == epilogue::gelu || shape.after == epilogue::gelu_gradient) {
    set(description_.get(), CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, shape.columns);
  }
}

matmul::matmul(matmul_library& library, zero::dtype type, matmul_shape const& shape)
    : matmul(library, type, shape, description_only{}) {
  if (!find_algorithm()) {
    throw std::runtime_error("train_gpt: cuBLASLt has no algorithm for a matrix product of " +
                             std::to_string(shape.rows) + " x " + std::to_string(shape.columns) +
                             " x " + std::to_string(shape.depth) + ".");
  }
}

bool matmul::supported(matmul_library& library, zero::dtype type, matmul_shape const& shape) {
  matmul candidate(library, type, shape, description_only{});
  return candidate.find_algorithm();
}

bool matmul::find_algorithm() {
  cublasLtMatmulPreference_t preference = nullptr;
  check(cublasLtMatmulPreferenceCreate(&preference), "cublasLtMatmulPreferenceCreate");
  owner<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy> const owned(preference);
  std::size_t const bytes = library_->workspace_bytes();
  check(cublasLtMatmulPreferenceSetAttribute(
            preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &bytes, sizeof bytes),
        "cublasLtMatmulPreferenceSetAttribute");
  bool const with_kept = shape_.after == epilogue::gelu || shape_.after == epilogue::gelu_gradient;
  bool const with_bias = shape_.after != epilogue::none && shape_.after != epilogue::gelu_gradient;
  void* const any = library_->workspace();  // only its alignment counts here
  if (with_bias) {
    set(description_.get(), CUBLASLT_MATMUL_DESC_BIAS_POINTER, any);
  }
  if (with_kept) {
    set(description_.get(), CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, any);
  }
  cublasLtMatmulHeuristicResult_t result{};
  int found = 0;
  cublasStatus_t const status = cublasLtMatmulAlgoGetHeuristic(library_->handle(),
                                                               description_.get(),
                                                               right_.get(),
                                                               left_.get(),
                                                               out_.get(),
                                                               out_.get(),
                                                               preference,
                                                               1,
                                                               &result,
                                                               &found);
  algorithm_ = result.algo;
  return status == CUBLAS_STATUS_SUCCESS && found == 1 && result.state == CUBLAS_STATUS_SUCCESS;
}

void matmul::operator()(cudaStream_t stream, matmul_operands const& operands) {
  float const one = 1;
  float const beta = operands.added != nullptr ? 1 : 0;
  if (operands.bias != nullptr) {
    set(description_.get(), CUBLASLT_MATMUL_DESC_BIAS_POINTER, operands.bias);
  }
  if (operands.kept != nullptr) {
    set(description_.get(), CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, operands.kept);
  }
  check(cublasLtMatmul(library_->handle(),
                       description_.get(),
                       &one,
                       operands.right,
                       right_.get(),
                       operands.left,
                       left_.get(),
                       &beta,
                       operands.added != nullptr ? operands.added : operands.out,
                       out_.get(),
                       operands.out,
                       out_.get(),
                       &algorithm_,
                       library_->workspace(),
                       library_->workspace_bytes(),
                       stream),
        "cublasLtMatmul");
}

}  // namespace train_gpt::gpu
