// error_codes.hpp: error classes and codes: MPI's, and those that users add.
// Thread: any. Source: MPI-5.0, 9.4, 9.5.
#pragma once

#include "mpi-adi/mpi.h"

namespace portunus::mpi {

extern int last_used_code;  // what MPI_LASTUSEDCODE points to

int class_of(int code);  // -1: no such code
// Both write at most MPI_MAX_ERROR_STRING characters. "MPI_ERR_RANK: the rank is not valid", or what the user has set; returns its length,
// or -1: no such code, nothing is written.
int describe(int code, char* text);
// "MPI_ERR_RANK", or as above.
void describe_class(int code, char* text);

}  // namespace portunus::mpi
