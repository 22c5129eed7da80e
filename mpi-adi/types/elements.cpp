// elements.cpp: counting predefined datatypes in received data.
// Source: MPI-5.0, 3.2.5 (Get_count), 5.1.11 (Get_elements), 13.3 (Status_set_elements).
#include "mpi-adi/types/elements.hpp"

#include <algorithm>

#include "mpi-adi/core/profiling.hpp"
#include "mpi-adi/pt2pt/status.hpp"
#include "mpi-adi/types/type_create.hpp"

namespace portunus::mpi {
namespace {

// Within one element of `type`: how many predefined datatypes its first `bytes` hold, 0 <= bytes < size.
int64_t elements_within(const Datatype& type, int64_t bytes) {
  if (bytes == 0) return 0;
  int64_t count = 0;
  for (const Piece& piece : type.pieces) {
    const int64_t copies = std::min(piece.blocklength * piece.count, piece.type->size ? bytes / piece.type->size : 0);
    count += copies * piece.type->elements;
    bytes -= copies * piece.type->size;
    if (bytes == 0) return count;
    if (copies == piece.blocklength * piece.count) continue;
    const int64_t rest = elements_within(*piece.type, bytes);
    return rest < 0 ? -1 : count + rest;
  }
  return -1;  // an elementary type is cut
}

int64_t bytes_within(const Datatype& type, int64_t elements) {
  int64_t bytes = 0;
  for (const Piece& piece : type.pieces) {
    if (elements == 0 || piece.type->elements == 0) continue;
    const int64_t copies = std::min(piece.blocklength * piece.count, elements / piece.type->elements);
    bytes += copies * piece.type->size;
    elements -= copies * piece.type->elements;
    if (copies == piece.blocklength * piece.count || elements == 0) continue;
    return bytes + bytes_within(*piece.type, elements);
  }
  return bytes;
}

template <class T>
int get_count(const char* function, const MPI_Status* status, MPI_Datatype datatype, T* count) {
  Datatype* found;
  if (int error = check(function, datatype, found, {status, count})) return error;
  const auto bytes = static_cast<int64_t>(received_bytes(*status));
  const int64_t whole = found->size == 0 ? 0 : bytes / found->size;
  *count = whole * found->size != bytes || static_cast<T>(whole) != whole ? T{MPI_UNDEFINED} : static_cast<T>(whole);
  return MPI_SUCCESS;
}

template <class T>
int get_elements(const char* function, const MPI_Status* status, MPI_Datatype datatype, T* count) {
  Datatype* found;
  if (int error = check(function, datatype, found, {status, count})) return error;
  const int64_t elements = elements_in(*found, static_cast<int64_t>(received_bytes(*status)));
  *count = elements < 0 || static_cast<T>(elements) != elements ? MPI_UNDEFINED : static_cast<T>(elements);
  return MPI_SUCCESS;
}

int set_elements(const char* function, MPI_Status* status, MPI_Datatype datatype, int64_t count) {
  Datatype* found;
  if (int error = check(function, datatype, found, {status})) return error;
  if (count < 0) return raise(function, nullptr, MPI_ERR_COUNT, "the count is negative");
  if (found->elements > 0 && !fits_in_memory(count / found->elements, *found))
    return raise(function, nullptr, MPI_ERR_COUNT, "%lld elements are more than memory can hold", static_cast<long long>(count));
  set_received_bytes(*status, static_cast<uint64_t>(bytes_of_elements(*found, count)));
  return MPI_SUCCESS;
}

}  // namespace

int64_t elements_in(const Datatype& type, int64_t bytes) {
  if (type.size == 0) return bytes == 0 ? 0 : -1;
  const int64_t rest = elements_within(type, bytes % type.size);
  return rest < 0 ? -1 : bytes / type.size * type.elements + rest;
}

int64_t bytes_of_elements(const Datatype& type, int64_t elements) {
  if (type.elements == 0) return 0;
  return elements / type.elements * type.size + bytes_within(type, elements % type.elements);
}

}  // namespace portunus::mpi

using namespace portunus::mpi;

extern "C" int PMPI_Get_count(const MPI_Status* status, MPI_Datatype datatype, int* count) try {
  return get_count("MPI_Get_count", status, datatype, count);
}
MPI_WEAK_NAME(Get_count)

extern "C" int PMPI_Get_count_c(const MPI_Status* status, MPI_Datatype datatype, MPI_Count* count) try {
  return get_count("MPI_Get_count_c", status, datatype, count);
}
MPI_WEAK_NAME(Get_count_c)

extern "C" int PMPI_Get_elements_c(const MPI_Status* status, MPI_Datatype datatype, MPI_Count* count) try {
  return get_elements("MPI_Get_elements_c", status, datatype, count);
}
MPI_WEAK_NAME(Get_elements_c)

extern "C" int PMPI_Status_set_elements_c(MPI_Status* status, MPI_Datatype datatype, MPI_Count count) try {
  return set_elements("MPI_Status_set_elements_c", status, datatype, count);
}
MPI_WEAK_NAME(Status_set_elements_c)

extern "C" int PMPI_Get_elements(const MPI_Status* status, MPI_Datatype datatype, int* count) try {
  return get_elements("MPI_Get_elements", status, datatype, count);
}
MPI_WEAK_NAME(Get_elements)

extern "C" int PMPI_Get_elements_x(const MPI_Status* status, MPI_Datatype datatype, MPI_Count* count) try {
  return get_elements("MPI_Get_elements_x", status, datatype, count);
}
MPI_WEAK_NAME(Get_elements_x)

extern "C" int PMPI_Status_set_elements(MPI_Status* status, MPI_Datatype datatype, int count) try {
  return set_elements("MPI_Status_set_elements", status, datatype, count);
}
MPI_WEAK_NAME(Status_set_elements)

extern "C" int PMPI_Status_set_elements_x(MPI_Status* status, MPI_Datatype datatype, MPI_Count count) try {
  return set_elements("MPI_Status_set_elements_x", status, datatype, count);
}
MPI_WEAK_NAME(Status_set_elements_x)
