// program.cpp: one rank's part of a plan, in MPI's calls. What a request gives is noted in the history; what a collective or an access
// to a window gives is compared here.
#include "tests/simulation/mpi/program.hpp"

#include <algorithm>
#include <functional>
#include <list>
#include <memory>

#include "tests/simulation/mpi/seams.hpp"

namespace portunus::simulation {
namespace {

constexpr MPI_Aint kOwnAreas = 64, kArea = 4'096;  // in windows, after three words
constexpr int kUnusedTag = 77;

class Rank {
 public:
  Rank(Machine& machine, const Plan& plan, History& history, int me) : machine_(machine), plan_(plan), history_(history), me_(me) {}

  void run() {
    check(MPI_Init(nullptr, nullptr), "MPI_Init");
    open();
    for (const Epoch& epoch : plan_.epochs) go_through(epoch.ranks[static_cast<size_t>(me_)]);
    close();
    machine_.acts("MPI_Finalize");
    check(MPI_Finalize(), "MPI_Finalize");
    machine_.acts("the end");
  }

 private:
  struct Open {
    MPI_Request request = MPI_REQUEST_NULL;
    ReceivedMessage* receive = nullptr;
    bool deferred = false, persistent = false, cancelled = false;
    uint64_t number = 0;           // of the message or collective
    std::function<void()> look{};  // at what a collective has computed
  };
  struct Comm {
    MPI_Comm handle = MPI_COMM_NULL;
    int rank = -1, size = 0;
  };

  bool check(int code, const char* what) {
    if (code != MPI_SUCCESS) machine_.violated((std::string(what) + " fails: " + text_of(code)).c_str());
    return code == MPI_SUCCESS;
  }
  void expect(bool well, const char* what) {
    if (!well) machine_.violated(what);
  }
  uint32_t draw(uint32_t below) { return machine_.draw(below); }
  bool one_in(uint32_t n) { return draw(n) == 0; }
  Comm& comm_of(const Action& action) { return comms_[static_cast<size_t>(action.comm)]; }

  // ---- communicators, windows ----

  void open() {
    for (const CommPlan& made : plan_.comms) {
      machine_.acts("making communicators");
      Comm comm;
      const auto me = static_cast<size_t>(me_);
      if (comms_.empty()) comm.handle = MPI_COMM_WORLD;
      else if (made.dup) check(MPI_Comm_dup(comms_[static_cast<size_t>(made.parent)].handle, &comm.handle), "MPI_Comm_dup");
      else
        check(MPI_Comm_split(comms_[static_cast<size_t>(made.parent)].handle, made.colours[me], made.keys[me], &comm.handle),
              "MPI_Comm_split");
      check(MPI_Comm_set_errhandler(comm.handle, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
      MPI_Comm_rank(comm.handle, &comm.rank);
      MPI_Comm_size(comm.handle, &comm.size);
      if (made.dup || made.colours[me] == 0) {
        expect(comm.size == static_cast<int>(made.members.size()), "a communicator has another size");
        expect(made.members[static_cast<size_t>(comm.rank)] == me_, "a communicator has another order");
      }
      comms_.push_back(comm);
    }
    if (!plan_.windows) return;
    machine_.acts("MPI_Win_allocate");
    check(MPI_Win_allocate(kOwnAreas + plan_.ranks * kArea, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory_, &window_), "MPI_Win_allocate");
    std::fill(memory_, memory_ + kOwnAreas + plan_.ranks * kArea, uint8_t{0});
    MPI_Win_set_errhandler(window_, MPI_ERRORS_RETURN);
    check(MPI_Win_lock_all(0, window_), "MPI_Win_lock_all");
    check(MPI_Win_sync(window_), "MPI_Win_sync");
    check(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier");
  }

  void close() {
    if (plan_.windows) {
      machine_.acts("MPI_Win_free");
      check(MPI_Win_unlock_all(window_), "MPI_Win_unlock_all");
      check(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier");
      check(MPI_Win_lock(MPI_LOCK_SHARED, me_, 0, window_), "MPI_Win_lock");
      const auto* const words = reinterpret_cast<const int64_t*>(memory_);
      expect(words[0] == plan_.fetched[static_cast<size_t>(me_)], "a fetch_and_op was not applied once");
      expect(words[1] == plan_.added[static_cast<size_t>(me_)], "an accumulate was not applied once");
      expect(words[2] == 0, "a compare_and_swap was not applied once");
      check(MPI_Win_unlock(me_, window_), "MPI_Win_unlock");
      check(MPI_Win_free(&window_), "MPI_Win_free");
    }
    for (size_t i = 1; i < comms_.size(); ++i) {
      machine_.acts("MPI_Comm_free");
      check(MPI_Comm_free(&comms_[i].handle), "MPI_Comm_free");
    }
  }

  // ---- an epoch ----

  void go_through(const std::vector<Action>& actions) {
    early_.clear();
    for (const Action& action : actions) {
      if (action.kind != Action::Kind::receive || !action.early) continue;
      machine_.acts("an early MPI_Irecv", action.number);
      Open open{.receive = &posted(action), .deferred = true, .number = action.number};
      start_receive(action, *open.receive, open);
      early_.push_back(open_.insert(open_.end(), std::move(open)));
    }
    size_t next_early = 0;
    for (size_t i = 0; i < actions.size(); ++i) {
      const Action& action = actions[i];
      switch (action.kind) {
        case Action::Kind::send:
          if (action.joined) send_and_receive(action, actions[i + 1]), ++i;
          else send(action);
          break;
        case Action::Kind::receive:
          if (action.early) early_[next_early++]->deferred = false;
          else receive(action);
          break;
        case Action::Kind::collective: collective(action); break;
        case Action::Kind::access: access(action); break;
        case Action::Kind::cancelled: cancel(action); break;
        case Action::Kind::to_nobody: to_nobody(action);
      }
      if (one_in(3)) complete(false);
    }
    for (Open& open : open_) open.deferred = false;
    while (!open_.empty()) complete(true);
    for (auto& [number, comm] : made_) check(MPI_Comm_free(&comm), "MPI_Comm_free");
    made_.clear();
    machine_.acts("the MPI_Barrier of an epoch");
    check(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier");
  }

  // ---- messages ----

  static MPI_Datatype spread(size_t length, size_t stride) {
    MPI_Datatype type;
    MPI_Type_vector(static_cast<int>(length), 1, static_cast<int>(stride), MPI_BYTE, &type);
    MPI_Type_commit(&type);
    return type;
  }
  struct Shape {  // of a message in memory: bytes, or one of a type
    MPI_Datatype type;
    int count;
    Shape(size_t length, size_t stride)
        : type(stride == 1 ? MPI_BYTE : spread(length, stride)), count(stride == 1 ? static_cast<int>(length) : 1) {}
    ~Shape() {
      if (type != MPI_BYTE) MPI_Type_free(&type);
    }
    Shape(const Shape&) = delete;
  };

  SentMessage& sending(const Action& action) {
    history_.sent.push_back({action.comm, comm_of(action).rank, action.peer, action.tag, action.number, action.length});
    SentMessage& message = history_.sent.back();
    message.memory.assign(std::max<size_t>(1, action.length * action.stride), 0x55);
    for (size_t i = 0; i < action.length; ++i) message.memory[i * action.stride] = byte_of(action.number, i);
    return message;
  }

  void send(const Action& action) {
    static constexpr const char* kCalls[] = {"MPI_Send",   "MPI_Ssend",           "MPI_Isend",
                                             "MPI_Issend", "MPI_Start of a send", "MPI_Request_free of a send"};
    machine_.acts(kCalls[static_cast<int>(action.sending)], action.number);
    const Shape shape(action.length, action.stride);
    SentMessage& message = sending(action);
    const MPI_Comm comm = comm_of(action).handle;
    const void* const bytes = message.memory.data();
    Open open{.deferred = action.deferred, .number = action.number};
    int code = MPI_SUCCESS;
    switch (action.sending) {
      case Sending::blocking: code = MPI_Send(bytes, shape.count, shape.type, action.peer, action.tag, comm); break;
      case Sending::synchronous: code = MPI_Ssend(bytes, shape.count, shape.type, action.peer, action.tag, comm); break;
      case Sending::nonblocking_synchronous:
        code = MPI_Issend(bytes, shape.count, shape.type, action.peer, action.tag, comm, &open.request);
        break;
      case Sending::persistent:
        code = MPI_Send_init(bytes, shape.count, shape.type, action.peer, action.tag, comm, &open.request);
        if (code == MPI_SUCCESS) code = MPI_Start(&open.request);
        open.persistent = true;
        break;
      default: code = MPI_Isend(bytes, shape.count, shape.type, action.peer, action.tag, comm, &open.request);
    }
    check(code, "a send");
    machine_.notes("  communicator", static_cast<uint64_t>(action.comm));
    machine_.notes("  to", static_cast<uint64_t>(action.peer));
    machine_.notes("  tag", static_cast<uint64_t>(action.tag));
    machine_.notes("  bytes", action.length);
    machine_.notes("  each", action.stride);
    if (action.sending == Sending::freed) check(MPI_Request_free(&open.request), "MPI_Request_free");
    if (open.request != MPI_REQUEST_NULL) open_.push_back(std::move(open));
  }

  ReceivedMessage& posted(const Action& action) {
    history_.received.push_back({action.comm, comm_of(action).rank, action.peer, action.tag, action.length, action.stride});
    ReceivedMessage& receive = history_.received.back();
    receive.memory.assign(std::max<size_t>(1, action.length * action.stride), 0xaa);
    machine_.notes("  communicator", static_cast<uint64_t>(action.comm));
    machine_.notes("  from", static_cast<uint64_t>(action.peer));
    machine_.notes("  tag", static_cast<uint64_t>(action.tag));
    machine_.notes("  bytes", action.length);
    machine_.notes("  each", action.stride);
    return receive;
  }
  static int source_of(int peer) { return peer == kAny ? MPI_ANY_SOURCE : peer; }
  static int tag_of(int tag) { return tag == kAny ? MPI_ANY_TAG : tag; }

  void received(ReceivedMessage& receive, MPI_Status& status, int code) {
    receive.truncated = class_of(code) == MPI_ERR_TRUNCATE;
    if (!receive.truncated) check(code, "a receive");
    MPI_Count count = 0;
    MPI_Get_elements_c(&status, MPI_BYTE, &count);
    receive.count = static_cast<size_t>(count);
    receive.from = status.MPI_SOURCE;
    receive.with = status.MPI_TAG;
    receive.done = true;
  }

  void start_receive(const Action& action, ReceivedMessage& receive, Open& open) {
    const Shape shape(action.length, action.stride);
    const MPI_Comm comm = comm_of(action).handle;
    const int source = source_of(action.peer), tag = tag_of(action.tag);
    if (action.receiving == Receiving::persistent) {
      open.persistent = true;
      check(MPI_Recv_init(receive.memory.data(), shape.count, shape.type, source, tag, comm, &open.request), "MPI_Recv_init");
      check(MPI_Start(&open.request), "MPI_Start");
    } else {
      check(MPI_Irecv(receive.memory.data(), shape.count, shape.type, source, tag, comm, &open.request), "MPI_Irecv");
    }
  }

  void receive(const Action& action) {
    static constexpr const char* kCalls[] = {"MPI_Recv",   "MPI_Irecv",   "MPI_Probe and MPI_Recv", "MPI_Iprobe and MPI_Recv",
                                             "MPI_Mprobe", "MPI_Improbe", "MPI_Start of a receive"};
    machine_.acts(kCalls[static_cast<int>(action.receiving)], action.number);
    const MPI_Comm comm = comm_of(action).handle;
    const int source = source_of(action.peer), tag = tag_of(action.tag);
    MPI_Status status{};
    switch (action.receiving) {
      case Receiving::nonblocking:
      case Receiving::persistent: {
        Open open{.receive = &posted(action), .number = action.number};
        start_receive(action, *open.receive, open);
        open_.push_back(std::move(open));
        return;
      }
      case Receiving::blocking: return receive_now(action, source, tag);
      case Receiving::probed: check(MPI_Probe(source, tag, comm, &status), "MPI_Probe"); break;
      case Receiving::polled:
        for (int found = 0; !found;) check(MPI_Iprobe(source, tag, comm, &found, &status), "MPI_Iprobe");
        break;
      default: return receive_matched(action, source, tag);
    }
    Action exactly = action;
    exactly.peer = status.MPI_SOURCE;
    exactly.tag = status.MPI_TAG;
    expect((action.peer == kAny || action.peer == exactly.peer) && (action.tag == kAny || action.tag == exactly.tag),
           "a probe finds what it does not look for");
    MPI_Count found = 0;
    MPI_Get_elements_c(&status, MPI_BYTE, &found);
    if (one_in(3)) machine_.acts("a probe's receive");
    receive_now(exactly, exactly.peer, exactly.tag);
    const ReceivedMessage& got = *last_;
    expect(got.truncated || got.count == static_cast<size_t>(found), "a probe tells another length than the receive");
  }

  void receive_now(const Action& action, int source, int tag) {
    const Shape shape(action.length, action.stride);
    ReceivedMessage& receive = *(last_ = &posted(action));
    MPI_Status status{};
    const int code = MPI_Recv(receive.memory.data(), shape.count, shape.type, source, tag, comm_of(action).handle, &status);
    received(receive, status, code);
  }

  // The matching is the receive's place in the order: it is noted after the call, and nothing else is posted meanwhile.
  void receive_matched(const Action& action, int source, int tag) {
    const MPI_Comm comm = comm_of(action).handle;
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status{};
    if (action.receiving == Receiving::matched) check(MPI_Mprobe(source, tag, comm, &message, &status), "MPI_Mprobe");
    else
      for (int found = 0; !found;) check(MPI_Improbe(source, tag, comm, &found, &message, &status), "MPI_Improbe");
    ReceivedMessage& receive = posted(action);
    const Shape shape(action.length, action.stride);
    if (one_in(2)) {
      const int code = MPI_Mrecv(receive.memory.data(), shape.count, shape.type, &message, &status);
      return received(receive, status, code);
    }
    Open open{.receive = &receive, .number = action.number};
    check(MPI_Imrecv(receive.memory.data(), shape.count, shape.type, &message, &open.request), "MPI_Imrecv");
    open_.push_back(std::move(open));
  }

  void send_and_receive(const Action& out, const Action& in) {
    machine_.acts("MPI_Sendrecv", out.number);
    const Shape out_shape(out.length, out.stride), in_shape(in.length, in.stride);
    SentMessage& message = sending(out);
    ReceivedMessage& receive = posted(in);
    MPI_Status status{};
    const int code = MPI_Sendrecv(message.memory.data(), out_shape.count, out_shape.type, out.peer, out.tag, receive.memory.data(),
                                  in_shape.count, in_shape.type, source_of(in.peer), tag_of(in.tag), comm_of(in).handle, &status);
    received(receive, status, code);
  }

  // A receive that nothing matches.
  void cancel(const Action& action) {
    machine_.acts("MPI_Cancel");
    auto memory = std::make_unique<uint8_t[]>(action.length + 1);
    Open open{.cancelled = true};
    check(MPI_Irecv(memory.get(), static_cast<int>(action.length), MPI_BYTE, source_of(action.peer), kUnusedTag, MPI_COMM_WORLD,
                    &open.request),
          "MPI_Irecv");
    if (one_in(2)) machine_.acts("MPI_Cancel");
    check(MPI_Cancel(&open.request), "MPI_Cancel");
    kept_.push_back(std::move(memory));
    open_.push_back(std::move(open));
  }

  void to_nobody(const Action& action) {
    machine_.acts("calls with MPI_PROC_NULL");
    uint8_t byte = 1;
    MPI_Status status{};
    check(MPI_Send(&byte, 1, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_WORLD), "MPI_Send");
    check(MPI_Recv(&byte, 1, MPI_BYTE, MPI_PROC_NULL, MPI_ANY_TAG, MPI_COMM_WORLD, &status), "MPI_Recv");
    expect(status.MPI_SOURCE == MPI_PROC_NULL && byte == 1, "a receive from MPI_PROC_NULL gets something");
    Open open;
    check(MPI_Isend(&byte, 1, MPI_BYTE, MPI_PROC_NULL, action.tag, MPI_COMM_WORLD, &open.request), "MPI_Isend");
    open_.push_back(std::move(open));
  }

  // ---- completion ----

  void ended(std::list<Open>::iterator which, MPI_Status& status, int code) {
    Open& open = *which;
    if (open.receive) received(*open.receive, status, code);
    else check(code, "a request");
    if (open.cancelled) {
      int cancelled = 0;
      MPI_Test_cancelled(&status, &cancelled);
      expect(cancelled, "a receive that nothing matched was not cancelled");
    }
    if (open.look) open.look();
    if (open.persistent) check(MPI_Request_free(&open.request), "MPI_Request_free");
    expect(open.request == MPI_REQUEST_NULL, "a request that has ended is not null");
    open_.erase(which);
  }

  // Some of those that may be waited for, in one of MPI's ways.
  void complete(bool surely) {
    std::vector<std::list<Open>::iterator> which;
    const bool all = one_in(2);
    for (auto it = open_.begin(); it != open_.end(); ++it)
      if (!it->deferred && (all || one_in(2))) which.push_back(it);
    if (which.empty()) return;
    for (size_t i = which.size() - 1; i > 0; --i) std::swap(which[i], which[draw(static_cast<uint32_t>(i + 1))]);
    std::vector<MPI_Request> requests;
    for (const auto& each : which) {
      requests.push_back(each->request);
      machine_.notes("with", each->number);
    }
    const int count = static_cast<int>(which.size());
    std::vector<MPI_Status> statuses(which.size());
    std::vector<int> indices(which.size());
    int found = 0, index = 0, code = MPI_SUCCESS;
    const auto several = [&](bool listed) {
      if (code != MPI_SUCCESS && class_of(code) != MPI_ERR_IN_STATUS) check(code, "a completion of several");
      for (int i = 0; i < found; ++i) {
        const auto at = static_cast<size_t>(listed ? indices[static_cast<size_t>(i)] : i);
        MPI_Status& status = statuses[static_cast<size_t>(i)];
        which[at]->request = requests[at];
        ended(which[at], status, code == MPI_SUCCESS ? MPI_SUCCESS : status.MPI_ERROR);
      }
    };
    const auto one = [&] {
      which[static_cast<size_t>(index)]->request = requests[static_cast<size_t>(index)];
      ended(which[static_cast<size_t>(index)], statuses[0], code);
    };
    const uint32_t way = surely && one_in(2) ? draw(4) : draw(8);
    static constexpr const char* kCalls[] = {"MPI_Wait", "MPI_Waitany", "MPI_Waitsome", "MPI_Waitall",
                                             "MPI_Test", "MPI_Testany", "MPI_Testsome", "MPI_Testall"};
    machine_.acts(kCalls[way]);
    switch (way) {
      case 0: code = MPI_Wait(requests.data(), statuses.data()); return one();
      case 1: code = MPI_Waitany(count, requests.data(), &index, statuses.data()); return one();
      case 2:
        code = MPI_Waitsome(count, requests.data(), &found, indices.data(), statuses.data());
        expect(found > 0, "MPI_Waitsome returns with nothing");
        return several(true);
      case 3:
        code = MPI_Waitall(count, requests.data(), statuses.data());
        found = count;
        return several(false);
      case 4: code = MPI_Test(requests.data(), &found, statuses.data()); return found ? one() : static_cast<void>(check(code, "MPI_Test"));
      case 5:
        code = MPI_Testany(count, requests.data(), &index, &found, statuses.data());
        return found ? one() : static_cast<void>(check(code, "MPI_Testany"));
      case 6: code = MPI_Testsome(count, requests.data(), &found, indices.data(), statuses.data()); return several(true);
      default:
        code = MPI_Testall(count, requests.data(), &found, statuses.data());
        if (found) found = count;
        return several(false);
    }
  }

  // ---- collectives ----

  static int64_t value(uint64_t number, int rank, size_t i) {
    return static_cast<int64_t>(number * 1'000 + static_cast<uint64_t>(rank) * 17 + i % 251);
  }

  // Blocking, or as a request. `in` and `out` live until it has ended.
  template <class Blocking, class Nonblocking>
  void either(const Action& action, const char* what, Blocking&& blocking, Nonblocking&& nonblocking, std::function<void()> look) {
    machine_.acts(what, action.number);
    if (!action.nonblocking) {
      if (check(blocking(), what)) look();
      return;
    }
    Open open{.number = action.number, .look = std::move(look)};
    check(nonblocking(&open.request), what);
    open_.push_back(std::move(open));
  }

  void collective(const Action& action) {
    const Comm& comm = comm_of(action);
    const MPI_Comm c = comm.handle;
    const int count = static_cast<int>(action.length), root = action.peer, n = comm.size, me = comm.rank;
    const size_t k = action.length, all = k * static_cast<size_t>(n);
    const uint64_t number = action.number;
    auto in = std::make_shared<std::vector<int64_t>>(all + 1), out = std::make_shared<std::vector<int64_t>>(all + 1, -1);
    for (size_t i = 0; i < all; ++i) (*in)[i] = value(number, me, i);
    // Whether `out` begins with `size` values as `wanted` says, and nothing is written beyond.
    const auto look = [this, in, out](size_t size, auto wanted) {
      return [this, in, out, size, wanted] {
        for (size_t i = 0; i < out->size(); ++i)
          if ((*out)[i] != (i < size ? wanted(i) : -1))
            return machine_.violated(("a collective gives a wrong value at " + std::to_string(i)).c_str());
      };
    };
    const auto sum = [number, n](size_t i) {
      int64_t result = 0;
      for (int r = 0; r < n; ++r) result += value(number, r, i);
      return result;
    };
    void *const send = in->data(), *const get = out->data();
    const MPI_Datatype type = MPI_INT64_T;
    switch (action.collective) {
      case Collective::barrier:
        return either(
            action, "MPI_Barrier", [&] { return MPI_Barrier(c); }, [&](MPI_Request* r) { return MPI_Ibarrier(c, r); }, [] {});
      case Collective::bcast:
        if (me == root) *out = *in;
        return either(
            action, "MPI_Bcast", [&] { return MPI_Bcast(get, count, type, root, c); },
            [&](MPI_Request* r) { return MPI_Ibcast(get, count, type, root, c, r); },
            me == root ? std::function<void()>([out] {}) : look(k, [number, root](size_t i) { return value(number, root, i); }));
      case Collective::reduce:
        return either(
            action, "MPI_Reduce", [&] { return MPI_Reduce(send, get, count, type, MPI_SUM, root, c); },
            [&](MPI_Request* r) { return MPI_Ireduce(send, get, count, type, MPI_SUM, root, c, r); }, look(me == root ? k : 0, sum));
      case Collective::allreduce:
        return either(
            action, "MPI_Allreduce", [&] { return MPI_Allreduce(send, get, count, type, MPI_SUM, c); },
            [&](MPI_Request* r) { return MPI_Iallreduce(send, get, count, type, MPI_SUM, c, r); }, look(k, sum));
      case Collective::gather:
        return either(
            action, "MPI_Gather", [&] { return MPI_Gather(send, count, type, get, count, type, root, c); },
            [&](MPI_Request* r) { return MPI_Igather(send, count, type, get, count, type, root, c, r); },
            look(me == root ? all : 0, [number, k](size_t i) { return value(number, static_cast<int>(i / k), i % k); }));
      case Collective::scatter:
        return either(
            action, "MPI_Scatter", [&] { return MPI_Scatter(send, count, type, get, count, type, root, c); },
            [&](MPI_Request* r) { return MPI_Iscatter(send, count, type, get, count, type, root, c, r); },
            look(k, [number, k, root, me](size_t i) { return value(number, root, k * static_cast<size_t>(me) + i); }));
      case Collective::allgather:
        return either(
            action, "MPI_Allgather", [&] { return MPI_Allgather(send, count, type, get, count, type, c); },
            [&](MPI_Request* r) { return MPI_Iallgather(send, count, type, get, count, type, c, r); },
            look(all, [number, k](size_t i) { return value(number, static_cast<int>(i / k), i % k); }));
      case Collective::alltoall:
        return either(
            action, "MPI_Alltoall", [&] { return MPI_Alltoall(send, count, type, get, count, type, c); },
            [&](MPI_Request* r) { return MPI_Ialltoall(send, count, type, get, count, type, c, r); },
            look(all, [number, k, me](size_t i) { return value(number, static_cast<int>(i / k), k * static_cast<size_t>(me) + i % k); }));
      case Collective::scan:
        return either(
            action, "MPI_Scan", [&] { return MPI_Scan(send, get, count, type, MPI_SUM, c); },
            [&](MPI_Request* r) { return MPI_Iscan(send, get, count, type, MPI_SUM, c, r); }, look(k, [number, me](size_t i) {
              int64_t result = 0;
              for (int r = 0; r <= me; ++r) result += value(number, r, i);
              return result;
            }));
      case Collective::reduce_scatter:
        return either(
            action, "MPI_Reduce_scatter_block", [&] { return MPI_Reduce_scatter_block(send, get, count, type, MPI_SUM, c); },
            [&](MPI_Request* r) { return MPI_Ireduce_scatter_block(send, get, count, type, MPI_SUM, c, r); },
            look(k, [sum, k, me](size_t i) { return sum(k * static_cast<size_t>(me) + i); }));
      case Collective::dup: {
        auto made = std::make_shared<MPI_Comm>(MPI_COMM_NULL);
        return either(
            action, "MPI_Comm_dup", [&] { return MPI_Comm_dup(c, made.get()); },
            [&](MPI_Request* r) { return MPI_Comm_idup(c, made.get(), r); }, [this, made, number] { made_[number] = *made; });
      }
      case Collective::count: break;
    }
  }

  // ---- windows ----

  void access(const Action& action) {
    machine_.acts("an access to a window");
    const int target = action.peer;
    switch (action.access) {
      case Access::put_get: {
        std::vector<uint8_t> out(action.length), in(action.length);
        for (size_t i = 0; i < out.size(); ++i) out[i] = byte_of(action.number, i);
        const MPI_Aint at = kOwnAreas + me_ * kArea;
        const int count = static_cast<int>(action.length);
        check(MPI_Put(out.data(), count, MPI_BYTE, target, at, count, MPI_BYTE, window_), "MPI_Put");
        check(MPI_Win_flush(target, window_), "MPI_Win_flush");
        check(MPI_Get(in.data(), count, MPI_BYTE, target, at, count, MPI_BYTE, window_), "MPI_Get");
        check(one_in(2) ? MPI_Win_flush(target, window_) : MPI_Win_flush_all(window_), "MPI_Win_flush");
        expect(in == out, "MPI_Get does not return what was put");
        break;
      }
      case Access::accumulate: {
        const auto by = static_cast<int64_t>(action.length);
        check(MPI_Accumulate(&by, 1, MPI_INT64_T, target, 8, 1, MPI_INT64_T, MPI_SUM, window_), "MPI_Accumulate");
        check(MPI_Win_flush_local(target, window_), "MPI_Win_flush_local");
        break;
      }
      case Access::fetch: {
        const int64_t one = 1;
        int64_t old = -1;
        check(MPI_Fetch_and_op(&one, &old, MPI_INT64_T, target, 0, MPI_SUM, window_), "MPI_Fetch_and_op");
        check(MPI_Win_flush(target, window_), "MPI_Win_flush");
        expect(old >= 0 && old < plan_.fetched[static_cast<size_t>(target)], "MPI_Fetch_and_op returns what was never there");
        break;
      }
      case Access::compare_and_swap: {
        const auto swap = [&](int64_t from, int64_t to) {
          int64_t old = -1;
          check(MPI_Compare_and_swap(&to, &from, &old, MPI_INT64_T, target, 16, window_), "MPI_Compare_and_swap");
          check(MPI_Win_flush(target, window_), "MPI_Win_flush");
          return old;
        };
        const int64_t mine = me_ + 1;
        while (swap(0, mine) != 0) {
        }
        expect(swap(mine, 0) == mine, "a word that was locked has been changed by others");
        break;
      }
      case Access::count: break;
    }
  }

  Machine& machine_;
  const Plan& plan_;
  History& history_;
  int me_;
  std::vector<Comm> comms_;
  std::list<Open> open_;
  std::vector<std::list<Open>::iterator> early_;
  std::vector<std::unique_ptr<uint8_t[]>> kept_;
  std::map<uint64_t, MPI_Comm> made_;  // in the epoch
  ReceivedMessage* last_ = nullptr;
  MPI_Win window_ = MPI_WIN_NULL;
  uint8_t* memory_ = nullptr;
};

}  // namespace

void perform(Machine& machine, const Plan& plan, History& history, int rank) { Rank(machine, plan, history, rank).run(); }

}  // namespace portunus::simulation

void simulated_rank(portunus::simulation::Machine& machine, const portunus::simulation::Plan& plan, portunus::simulation::History& history,
                    int rank) {
  portunus::simulation::machine = &machine;
  if (plan.rounds > 0) portunus::simulation::survive(machine, plan, history, rank);
  else portunus::simulation::perform(machine, plan, history, rank);
}
