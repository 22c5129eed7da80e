// query.cpp: attributes, names, hints, error handlers and groups of windows.
// Source: MPI-5.0, 12.2.6, 7.7.3, 7.8, 9.3.2.
#include <cstdio>
#include <optional>

#include "mpi-adi/core/checks.hpp"
#include "mpi-adi/core/errors.hpp"
#include "mpi-adi/core/profiling.hpp"
#include "mpi-adi/rma/window.hpp"

using namespace portunus::mpi;
using namespace portunus::mpi::rma;

namespace {

// Finds the window and checks that none of the addresses is null.
int check_all(const char* function, MPI_Win win, Window*& window, std::initializer_list<const void*> results) {
  if (int error = portunus::mpi::rma::check(function, win, window)) return error;
  for (const void* result : results)
    if (result == nullptr) return raise(function, *window, MPI_ERR_ARG, "an address for a result, or of an argument, is null");
  return MPI_SUCCESS;
}

int raise_no_key(const char* function, const Window& window, int keyval) {
  return raise(function, window, MPI_ERR_KEYVAL, "%d is no key of a window's attribute that can be set", keyval);
}

}  // namespace

extern "C" int PMPI_Win_get_group(MPI_Win win, MPI_Group* group) try {
  Window* window;
  if (int error = check_all("MPI_Win_get_group", win, window, {group})) return error;
  *group = handle_of(retain(window->comm->group));
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Win_get_group)

extern "C" int PMPI_Win_set_name(MPI_Win win, const char* win_name) try {
  Window* window;
  if (int error = check_all("MPI_Win_set_name", win, window, {win_name})) return error;
  std::snprintf(window->name, sizeof window->name, "%s", win_name);
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Win_set_name)

extern "C" int PMPI_Win_get_name(MPI_Win win, char* win_name, int* resultlen) try {
  if (win == MPI_WIN_NULL && predefined_count != 0 && win_name != nullptr && resultlen != nullptr) {
    *resultlen = std::snprintf(win_name, MPI_MAX_OBJECT_NAME, "MPI_WIN_NULL");  // this call alone takes MPI_WIN_NULL
    return MPI_SUCCESS;
  }
  Window* window;
  if (int error = check_all("MPI_Win_get_name", win, window, {win_name, resultlen})) return error;
  *resultlen = std::snprintf(win_name, MPI_MAX_OBJECT_NAME, "%s", window->name);
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Win_get_name)

extern "C" int PMPI_Win_set_info(MPI_Win win, MPI_Info info) try {
  static constexpr char kName[] = "MPI_Win_set_info";
  Window* window;
  if (int error = check_all(kName, win, window, {})) return error;
  const RaisedAt here(origin_of(*window));
  if (int error = check_info(kName, nullptr, info)) return error;
  for (const auto& [key, value] : hints_of(info)) set_hint(window->hints, key, value);
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Win_set_info)

extern "C" int PMPI_Win_get_info(MPI_Win win, MPI_Info* info_used) try {
  Window* window;
  if (int error = check_all("MPI_Win_get_info", win, window, {info_used})) return error;
  *info_used = make_info(with_memory_kinds(window->hints));
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Win_get_info)

extern "C" int PMPI_Win_create_keyval(MPI_Win_copy_attr_function* win_copy_attr_fn, MPI_Win_delete_attr_function* win_delete_attr_fn,
                                      int* win_keyval, void* extra_state) try {
  static constexpr char kName[] = "MPI_Win_create_keyval";
  if (win_keyval == nullptr) return portunus::mpi::raise(kName, nullptr, MPI_ERR_ARG, "the address for the key is null");
  *win_keyval = Attributes<MPI_Win>::create_keyval(win_copy_attr_fn, win_delete_attr_fn, extra_state);
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Win_create_keyval)

extern "C" int PMPI_Win_free_keyval(int* win_keyval) try {
  static constexpr char kName[] = "MPI_Win_free_keyval";
  if (win_keyval == nullptr) return portunus::mpi::raise(kName, nullptr, MPI_ERR_ARG, "the address of the key is null");
  if (!Attributes<MPI_Win>::free_keyval(*win_keyval))
    return portunus::mpi::raise(kName, nullptr, MPI_ERR_KEYVAL, "%d is no key of a window's attribute", *win_keyval);
  *win_keyval = MPI_KEYVAL_INVALID;
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Win_free_keyval)

extern "C" int PMPI_Win_set_attr(MPI_Win win, int win_keyval, void* attribute_val) try {
  static constexpr char kName[] = "MPI_Win_set_attr";
  Window* window;
  if (int error = check_all(kName, win, window, {})) return error;
  const std::optional<int> error = window->attributes.set(win, win_keyval, attribute_val);
  if (!error) return raise_no_key(kName, *window, win_keyval);
  return *error ? raise(kName, *window, *error, "the old attribute's delete function failed") : MPI_SUCCESS;
}
MPI_WEAK_NAME(Win_set_attr)

extern "C" int PMPI_Win_delete_attr(MPI_Win win, int win_keyval) try {
  static constexpr char kName[] = "MPI_Win_delete_attr";
  Window* window;
  if (int error = check_all(kName, win, window, {})) return error;
  const std::optional<int> error = window->attributes.erase(win, win_keyval);
  if (!error) return raise_no_key(kName, *window, win_keyval);
  return *error ? raise(kName, *window, *error, "the attribute's delete function failed") : MPI_SUCCESS;
}
MPI_WEAK_NAME(Win_delete_attr)

extern "C" int PMPI_Win_get_attr(MPI_Win win, int win_keyval, void* attribute_val, int* flag) try {
  static constexpr char kName[] = "MPI_Win_get_attr";
  Window* window;
  if (int error = check_all(kName, win, window, {attribute_val, flag})) return error;
  void* value = nullptr;
  *flag = 1;
  switch (win_keyval) {
    case MPI_WIN_BASE: value = window->base; break;
    case MPI_WIN_SIZE: value = &window->size; break;
    case MPI_WIN_DISP_UNIT: value = &window->narrow_unit; break;
    case MPI_WIN_CREATE_FLAVOR: value = &window->flavor; break;
    case MPI_WIN_MODEL: value = &window->model; break;
    default:
      *flag = window->attributes.get(win_keyval, value);
      if (!*flag && !Attributes<MPI_Win>::is_keyval(win_keyval)) return raise_no_key(kName, *window, win_keyval);
  }
  if (*flag) *static_cast<void**>(attribute_val) = value;
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Win_get_attr)

extern "C" int PMPI_Win_create_errhandler(MPI_Win_errhandler_function* win_errhandler_fn, MPI_Errhandler* errhandler) try {
  static constexpr char kName[] = "MPI_Win_create_errhandler";
  if (int error = check_results(kName, nullptr, {reinterpret_cast<const void*>(win_errhandler_fn), errhandler})) return error;
  ErrorHandler* made;
  *errhandler = make_errhandler(Subject::window, made);
  if (made == nullptr) return portunus::mpi::raise(kName, nullptr, MPI_ERR_NO_MEM, "too many error handlers are in use");
  made->window = win_errhandler_fn;
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Win_create_errhandler)

extern "C" int PMPI_Win_set_errhandler(MPI_Win win, MPI_Errhandler errhandler) try {
  static constexpr char kName[] = "MPI_Win_set_errhandler";
  Window* window;
  if (int error = check_all(kName, win, window, {})) return error;
  if (!fits(errhandler, Subject::window))
    return raise(kName, *window, MPI_ERR_ERRHANDLER, "%p is no error handler of windows", static_cast<void*>(errhandler));
  replace_errhandler(window->errhandler, errhandler);
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Win_set_errhandler)

extern "C" int PMPI_Win_get_errhandler(MPI_Win win, MPI_Errhandler* errhandler) try {
  Window* window;
  if (int error = check_all("MPI_Win_get_errhandler", win, window, {errhandler})) return error;
  *errhandler = share_errhandler(window->errhandler);
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Win_get_errhandler)

extern "C" int PMPI_Win_call_errhandler(MPI_Win win, int errorcode) try {
  static constexpr char kName[] = "MPI_Win_call_errhandler";
  Window* window;
  if (int error = check_all(kName, win, window, {})) return error;
  raise(kName, *window, errorcode, "called by the program");
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Win_call_errhandler)
