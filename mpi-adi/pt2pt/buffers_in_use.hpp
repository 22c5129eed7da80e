// buffers_in_use.hpp: PTL_DEBUG=buffers: the memory of messages that are under way.
//
// Until its call has completed it, nobody may write the memory of a send, nor read or write that of a receive. A call that would is refused
// with MPI_ERR_BUFFER, and a send whose data have become others fails with it when it is completed. What a program itself stores in the
// memory of a receive, or reads there, is not seen. Data of more than kMostBlocks blocks are not looked at.
// Thread: any. Cost without the key: none. With it O(blocks * log(blocks under way)) for each message, and a look at all sent bytes twice.
// Source: MPI-5.0, 3.7.2 (access to buffers of operations that are under way).
#pragma once

#include "mpi-adi/core/arguments.hpp"
#include "mpi-adi/request/request.hpp"

namespace portunus::mpi::buffers_in_use {

inline constexpr int kMostBlocks = 1 << 16;

// Whether a call may read these data now, or write them. MPI_SUCCESS, or the error that was raised.
int check(const Arguments& given, const Communicator& comm, bool writes);
// From now on the request's memory is in use.
void hold(Request& request, const Arguments& given);
// It is complete: fails where what it sent has been changed.
void compare(Request& request);
void release(Request& request);

}  // namespace portunus::mpi::buffers_in_use
