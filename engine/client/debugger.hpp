// debugger.hpp: where the engine of a process keeps receives, sends and messages that came early, for who reads that process's memory from
// outside and has nothing but names of symbols: libportunus_mqs.so, in a debugger (mpi-adi/debugger/README.md).
//
// libportals.so exports one table, constant from its making on. Whoever reads checks `version` and `size` first; the offsets in it follow
// the engine's classes by themselves, so `version` grows only when the table means something else.
// Thread: any; plain values. Invariants: addresses are those of the process that is described.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace portunus::client {

// A member of an object: an unsigned number, a truth value or an address of 1, 2, 4 or 8 bytes; or an array, of which `bytes` is all.
struct Field {
  uint32_t offset, bytes;
};
// The compilers know it of classes that are no standard-layout ones, too; whoever uses it there silences -Winvalid-offsetof.
#define PORTUNUS_FIELD(type, member) \
  ::portunus::client::Field { offsetof(type, member), sizeof(std::declval<type&>().member) }

// Filled while the engine runs; else null.
struct EngineRoots {
  const void* interfaces = nullptr;  // an array
  const void* entries = nullptr;     // the slot of handle index 0
  uint64_t entry_capacity = 0;
  const void* newest = nullptr;  // where the address of the operation lies that was made last
};

struct EngineDescription {
  static constexpr uint32_t kVersion = 1;
  static constexpr const char* kSymbol = "portunus_engine_description";

  uint32_t version, size;
  const EngineRoots* roots;
  uint32_t index_mask;  // the index in a handle of an interface or entry

  struct {
    uint32_t size;
    Field portals;  // an array of addresses, each of a portal, or null
  } interface;
  struct {
    Field first, count;  // its unexpected headers
  } portal;
  // A list entry; a served one has left its list.
  struct {
    uint32_t slot, size;
    Field match_bits, ignore_bits, sequence, base, pieces, length, user_ptr, handle, moving, pt_index, ni, on_list, served;
  } entry;
  uint32_t pieces_of_layout;  // `pieces` where `base` is the address of a ptlx_layout_t
  // The header of a message that came before its entry.
  struct {
    uint32_t size;
    Field next, match_bits, length, flags, carried, small, payload, region;  // carried: bytes of data that are here
    uint32_t most_small;                                                     // so many bytes lie in `small`, more at `payload`
    uint32_t bulk;                                                           // the flag: the data are still with the sender, at `region`
  } header;
  // A message of this process that awaits an answer; a free one has no peer.
  struct {
    uint32_t size;
    Field earlier, index, peer, ni, pt_index, base, pieces, length, user_ptr, source_read;
  } operation;
};

}  // namespace portunus::client

extern "C" const portunus::client::EngineDescription portunus_engine_description;
