// combine.hpp: reductions that the thread which calls MPI does itself.
//
// Thread: any.
#pragma once

#include "mpi-adi/collectives/elements.hpp"
#include "mpi-adi/op/op.hpp"

namespace portunus::mpi::collectives {

// `to` becomes the elements of all `ranks` contributions, combined in their order; they lie packed, one after the other.
inline void combine(const OpHold& op, const std::byte* contributions, size_t ranks, const Elements& to) {
  const size_t bytes = to.bytes();
  if (ranks == 0 || bytes == 0) return;
  if (to.contiguous()) {
    to.unpack(contributions + (ranks - 1) * bytes);
    for (size_t i = ranks - 1; i-- > 0;) apply(op.op(), contributions + i * bytes, to.data(), to.count(), to.type());
    return;
  }
  const Image operand(to);
  to.unpack(contributions + (ranks - 1) * bytes);
  for (size_t i = ranks - 1; i-- > 0;) {
    operand.elements().unpack(contributions + i * bytes);
    apply(op.op(), operand.elements().address(), to.address(), to.count(), to.type());
  }
}

}  // namespace portunus::mpi::collectives
