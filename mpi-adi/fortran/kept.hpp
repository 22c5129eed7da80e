// kept.hpp: what has to last as long as a request: copies of scattered buffers, arrays of datatypes.
//
// The data kept for a request are found by its handle when a Fortran call completes it. A request that C code completes takes what was
// kept for it along until its handle is used again. Thread: any; one lock, taken only while anything is kept.
#pragma once

#include "mpi-adi/fortran/runtime.h"

struct choice_copy;

struct Kept {
  void* memory = nullptr;       // freed in the end
  choice_copy* copy = nullptr;  // copied back at each completion, and freed in the end
};

void keep(MPI_Request request, Kept kept);
