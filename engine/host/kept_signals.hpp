// Libraries below us install handlers when they are loaded or started (libinfinipath, behind libfabric, does for SIGSEGV, SIGABRT,
// SIGTERM and others): a rank that crashes would end with status 1 and no core. What signals do is the application's business.
// Thread: set-up; one thread at a time.
#pragma once

#include <pthread.h>

#include <csignal>

#include <array>

namespace portunus {

// While it lives, no signal is delivered to this thread, nor ever to those that are created; afterwards, those that came are. For short,
// where handlers of others are there for a while: libinfinipath's ends the process with status 1.
class HeldSignals {
 public:
  HeldSignals() {
    sigset_t all;
    sigfillset(&all);
    // Signals that a thread causes itself cannot wait.
    for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS}) sigdelset(&all, number);
    pthread_sigmask(SIG_BLOCK, &all, &before_);
  }
  ~HeldSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

 private:
  sigset_t before_;
};

// While it lives, libraries may do as they like; at its end every signal does what it did before.
class KeptSignals {
 public:
  KeptSignals() {
    for (int number = 1; number < NSIG; ++number) known_[number] = sigaction(number, nullptr, &actions_[number]) == 0;
  }
  ~KeptSignals() {
    for (int number = 1; number < NSIG; ++number)
      if (known_[number]) sigaction(number, &actions_[number], nullptr);
  }
  KeptSignals(const KeptSignals&) = delete;
  KeptSignals& operator=(const KeptSignals&) = delete;

 private:
  std::array<struct sigaction, NSIG> actions_{};
  std::array<bool, NSIG> known_{};
};

}  // namespace portunus
