// file.cpp: finding files, and raising their errors.
#include "mpi-adi/io/file.hpp"

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "mpi-adi/core/errors.hpp"
#include "mpi-adi/core/init.hpp"
#include "mpi-adi/core/profiling.hpp"
#include "mpi-adi/io/two_phase.hpp"

namespace portunus::mpi::io {

constinit FilePool files;
std::atomic<MPI_Errhandler> default_errhandler{MPI_ERRORS_RETURN};

File::File() = default;
File::~File() = default;

int check(const char* function, MPI_File handle, File*& found) {
  found = files.find(handle);
  if (found != nullptr && phase.load(std::memory_order_acquire) == Phase::running) [[likely]]
    return MPI_SUCCESS;
  if (int error = check_running(function)) return error;
  if (handle == MPI_FILE_NULL) return raise_without_file(function, MPI_ERR_FILE, "the file is MPI_FILE_NULL");
  return raise_without_file(function, MPI_ERR_FILE, "%p is no open file", static_cast<void*>(handle));
}

}  // namespace portunus::mpi::io

int portunus::mpi::raise_no_memory(const char* function, MPI_File handle) {
  const io::File* const file = io::files.find(handle);
  return answer(file != nullptr ? io::raise(function, *file, MPI_ERR_NO_MEM, "%s", kNoMemory)
                                : io::raise_without_file(function, MPI_ERR_NO_MEM, "%s", kNoMemory));
}

namespace portunus::mpi::io {

int raise(const char* function, const File& file, int code, const char* cause, ...) {
  Origin origin;
  origin.subject = Subject::file;
  origin.handle = handle_of(&file);
  origin.errhandler = file.errhandler.load(std::memory_order_acquire);
  origin.name = file.name.c_str();
  va_list arguments;
  va_start(arguments, cause);
  const int result = raise_at(origin, function, code, cause, arguments);
  va_end(arguments);
  return result;
}

int raise_without_file(const char* function, int code, const char* cause, ...) {
  Origin origin;
  origin.subject = Subject::file;
  origin.handle = MPI_FILE_NULL;
  origin.errhandler = default_errhandler.load(std::memory_order_acquire);
  origin.name = "no file";
  va_list arguments;
  va_start(arguments, cause);
  const int result = raise_at(origin, function, code, cause, arguments);
  va_end(arguments);
  return result;
}

int class_of_errno(int error) {
  switch (error) {
    case 0: return MPI_SUCCESS;
    case ENOENT: return MPI_ERR_NO_SUCH_FILE;
    case EEXIST: return MPI_ERR_FILE_EXISTS;
    case EACCES:
    case EPERM: return MPI_ERR_ACCESS;
    case EROFS: return MPI_ERR_READ_ONLY;
    case ENAMETOOLONG:
    case ENOTDIR:
    case EISDIR:
    case ELOOP: return MPI_ERR_BAD_FILE;
    case EDQUOT: return MPI_ERR_QUOTA;
    case ENOSPC: return MPI_ERR_NO_SPACE;
    case ETXTBSY:
    case EBUSY: return MPI_ERR_FILE_IN_USE;
    case ENOMEM: return MPI_ERR_NO_MEM;
    default: return MPI_ERR_IO;
  }
}

std::string sentence_of(int error) {
  char text[128];
  return strerror_r(error, text, sizeof text);
}

int raise_system(const char* function, const File& file, int error) {
  if (error == 0) return MPI_SUCCESS;
  return raise(function, file, class_of_errno(error), "the system says: %s", sentence_of(error).c_str());
}

}  // namespace portunus::mpi::io
