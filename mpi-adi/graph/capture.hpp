// capture.hpp: how calls become part of a graph in place of being executed.
//
// A thread that captures a communicator sets a bit in its `attention`, which the checks of all calls look at anyway; so the calls of others
// take no step more. What this header has is called where those checks have found the bit.
//
// Thread: the one that captures; is_captured_here() any.
#pragma once

#include <atomic>
#include <cstdint>

#include "mpi-adi/mpi.h"

namespace portunus::mpi {
struct Arguments;
struct Communicator;
struct Datatype;
struct Request;
namespace collectives {
struct Call;
class Work;
}  // namespace collectives
}  // namespace portunus::mpi

namespace portunus::mpi::graph {

// How many threads of the process capture, for calls that look at no communicator.
inline constinit std::atomic<uint32_t> captures{0};
inline bool does_any_thread_capture() { return captures.load(std::memory_order_relaxed) != 0; }

// Whether this thread captures; whether it captures this communicator.
[[gnu::cold]] bool is_capturing();
[[gnu::cold]] bool is_captured_here(const Communicator& comm);

// Raises that a call cannot be part of a graph; the capture is void from then on. Answers MPI_ERR_UNSUPPORTED_OPERATION.
// `raises`: false: the error handler was called for another failure of the same call.
constexpr char kDecides[] = "its outcome would decide what comes next";
[[gnu::cold]] int refuse(const char* function, const char* why = kDecides, bool raises = true);

// Each answers an error class. Without `handle` the call blocks: what comes later depends on it. Arguments are those that the check found
// good.
enum class Way : uint8_t { standard, synchronous, buffered };
int send(const Arguments& given, Way way, MPI_Request* handle);
int receive(void* room, const Arguments& given, MPI_Request* handle);
int exchange(const Arguments& to, void* room, const Arguments& from, bool replaces, MPI_Request* handle);
int collective(const collectives::Call& call, collectives::Work& work);
int reduce_local(const char* function, const void* in, void* inout, MPI_Count count, MPI_Datatype type, MPI_Op op);
// `packed` is where the position of the call lies, which is fixed from then on.
int pack(const char* function, const void* in, MPI_Count count, const Datatype& type, void* packed);
int unpack(const char* function, const void* packed, void* out, MPI_Count count, const Datatype& type);

// The same for persistent requests: until it is waited for, the request has another attachment.
int start_send(Request& request, const Arguments& given, Way way);
int start_receive(Request& request, void* room, const Arguments& given);
int start_collective(Request& request, const collectives::Call& call, collectives::Work& work);

// Whether the handle is a request of this thread's capture.
bool is_captured(MPI_Request handle);
// Makes what comes later depend on it, unless it is only freed. False: is_captured() is.
bool wait(MPI_Request* handle, MPI_Status* status, bool depends = true);
// All captured ones among them, which become MPI_REQUEST_NULL.
void wait_all(int count, MPI_Request handles[]);

}  // namespace portunus::mpi::graph
