// error_codes.cpp: names and sentences of the predefined error classes, and the classes and codes that users add.
#include "mpi-adi/core/error_codes.hpp"

#include <cstdio>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <string>

#include "mpi-adi/core/checks.hpp"
#include "mpi-adi/core/profiling.hpp"
#include "mpi-adi/mpi-ext.h"

namespace portunus::mpi {

int last_used_code = MPI_ERR_LASTCODE;

namespace {

struct ErrorClass {
  int value;
  int name;  // characters of the sentence
  int length;
  const char* sentence;
};

#define CLASS(name, text) \
  { name, sizeof #name - 1, sizeof #name ": " text - 1, #name ": " text }
constexpr ErrorClass kClasses[] = {
    CLASS(MPI_SUCCESS, "no error"),
    CLASS(MPI_ERR_BUFFER, "the buffer is not valid"),
    CLASS(MPI_ERR_COUNT, "the count is not valid"),
    CLASS(MPI_ERR_TYPE, "the datatype is not valid"),
    CLASS(MPI_ERR_TAG, "the tag is not valid"),
    CLASS(MPI_ERR_COMM, "the communicator is not valid"),
    CLASS(MPI_ERR_RANK, "the rank is not valid"),
    CLASS(MPI_ERR_REQUEST, "the request is not valid"),
    CLASS(MPI_ERR_ROOT, "the root is not valid"),
    CLASS(MPI_ERR_GROUP, "the group is not valid"),
    CLASS(MPI_ERR_OP, "the operation is not valid"),
    CLASS(MPI_ERR_TOPOLOGY, "the topology is not valid"),
    CLASS(MPI_ERR_DIMS, "the dimensions are not valid"),
    CLASS(MPI_ERR_ARG, "an argument is not valid"),
    CLASS(MPI_ERR_UNKNOWN, "unknown error"),
    CLASS(MPI_ERR_TRUNCATE, "the message was longer than the receive buffer"),
    CLASS(MPI_ERR_OTHER, "another error"),
    CLASS(MPI_ERR_INTERN, "an error inside MPI"),
    CLASS(MPI_ERR_PENDING, "the request is not complete"),
    CLASS(MPI_ERR_IN_STATUS, "the error is in the status"),
    CLASS(MPI_ERR_ACCESS, "permission denied"),
    CLASS(MPI_ERR_AMODE, "the access mode is not valid"),
    CLASS(MPI_ERR_ASSERT, "the assertion is not valid"),
    CLASS(MPI_ERR_BAD_FILE, "the file name is not valid"),
    CLASS(MPI_ERR_BASE, "the base address is not valid"),
    CLASS(MPI_ERR_CONVERSION, "data conversion failed"),
    CLASS(MPI_ERR_DISP, "the displacement is not valid"),
    CLASS(MPI_ERR_DUP_DATAREP, "the data representation is defined already"),
    CLASS(MPI_ERR_FILE_EXISTS, "the file exists"),
    CLASS(MPI_ERR_FILE_IN_USE, "the file is in use"),
    CLASS(MPI_ERR_FILE, "the file handle is not valid"),
    CLASS(MPI_ERR_INFO_KEY, "the info key is too long"),
    CLASS(MPI_ERR_INFO_NOKEY, "there is no such info key"),
    CLASS(MPI_ERR_INFO_VALUE, "the info value is too long"),
    CLASS(MPI_ERR_INFO, "the info is not valid"),
    CLASS(MPI_ERR_IO, "input or output failed"),
    CLASS(MPI_ERR_KEYVAL, "the attribute key is not valid"),
    CLASS(MPI_ERR_LOCKTYPE, "the lock type is not valid"),
    CLASS(MPI_ERR_NAME, "the service is not published"),
    CLASS(MPI_ERR_NO_MEM, "there is not enough memory"),
    CLASS(MPI_ERR_NOT_SAME, "an argument differs between the ranks"),
    CLASS(MPI_ERR_NO_SPACE, "there is not enough space"),
    CLASS(MPI_ERR_NO_SUCH_FILE, "the file does not exist"),
    CLASS(MPI_ERR_PORT, "the port is not valid"),
    CLASS(MPI_ERR_QUOTA, "the quota is used up"),
    CLASS(MPI_ERR_READ_ONLY, "the file or file system is read-only"),
    CLASS(MPI_ERR_RMA_ATTACH, "the memory cannot be attached"),
    CLASS(MPI_ERR_RMA_CONFLICT, "accesses to a window conflict"),
    CLASS(MPI_ERR_RMA_RANGE, "the target memory is not in the window"),
    CLASS(MPI_ERR_RMA_SHARED, "the memory cannot be shared"),
    CLASS(MPI_ERR_RMA_SYNC, "the synchronization of the window is wrong"),
    CLASS(MPI_ERR_SERVICE, "the service cannot be unpublished"),
    CLASS(MPI_ERR_SIZE, "the size is not valid"),
    CLASS(MPI_ERR_SPAWN, "processes cannot be started"),
    CLASS(MPI_ERR_UNSUPPORTED_DATAREP, "the data representation is not supported"),
    CLASS(MPI_ERR_UNSUPPORTED_OPERATION, "the operation is not supported"),
    CLASS(MPI_ERR_WIN, "the window is not valid"),
    CLASS(MPI_ERR_RMA_FLAVOR, "the window has the wrong flavor"),
    CLASS(MPI_ERR_PROC_ABORTED, "a process has ended or cannot be reached"),
    CLASS(MPI_ERR_VALUE_TOO_LARGE, "a value is too large to be returned"),
    CLASS(MPI_ERR_SESSION, "the session is not valid"),
    CLASS(MPI_ERR_ERRHANDLER, "the error handler is not valid"),
    CLASS(MPI_ERR_ABI, "the ABI does not fit"),
};
// This library's own, behind those of the standard (mpi-ext.h).
constexpr ErrorClass kExtensions[] = {
    CLASS(MPIX_ERR_PROC_FAILED_PENDING, "the operation waits until a failure is acknowledged"),
    CLASS(MPIX_ERR_REVOKED, "the communicator has been revoked"),
};
#undef CLASS

constexpr bool in_order() {
  int next = 0;
  for (const ErrorClass& each : kClasses)
    if (each.value != next++) return false;
  return true;
}
static_assert(in_order(), "they are looked up by position");

constexpr bool all_fit() {
  for (const ErrorClass& each : kClasses)
    if (each.length >= MPI_MAX_ERROR_STRING) return false;
  for (const ErrorClass& each : kExtensions)
    if (each.length >= MPI_MAX_ERROR_STRING) return false;
  return true;
}
static_assert(all_fit(), "they are copied whole");

constexpr int kPredefined = std::size(kClasses);

struct Added {
  int error_class;
  std::string text;
};
const ErrorClass* find_predefined(int code) {
  if (code >= 0 && code < kPredefined) return &kClasses[code];
  for (const ErrorClass& each : kExtensions)
    if (each.value == code) return &each;
  return nullptr;
}

std::mutex mutex;
std::map<int, Added> added;  // by code; a class is a code of its own class

}  // namespace

int class_of(int code) {
  if (find_predefined(code) != nullptr) return code;
  std::lock_guard lock(mutex);
  const auto found = added.find(code);
  return found != added.end() ? found->second.error_class : -1;
}

int describe(int code, char* text) {
  if (const ErrorClass* known = find_predefined(code)) {
    std::memcpy(text, known->sentence, static_cast<size_t>(known->length) + 1);
    return known->length;
  }
  std::lock_guard lock(mutex);
  const auto found = added.find(code);
  if (found == added.end()) return -1;
  return std::snprintf(text, MPI_MAX_ERROR_STRING, "%s", found->second.text.c_str());
}

void describe_class(int code, char* text) {
  if (const ErrorClass* known = find_predefined(code)) std::snprintf(text, MPI_MAX_ERROR_STRING, "%.*s", known->name, known->sentence);
  else if (describe(code, text) <= 0) std::snprintf(text, MPI_MAX_ERROR_STRING, "error code %d", code);
}

namespace {

int add(int error_class) {  // error_class < 0: the new code is a class
  std::lock_guard lock(mutex);
  const int code = ++last_used_code;
  added[code] = {error_class < 0 ? code : error_class, ""};
  return code;
}

int raise_no_code(const char* function, int code) {
  return raise(function, nullptr, MPI_ERR_ARG, "%d is no error code%s", code, code >= 0 && code < kPredefined ? " that was added" : "");
}

// `is_class`: what kind of code the caller may remove.
int remove(const char* function, int code, bool is_class) {
  std::unique_lock lock(mutex);
  const auto found = added.find(code);
  if (found == added.end() || (found->second.error_class == code) != is_class) {
    lock.unlock();
    return raise_no_code(function, code);
  }
  if (!found->second.text.empty()) {
    lock.unlock();
    return raise(function, nullptr, MPI_ERR_OTHER, "%d still has its string; call MPI_Remove_error_string first", code);
  }
  for (const auto& [other, is] : added)
    if (is_class && other != code && is.error_class == code) {
      const int left = other;
      lock.unlock();
      return raise(function, nullptr, MPI_ERR_OTHER, "the class %d still has the code %d; remove that first", code, left);
    }
  added.erase(found);
  while (last_used_code > MPI_ERR_LASTCODE && added.count(last_used_code) == 0) --last_used_code;
  return MPI_SUCCESS;
}

int set_text(const char* function, int code, const char* text) {
  std::unique_lock lock(mutex);
  const auto found = added.find(code);
  if (found == added.end()) {
    lock.unlock();
    return raise_no_code(function, code);
  }
  found->second.text.assign(text, strnlen(text, MPI_MAX_ERROR_STRING - 1));
  return MPI_SUCCESS;
}

}  // namespace
}  // namespace portunus::mpi

using namespace portunus::mpi;

extern "C" int PMPI_Error_class(int errorcode, int* errorclass) try {
  static constexpr char kName[] = "MPI_Error_class";
  if (int error = check_results(kName, nullptr, {errorclass})) return error;
  const int found = class_of(errorcode);
  if (found < 0) return raise_no_code(kName, errorcode);
  *errorclass = found;
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Error_class)

extern "C" int PMPI_Error_string(int errorcode, char* string, int* resultlen) try {
  static constexpr char kName[] = "MPI_Error_string";
  if (int error = check_results(kName, nullptr, {string, resultlen})) return error;
  const int length = describe(errorcode, string);
  if (length < 0) return raise_no_code(kName, errorcode);
  *resultlen = length;
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Error_string)

extern "C" int PMPI_Add_error_class(int* errorclass) try {
  if (int error = check_results("MPI_Add_error_class", nullptr, {errorclass})) return error;
  *errorclass = add(-1);
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Add_error_class)

extern "C" int PMPI_Add_error_code(int errorclass, int* errorcode) try {
  static constexpr char kName[] = "MPI_Add_error_code";
  if (int error = check_results(kName, nullptr, {errorcode})) return error;
  if (class_of(errorclass) != errorclass) return raise(kName, nullptr, MPI_ERR_ARG, "%d is no error class", errorclass);
  *errorcode = add(errorclass);
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Add_error_code)

extern "C" int PMPI_Add_error_string(int errorcode, const char* string) try {
  static constexpr char kName[] = "MPI_Add_error_string";
  if (int error = check_results(kName, nullptr, {string})) return error;
  return set_text(kName, errorcode, string);
}
MPI_WEAK_NAME(Add_error_string)

extern "C" int PMPI_Remove_error_class(int errorclass) try { return remove("MPI_Remove_error_class", errorclass, true); }
MPI_WEAK_NAME(Remove_error_class)

extern "C" int PMPI_Remove_error_code(int errorcode) try { return remove("MPI_Remove_error_code", errorcode, false); }
MPI_WEAK_NAME(Remove_error_code)

extern "C" int PMPI_Remove_error_string(int errorcode) try { return set_text("MPI_Remove_error_string", errorcode, ""); }
MPI_WEAK_NAME(Remove_error_string)
