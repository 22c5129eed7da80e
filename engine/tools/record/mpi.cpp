// Messages, requests and collectives of MPI as records: see mpi.hpp.
#include "engine/tools/record/mpi.hpp"

#include <memory>
#include <unordered_map>
#include <utility>

#include "engine/tools/record/mpi_groups.hpp"

namespace portunus::record::mpi {

namespace {

// A persistent request: it starts this again and again.
struct Persistent {
  Record record;
  std::vector<uint64_t> numbers;
  bool nowhere = false;  // MPI_PROC_NULL
  int partitions = 0, ready = 0;
};

struct Pending {
  uint64_t id = 0, second = 0;  // what ends with it; 0: nothing
  Kind kind = Kind::other;
  MPI_Comm comm = MPI_COMM_NULL;
  bool cancelled = false;
  std::unique_ptr<Persistent> persistent;
  MPI_Comm* created = nullptr;  // of MPI_Comm_idup
  uint64_t created_hash = 0;    // of that communicator: ranks may complete such requests in different orders
};

struct Tables {
  uint64_t ids = 0;
  std::unordered_map<MPI_Request, Pending> requests;
  std::unordered_map<MPI_Message, std::pair<uint64_t, MPI_Comm>> messages;
  std::vector<decltype(requests)::node_type> spare;  // of requests that have ended
};

Tables& tables() {
  static Tables& all = *new Tables;
  return all;
}

Pending& new_request(MPI_Request request) {
  Tables& all = tables();
  if (all.spare.empty()) return all.requests[request] = Pending();
  all.spare.back().key() = request;
  all.spare.back().mapped() = Pending();
  const auto put = all.requests.insert(std::move(all.spare.back()));
  all.spare.pop_back();
  return put.inserted ? put.position->second : put.position->second = Pending();
}

// The rank in the job that a message goes to, or -1; of a message to nobody nothing is recorded.
int peer_of(Call& call, const Group& group, int rank) {
  if (rank == MPI_PROC_NULL) return -1;
  const int peer = group.peer(rank);
  if (peer < 0) note_foreign(call);
  return peer;
}

uint64_t send_as(Call& call, What what, MPI_Comm comm, int dest, int tag, uint64_t bytes) {
  const auto lock = lock_tables();
  const Group& group = group_of(call, comm);
  Record record = of(group, what);
  record.peer = peer_of(call, group, dest);
  record.tag = tag;
  record.bytes = bytes;
  if (record.peer < 0) return 0;
  if (what == What::start_send) record.object = ++tables().ids;
  call.append(record);
  return record.object;
}

uint64_t bytes_of(const MPI_Status& status) {
  MPI_Count count = 0;
  return PMPI_Get_count_c(&status, MPI_BYTE, &count) == MPI_SUCCESS && count > 0 ? static_cast<uint64_t>(count) : 0;
}

void came(Call& call, What what, uint64_t id, MPI_Comm comm, const MPI_Status& status) {
  const Group& group = group_of(call, comm);
  Record record = of(group, what);
  record.object = id;
  record.peer = peer_of(call, group, status.MPI_SOURCE);
  record.tag = status.MPI_TAG;
  record.bytes = bytes_of(status);
  record.time_ns = call.end_ns();
  if (record.peer < 0) record.what = What::void_request;
  if (record.peer >= 0 || id != 0) call.append(record);
}

void ended(Call& call, What what, uint64_t id) {
  Record record;
  record.what = what;
  record.object = id;
  record.time_ns = call.end_ns();
  if (id != 0) call.append(record);
}

Record shaped(const Group& group, const Shape& shape) {
  Record record = of(group, What::collective);
  record.detail = static_cast<uint8_t>(shape.kind);
  record.peer = shape.root;
  record.bytes = shape.bytes;
  record.tag = shape.leaving;
  return record;
}

}  // namespace

uint64_t bytes(MPI_Count count, MPI_Datatype type) {
  MPI_Count size = 0;
  if (count <= 0) return 0;
  if (type == MPI_BYTE) return static_cast<uint64_t>(count);
  PMPI_Type_size_c(type, &size);
  return size > 0 ? static_cast<uint64_t>(count) * static_cast<uint64_t>(size) : 0;
}

void send(Call& call, MPI_Comm comm, int dest, int tag, uint64_t bytes) { send_as(call, What::send, comm, dest, tag, bytes); }

uint64_t start_send(Call& call, MPI_Comm comm, int dest, int tag, uint64_t bytes) {
  return send_as(call, What::start_send, comm, dest, tag, bytes);
}

uint64_t post(Call& call, MPI_Comm comm, int source, int tag) {
  const auto lock = lock_tables();
  const Group& group = group_of(call, comm);
  Record record = of(group, What::post);
  record.peer = source == MPI_ANY_SOURCE ? kAny : peer_of(call, group, source);
  record.tag = tag == MPI_ANY_TAG ? kAny : tag;
  if (record.peer == -1) return 0;
  record.object = ++tables().ids;
  call.append(record);
  return record.object;
}

void received(Call& call, MPI_Comm comm, const MPI_Status& status) {
  const auto lock = lock_tables();
  if (status.MPI_SOURCE != MPI_PROC_NULL) came(call, What::receive, 0, comm, status);
}

void done(Call& call, uint64_t id) { ended(call, What::done, id); }

// ---- messages that were probed for

void matched(Call& call, MPI_Comm comm, MPI_Message message, const MPI_Status& status) {
  const auto lock = lock_tables();
  if (status.MPI_SOURCE == MPI_PROC_NULL) return;
  tables().messages[message] = {post(call, comm, status.MPI_SOURCE, status.MPI_TAG), comm};
}

void matched_received(Call& call, MPI_Message message, const MPI_Status& status) {
  const auto lock = lock_tables();
  const auto found = tables().messages.extract(message);
  if (!found.empty()) came(call, What::done, found.mapped().first, found.mapped().second, status);
}

void matched_started(MPI_Message message, MPI_Request request) {
  const auto lock = lock_tables();
  const auto found = tables().messages.extract(message);
  if (!found.empty()) pending(request, found.mapped().first, Kind::receive, found.mapped().second);
}

// ---- requests

void pending(MPI_Request request, uint64_t id, Kind kind, MPI_Comm comm, uint64_t second) {
  const auto lock = lock_tables();
  Pending& one = new_request(request);
  one.id = id;
  one.second = second;
  one.kind = kind;
  one.comm = comm;
}

void pending(MPI_Request request, uint64_t id) { pending(request, id, Kind::other, MPI_COMM_NULL); }

void created_later(Call& call, MPI_Request request, MPI_Comm parent, MPI_Comm* comm) {
  const auto lock = lock_tables();
  Pending& one = tables().requests[request];
  one.created = comm;
  one.created_hash = next_child(call, parent);
}

namespace {

void keep_as(MPI_Request request, Kind kind, MPI_Comm comm, Persistent what) {
  Pending one;
  one.kind = kind;
  one.comm = comm;
  one.persistent = std::make_unique<Persistent>(std::move(what));
  tables().requests[request] = std::move(one);
}

}  // namespace

void keep_send(MPI_Request request, MPI_Comm comm, int dest, int tag, uint64_t bytes, int partitions) {
  const auto lock = lock_tables();
  const Group& group = group_of(comm);
  Persistent what{.record = of(group, What::start_send), .numbers = {}, .partitions = partitions};
  what.record.peer = dest == MPI_PROC_NULL ? -1 : group.peer(dest);
  what.record.tag = tag;
  what.record.bytes = bytes;
  what.record.context = partitions > 0 ? 1 : 0;
  what.nowhere = what.record.peer < 0;
  keep_as(request, Kind::send, comm, std::move(what));
}

void keep_receive(MPI_Request request, MPI_Comm comm, int source, int tag, bool partitioned) {
  const auto lock = lock_tables();
  const Group& group = group_of(comm);
  Persistent what{.record = of(group, What::post), .numbers = {}};
  what.record.peer = source == MPI_ANY_SOURCE ? kAny : source == MPI_PROC_NULL ? -1 : group.peer(source);
  what.record.tag = tag == MPI_ANY_TAG ? kAny : tag;
  what.record.context = partitioned ? 1 : 0;
  what.nowhere = what.record.peer == -1;
  keep_as(request, Kind::receive, comm, std::move(what));
}

void keep(MPI_Request request, MPI_Comm comm, Shape shape) {
  const auto lock = lock_tables();
  const Group& group = group_of(comm);
  Persistent what{.record = shaped(group, shape), .numbers = std::move(shape.numbers)};
  what.nowhere = group.inter;
  keep_as(request, Kind::other, comm, std::move(what));
}

void start(Call& call, MPI_Request request) {
  const auto lock = lock_tables();
  const auto found = tables().requests.find(request);
  if (found == tables().requests.end() || !found->second.persistent) return;
  Pending& one = found->second;
  Persistent& what = *one.persistent;
  one.cancelled = false;
  one.id = what.nowhere ? 0 : ++tables().ids;
  what.record.object = one.id;
  what.ready = 0;
  if (one.id != 0 && what.partitions == 0) call.append(what.record, what.numbers);
}

// A partitioned message leaves when all its parts are ready.
void ready(Call& call, MPI_Request request, int partitions) {
  const auto lock = lock_tables();
  const auto found = tables().requests.find(request);
  if (found == tables().requests.end() || !found->second.persistent) return;
  Persistent& what = *found->second.persistent;
  what.ready += partitions;
  if (what.ready == what.partitions && !what.nowhere) call.append(what.record);
}

void completed(Call& call, MPI_Request request, const MPI_Status& status) {
  const auto lock = lock_tables();
  const auto found = tables().requests.find(request);
  if (request == MPI_REQUEST_NULL || found == tables().requests.end()) return;
  Pending& one = found->second;
  int cancelled = 0;
  if (one.cancelled) PMPI_Test_cancelled(&status, &cancelled);
  const bool partitioned = one.persistent && one.persistent->record.context == 1;
  if (cancelled != 0) ended(call, What::void_request, one.id);
  else if (one.kind == Kind::receive && one.id != 0 && !partitioned) came(call, What::done, one.id, one.comm, status);
  else if (one.kind == Kind::receive && partitioned) {
    Record record = one.persistent->record;
    record.what = What::done;
    record.time_ns = call.end_ns();
    if (one.id != 0) call.append(record);
  } else ended(call, What::done, one.id);
  ended(call, What::done, one.second);
  one.id = 0;
  MPI_Comm* const created_comm = one.created;
  const uint64_t hash = one.created_hash;
  if (!one.persistent) tables().spare.push_back(tables().requests.extract(found));
  if (created_comm != nullptr) created_as(call, *created_comm, hash);
}

void cancel(MPI_Request request) {
  const auto lock = lock_tables();
  const auto found = tables().requests.find(request);
  if (found != tables().requests.end()) found->second.cancelled = true;
}

void free_request(MPI_Request request) {
  const auto lock = lock_tables();
  tables().requests.erase(request);
}

// ---- collectives

bool has_one_side(Call& call, MPI_Comm comm) {
  const auto lock = lock_tables();
  if (!group_of(call, comm).inter) return true;
  note_foreign(call);
  return false;
}

void collective(Call& call, MPI_Comm comm, const Shape& shape) {
  const auto lock = lock_tables();
  const Group& group = group_of(call, comm);
  if (group.inter) return note_foreign(call);
  call.append(shaped(group, shape), shape.numbers);
}

uint64_t start_collective(Call& call, MPI_Comm comm, const Shape& shape) {
  const auto lock = lock_tables();
  const Group& group = group_of(call, comm);
  if (group.inter) return note_foreign(call), 0;
  Record record = shaped(group, shape);
  record.object = ++tables().ids;
  call.append(record, shape.numbers);
  return record.object;
}

// ---- windows

namespace {

uint64_t access(Call& call, What what, MPI_Win win, int target, uint64_t bytes, bool requested) {
  const auto lock = lock_tables();
  const Group& group = group_of(win);
  Record record = of(group, what);
  record.peer = peer_of(call, group, target);
  record.bytes = bytes;
  if (record.peer < 0) return 0;
  if (requested) record.object = ++tables().ids;
  call.append(record);
  return record.object;
}

}  // namespace

void put(Call& call, MPI_Win win, int target, uint64_t bytes) { access(call, What::put, win, target, bytes, false); }
void get(Call& call, MPI_Win win, int target, uint64_t bytes) { access(call, What::get, win, target, bytes, false); }
uint64_t start_put(Call& call, MPI_Win win, int target, uint64_t bytes) { return access(call, What::put, win, target, bytes, true); }
uint64_t start_get(Call& call, MPI_Win win, int target, uint64_t bytes) { return access(call, What::get, win, target, bytes, true); }

}  // namespace portunus::record::mpi
