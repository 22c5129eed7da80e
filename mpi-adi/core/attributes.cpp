// attributes.cpp: keys and attributes of communicators.
// Source: MPI-5.0, 7.7 and 9.1.2 (the predefined ones); 16.1 (deprecated names).
#include "mpi-adi/core/attributes.hpp"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "mpi-adi/core/checks.hpp"
#include "mpi-adi/core/error_codes.hpp"
#include "mpi-adi/core/profiling.hpp"
#include "mpi-adi/dynamic/spawn.hpp"

namespace portunus::mpi {
namespace {

// The address of a predefined attribute's value; nullptr: not set.
int* predefined_attribute(int keyval) {
  static int tag_upper_bound = kMaxTag, no_host = MPI_PROC_NULL, any_rank_does_io = MPI_ANY_SOURCE, clock_is_global = 0;
  static int universe_size, app_number;
  switch (keyval) {
    case MPI_TAG_UB: return &tag_upper_bound;
    case MPI_HOST: return &no_host;
    case MPI_IO: return &any_rank_does_io;
    case MPI_WTIME_IS_GLOBAL: return &clock_is_global;
    case MPI_LASTUSEDCODE: return &last_used_code;
    case MPI_APPNUM: {
      const char* number = std::getenv("PTL_APPNUM");  // only ptlrun tells it
      if (number == nullptr) return nullptr;
      app_number = std::atoi(number);
      return &app_number;
    }
    case MPI_UNIVERSE_SIZE: universe_size = std::max(world().size, room_for_processes()); return &universe_size;
    default: return nullptr;
  }
}
bool is_predefined(int keyval) { return keyval >= MPI_TAG_UB && keyval <= MPI_UNIVERSE_SIZE; }

int raise_no_key(const char* function, const Communicator* comm, int keyval) {
  if (is_predefined(keyval)) return raise(function, comm, MPI_ERR_KEYVAL, "the predefined key %d cannot be changed", keyval);
  return raise(function, comm, MPI_ERR_KEYVAL, "%d is no key of attributes of communicators", keyval);
}

int create_keyval(const char* function, MPI_Comm_copy_attr_function* copy, MPI_Comm_delete_attr_function* remove, int* keyval,
                  void* extra_state) {
  if (int error = check_results(function, nullptr, {keyval})) return error;
  *keyval = Attributes<MPI_Comm>::create_keyval(copy, remove, extra_state);
  return MPI_SUCCESS;
}

int free_keyval(const char* function, int* keyval) {
  if (int error = check_results(function, nullptr, {keyval})) return error;
  if (!Attributes<MPI_Comm>::free_keyval(*keyval)) return raise_no_key(function, nullptr, *keyval);
  *keyval = MPI_KEYVAL_INVALID;
  return MPI_SUCCESS;
}

int set(const char* function, MPI_Comm comm, int keyval, void* value) {
  Communicator* found;
  if (int error = check(function, comm, found, {})) return error;
  const std::optional<int> error = found->attributes.set(comm, keyval, value);
  if (!error) return raise_no_key(function, found, keyval);
  return *error ? raise(function, found, *error, "the old attribute's delete function failed") : MPI_SUCCESS;
}

int get(const char* function, MPI_Comm comm, int keyval, void* result, int* flag) {
  Communicator* found;
  if (int error = check(function, comm, found, {result, flag})) return error;
  void* value = nullptr;
  if (is_predefined(keyval)) {
    // The others belong to the world, of which communicators of sessions know nothing (MPI-5.0, 9.1.2).
    value = keyval == MPI_TAG_UB || !found->session_buffer ? predefined_attribute(keyval) : nullptr;
    *flag = value != nullptr;
  } else {
    *flag = found->attributes.get(keyval, value);
    if (!*flag && !Attributes<MPI_Comm>::is_keyval(keyval)) return raise_no_key(function, found, keyval);
  }
  if (*flag) *static_cast<void**>(result) = value;
  return MPI_SUCCESS;
}

int erase(const char* function, MPI_Comm comm, int keyval) {
  Communicator* found;
  if (int error = check(function, comm, found, {})) return error;
  const std::optional<int> error = found->attributes.erase(comm, keyval);
  if (!error) return raise_no_key(function, found, keyval);
  return *error ? raise(function, found, *error, "the attribute's delete function failed") : MPI_SUCCESS;
}

}  // namespace
}  // namespace portunus::mpi

using namespace portunus::mpi;

extern "C" int PMPI_Comm_create_keyval(MPI_Comm_copy_attr_function* comm_copy_attr_fn, MPI_Comm_delete_attr_function* comm_delete_attr_fn,
                                       int* comm_keyval, void* extra_state) try {
  return create_keyval("MPI_Comm_create_keyval", comm_copy_attr_fn, comm_delete_attr_fn, comm_keyval, extra_state);
}
MPI_WEAK_NAME(Comm_create_keyval)

extern "C" int PMPI_Keyval_create(MPI_Copy_function* copy_fn, MPI_Delete_function* delete_fn, int* keyval, void* extra_state) try {
  return create_keyval("MPI_Keyval_create", copy_fn, delete_fn, keyval, extra_state);
}
MPI_WEAK_NAME(Keyval_create)

extern "C" int PMPI_Comm_free_keyval(int* comm_keyval) try { return free_keyval("MPI_Comm_free_keyval", comm_keyval); }
MPI_WEAK_NAME(Comm_free_keyval)

extern "C" int PMPI_Keyval_free(int* keyval) try { return free_keyval("MPI_Keyval_free", keyval); }
MPI_WEAK_NAME(Keyval_free)

extern "C" int PMPI_Comm_set_attr(MPI_Comm comm, int comm_keyval, void* attribute_val) try {
  return set("MPI_Comm_set_attr", comm, comm_keyval, attribute_val);
}
MPI_WEAK_NAME(Comm_set_attr)

extern "C" int PMPI_Attr_put(MPI_Comm comm, int keyval, void* attribute_val) try {
  return set("MPI_Attr_put", comm, keyval, attribute_val);
}
MPI_WEAK_NAME(Attr_put)

extern "C" int PMPI_Comm_get_attr(MPI_Comm comm, int comm_keyval, void* attribute_val, int* flag) try {
  return get("MPI_Comm_get_attr", comm, comm_keyval, attribute_val, flag);
}
MPI_WEAK_NAME(Comm_get_attr)

extern "C" int PMPI_Attr_get(MPI_Comm comm, int keyval, void* attribute_val, int* flag) try {
  return get("MPI_Attr_get", comm, keyval, attribute_val, flag);
}
MPI_WEAK_NAME(Attr_get)

extern "C" int PMPI_Comm_delete_attr(MPI_Comm comm, int comm_keyval) try { return erase("MPI_Comm_delete_attr", comm, comm_keyval); }
MPI_WEAK_NAME(Comm_delete_attr)

extern "C" int PMPI_Attr_delete(MPI_Comm comm, int keyval) try { return erase("MPI_Attr_delete", comm, keyval); }
MPI_WEAK_NAME(Attr_delete)
