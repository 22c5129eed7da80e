// window.hpp: windows: memory of all ranks of a communicator that each of them may access.
//
// A window is match list entries of each rank: its memory, a control block with the lock word, and one that wakes it when a lock is
// released. Accesses are puts, gets and atomics to them; nothing of it needs a call of the target. All that this rank issues is counted on
// one counting event when it is complete at the target, so that a flush waits for one number. Accumulates are Portals atomics, executed by
// the engine of the target: one atomicity domain. Memory that MPI allocates is shared by the ranks of a node, and put and get are copies
// there.
//
// Thread: accesses and flushes any; synchronization of one window one at a time. Invariants: a window's number is the context of its own
// communicator, which no other window that this process takes part in has. Source: MPI-5.0, chapter 12.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/client/remote_memory.hpp"
#include "mpi-adi/comm/comm.hpp"
#include "mpi-adi/core/attributes.hpp"
#include "mpi-adi/core/device.hpp"
#include "mpi-adi/core/errors.hpp"
#include "mpi-adi/core/info.hpp"
#include "mpi-adi/core/objects.hpp"
#include "mpi-adi/mpi.h"
#include "mpi-adi/rma/exposure.hpp"
#include "mpi-adi/rma/notify.hpp"
#include "mpi-adi/rma/order.hpp"
#include "mpi-adi/types/segment.hpp"

namespace portunus::mpi::rma {

using device::kWindowPortal;

// Match bits: the number of the window, and which of its entries; a notification's number lies above them.
enum class Place : uint64_t { memory = 0, control = 1, notified = 2, released = 3 };
constexpr ptl_match_bits_t match_bits(uint16_t number, Place place) { return uint64_t{number} << 8 | static_cast<uint64_t>(place); }

// Words that other ranks change by atomics, zero at first.
struct Control {
  alignas(64) int64_t lock = 0;        // which ranks hold it, see lock.cpp
  int64_t sleepers = 0;                // a bit for each rank that sleeps until the lock is released; ranks may have the same
  alignas(64) int64_t accumulate = 0;  // 1: a rank combines by loads and stores
};

// A change of a word of another rank's control block, as long as it is on its way.
struct ControlChange {
  int64_t value, nobody = 0, old = 0;
};

// A rank as the others see it.
struct Member {
  uint64_t base = 0;
  int64_t size = 0;
  int64_t unit = 1;
  int job_rank = 0;
  std::byte* mapped = nullptr;  // its memory in this process, if it is shared
  Control* control = nullptr;   // its control block in this process, likewise
};

// An origin that is to complete its accesses to this rank's memory (MPI_Win_post): by a message, or by its line in `exposures`.
struct AwaitedOrigin {
  int rank;
  Request* message = nullptr;
};

// The epoch of this rank's accesses. A fence begins none by itself; `fenced`: there was an access after one.
enum class Epoch : uint8_t { none, fence, fenced, access, lock_all };

struct Window {
  uint16_t number = 0;
  int flavor = MPI_WIN_FLAVOR_CREATE;
  int model = MPI_WIN_UNIFIED;
  Communicator* comm = nullptr;  // its own
  std::byte* base = nullptr;
  MPI_Aint size = 0;
  MPI_Aint unit = 1;
  int narrow_unit = 1;  // as attribute; MPI_UNDEFINED: no int holds it
  std::vector<Member> members;
  Control* control = nullptr;
  std::unique_ptr<Control> own_control;  // unless it lies in the segment
  client::SharedMemory segment{"win", client::SharedMemory::Pages::when_touched};
  std::unique_ptr<std::byte[]> owned;  // allocated, and shared with nobody
  client::MatchEntry memory_entry, control_entry;
  client::Counter released;  // counts when a lock that this rank sleeps for may have been released
  client::MatchEntry released_entry;
  std::mutex unanswered_mutex;
  std::list<ControlChange> unanswered;  // their answers may still come
  client::Operations operations;        // of this rank
  client::Descriptor reporting;         // for operations that have an event each, too
  client::Descriptor together;          // for short ones, whose messages may wait for others until a call waits for them
  LongAccumulates long_accumulates;
  std::unique_ptr<Notifications> notifications;  // nullptr: it has none
  std::unique_ptr<std::byte[]> discarded;        // for old values that no program asks for

  std::atomic<Epoch> epoch{Epoch::none};
  bool exposed = false;                  // MPI_Win_post
  std::unique_ptr<Exposures> exposures;  // for ranks of the node; nullptr: all are told by messages
  std::vector<bool> accessible;          // by rank: MPI_Win_start
  std::vector<int> locked;               // by rank: MPI_LOCK_SHARED, MPI_LOCK_EXCLUSIVE, 0; -1: nothing to release
  std::vector<AwaitedOrigin> awaited;

  std::atomic<MPI_Errhandler> errhandler{nullptr};
  Attributes<MPI_Win> attributes;
  Hints hints;
  char name[MPI_MAX_OBJECT_NAME] = "";
};

using WindowPool = ObjectPool<Window, kMaxCommunicators>;
extern constinit WindowPool windows;

// Returns nullptr when there is no such window.
inline Window* find_window(MPI_Win handle) { return predefined_count != 0 ? windows.find(handle) : nullptr; }
inline MPI_Win handle_of(const Window* window) { return reinterpret_cast<MPI_Win>(const_cast<Window*>(window)); }

// Finds the window; returns MPI_SUCCESS or the error that was raised.
[[gnu::cold]] int refuse_window(const char* function, MPI_Win handle);
inline int check(const char* function, MPI_Win handle, Window*& found) {
  found = find_window(handle);
  return found != nullptr ? MPI_SUCCESS : refuse_window(function, handle);
}
Origin origin_of(const Window& window);
[[gnu::cold, gnu::noinline, gnu::format(printf, 4, 5)]] int raise(const char* function, const Window& window, int code, const char* cause,
                                                                  ...);

// Tells whether no epoch is pending that a call must end: of accesses, but for fences, or of exposure.
bool is_synchronized(const Window& window);
// Tells whether a passive epoch towards that rank has begun.
bool is_passive(const Window& window, size_t rank);
// Waits until all that this rank has issued is complete at the targets: MPI_SUCCESS, or the error that was raised.
int flush(const char* function, Window& window);
// Changes a word of a rank's control block, by a pointer where this process maps it: word = word op value; PTL_CSWAP: word = value where it
// was 0. `old` is what it was.
int change_control(const char* function, Window& window, int rank, int64_t Control::*word, ptl_op_t op, int64_t value, int64_t& old);

}  // namespace portunus::mpi::rma
