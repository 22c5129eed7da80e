// transfer.cpp: what put, get and accumulate do.
//
// Accumulates that Portals has no atomic for (pairs of value and place) are done under a lock of the target: they are atomic
// among themselves. On memory that this process maps the lock and the data are reached by loads and stores, else by messages.
// Source: MPI-5.0, 12.3, 12.7.1 (atomicity).
#include <sched.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "engine/goal/copy.hpp"
#include "mpi-adi/op/op.hpp"
#include "mpi-adi/rma/report.hpp"
#include "mpi-adi/rma/transfer.hpp"

namespace portunus::mpi::rma {
namespace {

constexpr int64_t kAnyLength = std::numeric_limits<int64_t>::max();
constexpr int64_t kAtomicBytes = 32 * 1024;  // at most, in one message; a multiple of all elements' sizes

ptl_process_t process_of(const Access& access) { return adi::process(access.member->job_rank); }
ptl_match_bits_t bits_of(const Access& access) { return match_bits(access.window->number, Place::memory); }
ptl_size_t local(const void* base, int64_t offset) { return adi::offset_of(base) + static_cast<ptl_size_t>(offset); }
ptl_size_t remote(const Access& access, int64_t offset) { return static_cast<ptl_size_t>(access.displacement + offset); }

void count(const Access& access) { access.window->issued.fetch_add(1, std::memory_order_relaxed); }

// What is long and under way to some of these bytes of the target comes first.
int keep_order(const char* function, const Access& access, int rank, int64_t begin, int64_t end) {
  Window& window = *access.window;
  const auto none = [&] {
    ptl_ct_event_t done;
    return PtlCTGet(window.done, &done) == PTL_OK && done.success + done.failure >= window.issued.load(std::memory_order_relaxed);
  };
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
int64_t dense_on_node(const Buffer& origin, const Buffer& target, const Access& access) {
  if (!access.member->mapped) return -1;
  const int64_t here = dense_bytes(origin.count, origin.type), there = dense_bytes(target.count, target.type);
  return here < 0 || there < 0 ? -1 : std::min(here, there);
}

}  // namespace

int put(const char* function, const Buffer& origin, int rank, MPI_Aint displacement, const Buffer& target, MPI_Win win, Access& access) {
  if (int error = check_access(function, win, rank, displacement, target, access)) return error;
  if (int error = check_origin(function, *access.window, origin)) return error;
  if (!access.member) return MPI_SUCCESS;
  if (int error = check_address(function, *access.window, "origin", origin)) return error;
  if (const int64_t bytes = dense_on_node(origin, target, access); bytes >= 0) [[likely]] {
    move_mapped(access.member->mapped + access.displacement, static_cast<const std::byte*>(origin.address), static_cast<size_t>(bytes));
    return MPI_SUCCESS;
  }
  const Runs from(origin.count, origin.type), to(target.count, target.type);
  int result = PTL_OK;
  for_each_pair(from, to, kAnyLength, [&](int64_t at, int64_t there, int64_t bytes) {
    if (access.member->mapped) {
      move_mapped(access.member->mapped + access.displacement + there, static_cast<const std::byte*>(origin.address) + at,
                  static_cast<size_t>(bytes));
      return;
    }
    const Ticket ticket = take_ticket(access);
    const int code = PtlPut(ticket.md, local(origin.address, at), static_cast<ptl_size_t>(bytes), ticket.ack, process_of(access),
                            kWindowPortal, bits_of(access), remote(access, there), ticket.part, 0);
    if (used(ticket, code) != PTL_OK) result = code;
  });
  return raise_result(function, access, result);
}

int get(const char* function, const Buffer& origin, int rank, MPI_Aint displacement, const Buffer& target, MPI_Win win, Access& access) {
  if (int error = check_access(function, win, rank, displacement, target, access)) return error;
  if (int error = check_origin(function, *access.window, origin)) return error;
  if (!access.member) return MPI_SUCCESS;
  if (int error = check_address(function, *access.window, "origin", origin)) return error;
  if (const int64_t bytes = dense_on_node(origin, target, access); bytes >= 0) [[likely]] {
    move_mapped(static_cast<std::byte*>(const_cast<void*>(origin.address)), access.member->mapped + access.displacement,
                static_cast<size_t>(bytes));
    return MPI_SUCCESS;
  }
  const Runs to(origin.count, origin.type), from(target.count, target.type);
  int result = PTL_OK;
  for_each_pair(to, from, kAnyLength, [&](int64_t at, int64_t there, int64_t bytes) {
    if (access.member->mapped) {
      move_mapped(static_cast<std::byte*>(const_cast<void*>(origin.address)) + at, access.member->mapped + access.displacement + there,
                  static_cast<size_t>(bytes));
      return;
    }
    const Ticket ticket = take_ticket(access);
    const int code = PtlGet(ticket.md, local(origin.address, at), static_cast<ptl_size_t>(bytes), process_of(access), kWindowPortal,
                            bits_of(access), remote(access, there), ticket.part);
    if (used(ticket, code) != PTL_OK) result = code;
  });
  return raise_result(function, access, result);
}

// ---- accumulate

namespace {

// The lock of accumulates that are no atomics, on the target of the access.
class Combining {
 public:
  Combining(const char* function, const Access& access) : function_(function), access_(access) {
    while (is_mapped() ? std::atomic_ref(access.member->control->accumulate).exchange(1, std::memory_order_acquire) != 0 : is_refused())
      if (PtlxProgress() == 0) sched_yield();
  }
  int release() {
    if (!is_mapped()) return change(1, 0);
    std::atomic_ref(access_.member->control->accumulate).store(0, std::memory_order_release);
    return MPI_SUCCESS;
  }
  int error() const { return error_; }
  // Is the target's memory, with the lock, this process's as well?
  bool is_mapped() const { return access_.member->mapped && access_.member->control; }
  std::byte* target() const { return access_.member->mapped + access_.displacement; }

 private:
  bool is_refused() {
    error_ = change(0, 1);
    return error_ == MPI_SUCCESS && old_ != 0;
  }
  int change(int64_t from, int64_t to) {
    value_ = to;
    count(access_);
    const int result = PtlSwap(access_.window->md, adi::offset_of(&old_), access_.window->md, adi::offset_of(&value_), sizeof value_,
                               process_of(access_), kWindowPortal, match_bits(access_.window->number, Place::control),
                               offsetof(Control, accumulate), nullptr, 0, &from, PTL_CSWAP, PTL_INT64_T);
    if (int error = raise_result(function_, access_, result)) return error;
    return flush(function_, *access_.window);
  }

  const char* function_;
  const Access& access_;
  int64_t old_ = 0, value_ = 0;
  int error_ = MPI_SUCCESS;
};

// Reads the target, combines here, writes back.
int combine_under_lock(const char* function, const Access& access, const void* origin, const Runs& from, const Runs& to, void* result,
                       const Runs* old, MPI_Op op, MPI_Datatype element) {
  const size_t bytes = static_cast<size_t>(to.bytes());
  Combining lock(function, access);
  if (lock.error() != MPI_SUCCESS) return lock.error();
  if (lock.is_mapped() && to.all().size() == 1 && from.all().size() == 1 && (!old || old->all().size() == 1)) {
    std::byte* const target = lock.target() + to.begin();
    const auto operand = [&] { return static_cast<const std::byte*>(origin) + from.begin(); };
    if (old) std::memcpy(static_cast<std::byte*>(result) + old->begin(), target, bytes);
    if (op == MPI_REPLACE) std::memcpy(target, operand(), bytes);
    else if (op != MPI_NO_OP) apply(op, operand(), target, bytes / element_bytes(element), element);
    return lock.release();
  }
  const std::unique_ptr<std::byte[]> operand(new std::byte[bytes]), value(new std::byte[bytes]);
  const auto move = [&](std::byte* packed, const void* base, const Runs& runs, bool in) {
    for (const Run& run : runs.all()) {
      std::byte* at = static_cast<std::byte*>(const_cast<void*>(base)) + run.offset;
      copy_run(in ? packed : at, in ? at : packed, static_cast<size_t>(run.bytes));
      packed += run.bytes;
    }
  };
  const auto transfer = [&](bool in) -> int {
    if (lock.is_mapped()) {
      move(value.get(), lock.target(), to, in);
      return MPI_SUCCESS;
    }
    int failed = PTL_OK;
    int64_t place = 0;
    for (const Run& run : to.all()) {
      count(access);
      const ptl_size_t here = local(value.get(), place), length = static_cast<ptl_size_t>(run.bytes), there = remote(access, run.offset);
      const int code = in ? PtlGet(access.window->md, here, length, process_of(access), kWindowPortal, bits_of(access), there, nullptr)
                          : PtlPut(access.window->md, here, length, PTL_CT_ACK_REQ, process_of(access), kWindowPortal, bits_of(access),
                                   there, nullptr, 0);
      if (code != PTL_OK) failed = code;
      place += run.bytes;
    }
    const int error = raise_result(function, access, failed);
    return error == MPI_SUCCESS ? flush(function, *access.window) : error;
  };
  int error = transfer(true);
  if (error == MPI_SUCCESS && old) move(value.get(), result, *old, false);
  if (error == MPI_SUCCESS && op != MPI_NO_OP) {
    move(operand.get(), origin, from, true);
    if (op == MPI_REPLACE) std::memcpy(value.get(), operand.get(), bytes);
    else apply(op, operand.get(), value.get(), bytes / element_bytes(element), element);
    error = transfer(false);
  }
  const int released = lock.release();
  return error != MPI_SUCCESS ? error : released;
}

// Compares and swaps by hand.
int swap_under_lock(const char* function, const Access& access, const void* origin, const void* compare, void* result, size_t bytes) {
  const ptl_handle_md_t md = access.window->md;
  Combining lock(function, access);
  if (lock.error() != MPI_SUCCESS) return lock.error();
  if (lock.is_mapped()) {
    std::memcpy(result, lock.target(), bytes);
    if (std::memcmp(result, compare, bytes) == 0) std::memcpy(lock.target(), origin, bytes);
    return lock.release();
  }
  const auto finish = [&](int code) {
    const int error = raise_result(function, access, code);
    return error == MPI_SUCCESS ? flush(function, *access.window) : error;
  };
  count(access);
  int error =
      finish(PtlGet(md, adi::offset_of(result), bytes, process_of(access), kWindowPortal, bits_of(access), remote(access, 0), nullptr));
  if (error == MPI_SUCCESS && std::memcmp(result, compare, bytes) == 0) {
    count(access);
    error = finish(PtlPut(md, adi::offset_of(origin), bytes, PTL_CT_ACK_REQ, process_of(access), kWindowPortal, bits_of(access),
                          remote(access, 0), nullptr, 0));
  }
  const int released = lock.release();
  return error != MPI_SUCCESS ? error : released;
}

// What compares the bits of a word, or else a value of this type; not possible: Portals has neither.
PortalsOp swap_of(const Datatype& type, MPI_Datatype handle) {
  static const MPI_Datatype kWords[] = {MPI_UINT8_T, MPI_UINT16_T, MPI_UINT32_T, MPI_UINT64_T};
  for (const MPI_Datatype word : kWords)
    if (type.dense && find_type(word)->size == type.size) return portals_op(MPI_REPLACE, word);
  return portals_op(MPI_REPLACE, handle);
}

}  // namespace

namespace {

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
    if (int error = check_origin(function, window, origin)) return error;
  if (result)
    if (int error = check_origin(function, window, *result)) return error;
  if (!access.member) return MPI_SUCCESS;
  if (op != MPI_NO_OP)
    if (int error = check_address(function, window, "origin", origin)) return error;
  if (result)
    if (int error = check_address(function, window, "result", *result)) return error;
  if (!result && origin.type == target.type)
    if (const int64_t bytes = dense_on_node(origin, target, access); bytes > 0)
      if (const PortalsOp* const atomic = atomic_of(op, target.type)) {
        if (int error = keep_order(function, access, rank, 0, bytes)) return error;
        return raise_result(function, access,
                            PtlxNodeAtomic(atomic->op, atomic->type, access.member->mapped + access.displacement, origin.address,
                                           static_cast<ptl_size_t>(bytes), nullptr, nullptr));
      }
  const Runs to(target.count, target.type);
  if (to.bytes() == 0) return MPI_SUCCESS;
  const MPI_Datatype element = element_of(target.type);
  if (element == MPI_DATATYPE_NULL)
    return raise(function, window, MPI_ERR_TYPE, "the datatype is made of more than one predefined datatype");
  if (const char* why = accumulate_refusal(op, element)) return raise(function, window, MPI_ERR_OP, "%s", why);
  if (op == MPI_NO_OP && !result) return MPI_SUCCESS;
  if (int error = keep_order(function, access, rank, to.begin(), to.end())) return error;
  const Runs from = op == MPI_NO_OP ? to : Runs(origin.count, origin.type);
  const PortalsOp atomic = portals_op(op == MPI_NO_OP ? MPI_REPLACE : op, element);
  if (!atomic.possible) {
    if (!result) return combine_under_lock(function, access, origin.address, from, to, nullptr, nullptr, op, element);
    const Runs old(result->count, result->type);
    return combine_under_lock(function, access, origin.address, from, to, const_cast<void*>(result->address), &old, op, element);
  }
  int failed = PTL_OK;
  // The processor's own atomics do on memory that we map what the target's engine would do.
  const bool at_once = access.member->mapped && element_bytes(element) <= sizeof(uint64_t);
  std::byte* const mapped = at_once ? access.member->mapped + access.displacement : nullptr;
  const auto apply_mapped = [&](int64_t at, int64_t there, std::byte* old, int64_t bytes) {
    const auto length = static_cast<size_t>(bytes);
    if (op == MPI_NO_OP) {
      if (old) move_mapped(old, mapped + there, length);
      return;
    }
    const int code =
        PtlxNodeAtomic(atomic.op, atomic.type, mapped + there, static_cast<const std::byte*>(origin.address) + at, length, old, nullptr);
    if (code != PTL_OK) failed = code;
  };
  if (at_once && !result) {
    for_each_pair(from, to, kAnyLength, [&](int64_t at, int64_t there, int64_t bytes) { apply_mapped(at, there, nullptr, bytes); });
    return raise_result(function, access, failed);
  }
  // Pieces that are runs at the origin, in the result and at the target.
  const Runs old = result ? Runs(result->count, result->type) : to;
  const Runs sources = op == MPI_NO_OP ? old : from;
  std::vector<int64_t> sources_at, there_at, lengths;
  for_each_pair(sources, to, kAtomicBytes, [&](int64_t at, int64_t there, int64_t bytes) {
    sources_at.push_back(at);
    there_at.push_back(there);
    lengths.push_back(bytes);
  });
  const auto issue = [&](int64_t at, int64_t there, std::byte* old_data, int64_t bytes) {
    if (at_once) return apply_mapped(at, there, old_data, bytes);
    const ptl_size_t old_place = adi::offset_of(old_data);
    const ptl_size_t length = static_cast<ptl_size_t>(bytes), place = remote(access, there);
    const Ticket ticket = take_ticket(access);
    if (bytes > adi::device.ordered_limit || access.member->mapped)  // those at once do not wait for it
      window.long_accumulates.add(rank, access.displacement + there, access.displacement + there + bytes);
    int code;
    if (op == MPI_NO_OP)
      code = PtlGet(ticket.md, old_place, length, process_of(access), kWindowPortal, bits_of(access), place, ticket.part);
    else if (atomic.op == PTL_SWAP)
      code = PtlSwap(ticket.md, old_place, ticket.md, local(origin.address, at), length, process_of(access), kWindowPortal, bits_of(access),
                     place, ticket.part, 0, nullptr, PTL_SWAP, atomic.type);
    else if (result)
      code = PtlFetchAtomic(ticket.md, old_place, ticket.md, local(origin.address, at), length, process_of(access), kWindowPortal,
                            bits_of(access), place, ticket.part, 0, atomic.op, atomic.type);
    else
      code = PtlAtomic(ticket.md, local(origin.address, at), length, ticket.ack, process_of(access), kWindowPortal, bits_of(access), place,
                       ticket.part, 0, atomic.op, atomic.type);
    used(ticket, code);
    if (code != PTL_OK) failed = code;
  };
  if (!result) {
    for (size_t i = 0; i < lengths.size(); ++i) issue(sources_at[i], there_at[i], window.discarded.get(), lengths[i]);
    return raise_result(function, access, failed);
  }
  // The data of origin and target go along together; cut them again where the result's runs end.
  int64_t done = 0;
  size_t i = 0;
  for (const Run& run : old.all())
    for (int64_t in = 0; in < run.bytes && i < lengths.size();) {
      const int64_t bytes = std::min(run.bytes - in, lengths[i] - done);
      issue(sources_at[i] + done, there_at[i] + done, static_cast<std::byte*>(const_cast<void*>(result->address)) + run.offset + in, bytes);
      in += bytes;
      if ((done += bytes) == lengths[i]) {
        ++i;
        done = 0;
      }
    }
  return raise_result(function, access, failed);
}

int compare_and_swap(const char* function, const void* origin, const void* compare, void* result, MPI_Datatype datatype, int rank,
                     MPI_Aint displacement, MPI_Win win) {
  Access access;
  if (int error = check_access(function, win, rank, displacement, {nullptr, 1, datatype}, access)) return error;
  if (!access.member) return MPI_SUCCESS;
  for (const auto& [name, address] : {std::pair{"origin", origin}, {"compare", compare}, {"result", static_cast<const void*>(result)}})
    if (int error = check_address(function, *access.window, name, {address, 1, datatype})) return error;
  const Datatype& type = *find_type(datatype);
  if (accumulate_refusal(MPI_BAND, datatype) && accumulate_refusal(MPI_LAND, datatype))
    return raise(function, *access.window, MPI_ERR_TYPE, "only integers, logicals and bytes can be compared and swapped");
  if (int error = keep_order(function, access, rank, 0, type.extent)) return error;
  const PortalsOp atomic = swap_of(type, datatype);
  if (!atomic.possible) return swap_under_lock(function, access, origin, compare, result, static_cast<size_t>(type.extent));
  if (access.member->mapped && atomic.width <= sizeof(uint64_t))
    return raise_result(
        function, access,
        PtlxNodeAtomic(PTL_CSWAP, atomic.type, access.member->mapped + access.displacement, origin, atomic.width, result, compare));
  count(access);
  const ptl_handle_md_t md = access.window->md;
  return raise_result(function, access,
                      PtlSwap(md, adi::offset_of(result), md, adi::offset_of(origin), atomic.width, process_of(access), kWindowPortal,
                              bits_of(access), remote(access, 0), nullptr, 0, compare, PTL_CSWAP, atomic.type));
}

}  // namespace portunus::mpi::rma
