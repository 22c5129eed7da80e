// session.cpp: from an environment to symmetric memory.
#include "shmem/session.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>
#include <stdexcept>

#include "shmem/collectives.hpp"
#include "shmem/deaths.hpp"
#include "shmem/environment.hpp"
#include "shmem/graph/exposure.hpp"
#include "shmem/graph/graph.hpp"
#include "shmem/memory/heap.hpp"
#include "shmem/memory/huge_pages.hpp"
#include "shmem/memory/shared.hpp"
#include "shmem/memory/symmetric_size.hpp"
#include "shmem/nonblocking/request.hpp"
#include "shmem/sync.hpp"

namespace portunus::shmem {

Runtime runtime;

namespace {

constexpr size_t kPage = 4096;
constexpr size_t kDefaultHeapSize = size_t{512} << 20;

void require(int code, const std::string& sentence) {
  if (code != PTL_OK) throw std::runtime_error(sentence + " (error " + std::to_string(code) + ")");
}

size_t symmetric_size() {
  const char* text = setting("SYMMETRIC_SIZE");
  if (!text) return kDefaultHeapSize;
  const std::optional<size_t> size = parse_symmetric_size(text);
  if (!size)
    throw std::runtime_error(std::string("SHMEM_SYMMETRIC_SIZE is \"") + text +
                             "\"; it must be a number of bytes, perhaps with a suffix k, m, g or t, such as 512m");
  return *size;
}

// Set-ups this process has done: names in the job's exchange are never used twice.
int generation = 0;

}  // namespace

Session::Library::Library() { require(PtlInit(), "the network cannot be started"); }

Session::Job::Job() { require(PtlxJobInit(&facts), "this process cannot join its job"); }

Session::Interface::Interface() {
  require(PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_NO_MATCHING | PTL_NI_LOGICAL, PTL_PID_ANY, nullptr, &limits, &handle),
          "no network interface can be opened");
}

Session::Memory::Memory(ptl_handle_ni_t ni, int n_pes, size_t wanted) : heap_size((wanted + kPage - 1) & ~(kPage - 1)) {
  size[kHeap] = heap_size + shared_size(n_pes);
  require(PtlxNodeAlloc(ni, size[kHeap], &start[kHeap], &block[kHeap]),
          "a symmetric heap of " + std::to_string(heap_size) + " bytes cannot be had; set SHMEM_SYMMETRIC_SIZE to less");
  if (switched_on("HUGE_PAGES"))
    if (const int problem = make_huge(start[kHeap], size[kHeap]))
      fprintf(stderr,
              "shmem: SHMEM_HUGE_PAGES: the kernel gives no huge pages for all of the symmetric heap (%s); going on with what it gave\n",
              problem == EINVAL ? "they need Linux 6.1 and a heap of at least 2 MiB" : strerror(problem));
  const Range data = data_segment();
  start[kData] = data.start;
  size[kData] = data.size;
  if (data.size != 0)
    require(PtlxNodeShare(ni, data.start, data.size, &block[kData]),
            "the executable's " + std::to_string(data.size) + " bytes of globals cannot be shared");
}

Session::Exposed::Exposed(const Interface& ni, const Memory& memory)
    : indices(remote_open(ni.handle, ni.limits, memory.start, memory.size)) {
  if (!default_channel.open()) throw std::runtime_error("the network has no room left; other libraries of this process may use it up");
}

Session::Exposed::~Exposed() {
  default_channel.close();
  remote_close();
}

Session::Session(int thread_level)
    : symmetric_size_(symmetric_size()), memory_(interface_.handle, job_.facts.size, symmetric_size_), exposed_(interface_, memory_) {
  ++generation;
  require(PtlxJobMap(interface_.handle), "the processes of the job cannot find each other");
  ptlx_engine_info_t engine{};
  require(PtlxEngineInfo(&engine), "the engine does not answer");
  // Nobody gets past the fence in agree() before all PEs know the map and have exposed their memory.
  constexpr size_t kPages = size_t{4} << 20;  // for huge ones, beside each block
  std::optional<Room> room(std::in_place, static_cast<size_t>(std::max(job_.facts.local_size, 1) - 1) *
                                              (memory_.size[kHeap] + memory_.size[kData] + kSegments * kPages));
  const Agreed agreed = agree(record(engine, room->there()));
  room.reset();
  map_peers(agreed.may_map);

  runtime.debug = setting("DEBUG") != nullptr;
  heap_open(memory_.heap_size, agreed.alignment);
  runtime.my_pe = job_.facts.rank;
  runtime.segment[kHeap] = {reinterpret_cast<uintptr_t>(memory_.start[kHeap]), memory_.heap_size};
  runtime.segment[kData] = {reinterpret_cast<uintptr_t>(memory_.start[kData]), memory_.size[kData]};
  runtime.peers = peers_.data();
  runtime.oversubscribed = engine.oversubscribed != 0;
  runtime.crowded = agreed.crowded;
  runtime.thread_level = thread_level;
  runtime.n_pes = job_.facts.size;
  deaths_open(interface_.handle);
  teams_open();
  teams_share_memory();
  announce(engine);
}

// A PE that has left the barrier may still owe acknowledgements to others; after the fence nobody waits for any.
Session::~Session() {
  Requests::instance().drain("shmem_finalize", nullptr);
  graph::close();
  barrier_all();
  quiet(default_channel);
  graph::Exposure::close();  // graphs of others may have put here until the barrier
  teams_close();
  PtlxJobFence();
  heap_close();
  deaths_close();
  runtime = {};
}

Session::Room::Room(size_t bytes) : bytes_(std::max<size_t>(bytes, 1)) {
  void* const start = mmap(nullptr, bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start != MAP_FAILED) start_ = start;
}
Session::Room::~Room() {
  if (start_) munmap(start_, bytes_);
}

Session::Record Session::record(const ptlx_engine_info_t& engine, bool may_map) const {
  const size_t aligned = size_t{1} << std::countr_zero(reinterpret_cast<uintptr_t>(memory_.start[kHeap]));
  Record mine{memory_.heap_size,
              memory_.size[kData],
              executable_hash(),
              aligned,
              engine.oversubscribed != 0,
              {exposed_.indices[kHeap], exposed_.indices[kData]},
              may_map,
              {}};
  snprintf(mine.program, sizeof mine.program, "%s", program_invocation_short_name);
  return mine;
}

Session::Agreed Session::agree(const Record& mine) const {
  const std::string key = "shmem." + std::to_string(generation);
  std::vector<Record> all(static_cast<size_t>(job_.facts.size));
  require(PtlxJobShare(key.c_str(), &mine, sizeof mine, all.data()), "a PE did not say how large its symmetric memory is");
  Agreed agreed{mine.alignment, mine.oversubscribed != 0, {}};
  for (int pe = 0; pe < job_.facts.size; ++pe) {
    const Record& theirs = all[static_cast<size_t>(pe)];
    const std::string who = "PE " + std::to_string(pe);
    if (theirs.heap_size != mine.heap_size)
      throw std::runtime_error(who + " has a symmetric heap of " + std::to_string(theirs.heap_size) + " bytes and PE " +
                               std::to_string(job_.facts.rank) + " one of " + std::to_string(mine.heap_size) +
                               "; SHMEM_SYMMETRIC_SIZE must be the same for all");
    if (theirs.executable != mine.executable || theirs.data_size != mine.data_size)
      throw std::runtime_error(who + " runs another executable (" + theirs.program + ") than PE " + std::to_string(job_.facts.rank) + " (" +
                               mine.program + "), so their globals lie at different places; start all PEs from the same executable");
    for (const Segment segment : {kHeap, kData})
      if (theirs.index[segment] != mine.index[segment])
        throw std::runtime_error(who + " has opened its libraries in another order; open OpenSHMEM in the same order on all PEs");
    agreed.alignment = std::min<size_t>(agreed.alignment, theirs.alignment);
    agreed.crowded |= theirs.oversubscribed != 0;
    agreed.may_map.push_back(theirs.may_map != 0);
  }
  return agreed;
}

// Two PEs meet in this node's memory where both may map it, and by messages else: both know.
void Session::map_peers(const std::vector<bool>& may_map) {
  const bool may = may_map[static_cast<size_t>(job_.facts.rank)];
  runtime.any_remote = false;
  peers_.resize(static_cast<size_t>(job_.facts.size));
  for (int pe = 0; pe < job_.facts.size; ++pe) {
    Peer& peer = peers_[static_cast<size_t>(pe)];
    ptl_process_t id;
    id.rank = static_cast<ptl_rank_t>(pe);
    if (pe == job_.facts.rank) {
      for (const Segment segment : {kHeap, kData}) peer.base[segment] = static_cast<std::byte*>(memory_.start[segment]);
      require(PtlxNodeWatch(interface_.handle, id, &peer.watch), "this process cannot be woken");
      continue;
    }
    if (!may || !may_map[static_cast<size_t>(pe)] || PtlxNodeWatch(interface_.handle, id, &peer.watch) != PTL_OK) {
      peer = {};
      runtime.any_remote = true;
      continue;
    }
    for (const Segment segment : {kHeap, kData}) {
      if (memory_.size[segment] == 0) continue;
      void* base = nullptr;
      ptl_size_t size = 0;
      // The PEs that take this one for one of their node go on, so that the job must end.
      if (PtlxNodeMap(interface_.handle, id, memory_.block[segment], &base, &size) != PTL_OK || size < memory_.size[segment])
        misuse(
            "shmem_init: the symmetric memory of PE %d, %zu bytes, cannot be mapped here; let the process have more addresses (ulimit -v), "
            "or make SHMEM_SYMMETRIC_SIZE smaller",
            pe, memory_.size[segment]);
      peer.base[segment] = static_cast<std::byte*>(base);
    }
  }
}

}  // namespace portunus::shmem
