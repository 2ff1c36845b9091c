// SPDX-License-Identifier: Apache-2.0
// expected-error: zero::ZeroEngine: this communicator is not of the engine's communicator and
// device
#include <zero/zero.hpp>

#include <boost/hana/define_struct.hpp>

#include <utility>

struct Model {
  BOOST_HANA_DEFINE_STRUCT(Model, (zero::Tensor<float, 8>, w));
};

/// A rank of a world that is none of the library's.
struct foreign_communicator : private zero::local_communicator {
  using zero::local_communicator::abort;
  using zero::local_communicator::all_gather;
  using zero::local_communicator::all_reduce;
  using zero::local_communicator::all_to_others;
  using zero::local_communicator::begin_group;
  using zero::local_communicator::broadcast;
  using zero::local_communicator::check;
  using zero::local_communicator::counters;
  using zero::local_communicator::end_group;
  using zero::local_communicator::leave;
  using zero::local_communicator::rank;
  using zero::local_communicator::reduce_scatter;
  using zero::local_communicator::size;
  using zero::local_communicator::stream_type;
};

static_assert(zero::communicator<foreign_communicator>);

#ifdef ZERO_CONTROL
using communicator = zero::local_communicator;
#else
using communicator = foreign_communicator;
#endif

void make(communicator rank) {
  zero::ZeroEngine<Model> const engine(Model(), std::move(rank));
}
