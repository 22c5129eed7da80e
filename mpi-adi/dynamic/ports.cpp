// ports.cpp: see ports.hpp.
#include "mpi-adi/dynamic/ports.hpp"

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>

#include "mpi-adi/core/adi.hpp"
#include "portals/portals4_ext.h"

namespace portunus::mpi::ports {
namespace {

constexpr char kPrefix[] = "portunus-port:";

std::mutex mutex;
std::set<int> opened;  // under mutex
int last = 0;          // under mutex

uint16_t lobby() { return self().context_of(Traffic::groups); }

}  // namespace

const std::string& job_name() {
  static const std::string name = [] {
    ptlx_job_t job;
    if (PtlxJobInit(&job) != PTL_OK) return std::string();
    std::string id = job.job_id;
    PtlxJobFini();
    return id;
  }();
  return name;
}

std::string name_of(const Port& port) {
  return kPrefix + job_name() + ":" + std::to_string(port.owner) + ":" + std::to_string(port.number);
}

std::optional<Port> port_named(const char* name) {
  const std::string head = kPrefix + job_name() + ":";
  if (name == nullptr || std::strncmp(name, head.c_str(), head.size()) != 0) return std::nullopt;
  Port port;
  int used = 0;
  if (std::sscanf(name + head.size(), "%9d:%9d%n", &port.owner, &port.number, &used) != 2 || name[head.size() + static_cast<size_t>(used)])
    return std::nullopt;
  return port.owner >= 0 && port.owner < world().size && port.number > 0 ? std::optional(port) : std::nullopt;
}

Port open() {
  const std::lock_guard lock(mutex);
  opened.insert(++last);
  return {world().rank, last};
}

bool is_open(const Port& port) {
  const std::lock_guard lock(mutex);
  return port.owner == world().rank && opened.contains(port.number);
}

bool close(const Port& port) {
  const std::lock_guard lock(mutex);
  return port.owner == world().rank && opened.erase(port.number) == 1;
}

int knock(const Port& port) {
  const int rank = world().rank;
  return adi::send_copied(&rank, sizeof rank, port.owner, match_bits(lobby(), rank, port.number)) == PTL_OK ? MPI_SUCCESS : MPI_ERR_PORT;
}

int admit(const Port& port, int& rank) {
  Request* request = pool.claim(&self(), true);
  if (request == nullptr) return MPI_ERR_NO_MEM;
  if (adi::irecv(*request, &rank, sizeof rank, PTL_RANK_ANY, pattern(lobby(), MPI_ANY_SOURCE, port.number)) != PTL_OK) {
    pool.release(request);
    return MPI_ERR_OTHER;
  }
  adi::wait_patiently([&] { return request->done(); }, [] {});
  const bool whole = !request->failed() && request->length == sizeof rank && rank >= 0 && rank < world().size;
  pool.release(request);
  return whole ? MPI_SUCCESS : MPI_ERR_OTHER;
}

}  // namespace portunus::mpi::ports
