// capture.cpp: messages, local work and waits that are recorded.
#include "mpi-adi/graph/capture.hpp"

#include <cstring>
#include <mutex>
#include <string>
#include <utility>

#include "mpi-adi/collectives/elements.hpp"
#include "mpi-adi/core/arguments.hpp"
#include "mpi-adi/core/errors.hpp"
#include "mpi-adi/core/init.hpp"
#include "mpi-adi/graph/capture_state.hpp"
#include "mpi-adi/graph/pieces.hpp"
#include "mpi-adi/op/op.hpp"
#include "mpi-adi/pt2pt/status.hpp"

namespace portunus::mpi::graph {
namespace {

// The objects of captured requests that are no more.
struct SpareEnds {
  std::mutex mutex;
  std::vector<std::unique_ptr<Ends>> all;
};
SpareEnds& spare = *new SpareEnds;  // for threads that outlive main

thread_local std::unique_ptr<Capture> capturing;

// Attached to a persistent request that the capture has started, until it is waited for.
class StartedHere final : public Attachment {
 public:
  StartedHere(Attachment* original, Ends ends) : original_(original), ends_(std::move(ends)) {}

  bool can_start() const override { return true; }
  int capture(Request&) override { return refuse("MPI_Start", "the request was started in this capture, and not waited for"); }
  int completed_by(const char* function, Request& request, bool raises) override {
    if (!capturing || !capturing->started.contains(&request))
      return refuse(function, "the capture of another thread has started the request", raises);
    const bool waits = std::strcmp(function, "MPI_Wait") == 0 || std::strcmp(function, "MPI_Waitall") == 0;
    if (waits) capturing->recording.wait_for(ends_);
    give_back(request);
    return waits ? int{MPI_SUCCESS} : refuse(function, kDecides, raises);
  }
  void released() override {
    if (capturing) std::erase_if(capturing->started, [&](Request* request) { return request->attached == this; });
    original_->released();
    delete this;
  }
  // The request is inactive, as it was.
  void give_back(Request& request) {
    if (capturing) capturing->started.erase(&request);
    request.attached = original_;
    request.state.store(State::inactive, std::memory_order_relaxed);
    delete this;
  }

 private:
  Attachment* original_;
  Ends ends_;
};

int started(Request& request, int error, Ends ends) {
  if (error != MPI_SUCCESS) return error;
  request.attached = new StartedHere(request.attached, std::move(ends));
  request.length = request.requested = 0;
  request.state.store(State::done, std::memory_order_relaxed);
  capturing->started.insert(&request);
  return MPI_SUCCESS;
}

int record_send(const Arguments& given, Way way, Ends& ends) {
  if (given.peer == MPI_PROC_NULL) return MPI_SUCCESS;
  const Datatype& type = *find_type(given.datatype, given.count);
  const size_t bytes = bytes_of(given, &type);
  Pieces pieces;
  if (!pieces_of(given.buf, given.count, type, pieces)) return refuse(given.function, kTooManyPieces);
  Recording& all = capturing->recording;
  Node node{.what = What::send, .memory = std::move(pieces), .peer = given.peer, .tag = given.tag, .synchronous = way == Way::synchronous};
  node.count = bytes;
  if (way != Way::buffered) {
    ends.push_back(all.add(std::move(node)));
    return MPI_SUCCESS;
  }
  const Pieces copy{piece(all.memory(bytes), bytes)};
  ends.push_back(all.add(copy_node(copy, std::exchange(node.memory, copy), bytes)));
  all.add_behind(ends.back(), std::move(node));
  return MPI_SUCCESS;
}

// `behind`: a node that it has to wait for, or kNothing.
int record_receive(void* room, const Arguments& given, Ends& ends, NodeId behind = kNothing) {
  if (given.peer == MPI_ANY_SOURCE) return refuse(given.function, "MPI_ANY_SOURCE would let each run receive something else");
  if (given.peer == MPI_PROC_NULL) return MPI_SUCCESS;
  const Datatype& type = *find_type(given.datatype, given.count);
  Pieces pieces;
  if (!pieces_of(room, given.count, type, pieces)) return refuse(given.function, kTooManyPieces);
  Node node{.what = What::receive, .memory = std::move(pieces), .peer = given.peer, .tag = given.tag};
  node.count = bytes_of(given, &type);
  Recording& all = capturing->recording;
  ends.push_back(behind == kNothing ? all.add(std::move(node)) : all.add_behind(behind, std::move(node)));
  return MPI_SUCCESS;
}

// The data are copied before the receive overwrites them.
int record_replacing(const Arguments& to, void* room, const Arguments& from, Ends& ends) {
  const Datatype& type = *find_type(to.datatype, to.count);
  const size_t bytes = bytes_of(to, &type);
  Pieces pieces;
  if (!pieces_of(to.buf, to.count, type, pieces)) return refuse(to.function, kTooManyPieces);
  Recording& all = capturing->recording;
  std::byte* const copy = all.memory(bytes);
  const NodeId copied = all.add(copy_node({piece(copy, bytes)}, std::move(pieces), bytes));
  if (to.peer != MPI_PROC_NULL) {
    Node node{.what = What::send, .memory = {piece(copy, bytes)}, .peer = to.peer, .tag = to.tag};
    node.count = bytes;
    ends.push_back(all.add_behind(copied, std::move(node)));
  }
  return record_receive(room, from, ends, copied);
}

// Elements that the engine can combine where they lie.
bool is_one_aligned(const Pieces& runs) { return runs.size() == 1 && runs[0].place % alignof(std::max_align_t) == 0; }

int finished(int error, Ends ends, MPI_Request* handle) { return capturing->finish(error, std::move(ends), handle); }

}  // namespace

KeptEnds keep(Ends ends) {
  const std::lock_guard lock(spare.mutex);
  if (spare.all.empty()) return KeptEnds(new Ends(std::move(ends)));
  KeptEnds kept(spare.all.back().release());
  spare.all.pop_back();
  *kept = std::move(ends);
  return kept;
}

void GiveBack::operator()(Ends* ends) const {
  std::unique_ptr<Ends> given(ends);
  const std::lock_guard lock(spare.mutex);
  try {
    spare.all.push_back(std::move(given));
  } catch (const std::bad_alloc&) {
  }  // it is freed
}

int Capture::finish(int error, Ends ends, MPI_Request* handle) {
  if (error != MPI_SUCCESS) return error;
  if (handle == nullptr) {
    recording.wait_for(ends);
    return MPI_SUCCESS;
  }
  KeptEnds kept = keep(std::move(ends));
  *handle = reinterpret_cast<MPI_Request>(kept.get());
  handles.emplace(*handle, std::move(kept));
  return MPI_SUCCESS;
}

Capture* current() { return capturing.get(); }
bool is_capturing() { return capturing != nullptr; }
bool is_captured_here(const Communicator& comm) { return capturing && &capturing->comm == &comm; }

Capture::Capture(Communicator& captured) : comm(captured) {
  captures.fetch_add(1, std::memory_order_relaxed);
  comm.attention.fetch_or(Communicator::kCaptured, std::memory_order_relaxed);
}

void Capture::end() {
  if (std::exchange(has_ended_, true)) return;
  captures.fetch_sub(1, std::memory_order_relaxed);
  if (phase.load(std::memory_order_acquire) != Phase::running) return;  // communicator and requests are no more
  comm.attention.fetch_and(static_cast<uint8_t>(~Communicator::kCaptured), std::memory_order_relaxed);
  for (Request* request : std::exchange(started, {})) static_cast<StartedHere*>(request->attached)->give_back(*request);
}

void begin_capture(Communicator& comm) { capturing = std::make_unique<Capture>(comm); }

std::unique_ptr<Capture> end_capture() {
  capturing->end();
  return std::move(capturing);
}

int refuse(const char* function, const char* why, bool raises) {
  if (!capturing) {
    if (!raises) return MPI_ERR_REQUEST;
    return raise(function, nullptr, MPI_ERR_REQUEST, "this is a request of a capture, which belongs to another thread");
  }
  if (capturing->refusal.empty()) capturing->refusal = std::string(function) + " cannot be part of a graph: " + why;
  if (!raises) return MPI_ERR_UNSUPPORTED_OPERATION;
  return raise(function, &capturing->comm, MPI_ERR_UNSUPPORTED_OPERATION, "this cannot be part of a graph: %s; the capture is void", why);
}

int send(const Arguments& given, Way way, MPI_Request* handle) {
  Ends ends;
  const int error = record_send(given, way, ends);
  return finished(error, std::move(ends), handle);
}

int receive(void* room, const Arguments& given, MPI_Request* handle) {
  Ends ends;
  const int error = record_receive(room, given, ends);
  return finished(error, std::move(ends), handle);
}

int exchange(const Arguments& to, void* room, const Arguments& from, bool replaces, MPI_Request* handle) {
  Ends ends;
  int error = MPI_SUCCESS;
  if (replaces) {
    error = record_replacing(to, room, from, ends);
  } else {
    error = record_receive(room, from, ends);
    if (error == MPI_SUCCESS) error = record_send(to, Way::standard, ends);
  }
  return finished(error, std::move(ends), handle);
}

int collective(const collectives::Call& call, collectives::Work& work) {
  Ends ends;
  const int error = record_collective(call, work, *capturing, ends);
  return finished(error, std::move(ends), call.request);
}

int reduce_local(const char* function, const void* in, void* inout, MPI_Count count, MPI_Datatype type, MPI_Op op) {
  const EngineOp engine = engine_op(op, type);
  if (!engine.possible) return refuse(function, kNoSuchOperation);
  const auto elements = static_cast<size_t>(count);
  const collectives::Elements from(in, elements, type), to(inout, elements, type);
  const Pieces in_runs = runs_of(from), out_runs = runs_of(to);
  if (in_runs.size() > kMostPieces || out_runs.size() > kMostPieces) return refuse(function, kTooManyPieces);
  Recording& all = capturing->recording;
  const size_t bytes = from.bytes();
  Node combine{.what = What::local};
  combine.op = engine.op;
  combine.type = engine.type;
  combine.count = elements * engine.parts;
  if (!engine.truth && is_one_aligned(in_runs) && is_one_aligned(out_runs)) {
    combine.memory = combine.b = out_runs;
    combine.a = in_runs;
    return finished(MPI_SUCCESS, {all.add(std::move(combine))}, nullptr);
  }
  std::byte *const a = all.memory(bytes), *const b = all.memory(bytes);
  NodeId last = all.add(copy_node({piece(a, bytes)}, in_runs, bytes));
  last = all.add_behind(last, copy_node({piece(b, bytes)}, out_runs, bytes));
  if (engine.truth)
    for (std::byte* values : {a, b}) last = all.add_behind(last, truth_node(all, values, engine.type, bytes));
  combine.memory = combine.b = {piece(b, bytes)};
  combine.a = {piece(a, bytes)};
  last = all.add_behind(last, std::move(combine));
  last = all.add_behind(last, copy_node(out_runs, {piece(b, bytes)}, bytes));
  return finished(MPI_SUCCESS, {last}, nullptr);
}

int pack(const char* function, const void* in, MPI_Count count, const Datatype& type, void* packed) {
  Pieces from;
  if (!pieces_of(in, count, type, from)) return refuse(function, kTooManyPieces);
  const auto bytes = static_cast<size_t>(type.size * count);
  return finished(MPI_SUCCESS, {capturing->recording.add(copy_node({piece(packed, bytes)}, std::move(from), bytes))}, nullptr);
}

int unpack(const char* function, const void* packed, void* out, MPI_Count count, const Datatype& type) {
  Pieces to;
  if (!pieces_of(out, count, type, to)) return refuse(function, kTooManyPieces);
  const auto bytes = static_cast<size_t>(type.size * count);
  return finished(MPI_SUCCESS, {capturing->recording.add(copy_node(std::move(to), {piece(packed, bytes)}, bytes))}, nullptr);
}

int start_send(Request& request, const Arguments& given, Way way) {
  Ends ends;
  const int error = record_send(given, way, ends);
  return started(request, error, std::move(ends));
}

int start_receive(Request& request, void* room, const Arguments& given) {
  Ends ends;
  const int error = record_receive(room, given, ends);
  return started(request, error, std::move(ends));
}

int start_collective(Request& request, const collectives::Call& call, collectives::Work& work) {
  Ends ends;
  const int error = record_collective(call, work, *capturing, ends);
  return started(request, error, std::move(ends));
}

bool is_captured(MPI_Request handle) { return capturing && capturing->handles.contains(handle); }

bool wait(MPI_Request* handle, MPI_Status* status, bool depends) {
  if (!is_captured(*handle)) return false;
  if (depends) capturing->recording.wait_for(*capturing->handles[*handle]);
  capturing->handles.erase(*handle);
  *handle = MPI_REQUEST_NULL;
  set_empty_status(status);
  return true;
}

void wait_all(int count, MPI_Request handles[]) {
  Ends ends;
  for (int i = 0; i < count; ++i) {
    if (!is_captured(handles[i])) continue;
    const Ends& its = *capturing->handles[handles[i]];
    ends.insert(ends.end(), its.begin(), its.end());
    wait(&handles[i], MPI_STATUS_IGNORE, false);
  }
  capturing->recording.wait_for(ends);
}

}  // namespace portunus::mpi::graph
