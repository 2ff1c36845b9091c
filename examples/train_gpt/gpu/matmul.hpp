// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/dtype.hpp>
#include <zero/device/gpu/memory.hpp>

#include <cublasLt.h>
#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>

namespace train_gpt::gpu {

/// cuBLASLt and its workspace, for the matrix products of one stream. Not to be moved: products
/// refer to it.
class matmul_library {
 public:
  matmul_library();
  matmul_library(matmul_library const&) = delete;
  matmul_library& operator=(matmul_library const&) = delete;
  ~matmul_library();

  [[nodiscard]] cublasLtHandle_t handle() const noexcept { return handle_; }

  /// "cuBLASLt" and the version of the library that was loaded.
  [[nodiscard]] static std::string name();

  [[nodiscard]] void* workspace() const noexcept { return workspace_.get(); }

  [[nodiscard]] std::size_t workspace_bytes() const noexcept {
    return static_cast<std::size_t>(workspace_.size());
  }

 private:
  cublasLtHandle_t handle_ = nullptr;
  zero::gpu::memory workspace_;
};

/// What a product does to its result on the way out.
enum class epilogue : std::uint8_t {
  none,
  bias,           ///< adds a bias a column
  gelu,           ///< adds a bias, keeps the sum in `kept`, applies GELU
  gelu_gradient,  ///< multiplies by GELU's slope at `kept`
  bias_gradient   ///< of a weight's gradient: writes the sums of `left`'s columns to `bias`
};

/// Sizes and kind of out [rows, columns] = left * right, row-major, summed over `depth` in FP32.
struct matmul_shape {
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t depth;
  bool left_transposed = false;   ///< left is [depth, rows]
  bool right_transposed = false;  ///< right is [columns, depth]
  epilogue after = epilogue::none;
};

/// Addresses of one product. `added`, if not null, is a matrix like `out` that is added to the
/// result; it may be `out` itself.
struct matmul_operands {
  void* out;
  void const* left;
  void const* right;
  void const* added = nullptr;
  void* bias = nullptr;
  void* kept = nullptr;  ///< [rows, columns]
};

/// One matrix product of fixed shape and algorithm: the library's first suggestion, which depends
/// on shape and GPU alone, so that runs can be compared bit by bit.
class matmul {
 public:
  /// Finds an algorithm. All addresses must be multiples of 16 bytes, all extents of 8.
  /// @param library  outlives the product
  /// @throws std::runtime_error where cuBLASLt has none; `supported()` asks first
  matmul(matmul_library& library, zero::dtype type, matmul_shape const& shape);

  /// Whether cuBLASLt has an algorithm for this product.
  [[nodiscard]] static bool supported(matmul_library& library,
                                      zero::dtype type,
                                      matmul_shape const& shape);

  /// Enqueues the product. Not for two threads at a time.
  void operator()(cudaStream_t stream, matmul_operands const& operands);

 private:
  struct description_only {};

  matmul(matmul_library& library,
         zero::dtype type,
         matmul_shape const& shape,
         description_only what);

  template <class Descriptor, cublasStatus_t (*Destroy)(Descriptor)>
  struct destroyer {
    void operator()(Descriptor d) const noexcept { (void)Destroy(d); }
  };

  template <class Descriptor, cublasStatus_t (*Destroy)(Descriptor)>
  using owner = std::unique_ptr<std::remove_pointer_t<Descriptor>, destroyer<Descriptor, Destroy>>;

  using layout = owner<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy>;

  [[nodiscard]] bool find_algorithm();

  matmul_library* library_;
  matmul_shape shape_;
  owner<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy> description_;
  layout left_;
  layout right_;
  layout out_;
  cublasLtMatmulAlgo_t algorithm_{};
};

}  // namespace train_gpt::gpu
