// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/comm/peer/detail/board.hpp>
#include <zero/comm/peer/detail/meeting.hpp>
#include <zero/comm/peer/gpu/detail/range.hpp>
#include <zero/core/error.hpp>
#include <zero/core/rank_order.hpp>
#include <zero/device/gpu/driver.hpp>
#include <zero/device/gpu/error.hpp>
#include <zero/device/gpu/event.hpp>
#include <zero/device/gpu/stream.hpp>
#include <zero/version.hpp>

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace zero::inline ZERO_ABI::detail {

/// Gathers and exchanges between the ranks of one host without a kernel: the copy engines write
/// into the memory of the others, and the streams meet before and after by operations on flags
/// (`cuStreamBatchMemOp`). No multiprocessor is taken from what runs beside it.
///
/// Collectives that stand between `begin_group` and `end_group` of the communicator, all on one
/// stream, meet once: the first `open`s, `close` ends them all. A flag stands for one meeting at a
/// time, so collectives of different streams wait for each other; those of a capture must be
/// ordered by the capture.
///
/// After a failure all ranks' waits are let go (`peer_board::release`), and what they have enqueued
/// then runs on: it may write into the others' memory what it should not, at any time. Whoever has
/// failed says so on the board before that, so whoever has seen no failure has seen no such byte.
class peer_copies {
 public:
  /// Makes the board's flags known to this rank's device, the current one.
  /// @param name the communicator, for refusals; lives as long as this
  /// @throws cuda_error
  peer_copies(peer_board& board, char const* name)
      : board_(&board),
        name_(name),
        operate_(gpu::driver_function<decltype(&cuStreamBatchMemOp)>("cuStreamBatchMemOp")),
        last_(gpu::event_timing::off),
        reads_(gpu::event_timing::off) {
    check_cuda(cudaHostRegister(board.address(),
                                static_cast<std::size_t>(board.bytes()),
                                cudaHostRegisterMapped | cudaHostRegisterPortable),
               "cudaHostRegister");
    void* on_device = nullptr;
    auto const code = cudaHostGetDevicePointer(&on_device, board.address(), 0);
    flags_ = reinterpret_cast<CUdeviceptr>(on_device);
    if (code != cudaSuccess) {
      gpu::ignore_at_exit(cudaHostUnregister(board.address()));
      check_cuda(code, "cudaHostGetDevicePointer");
    }
    int ordinal = 0;
    int flushes = 0;
    check_cuda(cudaGetDevice(&ordinal), "cudaGetDevice");
    check_cuda(cudaDeviceGetAttribute(&flushes, cudaDevAttrCanFlushRemoteWrites, ordinal),
               "cudaDeviceGetAttribute");
    if (flushes != 0) {  // where a GPU may reorder what others write into it
      wait_flags_ |= CU_STREAM_WAIT_VALUE_FLUSH;
    }
  }

  peer_copies(peer_copies const&) = delete;
  peer_copies& operator=(peer_copies const&) = delete;

  /// @pre nothing that was enqueued is running; see `ended_within`
  ~peer_copies() {
    ranges_.clear();
    gpu::ignore_at_exit(cudaHostUnregister(board_->address()));
  }

  // --- the ranges --------------------------------------------------------------------------------

  void add(peer_range range) { ranges_.push_back(std::move(range)); }

  /// Forgets all ranges that begin at an address.
  void remove(void* address) noexcept {
    std::erase_if(ranges_, [&](peer_range const& range) { return range.address() == address; });
  }

  /// The range in which bytes of this rank lie, or null.
  [[nodiscard]] peer_range const* range_of(void const* address, std::int64_t bytes) const noexcept {
    auto const found =
        std::ranges::find_if(ranges_, [&](peer_range const& r) { return r.holds(address, bytes); });
    return found == ranges_.end() ? nullptr : &*found;
  }

  // --- collectives -------------------------------------------------------------------------------

  /// `communicator::all_gather` into memory of `range`.
  void all_gather(cudaStream_t stream,
                  peer_range const& range,
                  void const* send,
                  void* receive,
                  std::int64_t bytes) {
    open(stream);
    auto* const own = static_cast<std::byte*>(receive) + board_->rank() * bytes;
    for_each_other_rank(board_->rank(), board_->ranks(), [&](int to) {
      copy(stream, range.at(to, own), send, bytes);
    });
    if (own != send) {
      copy(stream, own, send, bytes);
    }
  }

  /// `communicator::all_to_others` into memory of `range`.
  void all_to_others(cudaStream_t stream,
                     peer_range const& range,
                     void const* send,
                     std::int64_t send_stride_bytes,
                     void* receive,
                     std::int64_t bytes) {
    open(stream);
    for_each_other_rank(board_->rank(), board_->ranks(), [&](int to) {
      auto* const place =
          static_cast<std::byte*>(receive) + place_among_others(board_->rank(), to) * bytes;
      copy(stream,
           range.at(to, place),
           static_cast<std::byte const*>(send) + to * send_stride_bytes,
           bytes);
    });
  }

  /// Meets the others: their memory may be written from here on. Does nothing when it has been
  /// called since the last `close`.
  /// @throws logic_error that was on another stream
  void open(cudaStream_t stream) {
    if (open_ && stream != latest_) {
      throw logic_error(std::string(name_) + ": the calls of a group must all be on one stream");
    }
    if (!open_) {
      follow(stream);
      latest_ = stream;
      open_ = true;
      meet(stream, meeting_place::begin);
    }
  }

  /// Ends what `open` began: the others' bytes are here. Does nothing when nothing is open.
  void close() {
    if (open_) {
      meet(latest_, meeting_place::end);
      follows_ = false;  // when a capture runs, and where, is not known
      mark(latest_);
      open_ = false;
    }
  }

  /// Makes a stream wait for the latest meeting of another one.
  void follow(cudaStream_t stream) {
    // The default streams' handles may stand for a stream a thread.
    bool const is_default =
        stream == nullptr || stream == cudaStreamLegacy || stream == cudaStreamPerThread;
    bool const follows = follows_ && stream == latest_ && !is_default;
    if (!follows && !gpu::is_captured(stream)) {
      last_.make_wait(stream);
    }
  }

  /// Notes that a stream holds meetings up to here, e.g. those of a graph. @pre it has followed
  void mark(cudaStream_t stream) {
    if (!gpu::is_captured(stream)) {
      last_.record(stream);
      latest_ = stream;
      follows_ = true;
    }
  }

  /// Begins what ends with `close_reads`: a kernel that reads the others' memory and meets them at
  /// its end. One stream at a time.
  /// @param meets meets the others before, so that not the kernel waits for late ones, on the
  ///              multiprocessors, but the stream
  void open_reads(cudaStream_t stream, bool meets) {
    reading_ = true;
    if (meets) {
      meet(stream, meeting_place::read);
    }
  }

  /// Ends what `open_reads` began.
  void close_reads(cudaStream_t stream) {
    if (!gpu::is_captured(stream)) {
      reads_.record(stream);
    }
    reading_ = false;
  }

  /// A word of the host that kernels read: not 0 after a failure of any rank of the host.
  [[nodiscard]] std::uint32_t const volatile* released_on_device() const noexcept {
    int const me = board_->rank();
    auto const at = flags_ +
                    static_cast<CUdeviceptr>(board_->offset_of(peer_board::flag::moves, me, me)) +
                    offsetof(peer_flag, released);
    return reinterpret_cast<std::uint32_t const volatile*>(at);
  }

  // --- the end -----------------------------------------------------------------------------------

  /// Waits for what was enqueued; whether it has ended in time. An exception between `open` and
  /// `close`, or between `open_reads` and `close_reads`, leaves that unknown for good.
  /// @throws cuda_error the context is lost, and all in it with it
  [[nodiscard]] bool ended_within(std::chrono::nanoseconds limit) const {
    if (open_ || reading_) {
      return false;
    }
    auto const end = std::chrono::steady_clock::now() + limit;
    while (!last_.ready() || !reads_.ready()) {
      if (std::chrono::steady_clock::now() >= end) {
        return false;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
  }

 private:
  static void copy(cudaStream_t stream, void* to, void const* from, std::int64_t bytes) {
    check_cuda(
        cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), cudaMemcpyDefault, stream),
        "cudaMemcpyAsync");
  }

  void meet(cudaStream_t stream, meeting_place where) {
    std::array<CUstreamBatchMemOpParams, most_acts * peer_board::max_ranks> operations;
    unsigned count = 0;
    for_each_act(where, board_->rank(), board_->ranks(), [&](meeting_act const& act) {
      CUstreamBatchMemOpParams& next = operations[count++];
      next = {};
      CUdeviceptr const flag =
          flags_ + static_cast<CUdeviceptr>(board_->offset_of(act.flag, act.owner, act.from));
      if (act.what == meeting_act::kind::await) {  // either word of the flag
        next.waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_64;
        next.waitValue.address = flag;
        next.waitValue.value64 = (cuuint64_t{1} << 32U) | act.value;
        next.waitValue.flags = wait_flags_;
      } else {
        next.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
        next.writeValue.address = flag;
        next.writeValue.value = act.value;
        next.writeValue.flags = CU_STREAM_WRITE_VALUE_DEFAULT;
      }
    });
    if (count > 0) {
      gpu::check_driver(operate_(stream, count, operations.data(), 0), "cuStreamBatchMemOp");
    }
  }

  peer_board* board_;
  char const* name_;
  decltype(&cuStreamBatchMemOp) operate_;
  unsigned wait_flags_ = CU_STREAM_WAIT_VALUE_AND;
  CUdeviceptr flags_ = 0;
  std::vector<peer_range> ranges_;
  gpu::event last_;                // behind the latest meeting
  gpu::event reads_;               // behind the latest kernel that reads
  cudaStream_t latest_ = nullptr;  // of the latest meeting
  bool follows_ = false;           // whatever that stream gets next follows it
  bool open_ = false;
  bool reading_ = false;
};

}  // namespace zero::inline ZERO_ABI::detail
