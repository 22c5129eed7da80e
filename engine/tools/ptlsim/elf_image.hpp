// elf_image.hpp: an executable or shared object as bytes, which are changed so that a process can load it many times.
//
// Thread: one. Throws std::runtime_error with a sentence.
#pragma once

#include <elf.h>
#include <link.h>

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace portunus::ptlsim {

class ElfImage {
 public:
  explicit ElfImage(const std::string& path);

  // Why the file cannot be loaded as a rank: a sentence, or nothing.
  std::string refusal() const;
  const std::string& interpreter() const { return interpreter_; }
  std::vector<std::string> needed() const;
  // Renames what `renamed` gives another name (as long at most); the empty string leaves it.
  void rename_needed(const std::function<std::string(const std::string&)>& renamed);
  // An executable becomes a shared object, and what all objects of a process share becomes its own.
  void make_loadable();
  // The functions that the dynamic linker would call when it has loaded this are left to the caller: where they lie.
  struct Beginnings {
    uint64_t address, count;
  };
  Beginnings take_beginnings();
  std::span<const std::byte> bytes() const { return bytes_; }
  // Variables of libraries that a program wants to have itself, with what they hold there: left to the caller, since the dynamic linker
  // does so for programs alone.
  struct Copied {
    std::string name;
    uint64_t address, size;
  };
  std::vector<Copied> take_copied();
  // Parts that are the same in all copies, and that nobody reads before the first function is called. Each begins at a page, of the file
  // and of memory.
  struct Part {
    uint64_t offset, address, size;
    bool is_code;
  };
  std::vector<Part> constant_parts();
  const std::string& path() const { return path_; }
  uint64_t entry() const { return header().e_entry; }

 private:
  template <class T>
  T& at(uint64_t offset, size_t count = 1);
  const ElfW(Ehdr) & header() const { return *reinterpret_cast<const ElfW(Ehdr)*>(bytes_.data()); }
  std::span<ElfW(Phdr)> segments();
  uint64_t offset_of(uint64_t address);
  std::span<ElfW(Dyn)> dynamics();
  ElfW(Dyn) * dynamic(ElfW(Sxword) tag);
  const char* name(uint64_t index);
  size_t symbols();

  std::string path_, interpreter_;
  std::vector<std::byte> bytes_;
  uint64_t dynamic_ = 0, dynamic_count_ = 0;  // where the dynamic section begins in the file
  std::vector<size_t> needed_;                // indices in the table of names
  size_t names_ = 0;                          // its offset
  bool has_own_threads_data_ = false;
};

}  // namespace portunus::ptlsim
