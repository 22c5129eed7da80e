// The process that serves PMIx to the ranks of this host. It is a process of its own because libpmix 4.2 uses memory it has
// freed when several ranks die in one fence: whatever that does to this process, ptlrun still knows how the job ended.
//
// Thread: the process's main thread talks with ptlrun; libpmix's own thread talks with the ranks.
// Invariants: one job per process, because libpmix keeps its state in globals; it ends when ptlrun does.
// Source: PMIx standard 4.1, chapter 16 (server-specific interfaces).
#pragma once

#include <string>

#include "engine/tools/ptlrun/job.hpp"

namespace portunus::launch {

// Serves until ptlrun closes its end of `socket`; says `ready` or `broken` first.
[[noreturn]] void serve_pmix(int socket, const JobPlan& plan, const std::string& folder);

}  // namespace portunus::launch
