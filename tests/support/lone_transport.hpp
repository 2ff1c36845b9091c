// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/comm/concepts.hpp>
#include <zero/comm/detail/counted_groups.hpp>
#include <zero/comm/peer/concepts.hpp>
#include <zero/comm/peer/news.hpp>
#include <zero/core/dtype.hpp>
#include <zero/core/traffic.hpp>

#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

namespace zero::test {

/// What a transport was asked for, in order; outlives it.
using transport_log = std::vector<std::string>;

/// A transport that moves nothing and keeps a log. It is one rank of as many as it is told.
template <class Stream>
class logging_transport : public detail::counted_groups {
 public:
  using stream_type = Stream;

  static constexpr char const* name = "zero::test";

  explicit logging_transport(transport_log& log, int rank = 0, int ranks = 1)
      : log_(&log),
        rank_(rank),
        ranks_(ranks) {}

  [[nodiscard]] int rank() const noexcept { return rank_; }

  [[nodiscard]] int size() const noexcept { return ranks_; }

  void all_gather(Stream, collective_tag const&, void const*, void*, std::int64_t) {
    note("all_gather");
  }

  void all_to_others(
      Stream, collective_tag const&, void const*, std::int64_t, void*, std::int64_t) {
    note("all_to_others");
  }

  void reduce_scatter(Stream, collective_tag const&, void*, std::int64_t, dtype, double) {
    note("reduce_scatter");
  }

  void all_reduce(Stream, collective_tag const&, void*, std::int64_t, dtype) { note("all_reduce"); }

  void broadcast(Stream, collective_tag const&, void*, std::int64_t, int) { note("broadcast"); }

  void abort(std::string const& why) noexcept { log_->push_back("abort: " + why); }

  void leave() noexcept { log_->emplace_back("leave"); }

  void finish() noexcept { log_->emplace_back("finish"); }

  void check() { note("check"); }

  /// The next calls throw.
  void break_down() { broken_ = true; }

 protected:
  void note(char const* call) {
    if (broken_) {
      throw std::runtime_error(call);
    }
    log_->emplace_back(call);
  }

  transport_log* log_;

 private:
  int rank_;
  int ranks_;
  bool broken_ = false;
};

/// The same as a base for ranks that share memory.
template <class Stream>
class logging_base : public logging_transport<Stream> {
 public:
  static constexpr peer_words words{"zero::test", "sharing", "no sharing"};

  using logging_transport<Stream>::logging_transport;

  [[nodiscard]] int device() const noexcept { return 0; }

  template <class T>
  [[nodiscard]] std::vector<T> gather(T const& mine, char const* what) {
    this->note(what);
    return std::vector<T>(static_cast<std::size_t>(this->size()), mine);
  }

  template <class F>
  void set_up(F&& f) {
    try {
      f();
    } catch (...) {
      close();
      throw;
    }
  }

  template <class F>
  void operate(Stream, collective_tag const&, collective, F&& f) {
    f();
    this->note("operate");
  }

  using detail::counted_groups::end_group;

  template <class F>
  void end_group(F&& last) {
    end_group();
    last();
  }

  void begin_watch(Stream, collective_tag const&) { this->note("begin_watch"); }

  void end_watch(Stream) { this->note("end_watch"); }

  void fail(std::exception_ptr const&) noexcept { failed_ = true; }

  [[nodiscard]] bool failed() const noexcept { return failed_; }

  void listen_to(peer_news&) noexcept { this->log_->emplace_back("listen_to"); }

  template <class Ended>
  void drain(Ended&& ended) noexcept {
    this->log_->emplace_back(ended() ? "drain" : "drain what has not ended");
  }

  void close() noexcept { this->log_->emplace_back("close"); }

  void register_memory(void*, std::int64_t) { this->note("register_memory"); }

  void deregister_memory(void*) noexcept { this->log_->emplace_back("deregister_memory"); }

 private:
  bool failed_ = false;
};

}  // namespace zero::test
