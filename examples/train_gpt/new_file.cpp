// SPDX-License-Identifier: Apache-2.0
#include "new_file.hpp"

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace train_gpt {

new_file::new_file(std::string path)
    : path_(std::move(path)),
      aside_(path_ + ".new"),
      file_(::open(aside_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)) {
  if (file_ < 0) {
    fail("create");
  }
}

new_file::~new_file() {
  if (file_ >= 0) {
    ::close(file_);
    ::unlink(aside_.c_str());
  }
}

void new_file::write(void const* data, std::size_t bytes) {
  char const* next = static_cast<char const*>(data);
  while (bytes > 0) {
    ssize_t const written = ::write(file_, next, bytes);
    if (written < 0 && errno == EINTR) {
      continue;
    }
    if (written < 0) {
      fail("write");
    }
    next += written;
    bytes -= static_cast<std::size_t>(written);
  }
}

void new_file::commit() {
  if (::fsync(file_) != 0) {
    fail("write");
  }
  if (std::rename(aside_.c_str(), path_.c_str()) != 0) {
    fail("write");
  }
  ::close(std::exchange(file_, -1));
  // The new name is safe once the folder that holds it is.
  std::string const folder = std::filesystem::absolute(path_).parent_path().string();
  int const handle = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (handle >= 0) {
    ::fsync(handle);
    ::close(handle);
  }
}

void new_file::fail(char const* what) const {
  int const error = errno;
  throw std::runtime_error("cannot " + std::string(what) + " '" + path_ +
                           "': " + std::generic_category().message(error) + ".");
}

}  // namespace train_gpt
