// machine.hpp: what a simulated process has instead of an operating system: time, sleep, a transport and its job.
//
// The libraries of one process lie in a shared object of their own copy (seams.cpp is linked into it), and this is all that joins it to
// the simulation. Thread: one; each call may hand the processor to other processes before it returns, except now, wake and ring.
#pragma once

#include <cstdint>
#include <memory>

#include "engine/host/bootstrap.hpp"
#include "engine/transport/transport.hpp"

namespace portunus::simulation {

class Machine {
 public:
  virtual uint64_t now() = 0;  // ns; each look takes a little of it
  // Others may run.
  virtual void yield() = 0;
  // As a futex: returns at once unless `word` is `value`, and else when it is woken or the time is over (negative: never).
  virtual void sleep_on(const uint32_t* word, uint32_t value, int64_t timeout_ns) = 0;
  virtual void wake(const uint32_t* word) = 0;
  // Until something arrives, the bell is rung, or the time is over.
  virtual void sleep_for_arrivals(int64_t timeout_ns) = 0;
  virtual void ring() = 0;
  // A thread of this process: number and end.
  virtual uint64_t start_thread(void (*body)(void*), void* argument) = 0;
  virtual void join_thread(uint64_t number) = 0;

  virtual bool costly() const = 0;
  virtual ProcessId id() const = 0;
  virtual std::unique_ptr<Transport> open_transport(Sink& sink) = 0;
  virtual std::unique_ptr<Bootstrap> join_job() = 0;

 protected:
  ~Machine() = default;
};

}  // namespace portunus::simulation
