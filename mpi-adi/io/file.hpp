// file.hpp: open files, and how their errors are raised.
//
// Thread: any; what changes while a file is open has a lock or is the business of collective calls, which are one at a time.
// Invariants: a handle is an object in the pool from MPI_File_open to MPI_File_close on this process, which waits for
// operations that are under way. A file's communicator is its own: nothing else is sent there. Source: MPI-5.0, 14.2, 14.7
// (error handling).
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>

#include "mpi-adi/comm/comm.hpp"
#include "mpi-adi/core/checks.hpp"
#include "mpi-adi/core/objects.hpp"
#include "mpi-adi/io/file_messenger.hpp"
#include "mpi-adi/io/hints.hpp"
#include "mpi-adi/io/mapping.hpp"
#include "mpi-adi/io/posix_file.hpp"
#include "mpi-adi/io/queue.hpp"
#include "mpi-adi/io/view.hpp"
#include "mpi-adi/mpi.h"

namespace portunus::mpi::io {

class TwoPhase;  // what collective transfers remember

enum class Split : uint8_t { none, read_all, read_at_all, read_ordered, write_all, write_at_all, write_ordered };

struct File {
  File();
  ~File();

  Communicator* comm = nullptr;
  int amode = 0;
  std::string name;
  PosixFile posix;
  Mapping mapping;
  Tuning tuning;
  FileMessenger messenger;
  std::atomic<MPI_Errhandler> errhandler{nullptr};
  std::atomic<bool> atomic{false};
  std::mutex atomic_accesses;  // of threads of this process, which file locks do not keep apart

  // The view and the individual pointer, in elementary types.
  std::mutex mutex;
  std::shared_ptr<const View> view;
  int64_t position = 0;
  bool all_dense = true;     // every rank sees bytes in a row: collectives need no word between the ranks
  bool one_node = false;     // all ranks are on one
  bool near = false;         // and the file is, too, or they are not many for its processors
  unsigned shared_word = 0;  // which of the messenger's words is the shared pointer; another one after each new view

  Split split = Split::none;
  const void* split_buffer = nullptr;
  MPI_Request split_request = MPI_REQUEST_NULL;

  Queue collectives;  // nonblocking ones, in the order of the calls
  std::unique_ptr<TwoPhase> two_phase;

  // Operations under way.
  void begin() { pending_.fetch_add(1, std::memory_order_relaxed); }
  void end() {
    std::lock_guard lock(end_mutex_);
    if (pending_.fetch_sub(1, std::memory_order_acq_rel) == 1) ended_.notify_all();
  }
  void await_all() {
    std::unique_lock lock(end_mutex_);
    ended_.wait(lock, [&] { return pending_.load(std::memory_order_acquire) == 0; });  // released by end()
  }

  bool writable() const { return (amode & MPI_MODE_RDONLY) == 0; }
  bool readable() const { return (amode & MPI_MODE_WRONLY) == 0; }
  bool sequential() const { return (amode & MPI_MODE_SEQUENTIAL) != 0; }

 private:
  std::atomic<int> pending_{0};
  std::mutex end_mutex_;
  std::condition_variable ended_;
};

using FilePool = ObjectPool<File, 1 << 16>;
extern constinit FilePool files;

inline MPI_File handle_of(const File* file) { return reinterpret_cast<MPI_File>(const_cast<File*>(file)); }

// MPI_SUCCESS, or the error that was raised.
int check(const char* function, MPI_File handle, File*& found);
// Calls the file's error handler; returns the code if the handler returns.
[[gnu::cold, gnu::noinline, gnu::format(printf, 4, 5)]] int raise(const char* function, const File& file, int code, const char* cause, ...);
// That of MPI_FILE_NULL, which also is the first one of files that are opened.
[[gnu::cold, gnu::noinline, gnu::format(printf, 3, 4)]] int raise_without_file(const char* function, int code, const char* cause, ...);
extern std::atomic<MPI_Errhandler> default_errhandler;

// The class of errors that an errno belongs to, and a sentence about it.
int class_of_errno(int error);
std::string sentence_of(int error);
// Raises what a system call on the file said; MPI_SUCCESS if that is 0.
int raise_system(const char* function, const File& file, int error);

// Opens and closes, for open.cpp and the end of MPI.
int close_file(const char* function, File* file);
// At the end of MPI: threads end, files that are open still are closed.
void close_all();

}  // namespace portunus::mpi::io
