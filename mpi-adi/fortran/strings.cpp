// strings.cpp: strings, address constants and arrays of handles.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "mpi-adi/fortran/kept.hpp"
#include "mpi-adi/fortran/runtime.h"

namespace {

void* room(size_t bytes) {
  void* memory = std::calloc(1, bytes);
  if (memory == nullptr) {
    std::fprintf(stderr, "MPI for Fortran: no memory for %zu bytes of arguments\n", bytes);
    std::abort();
  }
  return memory;
}

}  // namespace

struct mpi_fortran_constants mpi_fortran_constants_;

void* fortran_constant(void* address) {
  if (address == &mpi_fortran_constants_.in_place) return MPI_IN_PLACE;
  if (address == &mpi_fortran_constants_.buffer_automatic) return MPI_BUFFER_AUTOMATIC;
  if (address == &mpi_fortran_constants_.unweighted) return MPI_UNWEIGHTED;
  if (address == &mpi_fortran_constants_.weights_empty) return MPI_WEIGHTS_EMPTY;
  return nullptr;  // MPI_BOTTOM and all that C ignores
}

// C programs hand over statuses and codes of Fortran's to be ignored by these.
[[gnu::constructor]] static void tell_constants() {
  MPI_F_STATUS_IGNORE = mpi_fortran_constants_.status_ignore;
  MPI_F_STATUSES_IGNORE = mpi_fortran_constants_.statuses_ignore;
  MPI_F08_STATUS_IGNORE = reinterpret_cast<MPI_F08_status*>(mpi_fortran_constants_.status_ignore);
  MPI_F08_STATUSES_IGNORE = reinterpret_cast<MPI_F08_status*>(mpi_fortran_constants_.statuses_ignore);
}

char* text_in(text* text, const char* given, size_t length, bool both) {
  while (length > 0 && given[length - 1] == ' ') --length;
  while (both && length > 0 && *given == ' ') ++given, --length;
  text->many = length < sizeof text->few ? nullptr : static_cast<char*>(room(length + 1));
  char* to = text->many != nullptr ? text->many : text->few;
  std::memcpy(to, given, length);
  to[length] = '\0';
  return to;
}
void text_end(text* text) { std::free(text->many); }

void text_out(const char* from, char* to, size_t length) {
  const size_t given = strnlen(from, length);
  std::memcpy(to, from, given);
  std::memset(to + given, ' ', length - given);
}

void* handles_room(handles* array, MPI_Count count) {
  if (count <= MPI_FORTRAN_FEW) {
    array->many = nullptr;
    return std::memset(array->few, 0, sizeof(void*) * static_cast<size_t>(count > 0 ? count : 0));
  }
  return array->many = room(sizeof(void*) * static_cast<size_t>(count));
}
void* handles_lasting_room(handles* array, MPI_Count count) {
  return array->many = room(sizeof(void*) * static_cast<size_t>(count > 0 ? count : 1));
}
void handles_end(handles* array) { std::free(array->many); }

void handles_keep(handles* array, MPI_Request request) {
  keep(request, {array->many, nullptr});
  array->many = nullptr;
}
