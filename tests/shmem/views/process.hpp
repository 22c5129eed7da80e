// process.hpp: what the tests of views share. Every process runs the same tests in the same order; they check with EXPECT
// and go on.
#pragma once

#include <gtest/gtest.h>
#include <vdc.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "portals/portals4_ext.h"

inline int me() { return Vdc_proc_id; }
inline int count() { return Vdc_nprocs; }
inline void together() {
  static unsigned id = 0;
  Vdc_barrier(++id % 1000);
}
// A view that no other test uses: the same in all processes.
inline int fresh_view() {
  static int next = 100;
  return next++;
}
// Shared memory of all processes; the pointer travels from process 0.
template <class T>
T* shared(size_t count) {
  static void* at;
  if (me() == 0) at = Vdcx_malloc(count * sizeof(T));
  EXPECT_EQ(Vdcx_distribute(&at, sizeof at), VDCX_SUCCESS) << Vdcx_explain();
  return static_cast<T*>(at);
}
inline void declare(int view, void* start, size_t bytes, Vdcx_finding how = VDCX_AUTO) {
  const Vdcx_piece piece{start, bytes, 1, 0};
  EXPECT_EQ(Vdcx_declare(view, &piece, 1, how), VDCX_SUCCESS) << Vdcx_explain();
}
#define EXPECT_OK(call) EXPECT_EQ(call, VDCX_SUCCESS) << Vdcx_explain()

// A counter that ptlstat shows of this process.
inline uint64_t counted(const char* name) {
  uint64_t* count = nullptr;
  EXPECT_EQ(PtlxCountAdd(name, "", &count), PTL_OK);
  return std::atomic_ref(*count).load();
}
