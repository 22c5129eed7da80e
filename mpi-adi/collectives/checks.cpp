// checks.cpp: says what is wrong with the arguments of a collective.
#include "mpi-adi/collectives/checks.hpp"

#include <algorithm>

#include "mpi-adi/collectives/call_log.hpp"
#include "mpi-adi/collectives/state.hpp"
#include "mpi-adi/core/arguments.hpp"
#include "mpi-adi/core/errors.hpp"
#include "mpi-adi/graph/capture.hpp"
#include "mpi-adi/op/op.hpp"
#include "mpi-adi/tool/event.hpp"
#include "mpi-adi/types/datatype.hpp"
#include "mpi-adi/types/signature.hpp"

namespace portunus::mpi::collectives {

int check_call(Call& call, MPI_Comm comm) {
  call.comm = find_communicator(comm);
  if (call.comm == nullptr) [[unlikely]]
    return raise_bad_communicator(call.function, comm);
  const bool plain = call.comm->is_plain();
  if (!plain && call.comm->is_revoked()) [[unlikely]]
    return raise_revoked(call.function, *call.comm);
  if (call.form != Form::blocking && call.request == nullptr) [[unlikely]]
    return raise(call.function, call.comm, MPI_ERR_ARG, "the address for the request is null");
  if (!plain && call.form != Form::persistent && graph::is_captured_here(*call.comm)) [[unlikely]]
    call.form = Form::captured;
  if (!plain) [[unlikely]]
    tool::emit(tool::Event::collective_begins, call.comm->context, static_cast<int>(call.which), static_cast<int>(call.form));
  return MPI_SUCCESS;
}

int check_root(const Call& call, int root) {
  if (root >= 0 && root < call.comm->size) [[likely]]
    return MPI_SUCCESS;
  return raise(call.function, call.comm, MPI_ERR_ROOT, "the root %d is no rank among %d", root, call.comm->size);
}

int check_elements(const Call& call, MPI_Count count, MPI_Datatype type) {
  if (!is_count(count)) [[unlikely]]
    return raise(call.function, call.comm, MPI_ERR_COUNT, "the count is %s (%lld)", count < 0 ? "negative" : "too large",
                 static_cast<long long>(count));
  const Datatype* found = find_type(type, count);
  if (found == nullptr) [[unlikely]]
    return raise(call.function, call.comm, MPI_ERR_TYPE, "%s", BadType(type).text);
  if (!found->committed) [[unlikely]]
    return raise(call.function, call.comm, MPI_ERR_TYPE, "the datatype is not committed");
  if (!fits_in_memory(count, *found)) [[unlikely]]
    return raise_too_many(call.function, call.comm, count, *found);
  return MPI_SUCCESS;
}

int check_address_slowly(const Call& call, const void* buffer, MPI_Count count, MPI_Datatype type) {
  if (buffer == MPI_IN_PLACE) return raise(call.function, call.comm, MPI_ERR_BUFFER, "MPI_IN_PLACE cannot stand here");
  const Datatype* const found = find_type(type, count);
  if (count > 0 && found->dense && found->size > 0)  // else it may be MPI_BOTTOM
    return raise(call.function, call.comm, MPI_ERR_BUFFER, "the buffer is null, the count is %lld", static_cast<long long>(count));
  return MPI_SUCCESS;
}

int part_of(const Call& call, const Side& side, int i, Elements& part) {
  if ((side.differ && (side.counts.null() || side.displacements.null())) || (side.has_types && side.types == nullptr))
    return raise(call.function, call.comm, MPI_ERR_ARG, "an array of counts, displacements or types is null");
  const MPI_Count count = side.differ ? side.counts[i] : side.count, place = side.differ ? side.displacements[i]
                                                                             : side.same ? 0
                                                                                         : i * count;
  const MPI_Datatype type = side.has_types ? side.types[i] : side.type;
  const bool in_place = side.buffer == MPI_IN_PLACE;  // which is refused
  const auto* buffer = reinterpret_cast<const void*>(reinterpret_cast<intptr_t>(side.buffer) + (side.has_types && !in_place ? place : 0));
  if (int error = check_buffer(call, buffer, count, type)) return error;
  if (side.differ && !side.has_types && count > 0 && !(Checked(place) * find_type(type)->extent).within(kFarthest))
    return raise(call.function, call.comm, MPI_ERR_ARG, "the displacement %lld is too large", static_cast<long long>(place));
  part = Elements(buffer, 0, type).part(side.has_types ? 0 : place, static_cast<size_t>(count));
  return count > 0 ? check_memory(call, part.data(), count, type) : MPI_SUCCESS;
}

int parts_of(const Call& call, const Side& side, const Peers& peers, Parts& parts) {
  parts = Parts(peers.ranks, peers.number);
  Elements part;
  for (int k = 0; k < peers.number; ++k) {
    const int i = peers.turned ? k ^ 1 : k, peer = peers.list ? (*peers.list)[static_cast<size_t>(i)] : peers.base + i;
    if (int error = part_of(call, side, i, part)) return error;
    if (peer != MPI_PROC_NULL) parts.add(peer, part);
  }
  parts.close();
  return MPI_SUCCESS;
}

void note_signature(const Call& call, MPI_Count count, MPI_Datatype type, MPI_Op op) {
  const UserOp* const own = find_user_op(op);
  const uint64_t operation = own != nullptr ? 1 + (own->commutes ? 1 : 0) : reinterpret_cast<uintptr_t>(op);
  const uint64_t types = signature_of(*find_type(type, count), count);
  call.signature = types == kAnySignature ? types : (op == MPI_OP_NULL ? 0 : operation << 32) | (types ^ types >> 32) % (uint64_t{1} << 32);
}

void note_basic_type(const Call& call, bool has_data, MPI_Datatype type) {
  const Datatype* const basic = has_data ? only_basic_of(*find_type(type)) : nullptr;
  const uint64_t types = basic != nullptr ? signature_of(*basic, 1) : 0;
  call.signature = (types ^ types >> 32) % (uint64_t{1} << 32);
}

void note_pairs(const Call& call, const Parts& sent, const Parts& received) {
  const auto size = static_cast<size_t>(call.comm->size);
  const auto pairs_of = [size](const Parts& parts) {
    std::vector<CallLog::Pair> pairs(size);
    std::vector<bool> any(size);  // what goes with all is among the rank's data
    parts.each_part([&](int rank, const Elements& part) {
      CallLog::Pair& pair = pairs[static_cast<size_t>(rank)];
      const uint64_t types =
          signature_of(*find_type(part.type(), static_cast<MPI_Count>(part.count())), static_cast<MPI_Count>(part.count()));
      if (types == kAnySignature) any[static_cast<size_t>(rank)] = true;
      if (types != 0) pair.types = pair.types * 31 + static_cast<uint32_t>(types ^ types >> 32);
      pair.bytes = static_cast<uint32_t>(std::min<uint64_t>(parts.bytes_of(rank), ~uint32_t{0}));
    });
    for (size_t rank = 0; rank < size; ++rank)
      if (any[rank]) pairs[rank].types = 0;
    return pairs;
  };
  call.signature = state_of(*call.comm).log.note_pairs(pairs_of(sent), pairs_of(received));
}

int check_op(const Call& call, MPI_Op op, MPI_Datatype type) {
  const char* why = refusal(op, type);
  return why == nullptr ? MPI_SUCCESS : raise(call.function, call.comm, MPI_ERR_OP, "%s", why);
}

int check_distinct(const Call& call, const Elements& from, const Elements& to) {
  if (from.bytes() == 0 || to.bytes() == 0) return MPI_SUCCESS;
  // Data with gaps may lie in those of the other, or, from MPI_BOTTOM on, anywhere.
  const bool runs = from.contiguous() && to.contiguous();
  const bool overlap = runs ? from.data() < to.data() + to.bytes() && to.data() < from.data() + from.bytes()
                            : from.data() == to.data() && from.data() != nullptr && from.type() == to.type();
  if (!overlap) [[likely]]
    return MPI_SUCCESS;
  return raise(call.function, call.comm, MPI_ERR_BUFFER,
               "the send and the receive buffer overlap; give MPI_IN_PLACE where they are to be the same memory");
}

int check_own_part(const Call& call, size_t sent, size_t place, bool exact) {
  if (sent == place || (sent < place && !exact)) [[likely]]
    return MPI_SUCCESS;
  return raise(call.function, call.comm, MPI_ERR_TRUNCATE,
               "rank %d sends itself %zu bytes, but receives %zu; make its send and receive counts fit", call.comm->rank, sent, place);
}

}  // namespace portunus::mpi::collectives
