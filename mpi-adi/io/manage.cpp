// manage.cpp: sizes, views, infos, atomicity, error handlers.
// Source: MPI-5.0, 14.2.4 - 14.2.8, 14.3, 14.5.1, 14.6.1, 14.7.
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "mpi-adi/core/profiling.hpp"
#include "mpi-adi/io/file.hpp"
#include "mpi-adi/io/pointers.hpp"
#include "mpi-adi/types/type_create.hpp"

namespace portunus::mpi::io {
namespace {

// The file, with addresses for results that are not null.
int check_results(const char* function, MPI_File fh, File*& file, std::initializer_list<const void*> results) {
  if (int error = check(function, fh, file)) return error;
  for (const void* result : results)
    if (result == nullptr) return raise(function, *file, MPI_ERR_ARG, "an address for a result is null");
  return MPI_SUCCESS;
}

// A collective call: those that were begun before it are over then, as on the other ranks.
int check_collective(const char* function, MPI_File fh, File*& file) {
  if (int error = check(function, fh, file)) return error;
  file->collectives.drain();
  return MPI_SUCCESS;
}

// Tells all ranks a value that they must agree on: MPI_SUCCESS, or the first rank's error, or MPI_ERR_NOT_SAME, raised.
int agree(const char* function, File& file, int error, const char* cause, int64_t value, const char* differ) {
  Record own;
  std::vector<Record> all;
  own.word = {error, value};
  if (int failed = file.messenger.gather(own, all))
    return raise(function, file, failed, "a rank cannot be reached; it has ended, or a line above says why");
  for (const Record& record : all) {
    if (error == MPI_SUCCESS && record.word[0] != MPI_SUCCESS) {
      error = static_cast<int>(record.word[0]);
      cause = "another rank's arguments are wrong";
    }
    if (error == MPI_SUCCESS && record.word[1] != value) {
      error = MPI_ERR_NOT_SAME;
      cause = differ;
    }
  }
  return error == MPI_SUCCESS ? error : raise(function, file, error, "%s", cause);
}

// Rank 0 does it, and all learn how that went: errno.
template <class Action>
int on_first(const char* function, File& file, Action&& action) {
  Record own;
  std::vector<Record> all;
  if (file.comm->rank == 0) own.word[0] = action();
  if (int failed = file.messenger.gather(own, all))
    return raise(function, file, failed, "a rank cannot be reached; it has ended, or a line above says why");
  return raise_system(function, file, static_cast<int>(all[0].word[0]));
}

int check_size(const File& file, MPI_Offset size, const char*& cause) {
  if (size < 0) cause = "the size is negative";
  if (!file.writable()) cause = "the file was opened to be read only";
  return size < 0 ? MPI_ERR_ARG : file.writable() ? MPI_SUCCESS : MPI_ERR_READ_ONLY;
}

int set_size(const char* function, MPI_File fh, MPI_Offset size, bool reserves) {
  File* file;
  if (int error = check_collective(function, fh, file)) return error;
  const char* cause = "";
  int wrong = check_size(*file, size, cause);
  if (wrong == MPI_SUCCESS && reserves && file->sequential()) {
    wrong = MPI_ERR_UNSUPPORTED_OPERATION;
    cause = "files opened with MPI_MODE_SEQUENTIAL cannot be preallocated";
  }
  if (int error = agree(function, *file, wrong, cause, size, "the ranks' sizes differ")) return error;
  if (!reserves) file->mapping.forget();
  return on_first(function, *file, [&] {
    if (!reserves) return file->posix.resize(size);
    return size > 0 ? file->posix.reserve(0, size) : 0;
  });
}

// Makes a view from what is known without the other ranks; MPI_SUCCESS: `view` is made.
int make_view(File& file, MPI_Offset disp, MPI_Datatype etype, MPI_Datatype filetype, const char* datarep, MPI_Info info, View& view,
              const char*& cause) {
  Datatype* element = find_type(etype);
  Datatype* tile = find_type(filetype);
  cause = "the elementary type or the file type is none, or is not committed";
  if (element == nullptr || tile == nullptr || !element->committed || !tile->committed) return MPI_ERR_TYPE;
  cause = "the name of the data representation is null or too long";
  if (datarep == nullptr || strnlen(datarep, MPI_MAX_DATAREP_STRING) >= MPI_MAX_DATAREP_STRING) return MPI_ERR_ARG;
  cause = "the info is none";
  if (!is_info_or_null(info)) return MPI_ERR_INFO;
  cause = "a collective that was begun is not ended";
  if (file.split != Split::none) return MPI_ERR_IO;
  cause = "MPI_DISPLACEMENT_CURRENT is for files opened with MPI_MODE_SEQUENTIAL";
  if (disp == MPI_DISPLACEMENT_CURRENT && !file.sequential()) return MPI_ERR_DISP;
  cause = "the displacement is negative";
  if (disp < 0 && disp != MPI_DISPLACEMENT_CURRENT) return MPI_ERR_ARG;
  cause = "files opened with MPI_MODE_SEQUENTIAL keep their displacement: it must be MPI_DISPLACEMENT_CURRENT";
  if (disp != MPI_DISPLACEMENT_CURRENT && file.sequential()) return MPI_ERR_DISP;
  return View::make(disp, element, tile, datarep, file.writable(), view, cause);
}

int64_t hash_of(const std::string& text) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char letter : text) hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3u;
  return static_cast<int64_t>(hash);
}

int set_view(const char* function, MPI_File fh, MPI_Offset disp, MPI_Datatype etype, MPI_Datatype filetype, const char* datarep,
             MPI_Info info) {
  File* file;
  if (int error = check_collective(function, fh, file)) return error;
  const char* cause = "";
  auto view = std::make_shared<View>();
  int error = make_view(*file, disp, etype, filetype, datarep, info, *view, cause);
  Record own;
  std::vector<Record> all;
  int64_t current = 0;
  if (error == MPI_SUCCESS && disp == MPI_DISPLACEMENT_CURRENT) {
    // The shared pointer, in bytes; nobody moves it until all have come.
    if (int failed = file->messenger.gather(own, all))
      return raise(function, *file, failed, "a rank cannot be reached; it has ended, or a line above says why");
    error = advance_shared(*file, 0, current);
    Placed placed;
    if (error == MPI_SUCCESS && file->view->tiling.range(current * file->view->etype_size, 1, placed))
      view->tiling.displacement = placed.first();
  }
  own.word = {error, view->etype_extent, hash_of(view->datarep), view->tiling.is_dense()};
  if (int failed = set_shared(*file, 0, own, all))
    return raise(function, *file, failed, "a rank cannot be reached; it has ended, or a line above says why");
  for (const Record& record : all) {
    if (error != MPI_SUCCESS) break;
    error = static_cast<int>(record.word[0]);
    cause = "another rank's arguments are wrong";
    if (error == MPI_SUCCESS && (record.word[1] != own.word[1] || record.word[2] != own.word[2])) {
      error = MPI_ERR_NOT_SAME;
      cause = "the extents of the ranks' elementary types, or their data representations, differ";
    }
  }
  if (error != MPI_SUCCESS) return raise(function, *file, error, "%s", cause);
  file->all_dense = std::all_of(all.begin(), all.end(), [](const Record& record) { return record.word[3] != 0; });
  if (file->comm->size > 1) view->describe();
  {
    std::lock_guard lock(file->mutex);
    file->view = std::move(view);
    file->position = 0;
  }
  if (info != MPI_INFO_NULL) {
    const Tuning before = file->tuning;  // what concerns all ranks stays
    file->tuning.take(hints_of(info));
    file->tuning.cb_nodes = before.cb_nodes;
    file->tuning.cb_buffer_size = before.cb_buffer_size;
    file->tuning.cb_read = before.cb_read;
    file->tuning.cb_write = before.cb_write;
    file->tuning.striping_unit = before.striping_unit;
    file->tuning.permissions = before.permissions;
  }
  return MPI_SUCCESS;
}

// A predefined type itself; of others a duplicate, which the user frees.
MPI_Datatype duplicate(Datatype* type) {
  if (type->predefined) return handle_of(type);
  MPI_Datatype made = MPI_DATATYPE_NULL;
  if (PMPI_Type_dup(handle_of(type), &made) == MPI_SUCCESS) find_type(made)->committed = true;
  return made;
}

template <class T>
int type_extent(const char* function, MPI_File fh, MPI_Datatype datatype, T* extent) {
  File* file;
  if (int error = check_results(function, fh, file, {extent})) return error;
  const Datatype* type = find_type(datatype);
  if (type == nullptr) return raise(function, *file, MPI_ERR_TYPE, "%s", BadType(datatype).text);
  std::shared_ptr<const View> view;
  {
    std::lock_guard lock(file->mutex);
    view = file->view;
  }
  FileType in_file;
  if (int error = view->representation->describe(*type, in_file)) return raise(function, *file, error, "the function for extents failed");
  *extent = static_cast<T>(in_file.extent);
  return MPI_SUCCESS;
}

}  // namespace
}  // namespace portunus::mpi::io

using namespace portunus::mpi;
using namespace portunus::mpi::io;
namespace io = portunus::mpi::io;

extern "C" int PMPI_File_set_size(MPI_File fh, MPI_Offset size) try { return answer(set_size("MPI_File_set_size", fh, size, false)); }
MPI_WEAK_NAME(File_set_size)

extern "C" int PMPI_File_preallocate(MPI_File fh, MPI_Offset size) try { return answer(set_size("MPI_File_preallocate", fh, size, true)); }
MPI_WEAK_NAME(File_preallocate)

extern "C" int PMPI_File_get_size(MPI_File fh, MPI_Offset* size) try {
  return answer([&]() -> int {
    static constexpr char kName[] = "MPI_File_get_size";
    File* file;
    if (int error = io::check_results(kName, fh, file, {size})) return error;
    int64_t bytes = 0;
    if (int error = file->posix.size(bytes)) return raise_system(kName, *file, error);
    *size = bytes;
    return MPI_SUCCESS;
  }());
}
MPI_WEAK_NAME(File_get_size)

extern "C" int PMPI_File_get_group(MPI_File fh, MPI_Group* group) try {
  return answer([&]() -> int {
    File* file;
    if (int error = io::check_results("MPI_File_get_group", fh, file, {group})) return error;
    *group = handle_of(retain(file->comm->group));
    return MPI_SUCCESS;
  }());
}
MPI_WEAK_NAME(File_get_group)

extern "C" int PMPI_File_get_amode(MPI_File fh, int* amode) try {
  return answer([&]() -> int {
    File* file;
    if (int error = io::check_results("MPI_File_get_amode", fh, file, {amode})) return error;
    *amode = file->amode;
    return MPI_SUCCESS;
  }());
}
MPI_WEAK_NAME(File_get_amode)

extern "C" int PMPI_File_set_info(MPI_File fh, MPI_Info info) try {
  return answer([&]() -> int {
    static constexpr char kName[] = "MPI_File_set_info";
    File* file;
    if (int error = io::check_collective(kName, fh, file)) return error;
    const bool valid = is_info_or_null(info);
    Tuning wanted = file->tuning;
    if (valid) wanted.take(hints_of(info));
    if (wanted.cb_nodes > file->comm->size) wanted.cb_nodes = file->tuning.cb_nodes;
    // Rank 0's, where all must have the same.
    Record own;
    std::vector<Record> all;
    own.word = {valid ? MPI_SUCCESS : MPI_ERR_INFO, wanted.cb_buffer_size, wanted.cb_nodes, static_cast<int64_t>(wanted.cb_read),
                static_cast<int64_t>(wanted.cb_write)};
    if (int error = file->messenger.gather(own, all))
      return io::raise(kName, *file, error, "a rank cannot be reached; it has ended, or a line above says why");
    for (const Record& record : all)
      if (record.word[0] != MPI_SUCCESS) return io::raise(kName, *file, MPI_ERR_INFO, "the info, here or on another rank, is none");
    wanted.cb_buffer_size = all[0].word[1];
    wanted.cb_nodes = all[0].word[2];
    wanted.cb_read = static_cast<Tuning::Choice>(all[0].word[3]);
    wanted.cb_write = static_cast<Tuning::Choice>(all[0].word[4]);
    wanted.striping_unit = file->tuning.striping_unit;
    wanted.striping_factor = file->tuning.striping_factor;
    wanted.permissions = file->tuning.permissions;
    file->tuning = wanted;
    return MPI_SUCCESS;
  }());
}
MPI_WEAK_NAME(File_set_info)

extern "C" int PMPI_File_get_info(MPI_File fh, MPI_Info* info_used) try {
  return answer([&]() -> int {
    static constexpr char kName[] = "MPI_File_get_info";
    File* file;
    if (int error = io::check_results(kName, fh, file, {info_used})) return error;
    *info_used = make_info(with_memory_kinds(file->tuning.listed(file->name.c_str())));
    return *info_used != MPI_INFO_NULL ? MPI_SUCCESS : io::raise(kName, *file, MPI_ERR_NO_MEM, "too many infos are in use");
  }());
}
MPI_WEAK_NAME(File_get_info)

extern "C" int PMPI_File_set_view(MPI_File fh, MPI_Offset disp, MPI_Datatype etype, MPI_Datatype filetype, const char* datarep,
                                  MPI_Info info) try {
  return answer(set_view("MPI_File_set_view", fh, disp, etype, filetype, datarep, info));
}
MPI_WEAK_NAME(File_set_view)

extern "C" int PMPI_File_get_view(MPI_File fh, MPI_Offset* disp, MPI_Datatype* etype, MPI_Datatype* filetype, char* datarep) try {
  return answer([&]() -> int {
    File* file;
    if (int error = io::check_results("MPI_File_get_view", fh, file, {disp, etype, filetype, datarep})) return error;
    std::shared_ptr<const View> view;
    {
      std::lock_guard lock(file->mutex);
      view = file->view;
    }
    *disp = view->tiling.displacement;
    *etype = duplicate(view->etype);
    *filetype = duplicate(view->filetype);
    std::snprintf(datarep, MPI_MAX_DATAREP_STRING, "%s", view->datarep.c_str());
    return MPI_SUCCESS;
  }());
}
MPI_WEAK_NAME(File_get_view)

extern "C" int PMPI_File_sync(MPI_File fh) try {
  return answer([&]() -> int {
    static constexpr char kName[] = "MPI_File_sync";
    File* file;
    if (int error = io::check(kName, fh, file)) return error;
    file->await_all();
    Record own;
    std::vector<Record> all;
    // All that was written is on the disk when one has synchronized after they came; an error is told to each descriptor
    // once.
    if (int error = file->messenger.gather(own, all))
      return io::raise(kName, *file, error, "a rank cannot be reached; it has ended, or a line above says why");
    own.word[0] = file->writable() ? file->posix.sync() : 0;
    if (int error = file->messenger.gather(own, all))
      return io::raise(kName, *file, error, "a rank cannot be reached; it has ended, or a line above says why");
    for (const Record& record : all)
      if (record.word[0] != 0) return raise_system(kName, *file, static_cast<int>(record.word[0]));
    return MPI_SUCCESS;
  }());
}
MPI_WEAK_NAME(File_sync)

extern "C" int PMPI_File_set_atomicity(MPI_File fh, int flag) try {
  return answer([&]() -> int {
    static constexpr char kName[] = "MPI_File_set_atomicity";
    File* file;
    if (int error = io::check_collective(kName, fh, file)) return error;
    if (int error = agree(kName, *file, MPI_SUCCESS, "", flag != 0, "the ranks' flags differ")) return error;
    file->atomic.store(flag != 0, std::memory_order_relaxed);
    return MPI_SUCCESS;
  }());
}
MPI_WEAK_NAME(File_set_atomicity)

extern "C" int PMPI_File_get_atomicity(MPI_File fh, int* flag) try {
  return answer([&]() -> int {
    File* file;
    if (int error = io::check_results("MPI_File_get_atomicity", fh, file, {flag})) return error;
    *flag = file->atomic.load(std::memory_order_relaxed);
    return MPI_SUCCESS;
  }());
}
MPI_WEAK_NAME(File_get_atomicity)

extern "C" int PMPI_File_get_type_extent(MPI_File fh, MPI_Datatype datatype, MPI_Aint* extent) try {
  return answer(type_extent("MPI_File_get_type_extent", fh, datatype, extent));
}
MPI_WEAK_NAME(File_get_type_extent)

extern "C" int PMPI_File_get_type_extent_c(MPI_File fh, MPI_Datatype datatype, MPI_Count* extent) try {
  return answer(type_extent("MPI_File_get_type_extent_c", fh, datatype, extent));
}
MPI_WEAK_NAME(File_get_type_extent_c)

extern "C" int PMPI_File_create_errhandler(MPI_File_errhandler_function* file_errhandler_fn, MPI_Errhandler* errhandler) try {
  return answer([&]() -> int {
    static constexpr char kName[] = "MPI_File_create_errhandler";
    if (int error = portunus::mpi::check_results(kName, nullptr, {reinterpret_cast<const void*>(file_errhandler_fn), errhandler}))
      return error;
    ErrorHandler* made;
    *errhandler = make_errhandler(Subject::file, made);
    if (made == nullptr) return raise_without_file(kName, MPI_ERR_NO_MEM, "too many error handlers are in use");
    made->file = file_errhandler_fn;
    return MPI_SUCCESS;
  }());
}
MPI_WEAK_NAME(File_create_errhandler)

extern "C" int PMPI_File_set_errhandler(MPI_File fh, MPI_Errhandler errhandler) try {
  return answer([&]() -> int {
    static constexpr char kName[] = "MPI_File_set_errhandler";
    File* file = nullptr;
    if (fh != MPI_FILE_NULL)
      if (int error = io::check(kName, fh, file)) return error;
    if (!fits(errhandler, Subject::file)) {
      if (file) return io::raise(kName, *file, MPI_ERR_ERRHANDLER, "%p is no error handler of files", static_cast<void*>(errhandler));
      return raise_without_file(kName, MPI_ERR_ERRHANDLER, "%p is no error handler of files", static_cast<void*>(errhandler));
    }
    replace_errhandler(file ? file->errhandler : default_errhandler, errhandler);
    return MPI_SUCCESS;
  }());
}
MPI_WEAK_NAME(File_set_errhandler)

extern "C" int PMPI_File_get_errhandler(MPI_File fh, MPI_Errhandler* errhandler) try {
  return answer([&]() -> int {
    static constexpr char kName[] = "MPI_File_get_errhandler";
    File* file = nullptr;
    if (fh != MPI_FILE_NULL)
      if (int error = io::check(kName, fh, file)) return error;
    if (errhandler == nullptr) return raise_without_file(kName, MPI_ERR_ARG, "the address for the error handler is null");
    *errhandler = share_errhandler(file ? file->errhandler : default_errhandler);
    return MPI_SUCCESS;
  }());
}
MPI_WEAK_NAME(File_get_errhandler)

extern "C" int PMPI_File_call_errhandler(MPI_File fh, int errorcode) try {
  return answer([&]() -> int {
    static constexpr char kName[] = "MPI_File_call_errhandler";
    if (fh == MPI_FILE_NULL) {
      raise_without_file(kName, errorcode, "called by the program");
      return MPI_SUCCESS;
    }
    File* file;
    if (int error = io::check(kName, fh, file)) return error;
    io::raise(kName, *file, errorcode, "called by the program");
    return MPI_SUCCESS;
  }());
}
MPI_WEAK_NAME(File_call_errhandler)
