// extensions.cpp: the job, node memory, progress and information of portals4_ext.h.
#include <atomic>
#include <chrono>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "engine/core/triggered/atomic_ops.hpp"
#include "engine/host/accessible.hpp"
#include "engine/host/bootstrap.hpp"
#include "engine/host/debug.hpp"
#include "engine/host/kept_signals.hpp"
#include "engine/host/launchers.hpp"
#include "portals/arguments.hpp"
#include "portals/job.hpp"
#include "portals/lifetime.hpp"
#include "portals/portals4_ext.h"

using namespace portunus;

using api::guarded;
using api::job;
using api::kNoJob;

extern "C" {

int PtlxJobInit(ptlx_job_t* out) try {
  if (!out) return api::refuse(__func__, {"job", api::kIsNull});
  std::lock_guard guard(api::lifetime());
  return guarded([&] {
    // First, while there is one thread: with more of them the kernel takes tens of milliseconds for it.
    register_asymmetric_fences();
    if (!job().bootstrap) {
      const KeptSignals kept;
      job().bootstrap = Bootstrap::start();
    }
    ++job().count;
    Bootstrap& bootstrap = *job().bootstrap;
    *out = {};
    out->rank = bootstrap.rank();
    out->size = bootstrap.size();
    out->local_rank = bootstrap.local_rank();
    out->local_size = bootstrap.local_size();
    out->launched = launcher_announced();
    std::strncpy(out->job_id, bootstrap.job_id().c_str(), sizeof out->job_id - 1);
    const JobView& view = bootstrap.view();
    out->first = static_cast<unsigned>(view.born);
    out->room = view.room;
    out->spawned = view.note.has_value();
    std::strncpy(out->family_id, (view.family.empty() ? view.id : view.family).c_str(), sizeof out->family_id - 1);
    const bool crowded = view.node_size > out->local_size;  // with other jobs of the launcher's
    api::job_place() = {crowded ? view.node_rank : out->local_rank, crowded ? view.node_size : out->local_size, true,
                        out->local_size == out->size};
    return PTL_OK;
  });
}
PTL_BARRIER

void PtlxJobFini(void) {
  std::lock_guard guard(api::lifetime());
  if (job().count == 0 || --job().count > 0) return;
  guarded([&] {
    job().bootstrap->finish();
    job().bootstrap.reset();
    return PTL_OK;
  });
  api::job_place() = {};
}

int PtlxJobPut(const char* key, const void* value, size_t size) try {
  if (!key || (!value && size)) return api::refuse(__func__, {key ? "value" : "key", api::kIsNull});
  if (!job().bootstrap) return api::refuse(__func__, kNoJob);
  return guarded([&] {
    job().bootstrap->put(key, {static_cast<const std::byte*>(value), size});
    return PTL_OK;
  });
}
PTL_BARRIER

int PtlxJobFence(void) try {
  if (!job().bootstrap) return PTL_NO_INIT;
  return api::stepping_meanwhile([] {
    job().bootstrap->fence();
    return PTL_OK;
  });
}
PTL_BARRIER

int PtlxJobGet(int rank, const char* key, void* value, size_t* size) try {
  if (!key || !size || (!value && *size)) return api::refuse(__func__, {!key ? "key" : !size ? "size" : "value", api::kIsNull});
  if (!job().bootstrap) return api::refuse(__func__, kNoJob);
  if (rank < 0 || rank >= job().bootstrap->size()) return api::refuse(__func__, {"rank", "is no rank of the job"});
  return guarded([&] {
    const std::vector<std::byte> found = job().bootstrap->get(rank, key);
    if (found.size() > *size) return static_cast<int>(PTL_NO_SPACE);
    if (!found.empty()) std::memcpy(value, found.data(), found.size());
    *size = found.size();
    return static_cast<int>(PTL_OK);
  });
}
PTL_BARRIER

int PtlxJobShare(const char* key, const void* mine, size_t size, void* all) try {
  if (!key || !mine || !all) return api::refuse(__func__, {!key ? "key" : !mine ? "mine" : "all", api::kIsNull});
  if (size == 0) return api::refuse(__func__, {"size", "is 0"});
  if (!job().bootstrap) return api::refuse(__func__, kNoJob);
  return api::stepping_meanwhile([&] {
    const std::vector<std::byte> found = job().bootstrap->share(key, {static_cast<const std::byte*>(mine), size});
    std::memcpy(all, found.data(), found.size());
    return static_cast<int>(PTL_OK);
  });
}
PTL_BARRIER

void PtlxJobAbort(int status, const char* message) {
  if (message) std::fprintf(stderr, "%s\n", message);
  std::fflush(nullptr);
  if (!api::forked.load(std::memory_order_relaxed) && job().bootstrap) job().bootstrap->abort(status, "");
  std::_Exit(status);
}

int PtlxJobMap(ptl_handle_ni_t ni) try {
  if (!api::initialized()) return PTL_NO_INIT;
  Interface* interface = api::find_interface(ni);
  if (!interface) return api::refuse(__func__, api::bad_interface(ni));
  if (!job().bootstrap) return api::refuse(__func__, kNoJob);
  return guarded([&] {
    Bootstrap& bootstrap = *job().bootstrap;
    const ProcessId self = api::runtime().self();
    const std::vector<std::byte> ids = bootstrap.share("ptlx.id", std::as_bytes(std::span(&self, 1)));
    std::vector<ptl_process_t> map(static_cast<size_t>(bootstrap.size()));
    for (size_t rank = 0; rank < map.size(); ++rank) {
      ProcessId id;
      std::memcpy(&id, &ids[rank * sizeof id], sizeof id);
      map[rank].phys = {id.nid, id.pid};
    }
    if (interface->logical()) {
      const int code = PtlSetMap(ni, map.size(), map.data());
      if (code != PTL_OK && code != PTL_IGNORED) return code;
    }
    if (NodeTransport* node = api::runtime().node()) {
      api::progress().locked([&](Engine&) UNDER_BATON {
        for (const ptl_process_t& id : map)
          if (Segment* segment = node->segment_of({id.phys.nid, id.phys.pid})) {
            size_t size;
            for (unsigned block = 0; block < kMaxBlocks; ++block) segment->map_block(block, size);
          }
        return 0;
      });
      bootstrap.fence();  // all have mapped all: the names may go, so nothing is left whatever happens to us
      api::progress().locked([&](Engine&) UNDER_BATON {
        node->segment().remove_name();
        return 0;
      });
    }
    return static_cast<int>(PTL_OK);
  });
}
PTL_BARRIER

namespace {

int find_process(const char* function, ptl_handle_ni_t ni, ptl_process_t peer, ProcessId& id) {
  if (!api::initialized()) return PTL_NO_INIT;
  Interface* interface = api::find_interface(ni);
  if (!interface) return api::refuse(function, api::bad_interface(ni));
  id = {peer.phys.nid, peer.phys.pid};
  if (interface->logical()) {
    if (peer.rank >= interface->map_size.load(std::memory_order_acquire))
      return api::refuse(function, {"peer", "is a rank outside of the map"});
    id = api::progress().locked([&](Engine&) UNDER_BATON { return interface->map[peer.rank]; });
  }
  return PTL_OK;
}

int add_block(const char* function, ptl_handle_ni_t ni, void* replace, ptl_size_t size, void** base, unsigned int* block) {
  if (!api::initialized()) return PTL_NO_INIT;
  if (!api::find_interface(ni)) return api::refuse(function, api::bad_interface(ni));
  if (!block) return api::refuse(function, {"block", api::kIsNull});
  if (size == 0 || size > PTL_SIZE_MAX / 4) return api::refuse(function, {"size", "is 0, or more than any memory"});
  NodeTransport* node = api::runtime().node();
  void* made = nullptr;
  const int number = api::progress().locked([&](Engine&) UNDER_BATON {
    if (node) return node->segment().add_block(size, replace, made);
    return api::runtime().add_private_block(size, replace, made);
  });
  if (number < 0) {
    std::fprintf(stderr,
                 "portals: cannot reserve %llu bytes of node memory (%s); free space in /dev/shm, ask for less, or set PTL_NODE=0\n",
                 static_cast<unsigned long long>(size), std::strerror(errno));
    return PTL_NO_SPACE;
  }
  if (base) *base = made;
  *block = static_cast<unsigned>(number);
  return PTL_OK;
}

}  // namespace

int PtlxNodeAlloc(ptl_handle_ni_t ni, ptl_size_t size, void** base, unsigned int* block) try {
  return base ? add_block(__func__, ni, nullptr, size, base, block) : api::refuse(__func__, {"base", api::kIsNull});
}
PTL_BARRIER

int PtlxNodeShare(ptl_handle_ni_t ni, void* start, ptl_size_t size, unsigned int* block) try {
  constexpr uintptr_t kPageMask = 4095;
  if (!start || (reinterpret_cast<uintptr_t>(start) & kPageMask)) return api::refuse(__func__, {"start", "is not the start of a page"});
  if (size & kPageMask) return api::refuse(__func__, {"size", "is not a number of whole pages"});
  return add_block(__func__, ni, start, size, nullptr, block);
}
PTL_BARRIER

int PtlxNodeMap(ptl_handle_ni_t ni, ptl_process_t peer, unsigned int block, void** base, ptl_size_t* size) try {
  if (!base || !size) return api::refuse(__func__, {base ? "size" : "base", api::kIsNull});
  if (block >= kMaxBlocks) return api::refuse(__func__, {"block", "is no number of a block"});
  ProcessId id{};
  if (const int code = find_process(__func__, ni, peer, id); code != PTL_OK) return code;
  NodeTransport* node = api::runtime().node();
  size_t found_size = 0;
  void* found = api::progress().locked([&](Engine&) UNDER_BATON -> void* {
    if (!node) return id == api::runtime().self() ? api::runtime().private_block(block, found_size) : nullptr;
    Segment* segment = node->segment_of(id);
    return segment ? segment->map_block(block, found_size) : nullptr;
  });
  if (!found) return PTL_FAIL;
  *base = found;
  *size = found_size;
  return PTL_OK;
}
PTL_BARRIER

int PtlxNodeWatch(ptl_handle_ni_t ni, ptl_process_t peer, ptlx_watch_t* watch) try {
  if (!watch) return api::refuse(__func__, {"watch", api::kIsNull});
  ProcessId id{};
  if (const int code = find_process(__func__, ni, peer, id); code != PTL_OK) return code;
  if (id == api::runtime().self()) {
    *watch = {api::progress().watch().word().address(), nullptr};
    return PTL_OK;
  }
  NodeTransport* node = api::runtime().node();
  SegmentHeader* header = !node ? nullptr : api::progress().locked([&](Engine&) UNDER_BATON -> SegmentHeader* {
    Segment* segment = node->segment_of(id);
    return segment ? &segment->lend_header() : nullptr;
  });
  if (!header) return PTL_FAIL;
  *watch = {header->watch.word().address(), header};
  return PTL_OK;
}
PTL_BARRIER

void PtlxNodeUnwatch(const ptlx_watch_t* watch) {
  if (!api::initialized() || !api::runtime().running() || !watch || !watch->bell) return;
  api::progress().locked([&](Engine&) UNDER_BATON {
    if (NodeTransport* node = api::runtime().node()) node->take_back(static_cast<SegmentHeader*>(watch->bell));
    return 0;
  });
}

int PtlxNodeAtomic(ptl_op_t op, ptl_datatype_t type, void* target, const void* data, ptl_size_t size, void* old, const void* operand) try {
  if (const size_t width = datatype_size(type); width == 0 || width > sizeof(uint64_t) || size % width != 0)
    return api::refuse(__func__, {"type", "has no datum that fits size, or one of more than 8 bytes"});
  if (!atomic_allowed(op, type) && !swap_allowed(op, type)) return api::refuse(__func__, {"op", "is not allowed for this type"});
  if (size > 0 && (!target || !data)) return api::refuse(__func__, {target ? "data" : "target", api::kIsNull});
  if (op >= PTL_CSWAP && op <= PTL_MSWAP && !operand) return api::refuse(__func__, {"operand", api::kIsNull});
  apply_atomic(op, type, target, data, size, old, operand);
  return PTL_OK;
}
PTL_BARRIER

void PtlxNodeRing(const ptlx_watch_t* watch) {
  if (!watch->bell) api::progress().wake_own_watchers();
  else if (wake_watchers(*static_cast<SegmentHeader*>(watch->bell))) ++api::runtime().engine().stats().rings;
}

int PtlxStepperRun(const ptlx_stepper_t* stepper, void* item) try {
  if (!api::initialized()) return PTL_NO_INIT;
  if (!stepper) return api::refuse(__func__, {"stepper", api::kIsNull});
  if (!stepper->step || !stepper->ready || !stepper->pending)
    return api::refuse(__func__, {!stepper->step ? "step" : stepper->ready ? "pending" : "ready", api::kIsNull});
  return api::progress().locked([&](Engine& engine) UNDER_BATON -> int {
    if (!engine.use_stepper(*stepper)) return PTL_NO_SPACE;
    engine.run_stepper(item);
    return PTL_OK;
  });
}
PTL_BARRIER

// Called in a step.
void PtlxNodeCall(const ptlx_watch_t* watch, int urgent) BATON_NOT_FOLLOWED {
  if (NodeTransport* node = api::runtime().node(); node && watch->bell) node->call(*static_cast<SegmentHeader*>(watch->bell), urgent != 0);
}

int PtlxProgress(void) try {
  if (!api::initialized() || !api::runtime().running()) return 0;
  const int work = api::progress().poll();
  return work + static_cast<int>(api::progress().look_at_pollers());
}
PTL_BARRIER

int PtlxPollerAdd(const ptlx_poller_t* poller) try {
  if (!api::initialized()) return PTL_NO_INIT;
  if (!poller) return api::refuse(__func__, {"poller", api::kIsNull});
  if (!poller->look || !poller->pending) return api::refuse(__func__, {poller->look ? "pending" : "look", api::kIsNull});
  return api::progress().pollers().add(*poller) ? PTL_OK : PTL_NO_SPACE;
}
PTL_BARRIER

int PtlxWait(int (*done)(void* arg), void* arg, uint32_t watched, ptl_time_t timeout) try {
  auto satisfied = [&] { return done(arg) != 0; };
  const bool limited = timeout != PTL_TIME_FOREVER;
  const int64_t limit_ns = api::nanoseconds(timeout);
  if (api::initialized() && api::runtime().running()) {
    if (api::progress().wait(satisfied, limit_ns, watched)) return PTL_OK;
    return limited ? PTL_CT_NONE_REACHED : PTL_INTERRUPTED;
  }
  const auto begin = std::chrono::steady_clock::now();
  while (!satisfied()) {
    if (limited && std::chrono::steady_clock::now() - begin >= std::chrono::nanoseconds(limit_ns)) return PTL_CT_NONE_REACHED;
    sched_yield();
  }
  return PTL_OK;
}
PTL_BARRIER

int PtlxEngineInfo(ptlx_engine_info_t* info) try {
  if (!api::initialized() || !api::runtime().running()) return PTL_NO_INIT;
  if (!info) return api::refuse(__func__, {"info", api::kIsNull});
  api::runtime().info(*info);
  return PTL_OK;
}
PTL_BARRIER

int PtlxAccessible(const void* start, ptl_size_t size, int write) try {
  constexpr size_t kMostPopulated = 1 << 20;  // longer room must not take up memory before a message comes
  return accessible(start, size, write != 0, kMostPopulated);
}
PTL_BARRIER

int PtlxDebug(const char* key) { return key ? debug_wanted(key) : 0; }

int PtlxCountAdd(const char* name, const char* text, uint64_t** count) try {
  static_assert(sizeof(std::atomic<uint64_t>) == sizeof(uint64_t) && std::atomic<uint64_t>::is_always_lock_free);
  if (!api::initialized() || !api::runtime().running()) return PTL_NO_INIT;
  for (const auto& [what, pointer] : {std::pair<const char*, const void*>{"name", name}, {"text", text}, {"count", count}})
    if (!pointer) return api::refuse(__func__, {what, api::kIsNull});
  if (const size_t length = std::strlen(name); length == 0 || length >= sizeof AddedCount::name)
    return api::refuse(__func__, {"name", "has not 1 to 23 bytes"});
  if (std::strlen(text) >= sizeof AddedCount::text) return api::refuse(__func__, {"text", "is longer than 71 bytes"});
  std::atomic<uint64_t>* const fresh = api::runtime().add_count(name, text);
  if (!fresh) return PTL_NO_SPACE;
  *count = reinterpret_cast<uint64_t*>(fresh);
  return PTL_OK;
}
PTL_BARRIER

int PtlxMEGet(ptl_handle_me_t me, ptl_match_bits_t* match_bits, ptl_match_bits_t* ignore_bits) {
  if (!api::initialized()) return PTL_NO_INIT;
  if (!match_bits || !ignore_bits) return api::refuse(__func__, {match_bits ? "ignore_bits" : "match_bits", api::kIsNull});
  if (!api::runtime().running()) return api::refuse(__func__, api::bad_handle("me", me, HandleKind::entry));
  const int code = api::progress().locked([&](Engine&) UNDER_BATON {
    const ListEntry* const entry = api::runtime().objects().entries.find(me);
    if (!entry) return static_cast<int>(PTL_ARG_INVALID);
    *match_bits = entry->match_bits;
    *ignore_bits = entry->ignore_bits;
    return static_cast<int>(PTL_OK);
  });
  return code == PTL_OK ? code : api::refuse(__func__, api::bad_handle("me", me, HandleKind::entry));
}

int PtlxTellWait(const ptlx_long_wait_t* wait) {
  static_assert(PTLX_MOST_WAITED == LongWait::kMostRanks);
  if (!api::initialized() || !api::runtime().running()) return PTL_NO_INIT;
  if (!wait || !wait->call || !wait->what) return api::refuse(__func__, {"wait", "or one of its texts is NULL"});
  return api::progress().locked([&](Engine& engine) UNDER_BATON {
    api::runtime().tell_wait(engine, *wait);
    return static_cast<int>(PTL_OK);
  });
}

const uint32_t* PtlxThrottled(void) {
  static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t) && std::atomic<uint32_t>::is_always_lock_free);
  return api::initialized() ? reinterpret_cast<const uint32_t*>(&api::runtime().engine().restraints()) : nullptr;
}

ptlx_transport_t PtlxTransport(ptl_handle_ni_t ni, ptl_process_t peer, const char** name) {
  TransportName found;
  if (Interface* interface = api::initialized() ? api::find_interface(ni) : nullptr)
    found = api::progress().locked([&](Engine& engine) UNDER_BATON {
      Peer* known = engine.peers().target(interface->index, peer);
      return known && known->transport ? known->transport->name() : TransportName{};
    });
  if (name) *name = found.text;
  return found.kind;
}

}  // extern "C"
