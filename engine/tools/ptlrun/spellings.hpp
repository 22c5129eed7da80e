// The options of other launchers that ptlrun understands besides its own, so that scripts written for MPICH's and Open MPI's
// mpiexec run unchanged.
//
// Thread: pure.
// Invariants: a name stands here once; a word may carry one dash or two, and its first value after '='.
// Source: mpiexec(1) of MPICH's Hydra 4.0, mpirun(1) of Open MPI 4.1.
#pragma once

#include <string>

namespace portunus::launch {

enum class Meaning {
  nothing,         // means nothing here: accepted in silence
  ranks,           // value: their number
  bind,            // value: core, none, or a place that ptlrun does not bind to
  bind_core,       // as bind core
  per_host,        // value: ranks per host
  folder,          // value: where this program starts
  folder_for_all,  // value: where all programs start that name no folder
  path,            // value: where this program is sought
  set,             // two values, variable and value: for this program
  set_for_all,     // the same, for all programs
  list,            // value: the variables that this program inherits, divided by commas
  list_for_all,
  none,  // this program inherits nothing
  none_for_all,
  tag,         // tag lines of output
  interfaces,  // value: names of network interfaces, divided by commas
  parameter,   // two values, parameter and value: of those of Open MPI only btl_tcp_if_include means something here, if it has names
  hosts,       // value: NAME[:SLOTS],...
  host_file,   // value: a file with a host in each line
  agent,       // value: what starts ptlrun on another host
};

struct Spelling {
  const char* name;
  int values;
  Meaning meaning;
  bool one_dash = false;  // with two dashes it is an option of ptlrun's own
};

// The meaning of this word of the command line; null when no other launcher has it.
const Spelling* spelling_of(const std::string& word);

}  // namespace portunus::launch
