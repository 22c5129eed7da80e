// progress_scenarios.hpp: small processes whose threads wait by the shipped code (simulated_progress.hpp), each for one thing that can go
// wrong. A scenario is walked on x86's store buffers or on the C++ memory model.
//
// Thread: one; the threads are simulated.
#pragma once

#include "tests/engine/simulated_progress.hpp"
#include "tests/support/interleave.hpp"
#include "tests/support/store_buffers.hpp"
#include "tests/support/views.hpp"

namespace portunus::interleave {

template <class Model>
struct ProgressScenarios {
  using End = Ending<Model>;
  size_t most = SIZE_MAX;  // states

  template <class Right>
  Found walk(Scenario& s, Right right) const {
    return Explorer<Model>(s.program, std::move(right), most).run();
  }
  static void add_engine(Scenario& s) {
    s.program.thread("engine thread", [&s](uint32_t) { return s.progress.run_parked(), kFinished; });
  }
  // A thread whose wait ends: it has the baton, and goes back to computing.
  static void add_leaver(Scenario& s) {
    s.program.initial[kBatonWord] = 1;
    s.program.thread("leaver", [&s](uint32_t) { return s.progress.leave_call(), kFinished; });
  }
  static void add_sender(Scenario& s, std::initializer_list<size_t> messages, bool registered) {
    s.program.thread("sender", [&s, messages = std::vector<size_t>(messages), registered](uint32_t) {
      for (size_t i : messages) s.send(i, registered);
      return kFinished;
    });
  }
  static Program::Thread& add_waiter(Scenario& s, const char* name, size_t i) {
    return s.program.thread(name, [&s, i](uint32_t) { return s.wait_for(i), kFinished; });
  }

  // A thread waits for a message, without an engine thread, where no process can make another fence.
  Found alone() const {
    Scenario s(ProgressMode::caller);
    s.program.initial[s.door.word().where()] = 0;
    s.use_message(0);
    add_waiter(s, "waiter", 0);
    add_sender(s, {0}, false);
    return walk(s, [](const End& end) { return end.finished(0); });
  }
  // The same where the heavy fence of who arms the door saves the sender's own.
  Found alone_registered() const {
    Scenario s(ProgressMode::caller);
    s.use_message(0);
    add_waiter(s, "waiter", 0);
    add_sender(s, {0}, true);
    return walk(s, [](const End& end) { return end.finished(0); });
  }
  // A thread begins to wait, and sleeps, while the engine thread parks.
  Found enter() const {
    Scenario s;
    s.use_message(0);
    add_waiter(s, "waiter", 0);
    add_engine(s);
    add_sender(s, {0}, false);
    return walk(s, [](const End& end) { return end.finished(0); });
  }
  // The only waiting thread leaves, and goes back to computing, while the engine thread looks for a place to sleep and a message comes.
  Found leave() const {
    Scenario s;
    s.use_message(0);
    add_leaver(s);
    add_engine(s);
    add_sender(s, {0}, false);
    return walk(s, [&s](const End& end) { return end.value(s.engine.taken[0]) == 1; });
  }
  // The same where the message comes by a descriptor.
  Found leave_to_descriptors() const {
    Scenario s(ProgressMode::park, true);
    s.use_message(0);
    add_leaver(s);
    add_engine(s);
    s.program.thread("network", [&s](uint32_t) { return s.send_over_network(), kFinished; });
    return walk(s, [&s](const End& end) { return end.value(s.engine.taken[0]) == 1; });
  }
  // The same where it comes by the node, beside a network: no descriptor tells of it.
  Found leave_beside_descriptors() const {
    Scenario s(ProgressMode::park, true);
    s.use_message(1);
    add_leaver(s);
    add_engine(s);
    add_sender(s, {1}, false);
    return walk(s, [&s](const End& end) { return end.value(s.engine.taken[1]) == 1; });
  }
  // A thread waits, and sleeps, for a message that comes by a descriptor, to which the engine thread listens.
  Found wait_beside_descriptors() const {
    Scenario s(ProgressMode::park, true);
    s.use_message(0);
    add_waiter(s, "waiter", 0);
    add_engine(s);
    s.program.thread("network", [&s](uint32_t) { return s.send_over_network(), kFinished; });
    return walk(s, [](const End& end) { return end.finished(0); });
  }
  // The engine thread naps while a thread waits, and sees to the message that comes when that one has gone back to computing.
  Found attend() const {
    Scenario s;
    s.use_message(0);
    s.use_message(1);
    s.use_attention();
    s.program.initial[s.engine.message[0].where()] = 1;
    add_waiter(s, "waiter", 0);
    add_engine(s);
    add_sender(s, {1}, true);
    return walk(s, [&s](const End& end) { return end.finished(0) && end.value(s.engine.taken[1]) == 1; });
  }
  // The engine thread wants to step while a call has the baton, and nobody waits: it gets it afterwards.
  Found park_while_entered() const {
    Scenario s;
    s.use_message(0);
    s.program.thread("holder", [&s](uint32_t) {
      if (s.progress.try_enter()) s.progress.leave();
      return kFinished;
    });
    add_engine(s);
    add_sender(s, {0}, false);
    return walk(s, [&s](const End& end) { return end.value(s.engine.taken[0]) == 1; });
  }
  // One ends its wait by another way than a message while another thread has the baton for a call of its own, and a third begins to wait.
  Found leave_while_held() const {
    Scenario s(ProgressMode::caller);
    s.use_message(0);
    add_leaver(s);
    s.program.thread("holder", [&s](uint32_t) {
      if (s.progress.try_enter()) s.progress.leave();
      return kFinished;
    });
    add_waiter(s, "waiter", 0);
    add_sender(s, {0}, false);
    return walk(s, [](const End& end) { return end.finished(2); });
  }
  // Two wait. The later to sleep finds, just before, that what it waits for has come by another way (a store), and leaves: the door named
  // it, while the other sleeps.
  Found relieve() const {
    Scenario s(ProgressMode::caller);
    s.use_message(0);
    s.use({&s.data});
    add_waiter(s, "waiter", 0);
    s.program.thread("leaver", [&s](uint32_t) { return s.progress.wait([&s] { return s.data.load() != 0; }, -1, 0), kFinished; });
    s.program.thread("sender", [&s](uint32_t) {
      s.data.store_release(1);
      s.send(0, false);
      return kFinished;
    });
    return walk(s, [](const End& end) { return end.finished(0); });
  }
  // Nobody steps but the engine thread: a waiter sleeps until that has taken its message.
  Found offload() const {
    Scenario s(ProgressMode::offload);
    s.use_message(0);
    add_waiter(s, "waiter", 0);
    add_engine(s);
    add_sender(s, {0}, false);
    return walk(s, [](const End& end) { return end.finished(0); });
  }
  // The engine thread looks for a place to sleep while a call steps.
  Found park_while_held() const {
    Scenario s;
    s.use_message(0);
    s.use({&s.engine.inside, &s.engine.clash});
    add_engine(s);
    s.program.thread("caller", [&s](uint32_t) { return s.progress.poll(), kFinished; });
    add_sender(s, {0}, false);
    return walk(s, [&s](const End& end) { return end.value(s.engine.clash) == 0 && end.value(s.engine.taken[0]) == 1; });
  }
  // A thread waits while another holds the baton for a call of its own, which takes the message or does not.
  Found holder(bool steps) const {
    Scenario s(ProgressMode::caller);
    s.use_message(0);
    add_waiter(s, "waiter", 0);
    s.program.thread("holder", [&s, steps](uint32_t) {
      if (steps) s.progress.poll();
      else if (s.progress.try_enter()) s.progress.leave();
      return kFinished;
    });
    add_sender(s, {0}, false);
    return walk(s, [](const End& end) { return end.finished(0); });
  }
  // Two threads wait, each for its own message.
  Found two_waiters() const {
    Scenario s(ProgressMode::caller);
    s.use_message(0);
    s.use_message(1);
    add_waiter(s, "first waiter", 0);
    add_waiter(s, "second waiter", 1);
    add_sender(s, {0, 1}, false);
    return walk(s, [](const End& end) { return end.finished(0) && end.finished(1); });
  }
  // Two threads wait, the engine thread parks, and a ringer of another process: everything there is.
  Found all() const {
    Scenario s;
    s.use_message(0);
    s.use_message(1);
    add_waiter(s, "first waiter", 0);
    add_waiter(s, "second waiter", 1);
    add_engine(s);
    add_sender(s, {0, 1}, false);
    return walk(s, [](const End& end) { return end.finished(0) && end.finished(1); });
  }
  // A call pushes its command because somebody holds the baton.
  Found push() const {
    Scenario s(ProgressMode::caller);
    s.use({&s.engine.queue.filled, &s.engine.entry});
    s.program.thread("holder", [&s](uint32_t) {
      if (s.progress.try_enter()) s.progress.leave();
      return kFinished;
    });
    s.program.thread("pusher", [&s](uint32_t) {
      SimulatedCommand command;
      return s.progress.submit(command), kFinished;
    });
    return walk(s, [&s](const End& end) { return end.value(s.engine.entry) == 1; });
  }
  // A thread waits for what a call of another thread brings about: nothing comes from outside, so nobody rings.
  Found told() const {
    Scenario s(ProgressMode::caller);
    s.use({&s.engine.queue.filled, &s.engine.entry});
    s.program.thread("waiter", [&s](uint32_t) { return s.progress.wait([&s] { return s.engine.entry.load() != 0; }, -1, 0), kFinished; });
    s.program.thread("teller", [&s](uint32_t) {
      SimulatedCommand command;
      return s.progress.submit(command), kFinished;
    });
    return walk(s, [](const End& end) { return end.finished(0); });
  }
  // The same, but the call only begins it: steps bring it about, of the thread that waits.
  Found begun() const {
    Scenario s(ProgressMode::caller);
    s.use({&s.engine.queue.filled, &s.engine.begun, &s.engine.entry});
    s.engine.begins_only = true;
    s.program.thread("waiter", [&s](uint32_t) { return s.progress.wait([&s] { return s.engine.entry.load() != 0; }, -1, 0), kFinished; });
    s.program.thread("beginner", [&s](uint32_t) {
      SimulatedCommand command;
      return s.progress.submit(command), kFinished;
    });
    return walk(s, [](const End& end) { return end.finished(0); });
  }
  // An append returned, somebody is told by other memory, and sends: the entry is there when the message is looked at.
  Found append() const {
    Scenario s(ProgressMode::caller);
    s.use_message(0);
    s.use({&s.engine.queue.filled, &s.engine.entry, &s.engine.dropped});
    s.engine.needs_entry = true;
    s.program.thread("stepper", [&s](uint32_t part) -> uint32_t { return s.progress.poll(), part < 1 ? part + 1 : kFinished; });
    s.program.thread("appender", [&s](uint32_t) {
      SimulatedCommand command;
      s.progress.submit_and_wait(command);
      s.engine.message[0].store_release(1);
      return kFinished;
    });
    return walk(s, [&s](const End& end) { return end.value(s.engine.dropped) == 0 && end.value(s.engine.entry) == 1; });
  }
  // The first of a thread's two commands lies behind one that another thread is still pushing: the second does not overtake it.
  Found order() const {
    Scenario s(ProgressMode::caller);
    s.use({&s.engine.queue.filled, &s.engine.queue.second, &s.engine.queue.pending, &s.engine.entry, &s.engine.overtaken});
    s.engine.queue.two = true;
    s.program.initial[s.engine.queue.filled.where()] = s.program.initial[s.engine.queue.pending.where()] = 1;
    s.program.thread("second", [&s](uint32_t) {
      SimulatedCommand command{2};
      return s.progress.submit(command), kFinished;
    });
    s.program.thread("pusher", [&s](uint32_t) {
      SimulatedCommand command{0, true};
      return s.progress.submit_queued(command), kFinished;
    });
    return walk(s, [&s](const End& end) { return end.value(s.engine.entry) == 2 && end.value(s.engine.overtaken) == 0; });
  }
  // Two threads poll, one of them twice: no two step at once.
  Found exclusion() const {
    Scenario s(ProgressMode::caller);
    s.use({&s.engine.inside, &s.engine.clash});
    s.program.thread("first", [&s](uint32_t part) -> uint32_t { return s.progress.poll(), part < 1 ? part + 1 : kFinished; });
    s.program.thread("other", [&s](uint32_t) { return s.progress.poll(), kFinished; });
    return walk(s, [&s](const End& end) { return end.value(s.engine.clash) == 0; });
  }
  // The condition of a wait steps the engine if nobody else does, and is looked at under the baton.
  Found twice() const {
    Scenario s(ProgressMode::caller);
    s.use_message(0);
    s.use({&s.engine.inside, &s.engine.clash});
    s.program.thread("owner", [&s](uint32_t) {
      if (s.progress.take()) {
        s.progress.poll();  // as done() would
        s.engine.step(0);
        s.progress.leave_baton();
      }
      return kFinished;
    });
    s.program.thread("other", [&s](uint32_t) { return s.progress.poll(), kFinished; });
    return walk(s, [&s](const End& end) { return end.value(s.engine.clash) == 0; });
  }
  // A thread sleeps until another process stores to memory, and says so by the watch; passively while somebody holds the baton, or where
  // only the engine thread steps.
  Found watch(bool held, ProgressMode mode = ProgressMode::caller) const {
    Scenario s(mode);
    s.use({&s.data, &s.watch.word()});
    s.program.thread("waiter", [&s](uint32_t) { return s.progress.wait([&s] { return s.data.load() != 0; }, -1, 1), kFinished; });
    s.program.thread("writer", [&s](uint32_t) {
      s.data.store_release(1);
      if (s.watch.touched(1)) s.progress.wake_own_watchers();
      return kFinished;
    });
    if (held)
      s.program.thread("holder", [&s](uint32_t) {
        if (s.progress.try_enter()) s.progress.leave();
        return kFinished;
      });
    return walk(s, [](const End& end) { return end.finished(0); });
  }
  // A thread sleeps for what pollers do when another process has stored to memory; another thread of its process looks at them, too.
  Found polled(bool by_another, bool held) const {
    Scenario s(ProgressMode::caller);
    s.progress.pollers_.used = true;
    s.use({&s.data, &s.watch.word(), &s.progress.pollers_.found});
    s.program.thread("waiter",
                     [&s](uint32_t) { return s.progress.wait([&s] { return s.progress.pollers_.found.load() != 0; }, -1, 0), kFinished; });
    s.program.thread("writer", [&s](uint32_t) {
      s.data.store_release(1);
      if (s.watch.touched(1)) s.progress.wake_own_watchers();
      return kFinished;
    });
    if (by_another) s.program.thread("another", [&s](uint32_t) { return s.progress.look_at_pollers(), kFinished; });
    if (held)
      s.program.thread("holder", [&s](uint32_t) {
        if (s.progress.try_enter()) s.progress.leave();
        return kFinished;
      });
    return walk(s, [](const End& end) { return end.finished(0); });
  }
  // The same where the work is there from the beginning, no memory is watched, and no process can make another fence.
  Found polled_unwatched() const {
    Scenario s(ProgressMode::caller);
    s.progress.pollers_.used = true;
    s.progress.pollers_.bits = 0;
    s.program.initial[s.door.word().where()] = 0;
    s.use({&s.data, &s.progress.pollers_.found});
    s.program.initial[s.data.where()] = 1;
    s.program.thread("waiter",
                     [&s](uint32_t) { return s.progress.wait([&s] { return s.progress.pollers_.found.load() != 0; }, -1, 0), kFinished; });
    s.program.thread("another", [&s](uint32_t) { return s.progress.look_at_pollers(), kFinished; });
    return walk(s, [](const End& end) { return end.finished(0); });
  }
};

}  // namespace portunus::interleave
