// pointers.cpp: file pointers and the calls on them.
#include "mpi-adi/io/pointers.hpp"

#include "mpi-adi/core/profiling.hpp"

namespace portunus::mpi::io {

int seek_target(const File& file, const View& view, MPI_Offset offset, int whence, int64_t current, int64_t& target, const char*& cause) {
  int64_t origin = 0;
  switch (whence) {
    case MPI_SEEK_SET: break;
    case MPI_SEEK_CUR: origin = current; break;
    case MPI_SEEK_END: {
      int64_t bytes = 0;
      if (int error = file.posix.size(bytes)) {
        cause = "the size of the file cannot be found out";
        return class_of_errno(error);
      }
      const int64_t data = view.tiling.below(bytes);
      origin = (data + view.etype_size - 1) / view.etype_size;
      break;
    }
    default: cause = "that is no way to seek"; return MPI_ERR_ARG;
  }
  if (__builtin_add_overflow(origin, offset, &target) || target < 0) {
    cause = "the pointer would be negative, or too large";
    return MPI_ERR_ARG;
  }
  return MPI_SUCCESS;
}

int advance_shared(File& file, int64_t by, int64_t& before) { return file.messenger.fetch_add(file.shared_word, by, before); }

int advance_ordered(File& file, int64_t by, int error, int64_t& before) {
  Record own;
  own.word = {error, by};
  std::vector<Record> all;
  if (int failed = file.messenger.gather(own, all)) return failed;
  int64_t sum = 0, preceding = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i].word[0] != MPI_SUCCESS && error == MPI_SUCCESS) error = static_cast<int>(all[i].word[0]);
    if (i < static_cast<size_t>(file.comm->rank)) preceding += all[i].word[1];
    sum += all[i].word[1];
  }
  if (error != MPI_SUCCESS) return error;
  if (file.comm->rank == 0) error = advance_shared(file, sum, own.word[1]);
  own.word[0] = error;
  if (int failed = file.messenger.gather(own, all)) return failed;
  before = all[0].word[1] + preceding;
  return static_cast<int>(all[0].word[0]);
}

int set_shared(File& file, int64_t value, Record own, std::vector<Record>& all) {
  const unsigned next = file.shared_word ^ 1;  // used by nobody since all ranks set the pointer the last time
  if (file.comm->rank == 0) file.messenger.store(next, value);
  if (int error = file.messenger.gather(own, all)) return error;
  file.shared_word = next;
  return MPI_SUCCESS;
}

namespace {

int check_individual(const char* function, MPI_File fh, File*& file, const void* result, bool needs_result) {
  if (int error = check(function, fh, file)) return error;
  if (needs_result && result == nullptr) return raise(function, *file, MPI_ERR_ARG, "the address for the result is null");
  if (file->sequential())
    return raise(function, *file, MPI_ERR_UNSUPPORTED_OPERATION, "files opened with MPI_MODE_SEQUENTIAL have a shared pointer only");
  return MPI_SUCCESS;
}

std::shared_ptr<const View> view_of(File& file) {
  std::lock_guard lock(file.mutex);
  return file.view;
}

}  // namespace
}  // namespace portunus::mpi::io

using namespace portunus::mpi;
using namespace portunus::mpi::io;

extern "C" int PMPI_File_seek(MPI_File fh, MPI_Offset offset, int whence) try {
  return answer([&]() -> int {
    static constexpr char kName[] = "MPI_File_seek";
    File* file;
    if (int error = check_individual(kName, fh, file, nullptr, false)) return error;
    const char* cause = "";
    int error;
    {
      std::lock_guard lock(file->mutex);
      int64_t target = 0;
      error = seek_target(*file, *file->view, offset, whence, file->position, target, cause);
      if (error == MPI_SUCCESS) file->position = target;
    }
    return error == MPI_SUCCESS ? error : portunus::mpi::io::raise(kName, *file, error, "%s", cause);
  }());
}
MPI_WEAK_NAME(File_seek)

extern "C" int PMPI_File_get_position(MPI_File fh, MPI_Offset* offset) try {
  return answer([&]() -> int {
    File* file;
    if (int error = check_individual("MPI_File_get_position", fh, file, offset, true)) return error;
    std::lock_guard lock(file->mutex);
    *offset = file->position;
    return MPI_SUCCESS;
  }());
}
MPI_WEAK_NAME(File_get_position)

extern "C" int PMPI_File_get_byte_offset(MPI_File fh, MPI_Offset offset, MPI_Offset* disp) try {
  return answer([&]() -> int {
    static constexpr char kName[] = "MPI_File_get_byte_offset";
    File* file;
    if (int error = check_individual(kName, fh, file, disp, true)) return error;
    const std::shared_ptr<const View> view = view_of(*file);
    int64_t from;
    Placed placed;
    if (offset < 0 || __builtin_mul_overflow(offset, view->etype_size, &from) || !view->tiling.range(from, 1, placed))
      return portunus::mpi::io::raise(kName, *file, MPI_ERR_ARG, "the offset %lld is negative or too large",
                                      static_cast<long long>(offset));
    *disp = placed.bytes > 0 ? placed.first() : view->tiling.displacement;
    return MPI_SUCCESS;
  }());
}
MPI_WEAK_NAME(File_get_byte_offset)

extern "C" int PMPI_File_seek_shared(MPI_File fh, MPI_Offset offset, int whence) try {
  return answer([&]() -> int {
    static constexpr char kName[] = "MPI_File_seek_shared";
    File* file;
    if (int error = check(kName, fh, file)) return error;
    file->collectives.drain();
    const char* cause = "";
    Record own;
    std::vector<Record> all;
    int64_t target = 0;
    int64_t current = 0;
    own.word = {MPI_SUCCESS, offset, whence};
    // Nobody moves the pointer once all have come; then rank 0 says where it is.
    int error = file->messenger.gather(own, all);
    if (error == MPI_SUCCESS && file->comm->rank == 0) {
      error = advance_shared(*file, 0, current);
      if (error == MPI_SUCCESS) error = seek_target(*file, *view_of(*file), offset, whence, current, target, cause);
    }
    for (const Record& record : all)
      if (error == MPI_SUCCESS && (record.word[1] != offset || record.word[2] != whence)) {
        error = MPI_ERR_NOT_SAME;
        cause = "the ranks' offsets or ways to seek differ";
      }
    own.word[0] = error;
    if (int failed = set_shared(*file, error == MPI_SUCCESS ? target : current, own, all)) error = failed;
    for (const Record& record : all)
      if (error == MPI_SUCCESS && record.word[0] != MPI_SUCCESS) {
        error = static_cast<int>(record.word[0]);
        cause = "the pointer would be negative or too large, or that is no way to seek";
      }
    return error == MPI_SUCCESS ? error : portunus::mpi::io::raise(kName, *file, error, "%s", cause);
  }());
}
MPI_WEAK_NAME(File_seek_shared)

extern "C" int PMPI_File_get_position_shared(MPI_File fh, MPI_Offset* offset) try {
  return answer([&]() -> int {
    static constexpr char kName[] = "MPI_File_get_position_shared";
    File* file;
    if (int error = check(kName, fh, file)) return error;
    if (offset == nullptr) return portunus::mpi::io::raise(kName, *file, MPI_ERR_ARG, "the address for the result is null");
    int64_t now = 0;
    if (int error = advance_shared(*file, 0, now)) return portunus::mpi::io::raise(kName, *file, error, "rank 0 cannot be reached");
    *offset = now;
    return MPI_SUCCESS;
  }());
}
MPI_WEAK_NAME(File_get_position_shared)
