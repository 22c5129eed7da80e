// atomic_ops.hpp: what may be done to a word, and doing it.
//
// Words of 1, 2, 4 and 8 bytes are changed by CPU atomics, so plain loads, other processes' CPU atomics and these agree
// on one order; larger types (double complex, long double) under a lock of this process.
// Source: Portals 4.3, atomic operations and datatypes; the GOAL local operations.
#pragma once

#include <cstddef>

#include "portals/portals4.h"
#include "portals/portals4_ext.h"

namespace portunus {

size_t datatype_size(ptl_datatype_t type);                    // bytes; 0 = no such type
bool atomic_allowed(ptl_op_t op, ptl_datatype_t type);        // PtlAtomic, PtlFetchAtomic
bool swap_allowed(ptl_op_t op, ptl_datatype_t type);          // PtlSwap
bool local_allowed(ptlx_local_op_t op, ptl_datatype_t type);  // PtlxTriggeredLocal
bool await_allowed(ptl_datatype_t type);                      // PtlxTriggeredAwait
size_t local_size(ptl_datatype_t type);                       // bytes, of all types of local operations; 0 = no such type

// target[i] = target[i] op data[i] for each whole datum in `size` bytes; the former values go to `old` unless it is
// nullptr. `operand` is the one-datum operand of the conditional swaps, else ignored. Unaligned targets are permitted and then
// not atomic. The pair must be allowed.
void apply_atomic(ptl_op_t op, ptl_datatype_t type, void* target, const void* data, size_t size, void* old, const void* operand);

// dst[i] = a[i] op b[i] for i < count. False: an integer was divided by zero (dst is then incomplete). Not for
// PTLX_TIMESTAMP and PTLX_DELAY.
bool apply_local(ptlx_local_op_t op, ptl_datatype_t type, void* dst, const void* a, const void* b, size_t count);

}  // namespace portunus
