// descriptor.hpp: a file descriptor that is readable when a thread of the program is to call MPI.
//
// A thread of the library sleeps in a wait of Portals, as the program's own threads would, until something is due or events wait to be
// taken; then it makes the descriptor readable, and rests until the program has called. It takes no events and runs nothing of the user.
//
// Thread: open, close: one at a time; all else: any.
#pragma once

#include <atomic>
#include <functional>
#include <thread>

#include "engine/client/objects.hpp"

namespace portunus::mpi::continuation {

class Alarm {
 public:
  Alarm() = default;
  Alarm(const Alarm&) = delete;
  Alarm& operator=(const Alarm&) = delete;
  ~Alarm() { close(); }

  // The descriptor, made by the first call; -1: there is none to be had. The thread asks whether something is due, and whether it is of use
  // at all that the program calls.
  int open(const std::function<bool()>& is_due, const std::function<bool()>& is_of_use);
  void close();
  // Ends the thread; the descriptor stays.
  void end_thread();
  // The program has called: what comes from now on makes the descriptor readable again.
  void reset();
  // Something is due that no message has brought.
  void poke() const;

 private:
  enum State : int { waiting, told, stopped };

  void watch(const std::function<bool()>& is_due);

  int descriptor_ = -1;
  client::Counter pokes_;              // counting wakes who sleeps, which a message to oneself does not
  std::atomic<State> state_{waiting};  // the thread: waiting to told, and then writes; reset: reads, and then told to waiting
  std::thread thread_;
};

// The calling thread is one of these, which run nothing for the program.
bool is_watcher();

}  // namespace portunus::mpi::continuation
