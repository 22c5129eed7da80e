// control.cpp: control variables: the settings of the environment. They can be written until MPI starts, which reads them.
#include <cinttypes>
#include <cstdlib>

#include "mpi-adi/core/init.hpp"
#include "mpi-adi/core/profiling.hpp"
#include "mpi-adi/core/settings.hpp"
#include "mpi-adi/tool/tool.hpp"

namespace portunus::mpi::tool {

int cvar_count() { return static_cast<int>(all_settings().size()); }

namespace {

bool control_exists(int index) { return index >= 0 && index < cvar_count(); }

// A handle is the setting's address.
const Setting* setting_of(MPI_T_cvar_handle handle) { return variable_of(all_settings(), handle); }

int write(const Setting& setting, uint64_t value) {
  if (phase.load(std::memory_order_acquire) != Phase::before) return MPI_T_ERR_CVAR_SET_NEVER;
  if (value < setting.least || value > setting.most) return MPI_T_ERR_INVALID;
  char text[24];
  std::snprintf(text, sizeof text, "%" PRIu64, value);
  if (setenv(setting.name, text, 1) != 0) return MPI_T_ERR_MEMORY;
  return read_settings() == nullptr ? MPI_SUCCESS : MPI_T_ERR_INVALID;
}

}  // namespace
}  // namespace portunus::mpi::tool

using namespace portunus::mpi;

extern "C" int PMPI_T_cvar_get_num(int* num_cvar) try {
  if (!tool::open()) return MPI_T_ERR_NOT_INITIALIZED;
  if (num_cvar == nullptr) return MPI_T_ERR_INVALID;
  *num_cvar = tool::cvar_count();
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(T_cvar_get_num)

extern "C" int PMPI_T_cvar_get_info(int cvar_index, char* name, int* name_len, int* verbosity, MPI_Datatype* datatype, MPI_T_enum* enumtype,
                                    char* desc, int* desc_len, int* bind, int* scope) try {
  if (!tool::open()) return MPI_T_ERR_NOT_INITIALIZED;
  if (!tool::control_exists(cvar_index)) return MPI_T_ERR_INVALID_INDEX;
  const Setting& setting = all_settings()[static_cast<size_t>(cvar_index)];
  tool::give(setting.name, name, name_len);
  tool::give(setting.meaning, desc, desc_len);
  tool::give(verbosity, MPI_T_VERBOSITY_USER_BASIC);
  tool::give(datatype, MPI_UINT64_T);
  tool::give(enumtype, MPI_T_ENUM_NULL);
  tool::give(bind, MPI_T_BIND_NO_OBJECT);
  tool::give(scope, MPI_T_SCOPE_LOCAL);
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(T_cvar_get_info)

extern "C" int PMPI_T_cvar_get_index(const char* name, int* cvar_index) try {
  if (!tool::open()) return MPI_T_ERR_NOT_INITIALIZED;
  if (name == nullptr || cvar_index == nullptr) return MPI_T_ERR_INVALID;
  const int found = tool::find(all_settings(), name);
  if (!tool::control_exists(found)) return MPI_T_ERR_INVALID_NAME;
  *cvar_index = found;
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(T_cvar_get_index)

extern "C" int PMPI_T_cvar_handle_alloc(int cvar_index, void*, MPI_T_cvar_handle* handle, int* count) try {
  if (!tool::open()) return MPI_T_ERR_NOT_INITIALIZED;
  if (!tool::control_exists(cvar_index)) return MPI_T_ERR_INVALID_INDEX;
  if (handle == nullptr || count == nullptr) return MPI_T_ERR_INVALID;
  *handle = reinterpret_cast<MPI_T_cvar_handle>(const_cast<Setting*>(&all_settings()[static_cast<size_t>(cvar_index)]));
  *count = 1;
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(T_cvar_handle_alloc)

extern "C" int PMPI_T_cvar_handle_free(MPI_T_cvar_handle* handle) try {
  if (!tool::open()) return MPI_T_ERR_NOT_INITIALIZED;
  if (handle == nullptr || tool::setting_of(*handle) == nullptr) return MPI_T_ERR_INVALID_HANDLE;
  *handle = MPI_T_CVAR_HANDLE_NULL;
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(T_cvar_handle_free)

extern "C" int PMPI_T_cvar_read(MPI_T_cvar_handle handle, void* buf) try {
  if (!tool::open()) return MPI_T_ERR_NOT_INITIALIZED;
  const Setting* setting = tool::setting_of(handle);
  if (setting == nullptr) return MPI_T_ERR_INVALID_HANDLE;
  if (buf == nullptr) return MPI_T_ERR_INVALID;
  std::memcpy(buf, &(settings.*setting->value), sizeof(uint64_t));
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(T_cvar_read)

extern "C" int PMPI_T_cvar_write(MPI_T_cvar_handle handle, const void* buf) try {
  if (!tool::open()) return MPI_T_ERR_NOT_INITIALIZED;
  const Setting* setting = tool::setting_of(handle);
  if (setting == nullptr) return MPI_T_ERR_INVALID_HANDLE;
  if (buf == nullptr) return MPI_T_ERR_INVALID;
  uint64_t value;
  std::memcpy(&value, buf, sizeof value);
  return tool::write(*setting, value);
}
MPI_WEAK_NAME(T_cvar_write)
