// thunks.cpp: C functions that call those which Fortran programs hand over, with handles as integers.
//
// Operations and error handlers have no extra_state that could say which Fortran function is meant. So there are as many C functions
// as different Fortran functions can be in use; each, once it stands for one, does so for ever.
// Thread: any; one lock, taken when a function is handed over. Source: MPI-5.0, 6.9.5, 9.3, 13.2, 14.5.3, 19.1.16.
#include <array>
#include <deque>
#include <mutex>
#include <utility>

#include "mpi-adi/fortran/runtime.h"

namespace {

constexpr int kMost = 256;  // different functions of a kind

// The Fortran functions behind the C functions of one kind.
struct Functions {
  // The C function that stands for `function`; nullptr: kMost others are in use.
  template <class Thunk>
  Thunk* stand_for(fortran_function* function, const std::array<Thunk*, kMost>& thunks) {
    std::lock_guard lock(mutex);
    for (int i = 0; i < used; ++i)
      if (behind[i] == function) return thunks[static_cast<size_t>(i)];
    if (used == kMost) return nullptr;
    behind[used] = function;
    return thunks[static_cast<size_t>(used++)];
  }
  std::mutex mutex;
  int used = 0;
  fortran_function* behind[kMost] = {};  // written before the C function is known to anybody
};

template <class Function, class... Arguments>
void call(fortran_function* function, Arguments... arguments) {
  reinterpret_cast<Function*>(function)(arguments...);
}

template <class Count>
Functions operations;
template <class Count, int kSlot>
void operation(void* in, void* inout, Count* len, MPI_Datatype* type) {
  MPI_Fint number = from_type(*type);
  call<void(void*, void*, Count*, MPI_Fint*)>(operations<Count>.behind[kSlot], in, inout, len, &number);
}

MPI_Fint number_of(MPI_Comm handle) { return from_comm(handle); }
MPI_Fint number_of(MPI_Win handle) { return from_win(handle); }
MPI_Fint number_of(MPI_File handle) { return from_file(handle); }
MPI_Fint number_of(MPI_Session handle) { return from_session(handle); }

template <class Handle>
Functions handlers;
template <class Handle, int kSlot>
void handler(Handle* handle, int* code, ...) {
  MPI_Fint number = number_of(*handle);
  call<void(MPI_Fint*, MPI_Fint*)>(handlers<Handle>.behind[kSlot], &number, code);
}

template <class Count, int... kSlots>
auto operation_thunk(fortran_function* function, std::integer_sequence<int, kSlots...>) {
  static constexpr std::array<void (*)(void*, void*, Count*, MPI_Datatype*), kMost> kThunks = {operation<Count, kSlots>...};
  return operations<Count>.stand_for(function, kThunks);
}
template <class Handle, int... kSlots>
auto handler_thunk(fortran_function* function, std::integer_sequence<int, kSlots...>) {
  static constexpr std::array<void (*)(Handle*, int*, ...), kMost> kThunks = {handler<Handle, kSlots>...};
  return handlers<Handle>.stand_for(function, kThunks);
}
constexpr auto kAll = std::make_integer_sequence<int, kMost>();

}  // namespace

MPI_User_function* op_thunk(fortran_function* function) { return operation_thunk<int>(function, kAll); }
MPI_User_function_c* large_op_thunk(fortran_function* function) { return operation_thunk<MPI_Count>(function, kAll); }
MPI_Comm_errhandler_function* comm_errhandler_thunk(fortran_function* function) { return handler_thunk<MPI_Comm>(function, kAll); }
MPI_Win_errhandler_function* win_errhandler_thunk(fortran_function* function) { return handler_thunk<MPI_Win>(function, kAll); }
MPI_File_errhandler_function* file_errhandler_thunk(fortran_function* function) { return handler_thunk<MPI_File>(function, kAll); }
MPI_Session_errhandler_function* session_errhandler_thunk(fortran_function* function) { return handler_thunk<MPI_Session>(function, kAll); }

int raise_too_many() {
  PMPI_Comm_call_errhandler(MPI_COMM_SELF, MPI_ERR_OTHER);
  return MPI_ERR_OTHER;
}

// ---- Generalized requests

struct request_functions {
  fortran_function *query, *release, *cancel;
  MPI_Aint* extra_state;
};
request_functions* make_request_functions(fortran_function* query, fortran_function* release, fortran_function* cancel,
                                          MPI_Aint* extra_state) {
  return new request_functions{query, release, cancel, extra_state};
}
int query_thunk(void* extra_state, MPI_Status* status) {
  auto* functions = static_cast<request_functions*>(extra_state);
  MPI_Fint error = MPI_SUCCESS;
  call<void(MPI_Aint*, MPI_Status*, MPI_Fint*)>(functions->query, functions->extra_state, status, &error);
  return error;
}
int free_thunk(void* extra_state) {
  auto* functions = static_cast<request_functions*>(extra_state);
  MPI_Fint error = MPI_SUCCESS;
  call<void(MPI_Aint*, MPI_Fint*)>(functions->release, functions->extra_state, &error);
  delete functions;
  return error;
}
int cancel_thunk(void* extra_state, int complete) {
  auto* functions = static_cast<request_functions*>(extra_state);
  MPI_Fint error = MPI_SUCCESS, flag = complete;
  call<void(MPI_Aint*, MPI_Fint*, MPI_Fint*)>(functions->cancel, functions->extra_state, &flag, &error);
  return error;
}

// ---- Data representations

struct datarep_functions {
  fortran_function *read, *write, *extent;
  MPI_Aint extra_state;
};
datarep_functions* make_datarep_functions(fortran_function* read, fortran_function* write, fortran_function* extent, MPI_Aint extra_state) {
  static auto& all = *new std::deque<datarep_functions>;
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  return &all.emplace_back(datarep_functions{read, write, extent, extra_state});
}

namespace {

template <class Count>
int convert(fortran_function* function, MPI_Aint* extra_state, void* user, MPI_Datatype type, Count count, void* file,
            MPI_Offset position) {
  MPI_Fint error = MPI_SUCCESS, number = from_type(type);
  call<void(void*, MPI_Fint*, Count*, void*, MPI_Offset*, MPI_Aint*, MPI_Fint*)>(function, user, &number, &count, file, &position,
                                                                                 extra_state, &error);
  return error;
}
datarep_functions* functions_of(void* extra_state) { return static_cast<struct datarep_functions*>(extra_state); }

}  // namespace

int read_thunk(void* user, MPI_Datatype type, int count, void* file, MPI_Offset position, void* extra_state) {
  return convert(functions_of(extra_state)->read, &functions_of(extra_state)->extra_state, user, type, count, file, position);
}
int write_thunk(void* user, MPI_Datatype type, int count, void* file, MPI_Offset position, void* extra_state) {
  return convert(functions_of(extra_state)->write, &functions_of(extra_state)->extra_state, user, type, count, file, position);
}
int large_read_thunk(void* user, MPI_Datatype type, MPI_Count count, void* file, MPI_Offset position, void* extra_state) {
  return convert(functions_of(extra_state)->read, &functions_of(extra_state)->extra_state, user, type, count, file, position);
}
int large_write_thunk(void* user, MPI_Datatype type, MPI_Count count, void* file, MPI_Offset position, void* extra_state) {
  return convert(functions_of(extra_state)->write, &functions_of(extra_state)->extra_state, user, type, count, file, position);
}
int extent_thunk(MPI_Datatype type, MPI_Aint* extent, void* extra_state) {
  MPI_Fint error = MPI_SUCCESS, number = from_type(type);
  call<void(MPI_Fint*, MPI_Aint*, MPI_Aint*, MPI_Fint*)>(functions_of(extra_state)->extent, &number, extent,
                                                         &functions_of(extra_state)->extra_state, &error);
  return error;
}
