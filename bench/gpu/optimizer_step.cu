// SPDX-License-Identifier: Apache-2.0
// The fused optimizer step on one GPU against what its memory can do.
//
// Shows: the norm pass and the fused AdamW update over a ceiling of the same streams of memory with
// trivial arithmetic; 10 000 small tensors against one of the same size; a step of 4 million
// parameters replayed as a graph over its bytes' time. Before anything is timed, windows of the
// result are compared with the host's bits. Variants take turns; figures are medians.
//
// Build: nvcc -std=c++20 -O3 -arch=sm_90 -I include bench/gpu/optimizer_step.cu -o optimizer_step
// Run:   optimizer_step [--parameters 1000000000] [--rounds 25] [--json FILE]
// Needs 20 bytes of device memory a parameter. Exit status 1: the bits differ.
#include <zero/core/dtype.hpp>
#include <zero/core/norm.hpp>
#include <zero/core/random.hpp>
#include <zero/device/gpu/error.hpp>
#include <zero/device/gpu/event.hpp>
#include <zero/device/gpu/graph.hpp>
#include <zero/device/gpu/kernels.cuh>
#include <zero/device/gpu/launch.cuh>
#include <zero/device/gpu/memory.hpp>
#include <zero/device/gpu/stream.hpp>
#include <zero/device/gpu/vectors.cuh>
#include <zero/device/host_kernels.hpp>
#include <zero/device/update_arguments.hpp>
#include <zero/optim/adamw.hpp>
#include <zero/optim/step_state.hpp>
#include <zero/plan/groups.hpp>

#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace bench {

using zero::bf16;
using kernels = zero::gpu_kernels;

// ---- data ---------------------------------------------------------------------------------------

/// An array on the GPU.
template <class T>
class array {
 public:
  array() = default;

  explicit array(std::int64_t count)
      : memory_(count * static_cast<std::int64_t>(sizeof(T)), "bench") {}

  [[nodiscard]] T* data() const { return static_cast<T*>(memory_.get()); }

  [[nodiscard]] std::vector<T> read(std::int64_t first, std::int64_t count) const {
    std::vector<T> values(static_cast<std::size_t>(count));
    zero::check_cuda(cudaMemcpy(values.data(),
                                data() + first,
                                static_cast<std::size_t>(count) * sizeof(T),
                                cudaMemcpyDefault),
                     "cudaMemcpy");
    return values;
  }

  void write(std::vector<T> const& values) const {
    zero::check_cuda(
        cudaMemcpy(data(), values.data(), values.size() * sizeof(T), cudaMemcpyDefault),
        "cudaMemcpy");
  }

 private:
  zero::gpu::memory memory_;
};

template <class T>
__global__ void fill_kernel(T* to, std::int64_t n, std::uint64_t key, float scale, bool positive) {
  std::int64_t const i = blockIdx.x * std::int64_t{256} + threadIdx.x;
  if (i < n) {
    float const x = zero::approximately_normal(key, static_cast<std::uint64_t>(i)) * scale;
    to[i] = zero::from_float<T>(positive ? zero::abs(x) : x);
  }
}

template <class T>
void fill(array<T> const& to, std::int64_t n, std::uint64_t key, float scale, bool positive) {
  zero::gpu::launch(
      "fill", fill_kernel<T>, (n + 255) / 256, 256, nullptr, to.data(), n, key, scale, positive);
}

/// A shard: gradient of type A, FP32 state, parameters of type P.
template <class P, class A>
struct shard {
  std::int64_t n;
  array<A> gradient;
  array<float> master;
  array<float> m;
  array<float> v;
  array<P> parameter;

  explicit shard(std::int64_t count)
      : n(count),
        gradient(count),
        master(count),
        m(count),
        v(count),
        parameter(count) {
    refresh(1);
  }

  void refresh(std::uint64_t seed) {
    fill(gradient, n, 5 * seed, 1e-3F, false);
    fill(master, n, 5 * seed + 1, 0.02F, false);
    fill(m, n, 5 * seed + 2, 1e-3F, false);
    fill(v, n, 5 * seed + 3, 1e-6F, true);
    kernels::cast<P>(nullptr, master.data(), parameter.data(), n);
    zero::check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  }
};

/// The small things of a step.
struct control {
  std::int64_t blocks;
  array<double> partials;
  array<double> scratch;
  array<zero::rank_record> record{1};
  array<zero::step_control> numbers{1};
  array<zero::step_config<zero::AdamW>> config{1};
  array<zero::step_state<zero::AdamW>> state{1};
  array<zero::step_record> ring{1};
  array<zero::update_segment> segments;
  std::int32_t segment_count;

  control(std::int64_t n, std::vector<zero::update_segment> const& list)
      : blocks(zero::norm_blocks(n)),
        partials(blocks),
        scratch(kernels::partials_scratch(blocks) + 1),
        segments(static_cast<std::int64_t>(list.size())),
        segment_count(static_cast<std::int32_t>(list.size())) {
    zero::step_config<zero::AdamW> c;
    c.group_count = 2;
    c.groups[1] = {1, 0};
    zero::step_control numbers_now;
    numbers_now.lr = 1e-3;
    numbers_now.clip_norm = 1;
    config.write({c});
    state.write({zero::initial_state(c)});
    numbers.write({numbers_now});
    segments.write(list);
  }
};

template <class P, class A>
[[nodiscard]] zero::update_arguments<P, A> arguments_of(shard<P, A> const& s, control const& c) {
  zero::update_arguments<P, A> a;
  a.gradient = s.gradient.data();
  a.master = s.master.data();
  a.moments[0] = s.m.data();
  a.moments[1] = s.v.data();
  a.parameter = s.parameter.data();
  a.n = s.n;
  a.segments = c.segments.data();
  a.segment_count = c.segment_count;
  return a;
}

/// What `Engine::step` does at one rank once the partial sums are there.
template <class P, class A>
void decide_and_update(cudaStream_t stream, shard<P, A> const& s, control const& c) {
  kernels::reduce_partials(
      stream, c.partials.data(), c.blocks, c.scratch.data(), &c.record.data()->squares);
  kernels::decide<zero::AdamW>(stream,
                               c.state.data(),
                               c.record.data(),
                               1,
                               c.numbers.data(),
                               c.config.data(),
                               c.ring.data(),
                               0);
  kernels::update<zero::AdamW, P, A>(stream, arguments_of(s, c), c.state.data());
}

/// The same, after a pass for the norm.
template <class P, class A>
void step(cudaStream_t stream, shard<P, A> const& s, control const& c) {
  kernels::squares<A>(stream, s.gradient.data(), s.n, c.partials.data());
  decide_and_update(stream, s, c);
}

// ---- ceilings -----------------------------------------------------------------------------------

/// The streams of memory of the update (bf16 gradient, FP32 weight and two moments in; weight,
/// moments and bf16 parameter out), with next to no arithmetic. N elements a thread.
template <int N, bool Streaming>
__global__ void __launch_bounds__(256)
    ceiling_kernel(bf16 const* g, float* w, float* m, float* v, bf16* p, std::int64_t n) {
  std::int64_t const first = (static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) * N;
  if (first + N > n) {
    return;
  }
  float x[4][N];
  zero::gpu::load_vector(g + first, x[0]);
  if constexpr (Streaming) {
    float const* const from[3] = {w, m, v};
    for (int a = 0; a < 3; ++a) {
      for (int i = 0; i < N; i += 4) {
        float4 const q = __ldcs(reinterpret_cast<float4 const*>(from[a] + first + i));
        x[a + 1][i] = q.x;
        x[a + 1][i + 1] = q.y;
        x[a + 1][i + 2] = q.z;
        x[a + 1][i + 3] = q.w;
      }
    }
  } else {
    zero::gpu::load_vector(w + first, x[1]);
    zero::gpu::load_vector(m + first, x[2]);
    zero::gpu::load_vector(v + first, x[3]);
  }
  for (int i = 0; i < N; ++i) {
    x[1][i] += x[0][i];
    x[2][i] = 0.9F * x[2][i] + x[0][i];
    x[3][i] = 0.999F * x[3][i] + 1e-9F;  // stays above 0: the next to come is an update
  }
  if constexpr (Streaming) {
    float* const to[3] = {w, m, v};
    for (int a = 0; a < 3; ++a) {
      for (int i = 0; i < N; i += 4) {
        __stcs(reinterpret_cast<float4*>(to[a] + first + i),
               float4{x[a + 1][i], x[a + 1][i + 1], x[a + 1][i + 2], x[a + 1][i + 3]});
      }
    }
  } else {
    zero::gpu::store_vector(w + first, x[1]);
    zero::gpu::store_vector(m + first, x[2]);
    zero::gpu::store_vector(v + first, x[3]);
  }
  zero::gpu::store_vector(p + first, x[1]);
}

template <int N, bool Streaming>
void ceiling(cudaStream_t stream, shard<bf16, bf16> const& s) {
  zero::gpu::launch("ceiling",
                    ceiling_kernel<N, Streaming>,
                    (s.n / N + 255) / 256,
                    256,
                    stream,
                    s.gradient.data(),
                    s.master.data(),
                    s.m.data(),
                    s.v.data(),
                    s.parameter.data(),
                    s.n);
}

// ---- measuring ----------------------------------------------------------------------------------

struct samples {
  std::vector<double> values;

  [[nodiscard]] double at(double share) const {
    auto sorted = values;
    std::sort(sorted.begin(), sorted.end());
    return sorted[static_cast<std::size_t>(share * static_cast<double>(sorted.size() - 1) + 0.5)];
  }

  [[nodiscard]] double median() const { return at(0.5); }
};

struct variant {
  std::string name;
  double bytes;  // a run
  std::function<void(cudaStream_t)> run;
  samples milliseconds = {};
};

/// Runs the variants in turn, `rounds` times after one for warming up; `repeats` runs a sample.
void measure(std::vector<variant>& variants, int rounds, int repeats) {
  zero::gpu::stream const stream(zero::gpu::stream_priority::normal);
  zero::gpu::event const from(zero::gpu::event_timing::on);
  zero::gpu::event const to(zero::gpu::event_timing::on);
  for (int round = -1; round < rounds; ++round) {
    for (auto& v : variants) {
      from.record(stream.get());
      for (int i = 0; i < repeats; ++i) {
        v.run(stream.get());
      }
      to.record(stream.get());
      to.synchronize();
      if (round >= 0) {
        v.milliseconds.values.push_back(zero::gpu::milliseconds_between(from, to) / repeats);
      }
    }
  }
}

class report {
 public:
  void add(variant const& v) {
    double const median = v.milliseconds.median();
    std::printf("%-44s %9.4f ms  [%9.4f %9.4f]  %7.0f GB/s\n",
                v.name.c_str(),
                median,
                v.milliseconds.at(0),
                v.milliseconds.at(1),
                v.bytes / median * 1e-6);
    json_ += std::string(json_.empty() ? "" : ",") + "\n    {\"name\": \"" + v.name +
             "\", \"ms\": " + number(median) + ", \"ms_min\": " + number(v.milliseconds.at(0)) +
             ", \"ms_max\": " + number(v.milliseconds.at(1)) + ", \"bytes\": " + number(v.bytes) +
             "}";
  }

  void figure(std::string const& name, double value) {
    std::printf("%-44s %9.4f\n", name.c_str(), value);
    values_[name] = value;
    figures_ += ",\n  \"" + name + "\": " + number(value);
  }

  /// A figure that was given before.
  [[nodiscard]] double value(std::string const& name) const { return values_.at(name); }

  [[nodiscard]] std::string json() const {
    return "{\n  \"variants\": [" + json_ + "\n  ]" + figures_ + "\n}\n";
  }

 private:
  [[nodiscard]] static std::string number(double x) {
    std::array<char, 40> text{};
    std::snprintf(text.data(), text.size(), "%.9g", x);
    return text.data();
  }

  std::map<std::string, double> values_;
  std::string json_;
  std::string figures_;
};

// ---- checking -----------------------------------------------------------------------------------

template <class T>
[[nodiscard]] bool equal(std::vector<T> const& a, std::vector<T> const& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

/// One step on fresh data, compared with the host's bits in windows of the shard; the norm's tree
/// from the partial sums up.
[[nodiscard]] bool check_bits(shard<bf16, bf16>& s, control const& c) {
  s.refresh(7);
  std::int64_t const window = std::min<std::int64_t>(s.n, 65'536);
  std::vector<std::int64_t> firsts;
  for (int i = 0; i < 8; ++i) {
    firsts.push_back((s.n - window) / 7 * i / zero::norm_block * zero::norm_block);
  }

  struct before {
    std::vector<bf16> gradient;
    std::vector<float> master, m, v;
    std::vector<bf16> parameter;
  };

  std::vector<before> windows;
  for (auto const first : firsts) {
    windows.push_back({s.gradient.read(first, window),
                       s.master.read(first, window),
                       s.m.read(first, window),
                       s.v.read(first, window),
                       s.parameter.read(first, window)});
  }
  auto host_state = c.state.read(0, 1)[0];
  auto const config = c.config.read(0, 1)[0];
  auto const numbers = c.numbers.read(0, 1)[0];

  step(nullptr, s, c);
  zero::check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");

  bool good = true;
  auto const partials = c.partials.read(0, c.blocks);
  zero::rank_record record;
  record.squares = zero::reduce_partials(partials.data(), c.blocks);
  zero::decide(host_state, &record, 1, numbers, config);
  auto const state = c.state.read(0, 1)[0];
  good = good && state.apply && host_state.apply &&
         std::memcmp(&state.coefficient, &host_state.coefficient, sizeof(float)) == 0 &&
         std::memcmp(&state.last.norm, &host_state.last.norm, sizeof(double)) == 0 &&
         std::memcmp(&state.groups, &host_state.groups, 2 * sizeof state.groups[0]) == 0;
  std::printf("norm %.17g, clip factor %.9g\n", state.last.norm, state.last.clip_factor);
  for (std::size_t i = 0; i < windows.size(); ++i) {
    auto& w = windows[i];
    auto const first = firsts[i];
    std::vector<double> sums(static_cast<std::size_t>(zero::norm_blocks(window)));
    zero::host_kernels::squares<bf16>({}, w.gradient.data(), window, sums.data());
    good = good &&
           equal(sums,
                 c.partials.read(first / zero::norm_block, static_cast<std::int64_t>(sums.size())));
    zero::update_segment const all{0, window, 0, 0};
    zero::update_arguments<bf16, bf16> a;
    a.gradient = w.gradient.data();
    a.master = w.master.data();
    a.moments[0] = w.m.data();
    a.moments[1] = w.v.data();
    a.parameter = w.parameter.data();
    a.n = window;
    a.segments = &all;
    a.segment_count = 1;
    zero::host_kernels::update<zero::AdamW, bf16, bf16>({}, a, &host_state);
    good = good && equal(w.master, s.master.read(first, window)) &&
           equal(w.m, s.m.read(first, window)) && equal(w.v, s.v.read(first, window)) &&
           equal(w.parameter, s.parameter.read(first, window));
  }
  std::printf("bits of %zu windows of %lld elements: %s\n",
              windows.size(),
              static_cast<long long>(window),
              good ? "as on the host" : "DIFFER from the host's");
  return good;
}

// ---- the three comparisons ----------------------------------------------------------------------

[[nodiscard]] bool large_step(std::int64_t n, int rounds, report& out) {
  std::printf("\n%lld parameters, AdamW\n", static_cast<long long>(n));
  auto const parameters = static_cast<double>(n);
  shard<bf16, bf16> s(n);
  control const c(n, {{0, n, 0, 0}});
  if (!check_bits(s, c)) {
    return false;
  }
  array<float> const wide_gradient(n);
  fill(wide_gradient, n, 99, 1e-3F, false);
  auto wide_arguments = [&] {
    zero::update_arguments<bf16, float> a;
    a.gradient = wide_gradient.data();
    a.master = s.master.data();
    a.moments[0] = s.m.data();
    a.moments[1] = s.v.data();
    a.parameter = s.parameter.data();
    a.n = n;
    a.segments = c.segments.data();
    a.segment_count = 1;
    return a;
  }();
  zero::update_arguments<float, float> fp32_arguments;
  fp32_arguments.gradient = wide_gradient.data();
  fp32_arguments.parameter = s.master.data();
  fp32_arguments.moments[0] = s.m.data();
  fp32_arguments.moments[1] = s.v.data();
  fp32_arguments.n = n;
  fp32_arguments.segments = c.segments.data();
  fp32_arguments.segment_count = 1;

  using zero::AdamW;
  std::vector<variant> v;
  v.push_back({"copy, device to device", 8 * parameters, [&](cudaStream_t q) {
                 kernels::copy(q, wide_gradient.data(), s.m.data(), 4 * n);
               }});
  v.push_back(
      {"ceiling, 4 a thread", 28 * parameters, [&](cudaStream_t q) { ceiling<4, false>(q, s); }});
  v.push_back(
      {"ceiling, 8 a thread", 28 * parameters, [&](cudaStream_t q) { ceiling<8, false>(q, s); }});
  v.push_back({"ceiling, 4 a thread, streaming hints", 28 * parameters, [&](cudaStream_t q) {
                 ceiling<4, true>(q, s);
               }});
  v.push_back({"norm pass (bf16)", 2 * parameters, [&](cudaStream_t q) {
                 kernels::squares<bf16>(q, s.gradient.data(), n, c.partials.data());
                 kernels::reduce_partials(
                     q, c.partials.data(), c.blocks, c.scratch.data(), &c.record.data()->squares);
               }});
  v.push_back({"update (bf16 gradient)", 28 * parameters, [&](cudaStream_t q) {
                 kernels::update<AdamW, bf16, bf16>(q, arguments_of(s, c), c.state.data());
               }});
  v.push_back({"update (bf16 gradient), 8 a thread", 28 * parameters, [&](cudaStream_t q) {
                 zero::gpu::launch("update",
                                   zero::detail::update_kernel<AdamW, bf16, bf16, 8>,
                                   (n + 2047) / 2048,
                                   256,
                                   q,
                                   arguments_of(s, c),
                                   c.state.data(),
                                   0,
                                   true);
               }});
  v.push_back({"norm and update", 30 * parameters, [&](cudaStream_t q) { step(q, s, c); }});
  v.push_back({"update (FP32 gradient)", 30 * parameters, [&](cudaStream_t q) {
                 kernels::update<AdamW, bf16, float>(q, wide_arguments, c.state.data());
               }});
  v.push_back({"update (all FP32)", 28 * parameters, [&](cudaStream_t q) {
                 kernels::update<AdamW, float, float>(q, fp32_arguments, c.state.data());
               }});
  v.push_back({"accumulate bf16 to FP32, add, with norm", 10 * parameters, [&](cudaStream_t q) {
                 kernels::accumulate<bf16, float>(
                     q, s.gradient.data(), wide_gradient.data(), n, true, 1, c.partials.data());
               }});
  std::int64_t const quarter = n / 4 / zero::norm_block * zero::norm_block;
  v.push_back({"sum of 4 ranks bf16 to FP32, with norm",
               12 * static_cast<double>(quarter),
               [&](cudaStream_t q) {
                 kernels::sum<bf16, float>(q,
                                           s.gradient.data(),
                                           s.gradient.data() + quarter,
                                           quarter,
                                           0,
                                           4,
                                           wide_gradient.data(),
                                           quarter,
                                           false,
                                           c.partials.data());
               }});
  measure(v, rounds, 1);
  for (auto const& each : v) {
    out.add(each);
  }
  double const best = std::min(
      {v[1].milliseconds.median(), v[2].milliseconds.median(), v[3].milliseconds.median()});
  out.figure("ceiling_GB_per_s", 28 * parameters / best * 1e-6);
  out.figure("norm_and_update_over_ceiling", best * 30 / 28 / v[7].milliseconds.median());
  out.figure("update_over_ceiling", best / v[5].milliseconds.median());
  return true;
}

/// Captures `work` and gives a graph that can be launched.
[[nodiscard]] zero::gpu::graph capture(std::function<void(cudaStream_t)> const& work) {
  zero::gpu::stream const stream(zero::gpu::stream_priority::normal);
  zero::check_cuda(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal),
                   "cudaStreamBeginCapture");
  work(stream.get());
  cudaGraph_t captured = nullptr;
  zero::check_cuda(cudaStreamEndCapture(stream.get(), &captured), "cudaStreamEndCapture");
  zero::gpu::graph result(captured);
  result.upload(stream.get());
  zero::check_cuda(cudaStreamSynchronize(stream.get()), "cudaStreamSynchronize");
  return result;
}

/// 10 000 tensors of random sizes, weight decay on every second one, so that no two neighbours are
/// one segment; against one tensor of the same total.
void many_tensors(std::int64_t mean, int rounds, report& out) {
  constexpr int tensors = 10'000;
  std::vector<zero::update_segment> list;
  std::int64_t n = 0;
  for (int i = 0; i < tensors; ++i) {
    auto const size =
        1 + static_cast<std::int64_t>(zero::random_bits(3, static_cast<std::uint64_t>(i)) %
                                      static_cast<std::uint64_t>(2 * mean - 1));
    auto const padded = (size + 127) / 128 * 128;  // bf16 parameters begin at 256 bytes
    list.push_back({n, n + padded, i % 2, 0});
    n += padded;
  }
  zero::index_segments(list, n);
  std::printf("\n%d tensors of %lld elements on average, %lld with padding\n",
              tensors,
              static_cast<long long>(mean),
              static_cast<long long>(n));
  shard<bf16, bf16> const s(n);
  control const many(n, list);
  control const one(n, {{0, n, 0, 0}});
  std::string const suffix = ", mean " + std::to_string(mean);
  double const bytes = 30 * static_cast<double>(n);
  std::vector<variant> v;
  v.push_back({"one tensor" + suffix, bytes, [&](cudaStream_t q) { step(q, s, one); }});
  v.push_back({"10 000 tensors" + suffix, bytes, [&](cudaStream_t q) { step(q, s, many); }});
  measure(v, rounds, 20);
  for (auto const& each : v) {
    out.add(each);
  }
  out.figure("many_over_one_tensor_mean_" + std::to_string(mean),
             v[1].milliseconds.median() / v[0].milliseconds.median());
}

/// A step of 4 million parameters as a graph. Several shards take turns, so that the second-level
/// cache holds nothing of the next one.
void small_graph(double ceiling_bytes_per_ms, int rounds, report& out) {
  constexpr std::int64_t n = 4'000'000;
  constexpr int sets = 8;
  std::printf("\n%lld parameters, one graph launch a step, %d shards in turn\n",
              static_cast<long long>(n),
              sets);
  std::vector<shard<bf16, bf16>> narrow;
  std::vector<shard<bf16, float>> wide;
  std::vector<std::unique_ptr<control>> controls;
  std::vector<zero::gpu::graph> with_norm;
  std::vector<zero::gpu::graph> narrow_graphs;
  std::vector<zero::gpu::graph> wide_graphs;
  for (int i = 0; i < sets; ++i) {
    narrow.emplace_back(n);
    wide.emplace_back(n);
    controls.push_back(
        std::make_unique<control>(n, std::vector<zero::update_segment>{{0, n, 0, 0}}));
  }
  for (std::size_t i = 0; i < sets; ++i) {
    auto const& c = *controls[i];
    kernels::squares<bf16>(nullptr, narrow[i].gradient.data(), n, c.partials.data());
    with_norm.push_back(capture([&](cudaStream_t q) { step(q, narrow[i], c); }));
    narrow_graphs.push_back(capture([&](cudaStream_t q) { decide_and_update(q, narrow[i], c); }));
    wide_graphs.push_back(capture([&](cudaStream_t q) { decide_and_update(q, wide[i], c); }));
  }
  auto launch_all = [](std::vector<zero::gpu::graph> const& graphs) {
    return [&graphs](cudaStream_t q) {
      for (auto const& g : graphs) {
        g.launch(q);
      }
    };
  };
  constexpr double each = sets * static_cast<double>(n);
  std::vector<variant> v;
  v.push_back({"8 graphs: norm pass, decide, update (bf16)", 30 * each, launch_all(with_norm)});
  v.push_back({"8 graphs: decide, update (bf16)", 28 * each, launch_all(narrow_graphs)});
  v.push_back({"8 graphs: decide, update (FP32 gradient)", 30 * each, launch_all(wide_graphs)});
  v.push_back({"8 launches: norm pass, decide, update (bf16)", 30 * each, [&](cudaStream_t q) {
                 for (std::size_t i = 0; i < sets; ++i) {
                   step(q, narrow[i], *controls[i]);
                 }
               }});
  v.push_back({"8 updates (bf16) alone", 28 * each, [&](cudaStream_t q) {
                 for (std::size_t i = 0; i < sets; ++i) {
                   kernels::update<zero::AdamW, bf16, bf16>(
                       q, arguments_of(narrow[i], *controls[i]), controls[i]->state.data());
                 }
               }});
  v.push_back({"8 norm passes (bf16) alone", 2 * each, [&](cudaStream_t q) {
                 for (std::size_t i = 0; i < sets; ++i) {
                   kernels::squares<bf16>(
                       q, narrow[i].gradient.data(), n, controls[i]->partials.data());
                 }
               }});
  v.push_back(
      {"8 reductions alone", 8.0 * sets * 1954, [&](cudaStream_t q) {
         for (auto const& c : controls) {
           kernels::reduce_partials(
               q, c->partials.data(), c->blocks, c->scratch.data(), &c->record.data()->squares);
         }
       }});
  v.push_back({"8 decisions alone", 0, [&](cudaStream_t q) {
                 for (auto const& c : controls) {
                   kernels::decide<zero::AdamW>(q,
                                                c->state.data(),
                                                c->record.data(),
                                                1,
                                                c->numbers.data(),
                                                c->config.data(),
                                                c->ring.data(),
                                                0);
                 }
               }});
  measure(v, rounds, 4);
  for (auto const& every : v) {
    out.add(every);
  }
  auto const ratio = [&](variant const& every) {
    double const floor = every.bytes / sets / ceiling_bytes_per_ms + 5e-3;
    return every.milliseconds.median() / sets / floor;
  };
  out.figure("graph_norm_and_update_over_floor", ratio(v[0]));
  out.figure("graph_update_over_floor", ratio(v[1]));
  out.figure("graph_update_fp32_gradient_over_floor", ratio(v[2]));
}

}  // namespace bench

int main(int argc, char** argv) {
  std::int64_t parameters = 1'000'000'000;
  int rounds = 25;
  std::string json;
  for (int i = 1; i + 1 < argc; i += 2) {
    std::string const option = argv[i];
    if (option == "--parameters") {
      parameters = std::atoll(argv[i + 1]);
    } else if (option == "--rounds") {
      rounds = std::atoi(argv[i + 1]);
    } else if (option == "--json") {
      json = argv[i + 1];
    } else {
      std::fprintf(stderr, "unknown option %s\n", argv[i]);
      return 2;
    }
  }
  try {
    cudaDeviceProp properties{};
    int runtime = 0;
    int driver = 0;
    zero::check_cuda(cudaGetDeviceProperties(&properties, 0), "cudaGetDeviceProperties");
    zero::check_cuda(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
    zero::check_cuda(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
    std::printf("%s, CUDA runtime %d, driver's CUDA %d; medians of %d rounds [least most]\n",
                properties.name,
                runtime,
                driver,
                rounds);
    bench::report out;
    if (!bench::large_step(parameters, rounds, out)) {
      return 1;
    }
    bench::many_tensors(1'000, rounds, out);
    bench::many_tensors(10'000, rounds, out);
    // The floor of the small step: its bytes at the rate of the large ceiling.
    bench::small_graph(out.value("ceiling_GB_per_s") * 1e6, rounds, out);
    if (!json.empty()) {
      std::FILE* const file = std::fopen(json.c_str(), "w");
      if (file == nullptr) {
        std::perror(json.c_str());
        return 2;
      }
      std::fputs(out.json().c_str(), file);
      std::fclose(file);
    }
  } catch (std::exception const& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 2;
  }
  return 0;
}
