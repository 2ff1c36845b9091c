// SPDX-License-Identifier: Apache-2.0
// cuDNN's fused attention through cudnn-frontend, headers alone; see CMakeLists.txt. Compiled with
// TRAIN_GPT_HAS_CUDNN where both were found.
#include "attention.hpp"
#include "versioned.hpp"

#include <zero/core/error.hpp>
#include <zero/device/gpu/memory.hpp>

#ifdef TRAIN_GPT_HAS_CUDNN
#  include <cudnn_frontend.h>
#endif

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>

namespace train_gpt::gpu {

#ifdef TRAIN_GPT_HAS_CUDNN

namespace {

namespace fe = cudnn_frontend;

enum tensor_number : std::int64_t { q = 1, k, v, o, logsum, d_o, d_q, d_k, d_v };

void check(cudnnStatus_t status, char const* call) {
  if (status != CUDNN_STATUS_SUCCESS) {
    throw std::runtime_error(std::string("train_gpt: ") + call +
                             " failed: " + cudnnGetErrorString(status) + ".");
  }
}

class cudnn_attention final : public attention {
 public:
  cudnn_attention(zero::dtype type, attention_sizes const& sizes, bool deterministic)
      : sizes_(sizes) {
    cudnnHandle_t made = nullptr;
    check(cudnnCreate(&made), "cudnnCreate");
    handle_.reset(made);
    auto const io = type == zero::dtype::bf16 ? fe::DataType_t::BFLOAT16 : fe::DataType_t::HALF;
    for (fe::graph::Graph* const graph : {&forward_, &backward_}) {
      graph->set_io_data_type(io)
          .set_intermediate_data_type(fe::DataType_t::FLOAT)
          .set_compute_data_type(fe::DataType_t::FLOAT);
    }
    describe_forward();
    describe_backward(deterministic);
    if (build(forward_) && build(backward_)) {
      workspace_ = zero::gpu::memory(
          std::max(forward_.get_workspace_size(), backward_.get_workspace_size()), "attention");
    }
  }

  [[nodiscard]] bool usable() const noexcept { return refusal_.empty(); }

  /// What cuDNN said when it had no plan.
  [[nodiscard]] std::string const& refusal() const noexcept { return refusal_; }

  void forward(cudaStream_t stream, void* out, float* logsums, void const* qkv) override {
    point_to(forward_pointers_, q, const_cast<void*>(qkv));
    forward_pointers_[o] = out;
    forward_pointers_[logsum] = logsums;
    run(stream, forward_, forward_pointers_);
  }

  void backward(cudaStream_t stream,
                void* d_qkv,
                void const* d_out,
                void const* qkv,
                void const* out,
                float const* logsums) override {
    point_to(backward_pointers_, q, const_cast<void*>(qkv));
    point_to(backward_pointers_, d_q, d_qkv);
    backward_pointers_[o] = const_cast<void*>(out);
    backward_pointers_[d_o] = const_cast<void*>(d_out);
    backward_pointers_[logsum] = const_cast<float*>(logsums);
    run(stream, backward_, backward_pointers_);
  }

  [[nodiscard]] std::string name() const override {
    return versioned("cuDNN", cudnnGetVersion());  // of what was loaded
  }

 private:
  using tensor = std::shared_ptr<fe::graph::Tensor_attributes>;
  using pointers = std::unordered_map<std::int64_t, void*>;

  struct destroyer {
    void operator()(cudnnHandle_t handle) const noexcept { (void)cudnnDestroy(handle); }
  };

  /// [batch, heads, length, head size] within rows of `stride` channels.
  [[nodiscard]] fe::graph::Tensor_attributes heads(char const* name,
                                                   tensor_number number,
                                                   std::int64_t stride) const {
    return fe::graph::Tensor_attributes()
        .set_name(name)
        .set_uid(number)
        .set_dim({sizes_.batch, sizes_.heads, sizes_.length, sizes_.head_size()})
        .set_stride({sizes_.length * stride, sizes_.head_size(), stride, 1});
  }

  [[nodiscard]] fe::graph::Tensor_attributes sums() const {
    return fe::graph::Tensor_attributes()
        .set_name("logsums")
        .set_uid(logsum)
        .set_data_type(fe::DataType_t::FLOAT)
        .set_dim({sizes_.batch, sizes_.heads, sizes_.length, 1})
        .set_stride({sizes_.heads * sizes_.length, sizes_.length, 1, 1});
  }

  void write(tensor const& to, fe::graph::Tensor_attributes const& as) const {
    to->set_output(true).set_uid(as.get_uid()).set_dim(as.get_dim()).set_stride(as.get_stride());
  }

  [[nodiscard]] float scale() const {
    return 1.0f / std::sqrt(static_cast<float>(sizes_.head_size()));
  }

  void describe_forward() {
    std::int64_t const wide = 3 * sizes_.channels;
    auto const [out, stats] = forward_.sdpa(forward_.tensor(heads("q", q, wide)),
                                            forward_.tensor(heads("k", k, wide)),
                                            forward_.tensor(heads("v", v, wide)),
                                            fe::graph::SDPA_attributes()
                                                .set_name("attention")
                                                .set_generate_stats(true)
                                                .set_attn_scale(scale())
                                                .set_causal_mask(true));
    write(out, heads("out", o, sizes_.channels));
    write(stats, sums());
    stats->set_data_type(fe::DataType_t::FLOAT);
  }

  void describe_backward(bool deterministic) {
    std::int64_t const wide = 3 * sizes_.channels;
    auto const [dq, dk, dv] =
        backward_.sdpa_backward(backward_.tensor(heads("q", q, wide)),
                                backward_.tensor(heads("k", k, wide)),
                                backward_.tensor(heads("v", v, wide)),
                                backward_.tensor(heads("out", o, sizes_.channels)),
                                backward_.tensor(heads("d_out", d_o, sizes_.channels)),
                                backward_.tensor(sums()),
                                fe::graph::SDPA_backward_attributes()
                                    .set_name("attention_backward")
                                    .set_attn_scale(scale())
                                    .set_causal_mask(true)
                                    .set_deterministic_algorithm(deterministic));
    write(dq, heads("d_q", d_q, wide));
    write(dk, heads("d_k", d_k, wide));
    write(dv, heads("d_v", d_v, wide));
  }

  /// @return whether there is a plan; otherwise `refusal_` says why not
  [[nodiscard]] bool build(fe::graph::Graph& graph) {
    auto const good = [&](fe::error_t status) {
      if (status.is_bad()) {
        std::string const text = status.get_message();
        refusal_ = text.empty() ? "no reason given" : text;
      }
      return status.is_good();
    };
    return good(graph.validate()) && good(graph.build_operation_graph(handle_.get())) &&
           good(graph.create_execution_plans({fe::HeurMode_t::A})) && good(graph.check_support()) &&
           good(graph.build_plans());
  }

  /// Queries, keys and values are `channels` apart in a row.
  void point_to(pointers& table, std::int64_t first, void* wide) const {
    for (std::int64_t i = 0; i < 3; ++i) {
      table[first + i] = static_cast<char*>(wide) + i * sizes_.channels * 2;
    }
  }

  void run(cudaStream_t stream, fe::graph::Graph& graph, pointers& table) {
    check(cudnnSetStream(handle_.get(), stream), "cudnnSetStream");
    auto status = graph.execute(handle_.get(), table, workspace_.get());
    if (status.is_bad()) {
      throw std::runtime_error("train_gpt: cuDNN's attention failed: " + status.get_message() +
                               ".");
    }
  }

  attention_sizes sizes_;
  std::unique_ptr<cudnnContext, destroyer> handle_;
  fe::graph::Graph forward_;
  fe::graph::Graph backward_;
  pointers forward_pointers_;
  pointers backward_pointers_;
  zero::gpu::memory workspace_;
  std::string refusal_;
};

}  // namespace

bool built_with_cudnn() noexcept {
  return true;
}

std::unique_ptr<attention> make_cudnn_attention(zero::dtype type,
                                                attention_sizes const& sizes,
                                                bool deterministic,
                                                std::string& why_not) {
  if (type == zero::dtype::fp32) {
    why_not = "cuDNN has none for FP32";
    return nullptr;
  }
  auto made = std::make_unique<cudnn_attention>(type, sizes, deterministic);
  if (!made->usable()) {
    why_not = "cuDNN has no plan for these sizes: " + made->refusal();
    return nullptr;
  }
  return made;
}

#else

bool built_with_cudnn() noexcept {
  return false;
}

std::unique_ptr<attention> make_cudnn_attention(zero::dtype /*type*/,
                                                attention_sizes const& /*sizes*/,
                                                bool /*deterministic*/,
                                                std::string& why_not) {
  why_not = "built without cuDNN";
  return nullptr;
}

#endif

}  // namespace train_gpt::gpu
