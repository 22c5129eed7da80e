// define.hpp: how an entry point is defined: strong as pshmem_NAME, weak as shmem_NAME, so that a tool can slip between.
//
// Its body begins with `try` and ends in SHMEMI_BARRIER: most calls have no way to say that they found no memory, and what they had begun
// on this PE others have begun, too; so the job ends, with a sentence. No exception of ours leaves a call.
// Source: OpenSHMEM 1.6, chapter "OpenSHMEM Profiling Interface".
#pragma once

#include <new>
#include <stdexcept>

#include "shmem/include/pshmem.h"
#include "shmem/include/shmem.h"
#include "shmem/misuse.hpp"

#define SHMEMI_DEFINE(R, name, params)                                                                   \
  extern "C" __attribute__((weak, alias("pshmem_" #name), visibility("default"))) R shmem_##name params; \
  extern "C" R pshmem_##name params

// The same for names that begin otherwise.
#define SHMEMI_DEFINE_BARE(R, name, params)                                                \
  extern "C" __attribute__((weak, alias("p" #name), visibility("default"))) R name params; \
  extern "C" R p##name params

#define SHMEMI_BARRIER                              \
  catch (const std::bad_alloc&) {                   \
    ::portunus::shmem::misuse_memory(__func__ + 1); \
  }                                                 \
  catch (const std::length_error&) {                \
    ::portunus::shmem::misuse_memory(__func__ + 1); \
  }
