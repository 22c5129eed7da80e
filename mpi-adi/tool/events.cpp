// events.cpp: events of the tool information interface. There are none, and no sources of any: calls say so.
// Thread: any. Source: MPI-5.0, 15.3.8.
#include "mpi-adi/core/profiling.hpp"
#include "mpi-adi/tool/tool.hpp"

namespace portunus::mpi::tool {
namespace {

int nothing(int why) { return open() ? why : MPI_T_ERR_NOT_INITIALIZED; }

int none(int* number) {
  if (!open()) return MPI_T_ERR_NOT_INITIALIZED;
  if (number == nullptr) return MPI_T_ERR_INVALID;
  *number = 0;
  return MPI_SUCCESS;
}

}  // namespace
}  // namespace portunus::mpi::tool

using namespace portunus::mpi;

extern "C" int PMPI_T_event_get_num(int* num_events) try { return tool::none(num_events); }
MPI_WEAK_NAME(T_event_get_num)
extern "C" int PMPI_T_source_get_num(int* num_sources) try { return tool::none(num_sources); }
MPI_WEAK_NAME(T_source_get_num)

// No index, no name and no handle is valid.
#define NONE(Name, why, ...)                                                   \
  extern "C" int PMPI_T_##Name(__VA_ARGS__) try { return tool::nothing(why); } \
  MPI_WEAK_NAME(T_##Name)

NONE(source_get_info, MPI_T_ERR_INVALID_INDEX, int, char*, int*, char*, int*, MPI_T_source_order*, MPI_Count*, MPI_Count*, MPI_Info*)
NONE(source_get_timestamp, MPI_T_ERR_INVALID_INDEX, int, MPI_Count*)
NONE(event_get_info, MPI_T_ERR_INVALID_INDEX, int, char*, int*, int*, MPI_Datatype[], MPI_Aint[], int*, MPI_T_enum*, MPI_Info*, char*, int*,
     int*)
NONE(event_get_index, MPI_T_ERR_INVALID_NAME, const char*, int*)
NONE(event_handle_alloc, MPI_T_ERR_INVALID_INDEX, int, void*, MPI_Info, MPI_T_event_registration*)
NONE(event_handle_free, MPI_T_ERR_INVALID_HANDLE, MPI_T_event_registration, void*, MPI_T_event_free_cb_function*)
NONE(event_handle_set_info, MPI_T_ERR_INVALID_HANDLE, MPI_T_event_registration, MPI_Info)
NONE(event_handle_get_info, MPI_T_ERR_INVALID_HANDLE, MPI_T_event_registration, MPI_Info*)
NONE(event_register_callback, MPI_T_ERR_INVALID_HANDLE, MPI_T_event_registration, MPI_T_cb_safety, MPI_Info, void*,
     MPI_T_event_cb_function*)
NONE(event_callback_set_info, MPI_T_ERR_INVALID_HANDLE, MPI_T_event_registration, MPI_T_cb_safety, MPI_Info)
NONE(event_callback_get_info, MPI_T_ERR_INVALID_HANDLE, MPI_T_event_registration, MPI_T_cb_safety, MPI_Info*)
NONE(event_set_dropped_handler, MPI_T_ERR_INVALID_HANDLE, MPI_T_event_registration, MPI_T_event_dropped_cb_function*)
NONE(event_read, MPI_T_ERR_INVALID_HANDLE, MPI_T_event_instance, int, void*)
NONE(event_copy, MPI_T_ERR_INVALID_HANDLE, MPI_T_event_instance, void*)
NONE(event_get_timestamp, MPI_T_ERR_INVALID_HANDLE, MPI_T_event_instance, MPI_Count*)
NONE(event_get_source, MPI_T_ERR_INVALID_HANDLE, MPI_T_event_instance, int*)
