// work.cpp: from a work to a call on packed memory.
#include "mpi-adi/collectives/work.hpp"

namespace portunus::mpi::collectives {

void Work::describe(GOAL_Call& call) {
  call.kind = key.kind;
  call.root = key.root;
  call.bytes = key.bytes;
}

std::byte* describe(Work& work, Packed& packed, GOAL_Call& call) {
  static std::byte nothing{};
  const auto room = [](std::vector<std::byte>& memory, size_t bytes) {
    if (bytes == 0) return &nothing;
    if (memory.size() < bytes) memory.resize(bytes);
    return memory.data();
  };
  const bool in_is_replaced = work.in_place && (work.key.kind == GOAL_CALL_ALLTOALL || work.key.kind == GOAL_CALL_ALLTOALLV);
  std::byte* const out = work.out_is_direct ? work.user_out : room(packed.out, work.out_bytes);
  call.out = out;
  if (work.in_is_out) {
    if (!work.out_is_direct) work.fill(out);
  } else if (work.in_is_direct && !in_is_replaced && (!work.in_place || work.out_is_direct)) {
    call.in = work.user_in;
  } else {
    std::byte* in = room(packed.in, work.in_bytes);
    work.fill(in);
    call.in = in;
  }
  work.describe(call);
  return out;
}

}  // namespace portunus::mpi::collectives
