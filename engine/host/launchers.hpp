// Facts that launchers export in the environment of the processes that they start, besides the protocols by which one can ask them.
// Thread: any, while nobody changes the environment.
// Source: PMIx standard 4.1, 11.1; "PMI: A Scalable Parallel Process-Management Interface" (the wire protocol of MPICH's mpiexec);
// srun(1), "OUTPUT ENVIRONMENT VARIABLES".
#pragma once

#include <optional>
#include <string>

namespace portunus {

// True when the environment announces a PMIx server, or a PMI server behind a descriptor that is still open.
bool pmix_announced();
bool pmi_announced();
inline bool launcher_announced() { return pmix_announced() || pmi_announced(); }

// The place of a process among those of its job on its node, as its launcher exports it; nothing if none does.
struct ExportedPlace {
  int local_rank = 0;
  int local_size = 1;
};
std::optional<ExportedPlace> exported_place();

// The complaint of a process that a launcher started as one of several, but with no protocol that we speak; empty for all other
// processes, and for all but the first of them.
std::string complaint_of_singleton();

}  // namespace portunus
