// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/comm/concepts.hpp>
#include <zero/comm/detail/counted_groups.hpp>
#include <zero/comm/detail/deadline.hpp>
#include <zero/comm/peer/concepts.hpp>
#include <zero/comm/peer/news.hpp>
#include <zero/core/dtype.hpp>
#include <zero/core/error.hpp>
#include <zero/core/rank_order.hpp>
#include <zero/core/traffic.hpp>
#include <zero/device/gpu/error.hpp>

#include <cuda_runtime_api.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <ios>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace zero::test {

/// The plainest base for ranks that share memory: processes (`run_workers`) that bring each other
/// bytes by files of the folder ZERO_TEST_BYTES, and wait for their device in each call. It shows
/// what `peer_base` asks for, without NCCL; nothing here watches while no call is made.
class file_base : public detail::counted_groups {
 public:
  using stream_type = cudaStream_t;

  static constexpr char const* name = "zero::test";
  static constexpr peer_words words{name, "sharing", "no sharing"};

  file_base()
      : folder_(std::getenv("ZERO_TEST_BYTES")),
        rank_(std::atoi(std::getenv("RANK"))),
        size_(std::atoi(std::getenv("WORLD_SIZE"))) {}

  [[nodiscard]] int rank() const noexcept { return rank_; }

  [[nodiscard]] int size() const noexcept { return size_; }

  [[nodiscard]] int device() const noexcept { return 0; }

  // --- the collectives ---------------------------------------------------------------------------

  void all_gather(cudaStream_t stream,
                  collective_tag const&,
                  void const* send,
                  void* receive,
                  std::int64_t bytes) {
    auto const all = exchange(download(stream, send, bytes));
    for (int r = 0; r < size_; ++r) {
      upload(stream, static_cast<std::byte*>(receive) + r * bytes, of(all, r));
    }
  }

  void all_to_others(cudaStream_t stream,
                     collective_tag const&,
                     void const* send,
                     std::int64_t send_stride_bytes,
                     void* receive,
                     std::int64_t bytes) {
    buffer outgoing;
    for (int to = 0; to < size_; ++to) {
      auto const* const chunk = static_cast<std::byte const*>(send) + to * send_stride_bytes;
      auto const part = download(stream, chunk, bytes);
      outgoing.insert(outgoing.end(), part.begin(), part.end());
    }
    auto const all = exchange(outgoing);
    zero::detail::for_each_other_rank(rank_, size_, [&](int from) {
      auto const mine = of(all, from).begin() + rank_ * bytes;
      upload(stream,
             static_cast<std::byte*>(receive) + place_among_others(from, rank_) * bytes,
             buffer(mine, mine + bytes));
    });
  }

  void reduce_scatter(cudaStream_t stream,
                      collective_tag const&,
                      void* data,
                      std::int64_t elements,
                      dtype type,
                      double prescale) {
    sum(stream, data, size_ * elements, type, prescale);
  }

  void all_reduce(
      cudaStream_t stream, collective_tag const&, void* data, std::int64_t elements, dtype type) {
    sum(stream, data, elements, type, 1);
  }

  void broadcast(
      cudaStream_t stream, collective_tag const&, void* data, std::int64_t bytes, int root) {
    upload(stream, data, of(exchange(download(stream, data, bytes)), root));
  }

  using detail::counted_groups::end_group;

  template <class F>
  void end_group(F&& last) {
    end_group();
    if (!in_group()) {
      last();
    }
  }

  // --- what a decorator needs besides ------------------------------------------------------------

  template <class T>
  [[nodiscard]] std::vector<T> gather(T const& mine, char const* /*what*/) {
    auto const* const bytes = reinterpret_cast<std::byte const*>(&mine);
    std::vector<T> values(static_cast<std::size_t>(size_));
    auto const all = exchange(buffer(bytes, bytes + sizeof(T)));
    for (std::size_t r = 0; r < values.size(); ++r) {
      std::memcpy(&values[r], all[r].data(), sizeof(T));
    }
    return values;
  }

  template <class F>
  void set_up(F&& f) {
    try {
      f();
    } catch (logic_error const&) {
      static_cast<void>(gather(0, "refusal"));
      fail(std::current_exception());
      throw;
    } catch (...) {
      fail(std::current_exception());
      throw;
    }
  }

  template <class F>
  void operate(cudaStream_t, collective_tag const&, collective, F&& f) {
    check();
    try {
      f();
    } catch (...) {
      fail(std::current_exception());
      throw;
    }
  }

  void begin_watch(cudaStream_t, collective_tag const&) {}

  void end_watch(cudaStream_t) {}

  void register_memory(void*, std::int64_t) {}

  void deregister_memory(void*) noexcept {}

  // --- failures and the end ----------------------------------------------------------------------

  void fail(std::exception_ptr error, int origin = -1, std::string why = {}) noexcept {
    if (failure_ == nullptr) {
      failure_ = std::move(error);
      if (news_ != nullptr) {
        news_->tell(origin < 0 ? rank_ : origin, why.empty() ? "an error" : why);
        news_->release();
      }
    }
  }

  [[nodiscard]] bool failed() const noexcept { return failure_ != nullptr; }

  void listen_to(peer_news& news) noexcept { news_ = &news; }

  void abort(std::string const& why) noexcept {
    fail(std::make_exception_ptr(peer_error("aborted: " + why, rank_, 0, "", "abort")), rank_, why);
  }

  void leave() noexcept {}

  void check() {
    if (news_ != nullptr && news_->any_failed()) {
      news_->hear(0, "", "check", [this](auto const& error, int origin, std::string const& why) {
        fail(error, origin, why);
      });
    }
    if (failure_ != nullptr) {
      std::rethrow_exception(failure_);
    }
  }

  template <class Ended>
  void drain(Ended&& ended) noexcept {
    detail::deadline const end(limit);
    while (!failed() && !ended()) {
      try {
        check();
        if (end.passed()) {
          abort("its last operations have not ended");
        }
      } catch (...) {  // the rank has failed
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  void close() noexcept { news_ = nullptr; }

  void finish() noexcept {}

 private:
  using buffer = std::vector<std::byte>;

  static constexpr std::chrono::seconds limit{60};

  [[nodiscard]] static buffer const& of(std::vector<buffer> const& all, int rank) {
    return all[static_cast<std::size_t>(rank)];
  }

  [[nodiscard]] std::filesystem::path file(std::int64_t round, int rank) const {
    return folder_ / (std::to_string(round) + "." + std::to_string(rank));
  }

  /// Everyone's bytes. Whoever comes to a round has ended the one before.
  [[nodiscard]] std::vector<buffer> exchange(buffer const& mine) {
    ++round_;
    auto const draft = folder_ / ("draft." + std::to_string(rank_));
    std::ofstream(draft, std::ios::binary)
        .write(reinterpret_cast<char const*>(mine.data()),
               static_cast<std::streamsize>(mine.size()));
    std::filesystem::rename(draft, file(round_, rank_));
    std::vector<buffer> all;
    detail::deadline const end(limit);
    for (int r = 0; r < size_; ++r) {
      while (!std::filesystem::exists(file(round_, r))) {
        check();
        precondition(!end.passed(), "a rank did not come to an exchange");
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      buffer theirs(std::filesystem::file_size(file(round_, r)));
      std::ifstream(file(round_, r), std::ios::binary)
          .read(reinterpret_cast<char*>(theirs.data()),
                static_cast<std::streamsize>(theirs.size()));
      all.push_back(std::move(theirs));
    }
    std::filesystem::remove(file(round_ - 1, rank_));
    return all;
  }

  [[nodiscard]] static buffer download(cudaStream_t stream, void const* from, std::int64_t bytes) {
    buffer result(static_cast<std::size_t>(bytes));
    check_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    if (bytes > 0) {
      check_cuda(cudaMemcpy(result.data(), from, result.size(), cudaMemcpyDeviceToHost),
                 "cudaMemcpy");
    }
    return result;
  }

  /// Ends when the bytes are there: a plain copy from pageable memory may return before.
  static void upload(cudaStream_t stream, void* to, buffer const& bytes) {
    if (!bytes.empty()) {
      check_cuda(cudaMemcpyAsync(to, bytes.data(), bytes.size(), cudaMemcpyHostToDevice, stream),
                 "cudaMemcpyAsync");
      check_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    }
  }

  void sum(cudaStream_t stream, void* data, std::int64_t elements, dtype type, double prescale) {
    auto const all = exchange(download(stream, data, elements * bytes_of(type)));
    visit_dtype(type, [&](auto tag) {
      using T = typename decltype(tag)::type;
      std::vector<T> total(static_cast<std::size_t>(elements));
      for (buffer const& part : all) {
        for (std::size_t i = 0; i < total.size(); ++i) {
          T value{};
          std::memcpy(&value, part.data() + i * sizeof(T), sizeof(T));
          auto const scaled = from_float<T>(to_float(value) * static_cast<float>(prescale));
          total[i] = from_float<T>(to_float(total[i]) + to_float(scaled));
        }
      }
      auto const* const bytes = reinterpret_cast<std::byte const*>(total.data());
      upload(stream, data, buffer(bytes, bytes + total.size() * sizeof(T)));
    });
  }

  std::filesystem::path folder_;
  int rank_;
  int size_;
  std::int64_t round_ = 0;
  std::exception_ptr failure_;
  peer_news* news_ = nullptr;
};

static_assert(peer_base<file_base>);

}  // namespace zero::test
