// query.cpp: questions that need no message.
#include <cstdio>

#include "shmem/define.hpp"
#include "shmem/runtime.hpp"

using namespace portunus::shmem;

SHMEMI_DEFINE(int, my_pe, (void)) try {
  require_init("shmem_my_pe");
  return runtime.my_pe;
}
SHMEMI_BARRIER

SHMEMI_DEFINE(int, n_pes, (void)) try {
  require_init("shmem_n_pes");
  return runtime.n_pes;
}
SHMEMI_BARRIER

SHMEMI_DEFINE(int, pe_accessible, (int pe)) try {
  require_init("shmem_pe_accessible");
  return pe >= 0 && pe < runtime.n_pes && !is_dead(pe) ? 1 : 0;
}
SHMEMI_BARRIER

SHMEMI_DEFINE(int, addr_accessible, (const void* addr, int pe)) try {
  require_init("shmem_addr_accessible");
  return pe >= 0 && pe < runtime.n_pes && !is_dead(pe) && is_symmetric(addr) ? 1 : 0;
}
SHMEMI_BARRIER

// Null where the peer cannot be reached by loads and stores, which includes memory that is not symmetric.
SHMEMI_DEFINE(void*, ptr, (const void* dest, int pe)) try {
  const Peer& target = peer("shmem_ptr", pe);
  if (!is_symmetric(dest) || !target.on_node()) return nullptr;
  return target.at<void>(locate("shmem_ptr", dest, 1, pe));
}
SHMEMI_BARRIER

SHMEMI_DEFINE(void, info_get_version, (int* major, int* minor)) try {
  *major = SHMEM_MAJOR_VERSION;
  *minor = SHMEM_MINOR_VERSION;
}
SHMEMI_BARRIER

SHMEMI_DEFINE(void, info_get_name, (char* name)) try { snprintf(name, SHMEM_MAX_NAME_LEN, "%s", SHMEM_VENDOR_STRING); }
SHMEMI_BARRIER

// For profiling tools, which put their own in its place.
SHMEMI_DEFINE(void, pcontrol, (int, ...)) try {}
SHMEMI_BARRIER
