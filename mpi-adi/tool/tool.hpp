// tool.hpp: what the calls of the tool information interface share.
//
// Control variables are the settings of settings.hpp, performance variables what the engine counts about itself. None is
// bound to an object. Errors are only returned: no error handler is called.
// Thread: any. Source: MPI-5.0, 15.3.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <iterator>

#include "mpi-adi/mpi.h"

namespace portunus::mpi::tool {

// Between MPI_T_init_thread and as many MPI_T_finalize.
bool open();

// Writes a string as MPI_T calls hand it out: `length` is the room there, and becomes what the string takes, with its end. Either
// may be null.
inline void give(const char* string, char* room, int* length) {
  if (length == nullptr) return;
  if (room != nullptr && *length > 0) std::snprintf(room, static_cast<size_t>(*length), "%s", string);
  *length = static_cast<int>(std::strlen(string)) + 1;
}
template <class T, class Value>
void give(T* place, Value value) {
  if (place != nullptr) *place = value;
}

int cvar_count();
int pvar_count();

// The variable of a table that a handle means, which is its address; nullptr: none.
template <class Variables, class Handle>
auto* variable_of(const Variables& all, Handle handle) {
  const auto offset = reinterpret_cast<uintptr_t>(handle) - reinterpret_cast<uintptr_t>(&all[0]);
  const size_t size = sizeof all[0], number = offset / size;
  return number < std::size(all) && offset % size == 0 ? &all[number] : nullptr;
}
// By name; the number of variables: there is none.
template <class Variables>
int find(const Variables& all, const char* name) {
  int i = 0;
  for (const auto& variable : all) {
    if (std::strcmp(variable.name, name) == 0) break;
    ++i;
  }
  return i;
}

}  // namespace portunus::mpi::tool
