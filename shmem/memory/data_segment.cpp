// data_segment.cpp: the writable PT_LOAD of the main program, less PT_GNU_RELRO; and which program it is.
#include "shmem/memory/data_segment.hpp"

#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

namespace portunus::shmem {

namespace {

struct Pages {
  uintptr_t start = 0;
  uintptr_t end = 0;
};

// The kernel maps whole pages: the one .data begins in and the one .bss ends in belong to the segment alone. The part
// that the linker placed in front of .data, up to a page boundary, was made read-only (RELRO) and cannot be shared.
Pages writable_pages(const dl_phdr_info& program) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto down = [page](uintptr_t at) { return at & ~(page - 1); };
  Pages relro;
  for (int i = 0; i < program.dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = program.dlpi_phdr[i];
    if (header.p_type != PT_GNU_RELRO) continue;
    const uintptr_t at = program.dlpi_addr + header.p_vaddr;
    relro = {down(at), down(at + header.p_memsz)};
  }
  Pages found;
  for (int i = 0; i < program.dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = program.dlpi_phdr[i];
    if (header.p_type != PT_LOAD || !(header.p_flags & PF_W) || header.p_memsz == 0) continue;
    const uintptr_t at = program.dlpi_addr + header.p_vaddr;
    Pages pages{down(at), down(at + header.p_memsz + page - 1)};
    if (relro.start <= pages.start && pages.start < relro.end) pages.start = std::min(relro.end, pages.end);
    if (pages.start == pages.end) continue;
    // Some linkers write several writable segments side by side; a gap between them is not ours to share.
    if (found.end == pages.start && found.start != found.end) found.end = pages.end;
    else if (pages.end - pages.start > found.end - found.start) found = pages;
  }
  return found;
}

int first_is_the_program(dl_phdr_info* info, size_t, void* result) {
  *static_cast<Pages*>(result) = writable_pages(*info);
  return 1;
}

// FNV-1a.
void add(uint64_t& hash, const void* data, size_t size) {
  for (const auto *at = static_cast<const unsigned char*>(data), *end = at + size; at != end; ++at)
    hash = (hash ^ *at) * uint64_t{0x100000001b3};
}

int hash_of_program(dl_phdr_info* info, size_t, void* result) {
  uint64_t& hash = *static_cast<uint64_t*>(result);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info->dlpi_phdr[i];
    add(hash, &header, sizeof header);
    if (header.p_type == PT_NOTE) add(hash, reinterpret_cast<const void*>(info->dlpi_addr + header.p_vaddr), header.p_memsz);
  }
  return 1;
}

}  // namespace

Range data_segment() {
  Pages pages;
  dl_iterate_phdr(first_is_the_program, &pages);
  return {reinterpret_cast<void*>(pages.start), pages.end - pages.start};
}

uint64_t executable_hash() {
  uint64_t hash = 0xcbf29ce484222325;
  dl_iterate_phdr(hash_of_program, &hash);
  return hash;
}

}  // namespace portunus::shmem
