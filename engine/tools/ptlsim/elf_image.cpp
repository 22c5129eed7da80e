// elf_image.cpp: see elf_image.hpp.
#include "engine/tools/ptlsim/elf_image.hpp"

#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace portunus::ptlsim {
namespace {

#if defined(__x86_64__)
constexpr int kMachine = EM_X86_64, kCopy = R_X86_64_COPY;
#elif defined(__aarch64__)
constexpr int kMachine = EM_AARCH64, kCopy = R_AARCH64_COPY;
#else
#error "ptlsim starts programs of x86-64 and AArch64"
#endif

constexpr uint64_t kPage = 4096;

std::vector<std::byte> contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) throw std::runtime_error("there is no program '" + path + "', or it cannot be read");
  std::vector<std::byte> bytes(static_cast<size_t>(std::max<std::streamoff>(0, file.tellg())));
  file.seekg(0);
  file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (!file) throw std::runtime_error("'" + path + "' cannot be read to its end");
  return bytes;
}

}  // namespace

template <class T>
T& ElfImage::at(uint64_t offset, size_t count) {
  if (offset > bytes_.size() || count * sizeof(T) > bytes_.size() - offset)
    throw std::runtime_error("'" + path_ + "' is damaged: it ends before what it names");
  return *reinterpret_cast<T*>(bytes_.data() + offset);
}

ElfImage::ElfImage(const std::string& path) : path_(path), bytes_(contents(path)) {
  if (bytes_.size() < sizeof(ElfW(Ehdr)) || std::memcmp(bytes_.data(), ELFMAG, SELFMAG) != 0 || header().e_machine != kMachine)
    throw std::runtime_error("'" + path + "' is not a program of this machine (a script starts others: name the program itself)");
  for (const ElfW(Phdr) & each : segments()) {
    if (each.p_type == PT_INTERP) interpreter_ = &at<char>(each.p_offset, each.p_filesz);
    if (each.p_type == PT_TLS) has_own_threads_data_ = header().e_type == ET_DYN;
    if (each.p_type == PT_DYNAMIC) dynamic_ = each.p_offset, dynamic_count_ = each.p_filesz / sizeof(ElfW(Dyn));
  }
  if (const ElfW(Dyn)* names = dynamic(DT_STRTAB)) names_ = offset_of(names->d_un.d_ptr);
  for (const ElfW(Dyn) & each : dynamics())
    if (each.d_tag == DT_NEEDED) needed_.push_back(each.d_un.d_val);
}

std::span<ElfW(Phdr)> ElfImage::segments() { return {&at<ElfW(Phdr)>(header().e_phoff, header().e_phnum), header().e_phnum}; }

uint64_t ElfImage::offset_of(uint64_t address) {
  for (const ElfW(Phdr) & each : segments())
    if (each.p_type == PT_LOAD && address >= each.p_vaddr && address - each.p_vaddr < each.p_filesz)
      return address - each.p_vaddr + each.p_offset;
  throw std::runtime_error("'" + path_ + "' is damaged: it names an address that it does not load");
}

std::span<ElfW(Dyn)> ElfImage::dynamics() { return {&at<ElfW(Dyn)>(dynamic_, dynamic_count_), dynamic_count_}; }

ElfW(Dyn) * ElfImage::dynamic(ElfW(Sxword) tag) {
  for (ElfW(Dyn) & each : dynamics())
    if (each.d_tag == tag) return &each;
  return nullptr;
}

const char* ElfImage::name(uint64_t index) { return &at<char>(names_ + index); }

std::string ElfImage::refusal() const {
  if (header().e_type == ET_DYN && dynamic_count_ == 0) return "is linked statically";
  if (header().e_type == ET_EXEC) return dynamic_count_ == 0 ? "is linked statically" : "is not position independent: link it with -pie";
  if (header().e_type != ET_DYN || header().e_entry == 0) return "is no program";
  if (interpreter_.empty()) return "is linked statically";
  if (has_own_threads_data_) return "has thread-local variables of its own: move them to a shared library";
  return "";
}

std::vector<std::string> ElfImage::needed() const {
  std::vector<std::string> names;
  for (const size_t each : needed_) names.push_back(const_cast<ElfImage*>(this)->name(each));
  return names;
}

void ElfImage::rename_needed(const std::function<std::string(const std::string&)>& renamed) {
  for (const size_t each : needed_) {
    const std::string old = name(each), fresh = renamed(old);
    if (!fresh.empty() && fresh.size() <= old.size())
      std::memcpy(&at<char>(names_ + each, old.size() + 1), fresh.c_str(), fresh.size() + 1);
  }
}

// By the hash table, which every program has that was linked within the last fifteen years.
size_t ElfImage::symbols() {
  const ElfW(Dyn)* const hash = dynamic(DT_GNU_HASH);
  if (!hash) return 0;
  const uint64_t start = offset_of(hash->d_un.d_ptr);
  const uint32_t buckets = at<uint32_t>(start), first = at<uint32_t>(start + 4), blooms = at<uint32_t>(start + 8);
  const uint64_t bucket = start + 16 + uint64_t{blooms} * sizeof(ElfW(Addr));
  uint32_t last = 0;
  for (uint32_t i = 0; i < buckets; ++i) last = std::max(last, at<uint32_t>(bucket + 4ul * i));
  if (last < first) return first;
  while ((at<uint32_t>(bucket + 4ul * buckets + 4ul * (last - first)) & 1) == 0) ++last;
  return last + 1;
}

void ElfImage::make_loadable() {
  if (ElfW(Dyn)* const flags = dynamic(DT_FLAGS_1)) flags->d_un.d_val &= ~static_cast<ElfW(Xword)>(DF_1_PIE | DF_1_NODELETE);
  const ElfW(Dyn)* const table = dynamic(DT_SYMTAB);
  if (!table) return;
  const uint64_t start = offset_of(table->d_un.d_ptr);
  for (size_t i = 0, count = symbols(); i < count; ++i) {
    unsigned char& info = at<ElfW(Sym)>(start + i * sizeof(ElfW(Sym))).st_info;
    if (ELF64_ST_BIND(info) == STB_GNU_UNIQUE) info = ELF64_ST_INFO(STB_GLOBAL, ELF64_ST_TYPE(info));
  }
}

ElfImage::Beginnings ElfImage::take_beginnings() {
  constexpr ElfW(Sxword) kNobodyReads = 0x60000123;
  if (ElfW(Dyn)* const old = dynamic(DT_INIT)) old->d_tag = kNobodyReads;
  ElfW(Dyn)* const size = dynamic(DT_INIT_ARRAYSZ);
  const ElfW(Dyn)* const functions = dynamic(DT_INIT_ARRAY);
  if (!size || !functions) return {0, 0};
  const uint64_t count = size->d_un.d_val / sizeof(ElfW(Addr));
  size->d_un.d_val = 0;
  return {functions->d_un.d_ptr, count};
}

std::vector<ElfImage::Copied> ElfImage::take_copied() {
  std::vector<Copied> copied;
  const ElfW(Dyn)* const table = dynamic(DT_RELA);
  const ElfW(Dyn)* const size = dynamic(DT_RELASZ);
  const ElfW(Dyn)* const symbols = dynamic(DT_SYMTAB);
  if (!table || !size || !symbols) return copied;
  for (ElfW(Phdr) & each : segments())
    if (each.p_type == PT_GNU_RELRO) each.p_type = PT_NULL;  // some of them lie where nobody may write later
  const uint64_t start = offset_of(table->d_un.d_ptr), first_symbol = offset_of(symbols->d_un.d_ptr);
  for (uint64_t i = 0; i < size->d_un.d_val / sizeof(ElfW(Rela)); ++i) {
    ElfW(Rela)& each = at<ElfW(Rela)>(start + i * sizeof(ElfW(Rela)));
    if (ELF64_R_TYPE(each.r_info) != kCopy) continue;
    const ElfW(Sym)& symbol = at<ElfW(Sym)>(first_symbol + ELF64_R_SYM(each.r_info) * sizeof(ElfW(Sym)));
    copied.push_back({name(symbol.st_name), each.r_offset, symbol.st_size});
    each.r_info = 0;  // nothing to be done
  }
  return copied;
}

std::vector<ElfImage::Part> ElfImage::constant_parts() {
  const ElfW(Dyn)* const names = dynamic(DT_STRTAB);
  std::vector<Part> parts;
  for (const ElfW(Phdr) & each : segments()) {
    if (each.p_type != PT_LOAD || each.p_flags & PF_W || each.p_offset == 0 || each.p_offset % kPage != 0) continue;
    if (names && names->d_un.d_ptr >= each.p_vaddr && names->d_un.d_ptr - each.p_vaddr < each.p_memsz) continue;
    parts.push_back({each.p_offset, each.p_vaddr, each.p_filesz, (each.p_flags & PF_X) != 0});  // the next one may begin on its last page
  }
  return parts;
}

}  // namespace portunus::ptlsim
