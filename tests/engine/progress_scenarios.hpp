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
  // The engine thread from when the network has woken it.
  static void add_who_answers_the_first_word(Scenario& s) {
    s.program.thread("engine thread", [&s](uint32_t) {
      s.engine.hello.await(1);
      while (s.progress.unmet_.load() != 0) {
        Memory::mark(30);
        s.progress.look_for_first_word();
      }
      return kFinished;
    });
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

  // A thread waits for a message, without an engine thread.
  Found alone() const {
    Scenario s(ProgressMode::caller);
    s.without_bias();
    s.use_message(0);
    add_waiter(s, "waiter", 0);
    add_sender(s, {0}, false);
    return walk(s, [](const End& end) { return end.finished(0); });
  }
  // The door is hot at first, since waits came thick and fast; the waiter has the bias.
  Found alone_with_bias() const {
    Scenario s(ProgressMode::caller);
    s.with_bias();
    s.use_message(0);
    add_waiter(s, "waiter", 0).biased = true;
    add_sender(s, {0}, true);
    return walk(s, [](const End& end) { return end.finished(0); });
  }
  // A thread begins to wait, and sleeps, while the engine thread parks.
  Found enter() const {
    Scenario s;
    s.without_bias();
    s.use_message(0);
    add_waiter(s, "waiter", 0);
    add_engine(s);
    add_sender(s, {0}, false);
    return walk(s, [](const End& end) { return end.finished(0); });
  }
  // The only waiting thread leaves, and goes back to computing, while the engine thread looks for a place to sleep and a message comes.
  Found leave() const {
    Scenario s;
    s.without_bias();
    s.use_message(0);
    s.program.initial[s.progress.waiting_.where()] = 1;
    s.program.thread("leaver", [&s](uint32_t) { return s.progress.leave_wait(), kFinished; });
    add_engine(s);
    add_sender(s, {0}, false);
    return walk(s, [&s](const End& end) { return end.value(s.engine.taken[0]) == 1; });
  }
  // The same where the engine thread is woken for urgent messages only: this is one.
  Found leave_calm() const {
    Scenario s;
    ProgressOfThreads::Calm::is = true;
    s.without_bias();
    s.use_message(0);
    s.program.initial[s.progress.waiting_.where()] = 1;
    s.program.thread("leaver", [&s](uint32_t) { return s.progress.leave_wait(), kFinished; });
    add_engine(s);
    add_sender(s, {0}, false);
    return walk(s, [&s](const End& end) { return end.value(s.engine.taken[0]) == 1; });
  }
  // The same where the message comes by a descriptor, to which the engine thread does not listen while somebody waits.
  Found leave_to_descriptors() const {
    Scenario s(ProgressMode::park, false, true);
    s.without_bias();
    s.use_message(0);
    s.program.initial[s.progress.waiting_.where()] = 1;
    s.program.thread("leaver", [&s](uint32_t) { return s.progress.leave_wait(), kFinished; });
    add_engine(s);
    s.program.thread("network", [&s](uint32_t) { return s.send_over_network(), kFinished; });
    return walk(s, [&s](const End& end) { return end.value(s.engine.taken[0]) == 1; });
  }
  // The same where it comes by the node, beside a network: no descriptor tells of it.
  Found leave_beside_descriptors() const {
    Scenario s(ProgressMode::park, false, true);
    s.without_bias();
    s.use_message(1);
    s.program.initial[s.progress.waiting_.where()] = 1;
    s.program.thread("leaver", [&s](uint32_t) { return s.progress.leave_wait(), kFinished; });
    add_engine(s);
    add_sender(s, {1}, false);
    return walk(s, [&s](const End& end) { return end.value(s.engine.taken[1]) == 1; });
  }
  // The leaver calls then, which shall end the listening, and goes back to computing, though the next wait was expected.
  Found call_beside_descriptors() const {
    Scenario s(ProgressMode::park, false, true);
    s.without_bias();
    s.use_message(0);
    s.program.initial[s.progress.waiting_.where()] = 1;
    s.program.thread("leaver", [&s](uint32_t part) -> uint32_t {
      if (part == 0) return s.progress.leave_wait(), 1;
      return s.progress.note_call(), kFinished;
    });
    add_engine(s);
    s.program.thread("network", [&s](uint32_t) { return s.send_over_network(), kFinished; });
    return walk(s, [&s](const End& end) { return end.value(s.engine.taken[0]) == 1; });
  }
  // And while another begins to wait, polls, and leaves.
  Found leave_to_descriptors_twice() const {
    Scenario s(ProgressMode::park, false, true);
    s.without_bias();
    s.use_message(0);
    s.program.initial[s.progress.waiting_.where()] = 1;
    s.program.thread("leaver", [&s](uint32_t) { return s.progress.leave_wait(), kFinished; });
    s.program.thread("other", [&s](uint32_t part) -> uint32_t {
      if (part == 0) return s.progress.enter_wait(), 1;
      return s.progress.leave_wait(), kFinished;
    });
    add_engine(s);
    s.program.thread("network", [&s](uint32_t) { return s.send_over_network(), kFinished; });
    return walk(s, [&s](const End& end) { return end.value(s.engine.taken[0]) == 1; });
  }
  // Before a first word came or went the engine thread watches descriptors also while others wait.
  Found first_word_by_descriptor() const {
    Scenario s(ProgressMode::park, false, true);
    s.without_bias();
    s.use_message(0);
    s.use({&s.progress.unmet_});
    s.program.initial[s.progress.unmet_.where()] = 1;
    s.program.thread("waiter", [&s](uint32_t) { return s.progress.enter_wait(), kFinished; });
    add_engine(s);
    s.program.thread("network", [&s](uint32_t) { return s.send_over_network(), kFinished; });
    return walk(s, [&s](const End& end) { return end.value(s.engine.taken[0]) == 1; });
  }
  // The engine thread wants to step while a call has the baton, and nobody waits: it gets it afterwards.
  Found park_while_held(bool biased) const {
    Scenario s;
    biased ? s.with_bias() : s.without_bias();
    s.use_message(0);
    s.program
        .thread("holder",
                [&s](uint32_t) {
                  if (s.progress.try_enter()) s.progress.leave();
                  return kFinished;
                })
        .biased = biased;
    add_engine(s);
    add_sender(s, {0}, biased);
    return walk(s, [&s](const End& end) { return end.value(s.engine.taken[0]) == 1; });
  }
  // The same while another thread has the baton for a call of its own, and while a third begins to wait.
  Found leave_while_held() const {
    Scenario s(ProgressMode::caller);
    s.without_bias();
    s.use_message(0);
    s.program.initial[s.progress.waiting_.where()] = 1;
    s.program.thread("leaver", [&s](uint32_t) { return s.progress.leave_wait(), kFinished; });
    s.program.thread("holder", [&s](uint32_t) {
      if (s.progress.try_enter()) s.progress.leave();
      return kFinished;
    });
    add_waiter(s, "waiter", 0);
    add_sender(s, {0}, false);
    return walk(s, [](const End& end) { return end.finished(2); });
  }
  // The same, with a parked engine thread to hand over to.
  Found leave_to_engine_while_held() const {
    Scenario s;
    s.without_bias();
    s.use_message(0);
    s.program.initial[s.progress.waiting_.where()] = 1;
    s.program.initial[kBatonWord] = 1;
    s.program.thread("leaver", [&s](uint32_t) { return s.progress.leave_wait(), kFinished; });
    s.program.thread("holder", [&s](uint32_t) { return s.progress.leave_baton(), kFinished; });
    add_waiter(s, "waiter", 0);
    add_sender(s, {0}, false);
    return walk(s, [](const End& end) { return end.finished(2); });
  }
  // Two wait. The later to sleep finds, just before, that what it waits for has come by another way (a store), and leaves: the door named
  // it, while the other sleeps.
  Found relieve() const {
    Scenario s(ProgressMode::caller);
    s.without_bias();
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
  // Beside a network that nobody came by yet, somebody calls while a thread waits that does not watch descriptors.
  Found first_word() const {
    Scenario s(ProgressMode::park, true);
    s.without_bias();
    s.use({&s.progress.unmet_, &s.engine.hello, &s.engine.met});
    s.program.initial[s.progress.unmet_.where()] = s.program.initial[s.progress.waiting_.where()] = 1;
    add_engine(s);
    s.program.thread("caller", [&s](uint32_t) { return s.arrive_by_network(s.engine.hello), kFinished; });
    return walk(s, [&s](const End& end) { return end.value(s.engine.met) == 1; });
  }
  // He calls while one of two that wait has the baton, which then sleeps behind the other: neither watches the network.
  Found first_word_beside_two() const {
    Scenario s(ProgressMode::park, true);
    s.without_bias();
    s.use_message(0);
    s.use({&s.progress.polling_, &s.progress.unmet_, &s.engine.hello, &s.engine.met});
    s.program.initial[s.progress.unmet_.where()] = s.program.initial[s.progress.polling_.where()] = 1;
    add_waiter(s, "waiter", 0);
    add_who_answers_the_first_word(s);
    s.program.thread("caller", [&s](uint32_t) { return s.engine.hello.store(1), kFinished; });
    return walk(s, [&s](const End& end) { return end.value(s.engine.met) == 1; });
  }
  // And then sends what that thread waits for: when the call was answered, the engine thread leaves the descriptors to it.
  Found second_word() const {
    Scenario s(ProgressMode::park, true);
    s.without_bias();
    s.use_message(0);
    s.use({&s.progress.polling_, &s.progress.unmet_, &s.engine.hello, &s.engine.met});
    s.program.initial[s.progress.unmet_.where()] = s.program.initial[s.progress.waiting_.where()] = 1;
    s.program.constant[s.progress.waiting_.where()] = true;
    s.program.thread("waiter", [&s](uint32_t) {
      const auto done = [&s] { return s.engine.taken[0].load() != 0; };
      while (!done()) {
        Memory::mark(31);
        s.progress.sleep(done, -1, 0);
      }
      return kFinished;
    });
    add_who_answers_the_first_word(s);
    s.program.thread("caller", [&s](uint32_t) {
      s.progress.asleep_.await(1);
      s.arrive_by_network(s.engine.hello);
      s.engine.met.await(1);
      s.arrive_by_network(s.engine.message[0]);
      return kFinished;
    });
    return walk(s, [](const End& end) { return end.finished(0); });
  }
  // Nobody steps but the engine thread: a waiter sleeps until that has taken its message.
  Found offload() const {
    Scenario s(ProgressMode::offload);
    s.without_bias();
    s.use_message(0);
    add_waiter(s, "waiter", 0);
    add_engine(s);
    add_sender(s, {0}, false);
    return walk(s, [](const End& end) { return end.finished(0); });
  }
  // The engine thread looks for a place to sleep while a call steps.
  Found park_while_held() const {
    Scenario s;
    s.without_bias();
    s.use_message(0);
    s.use({&s.engine.inside, &s.engine.clash});
    add_engine(s);
    s.program.thread("caller", [&s](uint32_t) { return s.progress.poll(), kFinished; });
    add_sender(s, {0}, false);
    return walk(s, [&s](const End& end) { return end.value(s.engine.clash) == 0 && end.value(s.engine.taken[0]) == 1; });
  }
  // The rush ends: the owner of the bias computes, the engine thread cools and has to see to what comes.
  Found cool() const {
    Scenario s;
    s.with_bias();
    s.use_message(0);
    add_engine(s);
    add_sender(s, {0}, true);
    s.program.thread("owner", [&s](uint32_t) { return s.progress.poll(), kFinished; }).biased = true;
    return walk(s, [&s](const End& end) { return end.value(s.engine.taken[0]) == 1; });
  }
  // A wait ends in a rush and is given the bias while the rush ends: no bias is left in force. `data`: the leaver has it.
  Found grant() const {
    Scenario s;
    s.with_bias();
    s.use({&s.data});
    s.program.initial[kBatonWord + 1u] = 0;
    s.program.initial[s.progress.waiting_.where()] = 1;
    s.program.thread("leaver", [&s](uint32_t) {
      s.progress.leave_wait();
      s.data.store(replay.biased);
      return kFinished;
    });
    s.program.thread("engine thread", [&s](uint32_t) { return s.progress.cool(), kFinished; });
    return walk(s, [&s](const End& end) {
      return end.value(s.data) == 0 || end.memory.newest(kBatonWord + 2) == 1 || end.value(s.progress.dense_) == 1;
    });
  }
  // A biased waiter, the engine thread that cools, and a ringer.
  Found bias() const {
    Scenario s;
    s.with_bias();
    s.use_message(0);
    add_waiter(s, "waiter", 0).biased = true;
    add_engine(s);
    add_sender(s, {0}, true);
    return walk(s, [](const End& end) { return end.finished(0); });
  }
  // A thread waits while another holds the baton for a call of its own, which takes the message or does not.
  Found holder(bool steps) const {
    Scenario s(ProgressMode::caller);
    s.without_bias();
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
  // The same where the other has the bias: it steps by a poll, or enters for a call.
  Found biased_holder(bool steps) const {
    Scenario s(ProgressMode::caller);
    s.with_bias();
    s.use_message(0);
    s.program
        .thread("holder",
                [&s, steps](uint32_t) {
                  if (steps) s.progress.poll();
                  else if (s.progress.try_enter()) s.progress.leave();
                  return kFinished;
                })
        .biased = true;
    add_waiter(s, "waiter", 0);
    add_sender(s, {0}, true);
    return walk(s, [](const End& end) { return end.finished(1); });
  }
  // Two threads wait, each for its own message.
  Found two_waiters() const {
    Scenario s(ProgressMode::caller);
    s.without_bias();
    s.use_message(0);
    s.use_message(1);
    add_waiter(s, "first waiter", 0);
    add_waiter(s, "second waiter", 1);
    add_sender(s, {0, 1}, false);
    return walk(s, [](const End& end) { return end.finished(0) && end.finished(1); });
  }
  // Two threads wait, the engine thread parks, and a ringer of another process: everything there is.
  Found all(bool biased) const {
    Scenario s;
    biased ? s.with_bias() : s.without_bias();
    s.use_message(0);
    s.use_message(1);
    add_waiter(s, "first waiter", 0).biased = biased;
    add_waiter(s, "second waiter", 1);
    add_engine(s);
    add_sender(s, {0, 1}, biased);
    return walk(s, [](const End& end) { return end.finished(0) && end.finished(1); });
  }
  // A call pushes its command because somebody holds the baton; who holds it may have the bias.
  Found push(bool biased) const {
    Scenario s(ProgressMode::caller);
    biased ? s.with_bias() : s.without_bias();
    s.use({&s.engine.queue.filled, &s.engine.entry});
    s.program
        .thread("holder",
                [&s](uint32_t) {
                  if (s.progress.try_enter()) s.progress.leave();
                  return kFinished;
                })
        .biased = biased;
    s.program.thread("pusher", [&s](uint32_t) {
      SimulatedCommand command;
      return s.progress.submit(command), kFinished;
    });
    return walk(s, [&s](const End& end) { return end.value(s.engine.entry) == 1; });
  }
  // A thread waits for what a call of another thread brings about: nothing comes from outside, so nobody rings.
  Found told() const {
    Scenario s(ProgressMode::caller);
    s.without_bias();
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
    s.without_bias();
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
    s.without_bias();
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
    s.without_bias();
    s.use({&s.engine.queue.filled, &s.engine.queue.second, &s.engine.queue.under_way, &s.engine.entry, &s.engine.overtaken});
    s.engine.queue.two = true;
    s.program.initial[s.engine.queue.filled.where()] = s.program.initial[s.engine.queue.under_way.where()] = 1;
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
  // Two threads want the baton of which a third has the bias: no two step at once.
  Found exclusion() const {
    Scenario s(ProgressMode::caller);
    s.with_bias();
    s.use({&s.engine.inside, &s.engine.clash});
    s.program
        .thread("owner",
                [&s](uint32_t part) -> uint32_t {
                  if (part > 0) replay.biased = part == 2;
                  s.progress.poll();
                  return part > 0 ? kFinished : 1u + replay.biased;
                })
        .biased = true;
    s.program.thread("other", [&s](uint32_t) { return s.progress.poll(), kFinished; });
    return walk(s, [&s](const End& end) { return end.value(s.engine.clash) == 0; });
  }
  // The condition of a wait steps the engine if nobody else does, and is looked at under the baton.
  Found twice() const {
    Scenario s(ProgressMode::caller);
    s.with_bias();
    s.use_message(0);
    s.use({&s.engine.inside, &s.engine.clash});
    s.program
        .thread("owner",
                [&s](uint32_t) {
                  if (s.progress.take()) {
                    s.progress.poll();  // as done() would
                    s.engine.step(0);
                    s.progress.leave_baton();
                  }
                  return kFinished;
                })
        .biased = true;
    s.program.thread("other", [&s](uint32_t) { return s.progress.poll(), kFinished; });
    return walk(s, [&s](const End& end) { return end.value(s.engine.clash) == 0; });
  }
  // A thread sleeps until another process stores to memory, and says so by the watch; passively while somebody holds the baton.
  Found watch(bool held) const {
    Scenario s(ProgressMode::caller);
    s.without_bias();
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
};

}  // namespace portunus::interleave
