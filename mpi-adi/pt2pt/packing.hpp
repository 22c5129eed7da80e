// packing.hpp: how the data of messages get from and to where their datatypes lie.
//
// Data that are one run are sent and received in place. All others the engine has packed and unpacked by a function of this library
// while they travel (E9); only what is long and goes to another node is packed into scratch memory first.
// Thread: as the call; packing and unpacking by pieces: whoever steps the engine; what follows completion is done by the holder of the
// turn, before anybody sees the request complete.
// Source: MPI-5.0, 5.1.11 (use in communication).
#pragma once

#include <cstddef>

#include "mpi-adi/core/arguments.hpp"
#include "mpi-adi/request/request.hpp"
#include "mpi-adi/types/datatype.hpp"
#include "portals/portals4_ext.h"

namespace portunus::mpi {

// Memory of one's own. Costs no page faults when some of that size was given back lately.
class Scratch {
 public:
  explicit Scratch(size_t bytes);
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  std::byte* data() const { return data_; }  // nullptr: there is no memory

 private:
  std::byte* data_;
  size_t room_;
};

// The address of data that lie in one piece; nullptr: they do not.
inline const void* run_of(const Arguments& given, const Datatype& type) {
  if (type.dense) [[likely]]
    return given.buf;
  return is_one_run(type, given.count) ? static_cast<const char*>(given.buf) + type.layout.offset : nullptr;
}
// Copies the data to one piece of memory.
void pack(const Arguments& given, void* packed, size_t bytes);

// The places of data, for the engine. The flattened layout outlives the datatype, should that be freed meanwhile.
struct LaidOut {
  LaidOut(void* buf, const Arguments& given);
  LaidOut(const LaidOut&) = delete;
  LaidOut& operator=(const LaidOut&) = delete;

  Layout flat;
  void* buf;
  ptlx_layout_t layout;

 private:
  static void copy(const void* context, ptl_size_t offset, ptl_size_t bytes, void* piece, int to_piece);
};

// Until the request completes: scratch memory with the packed data (nullptr: there is none), or a description of where the data lie
// at `buf`, for the engine. If the operation cannot be started, drop_packing().
std::byte* pack_into_scratch(Request& request, const Arguments& given, size_t bytes);
ptlx_layout_t& lay_out(Request& request, void* buf, const Arguments& given);
void drop_packing(Request& request);

}  // namespace portunus::mpi
