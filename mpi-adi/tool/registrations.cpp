// registrations.cpp: see registrations.hpp.
#include "mpi-adi/tool/registrations.hpp"

#include <sched.h>

#include <algorithm>
#include <mutex>
#include <vector>

#include "mpi-adi/comm/comm.hpp"
#include "mpi-adi/core/device.hpp"
#include "mpi-adi/core/long_waits.hpp"
#include "mpi-adi/core/objects.hpp"

namespace portunus::mpi::tool {

constinit std::atomic<uint32_t> listened{0};

namespace {

constinit ObjectPool<Registration, 1 << 12> registrations;
constinit std::mutex registrations_mutex;

// The registrations' lock is held.
void count_listened() {
  uint32_t all = 0;
  registrations.for_each([&](const Registration& each) {
    if (std::ranges::any_of(each.callbacks, [](const Callback& one) { return one.function != nullptr; })) all |= bit_of(each.event);
  });
  listened.store(all, std::memory_order_relaxed);
  hear_communicators((all & kByCommunicator) != 0);
}

// The least level that is enough: with several threads any may raise an event while another does.
int required_place(const EventType& type) { return device::device.threaded ? 2 : type.inside ? 1 : 0; }

struct Due {
  Registration* registration;  // nullptr: it has ended meanwhile
  Callback callback;
  MPI_T_event_dropped_cb_function* dropped_handler;
  int64_t dropped;
  MPI_T_cb_safety safety;
};

// The event whose callbacks run in this thread, and these.
thread_local constinit const Instance* current = nullptr;
thread_local constinit std::vector<Due>* current_due = nullptr;

// Those that are to be called, which run from now on.
std::vector<Due> due_for(Event event) {
  const std::lock_guard lock(registrations_mutex);
  std::vector<Due> due;
  const auto first = static_cast<size_t>(required_place(kEventTypes[static_cast<int>(event)]));
  registrations.for_each([&](Registration& each) {
    if (each.event != event) return;
    const auto found = std::find_if(each.callbacks.begin() + static_cast<std::ptrdiff_t>(first), each.callbacks.end(),
                                    [](const Callback& one) { return one.function != nullptr; });
    if (current != nullptr || found == each.callbacks.end()) {
      each.dropped.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    each.running.fetch_add(1, std::memory_order_relaxed);
    due.push_back({&each, *found, each.dropped_handler, each.dropped.exchange(0, std::memory_order_relaxed), kSafeties[first]});
  });
  return due;
}

}  // namespace

void call_back(Event event, int64_t a, int64_t b, int64_t c, int64_t d) try {
  const Instance instance{event, device::long_waits::now(), {a, b, c, d}};
  std::vector<Due> due = due_for(event);
  if (due.empty()) return;
  current = &instance;
  current_due = &due;
  for (Due& each : due) {
    if (each.registration == nullptr) continue;
    if (each.dropped > 0 && each.dropped_handler != nullptr)
      each.dropped_handler(each.dropped, handle_of(each.registration), 0, each.safety, each.callback.user_data);
    const auto handle = reinterpret_cast<MPI_T_event_instance>(const_cast<Instance*>(&instance));
    if (each.registration != nullptr) each.callback.function(handle, handle_of(each.registration), each.safety, each.callback.user_data);
    if (each.registration != nullptr) each.registration->running.fetch_sub(1, std::memory_order_release);
    each.registration = nullptr;
  }
  current = nullptr;
  current_due = nullptr;
} catch (const std::bad_alloc&) {  // nobody is told
}

Registration* add_registration(Event event) {
  const std::lock_guard lock(registrations_mutex);
  Registration* const made = registrations.claim();
  if (made != nullptr) made->event = event;
  return made;
}

Registration* find_registration(MPI_T_event_registration handle) { return registrations.find(handle); }

void remove_registration(Registration* registration) {
  {
    const std::lock_guard lock(registrations_mutex);
    registration->callbacks = {};
    count_listened();
  }
  int own = 0;  // callbacks of this thread, one of which may be what calls
  if (current_due != nullptr)
    for (Due& each : *current_due)
      if (each.registration == registration) {
        each.registration = nullptr;
        ++own;
      }
  while (registration->running.load(std::memory_order_acquire) > own) sched_yield();
  const std::lock_guard lock(registrations_mutex);
  registrations.release(registration);
}

int place_of(MPI_T_cb_safety safety) {
  const auto found = std::ranges::find(kSafeties, safety);
  return found == kSafeties.end() ? -1 : static_cast<int>(found - kSafeties.begin());
}

void set_callback(Registration& registration, int place, Callback callback) {
  const std::lock_guard lock(registrations_mutex);
  registration.callbacks[static_cast<size_t>(place)] = callback;
  count_listened();
}

Callback callback_of(Registration& registration, int place) {
  const std::lock_guard lock(registrations_mutex);
  return registration.callbacks[static_cast<size_t>(place)];
}

void set_dropped_handler(Registration& registration, MPI_T_event_dropped_cb_function* handler) {
  const std::lock_guard lock(registrations_mutex);
  registration.dropped_handler = handler;
}

const Instance* find_instance(MPI_T_event_instance handle) {
  return current != nullptr && reinterpret_cast<const Instance*>(handle) == current ? current : nullptr;
}

}  // namespace portunus::mpi::tool
