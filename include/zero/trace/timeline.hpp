// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/core/queue.hpp>
#include <zero/version.hpp>

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace zero::inline ZERO_ABI {

/// One stretch of one queue: an operation, or a visit of the user's between an open and its close.
struct timeline_entry {
  std::string name;            ///< e.g. "gather" or "forward"
  std::string unit;            ///< e.g. "blocks.3"; empty for none
  queue row = queue::compute;  ///< that it ran on
  std::int64_t step = 0;       ///< the step that the operation belongs to
  double begin_us = 0;         ///< microseconds since the timeline's start
  double end_us = 0;           ///< the same
};

namespace detail {

/// Text inside a JSON string.
[[nodiscard]] inline std::string json_text(std::string const& text) {
  std::string out;
  for (char const c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned>(c));
      out += escaped;
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace detail

/// Entries as trace-event JSON, which Perfetto (ui.perfetto.dev) and chrome://tracing open: one
/// process a rank, one row a queue.
/// @param rank the number of the process in the trace
[[nodiscard]] inline std::string trace_json(std::vector<timeline_entry> const& entries, int rank) {
  auto const process = std::to_string(rank);
  std::string text = "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [\n";
  text += R"({"ph": "M", "name": "process_name", "pid": )" + process +
          R"(, "args": {"name": "rank )" + process + "\"}}";
  constexpr char const* rows[] = {"compute", "communication", "reduction"};
  for (int row = 0; row < queue_count; ++row) {
    text += ",\n{\"ph\": \"M\", \"name\": \"thread_name\", \"pid\": " + process +
            ", \"tid\": " + std::to_string(row) + R"(, "args": {"name": ")" + rows[row] + "\"}}";
  }
  for (auto const& entry : entries) {
    char times[96];
    std::snprintf(times,
                  sizeof times,
                  R"("ts": %.3f, "dur": %.3f)",
                  entry.begin_us,
                  entry.end_us - entry.begin_us);
    auto const label = entry.unit.empty() ? entry.name : entry.name + " " + entry.unit;
    text += ",\n{\"ph\": \"X\", \"name\": \"" + detail::json_text(label) + R"(", "cat": ")" +
            detail::json_text(entry.name) + "\", \"pid\": " + process +
            ", \"tid\": " + std::to_string(static_cast<int>(entry.row)) + ", " + times +
            ", \"args\": {\"step\": " + std::to_string(entry.step) + "}}";
  }
  return text + "\n]}\n";
}

}  // namespace zero::inline ZERO_ABI
