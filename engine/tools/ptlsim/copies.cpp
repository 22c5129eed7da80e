// copies.cpp: see copies.hpp.
#include "engine/tools/ptlsim/copies.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <stdexcept>

#include "engine/tools/needed_libraries.hpp"
#include "engine/tools/ptlsim/temporary_folder.hpp"

namespace portunus::ptlsim {
namespace {

constexpr char kMpi[] = "libmpi_abi.so.1", kRecorder[] = "recorder";

bool is_ours(const std::string& name) {
  return name == kMpi || name.starts_with("libmpi.so.portunus") || name.starts_with("libshmem.so.") || name.starts_with("libsma.so") ||
         name.starts_with("libportals.so.");
}

// Libraries that all ranks share: each has no variables that matter, or cannot be loaded twice.
bool is_shared(const std::string& name) {
  for (const char* const each :
       {"libc.so.", "libm.so.", "libdl.so.", "libpthread.so.", "librt.so.", "ld-linux", "libgcc_s.so.", "linux-vdso", "libutil.so."})
    if (name.starts_with(each)) return true;
  return false;
}

// To the same place in the file.
void put(int file, std::span<const std::byte> bytes, uint64_t from, uint64_t to) {
  while (from < to) {
    const ssize_t now = pwrite(file, bytes.data() + from, to - from, static_cast<off_t>(from));
    if (now <= 0) throw std::runtime_error("there is no memory for the copies of a rank");
    from += static_cast<uint64_t>(now);
  }
}

// The process is in a temporary folder while this lasts.
class InFolder {
 public:
  InFolder() { std::filesystem::current_path(folder_.path()); }
  ~InFolder() {
    std::error_code ignored;
    std::filesystem::current_path(before_, ignored);
  }
  InFolder(const InFolder&) = delete;

 private:
  const std::filesystem::path before_ = std::filesystem::current_path();
  const TemporaryFolder folder_;
};

link_map* map_of(void* library) {
  link_map* map = nullptr;
  if (dlinfo(library, RTLD_DI_LINKMAP, &map) != 0) throw std::runtime_error(dlerror());
  return map;
}

}  // namespace

Copies::Copies(const std::string& program, const std::string& rank_library, const std::string& recorder)
    : program_(program), rank_library_(rank_library), records_(!recorder.empty()) {
  const std::string why = program_.refusal();
  if (!why.empty()) throw std::runtime_error("'" + program + "' cannot be simulated, since it " + why);
  find_libraries(program, rank_library);
  if (records_) add(kRecorder, recorder);
  program_.make_loadable();
  copied_ = program_.take_copied();
  begins_program_ = program_.take_beginnings();
  rank_library_.make_loadable();
  begins_library_ = rank_library_.take_beginnings();
  constant_ = rank_library_.constant_parts();
  rank_file_ = open(rank_library.c_str(), O_RDONLY | O_CLOEXEC);
}

Copies::~Copies() { close(rank_file_); }

void Copies::find_libraries(const std::string& program, const std::string& rank_library) {
  const std::vector<NeededLibrary> shared = needed_libraries(program_.interpreter(), rank_library);
  bool uses_ours = false;
  for (const auto& [name, path] : needed_libraries(program_.interpreter(), program)) {
    uses_ours = uses_ours || is_ours(name);
    const bool with_mpi =
        std::any_of(shared.begin(), shared.end(), [&name = name](const NeededLibrary& each) { return each.name == name; });
    if (path.empty() || is_ours(name) || is_shared(name) || (with_mpi && !name.starts_with("libstdc++."))) continue;
    if (path[0] != '/') throw std::runtime_error("'" + program + "' needs " + name + ", which is not found");
    add(name, path);
  }
  if (!uses_ours)
    throw std::runtime_error("'" + program +
                             "' is not linked with a library of Portunus: compile it with its mpicc, mpicxx, mpifort or oshcc");
}

void Copies::add(const std::string& name, const std::string& path) {
  Library library{path, std::to_string(libraries_.size()), std::make_unique<ElfImage>(path), {}};
  library.image->make_loadable();
  library.beginnings = library.image->take_beginnings();
  libraries_.emplace_back(name, std::move(library));
}

// Calls go to the library that records, if there is one, and from there to the rank library.
std::string Copies::renamed(uint32_t rank, const std::string& name, bool by_recorder) const {
  if (is_ours(name) && records_ && !by_recorder) return renamed(rank, kRecorder, false);
  if (is_ours(name)) return std::to_string(rank) + "/mpi";
  const auto found = std::find_if(libraries_.begin(), libraries_.end(), [&](const auto& each) { return each.first == name; });
  return found == libraries_.end() ? "" : std::to_string(rank) + '/' + found->second.short_name;
}

// Memory that has a name in the folder.
std::string Copies::write(uint32_t rank, const std::string& short_name, ElfImage image, std::vector<int>& files,
                          const std::vector<ElfImage::Part>& left_out) const {
  const bool is_recorder = records_ && short_name == libraries_.back().second.short_name;
  image.rename_needed([&](const std::string& name) { return renamed(rank, name, is_recorder); });
  files.push_back(memfd_create(short_name.c_str(), MFD_CLOEXEC));
  const std::span<const std::byte> bytes = image.bytes();
  uint64_t at = 0;
  for (const ElfImage::Part& part : left_out) {
    put(files.back(), bytes, at, part.offset);
    at = part.offset + part.size;
  }
  put(files.back(), bytes, at, bytes.size());
  const std::string path = std::to_string(rank) + '/' + short_name;
  std::filesystem::create_symlink("/proc/self/fd/" + std::to_string(files.back()), path);
  return path;
}

void Copies::share_constant_parts(const link_map& copy) const {
  for (const ElfImage::Part& part : constant_)
    if (mmap(reinterpret_cast<void*>(copy.l_addr + part.address), part.size, PROT_READ | (part.is_code ? PROT_EXEC : 0),
             MAP_PRIVATE | MAP_FIXED, rank_file_, static_cast<off_t>(part.offset)) == MAP_FAILED)
      throw std::runtime_error("the code of " + rank_library_.path() + " cannot be mapped");
}

// As the dynamic linker would have.
void Copies::begin(const link_map& copy, const ElfImage::Beginnings& beginnings) {
  static char* no_words[] = {nullptr};
  const auto* const functions = reinterpret_cast<void (**)(int, char**, char**)>(copy.l_addr + beginnings.address);
  for (uint64_t i = 0; i < beginnings.count; ++i) functions[i](0, no_words, environ);
}

// Variables that ptlsim has itself, as those of the C library, come first.
void Copies::copy_variables(void* program, const std::vector<void*>& libraries) const {
  for (const ElfImage::Copied& each : copied_) {
    auto* const to = reinterpret_cast<std::byte*>(map_of(program)->l_addr + each.address);
    const void* from = dlsym(RTLD_DEFAULT, each.name.c_str());
    for (size_t i = 0; !from && i < libraries.size(); ++i) from = dlsym(libraries[i], each.name.c_str());
    if (from && from != to) std::memcpy(to, from, each.size);
  }
}

// The dynamic linker takes names with a slash from the folder that the process is in.
void* Copies::open_all(uint32_t rank, std::vector<void*>& libraries) const {
  const InFolder folder;
  const std::string own = std::to_string(rank) + '/';
  std::filesystem::create_directory(own);
  std::vector<int> files;
  write(rank, "mpi", rank_library_, files, constant_);
  for (const auto& [name, library] : libraries_) write(rank, library.short_name, *library.image, files);
  void* const program = dlopen(write(rank, "main", program_, files).c_str(), RTLD_NOW | RTLD_LOCAL);
  const std::string why = program ? "" : dlerror();
  if (program) libraries.push_back(dlopen((own + "mpi").c_str(), RTLD_NOW | RTLD_NOLOAD));
  for (size_t i = 0; program && i < libraries_.size(); ++i)
    libraries.push_back(dlopen((own + libraries_[i].second.short_name).c_str(), RTLD_NOW | RTLD_NOLOAD));
  for (const int file : files) close(file);
  if (!program || !libraries[0]) throw std::runtime_error("rank " + std::to_string(rank) + " cannot be loaded: " + why);
  return program;
}

Copies::Loaded Copies::load(uint32_t rank, RankMachine& machine) {
  std::vector<void*> libraries;
  void* const program = open_all(rank, libraries);
  const link_map& map = *map_of(program);
  share_constant_parts(*map_of(libraries[0]));
  copy_variables(program, libraries);
  begin(*map_of(libraries[0]), begins_library_);
  reinterpret_cast<PtlsimSetMachine*>(dlsym(libraries[0], "ptlsim_set_machine"))(&machine);
  for (size_t i = libraries_.size(); i-- > 0;)
    if (libraries[i + 1]) begin(*map_of(libraries[i + 1]), libraries_[i].second.beginnings);
  begin(map, begins_program_);
  const auto own = [&](const char* name) -> void* {
    for (const ElfImage::Copied& each : copied_)
      if (each.name == name) return reinterpret_cast<void*>(map.l_addr + each.address);
    return nullptr;
  };
  return {reinterpret_cast<void (*)()>(map.l_addr + program_.entry()), reinterpret_cast<const std::byte*>(map.l_addr),
          static_cast<int*>(own("optind")), static_cast<char**>(own("optarg")), static_cast<int*>(own("optopt"))};
}

}  // namespace portunus::ptlsim
