// datarep.cpp: the representations, and registering them.
#include "mpi-adi/io/datarep.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <mutex>
#include <vector>

#include "mpi-adi/core/profiling.hpp"
#include "mpi-adi/io/file.hpp"
#include "mpi-adi/pt2pt/packing.hpp"
#include "mpi-adi/types/elements.hpp"

namespace portunus::mpi::io {
namespace {

class Native final : public Representation {
 public:
  bool is_native() const override { return true; }
  int write(const void* buf, const Datatype& type, int64_t count, std::byte* file, int64_t bytes) const override {
    pack(layout_of(type, count), buf, 0, bytes, file);
    return MPI_SUCCESS;
  }
  int read(void* buf, const Datatype& type, int64_t count, const std::byte* file, int64_t arrived, int64_t& bytes) const override {
    unpack(layout_of(type, count), buf, 0, arrived, file);
    bytes = arrived;
    return MPI_SUCCESS;
  }
};

// The predefined datatypes that lie in the first `arrived` bytes of one element in the file: how many bytes of memory's data
// they are, and how many of them there are.
struct Prefix {
  int64_t bytes = 0, elements = 0;
};
Prefix prefix_of(const Representation& representation, const Datatype& type, int64_t arrived) {
  Prefix prefix;
  bool cut = false;
  for_each_element(type, 0, [&](const Datatype& elementary, int64_t) {
    const int64_t size = representation.size_of(elementary);
    cut = cut || size > arrived;
    if (cut) return;
    arrived -= size;
    prefix.bytes += elementary.size;
    ++prefix.elements;
  });
  return prefix;
}

class External32 final : public Representation {
 public:
  int64_t size_of(const Datatype& elementary) const override {
    MPI_Count bytes = 0;
    PMPI_Pack_external_size_c("external32", 1, handle_of(&elementary), &bytes);
    return bytes;
  }
  int write(const void* buf, const Datatype& type, int64_t count, std::byte* file, int64_t bytes) const override {
    MPI_Count position = 0;
    return PMPI_Pack_external_c("external32", buf, count, handle_of(&type), file, bytes, &position);
  }
  int read(void* buf, const Datatype& type, int64_t count, const std::byte* file, int64_t arrived, int64_t& bytes) const override {
    MPI_Count each = 0, position = 0;
    PMPI_Pack_external_size_c("external32", 1, handle_of(&type), &each);
    const int64_t whole = each > 0 ? std::min(arrived / each, count) : count;
    bytes = whole * type.size;
    if (int error = PMPI_Unpack_external_c("external32", file, whole * each, &position, buf, whole, handle_of(&type))) return error;
    return whole < count
               ? read_part(static_cast<std::byte*>(buf) + whole * type.extent, type, file + position, arrived - position, each, bytes)
               : MPI_SUCCESS;
  }

 private:
  // The beginning of one element: by way of an element of its own, so that memory behind it stays as it is.
  int read_part(std::byte* element, const Datatype& type, const std::byte* file, int64_t arrived, int64_t each, int64_t& bytes) const {
    const Prefix prefix = prefix_of(*this, type, arrived);
    if (prefix.bytes == 0) return MPI_SUCCESS;
    std::vector<std::byte> filled(static_cast<size_t>(each)), room(static_cast<size_t>(type.true_extent)),
        packed(static_cast<size_t>(prefix.bytes));
    std::memcpy(filled.data(), file, static_cast<size_t>(arrived));
    MPI_Count position = 0;
    std::byte* origin = room.data() - type.true_lb;
    if (int error = PMPI_Unpack_external_c("external32", filled.data(), each, &position, origin, 1, handle_of(&type))) return error;
    pack(type.layout, origin, 0, prefix.bytes, packed.data());
    unpack(type.layout, element, 0, prefix.bytes, packed.data());
    bytes += prefix.bytes;
    return MPI_SUCCESS;
  }
};

// With the program's functions, of which the large ones are called with counts of any size.
struct Functions {
  MPI_Datarep_conversion_function* read = nullptr;
  MPI_Datarep_conversion_function* write = nullptr;
  MPI_Datarep_conversion_function_c* read_large = nullptr;
  MPI_Datarep_conversion_function_c* write_large = nullptr;
  MPI_Datarep_extent_function* extent = nullptr;
  void* state = nullptr;
};

class Registered final : public Representation {
 public:
  explicit Registered(const Functions& functions) : functions_(functions) {}

  int64_t size_of(const Datatype& elementary) const override {
    MPI_Aint extent = 0;
    return functions_.extent(handle_of(&elementary), &extent, functions_.state) == MPI_SUCCESS && extent >= 0 ? extent : -1;
  }
  int write(const void* buf, const Datatype& type, int64_t count, std::byte* file, int64_t bytes) const override {
    if (functions_.write == nullptr && functions_.write_large == nullptr) {
      pack(layout_of(type, count), buf, 0, std::min(bytes, type.size * count), file);
      return MPI_SUCCESS;
    }
    return convert(functions_.write, functions_.write_large, const_cast<void*>(buf), type, count * type.elements, file);
  }
  int read(void* buf, const Datatype& type, int64_t count, const std::byte* file, int64_t arrived, int64_t& bytes) const override {
    FileType in_file;
    if (describe(type, in_file) != MPI_SUCCESS) return MPI_ERR_CONVERSION;
    const int64_t whole = in_file.size > 0 ? std::min(count, arrived / in_file.size) : count;
    const Prefix rest = whole < count ? prefix_of(*this, type, arrived - whole * in_file.size) : Prefix{};
    bytes = whole * type.size + rest.bytes;
    if (functions_.read == nullptr && functions_.read_large == nullptr) {
      unpack(layout_of(type, count), buf, 0, bytes, file);
      return MPI_SUCCESS;
    }
    return convert(functions_.read, functions_.read_large, buf, type, whole * type.elements + rest.elements, const_cast<std::byte*>(file));
  }

 private:
  // A data item is a predefined datatype of the type map; those of one call are as many as its count can tell.
  int convert(MPI_Datarep_conversion_function* narrow, MPI_Datarep_conversion_function_c* wide, void* buf, const Datatype& type,
              int64_t items, std::byte* file) const {
    constexpr int64_t kMost = int64_t{1} << 22;  // per call: what a program's function may want room for
    const Datatype* same = type.element;
    const int64_t each = same ? size_of(*same) : 0;
    if (each < 0) return MPI_ERR_CONVERSION;
    for (int64_t position = 0; position < items;) {
      const int64_t count = same ? std::min(items - position, kMost) : items;
      if (count > std::numeric_limits<int>::max() && wide == nullptr) return MPI_ERR_CONVERSION;
      const int error = wide ? wide(buf, handle_of(&type), count, file + position * each, position, functions_.state)
                             : narrow(buf, handle_of(&type), static_cast<int>(count), file + position * each, position, functions_.state);
      if (error != MPI_SUCCESS) return MPI_ERR_CONVERSION;
      position += count;
    }
    return MPI_SUCCESS;
  }

  Functions functions_;
};

std::mutex mutex;
std::map<std::string, const Representation*>& registered() {
  static auto& all = *new std::map<std::string, const Representation*>;
  return all;
}

// Whether the constructor counted in elements of its part, so that places scale with its size.
bool counts_elements(int combiner) {
  switch (combiner) {
    case MPI_COMBINER_HVECTOR:
    case MPI_COMBINER_HINDEXED:
    case MPI_COMBINER_HINDEXED_BLOCK:
    case MPI_COMBINER_STRUCT:
    case MPI_COMBINER_RESIZED: return false;
    default: return true;
  }
}

int register_functions(const char* function, const char* name, const Functions& functions) {
  if (int error = check_running(function)) return error;
  if (name == nullptr || name[0] == '\0' || strnlen(name, MPI_MAX_DATAREP_STRING) >= MPI_MAX_DATAREP_STRING)
    return raise_without_file(function, MPI_ERR_ARG, "the name of the data representation is null, empty or longer than 127 characters");
  if (functions.extent == nullptr) return raise_without_file(function, MPI_ERR_ARG, "the function for extents is null");
  if (find_representation(name) != nullptr)
    return raise_without_file(function, MPI_ERR_DUP_DATAREP, "there is a data representation \"%s\" already", name);
  std::lock_guard lock(mutex);
  registered().emplace(name, new Registered(functions));
  return MPI_SUCCESS;
}

}  // namespace

int Representation::describe(const Datatype& type, FileType& made) const {
  if (is_native()) {
    made = {type.layout, type.size, type.extent, type.lb};
    return MPI_SUCCESS;
  }
  if (type.predefined) {
    int64_t size = 0;
    bool failed = false;
    for_each_element(type, 0, [&](const Datatype& elementary, int64_t) {
      const int64_t bytes = size_of(elementary);
      failed = failed || bytes < 0;
      size += bytes;
    });
    made = {Layout::run(0, size), size, size, 0};
    return failed ? MPI_ERR_CONVERSION : MPI_SUCCESS;
  }
  std::vector<Layout> parts;
  int64_t lower = std::numeric_limits<int64_t>::max(), upper = std::numeric_limits<int64_t>::min(), unit = 0, scaled = 0;
  bool changed = false, any = false;
  for (const Piece& piece : type.pieces) {
    FileType part;
    if (int error = describe(*piece.type, part)) return error;
    const bool scales = counts_elements(type.combiner) && piece.type->extent != 0;
    const auto scale = [&](int64_t bytes) { return scales ? bytes / piece.type->extent * part.extent : bytes; };
    changed = changed || part.extent != piece.type->extent;
    if (scales) {
      unit = piece.type->extent;
      scaled = part.extent;
    }
    Layout& copies = parts.emplace_back(part.layout);
    copies.repeat(piece.blocklength, part.extent);
    copies.repeat(piece.count, scale(piece.stride));
    copies.offset += scale(piece.displacement);
    if (type.resized && !piece.type->resized) continue;
    any = true;
    for (const int64_t row : {int64_t{0}, piece.count - 1})
      for (const int64_t i : {int64_t{0}, piece.blocklength - 1}) {
        const int64_t at = scale(piece.displacement) + row * scale(piece.stride) + i * part.extent + part.lb;
        lower = std::min(lower, at);
        upper = std::max(upper, at + part.extent);
      }
  }
  made.layout = Layout::joined(std::move(parts));
  made.size = made.layout.size;
  made.lb = type.lb;
  made.extent = type.extent;
  if (!changed || type.combiner == MPI_COMBINER_RESIZED) return MPI_SUCCESS;
  if (unit != 0) {  // bounds are whole elements
    made.lb = type.lb / unit * scaled;
    made.extent = type.extent / unit * scaled;
  } else if (any) {
    made.lb = lower;
    made.extent = upper - lower;
  }
  return MPI_SUCCESS;
}

const Representation& native_representation() {
  static const Native native;
  return native;
}

const Representation* find_representation(const char* name) {
  static const External32 external32;
  if (std::strcmp(name, "native") == 0 || std::strcmp(name, "internal") == 0) return &native_representation();
  if (std::strcmp(name, "external32") == 0) return &external32;
  std::lock_guard lock(mutex);
  const auto found = registered().find(name);
  return found == registered().end() ? nullptr : found->second;
}

}  // namespace portunus::mpi::io

using namespace portunus::mpi;
using namespace portunus::mpi::io;

extern "C" int PMPI_Register_datarep(const char* datarep, MPI_Datarep_conversion_function* read_conversion_fn,
                                     MPI_Datarep_conversion_function* write_conversion_fn,
                                     MPI_Datarep_extent_function* dtype_file_extent_fn, void* extra_state) try {
  Functions functions;
  functions.read = read_conversion_fn;
  functions.write = write_conversion_fn;
  functions.extent = dtype_file_extent_fn;
  functions.state = extra_state;
  return portunus::mpi::answer(register_functions("MPI_Register_datarep", datarep, functions));
}
MPI_WEAK_NAME(Register_datarep)

extern "C" int PMPI_Register_datarep_c(const char* datarep, MPI_Datarep_conversion_function_c* read_conversion_fn,
                                       MPI_Datarep_conversion_function_c* write_conversion_fn,
                                       MPI_Datarep_extent_function* dtype_file_extent_fn, void* extra_state) try {
  Functions functions;
  functions.read_large = read_conversion_fn;
  functions.write_large = write_conversion_fn;
  functions.extent = dtype_file_extent_fn;
  functions.state = extra_state;
  return portunus::mpi::answer(register_functions("MPI_Register_datarep_c", datarep, functions));
}
MPI_WEAK_NAME(Register_datarep_c)
