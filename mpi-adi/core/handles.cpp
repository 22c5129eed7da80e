// handles.cpp: handles as integers, for languages that have no pointers.
//
// A predefined handle is its own number; any other gets one when it is first asked for, and keeps it: a pool's slots are the
// handles of all objects that are ever in it, so there are no more numbers than slots. Programs in Fortran ask at every call, so
// both ways are found without a lock.
// Thread: any; a lock is taken to give out a number. Source: MPI-5.0, 2.5.1, 19.3.4 and 20.4.
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <vector>

#include "mpi-adi/core/errors.hpp"
#include "mpi-adi/core/profiling.hpp"
#include "mpi-adi/mpi-ext.h"

namespace portunus::mpi {
namespace {

constexpr uintptr_t kFirstNumber = 4096;  // of the ABI: above what predefined handles can be

class Numbers {
 public:
  int of(const void* handle) {
    const auto value = reinterpret_cast<uintptr_t>(handle);
    if (value < kFirstNumber) return static_cast<int>(value);
    if (const int number = look_up(value)) return number;
    std::lock_guard lock(mutex_);
    const int known = look_up(value);  // another thread may have been faster
    return known != 0 ? known : add(value);
  }
  // `none` for a number that no handle has.
  const void* handle(int number, const void* none) const {
    const uintptr_t value = static_cast<unsigned>(number), index = value - kFirstNumber;
    if (value == 0) return none;
    if (value < kFirstNumber) return reinterpret_cast<const void*>(value);
    if (index >= kChunks * kChunk) return none;
    const std::atomic<uintptr_t>* chunk = chunks_[index / kChunk].load(std::memory_order_acquire);
    const uintptr_t found = chunk == nullptr ? 0 : chunk[index % kChunk].load(std::memory_order_acquire);  // released by add()
    return found != 0 ? reinterpret_cast<const void*>(found) : none;
  }

 private:
  struct Entry {
    std::atomic<uintptr_t> handle{0};
    int number = 0;  // before `handle` is there
  };
  // Open addressing; at most half full. A reader may hold one that has been replaced, so none is freed.
  struct Table {
    explicit Table(size_t size) : mask(size - 1), entries(new Entry[size]) {}
    size_t mask;
    std::unique_ptr<Entry[]> entries;
  };
  static constexpr size_t kChunk = 4096, kChunks = 16384;

  static size_t place(uintptr_t value) { return static_cast<size_t>((value >> 6) * 0x9e3779b97f4a7c15u >> 20); }

  int look_up(uintptr_t value) const {
    const Table* table = table_.load(std::memory_order_acquire);  // released by grow()
    if (table == nullptr) return 0;
    for (size_t i = place(value);; ++i) {
      const Entry& entry = table->entries[i & table->mask];
      const uintptr_t found = entry.handle.load(std::memory_order_acquire);  // released by put()
      if (found == value) return entry.number;
      if (found == 0) return 0;
    }
  }
  static void put(Table& table, uintptr_t value, int number) {
    size_t i = place(value);
    while (table.entries[i & table.mask].handle.load(std::memory_order_relaxed) != 0) ++i;
    table.entries[i & table.mask].number = number;
    table.entries[i & table.mask].handle.store(value, std::memory_order_release);
  }
  // Under the lock, as grow(). 0, which is no handle: there are no more numbers.
  int add(uintptr_t value) {
    if (count_ == kChunks * kChunk) return 0;
    if (tables_.empty() || 2 * count_ >= tables_.back()->mask) grow();
    std::atomic<std::atomic<uintptr_t>*>& chunk = chunks_[count_ / kChunk];
    if (chunk.load(std::memory_order_relaxed) == nullptr)
      chunk.store(
          new std::atomic<uintptr_t>[kChunk] {}, std::memory_order_release);
    chunk.load(std::memory_order_relaxed)[count_ % kChunk].store(value, std::memory_order_release);
    const int number = static_cast<int>(kFirstNumber + count_++);
    put(*tables_.back(), value, number);
    return number;
  }
  void grow() {
    auto larger = std::make_unique<Table>(tables_.empty() ? 1024 : 2 * (tables_.back()->mask + 1));
    for (size_t i = 0; i < count_; ++i) {
      const uintptr_t value = chunks_[i / kChunk].load(std::memory_order_relaxed)[i % kChunk].load(std::memory_order_relaxed);
      put(*larger, value, static_cast<int>(kFirstNumber + i));
    }
    tables_.push_back(std::move(larger));
    table_.store(tables_.back().get(), std::memory_order_release);
  }

  std::mutex mutex_;
  std::atomic<Table*> table_{nullptr};
  std::atomic<std::atomic<uintptr_t>*> chunks_[kChunks] = {};
  size_t count_ = 0;  // under the lock, as all tables that ever were
  std::vector<std::unique_ptr<Table>> tables_;
};

// There before all constructors run, and after all destructors.
union Lasting {
  constexpr Lasting() : numbers() {}
  ~Lasting() {}
  Numbers numbers;
};
constinit Lasting lasting;
Numbers& numbers() { return lasting.numbers; }

MPI_Fint status_ignore[MPI_F_STATUS_SIZE], statuses_ignore[MPI_F_STATUS_SIZE];

}  // namespace
}  // namespace portunus::mpi

using namespace portunus::mpi;

#define MPI_NUMBERS(Kind, Handle, none)                                                                                                  \
  extern "C" int PMPI_##Kind##_toint(Handle handle) try { return numbers().of(handle); } catch (const std::bad_alloc&) {                 \
    raise_no_memory("MPI_" #Kind "_toint", MPI_COMM_NULL);                                                                               \
    return 0;                                                                                                                            \
  }                                                                                                                                      \
  MPI_WEAK_NAME_ALONE(Kind##_toint)                                                                                                      \
  extern "C" Handle PMPI_##Kind##_fromint(int handle) { return static_cast<Handle>(const_cast<void*>(numbers().handle(handle, none))); } \
  MPI_WEAK_NAME_ALONE(Kind##_fromint)                                                                                                    \
  extern "C" MPI_Fint PMPI_##Kind##_c2f(Handle handle) { return PMPI_##Kind##_toint(handle); }                                           \
  MPI_WEAK_NAME_ALONE(Kind##_c2f)                                                                                                        \
  extern "C" Handle PMPI_##Kind##_f2c(MPI_Fint handle) { return PMPI_##Kind##_fromint(handle); }                                         \
  MPI_WEAK_NAME_ALONE(Kind##_f2c)

MPI_NUMBERS(Comm, MPI_Comm, MPI_COMM_NULL)
MPI_NUMBERS(Errhandler, MPI_Errhandler, MPI_ERRHANDLER_NULL)
MPI_NUMBERS(File, MPI_File, MPI_FILE_NULL)
MPI_NUMBERS(Group, MPI_Group, MPI_GROUP_NULL)
MPI_NUMBERS(Info, MPI_Info, MPI_INFO_NULL)
MPI_NUMBERS(Message, MPI_Message, MPI_MESSAGE_NULL)
MPI_NUMBERS(Op, MPI_Op, MPI_OP_NULL)
MPI_NUMBERS(Request, MPI_Request, MPI_REQUEST_NULL)
MPI_NUMBERS(Session, MPI_Session, MPI_SESSION_NULL)
MPI_NUMBERS(Type, MPI_Datatype, MPI_DATATYPE_NULL)
MPI_NUMBERS(Win, MPI_Win, MPI_WIN_NULL)

extern "C" int PMPIX_Graph_toint(MPIX_Graph graph) try { return numbers().of(graph); } catch (const std::bad_alloc&) {
  raise_no_memory("MPIX_Graph_toint", MPI_COMM_NULL);
  return 0;
}
MPIX_WEAK_NAME_ALONE(Graph_toint)
extern "C" MPIX_Graph PMPIX_Graph_fromint(int graph) {
  return static_cast<MPIX_Graph>(const_cast<void*>(numbers().handle(graph, MPIX_GRAPH_NULL)));
}
MPIX_WEAK_NAME_ALONE(Graph_fromint)

// Until the bindings for Fortran put theirs there.
extern "C" {
MPI_Fint* MPI_F_STATUS_IGNORE = status_ignore;
MPI_Fint* MPI_F_STATUSES_IGNORE = statuses_ignore;
MPI_F08_status* MPI_F08_STATUS_IGNORE = reinterpret_cast<MPI_F08_status*>(status_ignore);
MPI_F08_status* MPI_F08_STATUSES_IGNORE = reinterpret_cast<MPI_F08_status*>(statuses_ignore);
}

// A status is eight integers in every language.
static_assert(sizeof(MPI_Status) == sizeof(MPI_Fint[MPI_F_STATUS_SIZE]) && sizeof(MPI_Status) == sizeof(MPI_F08_status));
#define MPI_STATUS_COPY(name, From, To)                                                                         \
  extern "C" int PMPI_Status_##name(const From* from, To* to) try {                                             \
    const bool is_none = (const void*)from == nullptr || (const void*)from == MPI_F_STATUS_IGNORE ||            \
                         (const void*)from == MPI_F_STATUSES_IGNORE || to == nullptr;                           \
    if (is_none) return raise("MPI_Status_" #name, nullptr, MPI_ERR_ARG, "there is no status to be converted"); \
    std::memcpy(to, from, sizeof(MPI_Status));                                                                  \
    return MPI_SUCCESS;                                                                                         \
  }                                                                                                             \
  MPI_WEAK_NAME(Status_##name)

MPI_STATUS_COPY(c2f, MPI_Status, MPI_Fint)
MPI_STATUS_COPY(f2c, MPI_Fint, MPI_Status)
MPI_STATUS_COPY(c2f08, MPI_Status, MPI_F08_status)
MPI_STATUS_COPY(f082c, MPI_F08_status, MPI_Status)
MPI_STATUS_COPY(f2f08, MPI_Fint, MPI_F08_status)
MPI_STATUS_COPY(f082f, MPI_F08_status, MPI_Fint)
