// performance.cpp: performance variables: what the engine of this process counts, from the start of MPI on. They always run and
// cannot be written.
#include "mpi-adi/core/init.hpp"
#include "mpi-adi/core/objects.hpp"
#include "mpi-adi/core/profiling.hpp"
#include "mpi-adi/tool/tool.hpp"
#include "portals/portals4_ext.h"

namespace portunus::mpi::tool {
namespace {

struct Count {
  const char* name;
  uint64_t ptlx_engine_info_t::*value;
  int kind;
  const char* meaning;
};
constexpr Count kCounts[] = {
    {"engine_cpu_ns", &ptlx_engine_info_t::engine_cpu_ns, MPI_T_PVAR_CLASS_TIMER, "nanoseconds of processor time of the engine's thread"},
    {"engine_steps", &ptlx_engine_info_t::steps, MPI_T_PVAR_CLASS_COUNTER, "steps of the engine that found work, by any thread"},
    {"engine_steps_by_engine", &ptlx_engine_info_t::steps_by_engine, MPI_T_PVAR_CLASS_COUNTER, "of these, by the engine's thread"},
    {"engine_sends", &ptlx_engine_info_t::sends, MPI_T_PVAR_CLASS_COUNTER, "messages handed to a transport"},
    {"engine_arrivals", &ptlx_engine_info_t::arrivals, MPI_T_PVAR_CLASS_COUNTER, "messages received"},
    {"engine_matches", &ptlx_engine_info_t::matches, MPI_T_PVAR_CLASS_COUNTER, "of these, those that met a receive or other memory"},
    {"engine_triggers", &ptlx_engine_info_t::triggers, MPI_T_PVAR_CLASS_COUNTER, "triggered operations that have fired"},
    {"engine_rings", &ptlx_engine_info_t::rings, MPI_T_PVAR_CLASS_COUNTER, "wake-ups of a sleeping process or thread"},
    {"engine_back_pressure", &ptlx_engine_info_t::back_pressure, MPI_T_PVAR_CLASS_COUNTER,
     "messages that waited because a transport was full"},
    {"engine_dropped", &ptlx_engine_info_t::dropped, MPI_T_PVAR_CLASS_COUNTER, "messages that nobody wanted"},
};

bool performance_exists(int index) { return index >= 0 && index < pvar_count(); }
// A handle is the variable's address.
const Count* count_of(MPI_T_pvar_handle handle) { return variable_of(kCounts, handle); }

struct Session {};
constinit ObjectPool<Session, 1 << 12> sessions;

// Checks calls on a variable in a session. MPI_T_PVAR_ALL_HANDLES leaves `found` null.
int check(MPI_T_pvar_session session, MPI_T_pvar_handle handle, bool all, const Count*& found) {
  if (!open()) return MPI_T_ERR_NOT_INITIALIZED;
  if (sessions.find(session) == nullptr) return MPI_T_ERR_INVALID_SESSION;
  found = count_of(handle);
  return found != nullptr || (all && handle == MPI_T_PVAR_ALL_HANDLES) ? MPI_SUCCESS : MPI_T_ERR_INVALID_HANDLE;
}
// Refuses calls that change a variable: none can be, and of all of them those that can are none.
int refuse(MPI_T_pvar_session session, MPI_T_pvar_handle handle, bool all, int error) {
  const Count* found;
  if (int wrong = check(session, handle, all, found)) return wrong;
  return found ? error : MPI_SUCCESS;
}

}  // namespace

int pvar_count() { return static_cast<int>(std::size(kCounts)); }

}  // namespace portunus::mpi::tool

using namespace portunus::mpi;

extern "C" int PMPI_T_pvar_get_num(int* num_pvar) try {
  if (!tool::open()) return MPI_T_ERR_NOT_INITIALIZED;
  if (num_pvar == nullptr) return MPI_T_ERR_INVALID;
  *num_pvar = tool::pvar_count();
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(T_pvar_get_num)

extern "C" int PMPI_T_pvar_get_info(int pvar_index, char* name, int* name_len, int* verbosity, int* var_class, MPI_Datatype* datatype,
                                    MPI_T_enum* enumtype, char* desc, int* desc_len, int* bind, int* readonly, int* continuous,
                                    int* atomic) try {
  if (!tool::open()) return MPI_T_ERR_NOT_INITIALIZED;
  if (!tool::performance_exists(pvar_index)) return MPI_T_ERR_INVALID_INDEX;
  const tool::Count& count = tool::kCounts[pvar_index];
  tool::give(count.name, name, name_len);
  tool::give(count.meaning, desc, desc_len);
  tool::give(verbosity, MPI_T_VERBOSITY_TUNER_BASIC);
  tool::give(var_class, count.kind);
  tool::give(datatype, MPI_UNSIGNED_LONG);
  tool::give(enumtype, MPI_T_ENUM_NULL);
  tool::give(bind, MPI_T_BIND_NO_OBJECT);
  tool::give(readonly, 1);
  tool::give(continuous, 1);
  tool::give(atomic, 0);
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(T_pvar_get_info)

extern "C" int PMPI_T_pvar_get_index(const char* name, int var_class, int* pvar_index) try {
  if (!tool::open()) return MPI_T_ERR_NOT_INITIALIZED;
  if (name == nullptr || pvar_index == nullptr) return MPI_T_ERR_INVALID;
  const int found = tool::find(tool::kCounts, name);
  if (!tool::performance_exists(found) || tool::kCounts[found].kind != var_class) return MPI_T_ERR_INVALID_NAME;
  *pvar_index = found;
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(T_pvar_get_index)

extern "C" int PMPI_T_pvar_session_create(MPI_T_pvar_session* session) try {
  if (!tool::open()) return MPI_T_ERR_NOT_INITIALIZED;
  if (session == nullptr) return MPI_T_ERR_INVALID;
  *session = reinterpret_cast<MPI_T_pvar_session>(tool::sessions.claim());
  return *session != MPI_T_PVAR_SESSION_NULL ? MPI_SUCCESS : MPI_T_ERR_OUT_OF_SESSIONS;
}
MPI_WEAK_NAME(T_pvar_session_create)

extern "C" int PMPI_T_pvar_session_free(MPI_T_pvar_session* session) try {
  if (!tool::open()) return MPI_T_ERR_NOT_INITIALIZED;
  auto* found = session ? tool::sessions.find(*session) : nullptr;
  if (found == nullptr) return MPI_T_ERR_INVALID_SESSION;
  tool::sessions.release(found);
  *session = MPI_T_PVAR_SESSION_NULL;
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(T_pvar_session_free)

extern "C" int PMPI_T_pvar_handle_alloc(MPI_T_pvar_session session, int pvar_index, void*, MPI_T_pvar_handle* handle, int* count) try {
  if (!tool::open()) return MPI_T_ERR_NOT_INITIALIZED;
  if (tool::sessions.find(session) == nullptr) return MPI_T_ERR_INVALID_SESSION;
  if (!tool::performance_exists(pvar_index)) return MPI_T_ERR_INVALID_INDEX;
  if (handle == nullptr || count == nullptr) return MPI_T_ERR_INVALID;
  *handle = reinterpret_cast<MPI_T_pvar_handle>(const_cast<tool::Count*>(&tool::kCounts[pvar_index]));
  *count = 1;
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(T_pvar_handle_alloc)

extern "C" int PMPI_T_pvar_handle_free(MPI_T_pvar_session session, MPI_T_pvar_handle* handle) try {
  const tool::Count* found;
  if (handle == nullptr) return tool::open() ? MPI_T_ERR_INVALID_HANDLE : MPI_T_ERR_NOT_INITIALIZED;
  if (int error = tool::check(session, *handle, false, found)) return error;
  *handle = MPI_T_PVAR_HANDLE_NULL;
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(T_pvar_handle_free)

extern "C" int PMPI_T_pvar_read(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void* buf) try {
  const tool::Count* found;
  if (int error = tool::check(session, handle, false, found)) return error;
  if (buf == nullptr) return MPI_T_ERR_INVALID;
  ptlx_engine_info_t info{};  // all 0 while MPI does not run
  if (phase.load(std::memory_order_acquire) == Phase::running) PtlxEngineInfo(&info);
  std::memcpy(buf, &(info.*found->value), sizeof(uint64_t));
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(T_pvar_read)

extern "C" int PMPI_T_pvar_start(MPI_T_pvar_session session, MPI_T_pvar_handle handle) try {
  return tool::refuse(session, handle, true, MPI_T_ERR_PVAR_NO_STARTSTOP);
}
MPI_WEAK_NAME(T_pvar_start)

extern "C" int PMPI_T_pvar_stop(MPI_T_pvar_session session, MPI_T_pvar_handle handle) try {
  return tool::refuse(session, handle, true, MPI_T_ERR_PVAR_NO_STARTSTOP);
}
MPI_WEAK_NAME(T_pvar_stop)

extern "C" int PMPI_T_pvar_write(MPI_T_pvar_session session, MPI_T_pvar_handle handle, const void*) try {
  return tool::refuse(session, handle, false, MPI_T_ERR_PVAR_NO_WRITE);
}
MPI_WEAK_NAME(T_pvar_write)

extern "C" int PMPI_T_pvar_reset(MPI_T_pvar_session session, MPI_T_pvar_handle handle) try {
  return tool::refuse(session, handle, true, MPI_T_ERR_PVAR_NO_WRITE);
}
MPI_WEAK_NAME(T_pvar_reset)

extern "C" int PMPI_T_pvar_readreset(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void*) try {
  return tool::refuse(session, handle, false, MPI_T_ERR_PVAR_NO_WRITE);
}
MPI_WEAK_NAME(T_pvar_readreset)
