// signatures.hpp: PTL_DEBUG=calls: whether the datatypes of messages are those of their receives.
//
// The signature of what is sent travels as Portals' header data of the message, so it changes nothing of what matches what, or when. The
// receiver compares it with the beginning of what the receive is of; where they differ the request fails with MPI_ERR_TYPE.
// Thread: of, expect, compare by what the engine has written: as the call; compare, hand_on: the holder of the turn; complaint, forget: as
// the call that completes the request.
// Cost without the key: a load for messages that are not copied by their call, and none for receives.
// Source: MPI-5.0, 3.3.1 (type matching rules); MPI_BYTE and MPI_PACKED go with all.
#pragma once

#include <string>

#include "mpi-adi/core/arguments.hpp"
#include "mpi-adi/core/debug.hpp"
#include "mpi-adi/request/request.hpp"
#include "portals/portals4.h"

namespace portunus::mpi::signatures {

// Reserves the memory that the key needs, once. After the pool of requests is open.
void open();

uint64_t find(const Arguments& given);
// The word that a message of these data carries; 0: it is not compared.
inline uint64_t of(const Arguments& given) {
  if (debug.calls) [[unlikely]]
    return find(given);
  return 0;
}

// While it lives, the calling thread's sends from `copy` are of the datatype of the call.
class Original {
 public:
  Original(const Arguments& given, const void* copy);
  ~Original();
  Original(const Original&) = delete;
  Original& operator=(const Original&) = delete;
};

void note(Request& request, const Arguments& given);
// A receive of the pool that is about to begin.
inline void expect(Request& request, const Arguments& given) {
  if (debug.calls) [[unlikely]]
    note(request, given);
}
// The place to which the engine writes what has come for the receives of this request's slot; nullptr: none are compared.
uint64_t* place_of_header(const Request& request);
// It has ended, and this has come; without it, the engine has written what has come: fails where the datatypes differ.
void compare(Request& request, ptl_hdr_data_t sent);
void compare(Request& request);
// `whole` has failed with its part, and is complained of in its place.
void hand_on(Request& part, Request& whole);
// The sentence about a request that has failed with kOtherTypes.
std::string complaint(const Request& request);
void forget(Request& request);

}  // namespace portunus::mpi::signatures
