// environment.hpp: the variables by which a user steers OpenSHMEM.
//
// Thread: set-up, one thread.
// Source: OpenSHMEM 1.6, section "Environment Variables".
#pragma once

namespace portunus::shmem {

// SHMEM_<name>, or else the older SMA_<name>; null if neither is set. Names of the specification are on with any value.
const char* setting(const char* name);
// For names of our own: false if unset or "0", true if "1"; else std::runtime_error with a sentence.
bool switched_on(const char* name);

}  // namespace portunus::shmem
