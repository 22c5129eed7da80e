// session.hpp: everything that shmem_init builds and the last shmem_finalize takes down again.
//
// Thread: one at a time. Construction and destruction are collective.
// Invariants: members are built top down and go bottom up, also when one of them throws.
// Source: OpenSHMEM 1.6, section "Library Setup, Exit, and Query Routines".
#pragma once

#include <string>
#include <vector>

#include "shmem/collectives.hpp"
#include "shmem/memory/data_segment.hpp"
#include "shmem/remote.hpp"

namespace portunus::shmem {

class Session {
 public:
  // Joins the job, makes heap and globals reachable, and fills `runtime`. Throws std::runtime_error with a sentence.
  explicit Session(int thread_level);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

 private:
  struct Library {
    Library();
    ~Library() { PtlFini(); }
  };
  struct Job {
    ptlx_job_t facts;
    Job();
    ~Job() { PtlxJobFini(); }
  };
  struct Interface {
    ptl_handle_ni_t handle;
    ptl_ni_limits_t limits;
    Interface();
    ~Interface() { PtlNIFini(handle); }
  };
  // The two blocks of node memory: the heap with the library's own words behind it, and the globals.
  struct Memory {
    void* start[kSegments]{};
    size_t size[kSegments]{};  // of the blocks
    unsigned int block[kSegments]{};
    size_t heap_size;  // what the program may allocate
    Memory(ptl_handle_ni_t ni, int n_pes, size_t heap_size);
  };
  struct Exposed {
    RemoteIndices indices;
    Exposed(const Interface& ni, const Memory& memory);
    ~Exposed();
  };
  struct Groups {
    Groups() { collectives_open(); }
    ~Groups() { collectives_close(); }
  };
  // Facts that must be alike on all PEs.
  struct Record {
    uint64_t heap_size, data_size, executable, alignment, oversubscribed, index[kSegments];
    uint64_t may_map;  // there are addresses left for the memory of all PEs of the node; not alike
    char program[64];  // the executable's name, perhaps cut
  };
  // The result that all PEs make of it.
  struct Agreed {
    size_t alignment;           // that every PE's heap has
    bool crowded;               // some PE is oversubscribed
    std::vector<bool> may_map;  // by PE
  };
  // Addresses for the memory of the other PEs of the node, kept until it is mapped.
  class Room {
   public:
    explicit Room(size_t bytes);
    ~Room();
    Room(const Room&) = delete;
    Room& operator=(const Room&) = delete;
    [[nodiscard]] bool there() const { return start_ != nullptr; }

   private:
    size_t bytes_;
    void* start_ = nullptr;
  };

  Record record(const ptlx_engine_info_t& engine, bool may_map) const;
  // Publishes this PE's record and compares all.
  Agreed agree(const Record& mine) const;
  void map_peers(const std::vector<bool>& may_map);
  // announce.cpp
  void announce(const ptlx_engine_info_t& engine) const;
  void print_info(const ptlx_engine_info_t& engine) const;

  size_t symmetric_size_;  // first: a bad value is reported before anything was built
  Library library_;
  Job job_;
  Interface interface_;
  Memory memory_;
  Exposed exposed_;
  Groups groups_;
  std::vector<Peer> peers_;
};

}  // namespace portunus::shmem
