// access.cpp: see access.hpp.
#include "mpi-adi/graph/access.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "mpi-adi/core/device.hpp"
#include "mpi-adi/graph/capture_state.hpp"
#include "mpi-adi/graph/pieces.hpp"
#include "mpi-adi/op/op.hpp"

namespace portunus::mpi::graph {
namespace {

using rma::Access;
using rma::Buffer;
using rma::kAnyLength;
using rma::kAtomicBytes;
using rma::place;
using rma::Runs;

// Records one access.
class Recorder {
 public:
  explicit Recorder(const Access& access) : access_(access), message_(std::make_unique<RemoteAccess>()) {}

  RemoteAccess& messages() { return *message_; }
  void touch(const std::byte* here, int64_t bytes) { add_piece(touched_, here, static_cast<size_t>(bytes)); }
  void add_message(std::byte* from, std::byte* to, int64_t there, int64_t bytes) {
    message_->messages.push_back({rma::remote(access_, there), from, to, static_cast<size_t>(bytes)});
  }
  bool is_too_much() const { return message_->messages.size() > kMostPieces || touched_.size() > kMostPieces; }

  // The messages, on bytes begin .. end - 1 of the target; `accumulates`: behind others there.
  int finish(int64_t begin, int64_t end, bool accumulates) {
    Capture& capture = *current();
    Node node{.what = What::access, .memory = std::move(touched_), .peer = static_cast<int>(target().rank)};
    for (const GOAL_Piece& one : node.memory) node.count += one.bytes;
    node.access = std::move(message_);
    for (const PendingAccess& one : capture.accesses)
      if (accumulates && one.accumulates && one.target == target() && one.begin < end && begin < one.bound) node.after.push_back(one.end);
    return note({target(), capture.recording.add(std::move(node)), begin, end, accumulates});
  }
  // A copy between memory of this process and of the target, which it maps.
  int finish_copy(Pieces to, Pieces from, size_t bytes, bool overlap) {
    Recording& all = current()->recording;
    if (!overlap) return note({target(), all.add(copy_node(std::move(to), std::move(from), bytes))});
    const Pieces between{piece(all.memory(bytes), bytes)};
    const NodeId copied = all.add(copy_node(between, std::move(from), bytes));
    return note({target(), all.add_behind(copied, copy_node(std::move(to), between, bytes))});
  }

 private:
  AccessedRank target() const { return {access_.window, static_cast<size_t>(access_.member - access_.window->members.data())}; }
  int note(const PendingAccess& one) {
    Capture& capture = *current();
    capture.recording.accesses(one.target);
    capture.accesses.push_back(one);
    return access_.handle ? capture.finish(MPI_SUCCESS, {one.end}, access_.handle) : int{MPI_SUCCESS};
  }

  const Access& access_;
  std::unique_ptr<RemoteAccess> message_;
  Pieces touched_;
};

// Whether the ranges from the first to the last byte of both have bytes in common.
bool do_overlap(const Pieces& one, const Pieces& other) {
  const auto hull = [](const Pieces& pieces) {
    uintptr_t begin = UINTPTR_MAX, end = 0;
    for (const GOAL_Piece& piece : pieces) begin = std::min(begin, piece.place), end = std::max(end, piece.place + piece.bytes);
    return std::pair(begin, end);
  };
  const auto [begin, end] = hull(one);
  const auto [other_begin, other_end] = hull(other);
  return begin < other_end && other_begin < end;
}

int move_mapped(const char* function, bool puts, const Buffer& origin, const Buffer& target, const Access& access) {
  Pieces here, there;
  size_t bytes = 0;
  rma::for_each_piece(
      kAnyLength,
      [&](int64_t at, int64_t away, int64_t length) {
        add_piece(here, place(origin.address, at), static_cast<size_t>(length));
        add_piece(there, rma::mapped(access, away), static_cast<size_t>(length));
        bytes += static_cast<size_t>(length);
      },
      Runs(origin.count, origin.type), Runs(target.count, target.type));
  if (here.size() > kMostPieces || there.size() > kMostPieces) return refuse(function, kTooManyPieces);
  if (bytes == 0) return MPI_SUCCESS;
  const bool overlap = do_overlap(here, there);
  if (puts) std::swap(here, there);
  return Recorder(access).finish_copy(std::move(here), std::move(there), bytes, overlap);
}

int move(const char* function, bool puts, const Buffer& origin, const Buffer& target, const Access& access) {
  if (access.member->mapped) return move_mapped(function, puts, origin, target, access);
  Recorder recorder(access);
  recorder.messages().verb = puts ? RemoteAccess::Verb::put : RemoteAccess::Verb::get;
  const Runs runs(target.count, target.type);
  rma::for_each_piece(
      kAnyLength,
      [&](int64_t at, int64_t there, int64_t bytes) {
        std::byte* const here = place(origin.address, at);
        recorder.touch(here, bytes);
        recorder.add_message(here, here, there, bytes);
      },
      Runs(origin.count, origin.type), runs);
  if (recorder.is_too_much()) return refuse(function, kTooManyPieces);
  if (recorder.messages().messages.empty()) return MPI_SUCCESS;
  return recorder.finish(runs.begin(), runs.end(), false);
}

}  // namespace

int RemoteAccess::park(void* access, ptl_handle_ct_t trigger, ptl_size_t threshold, ptl_handle_ct_t counter) {
  RemoteAccess& all = *static_cast<RemoteAccess*>(access);
  int code = all.memory.bind_all(device::device.ni, client::Operations::kCounted, counter);
  const client::By by{all.memory};
  const client::When when{trigger, threshold};
  for (const Message& one : all.messages) {
    if (code != PTL_OK) break;
    switch (all.verb) {
      case Verb::put: code = client::put(by, one.at, one.from, one.bytes, when); break;
      case Verb::get: code = client::get(by, one.at, one.to, one.bytes, when); break;
      case Verb::update: code = client::update(by, one.at, all.op, all.type, one.from, one.bytes, when); break;
      case Verb::fetch: code = client::fetch(by, one.at, all.op, all.type, {all.memory, one.from}, one.to, one.bytes, when); break;
    }
  }
  return code;
}

bool is_captured(const rma::Window& window) {
  const Capture* const capture = current();
  if (capture == nullptr) return false;
  const Group *const one = capture->comm.group, *const other = window.comm->group;
  return one == other || compare(*one, *other) == MPI_IDENT;
}

int put(const char* function, const Buffer& origin, const Buffer& target, const Access& access) {
  return move(function, true, origin, target, access);
}

int get(const char* function, const Buffer& origin, const Buffer& target, const Access& access) {
  return move(function, false, origin, target, access);
}

int accumulate(const char* function, const Buffer& origin, const Buffer* result, const Buffer& target, MPI_Op op, const Access& access) {
  const bool reads = op == MPI_NO_OP;
  const PortalsOp atomic = portals_op(reads ? MPI_REPLACE : op, rma::element_of(target.type));
  if (!atomic.possible) return refuse(function, kNoSuchOperation);
  const Runs to(target.count, target.type), from = reads ? to : Runs(origin.count, origin.type);
  const Runs old = result ? Runs(result->count, result->type) : to;
  const bool fetches = result != nullptr || atomic.op == PTL_SWAP;
  std::byte* const discarded = fetches && !result ? current()->recording.memory(kAtomicBytes) : nullptr;
  Recorder recorder(access);
  RemoteAccess& all = recorder.messages();
  all.verb = reads ? RemoteAccess::Verb::get : fetches ? RemoteAccess::Verb::fetch : RemoteAccess::Verb::update;
  all.op = atomic.op;
  all.type = atomic.type;
  rma::for_each_piece(
      kAtomicBytes,
      [&](int64_t at, int64_t there, int64_t former, int64_t bytes) {
        std::byte* const goes = reads ? nullptr : place(origin.address, at);
        std::byte* const comes = result ? place(result->address, former) : discarded;
        if (goes) recorder.touch(goes, bytes);
        if (result) recorder.touch(comes, bytes);
        recorder.add_message(goes, comes, there, bytes);
      },
      from, to, old);
  if (recorder.is_too_much()) return refuse(function, kTooManyPieces);
  return all.messages.empty() ? MPI_SUCCESS : recorder.finish(to.begin() + access.displacement, to.end() + access.displacement, true);
}

int flush(const rma::Window& window, int rank) {
  Capture& capture = *current();
  const auto is_meant = [&](const PendingAccess& one) {
    return one.target.window == &window && (rank < 0 || one.target.rank == static_cast<size_t>(rank));
  };
  Ends ends;
  for (const PendingAccess& one : capture.accesses)
    if (is_meant(one)) ends.push_back(one.end);
  std::erase_if(capture.accesses, is_meant);
  capture.recording.wait_for(ends);
  return MPI_SUCCESS;
}

}  // namespace portunus::mpi::graph
