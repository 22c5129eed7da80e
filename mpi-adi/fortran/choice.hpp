// choice.hpp: copies of array sections in one piece.
#pragma once

#include "mpi-adi/fortran/runtime.h"

struct choice_copy;

void gather(choice_copy* copy);   // from the section
void scatter(choice_copy* copy);  // to the section, if MPI may write there
void free_copy(choice_copy* copy);
