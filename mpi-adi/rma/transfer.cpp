// transfer.cpp: put, get and accumulate.
//
// Accumulates that Portals has no atomic for (pairs of value and place) are done under a lock of the target: they are atomic among
// themselves. On memory that this process maps the lock and the data are reached by loads and stores, else by messages. Source: MPI-5.0,
// 12.3, 12.7.1 (atomicity).
#include <algorithm>
#include <cstring>

#include "engine/goal/copy.hpp"
#include "mpi-adi/graph/access.hpp"
#include "mpi-adi/op/op.hpp"
#include "mpi-adi/rma/report.hpp"
#include "mpi-adi/rma/transfer.hpp"

namespace portunus::mpi::rma {
namespace {

// Waits for long accumulates that are pending on some of these bytes of the target.
int keep_order(const char* function, const Access& access, int rank, int64_t begin, int64_t end) {
  Window& window = *access.window;
  const auto none = [&] { return window.operations.nothing_pending(); };
  const bool waits = window.long_accumulates.overlap(rank, access.displacement + begin, access.displacement + end, none);
  return waits ? flush(function, window) : MPI_SUCCESS;
}

int raise_result(const char* function, const Access& access, int result) {
  if (result == PTL_OK) return MPI_SUCCESS;
  return raise(function, *access.window, MPI_ERR_OTHER, "the network failed (error %d)", result);
}

// ---- put and get

// To and from memory that this process maps.
void move_mapped(std::byte* to, const std::byte* from, size_t bytes) {
  const auto begin = reinterpret_cast<uintptr_t>(to), other = reinterpret_cast<uintptr_t>(from);
  if (begin - other < bytes || other - begin < bytes) std::memmove(to, from, bytes);  // a rank's access to itself
  else if (bytes > 0) copy_run(to, from, bytes);
}

// The bytes of an access to memory that this process maps, from one run to one other; -1: it is none.
[[gnu::always_inline]] inline int64_t dense_on_node(const Buffer& origin, const Access& access) {
  if (!access.member->mapped || access.dense < 0) return -1;
  const int64_t plain = plain_bytes(origin.count, origin.type), here = plain >= 0 ? plain : dense_bytes(origin.count, origin.type);
  return std::min(here, access.dense);
}

// Copies between memory of this process and memory of another one that it maps, where one side is one run. False: there is more to it.
template <bool kPut>
bool copy_strided(const Buffer& origin, const Buffer& target, const Access& access) {
  const Datatype &ours = *find_type(origin.type), &theirs = *find_type(target.type);
  if (ours.dense == theirs.dense || !has_no_padding(ours) || !has_no_padding(theirs)) return false;
  std::byte *const here = place(origin.address, 0), *const there = mapped(access, 0);
  const int64_t bytes = std::min(origin.count * ours.size, target.count * theirs.size);
  const Layout layout = ours.dense ? layout_of(theirs, target.count) : layout_of(ours, origin.count);
  if (ours.dense) kPut ? unpack(layout, there, 0, bytes, here) : pack(layout, there, 0, bytes, here);
  else kPut ? pack(layout, here, 0, bytes, there) : unpack(layout, here, 0, bytes, there);
  return true;
}

// Copies bytes between this process and the target where it is mapped; else puts or gets them.
template <bool kPut>
int move_run(const Access& access, std::byte* here, int64_t there, int64_t bytes) {
  const auto length = static_cast<ptl_size_t>(bytes);
  if (access.member->mapped) {
    std::byte* const at = mapped(access, there);
    move_mapped(kPut ? at : here, kPut ? here : at, length);
    return PTL_OK;
  }
  const client::By by = ticket(access, length);
  return used(by, kPut ? client::put(by, remote(access, there), here, length) : client::get(by, remote(access, there), here, length));
}

// Puts to, or gets from, the target as the datatypes of both sides say.
template <bool kPut>
[[gnu::always_inline]] inline int move(const char* function, const Buffer& origin, int rank, MPI_Aint displacement, const Buffer& target,
                                       MPI_Win win, Access& access) {
  if (int error = check_access(function, win, rank, displacement, target, access)) return error;
  if (int error = check_buffer(function, access, "origin", origin)) return error;
  if (!access.member) return MPI_SUCCESS;
  if (access.captured) [[unlikely]]
    return (kPut ? graph::put : graph::get)(function, origin, target, access);
  if (const int64_t bytes = dense_on_node(origin, access); bytes >= 0) [[likely]] {
    std::byte *const here = place(origin.address, 0), *const there = mapped(access, 0);
    move_mapped(kPut ? there : here, kPut ? here : there, static_cast<size_t>(bytes));
    return MPI_SUCCESS;
  }
  const bool is_own = access.member == &access.window->members[static_cast<size_t>(access.window->comm->rank)];  // may overlap
  if (access.member->mapped && !is_own && copy_strided<kPut>(origin, target, access)) return MPI_SUCCESS;
  int result = PTL_OK;
  for_each_piece(
      kAnyLength,
      [&](int64_t at, int64_t there, int64_t bytes) {
        if (const int code = move_run<kPut>(access, place(origin.address, at), there, bytes); code != PTL_OK) result = code;
      },
      Runs(origin.count, origin.type), Runs(target.count, target.type));
  return raise_result(function, access, result);
}

}  // namespace

int put(const char* function, const Buffer& origin, int rank, MPI_Aint displacement, const Buffer& target, MPI_Win win, Access& access) {
  return move<true>(function, origin, rank, displacement, target, win, access);
}

int get(const char* function, const Buffer& origin, int rank, MPI_Aint displacement, const Buffer& target, MPI_Win win, Access& access) {
  return move<false>(function, origin, rank, displacement, target, win, access);
}

// ---- accumulate

namespace {

// Reads or writes the runs `to` of the target as packed bytes, by messages.
template <bool kPut>
int transfer_packed(const char* function, const Access& access, const Runs& to, std::byte* packed) {
  int failed = PTL_OK;
  for (const Run& run : to.all()) {
    if (const int code = move_run<kPut>(access, packed, run.offset, run.bytes); code != PTL_OK) failed = code;
    packed += run.bytes;
  }
  const int error = raise_result(function, access, failed);
  return error == MPI_SUCCESS ? flush(function, *access.window) : error;
}

// Calls compute(value), which says whether it has changed the target: where this process maps it, `value` is nullptr; else it is a packed
// copy, which is read before and written back. Claims no memory under the lock, and neither may compute().
template <class Compute>
int under_lock(const char* function, const Access& access, int rank, const Runs& to, Compute&& compute) {
  int error;
  int64_t old;
  const auto change = [&](ptl_op_t op, int64_t value) {
    return change_control(function, *access.window, rank, &Control::accumulate, op, value, old);
  };
  const std::unique_ptr<std::byte[]> value(access.member->mapped ? nullptr : new std::byte[static_cast<size_t>(to.bytes())]);
  while ((error = change(PTL_CSWAP, 1)) == MPI_SUCCESS && old != 0) client::step();
  if (error != MPI_SUCCESS) return error;
  if (value) error = transfer_packed<false>(function, access, to, value.get());
  if (error == MPI_SUCCESS && compute(value.get()) && value) error = transfer_packed<true>(function, access, to, value.get());
  const int released = change(PTL_SUM, -1);
  return error != MPI_SUCCESS ? error : released;
}

int combine_under_lock(const char* function, const Access& access, int rank, const void* origin, const Runs& from, const Runs& to,
                       void* result, const Runs& old, MPI_Op op, MPI_Datatype element) {
  return under_lock(function, access, rank, to, [&](std::byte* value) {
    const auto combine = [&](int64_t at, int64_t there, int64_t former, int64_t bytes) {
      const auto length = static_cast<size_t>(bytes);
      std::byte* const target = value ? value : mapped(access, there);
      if (result) copy_run(place(result, former), target, length);
      if (op == MPI_REPLACE) copy_run(target, place(origin, at), length);
      else if (op != MPI_NO_OP) apply(op, place(origin, at), target, length / element_bytes(element), element);
      if (value) value += length;
    };
    for_each_piece(kAnyLength, combine, from, to, old);
    return op != MPI_NO_OP;
  });
}

// Returns the swap that compares the bits of a word, or else values of this type; not possible: Portals has neither.
PortalsOp swap_of(const Datatype& type, MPI_Datatype handle) {
  static const MPI_Datatype kWords[] = {MPI_UINT8_T, MPI_UINT16_T, MPI_UINT32_T, MPI_UINT64_T};
  for (const MPI_Datatype word : kWords)
    if (type.dense && find_type(word)->size == type.size) return portals_op(MPI_REPLACE, word);
  return portals_op(MPI_REPLACE, handle);
}

// The atomic of a predefined operation on a predefined datatype of up to 8 bytes, which is the same for ever; nullptr: there is none.
// Programs ask for one again and again.
const PortalsOp* atomic_of(MPI_Op op, MPI_Datatype type) {
  struct Recent {
    MPI_Op op = nullptr;  // no handle
    MPI_Datatype type = nullptr;
    PortalsOp atomic{};
  };
  static thread_local constinit Recent recent;
  if (recent.op == op && recent.type == type) [[likely]]
    return &recent.atomic;
  if (op == MPI_NO_OP || element_of(type) != type || accumulate_refusal(op, type) != nullptr) return nullptr;
  const PortalsOp atomic = portals_op(op, type);
  if (!atomic.possible || element_bytes(type) > sizeof(uint64_t)) return nullptr;
  recent = {op, type, atomic};
  return &recent.atomic;
}

}  // namespace

int accumulate(const char* function, const Buffer& origin, const Buffer* result, int rank, MPI_Aint displacement, const Buffer& target,
               MPI_Op op, MPI_Win win, Access& access) {
  if (int error = check_access(function, win, rank, displacement, target, access)) return error;
  Window& window = *access.window;
  if (op != MPI_NO_OP)
    if (int error = check_buffer(function, access, "origin", origin)) return error;
  if (result)
    if (int error = check_buffer(function, access, "result", *result)) return error;
  if (!access.member) return MPI_SUCCESS;
  if (!access.captured && origin.type == target.type && (!result || (result->type == target.type && result->count == target.count)))
    if (const int64_t bytes = dense_on_node(origin, access); bytes > 0)
      if (const PortalsOp* const atomic = atomic_of(op, target.type)) {
        if (int error = keep_order(function, access, rank, 0, bytes)) return error;
        void* const former = result ? const_cast<void*>(result->address) : nullptr;
        return raise_result(
            function, access,
            PtlxNodeAtomic(atomic->op, atomic->type, mapped(access, 0), origin.address, static_cast<ptl_size_t>(bytes), former, nullptr));
      }
  const Runs to(target.count, target.type);
  if (to.bytes() == 0) return MPI_SUCCESS;
  const MPI_Datatype element = element_of(target.type);
  if (element == MPI_DATATYPE_NULL)
    return raise(function, window, MPI_ERR_TYPE, "the datatype is made of more than one predefined datatype");
  if (const char* why = accumulate_refusal(op, element)) return raise(function, window, MPI_ERR_OP, "%s", why);
  if (op == MPI_NO_OP && !result) return MPI_SUCCESS;
  if (access.captured) return graph::accumulate(function, origin, result, target, op, access);
  if (int error = keep_order(function, access, rank, to.begin(), to.end())) return error;
  const Runs from = op == MPI_NO_OP ? to : Runs(origin.count, origin.type), old = result ? Runs(result->count, result->type) : to;
  const PortalsOp atomic = portals_op(op == MPI_NO_OP ? MPI_REPLACE : op, element);
  if (!atomic.possible)
    return combine_under_lock(function, access, rank, origin.address, from, to, result ? const_cast<void*>(result->address) : nullptr, old,
                              op, element);
  int failed = PTL_OK;
  // The processor's own atomics do on memory that we map what the target's engine would do.
  const bool at_once = access.member->mapped && element_bytes(element) <= sizeof(uint64_t);
  const auto issue = [&](const std::byte* data, int64_t there, std::byte* former, ptl_size_t length) -> int {
    if (at_once && op != MPI_NO_OP)
      return PtlxNodeAtomic(atomic.op, atomic.type, mapped(access, there), data, length, result ? former : nullptr, nullptr);
    if (at_once) return move_run<false>(access, former, there, static_cast<int64_t>(length));
    const client::By by = ticket(access, length);
    const client::RemoteAddress at = remote(access, there);
    if (static_cast<int64_t>(length) > device::device.ordered_limit || access.member->mapped)  // those at once do not wait
      window.long_accumulates.add(rank, access.displacement + there, access.displacement + there + static_cast<int64_t>(length));
    if (op == MPI_NO_OP) return used(by, client::get(by, at, former, length));
    const bool fetches = result || atomic.op == PTL_SWAP;
    return used(by, fetches ? client::fetch(by, at, atomic.op, atomic.type, {by.memory, data}, former, length)
                            : client::update(by, at, atomic.op, atomic.type, data, length));
  };
  for_each_piece(
      at_once ? kAnyLength : kAtomicBytes,
      [&](int64_t at, int64_t there, int64_t former, int64_t bytes) {
        std::byte* const goes = result ? place(result->address, former) : window.discarded.get();
        if (const int code = issue(place(origin.address, at), there, goes, static_cast<ptl_size_t>(bytes)); code != PTL_OK) failed = code;
      },
      from, to, old);
  return raise_result(function, access, failed);
}

int compare_and_swap(const char* function, const void* origin, const void* compare, void* result, MPI_Datatype datatype, int rank,
                     MPI_Aint displacement, MPI_Win win) {
  Access access;
  if (int error = check_access(function, win, rank, displacement, {nullptr, 1, datatype}, access)) return error;
  if (access.captured) return graph::refuse(function, "the value to compare with would be that of the capture, and not of the run");
  if (!access.member) return MPI_SUCCESS;
  for (const auto& [name, address] : {std::pair{"origin", origin}, {"compare", compare}, {"result", static_cast<const void*>(result)}})
    if (int error = check_address(function, *access.window, name, {address, 1, datatype})) return error;
  const Datatype& type = *find_type(datatype);
  if (accumulate_refusal(MPI_BAND, datatype) && accumulate_refusal(MPI_LAND, datatype))
    return raise(function, *access.window, MPI_ERR_TYPE, "only integers, logicals and bytes can be compared and swapped");
  if (int error = keep_order(function, access, rank, 0, type.extent)) return error;
  const PortalsOp atomic = swap_of(type, datatype);
  if (!atomic.possible) {
    const auto bytes = static_cast<size_t>(type.extent);
    return under_lock(function, access, rank, Runs(1, datatype), [&](std::byte* value) {
      if (!value) value = mapped(access, 0);
      std::memcpy(result, value, bytes);
      const bool equal = std::memcmp(result, compare, bytes) == 0;
      if (equal) std::memcpy(value, origin, bytes);
      return equal;
    });
  }
  const client::By by = access.window->operations.own();
  const bool at_once = access.member->mapped && atomic.width <= sizeof(uint64_t);
  return raise_result(
      function, access,
      at_once ? PtlxNodeAtomic(PTL_CSWAP, atomic.type, mapped(access, 0), origin, atomic.width, result, compare)
              : client::fetch(by, remote(access, 0), PTL_CSWAP, atomic.type, {by.memory, origin, compare}, result, atomic.width));
}

}  // namespace portunus::mpi::rma
