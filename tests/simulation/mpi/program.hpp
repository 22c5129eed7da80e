// program.hpp: what the programs of simulated ranks have in common. Thread: one.
#pragma once

#include <string>

#include "mpi-adi/mpi-ext.h"
#include "mpi-adi/mpi.h"
#include "tests/simulation/mpi/history.hpp"
#include "tests/simulation/mpi/machine.hpp"

namespace portunus::simulation {

inline std::string text_of(int code) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  return text;
}

inline int class_of(int code) {
  int error_class = code;
  if (code != MPI_SUCCESS) MPI_Error_class(code, &error_class);
  return error_class;
}

// From MPI_Init to MPI_Finalize.
void perform(TestMachine& machine, const Plan& plan, History& history, int rank);
void survive(TestMachine& machine, const Plan& plan, History& history, int rank);

}  // namespace portunus::simulation
