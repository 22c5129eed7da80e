// pieces.cpp: see pieces.hpp.
#include "mpi-adi/graph/pieces.hpp"

#include <utility>

#include "mpi-adi/graph/capture.hpp"

namespace portunus::mpi::graph {
namespace {

size_t width_of(GOAL_Type type) { return size_t{1} << (static_cast<unsigned>(type) / 2); }

// The unsigned type of an integer's width, and so many ones of it.
GOAL_Type unsigned_like(GOAL_Type type) { return static_cast<GOAL_Type>(static_cast<unsigned>(type) | 1u); }

const std::byte* ones(Recording& all, GOAL_Type type, size_t count) {
  static_assert(GOAL_INT8 == 0 && GOAL_UINT8 == 1 && GOAL_UINT64 == 7);
  const size_t width = width_of(type);
  std::byte* const values = all.memory(count * width);
  for (size_t i = 0; i < count * width; ++i) values[i] = std::byte{i % width == 0};  // the lowest byte comes first
  return values;
}

// The runs that go in and come out; false: the work does more than copy.
bool runs_of(const collectives::Work& work, Pieces& in, Pieces& out) {
  return work.each_run_in([&](std::byte* at, size_t bytes) { add_piece(in, at, bytes); }) &&
         work.each_run_out([&](std::byte* at, size_t bytes) { add_piece(out, at, bytes); });
}

size_t bytes_of(const Pieces& pieces) {
  size_t bytes = 0;
  for (const GOAL_Piece& one : pieces) bytes += one.bytes;
  return bytes;
}

// Records the steps of one collective, one behind the other.
class Steps {
 public:
  explicit Steps(Recording& all) : all_(all) {}
  void add(Node node) { last_ = last_ == kNothing ? all_.add(std::move(node)) : all_.add_behind(last_, std::move(node)); }
  NodeId last() const { return last_; }

  // Describes the call as collectives::describe does, on memory of the graph where data are packed.
  void describe(collectives::Work& work, Pieces in, Pieces out) {
    const bool exchanges = work.key.kind == GOAL_CALL_ALLTOALL || work.key.kind == GOAL_CALL_ALLTOALLV;
    std::byte* const result = work.out_is_direct ? work.user_out : all_.memory(work.out_bytes);
    call_.out = result;
    if (work.in_is_out) {
      if (!work.out_is_direct) pack(work, result, std::move(in));
    } else if (work.in_is_direct && !(work.in_place && exchanges) && (!work.in_place || work.out_is_direct)) {
      call_.in = work.user_in;
    } else {
      std::byte* const packed = all_.memory(work.in_bytes);
      pack(work, packed, std::move(in));
      call_.in = packed;
    }
    work.describe(call_);
    unpacked_ = work.out_is_direct ? Pieces() : std::move(out);
    result_ = result;
  }
  void run(size_t ranks, const Collective::Key& key) {
    Node node{.what = What::collective};
    node.collective = std::make_unique<Collective>(call_, ranks, key);
    add(std::move(node));
    const size_t bytes = bytes_of(unpacked_);
    if (bytes > 0) add(copy_node(std::move(unpacked_), {piece(result_, bytes)}, bytes));
  }

 private:
  void pack(const collectives::Work& work, std::byte* to, Pieces from) {
    const size_t bytes = bytes_of(from);
    if (bytes == 0) return;
    add(copy_node({piece(to, bytes)}, std::move(from), bytes));
    if (work.makes_truth) add(truth_node(all_, to, static_cast<GOAL_Type>(work.key.type), bytes));
  }

  Recording& all_;
  NodeId last_ = kNothing;
  GOAL_Call call_{};
  Pieces unpacked_;
  std::byte* result_ = nullptr;
};

}  // namespace

void add_piece(Pieces& pieces, const void* at, size_t bytes) {
  if (bytes == 0) return;
  if (!pieces.empty() && pieces.back().place + pieces.back().bytes == reinterpret_cast<uintptr_t>(at)) pieces.back().bytes += bytes;
  else pieces.push_back(piece(at, bytes));
}

bool pieces_of(const void* buffer, MPI_Count count, const Datatype& type, Pieces& pieces) {
  const auto* const at = static_cast<const std::byte*>(buffer);
  const Layout layout = type.dense ? Layout() : layout_of(type, count);
  if (type.dense) add_piece(pieces, at, static_cast<size_t>(count * type.size));
  else
    each_block(layout, 0, 0, layout.size, [&](int64_t place, int64_t bytes) { add_piece(pieces, at + place, static_cast<size_t>(bytes)); });
  return pieces.size() <= kMostPieces;
}

Pieces runs_of(const collectives::Elements& elements) {
  Pieces pieces;
  elements.each_run([&](std::byte* at, size_t bytes) { add_piece(pieces, at, bytes); });
  return pieces;
}

Node truth_node(Recording& all, std::byte* values, GOAL_Type type, size_t bytes) {
  Node node{.what = What::local, .memory = {piece(values, bytes)}, .a = {piece(values, bytes)}};
  node.count = bytes / width_of(type);
  node.b = {piece(ones(all, type, node.count), bytes)};
  node.op = GOAL_MIN;
  node.type = unsigned_like(type);
  return node;
}

int record_collective(const collectives::Call& call, collectives::Work& work, Capture& capture, Ends& ends) {
  Pieces in, out;
  if (work.then || !runs_of(work, in, out)) return refuse(call.function, kNoSuchOperation);
  if (in.size() > kMostPieces || out.size() > kMostPieces) return refuse(call.function, kTooManyPieces);
  const collectives::Key& key = work.key;
  Steps steps(capture.recording);
  steps.describe(work, std::move(in), std::move(out));
  steps.run(static_cast<size_t>(call.comm->size),
            {static_cast<uint64_t>(call.which), static_cast<uint64_t>(key.root), uint64_t{key.type} << 8 | key.op, key.bytes});
  ends.push_back(steps.last());
  return MPI_SUCCESS;
}

}  // namespace portunus::mpi::graph
