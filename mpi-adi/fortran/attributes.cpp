// attributes.cpp: attributes of Fortran, which are integers, as C stores them: addresses.
//
// A value that Fortran sets is stored as the address of a cell that holds it, so that C reads it there; what C sets Fortran reads as the
// address itself; predefined attributes it reads at the address. Thread: any; one lock.
// Source: MPI-5.0, 7.7 and 19.3.7 (attributes between languages).
#include <deque>
#include <mutex>
#include <unordered_set>

#include "mpi-adi/fortran/runtime.h"

extern "C" {
#pragma GCC visibility push(default)
// The predefined functions, which programs hand over by name.
#define MPI_FORTRAN_COPY(name, value_copied)                                                                  \
  void name(MPI_Fint*, MPI_Fint*, MPI_Aint*, MPI_Aint* in, MPI_Aint* out, MPI_Fint* flag, MPI_Fint* ierror) { \
    if (value_copied) *out = *in;                                                                             \
    *flag = value_copied;                                                                                     \
    *ierror = MPI_SUCCESS;                                                                                    \
  }
#define MPI_FORTRAN_DELETE(name) \
  void name(MPI_Fint*, MPI_Fint*, MPI_Aint*, MPI_Aint*, MPI_Fint* ierror) { *ierror = MPI_SUCCESS; }
MPI_FORTRAN_COPY(mpi_comm_dup_fn_, 1)
MPI_FORTRAN_COPY(mpi_type_dup_fn_, 1)
MPI_FORTRAN_COPY(mpi_win_dup_fn_, 1)
MPI_FORTRAN_COPY(mpi_comm_null_copy_fn_, 0)
MPI_FORTRAN_COPY(mpi_type_null_copy_fn_, 0)
MPI_FORTRAN_COPY(mpi_win_null_copy_fn_, 0)
MPI_FORTRAN_DELETE(mpi_comm_null_delete_fn_)
MPI_FORTRAN_DELETE(mpi_type_null_delete_fn_)
MPI_FORTRAN_DELETE(mpi_win_null_delete_fn_)
MPI_FORTRAN_DELETE(mpi_null_delete_fn_)
void mpi_dup_fn_(MPI_Fint*, MPI_Fint*, MPI_Fint*, MPI_Fint* in, MPI_Fint* out, MPI_Fint* flag, MPI_Fint* ierror) {
  *out = *in;
  *flag = 1;
  *ierror = MPI_SUCCESS;
}
void mpi_null_copy_fn_(MPI_Fint*, MPI_Fint*, MPI_Fint*, MPI_Fint*, MPI_Fint*, MPI_Fint* flag, MPI_Fint* ierror) {
  *flag = 0;
  *ierror = MPI_SUCCESS;
}
#pragma GCC visibility pop
}

struct key_functions {
  fortran_function *copy, *remove;
  MPI_Aint extra_state;
  bool is_old;  // the deprecated functions, whose integers are default ones
};

namespace {

std::mutex lock_of_cells;
std::unordered_set<void*>& cells() {
  static auto& all = *new std::unordered_set<void*>;
  return all;
}

template <class Integer>
int copy_by(const key_functions& key, MPI_Fint handle, int keyval, MPI_Aint value, void* out, int* flag) {
  using Function = void(MPI_Fint*, MPI_Fint*, Integer*, Integer*, Integer*, MPI_Fint*, MPI_Fint*);
  MPI_Fint error = MPI_SUCCESS, copied = 0;
  auto extra = static_cast<Integer>(key.extra_state), in = static_cast<Integer>(value);
  Integer result = 0;
  reinterpret_cast<Function*>(key.copy)(&handle, &keyval, &extra, &in, &result, &copied, &error);
  *flag = copied != 0;
  if (error == MPI_SUCCESS && *flag) *static_cast<void**>(out) = attribute_cell(result);
  return error;
}
template <class Integer>
int delete_by(const key_functions& key, MPI_Fint handle, int keyval, MPI_Aint value) {
  using Function = void(MPI_Fint*, MPI_Fint*, Integer*, Integer*, MPI_Fint*);
  MPI_Fint error = MPI_SUCCESS;
  auto extra = static_cast<Integer>(key.extra_state), in = static_cast<Integer>(value);
  reinterpret_cast<Function*>(key.remove)(&handle, &keyval, &in, &extra, &error);
  return error;
}

int copy_attribute(MPI_Fint handle, int keyval, void* extra_state, void* in, void* out, int* flag) {
  const auto& key = *static_cast<key_functions*>(extra_state);
  const MPI_Aint value = attribute_value(in);
  return key.is_old ? copy_by<MPI_Fint>(key, handle, keyval, value, out, flag) : copy_by<MPI_Aint>(key, handle, keyval, value, out, flag);
}
int delete_attribute(MPI_Fint handle, int keyval, void* stored, void* extra_state) {
  const auto& key = *static_cast<key_functions*>(extra_state);
  const MPI_Aint value = attribute_value(stored);
  const int error = key.is_old ? delete_by<MPI_Fint>(key, handle, keyval, value) : delete_by<MPI_Aint>(key, handle, keyval, value);
  if (error == MPI_SUCCESS) attribute_gone(stored);
  return error;
}

}  // namespace

key_functions* make_key_functions(fortran_function* copy, fortran_function* remove, MPI_Aint extra_state, bool is_old) {
  static auto& all = *new std::deque<key_functions>;
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  return &all.emplace_back(key_functions{copy, remove, extra_state, is_old});
}

int comm_copy_thunk(MPI_Comm comm, int keyval, void* extra_state, void* in, void* out, int* flag) {
  return copy_attribute(from_comm(comm), keyval, extra_state, in, out, flag);
}
int type_copy_thunk(MPI_Datatype type, int keyval, void* extra_state, void* in, void* out, int* flag) {
  return copy_attribute(from_type(type), keyval, extra_state, in, out, flag);
}
int win_copy_thunk(MPI_Win win, int keyval, void* extra_state, void* in, void* out, int* flag) {
  return copy_attribute(from_win(win), keyval, extra_state, in, out, flag);
}
int comm_delete_thunk(MPI_Comm comm, int keyval, void* stored, void* extra_state) {
  return delete_attribute(from_comm(comm), keyval, stored, extra_state);
}
int type_delete_thunk(MPI_Datatype type, int keyval, void* stored, void* extra_state) {
  return delete_attribute(from_type(type), keyval, stored, extra_state);
}
int win_delete_thunk(MPI_Win win, int keyval, void* stored, void* extra_state) {
  return delete_attribute(from_win(win), keyval, stored, extra_state);
}

void* attribute_cell(MPI_Aint value) {
  auto* cell = new MPI_Aint(value);
  std::lock_guard lock(lock_of_cells);
  cells().insert(cell);
  return cell;
}
MPI_Aint attribute_value(void* stored) {
  std::lock_guard lock(lock_of_cells);
  return cells().count(stored) != 0 ? *static_cast<MPI_Aint*>(stored) : reinterpret_cast<MPI_Aint>(stored);
}
void attribute_gone(void* stored) {
  std::lock_guard lock(lock_of_cells);
  if (cells().erase(stored) != 0) delete static_cast<MPI_Aint*>(stored);
}

MPI_Aint comm_attribute(MPI_Fint keyval, void* stored) {
  return keyval >= MPI_TAG_UB && keyval <= MPI_UNIVERSE_SIZE ? *static_cast<int*>(stored) : attribute_value(stored);
}
MPI_Aint win_attribute(MPI_Fint keyval, void* stored) {
  if (keyval == MPI_WIN_SIZE) return *static_cast<MPI_Aint*>(stored);
  if (keyval == MPI_WIN_DISP_UNIT || keyval == MPI_WIN_CREATE_FLAVOR || keyval == MPI_WIN_MODEL) return *static_cast<int*>(stored);
  return attribute_value(stored);  // of MPI_WIN_BASE, the address
}
