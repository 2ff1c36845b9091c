// SPDX-License-Identifier: Apache-2.0
#include <zero/trace/timeline.hpp>

#include <doctest/doctest.h>

#include <string>
#include <vector>

TEST_CASE("a trace has a row a queue and one event an entry, with times in microseconds") {
  std::vector<zero::timeline_entry> const entries{
      {"forward", "blocks.0", zero::queue::compute, 3, 1.5, 4.0},
      {"gather", "blocks.1", zero::queue::comm, 3, 2.0, 2.25},
      {"agree", "", zero::queue::comm, 3, 5.0, 6.0}};
  auto const text = zero::trace_json(entries, 2);
  for (auto const* piece : {"\"name\": \"rank 2\"",
                            "\"name\": \"communication\"",
                            "\"name\": \"forward blocks.0\"",
                            "\"ts\": 1.500, \"dur\": 2.500",
                            "\"name\": \"agree\"",
                            "\"tid\": 1, \"ts\": 2.000, \"dur\": 0.250",
                            "\"args\": {\"step\": 3}"}) {
    CAPTURE(piece);
    CHECK(text.find(piece) != std::string::npos);
  }
}

TEST_CASE("names cannot break the JSON") {
  std::vector<zero::timeline_entry> const entries{{"a\"b\\c\n", "", zero::queue::compute, 0, 0, 1}};
  auto const text = zero::trace_json(entries, 0);
  CHECK(text.find(R"(a\"b\\c\u000a)") != std::string::npos);
}
