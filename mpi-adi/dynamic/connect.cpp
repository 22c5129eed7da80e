// connect.cpp: MPI_Open_port, MPI_Comm_accept, MPI_Comm_connect, MPI_Comm_join and the like, between processes of any jobs.
// Thread: any; collective over the communicator. Source: MPI-5.0, 11.9.1 - 11.9.3, 11.10.4.
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "mpi-adi/core/checks.hpp"
#include "mpi-adi/core/profiling.hpp"
#include "mpi-adi/dynamic/ports.hpp"

namespace portunus::mpi {
namespace {

int check_sides(const char* function, MPI_Comm handle, int root, MPI_Comm* made, Communicator*& comm) {
  if (int error = check(function, handle, comm, {made})) return error;
  *made = MPI_COMM_NULL;
  if (comm->inter) return raise(function, comm, MPI_ERR_COMM, "the communicator is an intercommunicator");
  if (root < 0 || root >= comm->size) return raise(function, comm, MPI_ERR_ROOT, "there is no root %d among %d ranks", root, comm->size);
  return MPI_SUCCESS;
}

bool write_all(int fd, const void* bytes, size_t count) {
  for (size_t done = 0; done < count;) {
    const ssize_t put = send(fd, static_cast<const char*>(bytes) + done, count - done, MSG_NOSIGNAL);
    if (put > 0) done += static_cast<size_t>(put);
    else if (put < 0 && errno == EAGAIN) {
      pollfd ready{fd, POLLOUT, 0};
      poll(&ready, 1, -1);
    } else if (put == 0 || errno != EINTR) return false;
  }
  return true;
}

bool read_all(int fd, void* bytes, size_t count) {
  for (size_t done = 0; done < count;) {
    const ssize_t got = read(fd, static_cast<char*>(bytes) + done, count - done);
    if (got > 0) done += static_cast<size_t>(got);
    else if (got < 0 && errno == EAGAIN) {
      pollfd ready{fd, POLLIN, 0};
      poll(&ready, 1, -1);
    } else if (got == 0 || errno != EINTR) return false;
  }
  return true;
}

// The introduction of two processes that share a socket.
struct Introduction {
  char mark[16] = "portunus-join-2";
  Card card{};
  int number = 0;  // of this meeting, here
  int source_bits = 0;
};
std::atomic<int> last_join{0};

constexpr char kNoPort[] = "the root has no such port open";
constexpr char kUnreachable[] = "nobody who can be reached has such a port open, or accepts there in time";

// How long to wait for who accepts: the seconds that an info says, as MPICH has it, or PTL_PEER_TIMEOUT where that is set.
ptl_time_t patience_of(const Hints& hints) {
  constexpr long kMost = 1'000'000;
  const auto seconds = [](const char* text) {
    char* end = nullptr;
    const long value = text ? std::strtol(text, &end, 10) : 0;
    return end && *end == '\0' && value > 0 && value <= kMost ? value : 0;
  };
  long limit = seconds(std::getenv("PTL_PEER_TIMEOUT"));
  for (const auto& [key, value] : hints)
    if (key == "timeout" && seconds(value.c_str()) > 0) limit = seconds(value.c_str());
  return limit > 0 ? static_cast<ptl_time_t>(limit * 1000) : PTL_TIME_FOREVER;
}

}  // namespace
}  // namespace portunus::mpi

using namespace portunus::mpi;

extern "C" int PMPI_Open_port(MPI_Info info, char* port_name) try {
  static constexpr char kName[] = "MPI_Open_port";
  if (int error = check_running(kName)) return error;
  if (int error = check_results(kName, nullptr, {port_name})) return error;
  if (int error = check_info(kName, nullptr, info)) return error;
  const uint64_t number = rendezvous::publish();
  if (number == 0) return raise(kName, nullptr, MPI_ERR_NO_MEM, "there is no room for another port");
  const std::string name = ports::name_of({own_card(), number});
  std::memcpy(port_name, name.c_str(), name.size() + 1);
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Open_port)

extern "C" int PMPI_Close_port(const char* port_name) try {
  static constexpr char kName[] = "MPI_Close_port";
  if (int error = check_running(kName)) return error;
  const auto port = ports::port_named(port_name);
  if (!port || !ports::is_own(*port) || !rendezvous::unpublish(port->number))
    return raise(kName, nullptr, MPI_ERR_PORT, "this process has no such port open");
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Close_port)

extern "C" int PMPI_Comm_accept(const char* port_name, MPI_Info info, int root, MPI_Comm comm, MPI_Comm* newcomm) try {
  static constexpr char kName[] = "MPI_Comm_accept";
  Communicator* found;
  if (int error = check_sides(kName, comm, root, newcomm, found)) return error;
  rendezvous::Meeting meeting;
  if (found->rank == root) {
    const auto port = ports::port_named(port_name);
    if (!is_info_or_null(info)) meeting.error = MPI_ERR_INFO;
    else if (!port || !ports::is_own(*port) || !rendezvous::is_published(port->number)) meeting.error = MPI_ERR_PORT;
    else meeting = rendezvous::accept(port->number, [&] { return !rendezvous::is_published(port->number); });
  }
  return ports::join_sides(kName, *found, root, meeting, ports::Role::accepts, kNoPort, newcomm);
}
MPI_WEAK_NAME(Comm_accept)

extern "C" int PMPI_Comm_connect(const char* port_name, MPI_Info info, int root, MPI_Comm comm, MPI_Comm* newcomm) try {
  static constexpr char kName[] = "MPI_Comm_connect";
  Communicator* found;
  if (int error = check_sides(kName, comm, root, newcomm, found)) return error;
  rendezvous::Meeting meeting;
  if (found->rank == root) {
    const auto port = ports::port_named(port_name);
    if (!is_info_or_null(info)) meeting.error = MPI_ERR_INFO;
    else if (!port) meeting.error = MPI_ERR_PORT;
    else meeting = rendezvous::connect(port->owner, port->number, patience_of(hints_of(info)));
  }
  return ports::join_sides(kName, *found, root, meeting, ports::Role::connects, kUnreachable, newcomm);
}
MPI_WEAK_NAME(Comm_connect)

// A process that cannot be reached is not joined: that is told by MPI_COMM_NULL on both sides, the socket being as before.
extern "C" int PMPI_Comm_join(int fd, MPI_Comm* intercomm) try {
  static constexpr char kName[] = "MPI_Comm_join";
  if (int error = check_running(kName)) return error;
  if (int error = check_results(kName, nullptr, {intercomm})) return error;
  *intercomm = MPI_COMM_NULL;
  Introduction mine, theirs;
  mine.card = own_card();
  mine.number = ++last_join & kMaxTag;
  mine.source_bits = envelope.source_bits;
  if (!write_all(fd, &mine, sizeof mine) || !read_all(fd, &theirs, sizeof theirs) ||
      std::memcmp(mine.mark, theirs.mark, sizeof mine.mark) != 0)
    return raise(kName, nullptr, MPI_ERR_ARG, "nobody answers on the socket %d with MPI_Comm_join", fd);
  std::vector<int> other;
  const char good = mine.source_bits == theirs.source_bits && mine.card.identity != theirs.card.identity &&
                    meet_processes({&theirs.card, 1}, other) == MPI_SUCCESS;
  char theirs_good = 0;  // neither speaks to the other before it is known there
  if (!write_all(fd, &good, 1) || !read_all(fd, &theirs_good, 1))
    return raise(kName, nullptr, MPI_ERR_ARG, "whoever was at the other end of the socket %d has gone", fd);
  if (!good || !theirs_good) return MPI_SUCCESS;
  const bool first = mine.card.identity < theirs.card.identity;
  const rendezvous::Meeting meeting{MPI_SUCCESS, other[0], first ? mine.number : theirs.number};
  return ports::join_sides(kName, self(), 0, meeting, first ? ports::Role::accepts : ports::Role::connects, "", intercomm);
}
MPI_WEAK_NAME(Comm_join)
