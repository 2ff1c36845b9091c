// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/error.hpp>
#include <zero/core/queue.hpp>
#include <zero/device/abilities.hpp>
#include <zero/device/concepts.hpp>
#include <zero/device/detail/host_failure.hpp>
#include <zero/device/gpu/cuda.hpp>
#include <zero/device/gpu/device_guard.hpp>
#include <zero/device/gpu/error.hpp>
#include <zero/device/gpu/event.hpp>
#include <zero/device/gpu/graph.hpp>
#include <zero/device/gpu/memory.hpp>
#include <zero/device/gpu/stamps.hpp>
#include <zero/device/gpu/stream.hpp>
#include <zero/version.hpp>

#include <cuda_runtime_api.h>

#include <array>
#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <utility>
#include <vector>

namespace zero::inline ZERO_ABI {

/// A GPU as a device: a model of `device` over the CUDA runtime. No kernels in here.
///
/// The compute queue is the user's stream; the comm and the reduce queue are non-blocking streams
/// of the library, of the greatest priority, so that the short kernels of communication do not
/// queue behind the user's long ones. `enqueue` calls the body at once, on the caller's thread,
/// with the device current; the body puts kernels and copies into the stream and returns. `record`
/// and `wait` are CUDA events without time stamps.
///
/// No call waits for the GPU, except `finish` and the destructor's release of streams that are
/// idle by then. Every call restores the caller's current device. One thread at a time; `check`,
/// `fail` and `allocations` from any. After construction nothing allocates, except `allocate` and
/// `end_capture`.
///
/// **Graphs.** Between `begin_capture` and `end_capture` the three queues are recorded instead of
/// run. Both join the queues, so that a graph starts after all that was queued before it and
/// everything later starts after the graph; a wait for an event recorded on the other side of such
/// a border is dropped, being implied.
class cuda_device {
 public:
  using stream_type = cudaStream_t;
  using options = cuda_options;  ///< what the constructor takes
  using kernels = gpu_kernels;   ///< what runs on it

  /// @param events    events are numbered 0 ... events - 1
  /// @param settings  device, compute stream, allocator
  /// @throws logic_error for a negative number of events or a GPU older than compute capability
  /// 8.0; cuda_error for anything the runtime refuses
  explicit cuda_device(int events, cuda_options const& settings = {})
      : ordinal_(chosen(settings)),
        allocator_(settings.allocator) {
    precondition(events >= 0, "zero::cuda_device: the number of events must not be negative");
    gpu::device_guard const guard(ordinal_);
    int major = 0;
    check_cuda(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, ordinal_),
               "cudaDeviceGetAttribute");
    precondition(
        major >= 8,
        "zero::cuda_device: the GPU is older than compute capability 8.0; choose another with "
        "cuda_options::ordinal.");
    own_[index(queue::comm)] = gpu::stream(gpu::stream_priority::greatest);
    own_[index(queue::reduce)] = gpu::stream(gpu::stream_priority::greatest);
    streams_ = {
        settings.compute_stream, own_[index(queue::comm)].get(), own_[index(queue::reduce)].get()};
    events_.resize(static_cast<std::size_t>(events));
    for (auto& e : events_) {
      e.handle = gpu::event(gpu::event_timing::off);
    }
    for (auto& border : borders_) {
      border = gpu::event(gpu::event_timing::off);
    }
  }

  cuda_device(cuda_device const&) = delete;
  cuda_device& operator=(cuda_device const&) = delete;

  /// Waits until the queues are empty, the user's stream too: pools may be freed afterwards.
  ~cuda_device() { finish(); }

  /// Memory of the GPU at a multiple of 256 bytes; null for zero bytes. Not initialised.
  /// @param bytes  how many, 0 or more
  /// @param pool   named in the exception
  /// @throws out_of_memory there is not as much; logic_error, cuda_error see `gpu::memory`
  [[nodiscard]] void* allocate(std::int64_t bytes, char const* pool) {
    gpu::device_guard const guard(ordinal_);
    void* const address = gpu::memory(bytes, pool, allocator_).release();
    if (address != nullptr) {
      allocated_calls_.fetch_add(1);
      allocated_bytes_.fetch_add(bytes);
      live_bytes_.fetch_add(bytes);
    }
    return address;
  }

  /// Gives back what `allocate(bytes, ...)` gave; nothing for null. Waits for the GPU, as
  /// `cudaFree` does.
  void deallocate(void* address, std::int64_t bytes) noexcept {
    if (address == nullptr) {
      return;
    }
    try {
      gpu::device_guard const guard(ordinal_);
      static_cast<void>(gpu::memory::from_native_handle(address, bytes, allocator_));
    } catch (...) {  // the runtime is unloading, and takes the memory with it
    }
    live_bytes_.fetch_sub(bytes);
  }

  /// What has been allocated so far. Any thread.
  [[nodiscard]] allocation_counters allocations() const noexcept {
    return {.calls = allocated_calls_.load(),
            .bytes = allocated_bytes_.load(),
            .live_bytes = live_bytes_.load()};
  }

  /// Calls `body(stream)` now; what it launches takes its turn in the queue. What it throws is
  /// kept, see `check`; after a failure it is not called.
  template <class Body>
    requires std::invocable<Body&, cudaStream_t>
  void enqueue(queue q, Body body) {
    guarded([&] {
      if (delay_) {
        delay_(q, stream(q));
      }
      body(stream(q));
    });
  }

  /// The event stands for everything put into the queue so far.
  /// @throws logic_error there is no such event
  void record(queue q, int event) {
    gpu_event& e = event_at(event);
    guarded([&] {
      e.handle.record(stream(q));
      e.of = q;
      e.ticket = ++issued_[index(q)];
    });
  }

  /// What is put into the queue from now on starts after what the event's latest record stands for.
  /// Costs nothing when an earlier wait implies it.
  /// @throws logic_error there is no such event
  void wait(queue q, int event) {
    gpu_event const& e = event_at(event);
    std::uint64_t& seen = seen_[index(q)][index(e.of)];
    if (q == e.of || e.ticket <= seen) {
      return;
    }
    guarded([&] {
      e.handle.make_wait(stream(q));
      seen = e.ticket;
    });
  }

  /// The stream that a queue's bodies receive.
  [[nodiscard]] cudaStream_t stream(queue q) const noexcept { return streams_[index(q)]; }

  /// The compute queue waits for what is in `other` now: work of the user's on another stream.
  void include(cudaStream_t other) {
    guarded([&] {
      outside_.record(other);
      outside_.make_wait(stream(queue::compute));
    });
  }

  /// `other` waits for what is in all queues now.
  void make_wait(cudaStream_t other) {
    guarded([&] {
      for (auto const q : {queue::compute, queue::comm, queue::reduce}) {
        borders_[index(q)].record(stream(q));
        borders_[index(q)].make_wait(other);
      }
    });
  }

  /// The device's number.
  [[nodiscard]] int ordinal() const noexcept { return ordinal_; }

  /// Waits until all queues are empty, the user's stream included. Errors that show only now are
  /// kept, see `check`.
  void finish() noexcept {
    try {
      gpu::device_guard const guard(ordinal_);
      for (auto const s : streams_) {
        check_cuda(cudaStreamSynchronize(s), "cudaStreamSynchronize");
      }
    } catch (...) {
      fail(std::current_exception());
    }
  }

  /// Copies `bytes` from the host to memory of the GPU, after all that is queued, and waits. Not
  /// while a graph is recorded.
  /// @throws cuda_error; the first failure of the device, if there is one
  void upload(void* to, void const* from, std::int64_t bytes) { copy_and_wait(to, from, bytes); }

  /// Copies `bytes` from memory of the GPU to the host, after all that is queued, and waits. Not
  /// while a graph is recorded.
  /// @throws cuda_error; the first failure of the device, if there is one
  void download(void* to, void const* from, std::int64_t bytes) { copy_and_wait(to, from, bytes); }

  /// Throws the first failure, the original exception, if there is one; one atomic read otherwise.
  /// A fault inside a kernel shows at the first call of the runtime after it.
  void check() const { failure_.check(); }

  /// Fails, as if a body had thrown; the first failure stays. Any thread.
  void fail(std::exception_ptr error) noexcept { failure_.keep(error); }

  /// `callback(error)` is called once, at the first failure, by the thread that failed. To be set
  /// before the first body; what it refers to must outlive the device.
  void on_failure(std::function<void(std::exception_ptr)> callback) {
    failure_.set_callback(std::move(callback));
  }

  /// For tests: `delay(queue, stream)` is called before each body and may launch a kernel that
  /// takes its time, to move the queues against each other. To be set before the first body.
  void set_delay(std::function<void(queue, cudaStream_t)> delay) { delay_ = std::move(delay); }

  /// From now on everything put into the queues, by the user into the compute stream too, is
  /// recorded and not run. Only the calling thread is restricted in what it may call meanwhile (no
  /// allocation, no synchronisation).
  /// @throws logic_error the compute stream is the legacy default stream; cuda_error
  void begin_capture() {
    cudaStream_t const compute = stream(queue::compute);
    precondition(
        compute != nullptr && compute != cudaStreamLegacy,
        "zero::cuda_device: the legacy default stream cannot be captured; give a stream of your "
        "own in cuda_options::compute_stream.");
    gpu::device_guard const guard(ordinal_);
    join();
    check_cuda(cudaStreamBeginCapture(compute, cudaStreamCaptureModeThreadLocal),
               "cudaStreamBeginCapture");
    fork();
  }

  /// Ends what `begin_capture` began. Allocates; launches do not.
  /// @return the recorded work, ready to be launched
  /// @throws cuda_error something in between cannot be captured
  [[nodiscard]] gpu::graph end_capture() {
    gpu::device_guard const guard(ordinal_);
    cudaGraph_t captured = nullptr;
    try {
      join();
      check_cuda(cudaStreamEndCapture(stream(queue::compute), &captured), "cudaStreamEndCapture");
    } catch (...) {
      abandon_capture();
      throw;
    }
    forget_records();
    gpu::graph result(captured);
    result.upload(stream(queue::compute));
    return result;
  }

  /// Gives a capture up after an exception; nothing of it runs.
  void abandon_capture() noexcept {
    cudaGraph_t captured = nullptr;
    gpu::ignore_at_exit(cudaStreamEndCapture(stream(queue::compute), &captured));
    if (captured != nullptr) {
      gpu::ignore_at_exit(cudaGraphDestroy(captured));
    }
    forget_records();
  }

  /// Queues a graph: after everything that is in any queue, before everything that comes.
  void launch(gpu::graph const& captured) {
    guarded([&] {
      join();
      captured.launch(stream(queue::compute));
      fork();
    });
  }

 private:
  struct gpu_event {
    gpu::event handle;
    queue of = queue::compute;
    std::uint64_t ticket = 0;  // 0: never recorded, or implied by a join of all queues
  };

  [[nodiscard]] static constexpr std::size_t index(queue q) noexcept {
    return static_cast<std::size_t>(q);
  }

  [[nodiscard]] static int chosen(cuda_options const& settings) {
    int ordinal = settings.ordinal;
    if (ordinal < 0) {
      check_cuda(cudaGetDevice(&ordinal), "cudaGetDevice");
    }
    return ordinal;
  }

  [[nodiscard]] gpu_event& event_at(int event) {
    precondition(event >= 0 && static_cast<std::size_t>(event) < events_.size(),
                 "zero::cuda_device: no such event; the constructor says how many there are");
    return events_[static_cast<std::size_t>(event)];
  }

  void copy_and_wait(void* to, void const* from, std::int64_t bytes) {
    finish();
    check();
    if (bytes > 0) {
      gpu::device_guard const guard(ordinal_);
      cudaStream_t const s = stream(queue::comm);
      check_cuda(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), cudaMemcpyDefault, s),
                 "cudaMemcpyAsync");
      check_cuda(cudaStreamSynchronize(s), "cudaStreamSynchronize");
    }
  }

  /// Runs f with the device current; nothing after a failure.
  template <class F>
  void guarded(F const& f) noexcept {
    if (failure_.failed()) {
      return;
    }
    try {
      gpu::device_guard const guard(ordinal_);
      f();
    } catch (...) {
      fail(std::current_exception());
    }
  }

  /// The compute queue waits for the others.
  void join() {
    for (auto const q : {queue::comm, queue::reduce}) {
      borders_[index(q)].record(stream(q));
      borders_[index(q)].make_wait(stream(queue::compute));
    }
  }

  /// The others wait for the compute queue. After a join all earlier records are implied.
  void fork() {
    borders_[index(queue::compute)].record(stream(queue::compute));
    for (auto const q : {queue::comm, queue::reduce}) {
      borders_[index(queue::compute)].make_wait(stream(q));
    }
    forget_records();
  }

  void forget_records() noexcept {
    for (auto& e : events_) {
      e.ticket = 0;
    }
  }

  int ordinal_;
  gpu::allocator allocator_;
  std::atomic<std::int64_t> allocated_calls_{0};
  std::atomic<std::int64_t> allocated_bytes_{0};
  std::atomic<std::int64_t> live_bytes_{0};
  std::array<gpu::stream, queue_count> own_;  // the compute queue's is the user's
  std::array<cudaStream_t, queue_count> streams_{};
  std::array<gpu::event, queue_count> borders_;
  gpu::event outside_{gpu::event_timing::off};  // of a stream of the user's
  std::vector<gpu_event> events_;
  std::array<std::uint64_t, queue_count> issued_{};
  std::array<std::array<std::uint64_t, queue_count>, queue_count> seen_{};  // [who waits][for whom]
  std::function<void(queue, cudaStream_t)> delay_;
  detail::host_failure failure_;
};

static_assert(device<cuda_device>);
static_assert(separate_memory_device<cuda_device>);
static_assert(stream_ordering_device<cuda_device>);
static_assert(graph_device<cuda_device>);
static_assert(delayable_device<cuda_device>);
static_assert(timeline_device<cuda_device>);
static_assert(numbered_device<cuda_device>);

}  // namespace zero::inline ZERO_ABI
