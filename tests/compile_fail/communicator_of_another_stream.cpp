// SPDX-License-Identifier: Apache-2.0
// expected-error: zero::ZeroEngine: the calls of this communicator do not take the streams of this
// device
#include <zero/zero.hpp>

#include <boost/hana/define_struct.hpp>

struct Model {
  BOOST_HANA_DEFINE_STRUCT(Model, (zero::Tensor<float, 300>, weight));
};

struct own_stream {};

#ifdef ZERO_CONTROL
using stream = zero::host_stream;
#else
using stream = own_stream;
#endif

/// A communicator of another stream.
struct own_communicator {
  using stream_type = stream;

  [[nodiscard]] int rank() const noexcept;
  [[nodiscard]] int size() const noexcept;
  void all_gather(stream, zero::collective_tag const&, void const*, void*, std::int64_t);
  void all_to_others(
      stream, zero::collective_tag const&, void const*, std::int64_t, void*, std::int64_t);
  void reduce_scatter(
      stream, zero::collective_tag const&, void*, std::int64_t, zero::dtype, double);
  void all_reduce(stream, zero::collective_tag const&, void*, std::int64_t, zero::dtype);
  void broadcast(stream, zero::collective_tag const&, void*, std::int64_t, int);
  void begin_group();
  void end_group();
  void abort(std::string const&) noexcept;
  void leave() noexcept;
  void check() const;
  [[nodiscard]] zero::traffic counters() const;
};

static_assert(zero::communicator<own_communicator>);

struct Own {
  using policy_category = zero::communicator_category;
  template <class Device>
  using communicator = own_communicator;
};

using Engine = zero::ZeroEngine<Model, zero::Precision<zero::FP32>, Own>;

static_assert(Engine::stage == 0);
