// open.cpp: opening, closing and deleting files.
//
// All ranks open the file, or none has it open afterwards. Rank 0 alone makes it, so that MPI_MODE_EXCL wins once.
// Source: MPI-5.0, 14.2.1 - 14.2.3.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "mpi-adi/comm/comm_create.hpp"
#include "mpi-adi/comm/exchange.hpp"
#include "mpi-adi/comm/processes.hpp"
#include "mpi-adi/core/device.hpp"
#include "mpi-adi/core/profiling.hpp"
#include "mpi-adi/io/file.hpp"
#include "mpi-adi/io/two_phase.hpp"
#include "mpi-adi/tool/event.hpp"

namespace portunus::mpi::io {
namespace {

constexpr int kKnownModes = MPI_MODE_APPEND | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE | MPI_MODE_EXCL | MPI_MODE_RDONLY | MPI_MODE_RDWR |
                            MPI_MODE_SEQUENTIAL | MPI_MODE_UNIQUE_OPEN | MPI_MODE_WRONLY;

constexpr char kUnreachable[] = "a rank cannot be reached; it has ended, or a line above says why";

// A sentence, or nullptr.
const char* fault_of(int amode) {
  const bool read = amode & MPI_MODE_RDONLY, write = amode & MPI_MODE_WRONLY, both = amode & MPI_MODE_RDWR;
  if ((amode & ~kKnownModes) != 0) return "the access mode has unknown bits";
  if (read + write + both != 1) return "the access mode must have one of MPI_MODE_RDONLY, MPI_MODE_WRONLY and MPI_MODE_RDWR";
  if (read && (amode & (MPI_MODE_CREATE | MPI_MODE_EXCL)) != 0) return "MPI_MODE_RDONLY cannot go with MPI_MODE_CREATE or MPI_MODE_EXCL";
  if (both && (amode & MPI_MODE_SEQUENTIAL) != 0) return "MPI_MODE_RDWR cannot go with MPI_MODE_SEQUENTIAL";
  return nullptr;
}

// Without the name of a kind of file system in front, as ROMIO's users write it.
const char* path_of(const char* name) {
  for (const char* prefix : {"ufs:", "nfs:"})
    if (std::strncmp(name, prefix, 4) == 0) return name + 4;
  return name;
}

int flags_of(int amode) { return amode & MPI_MODE_RDONLY ? O_RDONLY : amode & MPI_MODE_WRONLY ? O_WRONLY : O_RDWR; }

// The intention that a rank tells the others before anything is opened.
struct Intention {
  int32_t amode, error;
  int64_t group;  // rank 0's choice; 0: there is none
};
// The facts that rank 0 tells when it has opened the file, and each rank of itself.
struct Beginning {
  Tuning tuning;
  int error;
  bool has_group;
};

// An error, of this rank or of another.
struct Trouble {
  int code = MPI_SUCCESS;
  int system_error = 0;
  const char* cause = "";
  void is(int error, const char* sentence) {
    if (code != MPI_SUCCESS) return;
    code = error;
    cause = sentence;
  }
  void says(int error) {
    if (code != MPI_SUCCESS || error == 0) return;
    code = class_of_errno(error);
    system_error = error;
  }
};

int nodes_of(const Communicator& comm) {
  int nodes = 0;
  for (int i = 0; i < comm.size; ++i) {
    int lower = 0;
    while (!same_node(comm.job_rank(lower), comm.job_rank(i))) ++lower;
    nodes += lower == i;
  }
  return nodes;
}

// The view at first: bytes.
void show_all(File& file) {
  auto view = std::make_shared<View>();
  const char* cause;
  View::make(0, find_type(MPI_BYTE), find_type(MPI_BYTE), "native", false, *view, cause);
  view->describe();
  file.view = std::move(view);
}

// After the communicator is made. Everybody has opened the file, or `trouble` is the same class everywhere.
void open_together(File& file, int amode, const Hints& hints, Trouble& trouble) {
  Communicator& comm = *file.comm;
  const auto n = static_cast<size_t>(comm.size);
  if (file.messenger.open(comm) != PTL_OK) trouble.is(MPI_ERR_NO_MEM, "the network interface has no room for another file");
  std::vector<Intention> intentions(n);
  const bool one_node = nodes_of(comm) == 1;
  SharedMemoryGroup::Pointer group;
  if (comm.rank == 0 && n > 1 && one_node) group = SharedMemoryGroup::make(comm);
  if (!one_node && file.messenger.open_entries() != PTL_OK)
    trouble.is(MPI_ERR_NO_MEM, "the network interface has no room for another file");
  intentions[static_cast<size_t>(comm.rank)] = {amode, trouble.code, group ? group->number() : 0};
  const int told = Exchange(comm).allgather(intentions.data(), sizeof(Intention));
  if (told != MPI_SUCCESS) return trouble.is(told, kUnreachable);
  if (comm.rank != 0 && intentions[0].group != 0) group = SharedMemoryGroup::find(comm, intentions[0].group);
  for (const Intention& one : intentions) {
    if (one.error != MPI_SUCCESS) trouble.is(one.error, "another rank's arguments are wrong");
    if (one.amode != intentions[0].amode) trouble.is(MPI_ERR_AMODE, "the ranks' access modes differ");
  }
  if (trouble.code != MPI_SUCCESS) return;

  file.amode = amode;
  const bool makes = (amode & MPI_MODE_CREATE) != 0;
  const auto open = [&](int flags) {
    return file.posix.open(file.name, flags, file.tuning.permissions >= 0 ? static_cast<unsigned>(file.tuning.permissions) : 0666);
  };
  std::vector<Beginning> beginnings(one_node ? n : 1);
  Beginning& own = beginnings[one_node ? static_cast<size_t>(comm.rank) : 0];
  own.has_group = group != nullptr;
  if (comm.rank == 0) {
    file.tuning.take(hints);
    if (file.tuning.cb_nodes == 0 || file.tuning.cb_nodes > comm.size) file.tuning.cb_nodes = nodes_of(comm);
    if (makes) own.error = open(flags_of(amode) | O_CREAT | (amode & MPI_MODE_EXCL ? O_EXCL : 0));
    own.tuning = file.tuning;
  }
  if (n > 1) {
    const int begun = one_node ? Exchange(comm).allgather(beginnings.data(), sizeof(Beginning))
                               : Exchange(comm).broadcast(beginnings.data(), sizeof(Beginning), 0);
    if (comm.rank == 0 && group) group->forget_name();
    if (begun != MPI_SUCCESS) return trouble.is(begun, kUnreachable);
    const Tuning& first = beginnings[0].tuning;
    file.tuning = first;
    file.tuning.take(hints);  // those that may differ
    file.tuning.cb_nodes = first.cb_nodes;
    file.tuning.cb_buffer_size = first.cb_buffer_size;
    file.tuning.cb_read = first.cb_read;
    file.tuning.cb_write = first.cb_write;
    file.tuning.striping_unit = first.striping_unit;
  }
  if (std::all_of(beginnings.begin(), beginnings.end(), [](const Beginning& one) { return one.has_group; })) {
    file.messenger.use(std::move(group));
  } else if (one_node) {  // no memory for one
    if (file.messenger.open_entries() != PTL_OK) trouble.is(MPI_ERR_NO_MEM, "the network interface has no room for another file");
    const int all_have = Exchange(comm).allgather(intentions.data(), sizeof(Intention));
    if (all_have != MPI_SUCCESS) return trouble.is(all_have, kUnreachable);
  }
  trouble.says(beginnings[0].error);
  if (trouble.code == MPI_SUCCESS && !file.posix.is_open()) trouble.says(open(flags_of(amode)));
  file.one_node = one_node;
  static const unsigned processors = std::thread::hardware_concurrency();
  file.near = one_node && (n <= 2 * processors || file.posix.is_local());
  if (file.tuning.ds_write == Tuning::Choice::disable) file.posix.never_map();
  Record opened;
  std::vector<Record> all;
  opened.word = {trouble.code, trouble.system_error};
  if (int error = file.messenger.gather(opened, all)) return trouble.is(error, kUnreachable);
  for (const Record& record : all)
    if (record.word[0] != MPI_SUCCESS) {
      trouble.is(static_cast<int>(record.word[0]), "another rank cannot open it");
      if (trouble.system_error == 0) trouble.system_error = static_cast<int>(record.word[1]);
    }
  if (trouble.code != MPI_SUCCESS) return;
  show_all(file);
  if ((amode & MPI_MODE_APPEND) == 0) return;
  int64_t bytes = 0;
  trouble.says(file.posix.size(bytes));
  file.position = bytes;
  if (comm.rank == 0) file.messenger.store(0, bytes);
  if (int error = file.messenger.gather(opened, all)) trouble.is(error, kUnreachable);
}

void dispose(File* file) {
  file->collectives.stop();
  file->messenger.close();
  file->posix.close();
  replace_errhandler(file->errhandler, MPI_ERRORS_RETURN);
  if (file->comm) destroy_communicator(file->comm);
  files.release(file);
}

int open(const char* function, MPI_Comm handle, const char* filename, int amode, MPI_Info info, MPI_File* fh) {
  if (int error = check_running(function)) return error;
  Communicator* parent = find_communicator(handle);
  if (parent == nullptr) return raise_without_file(function, MPI_ERR_COMM, "%p is no communicator", static_cast<void*>(handle));
  if (parent->inter) return raise_without_file(function, MPI_ERR_COMM, "files are opened by intracommunicators");
  if (fh != nullptr) *fh = MPI_FILE_NULL;
  // The others are told what is wrong here: they wait for this rank.
  Trouble trouble;
  if (fh == nullptr) trouble.is(MPI_ERR_ARG, "the address for the file is null");
  if (filename == nullptr || filename[0] == '\0') trouble.is(MPI_ERR_BAD_FILE, "the name of the file is empty, or null");
  if (!is_info_or_null(info)) trouble.is(MPI_ERR_INFO, "the info is none");
  if (const char* fault = fault_of(amode)) trouble.is(MPI_ERR_AMODE, fault);
  if (trouble.code != MPI_SUCCESS && parent->size == 1) return raise_without_file(function, trouble.code, "%s", trouble.cause);

  Communicator* own;
  if (int error =
          create_in(function, *parent, all_and_of(*parent), key_of(*parent, Traffic::collectives, 0), retain(parent->group), nullptr, own))
    return error;
  File* file = files.claim();
  if (file == nullptr) {
    destroy_communicator(own);
    return raise_without_file(function, MPI_ERR_NO_MEM, "too many files are open");
  }
  file->comm = own;
  file->name = filename ? path_of(filename) : "";
  file->two_phase = std::make_unique<TwoPhase>(static_cast<size_t>(own->size));
  replace_errhandler(file->errhandler, default_errhandler.load(std::memory_order_acquire));
  open_together(*file, amode, trouble.code == MPI_SUCCESS ? hints_of(info) : Hints{}, trouble);
  if (trouble.code == MPI_SUCCESS) {
    *fh = handle_of(file);
    return MPI_SUCCESS;
  }
  dispose(file);
  if (trouble.system_error == 0) return raise_without_file(function, trouble.code, "%s", trouble.cause);
  return raise_without_file(function, trouble.code, "%s cannot be opened: %s", filename, sentence_of(trouble.system_error).c_str());
}

}  // namespace

int close_file(const char* function, File* file) {
  if (file->split_request != MPI_REQUEST_NULL) PMPI_Wait(&file->split_request, MPI_STATUS_IGNORE);
  file->await_all();
  Record own;
  std::vector<Record> all;
  int problem = 0;
  if (file->tuning.sync_on_close && file->writable()) problem = file->posix.sync();
  int error = file->messenger.gather(own, all);  // nobody uses it any more
  const int closing = file->posix.close();
  if (problem == 0) problem = closing;
  if ((file->amode & MPI_MODE_DELETE_ON_CLOSE) != 0 && error == MPI_SUCCESS) {
    if (file->comm->rank == 0 && unlink(file->name.c_str()) != 0 && errno != ENOENT) problem = errno;
    error = file->messenger.gather(own, all);
  }
  int result = MPI_SUCCESS;
  if (error != MPI_SUCCESS) result = raise(function, *file, error, "%s", kUnreachable);
  else result = raise_system(function, *file, problem);
  dispose(file);
  return result;
}

void close_all() {
  independent_operations().stop();
  files.for_each([](File& file) {
    file.await_all();
    file.comm = nullptr;  // gone by itself
    dispose(&file);
  });
  SharedMemoryGroup::drop_kept();
}

}  // namespace portunus::mpi::io

using namespace portunus::mpi;
using namespace portunus::mpi::io;

extern "C" int PMPI_File_open(MPI_Comm comm, const char* filename, int amode, MPI_Info info, MPI_File* fh) try {
  const int error = portunus::mpi::io::open("MPI_File_open", comm, filename, amode, info, fh);
  tool::emit(tool::Event::file_opened, error, amode);
  return answer(error);
}
MPI_WEAK_NAME(File_open)

extern "C" int PMPI_File_close(MPI_File* fh) try {
  return answer([&]() -> int {
    static constexpr char kName[] = "MPI_File_close";
    if (int error = check_running(kName)) return error;
    if (fh == nullptr) return raise_without_file(kName, MPI_ERR_ARG, "the address of the file is null");
    File* file;
    if (int error = portunus::mpi::io::check(kName, *fh, file)) return error;
    *fh = MPI_FILE_NULL;
    tool::emit(tool::Event::file_closed);
    return close_file(kName, file);
  }());
}
MPI_WEAK_NAME(File_close)

extern "C" int PMPI_File_delete(const char* filename, MPI_Info info) try {
  return answer([&]() -> int {
    static constexpr char kName[] = "MPI_File_delete";
    if (int error = check_running(kName)) return error;
    if (filename == nullptr || filename[0] == '\0')
      return raise_without_file(kName, MPI_ERR_BAD_FILE, "the name of the file is empty, or null");
    if (!is_info_or_null(info)) return raise_without_file(kName, MPI_ERR_INFO, "the info is none");
    struct stat what;
    const char* path = path_of(filename);
    int error = unlink(path) == 0 ? 0 : errno;
    if (error == EPERM && stat(path, &what) == 0 && S_ISDIR(what.st_mode)) error = EISDIR;
    if (error == 0) return MPI_SUCCESS;
    return raise_without_file(kName, class_of_errno(error), "%s cannot be deleted: %s", filename, sentence_of(error).c_str());
  }());
}
MPI_WEAK_NAME(File_delete)
