// calls.cpp: the calls that move data, by one macro for each shape of them, with counts of both kinds.
// Source: MPI-5.0, 14.4.
#include "mpi-adi/core/profiling.hpp"
#include "mpi-adi/io/operation.hpp"

using namespace portunus::mpi;
using namespace portunus::mpi::io;
namespace io = portunus::mpi::io;

// The parameter before the buffer; named so that it is put in last.
#define PARAMETER_OFFSET MPI_Offset offset,
#define PARAMETER_NONE
#define MOVE_AS(name, suffix, Count, Const, writes, where, together, parameter, offset)                                                 \
  extern "C" int PMPI_File_##name##suffix(MPI_File fh, PARAMETER_##parameter Const void* buf, Count count, MPI_Datatype datatype,       \
                                          MPI_Status* status) try {                                                                     \
    return answer(                                                                                                                      \
        io::move({"MPI_File_" #name #suffix, writes, where, together}, fh, {offset, const_cast<void*>(buf), count, datatype}, status)); \
  }                                                                                                                                     \
  MPI_WEAK_NAME(File_##name##suffix)
#define BEGIN_MOVE_AS(name, suffix, Count, Const, writes, where, together, parameter, offset)                                     \
  extern "C" int PMPI_File_##name##suffix(MPI_File fh, PARAMETER_##parameter Const void* buf, Count count, MPI_Datatype datatype, \
                                          MPI_Request* request) try {                                                             \
    return answer(io::begin_move({"MPI_File_" #name #suffix, writes, where, together}, fh,                                        \
                                 {offset, const_cast<void*>(buf), count, datatype}, request));                                    \
  }                                                                                                                               \
  MPI_WEAK_NAME(File_##name##suffix)
#define SPLIT_AS(name, suffix, Count, Const, writes, where, parameter, offset)                                     \
  extern "C" int PMPI_File_##name##_begin##suffix(MPI_File fh, PARAMETER_##parameter Const void* buf, Count count, \
                                                  MPI_Datatype datatype) try {                                     \
    return answer(io::begin_split({"MPI_File_" #name "_begin" #suffix, writes, where, true, Split::name}, fh,      \
                                  {offset, const_cast<void*>(buf), count, datatype}));                             \
  }                                                                                                                \
  MPI_WEAK_NAME(File_##name##_begin##suffix)

#define BOTH_COUNTS(MACRO, name, ...) \
  MACRO(name, , int, __VA_ARGS__)     \
  MACRO(name, _c, MPI_Count, __VA_ARGS__)
#define BOTH_WAYS(MACRO, rest, ...)                    \
  BOTH_COUNTS(MACRO, read##rest, , false, __VA_ARGS__) \
  BOTH_COUNTS(MACRO, write##rest, const, true, __VA_ARGS__)
#define BOTH_WAYS_LATER(rest, ...)                              \
  BOTH_COUNTS(BEGIN_MOVE_AS, iread##rest, , false, __VA_ARGS__) \
  BOTH_COUNTS(BEGIN_MOVE_AS, iwrite##rest, const, true, __VA_ARGS__)
#define SPLIT_END(name, Const)                                                                                              \
  extern "C" int PMPI_File_##name##_end(MPI_File fh, Const void* buf, MPI_Status* status) try {                             \
    return answer(io::end_split({"MPI_File_" #name "_end", false, Where::individual, true, Split::name}, fh, buf, status)); \
  }                                                                                                                         \
  MPI_WEAK_NAME(File_##name##_end)

BOTH_WAYS(MOVE_AS, , Where::individual, false, NONE, 0)
BOTH_WAYS(MOVE_AS, _at, Where::at_offset, false, OFFSET, offset)
BOTH_WAYS(MOVE_AS, _all, Where::individual, true, NONE, 0)
BOTH_WAYS(MOVE_AS, _at_all, Where::at_offset, true, OFFSET, offset)
BOTH_WAYS(MOVE_AS, _shared, Where::shared, false, NONE, 0)
BOTH_WAYS(MOVE_AS, _ordered, Where::ordered, true, NONE, 0)

BOTH_WAYS_LATER(, Where::individual, false, NONE, 0)
BOTH_WAYS_LATER(_at, Where::at_offset, false, OFFSET, offset)
BOTH_WAYS_LATER(_all, Where::individual, true, NONE, 0)
BOTH_WAYS_LATER(_at_all, Where::at_offset, true, OFFSET, offset)
BOTH_WAYS_LATER(_shared, Where::shared, false, NONE, 0)

BOTH_WAYS(SPLIT_AS, _all, Where::individual, NONE, 0)
BOTH_WAYS(SPLIT_AS, _at_all, Where::at_offset, OFFSET, offset)
BOTH_WAYS(SPLIT_AS, _ordered, Where::ordered, NONE, 0)

SPLIT_END(read_all, )
SPLIT_END(read_at_all, )
SPLIT_END(read_ordered, )
SPLIT_END(write_all, const)
SPLIT_END(write_at_all, const)
SPLIT_END(write_ordered, const)
