// operation.cpp: checking an access, moving the file pointers, and doing it now or later.
//
// Functions of the user (error handlers, conversions of a data representation) run on the thread that calls MPI.
#include "mpi-adi/io/operation.hpp"

#include "mpi-adi/core/arguments.hpp"
#include "mpi-adi/core/device.hpp"
#include "mpi-adi/io/pointers.hpp"
#include "mpi-adi/io/two_phase.hpp"
#include "mpi-adi/pt2pt/status.hpp"
#include "mpi-adi/request/completion.hpp"

namespace portunus::mpi::io {
namespace {

constexpr char kNoPointer[] = "rank 0, which has the shared pointer, cannot be reached";

// The fault of a call on an open file: MPI_SUCCESS, or a class and a sentence.
int fault_of(const Kind& kind, const File& file, const Given& given, const Datatype* type, const View& view, const char*& cause) {
  cause = "the file was opened to be written only";
  if (!kind.writes && !file.readable()) return MPI_ERR_ACCESS;
  cause = "the file was opened to be read only";
  if (kind.writes && !file.writable()) return MPI_ERR_READ_ONLY;
  cause = "files opened with MPI_MODE_SEQUENTIAL are accessed by their shared pointer only";
  if (file.sequential() && kind.where != Where::shared && kind.where != Where::ordered) return MPI_ERR_UNSUPPORTED_OPERATION;
  cause = "another collective that was begun is not ended";
  if (kind.together && file.split != Split::none) return MPI_ERR_IO;
  cause = "the count is negative or too large";
  if (!is_count(given.count)) return MPI_ERR_COUNT;
  cause = "the datatype is none, or is not committed";
  if (type == nullptr || !type->committed) return MPI_ERR_TYPE;
  cause = "the data are more than memory can hold";
  if (!fits_in_memory(given.count, *type)) return MPI_ERR_COUNT;
  cause = "the offset is negative";
  if (kind.where == Where::at_offset && given.offset < 0) return MPI_ERR_ARG;
  cause = "the buffer is null";
  if (given.buf == nullptr && given.count > 0 && type->size > 0 && type->dense) return MPI_ERR_BUFFER;
  cause = "the view shows no data";
  if (view.tiling.tile.size == 0 && given.count > 0 && type->size > 0) return MPI_ERR_IO;
  cause = "";
  return MPI_SUCCESS;
}

// Makes the access, but for where it begins, which `units` says how to advance: elementary types. `lasts`: it may be carried out after the
// call, or by several ranks.
inline void prepare(const Kind& kind, File& file, const Given& given, bool lasts, Access& access, int64_t& units) {
  units = 0;
  access.file = &file;
  access.writes = kind.writes;
  access.buf = given.buf;
  access.count = given.count;
  Datatype* type = find_type(given.datatype);
  std::unique_lock lock(file.mutex);
  const View& view = *file.view;
  const char* cause;
  const int error = fault_of(kind, file, given, type, view, cause);
  const bool native = view.representation->is_native();
  access.is_run = error == MPI_SUCCESS && native && view.tiling.is_dense() && is_one_run(*type, given.count) &&
                  !file.atomic.load(std::memory_order_relaxed);
  access.first = access.is_run ? view.tiling.displacement + view.tiling.tile.offset : 0;
  access.etype_size = view.etype_size;
  if (lasts || !access.is_run) access.view = file.view;
  lock.unlock();  // a run needs the view no more
  if (error != MPI_SUCCESS) return access.fail(error, cause);
  access.type = type;
  FileType in_file;
  int64_t each = type->size;
  if (!native) {
    if (int failed = access.view->representation->describe(*type, in_file))
      return access.fail(failed, "the data representation's function for extents failed");
    each = in_file.size;
  }
  if (__builtin_mul_overflow(each, given.count, &access.bytes)) return access.fail(MPI_ERR_COUNT, "the count is too large");
  const int64_t whole = access.bytes / access.etype_size;
  if (whole * access.etype_size != access.bytes)
    return access.fail(MPI_ERR_ARG, "the data are no whole number of the view's elementary types");
  units = whole;
}

void begin_at(Access& access, int64_t position) {
  if (access.result.error != MPI_SUCCESS) return;
  if (position < 0 || __builtin_mul_overflow(position, access.etype_size, &access.from))
    access.fail(MPI_ERR_ARG, "the offset is negative, or too large");
}

// The place where it begins, for all but ordered ones; pointers move at once.
inline void find_place(const Kind& kind, File& file, const Given& given, int64_t units, Access& access) {
  if (access.result.error != MPI_SUCCESS || kind.where == Where::ordered) return;
  int64_t position = given.offset;
  if (kind.where == Where::individual) {
    std::lock_guard lock(file.mutex);
    position = file.position;
    int64_t next;
    if (__builtin_add_overflow(position, units, &next)) return access.fail(MPI_ERR_ARG, "the pointer would be too large");
    file.position = next;
  }
  if (kind.where == Where::shared)
    if (int error = advance_shared(file, units, position)) return access.fail(error, kNoPointer);
  begin_at(access, position);
}

void carry_out(const Kind& kind, int64_t units, Access& access) {
  if (!kind.together) return io::carry_out(access);
  if (kind.where == Where::ordered) {
    int64_t position = 0;
    const int known = access.result.error;
    if (int error = advance_ordered(*access.file, units, known, position))
      return access.fail(error, "another rank's arguments are wrong, or it has ended");
    begin_at(access, position);
  }
  carry_out_together(access);
}

int raise_result(const char* function, const File* file, const Result& result) {
  if (result.error == MPI_SUCCESS) return MPI_SUCCESS;
  if (result.system_error != 0) {
    const std::string sentence = sentence_of(result.system_error);
    return file ? raise(function, *file, result.error, "the system says: %s", sentence.c_str())
                : raise_without_file(function, result.error, "the system says: %s", sentence.c_str());
  }
  return file ? raise(function, *file, result.error, "%s", result.cause) : raise_without_file(function, result.error, "%s", result.cause);
}

void set_result(MPI_Status* status, const Result& result) {
  set_status(status, MPI_ANY_SOURCE, MPI_ANY_TAG, static_cast<uint64_t>(result.bytes));
}

// A nonblocking operation, for its request. Its file may be closed when the request is completed.
class Operation final : public Attachment {
 public:
  explicit Operation(MPI_File handle) : handle_(handle) {}

  int query(Request&, MPI_Status* status) override {
    end();
    set_result(status, result);
    return result.error;
  }
  // Nobody asks again: what is read is converted here.
  int freed(Request& request) override {
    if (converts()) device::wait(request), end();
    return MPI_SUCCESS;
  }
  bool converts() const { return access.converted && !access.writes; }
  int raise_error(const char* function, const Request&, int) override { return raise_result(function, files.find(handle_), result); }

  Access access;
  int64_t units = 0;
  Result result;

 private:
  void end() {
    if (!access.converted) return;
    finish(access);
    result = access.result;
  }

  MPI_File handle_;
};

void complete(Request& request, Operation& operation) {
  File& file = *operation.access.file;
  operation.result = operation.access.result;
  if (!operation.access.converted) operation.access = Access();
  device::signal(request);  // the request may be gone from now on
  file.end();
}

// For later, on a thread; `operation` belongs to the request.
int post(const Kind& kind, File& file, Access&& access, int64_t units, MPI_Request* handle) {
  Request* request = pool.claim(&self(), false);
  if (request == nullptr) return raise(kind.function, file, MPI_ERR_NO_MEM, "all requests are in use; complete some of them first");
  auto* operation = new Operation(handle_of(&file));
  request->attached = operation;
  request->special = true;
  *handle = handle_of(request);
  if (!kind.together && carry_out_run(access, true)) {
    operation->result = access.result;
    request->state.store(State::done, std::memory_order_release);
    return MPI_SUCCESS;
  }
  operation->access = std::move(access);
  operation->access.keep_type();
  operation->units = units;
  file.begin();
  const auto task = [kind, request, operation] {
    carry_out(kind, operation->units, operation->access);
    complete(*request, *operation);
  };
  if (!(kind.together ? file.collectives : independent_operations()).post(task)) task();
  return MPI_SUCCESS;
}

// Wrong arguments of one rank's collective are told to the others; of independent ones nothing is begun.
bool ends_here(const Kind& kind, const Access& access) { return access.result.error != MPI_SUCCESS && !kind.together; }

const char* unsplit(const Kind& kind) { return kind.function; }

}  // namespace

int move(const Kind& kind, MPI_File fh, const Given& given, MPI_Status* status) {
  File* file;
  if (int error = check(kind.function, fh, file)) return error;
  Access access;
  int64_t units;
  const bool alone = kind.where != Where::ordered && (!kind.together || each_goes_alone(*file, kind.writes));
  prepare(kind, *file, given, !alone, access, units);
  find_place(kind, *file, given, units, access);
  if (!ends_here(kind, access)) {
    if (kind.together) file->collectives.drain();
    if (!alone || !carry_out_run(access)) {
      convert(access);
      if (!ends_here(kind, access)) carry_out(kind, units, access);
      finish(access);
    }
  }
  set_result(status, access.result);
  return raise_result(kind.function, file, access.result);
}

int begin_move(const Kind& kind, MPI_File fh, const Given& given, MPI_Request* request) {
  File* file;
  if (int error = check(kind.function, fh, file)) return error;
  if (request == nullptr) return raise(kind.function, *file, MPI_ERR_ARG, "the address for the request is null");
  *request = MPI_REQUEST_NULL;
  Access access;
  int64_t units;
  prepare(kind, *file, given, true, access, units);
  find_place(kind, *file, given, units, access);
  if (!ends_here(kind, access)) convert(access);
  if (ends_here(kind, access)) return raise_result(kind.function, file, access.result);
  return post(kind, *file, std::move(access), units, request);
}

int begin_split(const Kind& kind, MPI_File fh, const Given& given) {
  File* file;
  if (int error = check(kind.function, fh, file)) return error;
  if (file->split != Split::none) return raise(kind.function, *file, MPI_ERR_IO, "another collective that was begun is not ended");
  Access access;
  int64_t units;
  prepare(kind, *file, given, true, access, units);
  find_place(kind, *file, given, units, access);
  convert(access);
  const Result known = access.result;
  MPI_Request request = MPI_REQUEST_NULL;
  if (int error = post(kind, *file, std::move(access), units, &request)) return error;
  if (known.error != MPI_SUCCESS) {  // the others learn of it; here the collective has not begun
    PMPI_Request_free(&request);
    return raise_result(unsplit(kind), file, known);
  }
  file->split = kind.split;
  file->split_buffer = given.buf;
  file->split_request = request;
  return MPI_SUCCESS;
}

int end_split(const Kind& kind, MPI_File fh, const void* buf, MPI_Status* status) {
  File* file;
  if (int error = check(kind.function, fh, file)) return error;
  if (file->split != kind.split) return raise(kind.function, *file, MPI_ERR_IO, "no such collective was begun");
  if (file->split_buffer != buf) return raise(kind.function, *file, MPI_ERR_BUFFER, "the collective was begun with another buffer");
  MPI_Request handle = file->split_request;
  file->split = Split::none;
  file->split_request = MPI_REQUEST_NULL;
  Request* request = pool.find(handle);
  device::wait(*request);
  return finish(kind.function, handle, request, status);
}

}  // namespace portunus::mpi::io
