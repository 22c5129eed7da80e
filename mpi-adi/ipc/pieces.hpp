// pieces.hpp: memory of a message that does not lie in one run.
//
// Data and Room are what sends take from and receives put into: a run, or pieces, of which Portals is given a function that copies them
// (E9). So no list is made of a stride, nothing is bound for a message, and long data are copied by the engine where it moves them.
// Invariants: Pieces outlive the operation that their data() or room() was given to, and so does the user's list; bytes go to and from
// memory in the order of the message, so where pieces overlap the later byte stays. Thread: one at a time (the engine calls by steps).
// Source: Giloi and Schroeder-Preikschat, chapter 8 (structured access by the communication processor).
#pragma once

#include <cstring>

#include "mpi-adi/ipc/interface.hpp"
#include "mpi-adi/ipc/port.hpp"

namespace portunus::peace {

// Copies between packed bytes and where they lie.
inline void copy_laid_out(const void* layout, size_t offset, size_t bytes, void* packed, bool to_packed) {
  const auto& found = *static_cast<const ptlx_layout_t*>(layout);
  found.copy(found.context, offset, bytes, packed, to_packed);
}

// The bytes that are sent.
struct Data {
  const void* start = nullptr;  // the run, or the ptlx_layout_t
  size_t bytes = 0;
  bool laid_out = false;

  void copy_out(void* to, size_t size) const {
    if (size == 0) return;
    if (laid_out) copy_laid_out(start, 0, size, to, true);
    else std::memcpy(to, start, size);
  }
  // The descriptor to send it from.
  ptl_handle_md_t descriptor() const {
    if (laid_out) return bytes > kEagerBytes ? interface.md_long_layout : interface.md_layout;
    return bytes > kEagerBytes ? interface.md_long : interface.md;
  }
};

// A put whose acknowledgement is an event with `user_ptr`.
inline int put(uint64_t to, ptl_pt_index_t portal, uint64_t bits, const Data& data, uint64_t hdr_data, void* user_ptr,
               ptl_size_t offset = 0) {
  return PtlPut(data.descriptor(), offset_of(data.start), data.bytes, PTL_ACK_REQ, process_of(to), portal, bits, offset, user_ptr,
                hdr_data);
}

// Memory to receive in.
struct Room {
  void* start = nullptr;  // as of Data
  size_t bytes = 0;
  bool laid_out = false;

  void copy_in(const void* from, size_t size) const {
    if (size == 0) return;
    if (laid_out) copy_laid_out(start, 0, size, const_cast<void*>(from), false);
    else std::memcpy(start, from, size);
  }
  unsigned entry_options() const { return laid_out ? PTLX_ME_LAYOUT : 0; }
  ptl_handle_md_t descriptor() const { return laid_out ? interface.md_layout : interface.md; }
};

class Pieces {
 public:
  // PEACE_OK, or PEACE_ARG, explained: a list that cannot be read, more bytes than there can be, memory that may not be touched.
  // `argument` names the list. The memory costs what check_memory does, for each piece of a short list, else for the range from the first
  // to the last byte, if all of that is memory.
  int open(const char* argument, const peace_piece_t* list, size_t count, Access access);
  size_t bytes() const { return bytes_; }
  Data data() { return is_run_ ? Data{run_, bytes_} : Data{layout(), bytes_, true}; }
  Room room() { return is_run_ ? Room{run_, bytes_} : Room{layout(), bytes_, true}; }
  // Calls run(memory, bytes) for each run, in order.
  template <class Run>
  void for_runs(Run&& run) const {
    for (size_t i = 0; i < count_; ++i) {
      const peace_piece_t& piece = list_[i];
      for (size_t block = 0; piece.bytes > 0 && block <= piece.again; ++block)
        run(static_cast<std::byte*>(piece.memory) + static_cast<ptrdiff_t>(block) * piece.stride, piece.bytes);
    }
  }
  // How many runs there are, empty ones not counted.
  size_t runs() const { return runs_; }
  void copy(size_t offset, size_t bytes, void* packed, bool to_packed);

 private:
  ptlx_layout_t* layout();
  int measure(const char* argument);
  int check(const char* argument, Access access) const;

  const peace_piece_t* list_ = nullptr;
  size_t count_ = 0, bytes_ = 0, runs_ = 0;
  void* run_ = nullptr;  // the only one
  bool is_run_ = true;
  uintptr_t lowest_ = UINTPTR_MAX, beyond_ = 0;  // of all bytes
  size_t at_ = 0;                                // where the last copy ended: a piece, and the bytes in front of it
  uint64_t before_ = 0;
  ptlx_layout_t layout_{};
};

}  // namespace portunus::peace
