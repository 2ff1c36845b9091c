// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "blas.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

/// The arithmetic of a GPT, one function a kernel, forward and backward by hand. Matrices are
/// row-major; `rows` is batch x length, the tokens of a micro-step. `Real` is float in the program;
/// the tests compare the same code in double with finite differences. Each call runs on the thread
/// that makes it, matrix products through the BLAS.
namespace train_gpt {

/// Sizes of an attention call.
struct attention_shape {
  std::int64_t batch;
  std::int64_t length;
  std::int64_t channels;
  std::int64_t heads;
};

namespace kernel_parts {

inline double exponential(double x) {
  return std::exp(x);
}

/// e^x within 2 units in the last place, in a form that compilers turn into vector instructions:
/// x = n ln 2 + r, a polynomial for e^r, and n added to the exponent. Coefficients from Cephes
/// expf.
inline float exponential(float x) {
  float const limited = std::min(std::max(x, -87.0f), 88.0f);
  float const shifted = limited * 1.44269504f + 12582912.0f;  // 1.5 * 2^23: rounds to an integer
  float const n = shifted - 12582912.0f;
  float const r = (limited - n * 0.693359375f) + n * 2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * (r * r) + r + 1.0f;
  auto const exponent = std::bit_cast<std::uint32_t>(shifted) << 23;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(p) + exponent);
}

/// The largest logit of a row and the sum of exponentials relative to it: what log-probabilities
/// are made of.
template <class Real>
struct softmax_sum {
  Real largest;
  Real sum;
};

/// The first `used` elements become their softmax, the others zero.
template <class Real>
softmax_sum<Real> softmax_row(Real* row, std::int64_t used, std::int64_t width) {
  Real largest = row[0];
  for (std::int64_t i = 1; i < used; ++i) {
    largest = std::max(largest, row[i]);
  }
  for (std::int64_t i = 0; i < used; ++i) {
    row[i] = exponential(row[i] - largest);
  }
  Real sum = 0;
  for (std::int64_t i = 0; i < used; ++i) {
    sum += row[i];
  }
  Real const scale = 1 / sum;
  for (std::int64_t i = 0; i < used; ++i) {
    row[i] *= scale;
  }
  std::fill(row + used, row + width, Real{0});
  return {largest, sum};
}

/// 2 u of GELU's tanh(u) = 2 sigmoid(2 u) - 1, and its derivative.
template <class Real>
Real gelu_argument(Real x) {
  return Real(1.5957691216057308) * (x + Real(0.044715) * x * x * x);
}

template <class Real>
Real gelu_argument_slope(Real x) {
  return Real(1.5957691216057308) * (1 + Real(3 * 0.044715) * x * x);
}

}  // namespace kernel_parts

/// out = a + b.
template <class Real>
void add(Real* out, Real const* a, Real const* b, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    out[i] = a[i] + b[i];
  }
}

/// out[r] = tokens[token[r]] + positions[r mod length].
template <class Real>
void embed_forward(Real* out,
                   std::uint8_t const* token,
                   Real const* tokens,
                   Real const* positions,
                   std::int64_t batch,
                   std::int64_t length,
                   std::int64_t channels) {
  for (std::int64_t row = 0; row < batch * length; ++row) {
    add(out + row * channels,
        tokens + token[row] * channels,
        positions + row % length * channels,
        channels);
  }
}

/// Adds to both gradients.
template <class Real>
void embed_backward(Real* d_tokens,
                    Real* d_positions,
                    Real const* d_out,
                    std::uint8_t const* token,
                    std::int64_t batch,
                    std::int64_t length,
                    std::int64_t channels) {
  for (std::int64_t row = 0; row < batch * length; ++row) {
    Real const* const d = d_out + row * channels;
    Real* const d_token = d_tokens + token[row] * channels;
    Real* const d_position = d_positions + row % length * channels;
    for (std::int64_t i = 0; i < channels; ++i) {
      d_token[i] += d[i];
      d_position[i] += d[i];
    }
  }
}

/// Normalises each row and keeps its mean and 1 / standard deviation for the backward pass.
template <class Real>
void norm_forward(Real* out,
                  Real* mean,
                  Real* scale,
                  Real const* in,
                  Real const* weight,
                  Real const* bias,
                  std::int64_t rows,
                  std::int64_t channels) {
  for (std::int64_t row = 0; row < rows; ++row) {
    Real const* const x = in + row * channels;
    Real sum = 0;
    for (std::int64_t i = 0; i < channels; ++i) {
      sum += x[i];
    }
    Real const m = sum / Real(channels);
    Real squares = 0;
    for (std::int64_t i = 0; i < channels; ++i) {
      squares += (x[i] - m) * (x[i] - m);
    }
    Real const s = 1 / std::sqrt(squares / Real(channels) + Real(1e-5));
    Real* const y = out + row * channels;
    for (std::int64_t i = 0; i < channels; ++i) {
      y[i] = (x[i] - m) * s * weight[i] + bias[i];
    }
    mean[row] = m;
    scale[row] = s;
  }
}

/// Adds to d_in, where the residual stream's gradient already is; overwrites d_weight, d_bias.
template <class Real>
void norm_backward(Real* d_in,
                   Real* d_weight,
                   Real* d_bias,
                   Real const* d_out,
                   Real const* in,
                   Real const* mean,
                   Real const* scale,
                   Real const* weight,
                   std::int64_t rows,
                   std::int64_t channels) {
  std::fill(d_weight, d_weight + channels, Real{0});
  std::fill(d_bias, d_bias + channels, Real{0});
  for (std::int64_t row = 0; row < rows; ++row) {
    Real const* const x = in + row * channels;
    Real const* const dy = d_out + row * channels;
    Real* const dx = d_in + row * channels;
    Real const m = mean[row];
    Real const s = scale[row];
    Real sum = 0;         // of the normalised row's gradient
    Real projection = 0;  // of that gradient on the normalised row
    for (std::int64_t i = 0; i < channels; ++i) {
      Real const normal = (x[i] - m) * s;
      Real const d = dy[i] * weight[i];
      sum += d;
      projection += d * normal;
      d_weight[i] += dy[i] * normal;
      d_bias[i] += dy[i];
    }
    sum /= Real(channels);
    projection /= Real(channels);
    for (std::int64_t i = 0; i < channels; ++i) {
      dx[i] += (dy[i] * weight[i] - sum - (x[i] - m) * s * projection) * s;
    }
  }
}

/// out [rows, outputs] = in [rows, inputs] * weight [outputs, inputs]^T + bias; no bias if null.
template <class Real>
void linear_forward(Real* out,
                    Real const* in,
                    Real const* weight,
                    Real const* bias,
                    std::int64_t rows,
                    std::int64_t inputs,
                    std::int64_t outputs) {
  if (bias != nullptr) {
    for (std::int64_t row = 0; row < rows; ++row) {
      std::copy(bias, bias + outputs, out + row * outputs);
    }
  }
  multiply<Real>({out, outputs},
                 {in, inputs},
                 {weight, inputs, true},
                 rows,
                 outputs,
                 inputs,
                 1,
                 bias != nullptr ? 1 : 0);
}

/// Overwrites d_in, d_weight and, unless null, d_bias.
template <class Real>
void linear_backward(Real* d_in,
                     Real* d_weight,
                     Real* d_bias,
                     Real const* d_out,
                     Real const* in,
                     Real const* weight,
                     std::int64_t rows,
                     std::int64_t inputs,
                     std::int64_t outputs) {
  multiply<Real>({d_in, inputs}, {d_out, outputs}, {weight, inputs}, rows, inputs, outputs);
  multiply<Real>({d_weight, inputs}, {d_out, outputs, true}, {in, inputs}, outputs, inputs, rows);
  if (d_bias != nullptr) {
    std::fill(d_bias, d_bias + outputs, Real{0});
    for (std::int64_t row = 0; row < rows; ++row) {
      add(d_bias, d_bias, d_out + row * outputs, outputs);
    }
  }
}

/// Causal attention. qkv [rows, 3 channels] holds queries, keys and values side by side;
/// probabilities [batch, heads, length, length] are kept for the backward pass.
template <class Real>
void attention_forward(Real* out,
                       Real* probabilities,
                       Real const* qkv,
                       attention_shape const& shape) {
  std::int64_t const length = shape.length;
  std::int64_t const channels = shape.channels;
  std::int64_t const size = channels / shape.heads;
  Real const scale = 1 / std::sqrt(Real(size));
  for (std::int64_t b = 0; b < shape.batch; ++b) {
    for (std::int64_t h = 0; h < shape.heads; ++h) {
      Real const* const q = qkv + b * length * 3 * channels + h * size;
      Real const* const k = q + channels;
      Real const* const v = k + channels;
      Real* const p = probabilities + (b * shape.heads + h) * length * length;
      multiply<Real>(
          {p, length}, {q, 3 * channels}, {k, 3 * channels, true}, length, length, size, scale);
      for (std::int64_t t = 0; t < length; ++t) {
        kernel_parts::softmax_row(p + t * length, t + 1, length);
      }
      multiply<Real>({out + b * length * channels + h * size, channels},
                     {p, length},
                     {v, 3 * channels},
                     length,
                     size,
                     length);
    }
  }
}

/// Overwrites d_qkv. `scratch` is [length, length].
template <class Real>
void attention_backward(Real* d_qkv,
                        Real* scratch,
                        Real const* d_out,
                        Real const* qkv,
                        Real const* probabilities,
                        attention_shape const& shape) {
  std::int64_t const length = shape.length;
  std::int64_t const channels = shape.channels;
  std::int64_t const size = channels / shape.heads;
  Real const scale = 1 / std::sqrt(Real(size));
  for (std::int64_t b = 0; b < shape.batch; ++b) {
    for (std::int64_t h = 0; h < shape.heads; ++h) {
      std::int64_t const at = b * length * 3 * channels + h * size;
      Real const* const q = qkv + at;
      Real const* const k = q + channels;
      Real const* const v = k + channels;
      Real* const dq = d_qkv + at;
      Real* const dk = dq + channels;
      Real* const dv = dk + channels;
      Real const* const p = probabilities + (b * shape.heads + h) * length * length;
      Real const* const d = d_out + b * length * channels + h * size;
      multiply<Real>({dv, 3 * channels}, {p, length, true}, {d, channels}, length, size, length);
      multiply<Real>(
          {scratch, length}, {d, channels}, {v, 3 * channels, true}, length, length, size);
      for (std::int64_t t = 0; t < length; ++t) {  // through the softmax of each row
        Real* const ds = scratch + t * length;
        Real const* const pt = p + t * length;
        Real sum = 0;
        for (std::int64_t i = 0; i <= t; ++i) {
          sum += ds[i] * pt[i];
        }
        for (std::int64_t i = 0; i < length; ++i) {
          ds[i] = pt[i] * (ds[i] - sum);
        }
      }
      multiply<Real>(
          {dq, 3 * channels}, {scratch, length}, {k, 3 * channels}, length, size, length, scale);
      multiply<Real>({dk, 3 * channels},
                     {scratch, length, true},
                     {q, 3 * channels},
                     length,
                     size,
                     length,
                     scale);
    }
  }
}

/// GPT-2's GELU, with the hyperbolic tangent.
template <class Real>
void gelu_forward(Real* out, Real const* in, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    out[i] = in[i] / (1 + kernel_parts::exponential(-kernel_parts::gelu_argument(in[i])));
  }
}

/// d becomes the gradient of the input, in place.
template <class Real>
void gelu_backward(Real* d, Real const* in, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    Real const x = in[i];
    Real const s = 1 / (1 + kernel_parts::exponential(-kernel_parts::gelu_argument(x)));
    d[i] *= s + x * s * (1 - s) * kernel_parts::gelu_argument_slope(x);
  }
}

/// Turns each row of logits into its softmax.
template <class Real>
void softmax(Real* logits, std::int64_t rows, std::int64_t width) {
  for (std::int64_t row = 0; row < rows; ++row) {
    kernel_parts::softmax_row(logits + row * width, width, width);
  }
}

/// Returns the sum of -log softmax(logits)[target] over the rows, and turns the logits into
/// gradient_scale times its gradient, in place.
template <class Real>
double cross_entropy(Real* logits,
                     std::uint8_t const* target,
                     std::int64_t rows,
                     std::int64_t width,
                     Real gradient_scale) {
  double loss = 0;
  for (std::int64_t row = 0; row < rows; ++row) {
    Real* const p = logits + row * width;
    double const chosen = p[target[row]];
    auto const [largest, sum] = kernel_parts::softmax_row(p, width, width);
    loss += std::log(double(sum)) - (chosen - double(largest));
    p[target[row]] -= 1;
    for (std::int64_t i = 0; i < width; ++i) {
      p[i] *= gradient_scale;
    }
  }
  return loss;
}

}  // namespace train_gpt
