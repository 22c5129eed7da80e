// access.hpp: one access to a file's data as it was called, and carrying it out by this process alone.
//
// Thread: whoever carries it out, one at a time per access; the thread that calls MPI converts, before and afterwards, as that may call
// functions of the user. Invariants: the datatype and the view are held from the call to the end. Source: MPI-5.0, 14.4, 14.6.1 (atomic
// mode); Thakur, Gropp, Lusk 1999 (data sieving).
#pragma once

#include <cstdint>
#include <memory>

#include "mpi-adi/io/file.hpp"
#include "mpi-adi/pt2pt/packing.hpp"

namespace portunus::mpi::io {

// Data in memory: one run, or pieces.
struct Memory {
  std::byte* base = nullptr;
  Layout layout;

  // The address of byte `k` of the data, and all that follow; nullptr: they are in pieces.
  std::byte* run(int64_t k = 0) const { return layout.is_run() ? base + layout.offset + k : nullptr; }
};

struct Result {
  int64_t bytes = 0;  // of memory's data
  int error = MPI_SUCCESS;
  int system_error = 0;
  const char* cause = "";
};

struct Access {
  File* file = nullptr;
  std::shared_ptr<const View> view;  // null where a run is carried out within its call
  bool writes = false;
  bool is_run = false;  // one run of memory from or to one of the file, at `first` + `from`, in this machine's representation, not atomic
  int64_t first = 0;
  int64_t etype_size = 1;  // of the view
  void* buf = nullptr;
  Datatype* type = nullptr;
  bool kept = false;  // the type is held
  MPI_Count count = 0;
  int64_t from = 0;   // position in the view, bytes
  int64_t bytes = 0;  // in the file
  Result result;      // an error that is known before; `bytes`: of the file until finish()
  Memory memory;      // in the file's representation: the user's, or `converted`
  std::unique_ptr<Scratch> converted;

  Access() = default;
  ~Access() {
    if (kept) release(type);
  }
  // The caller returns before it is carried out: its user may free the type meanwhile.
  void keep_type() {
    if (type && !kept) retain(type), kept = true;
  }
  Access(Access&& other) noexcept { *this = std::move(other); }
  Access& operator=(Access&& other) noexcept {
    std::swap(file, other.file);
    std::swap(view, other.view);
    std::swap(writes, other.writes);
    std::swap(is_run, other.is_run);
    std::swap(first, other.first);
    std::swap(etype_size, other.etype_size);
    std::swap(buf, other.buf);
    std::swap(type, other.type);
    std::swap(kept, other.kept);
    std::swap(count, other.count);
    std::swap(from, other.from);
    std::swap(bytes, other.bytes);
    std::swap(result, other.result);
    std::swap(memory, other.memory);
    std::swap(converted, other.converted);
    return *this;
  }
  void fail(int error, const char* cause, int system_error = 0) {
    if (result.error != MPI_SUCCESS) return;
    result.error = error;
    result.cause = cause;
    result.system_error = system_error;
  }
};

// Before an access is carried out, and afterwards: converts what is written, and what was read.
void convert(Access& access);
void finish(Access& access);

// Moves the data between memory, from its byte `skip` on, and the file. errno and how many bytes, from the front.
enum class Prefer : uint8_t { what_fits, mapping };  // mapping: these data were accessed so before
Moved transfer(File& file, const Placed& placed, const Memory& memory, int64_t skip, bool writes, Prefer prefer = Prefer::what_fits);
// The bytes `from` .. `from + bytes` of one piece of memory's data to those of another.
void copy(const Memory& from, int64_t from_byte, const Memory& to, int64_t to_byte, int64_t bytes);

// All of it, by this process alone; under a lock in atomic mode.
void carry_out(Access& access, Prefer prefer = Prefer::what_fits);
// The same of a run, as most accesses of most programs are; false: it is none, nothing was done. `soon`: only if it will not take long.
bool carry_out_run(Access& access, bool soon = false);

}  // namespace portunus::mpi::io
