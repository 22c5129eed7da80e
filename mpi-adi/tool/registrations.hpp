// registrations.hpp: who listens to which events, by which callbacks.
//
// A registration has a callback for each level of safety. An event calls the one of the least level that is enough for where it is raised;
// without one it is dropped, and the registration's handler for that is told when the next event is not.
//
// Thread: any: a lock is held while the registrations are looked at, and not while callbacks run.
// Invariant: a registration ends when none of its callbacks runs, but for the one that ends it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "mpi-adi/mpi.h"
#include "mpi-adi/tool/event_types.hpp"

namespace portunus::mpi::tool {

// One event, while callbacks run for it: an MPI_T_event_instance is its address.
struct Instance {
  Event event;
  uint64_t time_ns;
  std::array<int64_t, kMostElements> numbers;
};

inline constexpr std::array<MPI_T_cb_safety, 4> kSafeties{MPI_T_CB_REQUIRE_NONE, MPI_T_CB_REQUIRE_MPI_RESTRICTED,
                                                          MPI_T_CB_REQUIRE_THREAD_SAFE, MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE};

struct Callback {
  MPI_T_event_cb_function* function = nullptr;
  void* user_data = nullptr;
};

struct Registration {
  Event event{};
  std::array<Callback, kSafeties.size()> callbacks{};
  MPI_T_event_dropped_cb_function* dropped_handler = nullptr;
  std::atomic<int64_t> dropped{0};
  std::atomic<int> running{0};
};

// nullptr: there is no memory.
Registration* add_registration(Event event);
Registration* find_registration(MPI_T_event_registration handle);
inline MPI_T_event_registration handle_of(Registration* registration) { return reinterpret_cast<MPI_T_event_registration>(registration); }
// Waits until none of its callbacks runs in another thread.
void remove_registration(Registration* registration);
// The place of a level in `callbacks`; -1: there is no such level.
int place_of(MPI_T_cb_safety safety);
void set_callback(Registration& registration, int place, Callback callback);
Callback callback_of(Registration& registration, int place);
void set_dropped_handler(Registration& registration, MPI_T_event_dropped_cb_function* handler);

// nullptr: it is none whose callbacks run in this thread.
const Instance* find_instance(MPI_T_event_instance handle);

}  // namespace portunus::mpi::tool
