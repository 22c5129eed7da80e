// ports.hpp: where processes of one job meet that share no communicator but MPI_COMM_WORLD.
//
// A port is a number that its owner has opened; its name tells job, owner and number. Who connects knocks: a message to the owner in
// the lobby, a context that all processes know and nobody else uses. Then both roots lead their sides as in MPI_Intercomm_create.
// Thread: any. Source: MPI-5.0, 11.9.
#pragma once

#include <optional>
#include <string>

#include "mpi-adi/comm/comm.hpp"

namespace portunus::mpi::ports {

struct Port {
  int owner = 0;   // rank in the job
  int number = 0;  // among the owner's, from 1; also the tag of knocks
};

const std::string& job_name();  // differs from those of other jobs
std::string name_of(const Port& port);
// Nothing if the name is none of a port of this job.
std::optional<Port> port_named(const char* name);

Port open();
bool is_open(const Port& port);  // here
bool close(const Port& port);    // false: it was not open here

// Tells the owner that `rank` of the job waits for it. MPI_SUCCESS or a class of errors.
int knock(const Port& port);
// Waits for the next that knocks: its rank in the job.
int admit(const Port& port, int& rank);

}  // namespace portunus::mpi::ports
