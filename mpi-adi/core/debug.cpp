// debug.cpp: see debug.hpp.
#include "mpi-adi/core/debug.hpp"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <string_view>

#include "mpi-adi/core/errors.hpp"
#include "mpi-adi/types/datatype.hpp"

namespace portunus::mpi {

constinit Debug debug{};

namespace {

bool has_key(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    const size_t end = std::min(text.find(','), text.size());
    if (text.substr(0, end) == key) return true;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return false;
}

// A byte of each page is read as another process would: a fault is an answer.
bool pages_are_there(uintptr_t begin, uintptr_t end) {
  static const uintptr_t page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  std::array<iovec, 512> places;
  std::array<char, places.size()> bytes;
  while (begin < end) {
    size_t used = 0;
    for (; used < places.size() && begin < end; begin = (begin / page + 1) * page) places[used++] = {reinterpret_cast<void*>(begin), 1};
    const iovec here{bytes.data(), used};
    const ssize_t got = process_vm_readv(getpid(), &here, 1, places.data(), used, 0);
    if (got < 0 && errno != EFAULT) return true;  // the kernel does not say
    if (got != static_cast<ssize_t>(used)) return false;
  }
  return true;
}

}  // namespace

void read_debug() {
  const char* value = std::getenv("PTL_DEBUG");
  const std::string_view text = value ? value : "";
  debug.buffers = text == "1" || has_key(text, "buffers");
  debug.calls = has_key(text, "calls");
  debug.leaks = has_key(text, "leaks");
}

bool is_readable(const void* buffer, MPI_Count count, const Datatype& type) {
  if (count <= 0 || type.size == 0) return true;
  const auto first = reinterpret_cast<uintptr_t>(buffer) + static_cast<uintptr_t>(type.true_lb);
  const auto last = first + static_cast<uintptr_t>((count - 1) * type.extent + type.true_extent);
  if (type.dense) return pages_are_there(first, last);
  const auto last_begins = first + static_cast<uintptr_t>((count - 1) * type.extent);
  return pages_are_there(first, first + 1) && pages_are_there(last - 1, last) && pages_are_there(last_begins, last_begins + 1);
}

int check_readable(const char* function, const Communicator* comm, const void* buffer, MPI_Count count, const Datatype& type) {
  if (is_readable(buffer, count, type)) return MPI_SUCCESS;
  return raise(function, comm, MPI_ERR_BUFFER, "%lld elements of %lld bytes at %p cannot be read to their end",
               static_cast<long long>(count), static_cast<long long>(type.size), buffer);
}

}  // namespace portunus::mpi
