// events.cpp: the calls of tools that listen to events, and the one source that events have: this library, by the clock of MPI_Wtime.
// Thread: any. Source: MPI-5.0, 15.3.8.
#include "mpi-adi/core/device.hpp"
#include "mpi-adi/core/long_waits.hpp"
#include "mpi-adi/core/profiling.hpp"
#include "mpi-adi/tool/registrations.hpp"
#include "mpi-adi/tool/tool.hpp"

namespace portunus::mpi::tool {
namespace {

constexpr char kSource[] = "portunus", kSourceMeaning[] = "this library; nanoseconds of CLOCK_MONOTONIC";

bool event_exists(int index) { return index >= 0 && index < kEvents; }

// An empty info where one is wanted.
int give_info(MPI_Info* info) { return info == nullptr ? MPI_SUCCESS : PMPI_Info_create(info); }

int check(MPI_T_event_registration handle, Registration*& found) {
  if (!open()) return MPI_T_ERR_NOT_INITIALIZED;
  found = find_registration(handle);
  return found == nullptr ? MPI_T_ERR_INVALID_HANDLE : MPI_SUCCESS;
}
int check(MPI_T_event_registration handle, MPI_T_cb_safety safety, Registration*& found, int& place) {
  if (const int wrong = check(handle, found)) return wrong;
  place = place_of(safety);
  return place < 0 ? MPI_T_ERR_INVALID : MPI_SUCCESS;
}
int check(MPI_T_event_instance handle, const Instance*& found) {
  if (!open()) return MPI_T_ERR_NOT_INITIALIZED;
  found = find_instance(handle);
  return found == nullptr ? MPI_T_ERR_INVALID_HANDLE : MPI_SUCCESS;
}

int count_of(int* number, int count) {
  if (!open()) return MPI_T_ERR_NOT_INITIALIZED;
  if (number == nullptr) return MPI_T_ERR_INVALID;
  *number = count;
  return MPI_SUCCESS;
}

}  // namespace
}  // namespace portunus::mpi::tool

using namespace portunus::mpi;

// ---- sources

extern "C" int PMPI_T_source_get_num(int* num_sources) try { return tool::count_of(num_sources, 1); }
MPI_WEAK_NAME(T_source_get_num)

extern "C" int PMPI_T_source_get_info(int source_index, char* name, int* name_len, char* desc, int* desc_len, MPI_T_source_order* ordering,
                                      MPI_Count* ticks_per_second, MPI_Count* max_ticks, MPI_Info* info) try {
  if (!tool::open()) return MPI_T_ERR_NOT_INITIALIZED;
  if (source_index != 0) return MPI_T_ERR_INVALID_INDEX;
  tool::give(tool::kSource, name, name_len);
  tool::give(tool::kSourceMeaning, desc, desc_len);
  tool::give(ordering, device::device.threaded ? MPI_T_SOURCE_UNORDERED : MPI_T_SOURCE_ORDERED);
  tool::give(ticks_per_second, MPI_Count{1'000'000'000});
  tool::give(max_ticks, INT64_MAX);
  return tool::give_info(info);
}
MPI_WEAK_NAME(T_source_get_info)

extern "C" int PMPI_T_source_get_timestamp(int source_index, MPI_Count* timestamp) try {
  if (!tool::open()) return MPI_T_ERR_NOT_INITIALIZED;
  if (source_index != 0) return MPI_T_ERR_INVALID_INDEX;
  if (timestamp == nullptr) return MPI_T_ERR_INVALID;
  *timestamp = static_cast<MPI_Count>(device::long_waits::now());
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(T_source_get_timestamp)

// ---- types

extern "C" int PMPI_T_event_get_num(int* num_events) try { return tool::count_of(num_events, tool::kEvents); }
MPI_WEAK_NAME(T_event_get_num)

// Arrays get as many elements as have room there.
extern "C" int PMPI_T_event_get_info(int event_index, char* name, int* name_len, int* verbosity, MPI_Datatype array_of_datatypes[],
                                     MPI_Aint array_of_displacements[], int* num_elements, MPI_T_enum* enumtype, MPI_Info* info, char* desc,
                                     int* desc_len, int* bind) try {
  if (!tool::open()) return MPI_T_ERR_NOT_INITIALIZED;
  if (!tool::event_exists(event_index)) return MPI_T_ERR_INVALID_INDEX;
  const tool::EventType& type = tool::kEventTypes[event_index];
  tool::give(type.name, name, name_len);
  tool::give(type.meaning, desc, desc_len);
  tool::give(verbosity, MPI_T_VERBOSITY_USER_DETAIL);
  for (int i = 0; num_elements != nullptr && i < type.elements && i < *num_elements; ++i) {
    if (array_of_datatypes != nullptr) array_of_datatypes[i] = MPI_INT64_T;
    if (array_of_displacements != nullptr) array_of_displacements[i] = i * static_cast<MPI_Aint>(sizeof(int64_t));
  }
  tool::give(num_elements, type.elements);
  tool::give(enumtype, MPI_T_ENUM_NULL);
  tool::give(bind, MPI_T_BIND_NO_OBJECT);
  return tool::give_info(info);
}
MPI_WEAK_NAME(T_event_get_info)

extern "C" int PMPI_T_event_get_index(const char* name, int* event_index) try {
  if (!tool::open()) return MPI_T_ERR_NOT_INITIALIZED;
  if (name == nullptr || event_index == nullptr) return MPI_T_ERR_INVALID;
  const int found = tool::find(tool::kEventTypes, name);
  if (!tool::event_exists(found)) return MPI_T_ERR_INVALID_NAME;
  *event_index = found;
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(T_event_get_index)

// ---- registrations

extern "C" int PMPI_T_event_handle_alloc(int event_index, void*, MPI_Info, MPI_T_event_registration* event_registration) try {
  if (!tool::open()) return MPI_T_ERR_NOT_INITIALIZED;
  if (!tool::event_exists(event_index)) return MPI_T_ERR_INVALID_INDEX;
  if (event_registration == nullptr) return MPI_T_ERR_INVALID;
  tool::Registration* const made = tool::add_registration(static_cast<tool::Event>(event_index));
  if (made == nullptr) return MPI_T_ERR_OUT_OF_HANDLES;
  *event_registration = tool::handle_of(made);
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(T_event_handle_alloc)

// Nothing refers to it any more when the callback is called.
extern "C" int PMPI_T_event_handle_free(MPI_T_event_registration event_registration, void* user_data,
                                        MPI_T_event_free_cb_function* free_cb_function) try {
  tool::Registration* found;
  if (const int wrong = tool::check(event_registration, found)) return wrong;
  tool::remove_registration(found);
  if (free_cb_function != nullptr) free_cb_function(event_registration, MPI_T_CB_REQUIRE_NONE, user_data);
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(T_event_handle_free)

// There are no hints.
extern "C" int PMPI_T_event_handle_set_info(MPI_T_event_registration event_registration, MPI_Info) try {
  tool::Registration* found;
  return tool::check(event_registration, found);
}
MPI_WEAK_NAME(T_event_handle_set_info)

extern "C" int PMPI_T_event_handle_get_info(MPI_T_event_registration event_registration, MPI_Info* info_used) try {
  tool::Registration* found;
  if (const int wrong = tool::check(event_registration, found)) return wrong;
  return info_used == nullptr ? MPI_T_ERR_INVALID : tool::give_info(info_used);
}
MPI_WEAK_NAME(T_event_handle_get_info)

// A null function takes the callback of this level away.
extern "C" int PMPI_T_event_register_callback(MPI_T_event_registration event_registration, MPI_T_cb_safety cb_safety, MPI_Info,
                                              void* user_data, MPI_T_event_cb_function* event_cb_function) try {
  tool::Registration* found;
  int place;
  if (const int wrong = tool::check(event_registration, cb_safety, found, place)) return wrong;
  tool::set_callback(*found, place, {event_cb_function, user_data});
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(T_event_register_callback)

extern "C" int PMPI_T_event_callback_set_info(MPI_T_event_registration event_registration, MPI_T_cb_safety cb_safety, MPI_Info) try {
  tool::Registration* found;
  int place;
  return tool::check(event_registration, cb_safety, found, place);
}
MPI_WEAK_NAME(T_event_callback_set_info)

extern "C" int PMPI_T_event_callback_get_info(MPI_T_event_registration event_registration, MPI_T_cb_safety cb_safety,
                                              MPI_Info* info_used) try {
  tool::Registration* found;
  int place;
  if (const int wrong = tool::check(event_registration, cb_safety, found, place)) return wrong;
  return info_used == nullptr ? MPI_T_ERR_INVALID : tool::give_info(info_used);
}
MPI_WEAK_NAME(T_event_callback_get_info)

extern "C" int PMPI_T_event_set_dropped_handler(MPI_T_event_registration event_registration,
                                                MPI_T_event_dropped_cb_function* dropped_cb_function) try {
  tool::Registration* found;
  if (const int wrong = tool::check(event_registration, found)) return wrong;
  tool::set_dropped_handler(*found, dropped_cb_function);
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(T_event_set_dropped_handler)

// ---- an event, while a callback runs for it

extern "C" int PMPI_T_event_read(MPI_T_event_instance event_instance, int element_index, void* buffer) try {
  const tool::Instance* found;
  if (const int wrong = tool::check(event_instance, found)) return wrong;
  if (element_index < 0 || element_index >= tool::kEventTypes[static_cast<int>(found->event)].elements) return MPI_T_ERR_INVALID_INDEX;
  if (buffer == nullptr) return MPI_T_ERR_INVALID;
  std::memcpy(buffer, &found->numbers[static_cast<size_t>(element_index)], sizeof(int64_t));
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(T_event_read)

extern "C" int PMPI_T_event_copy(MPI_T_event_instance event_instance, void* buffer) try {
  const tool::Instance* found;
  if (const int wrong = tool::check(event_instance, found)) return wrong;
  const auto elements = static_cast<size_t>(tool::kEventTypes[static_cast<int>(found->event)].elements);
  if (buffer == nullptr && elements > 0) return MPI_T_ERR_INVALID;
  if (elements > 0) std::memcpy(buffer, found->numbers.data(), elements * sizeof(int64_t));
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(T_event_copy)

extern "C" int PMPI_T_event_get_timestamp(MPI_T_event_instance event_instance, MPI_Count* event_timestamp) try {
  const tool::Instance* found;
  if (const int wrong = tool::check(event_instance, found)) return wrong;
  if (event_timestamp == nullptr) return MPI_T_ERR_INVALID;
  *event_timestamp = static_cast<MPI_Count>(found->time_ns);
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(T_event_get_timestamp)

extern "C" int PMPI_T_event_get_source(MPI_T_event_instance event_instance, int* source_index) try {
  const tool::Instance* found;
  if (const int wrong = tool::check(event_instance, found)) return wrong;
  if (source_index == nullptr) return MPI_T_ERR_INVALID;
  *source_index = 0;
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(T_event_get_source)
