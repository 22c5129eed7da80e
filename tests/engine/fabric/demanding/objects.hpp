// objects.hpp: what the demanding provider hands out: each object is libfabric's own, with that of the provider below and what is checked.
//
// Thread: one at a time for all of a domain (FI_THREAD_DOMAIN), which is checked.
// Source: fi_provider(7), fi_mr(3), fi_cq(3), fi_endpoint(3).
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_rma.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <random>
#include <set>
#include <unordered_set>
#include <vector>

#include "tests/engine/fabric/demanding/demands.hpp"

namespace demanding {

struct FreeInfo {
  void operator()(fi_info* info) const { fi_freeinfo(info); }
};
using Info = std::unique_ptr<fi_info, FreeInfo>;

// Returns the object that begins with this one of libfabric's.
template <class T, class Base>
T& object_of(fid* id) {
  return *static_cast<T*>(reinterpret_cast<Base*>(id));
}

struct Fabric : fid_fabric {
  fid_fabric* below = nullptr;
};

struct Region;

struct Domain : fid_domain {
  Demands demands;
  Info info;  // of the provider below
  fid_domain* below = nullptr;
  std::set<const Region*> regions;
  std::mt19937_64 random{1};
  uint64_t transfers = 0;  // begun so far
  std::atomic<bool> inside = false;
};

// Lasts as long as a call, and ends the process when another thread is in one of the same domain.
class Alone {
 public:
  explicit Alone(Domain& domain) : domain_(domain) {
    if (domain.inside.exchange(true)) die("two threads are in calls of one domain at a time, which was opened with FI_THREAD_DOMAIN");
  }
  ~Alone() { domain_.inside = false; }
  Alone(const Alone&) = delete;
  Alone& operator=(const Alone&) = delete;

 private:
  Domain& domain_;
};

struct Addresses : fid_av {
  Domain* domain = nullptr;
  fid_av* below = nullptr;
};

struct Region : fid_mr {
  Domain* domain = nullptr;
  fid_mr* below = nullptr;  // only of those that others may read or write
  const std::byte* start = nullptr;
  size_t size = 0;
  uint64_t access = 0;
  uint64_t wanted_key = 0;
  bool bound = false, enabled = false;
  size_t requests = 0;  // that use it
};

enum class What : uint8_t { receive, inject, send, read, write };

// A request that the provider has, from the call to the completion.
struct Request {
  fi_context2 context;  // lent to the provider below
  What what;
  void* user = nullptr;  // the user's context
  Region* region = nullptr;
  iovec local{};
  fi_addr_t peer = FI_ADDR_UNSPEC;
  fi_rma_iov remote{};
  uint64_t flags = 0;
  std::vector<std::byte> copy;  // of an injected message that has to wait
};

struct Endpoint;

struct Queue : fid_cq {
  Domain* domain = nullptr;
  fid_cq* below = nullptr;
  Endpoint* endpoint = nullptr;
  std::deque<fi_cq_err_entry> ready;  // err is 0 where all is well
  ssize_t read(fi_cq_data_entry* entries, size_t count);
  void take_in();
};

struct Endpoint : fid_ep {
  Domain* domain = nullptr;
  fid_ep* below = nullptr;
  Queue* queue = nullptr;
  std::deque<std::unique_ptr<Request>> waiting;  // given below in the next read of the queue (`manual`)
  std::unordered_set<const Request*> held;       // by the provider below
  std::unordered_set<void*> contexts;            // in use
  size_t receives = 0, transfers = 0;            // requests in the queues
  uint64_t calls = 0;
  ssize_t begin(Request request);
  ssize_t give(Request& request);
  void give_waiting();
  // Takes back a request that has ended below.
  std::unique_ptr<Request> taken_back(void* context) {
    auto* const request = static_cast<Request*>(context);
    held.erase(request);
    return std::unique_ptr<Request>(request);
  }
  // Ends a request: `entry` is what the provider below has said of it.
  void ended(std::unique_ptr<Request> request, fi_cq_err_entry entry);
  bool full(const Request& request);
  void lend(void* context);
  void take_back(void* context);
};

// memory.cpp
void open_memory(Domain& domain);
Region* region_for(Domain& domain, void* descriptor, const iovec& local, uint64_t access, const char* call);
// Returns the place in a peer's region as the provider below counts.
uint64_t offset_of(const Domain& domain, const fi_rma_iov& remote);
// queue.cpp
int open_queue(fid_domain* domain, fi_cq_attr* attr, fid_cq** opened, void* context);
int try_wait(fid_fabric* fabric, fid** ids, int count);
// endpoint.cpp
int open_endpoint(fid_domain* domain, fi_info* info, fid_ep** opened, void* context);
// addresses.cpp
int open_addresses(fid_domain* domain, fi_av_attr* attr, fid_av** opened, void* context);
int name_of(Endpoint& endpoint, void* address, size_t* size);

}  // namespace demanding
