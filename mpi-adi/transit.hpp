// transit.hpp: how the data of messages get from and to where their datatypes lie.
//
// Data that are one run are sent and received in place. Others are packed into scratch memory first, or unpacked from it
// when the message is complete.
// Thread: as the call; what follows completion is done by the holder of the turn, before anybody sees the request complete.
// Source: MPI-5.0, 5.1.11 (use in communication).
#pragma once

#include <cstddef>

#include "mpi-adi/arguments.hpp"
#include "mpi-adi/datatype.hpp"
#include "mpi-adi/request.hpp"

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

// Where the data lie in one piece; nullptr: they do not.
inline const void* run_of(const Arguments& given, const Datatype& type) {
  if (type.dense) [[likely]]
    return given.buf;
  return is_one_run(type, given.count) ? static_cast<const char*>(given.buf) + type.layout.offset : nullptr;
}
// Copies the data to one piece of memory.
void pack(const Arguments& given, void* packed, size_t bytes);

// Until the request completes, scratch memory stands in for the user's: it holds the packed data (pack_into_scratch), or
// what arrives there is unpacked to `buf`. nullptr: there is no memory. If the operation cannot be started, drop_scratch().
std::byte* pack_into_scratch(Request& request, const Arguments& given, size_t bytes);
std::byte* unpack_from_scratch(Request& request, void* buf, const Arguments& given, size_t bytes);
void drop_scratch(Request& request);

}  // namespace portunus::mpi
