// library.hpp: libfabric, loaded when the first of its calls is made and not with the program, so that programs which stay on one
// node never load it, and so that what its providers' libraries do to signals can be undone.
// The calls themselves are declared by libfabric's own headers; library.cpp defines those that are no inline functions.
// Thread: any. Source: fabric(7), "FI_PROVIDER".
#pragma once

#include <string>

namespace portunus::fabric {

// Says which providers libfabric shall set up, all others being left alone: names divided by commas, empty: all. Counts only before its
// first query. Throws std::runtime_error where libfabric is not installed.
void want_providers(const std::string& names);
// Returns the providers that libfabric was asked to set up, as fabric(7) writes them; empty: all, or nothing was asked yet. No others can
// be had any more.
std::string providers_set_up();
// Returns what libfabric is told to set up where we want `wanted` and FI_PROVIDER is `said` (NULL: not set). The user's choice holds, but
// for tcp and nothing else: MPI libraries have taught users to say that when they mean the network and not one of two providers that speak
// to it.
std::string providers_to_set_up(const char* said, const std::string& wanted);

}  // namespace portunus::fabric
