// packing.cpp: scratch memory, and its use by requests.
#include "mpi-adi/pt2pt/packing.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstdlib>
#include <mutex>
#include <vector>

#include "mpi-adi/pt2pt/signatures.hpp"

namespace portunus::mpi {
namespace {

// Memory that was given back, by powers of two; what does not fit in here is freed.
constexpr size_t kSmallest = 10, kLargest = 25;  // 1 KiB to 32 MiB
constexpr size_t kKept = 4;                      // of each size
struct Shelf {
  std::mutex mutex;
  std::array<std::vector<std::byte*>, kLargest + 1> memory;
};
Shelf& shelf() {
  static Shelf& one = *new Shelf;  // outlives whoever gives back last
  return one;
}

size_t class_of(size_t bytes) { return std::max<size_t>(std::bit_width(bytes > 0 ? bytes - 1 : 0), kSmallest); }

}  // namespace

Scratch::Scratch(size_t bytes) : data_(nullptr), room_(class_of(bytes)) {
  if (room_ <= kLargest) {
    std::lock_guard lock(shelf().mutex);
    std::vector<std::byte*>& kept = shelf().memory[room_];
    if (!kept.empty()) {
      data_ = kept.back();
      kept.pop_back();
      return;
    }
  }
  data_ = static_cast<std::byte*>(std::malloc(room_ <= kLargest ? size_t{1} << room_ : bytes));
}

Scratch::~Scratch() {
  if (room_ <= kLargest && data_ != nullptr) {
    std::lock_guard lock(shelf().mutex);
    std::vector<std::byte*>& kept = shelf().memory[room_];
    assert(kept.size() <= kKept);
    if (kept.size() < kKept) {
      kept.push_back(data_);
      return;
    }
  }
  std::free(data_);
}

namespace {

// Attached in front of whatever else is attached to the request, and gone when the operation is complete.
class Packing : public Attachment {
 public:
  explicit Packing(Request& request) : inner_(request.attached), was_special_(request.special) {
    request.attached = this;
    request.special = true;
  }
  void completed(Request& request) override {
    Attachment* inner = inner_;
    detach(request);
    if (inner != nullptr) inner->completed(request);
  }
  int cancel(Request& request) override { return inner_ != nullptr ? inner_->cancel(request) : MPI_SUCCESS; }
  bool is_message() const override { return inner_ == nullptr || inner_->is_message(); }
  bool can_start() const override { return inner_ != nullptr && inner_->can_start(); }
  int query(Request& request, MPI_Status* status) override { return inner_ != nullptr ? inner_->query(request, status) : MPI_SUCCESS; }
  void released() override {
    if (inner_ != nullptr) inner_->released();
    delete this;
  }
  void detach(Request& request) {
    assert(request.attached == this && request.special);
    request.attached = inner_;
    // A receive that was freed is given back by who completes it: the engine has not recorded it.
    const bool is_freed = request.state.load(std::memory_order_relaxed) == State::detached;
    request.special = was_special_ || request.cancelled || is_freed;
    if (is_freed && inner_ == nullptr) signatures::forget(request);
    delete this;
  }

 private:
  Attachment* inner_;
  bool was_special_;
};

struct Packed final : Packing {
  Packed(Request& request, size_t bytes) : Packing(request), scratch(bytes) {}
  Scratch scratch;
};

struct LaidOutThere final : Packing {
  LaidOutThere(Request& request, void* buf, const Arguments& given) : Packing(request), data(buf, given) {}
  LaidOut data;
};

}  // namespace

void pack(const Arguments& given, void* packed, size_t bytes) {
  const Datatype& type = *find_type(given.datatype, given.count);
  const auto all = static_cast<int64_t>(bytes);
  if (given.count == 1) return pack(type.layout, given.buf, 0, all, packed);
  pack(layout_of(type, given.count), given.buf, 0, all, packed);
}

std::byte* pack_into_scratch(Request& request, const Arguments& given, size_t bytes) {
  auto* packing = new Packed(request, bytes);
  std::byte* packed = packing->scratch.data();
  if (packed == nullptr) packing->detach(request);
  else pack(given, packed, bytes);
  return packed;
}

LaidOut::LaidOut(void* where, const Arguments& given)
    : flat(layout_of(*find_type(given.datatype, given.count), given.count)), buf(where), layout{copy, this} {}

void LaidOut::copy(const void* context, ptl_size_t offset, ptl_size_t bytes, void* piece, int to_piece) {
  const auto& self = *static_cast<const LaidOut*>(context);
  const auto from = static_cast<int64_t>(offset), size = static_cast<int64_t>(bytes);
  if (to_piece) mpi::pack(self.flat, self.buf, from, size, piece);
  else mpi::unpack(self.flat, self.buf, from, size, piece);
}

ptlx_layout_t& lay_out(Request& request, void* buf, const Arguments& given) { return (new LaidOutThere(request, buf, given))->data.layout; }

void drop_packing(Request& request) { static_cast<Packing*>(request.attached)->detach(request); }

}  // namespace portunus::mpi
