// connect.cpp: MPI_Open_port, MPI_Comm_accept, MPI_Comm_connect, MPI_Comm_join and the like, between processes of one job.
// Thread: any; collective over the communicator. Source: MPI-5.0, 11.9.1 - 11.9.3, 11.10.4.
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>

#include "mpi-adi/comm/exchange.hpp"
#include "mpi-adi/comm/intercomm.hpp"
#include "mpi-adi/core/checks.hpp"
#include "mpi-adi/core/profiling.hpp"
#include "mpi-adi/dynamic/ports.hpp"

namespace portunus::mpi {
namespace {

// Tags by which roots lead their sides lie at the upper end, away from those that programs give to MPI_Intercomm_create.
constexpr int kJoinTag = INT_MAX;
int tag_of(const ports::Port& port) { return kJoinTag - port.number; }

// What a root tells its side: how it went, and which process leads the other side with which tag.
struct Meeting {
  int error = MPI_SUCCESS;
  int leader = 0;
  int tag = 0;
};

int check_sides(const char* function, MPI_Comm handle, int root, MPI_Comm* made, Communicator*& comm) {
  if (int error = check(function, handle, comm, {made})) return error;
  *made = MPI_COMM_NULL;
  if (comm->inter) return raise(function, comm, MPI_ERR_COMM, "the communicator is an intercommunicator");
  if (root < 0 || root >= comm->size) return raise(function, comm, MPI_ERR_ROOT, "there is no root %d among %d ranks", root, comm->size);
  return MPI_SUCCESS;
}

int join_sides(const char* function, Communicator& comm, int root, Meeting meeting, const char* why, MPI_Comm* made) {
  if (Exchange(comm).broadcast(&meeting, sizeof meeting, root) != MPI_SUCCESS)
    return raise(function, &comm, MPI_ERR_OTHER, "a rank of the communicator cannot be reached");
  if (meeting.error != MPI_SUCCESS) return raise(function, &comm, meeting.error, "%s", why);
  return connect_groups(function, comm, root, world(), meeting.leader, meeting.tag, made);
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

// What two processes that share a socket tell each other.
struct Introduction {
  char mark[16] = "portunus-join-1";
  char job[256] = "";
  int rank = 0;
};

}  // namespace
}  // namespace portunus::mpi

using namespace portunus::mpi;

extern "C" int PMPI_Open_port(MPI_Info, char* port_name) {
  static constexpr char kName[] = "MPI_Open_port";
  if (int error = check_running(kName)) return error;
  if (int error = check_results(kName, nullptr, {port_name})) return error;
  const std::string name = ports::name_of(ports::open());
  if (name.size() >= MPI_MAX_PORT_NAME) return raise(kName, nullptr, MPI_ERR_PORT, "the name of the job is too long for a port's");
  std::memcpy(port_name, name.c_str(), name.size() + 1);
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Open_port)

extern "C" int PMPI_Close_port(const char* port_name) {
  static constexpr char kName[] = "MPI_Close_port";
  if (int error = check_running(kName)) return error;
  const auto port = ports::port_named(port_name);
  if (!port || !ports::close(*port)) return raise(kName, nullptr, MPI_ERR_PORT, "this process has no such port open");
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Close_port)

extern "C" int PMPI_Comm_accept(const char* port_name, MPI_Info, int root, MPI_Comm comm, MPI_Comm* newcomm) {
  static constexpr char kName[] = "MPI_Comm_accept";
  Communicator* found;
  if (int error = check_sides(kName, comm, root, newcomm, found)) return error;
  Meeting meeting;
  if (found->rank == root) {
    const auto port = ports::port_named(port_name);
    if (!port || !ports::is_open(*port)) meeting.error = MPI_ERR_PORT;
    else meeting = {ports::admit(*port, meeting.leader), meeting.leader, tag_of(*port)};
  }
  return join_sides(kName, *found, root, meeting, "the root has no such port open", newcomm);
}
MPI_WEAK_NAME(Comm_accept)

extern "C" int PMPI_Comm_connect(const char* port_name, MPI_Info, int root, MPI_Comm comm, MPI_Comm* newcomm) {
  static constexpr char kName[] = "MPI_Comm_connect";
  Communicator* found;
  if (int error = check_sides(kName, comm, root, newcomm, found)) return error;
  Meeting meeting;
  if (found->rank == root) {
    const auto port = ports::port_named(port_name);
    if (!port || (port->owner == world().rank && !ports::is_open(*port))) meeting.error = MPI_ERR_PORT;
    else meeting = {ports::knock(*port), port->owner, tag_of(*port)};
  }
  return join_sides(kName, *found, root, meeting, "the name is none of a port of this job; jobs do not connect with each other", newcomm);
}
MPI_WEAK_NAME(Comm_connect)

// A process of another job cannot be joined: that is told by MPI_COMM_NULL, the socket being as before.
extern "C" int PMPI_Comm_join(int fd, MPI_Comm* intercomm) {
  static constexpr char kName[] = "MPI_Comm_join";
  if (int error = check_running(kName)) return error;
  if (int error = check_results(kName, nullptr, {intercomm})) return error;
  *intercomm = MPI_COMM_NULL;
  Introduction mine, theirs;
  std::strncpy(mine.job, ports::job_name().c_str(), sizeof mine.job - 1);
  mine.rank = world().rank;
  if (!write_all(fd, &mine, sizeof mine) || !read_all(fd, &theirs, sizeof theirs) ||
      std::memcmp(mine.mark, theirs.mark, sizeof mine.mark) != 0)
    return raise(kName, nullptr, MPI_ERR_ARG, "nobody answers on the descriptor %d with MPI_Comm_join", fd);
  if (std::memcmp(mine.job, theirs.job, sizeof mine.job) != 0 || theirs.rank < 0 || theirs.rank >= world().size) return MPI_SUCCESS;
  return connect_groups(kName, self(), 0, world(), theirs.rank, kJoinTag, intercomm);
}
MPI_WEAK_NAME(Comm_join)
