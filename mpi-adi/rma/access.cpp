// access.cpp: checks of accesses to windows.
#include "mpi-adi/rma/access.hpp"

#include <algorithm>
#include <cstddef>

#include "mpi-adi/core/arguments.hpp"
#include "mpi-adi/core/errors.hpp"
#include "mpi-adi/graph/access.hpp"

namespace portunus::mpi::rma {
namespace {

bool in_epoch(Window& window, size_t rank) {
  switch (window.epoch.load(std::memory_order_relaxed)) {
    case Epoch::fence: window.epoch.store(Epoch::fenced, std::memory_order_relaxed); return true;
    case Epoch::fenced:
    case Epoch::lock_all: return true;
    case Epoch::access: return window.accessible[rank];
    case Epoch::none: break;
  }
  return window.locked[rank] != 0;
}

// Whether all data lie within a window without any doubt, told by the bounds of the type. Pairs go with the padding behind them, which
// these leave out.
bool lies_within(const Buffer& target, int64_t displacement, int64_t size) {
  const Datatype& type = *find_type(target.type);
  const int64_t padding = has_no_padding(type) ? 0 : 2 * alignof(std::max_align_t), reach = (target.count - 1) * type.extent;
  const int64_t first = std::min<int64_t>(reach, 0) + type.true_lb,
                last = std::max<int64_t>(reach, 0) + type.true_lb + type.true_extent + padding;
  return first >= -displacement && last <= size - displacement;
}

}  // namespace

int check_side(const char* function, const Window& window, const Buffer& side) {
  if (!is_count(side.count))
    return raise(function, window, MPI_ERR_COUNT, "the count is %s (%lld)", side.count < 0 ? "negative" : "too large",
                 static_cast<long long>(side.count));
  const Datatype* type = find_type(side.type);
  if (type != nullptr && !type->committed)
    return raise(function, window, MPI_ERR_TYPE, "the datatype is not committed; call MPI_Type_commit first");
  if (type == nullptr) return raise(function, window, MPI_ERR_TYPE, "%s", BadType(side.type).text);
  if (!fits_in_memory(side.count, *type))
    return raise(function, window, MPI_ERR_COUNT, "%lld elements of %lld bytes are more than memory can hold",
                 static_cast<long long>(side.count), static_cast<long long>(type->size));
  return MPI_SUCCESS;
}

int refuse_null(const char* function, const Window& window, const char* name, MPI_Count count, MPI_Datatype type) {
  const Datatype& known = *find_type(type);
  if (known.size == 0 || known.true_lb != 0) return MPI_SUCCESS;
  return raise(function, window, MPI_ERR_BUFFER, "the %s address is null, but the count is %lld", name, static_cast<long long>(count));
}

int check_readable(const char* function, const Window& window, const char* name, const Buffer& buffer) {
  if (buffer.count == 0) return MPI_SUCCESS;
  if (buffer.address == nullptr)
    if (int error = refuse_null(function, window, name, buffer.count, buffer.type)) return error;
  if (is_readable(buffer.address, buffer.count, *find_type(buffer.type))) return MPI_SUCCESS;
  return raise(function, window, MPI_ERR_BUFFER, "the %s: %lld elements of %lld bytes at %p cannot be read to their end", name,
               static_cast<long long>(buffer.count), static_cast<long long>(find_type(buffer.type)->size), buffer.address);
}

int check_access(const char* function, MPI_Win win, int rank, MPI_Aint displacement, const Buffer& target, Access& access) {
  if (int error = check(function, win, access.window)) return error;
  Window& window = *access.window;
  if (rank == MPI_PROC_NULL) return MPI_SUCCESS;
  const size_t which = static_cast<size_t>(rank);
  if (rank < 0 || which >= window.members.size())
    return raise(function, window, MPI_ERR_RANK, "there is no rank %d among %zu", rank, window.members.size());
  int64_t dense = plain_bytes(target.count, target.type);
  if (dense < 0) {
    if (int error = check_side(function, window, target)) return error;
    dense = dense_bytes(target.count, target.type);
  }
  access.captured = graph::is_captured_here(window);
  if (access.captured && !is_passive(window, which)) return graph::refuse(function, graph::kNotPassive);
  if (!in_epoch(window, which)) [[unlikely]]
    return raise(function, window, MPI_ERR_RMA_SYNC, "no epoch of accesses to rank %d is under way", rank);
  const Member& member = window.members[which];
  const bool dynamic = window.flavor == MPI_WIN_FLAVOR_DYNAMIC;
  const auto place = (Checked(displacement) * (dynamic ? 1 : member.unit)).within(dynamic ? INT64_MAX : kFarthest);
  if (!place)
    return raise(function, window, MPI_ERR_RMA_RANGE, "the displacement %lld is not in the window of rank %d",
                 static_cast<long long>(displacement), rank);
  access.displacement = *place;
  if (!dynamic && target.count > 0) {
    if (dense >= 0 && access.displacement >= 0 && dense <= member.size - access.displacement) [[likely]] {
      access.member = &member;
      access.dense = dense;
      return MPI_SUCCESS;
    }
    if (lies_within(target, access.displacement, member.size)) {
      access.member = &member;
      return MPI_SUCCESS;
    }
    const Runs runs(target.count, target.type);
    if (runs.bytes() > 0 && (access.displacement + runs.begin() < 0 || access.displacement + runs.end() > member.size)) [[unlikely]]
      return raise(function, window, MPI_ERR_RMA_RANGE, "bytes %lld to %lld are not in the window of rank %d, which has %lld",
                   static_cast<long long>(access.displacement + runs.begin()), static_cast<long long>(access.displacement + runs.end()),
                   rank, static_cast<long long>(member.size));
  }
  access.member = &member;
  return MPI_SUCCESS;
}

}  // namespace portunus::mpi::rma
