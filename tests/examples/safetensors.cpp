// SPDX-License-Identifier: Apache-2.0
// The example's weights file: written, read back, and refused where it does not fit.
#include "examples/train_gpt/options.hpp"
#include "examples/train_gpt/safetensors.hpp"
#include "tests/examples/scratch_folder.hpp"

#include <zero/core/dtype.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

namespace {

using train_gpt::bad_input;
using train_gpt::safetensors_reader;
using train_gpt::safetensors_writer;
using train_gpt::tensor_shape;

std::vector<tensor_shape> const shapes = {{"embed", {2, 3}}, {"nothing", {0, 4}}, {"norm", {5}}};

/// A file with this header and these bytes of values.
std::string file_of(std::string const& header, std::string const& values) {
  std::uint64_t const length = header.size();
  std::string file(sizeof length, '\0');
  std::memcpy(file.data(), &length, sizeof length);
  return file + header + values;
}

std::string refusal(scratch_folder const& folder, std::string const& file) {
  folder.write("w", file);
  try {
    safetensors_reader const reader(folder.path("w"), {{"x", {2}}});
    return "";
  } catch (bad_input const& error) {
    return error.what();
  }
}

}  // namespace

TEST_CASE("what was written is read back from any place") {
  scratch_folder const folder;
  std::vector<float> const values = {1, -2, 0.5F, 1e-40F, 3e38F, 6, 7, 8, 9, 10, 11};
  {
    safetensors_writer file(folder.path("w"), shapes);
    file.write(std::span(values).first(4));
    file.write(std::span(values).subspan(4));
    file.commit();
  }
  safetensors_reader const file(folder.path("w"), shapes);
  std::vector<float> read(6);
  file.read("embed", 0, read);
  CHECK(read == std::vector<float>(values.begin(), values.begin() + 6));
  read.resize(2);
  file.read("norm", 3, read);
  CHECK(read == std::vector<float>{10, 11});
  read.resize(0);
  file.read("nothing", 0, read);
}

TEST_CASE("the header is aligned and in the format's words") {
  scratch_folder const folder;
  safetensors_writer file(folder.path("w"), {{"a.b", {1}}});
  file.write(std::vector<float>{1});
  file.commit();
  std::string const bytes = folder.read("w");
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof length);
  CHECK(length % 8 == 0);
  CHECK(bytes.size() == 8 + length + 4);
  CHECK(bytes.find(R"("a.b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]})") !=
        std::string::npos);
}

TEST_CASE("a file is there when it is whole, and the old one until then") {
  scratch_folder const folder;
  folder.write("w", "old");
  {
    safetensors_writer file(folder.path("w"), shapes);
    file.write(std::vector<float>(3));
    CHECK(folder.read("w") == "old");
  }
  CHECK(folder.read("w") == "old");
  CHECK(folder.read("w.new").empty());
  CHECK_THROWS_AS(safetensors_writer(folder.path("no/folder"), shapes), std::runtime_error);
}

TEST_CASE("16-bit values become floats") {
  scratch_folder const folder;
  auto const halves = [](auto a, auto b) {
    std::string text(4, '\0');
    std::memcpy(text.data(), &a.bits, 2);
    std::memcpy(text.data() + 2, &b.bits, 2);
    return text;
  };
  std::vector<float> read(2);
  folder.write(
      "w",
      file_of(R"({"x":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]}})",
              halves(zero::from_float<zero::bf16>(1.5F), zero::from_float<zero::bf16>(-3e38F))));
  safetensors_reader(folder.path("w"), {{"x", {2}}}).read("x", 0, read);
  CHECK(read[0] == 1.5F);
  CHECK(read[1] == zero::to_float(zero::from_float<zero::bf16>(-3e38F)));

  folder.write(
      "w",
      file_of(R"({"x":{"shape":[2],"dtype":"F16","data_offsets":[0,4]}, "y":7})",
              halves(zero::from_float<zero::fp16>(0.25F), zero::from_float<zero::fp16>(6e-8F))));
  safetensors_reader(folder.path("w"), {{"x", {2}}}).read("x", 0, read);
  CHECK(read[0] == 0.25F);
  CHECK(read[1] == zero::to_float(zero::from_float<zero::fp16>(6e-8F)));
}

TEST_CASE("a file that does not fit is refused with one sentence") {
  scratch_folder const folder;
  std::string const values(8, '\0');
  CHECK(
      refusal(folder, file_of(R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", values))
          .empty());
  std::string const bad[] = {
      "",
      "short",
      std::string(8, '\xff'),
      file_of("not json", values),
      file_of("[]", values),
      file_of("{}", values),
      file_of(R"({"x":7})", values),
      file_of(R"({"x":{}})", values),
      file_of(R"({"x":{"dtype":"I32","shape":[2],"data_offsets":[0,8]}})", values),
      file_of(R"({"x":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", values),
      file_of(R"({"x":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]}})", values),
      file_of(R"({"x":{"dtype":"F32","shape":"2","data_offsets":[0,8]}})", values),
      file_of(R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", values),
      file_of(R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})", values),
      file_of(R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})", values),
      file_of(R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[-8,0]}})", values),
      file_of(R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0]}})", values),
  };
  for (std::string const& file : bad) {
    CAPTURE(file);
    std::string const sentence = refusal(folder, file);
    CHECK(sentence.ends_with("."));
    CHECK(sentence.find('\n') == std::string::npos);
    CHECK(sentence.find(folder.path("w")) != std::string::npos);
  }
  CHECK_THROWS_AS(safetensors_reader(folder.path("nothing"), shapes), bad_input);
}
