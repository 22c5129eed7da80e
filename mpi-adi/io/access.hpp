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
  std::shared_ptr<const View> view;
  bool writes = false;
  void* buf = nullptr;
  Datatype* type = nullptr;
  MPI_Count count = 0;
  int64_t from = 0;   // position in the view, bytes
  int64_t bytes = 0;  // in the file
  Result result;      // an error that is known before; `bytes`: of the file until finish()
  Memory memory;      // in the file's representation: the user's, or `converted`
  std::unique_ptr<Scratch> converted;

  Access() = default;
  ~Access() {
    if (type) release(type);
  }
  Access(Access&& other) noexcept { *this = std::move(other); }
  Access& operator=(Access&& other) noexcept {
    std::swap(file, other.file);
    std::swap(view, other.view);
    std::swap(writes, other.writes);
    std::swap(buf, other.buf);
    std::swap(type, other.type);
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
// At once, if that will not take long; false: not done.
bool carry_out_soon(Access& access);

}  // namespace portunus::mpi::io
