// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zero/comm/detail/rendezvous_guest.hpp>
#include <zero/comm/detail/rendezvous_host.hpp>
#include <zero/comm/rendezvous.hpp>
#include <zero/version.hpp>

#include <cstddef>
#include <span>
#include <string>

namespace zero::inline ZERO_ABI {

/// Gives the bytes that rank 0 holds to all other ranks over TCP.
///
/// Rank 0 listens at `address:port` and at no other address of its machine, until every other rank
/// has come; then it answers all of them and closes. World size, job token and number of bytes are
/// compared: a process of another job is turned away, ranks of this job that disagree make all of
/// them fail with the same sentence. Connections that speak another protocol are dropped. Nobody
/// receives the bytes before everybody is there. Collective.
///
/// @param who     this process and its job
/// @param address name or number of rank 0's machine, as every rank can reach it; resolving a name
///                keeps the resolver's own time limit
/// @param port    a port that is free there
/// @param payload rank 0: the bytes to give; others: room for as many
/// @throws io_error when a rank is missing at the end of the limit, when the port is in use, when
///         the address is unknown or not rank 0's, or when this rank is turned away
/// @throws logic_error when the ranks disagree about the world size, the ranks or the bytes
inline void rendezvous_by_tcp(rendezvous const& who,
                              std::string const& address,
                              int port,
                              std::span<std::byte> payload) {
  detail::check_rendezvous(who);
  precondition(port >= 1 && port <= 65535,
               "zero::rendezvous: the port must be between 1 and 65535");
  if (who.size == 1) {
    return;
  }
  if (who.rank == 0) {
    detail::rendezvous_host(who, address, port).serve(payload);
  } else {
    detail::rendezvous_guest(who, address, port).receive(payload);
  }
}

}  // namespace zero::inline ZERO_ABI
