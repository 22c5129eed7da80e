// choice.cpp: array sections that do not lie in one piece, by a datatype that describes them, or by a copy.
//
// Sections of up to 15 dimensions come as descriptors of the Fortran standard; strides may be negative. The programmer's count and
// datatype speak of the section's elements as if they lay side by side. A predefined datatype whose size divides an element's is
// turned into nested strided ones, which keep its signature; anything else is copied.
// Source: Fortran 2018, 18.5 (descriptors); MPI-5.0, 19.1.12 (sections as buffers).
#include "mpi-adi/fortran/choice.hpp"

#include <cstdlib>
#include <cstring>

#include "mpi-adi/fortran/kept.hpp"

struct choice_copy {
  char* memory;
  bool written;
  CFI_rank_t rank;
  char* base;
  size_t element;
  struct {
    CFI_index_t extent, stride;  // stride in bytes
  } dimension[CFI_MAX_RANK];
};

namespace {

// Calls action(place) for each element of dimension `rank` - 1 and those below, in the order of the array's elements.
template <class Action>
void for_each_element(const choice_copy& copy, int rank, char* place, Action& action) {
  if (rank == 0) return action(place);
  const auto& dimension = copy.dimension[rank - 1];
  for (CFI_index_t i = 0; i < dimension.extent; ++i, place += dimension.stride) for_each_element(copy, rank - 1, place, action);
}

// kSize: of an element, 0: any.
template <bool kGather, size_t kSize>
void move_elements(choice_copy* copy) {
  char* memory = copy->memory;
  const size_t size = kSize != 0 ? kSize : copy->element;
  auto step = [&](char* place) {
    kGather ? std::memcpy(memory, place, size) : std::memcpy(place, memory, size);
    memory += size;
  };
  for_each_element(*copy, copy->rank, copy->base, step);
}
template <bool kGather>
void move(choice_copy* copy) {
  if (copy->element == 4) move_elements<kGather, 4>(copy);
  else if (copy->element == 8) move_elements<kGather, 8>(copy);
  else if (copy->element == 16) move_elements<kGather, 16>(copy);
  else move_elements<kGather, 0>(copy);
}

int64_t elements(const CFI_cdesc_t* buffer) {
  int64_t product = 1;
  for (int i = 0; i < buffer->rank; ++i) product *= buffer->dim[i].extent;
  return product;
}

choice_copy* copy_of(const CFI_cdesc_t* buffer, bool written) {
  auto* copy = static_cast<choice_copy*>(std::malloc(sizeof(choice_copy)));
  if (copy == nullptr) return nullptr;
  copy->memory = static_cast<char*>(std::malloc(static_cast<size_t>(elements(buffer)) * buffer->elem_len));
  if (copy->memory == nullptr) {
    std::free(copy);
    return nullptr;
  }
  copy->written = written;
  copy->base = static_cast<char*>(buffer->base_addr);
  copy->element = buffer->elem_len;
  int first = 0;  // lower dimensions that lie in one piece count as one element
  for (; first < buffer->rank && buffer->dim[first].sm == static_cast<CFI_index_t>(copy->element); ++first)
    copy->element *= static_cast<size_t>(buffer->dim[first].extent);
  copy->rank = static_cast<CFI_rank_t>(buffer->rank - first);
  for (int i = 0; i < copy->rank; ++i) copy->dimension[i] = {buffer->dim[first + i].extent, buffer->dim[first + i].sm};
  gather(copy);
  return copy;
}

bool is_predefined(MPI_Datatype type) { return reinterpret_cast<uintptr_t>(type) < MPI_FORTRAN_FIRST_NUMBER; }

// Replaces *type by one that repeats it `count` times, `stride` bytes apart.
bool repeat(MPI_Count count, MPI_Count stride, MPI_Datatype* type) {
  MPI_Datatype inner = *type;
  const int error = PMPI_Type_create_hvector_c(count, 1, stride, inner, type);
  if (!is_predefined(inner)) PMPI_Type_free(&inner);
  return error == MPI_SUCCESS;
}

// The first `count` elements of the lowest `rank` dimensions; `type` is that of one element. MPI_DATATYPE_NULL: it failed.
MPI_Datatype first_elements(const CFI_cdesc_t* buffer, int rank, int64_t count, MPI_Datatype type) {
  MPI_Datatype result = type;
  if (rank == 1) return repeat(count, buffer->dim[0].sm, &result) ? result : MPI_DATATYPE_NULL;
  int64_t slab = 1;
  for (int i = 0; i + 1 < rank; ++i) slab *= buffer->dim[i].extent;
  const CFI_index_t stride = buffer->dim[rank - 1].sm;
  const int64_t whole = count / slab, rest = count % slab;
  MPI_Datatype parts[2] = {MPI_DATATYPE_NULL, MPI_DATATYPE_NULL};
  int n = 0;
  MPI_Count blocks[2] = {1, 1}, places[2] = {0, whole * stride};
  if (whole > 0) {
    parts[n] = first_elements(buffer, rank - 1, slab, type);
    if (parts[n] == MPI_DATATYPE_NULL || !repeat(whole, stride, &parts[n])) return MPI_DATATYPE_NULL;
    ++n;
  }
  if (rest > 0) {
    parts[n] = first_elements(buffer, rank - 1, rest, type);
    if (parts[n] == MPI_DATATYPE_NULL) return MPI_DATATYPE_NULL;
    places[n] = whole * stride;
    ++n;
  }
  if (n == 1) return parts[0];
  const int error = PMPI_Type_create_struct_c(n, blocks, places, parts, &result);
  for (int i = 0; i < n; ++i) PMPI_Type_free(&parts[i]);
  return error == MPI_SUCCESS ? result : MPI_DATATYPE_NULL;
}

// A committed datatype of which one at the section's start is `count` of `type` in it; MPI_DATATYPE_NULL: there is none.
MPI_Datatype describe(const CFI_cdesc_t* buffer, MPI_Count count, MPI_Datatype type) {
  MPI_Count size = 0, lower, extent;
  if (!is_predefined(type) || type == MPI_DATATYPE_NULL || PMPI_Type_size_c(type, &size) != MPI_SUCCESS) return MPI_DATATYPE_NULL;
  if (PMPI_Type_get_extent_c(type, &lower, &extent) != MPI_SUCCESS || lower != 0 || extent != size || size == 0) return MPI_DATATYPE_NULL;
  const auto element = static_cast<MPI_Count>(buffer->elem_len);
  if (count <= 0 || element % size != 0 || count % (element / size) != 0) return MPI_DATATYPE_NULL;
  const MPI_Count each = element / size, needed = count / each;
  if (needed > elements(buffer)) return MPI_DATATYPE_NULL;
  MPI_Datatype one = type;
  if (each > 1 && PMPI_Type_contiguous_c(each, type, &one) != MPI_SUCCESS) return MPI_DATATYPE_NULL;
  MPI_Datatype all = first_elements(buffer, buffer->rank, needed, one);
  if (all != MPI_DATATYPE_NULL) PMPI_Type_commit(&all);
  return all;
}

// Runs of a graph would use a copy that is gone by then.
bool captures() {
  int flag = 0;
  return PMPIX_Graph_capturing != nullptr && PMPIX_Graph_capturing(&flag) == MPI_SUCCESS && flag != 0;
}

}  // namespace

void gather(choice_copy* copy) { move<true>(copy); }
void scatter(choice_copy* copy) {
  if (copy->written) move<false>(copy);
}
void free_copy(choice_copy* copy) {
  std::free(copy->memory);
  std::free(copy);
}

bool choice_is_scattered(const CFI_cdesc_t* buffer) {
  CFI_index_t packed = static_cast<CFI_index_t>(buffer->elem_len);
  bool scattered = false;
  for (int i = 0; i < buffer->rank; ++i) {
    const CFI_dim_t& dimension = buffer->dim[i];
    if (dimension.extent < 0) return false;   // of assumed size, which lies in one piece
    if (dimension.extent == 0) return false;  // nothing lies there
    if (dimension.extent > 1 && dimension.sm != packed) scattered = true;
    packed *= dimension.extent;
  }
  return scattered;
}

void* choice_scattered(choice* choice, const CFI_cdesc_t* buffer, choice_treatment how, bool written, MPI_Count* count,
                       MPI_Datatype* datatype, int* error) {
  if (how == CHOICE_TYPED || how == CHOICE_TYPED_ONLY) {
    choice->made = describe(buffer, count != nullptr ? *count : 0, datatype != nullptr ? *datatype : MPI_DATATYPE_NULL);
    if (choice->made != MPI_DATATYPE_NULL) {
      *count = 1;
      *datatype = choice->made;
      return buffer->base_addr;
    }
  }
  const bool copies = (how == CHOICE_COPY || how == CHOICE_TYPED) && !captures();
  if (copies) choice->copy = copy_of(buffer, written);
  if (choice->copy != nullptr) return choice->copy->memory;
  *error = copies ? MPI_ERR_NO_MEM : MPI_ERR_BUFFER;
  PMPI_Comm_call_errhandler(MPI_COMM_SELF, *error);
  return nullptr;
}

void choice_keep(choice* choice, MPI_Request request) {
  if (choice->copy == nullptr) return;
  keep(request, {nullptr, choice->copy});
  choice->copy = nullptr;
}

void choice_done(choice* choice) {
  if (choice->copy != nullptr) {
    scatter(choice->copy);
    free_copy(choice->copy);
  }
  if (choice->made != MPI_DATATYPE_NULL) PMPI_Type_free(&choice->made);
}
