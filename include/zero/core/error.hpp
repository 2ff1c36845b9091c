// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/version.hpp>

#include <cstdint>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

namespace zero::inline ZERO_ABI {

/// A place in the source; as a defaulted argument, the caller's. Stands in for
/// std::source_location, which clang 14 cannot compile.
class source_location {
 public:
  /// @return the place of the call, or of the call whose default argument this is. Pass nothing.
  [[nodiscard]] static constexpr source_location current(
      char const* file = __builtin_FILE(),
      char const* function = __builtin_FUNCTION(),
      std::uint32_t line = __builtin_LINE()) noexcept {
    source_location here;
    here.file_ = file;
    here.function_ = function;
    here.line_ = line;
    return here;
  }

  /// @return the file's name; lives as long as the program.
  [[nodiscard]] constexpr char const* file_name() const noexcept { return file_; }

  /// @return the function's name; lives as long as the program.
  [[nodiscard]] constexpr char const* function_name() const noexcept { return function_; }

  /// @return the line, 1 for the first; 0 if the place is not known.
  [[nodiscard]] constexpr std::uint32_t line() const noexcept { return line_; }

 private:
  char const* file_ = "";
  char const* function_ = "";
  std::uint32_t line_ = 0;
};

namespace detail {

/// "file:line: text", the form of all messages that carry a place.
[[nodiscard]] inline std::string with_place(std::string const& text, source_location where) {
  return std::string(where.file_name()) + ":" + std::to_string(where.line()) + ": " + text;
}

/// Text that can be copied without throwing, which std::string cannot and an exception object must.
class message {
 public:
  explicit message(std::string const& text)
      : text_(text) {}

  [[nodiscard]] char const* what() const noexcept { return text_.what(); }

 private:
  std::runtime_error text_;  // counts references
};

/// A call into another library or the system that failed: what was called, its code, and where.
class failed_call : public std::runtime_error {
 public:
  /// @return the code that the failed call gave, as a number.
  [[nodiscard]] int code() const noexcept { return code_; }

  /// @return the name of the failed call; lives as long as the program.
  [[nodiscard]] char const* call() const noexcept { return call_; }

  /// @return the place in the source that made the call.
  [[nodiscard]] source_location where() const noexcept { return where_; }

 protected:
  failed_call(int code, char const* call, std::string const& reason, source_location where)
      : std::runtime_error(with_place(
            std::string(call) + " failed with " + std::to_string(code) + " (" + reason + ")",
            where)),
        code_(code),
        call_(call),
        where_(where) {}

 private:
  int code_;
  char const* call_;
  source_location where_;
};

}  // namespace detail

/// The caller broke a precondition. The message is one sentence: what, where, what to do instead.
class logic_error : public std::logic_error {
 public:
  /// @param sentence  what is wrong and what to write instead
  /// @param where     the place that is blamed; the caller's line by default
  explicit logic_error(std::string const& sentence,
                       source_location where = source_location::current())
      : std::logic_error(sentence),
        where_(where) {}

  /// @return the place in the source that broke the precondition.
  [[nodiscard]] source_location where() const noexcept { return where_; }

 private:
  source_location where_;
};

/// Another rank failed, stalled or left. Says which rank, and in which step, unit and operation
/// this rank was when it learnt of it. The failed rank itself throws its own, original error.
class peer_error : public std::runtime_error {
 public:
  /// @param reason     what is known of the failure, e.g. "rank 2 left"
  /// @param rank       the rank that failed, -1 if unknown
  /// @param step       the step of the operation that could not complete
  /// @param unit       the unit's name, empty for an operation that belongs to none
  /// @param operation  the operation's name, e.g. "gather"
  peer_error(std::string const& reason,
             int rank,
             std::int64_t step,
             std::string const& unit,
             std::string const& operation)
      : std::runtime_error("zero: " + reason + " (rank " + std::to_string(rank) + ", step " +
                           std::to_string(step) + (unit.empty() ? "" : ", unit '" + unit + "'") +
                           ", operation '" + operation + "')"),
        rank_(rank),
        step_(step),
        unit_(unit),
        operation_(operation) {}

  /// @return the rank that failed, -1 if unknown.
  [[nodiscard]] int rank() const noexcept { return rank_; }

  /// @return the step of the operation that could not complete.
  [[nodiscard]] std::int64_t step() const noexcept { return step_; }

  /// @return the name of the operation's unit; empty if it belongs to none.
  [[nodiscard]] char const* unit() const noexcept { return unit_.what(); }

  /// @return the name of the operation.
  [[nodiscard]] char const* operation() const noexcept { return operation_.what(); }

 private:
  int rank_;
  std::int64_t step_;
  detail::message unit_;
  detail::message operation_;
};

/// A call of the CUDA runtime failed.
class cuda_error : public detail::failed_call {
 public:
  /// @param code    the cudaError_t as a number
  /// @param call    the call's name, a string literal
  /// @param reason  the runtime's text for the code
  /// @param where   the place of the call
  cuda_error(int code,
             char const* call,
             std::string const& reason,
             source_location where = source_location::current())
      : failed_call(code, call, reason, where) {}
};

/// A call of NCCL failed, at once or later on the communicator.
class nccl_error : public detail::failed_call {
 public:
  /// @param code    the ncclResult_t as a number
  /// @param call    the call's name, a string literal
  /// @param reason  NCCL's text for the code
  /// @param where   the place of the call
  nccl_error(int code,
             char const* call,
             std::string const& reason,
             source_location where = source_location::current())
      : failed_call(code, call, reason, where) {}
};

/// A call that reads or writes a file or a socket failed.
class io_error : public detail::failed_call {
 public:
  /// @param code    errno
  /// @param call    the call's name, a string literal
  /// @param reason  what was read or written, and the system's text for the code
  /// @param where   the place of the call
  io_error(int code,
           char const* call,
           std::string const& reason,
           source_location where = source_location::current())
      : failed_call(code, call, reason, where) {}
};

/// An allocation failed. Names the pool and the bytes asked for.
class out_of_memory : public std::bad_alloc {
 public:
  /// @param bytes   the size that was asked for
  /// @param pool    the name of the pool
  /// @param detail  more about it, e.g. the plan; may be empty
  out_of_memory(std::int64_t bytes, std::string const& pool, std::string const& detail = {})
      : bytes_(bytes),
        pool_(pool),
        text_("zero: out of memory: " + std::to_string(bytes) + " bytes for pool '" + pool + "'" +
              (detail.empty() ? std::string() : "; " + detail)) {}

  /// @return the size that was asked for.
  [[nodiscard]] std::int64_t bytes() const noexcept { return bytes_; }

  /// @return the name of the pool.
  [[nodiscard]] char const* pool() const noexcept { return pool_.what(); }

  /// @return the whole sentence.
  [[nodiscard]] char const* what() const noexcept override { return text_.what(); }

 private:
  std::int64_t bytes_;
  detail::message pool_;
  detail::message text_;
};

/// The numbers of a run left the range that its options allow: the loss scale would have to fall
/// below its minimum and the user asked for an exception (`at_floor::raise`).
class numeric_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Checks a precondition.
/// @param condition  what must hold
/// @param sentence   what to tell the caller: what is wrong and what to write instead
/// @param where      the caller's line by default
/// @throws logic_error if the condition does not hold; in a constant expression that is a compile
///         error. Never allocates when the condition holds.
constexpr void precondition(bool condition,
                            char const* sentence,
                            source_location where = source_location::current()) {
  if (!condition) {
    throw logic_error(sentence, where);
  }
}

}  // namespace zero::inline ZERO_ABI
