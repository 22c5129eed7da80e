// debugger.hpp: the part of a debugger that libportunus_mqs.so deals with: it finds symbols of another process in the files that this has
// mapped, reads its memory, and can pretend that the memory is another one.
#pragma once

#include <elf.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "mpi-adi/debugger/mqs.h"

// The debugger's records of a program and of a process of it, which are one here.
class Debugged {
 public:
  explicit Debugged(pid_t process) : process_(process) { read_symbols(); }

  // The address, or 0.
  uint64_t find(const std::string& symbol) const {
    const auto found = symbols_.find(symbol);
    return found == symbols_.end() ? 0 : found->second;
  }
  bool read(uint64_t address, void* to, size_t bytes) const {
    const iovec here{to, bytes}, there{reinterpret_cast<void*>(address), bytes};
    return process_vm_readv(process_, &here, 1, &there, 1, 0) == static_cast<ssize_t>(bytes);
  }
  bool write(uint64_t address, const void* from, size_t bytes) const {
    const iovec here{const_cast<void*>(from), bytes}, there{reinterpret_cast<void*>(address), bytes};
    return process_vm_writev(process_, &here, 1, &there, 1, 0) == static_cast<ssize_t>(bytes);
  }
  // Called with each read, may change what was read; false: it fails.
  std::function<bool(uint64_t address, std::vector<char>& data)> disturb;

  mqs_image_info* image_info = nullptr;
  mqs_process_info* process_info = nullptr;

 private:
  void read_symbols() {
    std::ifstream maps("/proc/" + std::to_string(process_) + "/maps");
    for (std::string line; std::getline(maps, line);) {
      std::istringstream words(line);
      std::string range, rights, offset, device, inode, file;
      words >> range >> rights >> offset >> device >> inode >> file;
      if (std::stoull(offset, nullptr, 16) == 0 && file.starts_with("/")) read_symbols(file, std::stoull(range, nullptr, 16));
    }
  }
  // `base`: where the first byte of the file lies.
  void read_symbols(const std::string& path, uint64_t base) {
    std::ifstream stream(path, std::ios::binary);
    std::vector<char> file(stream.seekg(0, std::ios::end) ? static_cast<size_t>(stream.tellg()) : 0);
    stream.seekg(0).read(file.data(), static_cast<std::streamsize>(file.size()));
    if (file.size() < sizeof(Elf64_Ehdr) || std::memcmp(file.data(), ELFMAG, SELFMAG) != 0 || file[EI_CLASS] != ELFCLASS64) return;
    const auto& head = *reinterpret_cast<const Elf64_Ehdr*>(file.data());
    const auto* segments = reinterpret_cast<const Elf64_Phdr*>(file.data() + head.e_phoff);
    uint64_t bias = base;
    for (int i = 0; i < head.e_phnum; ++i)
      if (segments[i].p_type == PT_LOAD && segments[i].p_offset == 0) bias = base - segments[i].p_vaddr;
    const auto* sections = reinterpret_cast<const Elf64_Shdr*>(file.data() + head.e_shoff);
    for (int i = 0; i < head.e_shnum; ++i) {
      if (sections[i].sh_type != SHT_DYNSYM) continue;
      const char* const names = file.data() + sections[sections[i].sh_link].sh_offset;
      const auto* symbols = reinterpret_cast<const Elf64_Sym*>(file.data() + sections[i].sh_offset);
      for (size_t j = 0; j < sections[i].sh_size / sizeof(Elf64_Sym); ++j)
        if (symbols[j].st_shndx != SHN_UNDEF && is_wanted(names + symbols[j].st_name))
          symbols_.emplace(names + symbols[j].st_name, bias + symbols[j].st_value);
    }
  }

  static bool is_wanted(std::string_view name) { return name.starts_with("MPIR_") || name.starts_with("portunus_"); }

  pid_t process_;
  std::map<std::string, uint64_t> symbols_;
};

inline Debugged& of(mqs_image* image) { return *reinterpret_cast<Debugged*>(image); }
inline Debugged& of(mqs_process* process) { return *reinterpret_cast<Debugged*>(process); }

inline const mqs_basic_callbacks kBasicCallbacks{
    malloc,
    free,
    [](const char*) {},
    [](int) -> char* { return nullptr; },
    [](mqs_image* image, mqs_image_info* info) { of(image).image_info = info; },
    [](mqs_image* image) { return of(image).image_info; },
    [](mqs_process* process, mqs_process_info* info) { of(process).process_info = info; },
    [](mqs_process* process) { return of(process).process_info; },
};
inline const mqs_image_callbacks kImageCallbacks{
    [](mqs_process*, mqs_target_type_sizes* sizes) { *sizes = {2, 4, 8, 8, 8, 1, 8}; },
    [](mqs_image*, char*, mqs_lang_code, mqs_taddr_t*) -> int { return mqs_no_information; },
    [](mqs_image* image, char* name, mqs_taddr_t* address) -> int {
      *address = of(image).find(name);
      return *address != 0 ? mqs_ok : mqs_no_information;
    },
    [](mqs_image*, char*, mqs_lang_code) -> mqs_type* { return nullptr; },
    [](mqs_type*, char*) { return -1; },
    [](mqs_type*) { return -1; },
};
inline const mqs_process_callbacks kProcessCallbacks{
    [](mqs_process*) { return 0; },
    [](mqs_process* process) { return reinterpret_cast<mqs_image*>(process); },
    [](mqs_process* process, mqs_taddr_t address, int bytes, void* data) -> int {
      std::vector<char> copy(static_cast<size_t>(bytes));
      if (!of(process).read(address, copy.data(), copy.size())) return mqs_no_information;
      if (of(process).disturb && !of(process).disturb(address, copy)) return mqs_no_information;
      std::memcpy(data, copy.data(), copy.size());
      return mqs_ok;
    },
    [](mqs_process*, const void* from, void* to, int bytes) { std::memcpy(to, from, static_cast<size_t>(bytes)); },
};

// libportunus_mqs.so, as a debugger has it.
struct Dll {
  decltype(&mqs_setup_basic_callbacks) setup_basic_callbacks;
  decltype(&mqs_version_string) version_string;
  decltype(&mqs_version_compatibility) version_compatibility;
  decltype(&mqs_dll_taddr_width) dll_taddr_width;
  decltype(&mqs_dll_error_string) dll_error_string;
  decltype(&mqs_setup_image) setup_image;
  decltype(&mqs_image_has_queues) image_has_queues;
  decltype(&mqs_destroy_image_info) destroy_image_info;
  decltype(&mqs_setup_process) setup_process;
  decltype(&mqs_process_has_queues) process_has_queues;
  decltype(&mqs_destroy_process_info) destroy_process_info;
  decltype(&mqs_update_communicator_list) update_communicator_list;
  decltype(&mqs_setup_communicator_iterator) setup_communicator_iterator;
  decltype(&mqs_get_communicator) get_communicator;
  decltype(&mqs_get_comm_group) get_comm_group;
  decltype(&mqs_next_communicator) next_communicator;
  decltype(&mqs_setup_operation_iterator) setup_operation_iterator;
  decltype(&mqs_next_operation) next_operation;
};
