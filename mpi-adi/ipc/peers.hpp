// peers.hpp: the ends of other processes, for requests that wait for a certain one. Thread: any.
//
// Invariants: one watch per process that something has waited for; a request that was added is removed before it goes.
// Source: Portals extension E6 (PtlxCTWatch).
#pragma once

#include "mpi-adi/ipc/events.hpp"

namespace portunus::peace {

struct WaitingForPeer {
  Request* request = nullptr;
  // The peer has ended: completes the request with PEACE_DIED unless something else does. Called by the holder of the turn.
  void (*lost)(Request&) = nullptr;
};

struct Peer;
// From now on `lost` is called, at once if the process has ended before. An error that is explained, or PEACE_OK.
int add_waiting(uint64_t process, const WaitingForPeer& waiting, Peer*& peer);
void remove_waiting(Peer& peer, const Request& request);
// Has something that waited been told of its end?
bool has_ended(uint64_t process);
// Sends an empty message with these bits to this process itself when the process of `whom` ends.
int tell_of_end(peace_address_t whom, uint64_t bits);
// The sender of such a message, by its header data; others leave `from` as it is.
void told_of_end(uint64_t hdr_data, peace_address_t& from);
// Everything is closed: forgets all.
void forget_peers();

// For the length of a wait.
class Watched {
 public:
  Watched() = default;
  Watched(const Watched&) = delete;
  ~Watched() {
    if (peer_) remove_waiting(*peer_, *request_);
  }
  int begin(uint64_t process, Request& request, void (*lost)(Request&)) {
    if (process == 0 || process == number_of(interface.self)) return PEACE_OK;
    request_ = &request;
    return add_waiting(process, {&request, lost}, peer_);
  }

 private:
  Peer* peer_ = nullptr;
  Request* request_ = nullptr;
};

}  // namespace portunus::peace
