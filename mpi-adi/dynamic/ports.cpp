// ports.cpp: see ports.hpp.
#include "mpi-adi/dynamic/ports.hpp"

#include <cinttypes>
#include <cstdio>
#include <cstring>

#include "mpi-adi/comm/exchange.hpp"
#include "mpi-adi/comm/intercomm.hpp"
#include "mpi-adi/core/errors.hpp"

namespace portunus::mpi::ports {
namespace {

constexpr char kPrefix[] = "portunus-port:";
constexpr size_t kWords = sizeof(Port) / sizeof(uint64_t);
static_assert(sizeof(Port) == kWords * sizeof(uint64_t) && sizeof kPrefix + kWords * 17 < MPI_MAX_PORT_NAME);

}  // namespace

std::string name_of(const Port& port) {
  uint64_t words[kWords];
  std::memcpy(words, &port, sizeof port);
  std::string name = kPrefix;
  for (const uint64_t& word : words) {
    char digits[24];
    std::snprintf(digits, sizeof digits, "%s%" PRIx64, &word == words ? "" : ".", word);
    name += digits;
  }
  return name;
}

std::optional<Port> port_named(const char* name) {
  constexpr size_t kHead = sizeof kPrefix - 1;
  if (name == nullptr || std::strncmp(name, kPrefix, kHead) != 0) return std::nullopt;
  uint64_t words[kWords];
  const char* at = name + kHead;
  for (uint64_t& word : words) {
    int used = 0;
    if (std::sscanf(at, "%16" SCNx64 "%n", &word, &used) != 1 || at[used] != (&word == words + kWords - 1 ? '\0' : '.'))
      return std::nullopt;
    at += used + 1;
  }
  Port port;
  std::memcpy(&port, words, sizeof port);
  return port;
}

bool is_own(const Port& port) {
  const Card own = own_card();
  return std::memcmp(&port.owner, &own, sizeof own) == 0;
}

// Both sides are rank 0 or 1 of it, which tells apart what two processes do that accept and connect each other at one time.
Pair::Pair(int other, Role role) : ranks_{other, other} {
  comm.context = self().context;
  comm.rank = static_cast<int>(role);
  comm.size = comm.peers = 2;
  comm.peer_ranks = ranks_;
}

int join_sides(const char* function, Communicator& comm, int root, const rendezvous::Meeting& meeting, Role role, const char* why,
               MPI_Comm* made) {
  struct {
    int error, tag;
  } told{meeting.error, meeting.number & kMaxTag};
  if (Exchange(comm).broadcast(&told, sizeof told, root) != MPI_SUCCESS)
    return raise(function, &comm, MPI_ERR_OTHER, "a rank of the communicator cannot be reached");
  if (told.error != MPI_SUCCESS)
    return raise(function, &comm, told.error, "%s", told.error == MPI_ERR_INFO ? "the root's info is none" : why);
  Pair pair(meeting.other, role);  // means something at the root
  return connect_groups(function, comm, root, pair.comm, pair.other_rank(), told.tag, made);
}

}  // namespace portunus::mpi::ports
