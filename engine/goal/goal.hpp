// goal.hpp: goal.h for C++: schedules that free themselves, typed memory, errors as exceptions. Header only; link with -lportals.
//
//   goal::Session session;
//   goal::Schedule sum;                              // of one word around a ring
//   auto sent = sum.send(std::span(&mine, 1), right);
//   auto heard = sum.receive(std::span(&theirs, 1), left);
//   sum.local(GOAL_ADD, std::span(&total, 1), &total, &theirs).after(heard);
//   sum.compile();
//   goal::Run run = sum.run();                       // the engine goes on by itself
//   run.wait();
//
// Thread: as goal.h: a schedule is used by one thread at a time. Invariants: a Schedule outlives its Runs; a Run that is dropped
// while it goes on is waited for. Cost: nothing beyond the calls of goal.h. Source: goal.h, whose comments say what each call means.
#ifndef GOAL_HPP
#define GOAL_HPP

#include <complex>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include "goal.h"

namespace goal {

// A refusal of a call of goal.h, with GOAL_Explain's sentence.
class Error : public std::runtime_error {
 public:
  Error(int code, const char* sentence) : std::runtime_error(sentence), code_(code) {}
  int code() const { return code_; }  // GOAL_ERR_*

 private:
  int code_;
};
inline void check(int code) {
  if (code != GOAL_SUCCESS) throw Error(code, GOAL_Explain());
}

// The type of local operations on T.
template <class T>
constexpr GOAL_Type type_of() {
  using U = std::remove_cv_t<T>;
  if constexpr (std::is_integral_v<U> && !std::is_same_v<U, bool>) {
    constexpr GOAL_Type kSigned[] = {GOAL_INT8, GOAL_INT16, GOAL_INT32, GOAL_INT64};
    constexpr GOAL_Type kUnsigned[] = {GOAL_UINT8, GOAL_UINT16, GOAL_UINT32, GOAL_UINT64};
    constexpr int kSize = sizeof(U) == 1 ? 0 : sizeof(U) == 2 ? 1 : sizeof(U) == 4 ? 2 : 3;
    return std::is_signed_v<U> ? kSigned[kSize] : kUnsigned[kSize];
  } else if constexpr (std::is_same_v<U, float>) {
    return GOAL_FLOAT;
  } else if constexpr (std::is_same_v<U, double>) {
    return GOAL_DOUBLE;
  } else if constexpr (std::is_same_v<U, long double>) {
    return GOAL_LONG_DOUBLE;
  } else if constexpr (std::is_same_v<U, std::complex<float>>) {
    return GOAL_FLOAT_COMPLEX;
  } else {
    static_assert(std::is_same_v<U, std::complex<double>>, "no GOAL_Type for this type");
    return GOAL_DOUBLE_COMPLEX;
  }
}

// GOAL_Init and GOAL_Finalize.
class Session {
 public:
  Session() { check(GOAL_Init(&rank_, &size_)); }
  ~Session() { GOAL_Finalize(); }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  int rank() const { return rank_; }
  int size() const { return size_; }

 private:
  int rank_ = 0;
  int size_ = 1;
};

// An operation of a schedule that is not compiled yet.
class Op {
 public:
  Op(GOAL_Schedule schedule, GOAL_Op op) : schedule_(schedule), op_(op) {}
  // Starts only after `prerequisite` has finished, or has started.
  Op after(Op prerequisite) const { return check(GOAL_Requires(schedule_, op_, prerequisite.op_)), *this; }
  Op after_start_of(Op prerequisite) const { return check(GOAL_IRequires(schedule_, op_, prerequisite.op_)), *this; }
  // Starts as soon as so many of its prerequisites have happened: 1 is "or".
  Op needs(unsigned count) const { return check(GOAL_Needs(schedule_, op_, count)), *this; }

 private:
  GOAL_Schedule schedule_;
  GOAL_Op op_;
};

// One execution.
class Run {
 public:
  explicit Run(GOAL_Request request) : request_(request) {}
  Run(Run&& other) noexcept : request_(std::exchange(other.request_, GOAL_REQUEST_NULL)) {}
  Run& operator=(Run other) noexcept { return std::swap(request_, other.request_), *this; }
  ~Run() { GOAL_Wait(&request_); }
  void wait() { check(GOAL_Wait(&request_)); }
  bool done() {
    int done = 0;
    check(GOAL_Test(&request_, &done));
    return done != 0;
  }
  void cancel() { check(GOAL_Cancel(&request_)); }

 private:
  GOAL_Request request_;
};

class Schedule {
 public:
  Schedule() { check(GOAL_Create(&schedule_)); }
  // From what `save` returned, here or elsewhere; to be bound and compiled.
  explicit Schedule(std::span<const std::byte> block) { check(GOAL_Load(block.data(), block.size(), &schedule_)); }
  Schedule(Schedule&& other) noexcept : schedule_(std::exchange(other.schedule_, nullptr)) {}
  Schedule& operator=(Schedule other) noexcept { return std::swap(schedule_, other.schedule_), *this; }
  ~Schedule() {
    if (schedule_) GOAL_Free(&schedule_);
  }
  GOAL_Schedule get() const { return schedule_; }  // for the calls of goal.h and goal_collectives.h

  Op send(GOAL_Buffer from, size_t bytes, int peer, uint32_t tag = 0) {
    return made([&](GOAL_Op* op) { return GOAL_Send(schedule_, from, bytes, peer, tag, op); });
  }
  Op receive(GOAL_Buffer to, size_t bytes, int peer, uint32_t tag = 0) {
    return made([&](GOAL_Op* op) { return GOAL_Recv(schedule_, to, bytes, peer, tag, op); });
  }
  template <class T, size_t N>
  Op send(std::span<T, N> data, int peer, uint32_t tag = 0) {
    return send(GOAL_User(data.data()), data.size_bytes(), peer, tag);
  }
  template <class T, size_t N>
  Op receive(std::span<T, N> data, int peer, uint32_t tag = 0) {
    return receive(GOAL_User(data.data()), data.size_bytes(), peer, tag);
  }
  Op local(GOAL_Local_op operation, GOAL_Type type, GOAL_Buffer to, GOAL_Buffer a, GOAL_Buffer b, size_t count) {
    return made([&](GOAL_Op* op) { return GOAL_Local(schedule_, operation, type, to, a, b, count, op); });
  }
  // to[i] = a[i] operation b[i]; GOAL_COPY does without b.
  template <class T, size_t N>
  Op local(GOAL_Local_op operation, std::span<T, N> to, const T* a, const T* b = nullptr) {
    return local(operation, type_of<T>(), GOAL_User(to.data()), GOAL_User(a), GOAL_User(b), to.size());
  }
  Op timestamp(GOAL_Buffer to) {
    return made([&](GOAL_Op* op) { return GOAL_Timestamp(schedule_, to, op); });
  }
  Op delay(uint64_t nanoseconds) {
    return local(GOAL_DELAY, GOAL_UINT64, GOAL_User(nullptr), GOAL_User(nullptr), GOAL_User(nullptr), nanoseconds);
  }

  void scratch(size_t bytes) { check(GOAL_Scratch(schedule_, bytes)); }
  template <class T, size_t N>
  void bind(unsigned argument, std::span<T, N> memory) {
    check(GOAL_Bind(schedule_, argument, memory.data(), memory.size_bytes()));
  }
  void context(unsigned number) { check(GOAL_Context(schedule_, number)); }
  void compile() { check(GOAL_Compile(schedule_)); }

  // A compiled schedule's: another instance, to be bound and compiled; its block of bytes; an execution.
  Schedule clone() const {
    GOAL_Schedule copy;
    check(GOAL_Clone(schedule_, &copy));
    return Schedule(copy);
  }
  std::vector<std::byte> save() const {
    size_t bytes = 0;
    check(GOAL_Save(schedule_, nullptr, &bytes));
    std::vector<std::byte> block(bytes);
    check(GOAL_Save(schedule_, block.data(), &bytes));
    return block;
  }
  Run run() {
    GOAL_Request request;
    check(GOAL_Run(schedule_, &request));
    return Run(request);
  }

 private:
  explicit Schedule(GOAL_Schedule schedule) : schedule_(schedule) {}
  template <class Add>
  Op made(Add&& add) {
    GOAL_Op op;
    check(add(&op));
    return Op(schedule_, op);
  }
  GOAL_Schedule schedule_ = nullptr;
};

}  // namespace goal

#endif
