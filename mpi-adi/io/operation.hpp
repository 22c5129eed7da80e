// operation.hpp: the calls that move data, as their many forms have them in common.
//
// Thread: any. Source: MPI-5.0, 14.4.
#pragma once

#include "mpi-adi/io/access.hpp"

namespace portunus::mpi::io {

enum class Where : uint8_t { at_offset, individual, shared, ordered };

// A call, but for what it moves.
struct Kind {
  const char* function;
  bool writes;
  Where where;
  bool together;  // collective
  Split split = Split::none;
};
// The arguments of the user.
struct Given {
  MPI_Offset offset;
  void* buf;
  MPI_Count count;
  MPI_Datatype datatype;
};

int move(const Kind& kind, MPI_File fh, const Given& given, MPI_Status* status);          // blocking
int begin_move(const Kind& kind, MPI_File fh, const Given& given, MPI_Request* request);  // nonblocking
int begin_split(const Kind& kind, MPI_File fh, const Given& given);
int end_split(const Kind& kind, MPI_File fh, const void* buf, MPI_Status* status);

}  // namespace portunus::mpi::io
