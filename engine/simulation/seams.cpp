// seams.cpp: what the libraries of a simulated process find in place of the C library's and their own ways to the outside.
//
// Linked before the libraries' objects, whose own definitions of the same names are dropped (-z muldefs), and hidden in the object, so
// that nothing outside finds them. Thread: one.
#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include <linux/futex.h>

#include "engine/host/bell_socket.hpp"
#include "engine/host/topology.hpp"
#include "engine/progress/memory.hpp"
#include "engine/simulation/seams.hpp"
#include "engine/transport/table.hpp"

namespace portunus {

using simulation::machine;

namespace {

timespec as_timespec(uint64_t ns) { return {static_cast<time_t>(ns / 1'000'000'000u), static_cast<long>(ns % 1'000'000'000u)}; }
int64_t as_ns(const timespec& time) { return time.tv_sec * int64_t{1'000'000'000} + time.tv_nsec; }

void pass(int64_t ns) {
  static constexpr uint32_t kNobody = 0;
  machine->sleep_on(&kNobody, 0, ns);
}

TransportType simulated_transport{.name = "simulated",
                                  .gives_address = true,
                                  .wanted = [](const TransportOpening&) { return true; },
                                  .open = [](TransportOpening& opening) -> std::unique_ptr<Transport> {
                                    opening.self = machine->id();
                                    return machine->open_transport(opening.sink);
                                  }};

}  // namespace

extern const TransportType self_transport;

std::span<const TransportType* const> transport_types() {
  static const TransportType* const types[] = {&self_transport, &simulated_transport};
  simulated_transport.costly = machine->costly();
  return types;
}

std::unique_ptr<Bootstrap> Bootstrap::start() { return machine->join_job(); }

uint32_t coarse_stamp() { return static_cast<uint32_t>(machine->now() >> 8) | 1; }

// One processor that others want as well: whoever waits gives way, and time passes.
Placement place_engine(int, int, const EngineCores&, bool) { return {.processors = {0}, .usable = 0}; }

BellSocket::BellSocket(ProcessId, uint32_t, Sleeper) : fd_(-1) {}
BellSocket::~BellSocket() { (void)fd_; }
void BellSocket::ring(ProcessId, uint32_t, Sleeper) { machine->ring(); }
bool BellSocket::wait(std::span<const int>, int64_t timeout_ns) {
  machine->sleep_for_arrivals(timeout_ns);
  return false;
}

}  // namespace portunus

namespace portunus::simulation {
constinit Machine* machine = nullptr;
}

using portunus::simulation::machine;

extern "C" {

int clock_gettime(clockid_t, timespec* out) noexcept {
  *out = portunus::as_timespec(machine->now());
  return 0;
}

int sched_yield() noexcept {
  machine->yield();
  return 0;
}

int nanosleep(const timespec* time, timespec*) {
  portunus::pass(portunus::as_ns(*time));
  return 0;
}

int clock_nanosleep(clockid_t, int, const timespec* time, timespec*) {
  portunus::pass(portunus::as_ns(*time));
  return 0;
}

uid_t geteuid() noexcept { return 1000; }

// Futexes are the simulation's; heavy fences are not needed where one thread runs everything, and nothing else is called so.
long syscall(long number, ...) noexcept {
  if (number == SYS_membarrier) return 0;
  if (number != SYS_futex) {
    errno = ENOSYS;
    return -1;
  }
  va_list arguments;
  va_start(arguments, number);
  const auto* const word = va_arg(arguments, uint32_t*);
  const int operation = va_arg(arguments, int) & FUTEX_CMD_MASK;
  const auto value = va_arg(arguments, uint32_t);
  const auto* const limit = va_arg(arguments, const timespec*);
  va_end(arguments);
  if (operation == FUTEX_WAKE || operation == FUTEX_WAKE_BITSET) {
    machine->wake(word);
    return 1;
  }
  int64_t timeout = -1;
  if (limit) {
    timeout = portunus::as_ns(*limit);
    if (operation == FUTEX_WAIT_BITSET) timeout = std::max<int64_t>(0, timeout - static_cast<int64_t>(machine->now()));
  }
  machine->sleep_on(word, value, timeout);
  return 0;
}

}  // extern "C"

namespace std {

namespace chrono {
steady_clock::time_point steady_clock::now() noexcept { return time_point(duration(static_cast<int64_t>(machine->now()))); }
}  // namespace chrono

void thread::_M_start_thread(_State_ptr state, void (*)()) {
  const uint64_t number = machine->start_thread(
      [](void* argument) {
        const _State_ptr mine(static_cast<_State*>(argument));
        mine->_M_run();
      },
      state.release());
  static_assert(sizeof(_M_id) == sizeof number);
  __builtin_memcpy(static_cast<void*>(&_M_id), &number, sizeof number);
}

void thread::join() {
  uint64_t number;
  __builtin_memcpy(&number, &_M_id, sizeof number);
  machine->join_thread(number);
  _M_id = id();
}

}  // namespace std
