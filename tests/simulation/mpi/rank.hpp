// rank.hpp: one rank's part of a plan, in MPI's calls. What a request gives is noted in the history; what a collective or an access to a
// window gives is compared at once. Thread: one, the rank's fiber.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/simulation/mpi/program.hpp"

namespace portunus::simulation {

inline constexpr MPI_Aint kOwnAreas = 64, kArea = 4'096;  // in windows, after three words
inline constexpr int kUnusedTag = 77;

class Rank {
 public:
  Rank(TestMachine& machine, const Plan& plan, History& history, int me) : machine_(machine), plan_(plan), history_(history), me_(me) {}

  void run();

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

  void open();
  void close();

  // ---- an epoch ----

  void go_through(const std::vector<Action>& actions);

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
    for (size_t i = 0; i < action.length; ++i) message.memory[i * action.stride] = message_byte(action.number, i);
    return message;
  }

  void send(const Action& action);

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

  void received(ReceivedMessage& receive, MPI_Status& status, int code);
  void start_receive(const Action& action, ReceivedMessage& receive, Open& open);
  void receive(const Action& action);
  void receive_now(const Action& action, int source, int tag);
  // The matching is the receive's place in the order: it is noted after the call, and nothing else is posted meanwhile.
  void receive_matched(const Action& action, int source, int tag);
  void send_and_receive(const Action& out, const Action& in);
  // A receive that nothing matches.
  void cancel(const Action& action);
  void to_nobody(const Action& action);

  // ---- completion ----

  void ended(std::list<Open>::iterator which, MPI_Status& status, int code);
  // Some of those that may be waited for, in one of MPI's ways.
  void complete(bool surely);

  // ---- collectives ----

  static int64_t value(uint64_t number, int rank, size_t i) {
    return static_cast<int64_t>(number * 1'000 + static_cast<uint64_t>(rank) * 17 + i % 251);
  }

  // Blocking, or as a request. `in` and `out` live until it has ended.
  template <class Blocking, class Nonblocking>
  void either(const Action& action, const char* what, Blocking&& blocking, Nonblocking&& nonblocking, std::function<void()> look);
  void collective(const Action& action);

  // ---- windows ----

  void access(const Action& action);

  TestMachine& machine_;
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

}  // namespace portunus::simulation
