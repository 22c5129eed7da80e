// window.cpp: making and freeing windows.
#include "mpi-adi/rma/window.hpp"

#include <sched.h>

#include <algorithm>
#include <climits>
#include <cstdarg>
#include <new>

#include "mpi-adi/comm/comm_create.hpp"
#include "mpi-adi/comm/exchange.hpp"
#include "mpi-adi/core/checked.hpp"
#include "mpi-adi/core/checks.hpp"
#include "mpi-adi/core/errors.hpp"
#include "mpi-adi/core/profiling.hpp"
#include "mpi-adi/graph/access.hpp"
#include "mpi-adi/tool/event.hpp"

namespace portunus::mpi::rma {

constinit WindowPool windows;

namespace {

constexpr size_t kDiscarded = 64 * 1024;

int open_entries(Window& window) {
  const bool dynamic = window.flavor == MPI_WIN_FLAVOR_DYNAMIC;
  int result = window.operations.open(device::device.ni);
  constexpr unsigned kReporting = client::Operations::kCounted | PTL_MD_EVENT_SEND_DISABLE;
  if (result == PTL_OK) result = window.reporting.bind_all(device::device.ni, kReporting, window.operations.counter(), device::device.eq);
  constexpr unsigned kTogether = client::Operations::kCounted | PTLX_MD_LAZY;
  if (result == PTL_OK) result = window.together.bind_all(device::device.ni, kTogether, window.operations.counter());
  const auto expose = [&](Place place, void* start, size_t length, client::MatchEntry& entry, ptl_handle_ct_t counter = PTL_CT_NONE) {
    const ptl_match_bits_t bits = match_bits(window.number, place);
    if (result == PTL_OK) result = client::expose(device::device.ni, kWindowPortal, start, length, bits, entry, counter);
  };
  expose(Place::memory, dynamic ? nullptr : window.base, dynamic ? PTL_SIZE_MAX : static_cast<size_t>(window.size), window.memory_entry);
  expose(Place::control, window.control, sizeof(Control), window.control_entry);
  if (result == PTL_OK) result = window.released.open(device::device.ni);
  expose(Place::released, nullptr, 0, window.released_entry, window.released);
  return result;
}

void close_entries(Window& window) {
  window.notifications.reset();
  window.exposures.reset();
  for (client::MatchEntry* entry : {&window.memory_entry, &window.control_entry, &window.released_entry}) entry->close();
  window.released.close();
  window.reporting.close();
  window.together.close();
  window.operations.close();
}

// A rank's memory, as all ranks tell one another.
struct Offer {
  uint64_t base;
  int64_t size, unit;
  int64_t well;
  int64_t exposes_by_lines;  // see exposure.hpp
};

int narrowed(int64_t unit) { return unit <= INT_MAX ? static_cast<int>(unit) : MPI_UNDEFINED; }

// Prepares all that a window needs but its memory.
void furnish(Window& window, size_t n, MPI_Info info) {
  window.own_control = std::make_unique<Control>();
  window.discarded.reset(new std::byte[kDiscarded]);
  window.accessible.assign(n, false);
  window.locked.assign(n, 0);
  window.members.resize(n);
  window.hints = hints_of(info);
}

// Frees a window, or what there is of one that could not be made.
void dispose(Window* window) {
  close_entries(*window);
  replace_errhandler(window->errhandler, MPI_ERRORS_ARE_FATAL);
  if (window->comm != nullptr) destroy_communicator(window->comm);
  windows.release(window);
}

// Makes a window without memory; nullptr: there is no memory for it, or too many are in use.
Window* claim_furnished(size_t n, MPI_Info info) {
  Window* window = nullptr;
  try {
    window = windows.claim();
    if (window != nullptr) {
      window->errhandler.store(MPI_ERRORS_ARE_FATAL, std::memory_order_relaxed);
      furnish(*window, n, info);
    }
    return window;
  } catch (const std::bad_alloc&) {
    if (window != nullptr) dispose(window);
    return nullptr;
  }
}

// Ends every constructor: entries stand on all ranks when it returns. A rank may be without the memory it was to have.
int finish(const char* function, Communicator& parent, Window* window, MPI_Win* win, bool has_memory = true) {
  Communicator& comm = *window->comm;
  const size_t n = static_cast<size_t>(comm.size);
  if (window->control == nullptr) window->control = window->own_control.get();
  window->errhandler.store(MPI_ERRORS_ARE_FATAL, std::memory_order_relaxed);
  window->number = comm.context;
  window->narrow_unit = narrowed(window->unit);
  const int result = has_memory ? open_entries(*window) : int{PTL_NO_SPACE};
  const std::unique_ptr<Offer[]> offers(new (std::nothrow) Offer[n]);
  if (offers)
    offers[static_cast<size_t>(comm.rank)] = {reinterpret_cast<uint64_t>(window->base), window->size, window->unit, result == PTL_OK,
                                              window->exposures && window->exposures->is_usable()};
  if (int error = Exchange(comm).allgather(offers.get(), sizeof(Offer), offers ? MPI_SUCCESS : MPI_ERR_NO_MEM)) {
    dispose(window);
    return mpi::raise(function, &parent, error, "the ranks cannot tell each other where their memory lies");
  }
  for (size_t i = 0; i < n; ++i) {
    Member& member = window->members[i];
    member.base = offers[i].base;
    member.size = offers[i].size;
    member.unit = offers[i].unit;
    member.job_rank = comm.job_rank(static_cast<int>(i));
    if (!offers[i].well) {
      dispose(window);
      return mpi::raise(function, &parent, MPI_ERR_NO_MEM, "rank %zu has no memory, or no room for another window, left", i);
    }
    if (window->exposures && !offers[i].exposes_by_lines) window->exposures->exclude(i);
  }
  if (window->exposures && !window->exposures->is_usable()) window->exposures.reset();
  Member& own = window->members[static_cast<size_t>(comm.rank)];
  own.control = window->control;
  if (window->flavor != MPI_WIN_FLAVOR_DYNAMIC) own.mapped = window->base;
  *win = handle_of(window);
  tool::emit(tool::Event::window_created, comm.context, static_cast<int64_t>(window->size));
  return MPI_SUCCESS;
}

// Checks the arguments of constructors, before anything is made.
int check_call(const char* function, MPI_Comm handle, MPI_Info info, MPI_Win* win, Communicator*& parent) {
  if (int error = mpi::check(function, handle, parent, {win})) return error;
  if (parent->inter) return mpi::raise(function, parent, MPI_ERR_COMM, "windows are made of intracommunicators");
  const int error = check_info(function, parent, info);
  return error ? decline(*parent, error) : MPI_SUCCESS;
}

int begin(const char* function, Communicator& parent, MPI_Info info, Window*& window) {
  window = claim_furnished(static_cast<size_t>(parent.size), info);
  if (window == nullptr)
    return decline(parent, mpi::raise(function, &parent, MPI_ERR_NO_MEM, "too many windows are in use, or there is no memory for one"));
  const int error =
      create_in(function, parent, all_and_of(parent), key_of(parent, Traffic::windows, 0), retain(parent.group), nullptr, window->comm);
  if (error != MPI_SUCCESS) dispose(window);
  return error;
}

int check_memory(const char* function, const Communicator& comm, MPI_Aint size, MPI_Aint unit) {
  if (size < 0) return mpi::raise(function, &comm, MPI_ERR_SIZE, "the size is negative");
  if (unit <= 0)
    return mpi::raise(function, &comm, MPI_ERR_DISP, "the displacement unit is not positive (%lld)", static_cast<long long>(unit));
  return MPI_SUCCESS;
}

// Tells whether messages to that process cross shared memory only.
bool is_near(const Member& member) {
  const ptlx_transport_t transport = PtlxTransport(device::device.ni, device::process(member.job_rank), nullptr);
  return transport == PTLX_TRANSPORT_NODE || transport == PTLX_TRANSPORT_SELF;
}

int create(const char* function, void* base, MPI_Aint size, MPI_Aint unit, MPI_Info info, MPI_Comm comm, MPI_Win* win) {
  Communicator* parent;
  Window* window;
  if (int error = check_call(function, comm, info, win, parent)) return error;
  if (int error = check_memory(function, *parent, size, unit)) return decline(*parent, error);
  if (base == nullptr && size > 0) return decline(*parent, mpi::raise(function, parent, MPI_ERR_BASE, "the memory's address is null"));
  if (int error = begin(function, *parent, info, window)) return error;
  window->base = static_cast<std::byte*>(base);
  window->size = size;
  window->unit = unit;
  return finish(function, *parent, window, win);
}

// Returns the alignment of this rank's part. Windows that are shared are one piece of memory, byte by byte, unless the program gives that
// up; then the first part alone, whose `rank` is 0, is aligned as it asks.
size_t alignment_of(const Hints& hints, int flavor, int rank) {
  constexpr size_t kLine = 64;
  if (flavor != MPI_WIN_FLAVOR_SHARED) return alignment_in(hints, kLine);
  const auto gives_up = [](const auto& hint) { return hint.first == "alloc_shared_noncontig" && hint.second == "true"; };
  if (std::any_of(hints.begin(), hints.end(), gives_up)) return alignment_in(hints, kLine);
  return rank == 0 ? alignment_in(hints, 1) : 1;
}

// The lines lie behind the control blocks. Where there is no memory to keep count of them, messages tell.
void expose_by_lines(Window& window, const std::vector<std::byte*>& control) try {
  window.exposures = std::make_unique<Exposures>(*window.comm, control, sizeof(Control));
} catch (const std::bad_alloc&) {
}

int allocate(const char* function, MPI_Aint size, MPI_Aint unit, MPI_Info info, MPI_Comm handle, void* baseptr, MPI_Win* win, int flavor) {
  Communicator* parent;
  Window* window;
  if (int error = check_call(function, handle, info, win, parent)) return error;
  if (int error = check_memory(function, *parent, size, unit)) return decline(*parent, error);
  if (baseptr == nullptr)
    return decline(*parent, mpi::raise(function, parent, MPI_ERR_ARG, "the address for the memory's address is null"));
  if (int error = begin(function, *parent, info, window)) return error;
  std::vector<std::byte*> base, control;
  const size_t alignment = alignment_of(window->hints, flavor, window->comm->rank);
  const size_t beside = sizeof(Control) + Exposures::bytes(*window->comm);
  const bool shared = share_memory(*window->comm, static_cast<size_t>(size), alignment, beside, window->segment, base, control);
  const size_t own = static_cast<size_t>(window->comm->rank);
  bool alone = false;
  for (const std::byte* each : base) alone = alone || (flavor == MPI_WIN_FLAVOR_SHARED && each == nullptr);
  if (!shared || alone) {
    if (flavor == MPI_WIN_FLAVOR_SHARED) {
      dispose(window);
      return mpi::raise(function, parent, MPI_ERR_RMA_SHARED, shared ? "not all ranks are on one node" : "no memory can be shared");
    }
    if (size <= kMaxBytes) window->owned.reset(new (std::nothrow) std::byte[static_cast<size_t>(size) + 64 + alignment]());
    base.assign(base.size(), nullptr);
    if (const auto begin = reinterpret_cast<uintptr_t>(window->owned.get()))
      window->base = reinterpret_cast<std::byte*>((begin + alignment - 1) / alignment * alignment);
  } else {
    window->base = base[own];
    window->control = new (control[own]) Control;
    expose_by_lines(*window, control);
  }
  window->flavor = flavor;
  window->size = size;
  window->unit = unit;
  if (int error = finish(function, *parent, window, win, window->base != nullptr)) return error;
  for (size_t i = 0; i < window->members.size(); ++i)
    if (i < base.size() && base[i] && (flavor == MPI_WIN_FLAVOR_SHARED || is_near(window->members[i]))) {
      window->members[i].mapped = base[i];
      window->members[i].control = reinterpret_cast<Control*>(control[i]);
    }
  *static_cast<void**>(baseptr) = window->base;
  return MPI_SUCCESS;
}

// Finds the rank that MPI_Win_shared_query asks for; memory that this process cannot load and store has no address, and no size.
int query(const char* function, MPI_Win win, int rank, std::initializer_list<const void*> results, const Member*& member) {
  Window* window;
  if (int error = check(function, win, window)) return error;
  for (const void* result : results)
    if (result == nullptr) return raise(function, *window, MPI_ERR_ARG, "an address for a result is null");
  if (window->flavor == MPI_WIN_FLAVOR_DYNAMIC)
    return raise(function, *window, MPI_ERR_RMA_FLAVOR, "the window has no memory but what is attached to it");
  size_t which = static_cast<size_t>(rank);
  if (rank == MPI_PROC_NULL) {  // the first rank with memory, the same one on all ranks
    for (which = 0; which + 1 < window->members.size() && window->members[which].size == 0;) ++which;
  } else if (rank < 0 || which >= window->members.size()) {
    return raise(function, *window, MPI_ERR_RANK, "there is no rank %d among %zu", rank, window->members.size());
  }
  member = &window->members[which];
  return MPI_SUCCESS;
}

}  // namespace

Origin origin_of(const Window& window) {
  Origin origin;
  origin.subject = Subject::window;
  origin.handle = handle_of(&window);
  origin.errhandler = window.errhandler.load(std::memory_order_acquire);
  origin.name = window.name[0] != '\0' ? window.name : "a window without name";
  return origin;
}

int raise(const char* function, const Window& window, int code, const char* cause, ...) {
  va_list arguments;
  va_start(arguments, cause);
  const int result = raise_at(origin_of(window), function, code, cause, arguments);
  va_end(arguments);
  return result;
}

}  // namespace portunus::mpi::rma

int portunus::mpi::raise_no_memory(const char* function, MPI_Win handle) {
  const rma::Window* const window = rma::find_window(handle);
  return window != nullptr ? rma::raise(function, *window, MPI_ERR_NO_MEM, "%s", kNoMemory) : raise_no_memory(function, MPI_COMM_NULL);
}

namespace portunus::mpi::rma {

int refuse_window(const char* function, MPI_Win handle) {
  if (int error = check_running(function)) return error;
  if (handle == MPI_WIN_NULL) return mpi::raise(function, nullptr, MPI_ERR_WIN, "the window is MPI_WIN_NULL");
  return mpi::raise(function, nullptr, MPI_ERR_WIN, "%p is no window", static_cast<void*>(handle));
}

}  // namespace portunus::mpi::rma

using namespace portunus::mpi;
using namespace portunus::mpi::rma;

#define WINDOW_CALLS(suffix, Unit)                                                                                                         \
  extern "C" int PMPI_Win_create##suffix(void* base, MPI_Aint size, Unit disp_unit, MPI_Info info, MPI_Comm comm, MPI_Win* win) try {      \
    return create("MPI_Win_create" #suffix, base, size, disp_unit, info, comm, win);                                                       \
  }                                                                                                                                        \
  MPI_WEAK_NAME(Win_create##suffix)                                                                                                        \
  extern "C" int PMPI_Win_allocate##suffix(MPI_Aint size, Unit disp_unit, MPI_Info info, MPI_Comm comm, void* baseptr, MPI_Win* win) try { \
    return allocate("MPI_Win_allocate" #suffix, size, disp_unit, info, comm, baseptr, win, MPI_WIN_FLAVOR_ALLOCATE);                       \
  }                                                                                                                                        \
  MPI_WEAK_NAME(Win_allocate##suffix)                                                                                                      \
  extern "C" int PMPI_Win_allocate_shared##suffix(MPI_Aint size, Unit disp_unit, MPI_Info info, MPI_Comm comm, void* baseptr,              \
                                                  MPI_Win* win) try {                                                                      \
    return allocate("MPI_Win_allocate_shared" #suffix, size, disp_unit, info, comm, baseptr, win, MPI_WIN_FLAVOR_SHARED);                  \
  }                                                                                                                                        \
  MPI_WEAK_NAME(Win_allocate_shared##suffix)

WINDOW_CALLS(, int)
WINDOW_CALLS(_c, MPI_Aint)

extern "C" int PMPI_Win_create_dynamic(MPI_Info info, MPI_Comm comm, MPI_Win* win) try {
  static constexpr char kName[] = "MPI_Win_create_dynamic";
  Communicator* parent;
  Window* window;
  if (int error = check_call(kName, comm, info, win, parent)) return error;
  if (int error = begin(kName, *parent, info, window)) return error;
  window->flavor = MPI_WIN_FLAVOR_DYNAMIC;
  return finish(kName, *parent, window, win);
}
MPI_WEAK_NAME(Win_create_dynamic)

extern "C" int PMPI_Win_free(MPI_Win* win) try {
  static constexpr char kName[] = "MPI_Win_free";
  if (win == nullptr) return portunus::mpi::raise(kName, nullptr, MPI_ERR_ARG, "the address of the window is null");
  Window* window;
  if (int error = check(kName, *win, window)) return error;
  if (graph::is_captured_here(*window)) return graph::refuse(kName, graph::kEpochsStay);
  if (graph::is_in_use(*window)) return raise(kName, *window, MPI_ERR_RMA_SYNC, graph::kStillAccessed);
  if (!is_synchronized(*window)) return raise(kName, *window, MPI_ERR_RMA_SYNC, "an epoch is under way; end it before the window is freed");
  if (int error = flush(kName, *window)) return error;
  if (int error = PMPI_Barrier(handle_of(window->comm))) return error;  // no rank accesses it any more
  if (int error = window->attributes.clear(*win)) return raise(kName, *window, error, "a function that deletes an attribute failed");
  tool::emit(tool::Event::window_freed, window->comm->context);
  graph::forget_window(*window);
  dispose(window);
  *win = MPI_WIN_NULL;
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Win_free)

// Dynamic windows are all memory, so attaching has nothing to do.
extern "C" int PMPI_Win_attach(MPI_Win win, void* base, MPI_Aint size) try {
  static constexpr char kName[] = "MPI_Win_attach";
  Window* window;
  if (int error = check(kName, win, window)) return error;
  if (window->flavor != MPI_WIN_FLAVOR_DYNAMIC) return raise(kName, *window, MPI_ERR_RMA_FLAVOR, "only dynamic windows take memory");
  if (size < 0 || (base == nullptr && size > 0)) return raise(kName, *window, MPI_ERR_RMA_ATTACH, "there is no such memory");
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Win_attach)

extern "C" int PMPI_Win_detach(MPI_Win win, const void*) try {
  static constexpr char kName[] = "MPI_Win_detach";
  Window* window;
  if (int error = check(kName, win, window)) return error;
  if (window->flavor != MPI_WIN_FLAVOR_DYNAMIC) return raise(kName, *window, MPI_ERR_RMA_FLAVOR, "only dynamic windows give memory back");
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Win_detach)

extern "C" int PMPI_Win_shared_query(MPI_Win win, int rank, MPI_Aint* size, int* disp_unit, void* baseptr) try {
  const Member* member = nullptr;
  if (int error = query("MPI_Win_shared_query", win, rank, {size, disp_unit, baseptr}, member)) return error;
  *size = member->mapped ? member->size : 0;
  *disp_unit = narrowed(member->unit);
  *static_cast<void**>(baseptr) = member->mapped;
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Win_shared_query)

extern "C" int PMPI_Win_shared_query_c(MPI_Win win, int rank, MPI_Aint* size, MPI_Aint* disp_unit, void* baseptr) try {
  const Member* member = nullptr;
  if (int error = query("MPI_Win_shared_query_c", win, rank, {size, disp_unit, baseptr}, member)) return error;
  *size = member->mapped ? member->size : 0;
  *disp_unit = member->unit;
  *static_cast<void**>(baseptr) = member->mapped;
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Win_shared_query_c)
