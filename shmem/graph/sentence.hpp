// sentence.hpp: why a call of a graph was refused, or failed.
//
// Thread: any; each has its own last sentence.
#pragma once

#include <string>

namespace portunus::shmem::graph {

// Keeps the sentence for shmemx_graph_explain; SHMEM_DEBUG prints it.
[[gnu::cold]] void explain(const char* function, const std::string& sentence);
// The same, and answers the code.
[[gnu::cold]] int refused(int code, const char* function, const std::string& why);
const char* last_sentence();

}  // namespace portunus::shmem::graph
