// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/comm/detail/rendezvous_message.hpp>
#include <zero/comm/detail/rendezvous_record.hpp>
#include <zero/core/error.hpp>
#include <zero/version.hpp>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <optional>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

namespace zero::inline ZERO_ABI::detail {

/// Where the devices of two ranks say to each other how far their streams have come.
///
/// Both words are read as one of 64 bits: whoever waits is let go by either of them. Devices write
/// `state` (`meeting_act`); hosts set `released`, for good, after a failure. Kernels that wait for
/// other ranks read `released` of the flag of a rank with itself.
struct alignas(64) peer_flag {
  // Values of `state`, of which a device awaits a bit.
  static constexpr std::uint32_t asked = 1;
  static constexpr std::uint32_t answered = 2;

  std::uint32_t state;
  std::uint32_t released;
};

/// Memory that the processes of one host share: flags for each pair of ranks, which their devices
/// write and await (`meeting_act`), and who has failed or left, and why.
///
/// Every rank holds a lock on a byte of the segment, which the system lets go with the process,
/// however it ends; so the others learn of a death, unless children that the rank has forked live
/// on, which keep the lock. The segment has no name once all have opened it, and is gone with the
/// last of them.
class peer_board {
 public:
  /// Most ranks of a board: the operations of a meeting fit into one call of the driver (255), and
  /// a kernel's argument names as many (`most_peers`).
  static constexpr int max_ranks = 64;

  /// Bytes of a name, its end included.
  static constexpr std::size_t name_bytes = 64;

  /// What the meetings at a flag are for.
  enum class flag : std::uint8_t {
    moves,  ///< copies into the owner's memory
    reads   ///< kernels that read it
  };

  static constexpr int flags = 2;

  /// A name that no other board has: a file of Linux's shared memory.
  [[nodiscard]] static std::string new_name() {
    nonce drawn = make_nonce();
    std::string name = "/dev/shm/zero-";
    for (std::byte const b : bytes_of(drawn)) {
      constexpr char digits[] = "0123456789abcdef";
      name += digits[std::to_integer<unsigned>(b) >> 4U];
      name += digits[std::to_integer<unsigned>(b) & 15U];
    }
    return name;
  }

  /// Makes the segment.
  /// @throws io_error
  [[nodiscard]] static peer_board make(std::string const& name, int rank, int ranks) {
    return {name, O_CREAT | O_EXCL, rank, ranks};
  }

  /// Opens the segment that another rank has made.
  /// @throws io_error, e.g. on another host
  [[nodiscard]] static peer_board open(std::string const& name, int rank, int ranks) {
    return {name, 0, rank, ranks};
  }

  peer_board(peer_board&& other) noexcept
      : file_(std::exchange(other.file_, -1)),
        memory_(std::exchange(other.memory_, nullptr)),
        rank_(other.rank_),
        ranks_(other.ranks_) {}

  peer_board& operator=(peer_board&&) = delete;

  ~peer_board() {
    if (memory_ != nullptr) {
      ::munmap(memory_, static_cast<std::size_t>(bytes()));
    }
    if (file_ >= 0) {
      ::close(file_);
    }
  }

  /// Takes the name away, when every rank has opened it.
  static void remove(std::string const& name) noexcept { ::unlink(name.c_str()); }

  [[nodiscard]] int rank() const noexcept { return rank_; }

  [[nodiscard]] int ranks() const noexcept { return ranks_; }

  /// The segment in this process.
  [[nodiscard]] std::byte* address() const noexcept { return memory_; }

  /// Bytes of the segment, a multiple of the page size.
  [[nodiscard]] std::int64_t bytes() const noexcept { return bytes_for(ranks_); }

  /// The byte at which the flag lies that rank `from` has with rank `owner`.
  [[nodiscard]] std::int64_t offset_of(flag which, int owner, int from) const noexcept {
    return flags_begin(ranks_) + ((owner * flags + static_cast<int>(which)) * ranks_ + from) *
                                     static_cast<std::int64_t>(sizeof(peer_flag));
  }

  /// The word of a flag that devices write.
  [[nodiscard]] std::atomic_ref<std::uint32_t> state(flag which, int owner, int from) const {
    return word(offset_of(which, owner, from) + std::int64_t{offsetof(peer_flag, state)});
  }

  /// The word of a flag that hosts set after a failure.
  [[nodiscard]] std::atomic_ref<std::uint32_t> released(flag which, int owner, int from) const {
    return word(offset_of(which, owner, from) + std::int64_t{offsetof(peer_flag, released)});
  }

  /// Lets go whatever on any rank's device waits for another, now and from now on. What they do
  /// afterwards is worth nothing: `fail` comes first, so that nobody believes it.
  void release() noexcept {
    for_each_flag(
        [this](flag which, int owner, int from) { released(which, owner, from).store(1); });
  }

  /// This rank has failed, by itself or because rank `origin` has. The first reason stays; one that
  /// is too long is cut. One thread a rank.
  void fail(int origin, std::string_view why) noexcept {
    if (state_of(rank_).load() != failed) {
      seat& mine = seat_of(rank_);
      mine.why[why.copy(mine.why, sizeof mine.why - 1)] = '\0';
      mine.origin = origin;
      state_of(rank_).store(failed);
      word(0).fetch_add(1);
    }
  }

  /// This rank makes no more calls; those that it has made will end.
  void leave() noexcept {
    std::uint32_t expected = here;
    state_of(rank_).compare_exchange_strong(expected, left);
  }

  /// Whether any rank has failed. One atomic read.
  [[nodiscard]] bool any_failed() const noexcept { return word(0).load() != 0; }

  /// What another rank has failed of.
  struct failure {
    int origin;       ///< the rank that failed by itself
    std::string why;  ///< its reason
  };

  /// The failure of another rank, if there is one.
  [[nodiscard]] std::optional<failure> failure_of_another() const {
    int const r = find([this](int i) { return state_of(i).load() == failed; });
    return r < 0 ? std::nullopt : std::optional(failure{seat_of(r).origin, seat_of(r).why});
  }

  /// Another rank that has said that it makes no more calls, or -1.
  [[nodiscard]] int left_other() const noexcept {
    return find([this](int r) { return state_of(r).load() == left; });
  }

  /// Another rank whose process has ended without a word, or -1. A system call a rank.
  [[nodiscard]] int dead_other() const noexcept {
    // In this order: an orderly end speaks before it lets go.
    return find([this](int r) { return has_ended(r) && state_of(r).load() == here; });
  }

  /// Whether rank r's process is gone, or its board. A system call.
  [[nodiscard]] bool has_ended(int r) const noexcept {
    struct flock lock = lock_of(r);
    return ::fcntl(file_, F_OFD_GETLK, &lock) == 0 && lock.l_type == F_UNLCK;
  }

 private:
  // States of a rank.
  static constexpr std::uint32_t here = 0;
  static constexpr std::uint32_t left = 1;
  static constexpr std::uint32_t failed = 2;

  struct alignas(64) seat {
    std::uint32_t state;
    std::int32_t origin;
    char why[952];
  };

  static_assert(std::atomic_ref<std::uint32_t>::is_always_lock_free && sizeof(peer_flag) == 64);

  peer_board(std::string const& name, int mode, int rank, int ranks)
      : rank_(rank),
        ranks_(ranks) {
    precondition(ranks >= 1 && ranks <= max_ranks && rank >= 0 && rank < ranks,
                 "zero::detail::peer_board: 1 to 64 ranks, of which this is one");
    file_ = ::open(name.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | mode, 0600);
    if (file_ < 0) {
      fail_to("open");
    }
    // What a new segment holds are zeros: nobody failed. Room is taken now: without it, later
    // writes would end the process.
    if (mode != 0) {
      errno = ::posix_fallocate(file_, 0, bytes());
      if (errno != 0) {
        fail_to("posix_fallocate");
      }
    }
    struct flock lock = lock_of(rank);
    if (::fcntl(file_, F_OFD_SETLK, &lock) != 0) {
      fail_to("fcntl");
    }
    void* const mapped = ::mmap(
        nullptr, static_cast<std::size_t>(bytes()), PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
    if (mapped == MAP_FAILED) {
      fail_to("mmap");
    }
    memory_ = static_cast<std::byte*>(mapped);
    if (mode != 0) {  // no question is open
      for_each_flag([this](flag which, int owner, int from) {
        state(which, owner, from).store(peer_flag::answered);
      });
    }
  }

  template <class F>
  void for_each_flag(F&& f) const {
    for (int owner = 0; owner < ranks_; ++owner) {
      for (int from = 0; from < ranks_; ++from) {
        f(flag::moves, owner, from);
        f(flag::reads, owner, from);
      }
    }
  }

  [[noreturn]] void fail_to(char const* call) {
    int const error = errno;
    if (file_ >= 0) {
      ::close(std::exchange(file_, -1));
    }
    throw io_error(error, call, std::strerror(error));
  }

  [[nodiscard]] static struct flock lock_of(int rank) noexcept {
    struct flock lock{};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    lock.l_start = rank;
    lock.l_len = 1;
    return lock;
  }

  [[nodiscard]] static constexpr std::int64_t flags_begin(int ranks) noexcept {
    return 64 + ranks * static_cast<std::int64_t>(sizeof(seat));
  }

  [[nodiscard]] static constexpr std::int64_t bytes_for(int ranks) noexcept {
    constexpr std::int64_t page = 65536;
    std::int64_t const used = flags_begin(ranks) + std::int64_t{flags} * ranks * ranks * 64;
    return (used + page - 1) / page * page;
  }

  [[nodiscard]] std::atomic_ref<std::uint32_t> word(std::int64_t offset) const noexcept {
    return std::atomic_ref(*reinterpret_cast<std::uint32_t*>(memory_ + offset));
  }

  [[nodiscard]] static constexpr std::int64_t seat_begin(int rank) noexcept {
    return 64 + rank * static_cast<std::int64_t>(sizeof(seat));
  }

  [[nodiscard]] seat& seat_of(int rank) const noexcept {
    return *reinterpret_cast<seat*>(memory_ + seat_begin(rank));
  }

  [[nodiscard]] std::atomic_ref<std::uint32_t> state_of(int rank) const noexcept {
    return word(seat_begin(rank) + std::int64_t{offsetof(seat, state)});
  }

  template <class Test>
  [[nodiscard]] int find(Test&& test) const noexcept {
    for (int r = 0; r < ranks_; ++r) {
      if (r != rank_ && test(r)) {
        return r;
      }
    }
    return -1;
  }

  int file_ = -1;
  std::byte* memory_ = nullptr;
  int rank_;
  int ranks_;
};

}  // namespace zero::inline ZERO_ABI::detail
