// define.hpp: how an entry point is defined: strong as pshmem_NAME, weak as shmem_NAME, so that a tool can slip between.
//
// Source: OpenSHMEM 1.6, chapter "OpenSHMEM Profiling Interface".
#pragma once

#include "shmem/pshmem.h"
#include "shmem/shmem.h"

#define SHMEMI_DEFINE(R, name, params)                                                                   \
  extern "C" __attribute__((weak, alias("pshmem_" #name), visibility("default"))) R shmem_##name params; \
  extern "C" R pshmem_##name params

// The same for names that begin otherwise.
#define SHMEMI_DEFINE_BARE(R, name, params)                                                \
  extern "C" __attribute__((weak, alias("p" #name), visibility("default"))) R name params; \
  extern "C" R p##name params
