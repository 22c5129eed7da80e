// port.hpp: the ports of this process, and what of a port the other sources share.
//
// Owns: per port an overflow entry that holds messages until somebody receives them, an entry that tells its address, a
// counter of arrivals, and its buffers. Port objects are never freed, so that a stale handle finds one that is closed.
// Thread: any; what is not atomic is guarded by `mutex`. Order of locks: a peer's, then a port's, then the selects'.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "mpi-adi/ipc/events.hpp"

namespace portunus::peace {

struct Port;

// Memory that doubles its receiver: appended, it is empty and ready; its event makes it full.
struct Buffer : Listener {
  Port* port = nullptr;
  std::unique_ptr<std::byte[]> memory;
  ptl_handle_me_t entry = PTL_INVALID_HANDLE;
  bool full = false;
  bool borrowed = false;
  peace_message_t message{};
  uint64_t token = 0;  // whom to tell of its consumption
};

struct Receive;

struct Port : Listener {
  Mutex mutex;
  std::atomic<uint64_t> handle{0};  // 0: closed
  peace_address_t address{};
  ptl_handle_ct_t arrivals = PTL_CT_NONE;  // messages held, or buffers filled
  ptl_handle_me_t hold = PTL_INVALID_HANDLE, told = PTL_INVALID_HANDLE;
  std::vector<Receive*> receives;  // appended, or waiting for a buffer
  size_t buffer_bytes = 0;
  std::vector<std::unique_ptr<Buffer>> buffers;
  std::deque<Buffer*> queue;  // those that are not borrowed, in the order in which they take messages
  // Written with the mutex.
  std::atomic<uint64_t> taken{0};     // of what `arrivals` counts
  std::atomic<bool> armed{false};     // its next arrival sends a signal, or has sent one that was not heard yet
  std::atomic<uint64_t> armed_at{0};  // what `arrivals` was then
  int fd = -1;
  uint64_t notified = 0;  // the engine's word for the descriptor

  bool open() const { return handle.load(std::memory_order_acquire) != 0; }
};

// The open port behind a handle; nullptr: there is none (explained).
Port* find_port(peace_port_t handle);
// The first port that was opened of those that are open, as header data with this token.
uint64_t own_header_data(uint64_t token);
uint64_t new_token();
// PEACE_OK, or PEACE_ARG, explained.
int check_address(peace_address_t address);
// Is this process initialized and the one that was? PEACE_STATE, explained.
int check_state();
inline int check_limit(int64_t limit);
int bad_limit();
inline int check_limit(int64_t limit) { return limit < PEACE_FOREVER ? bad_limit() : static_cast<int>(PEACE_OK); }
// PEACE_OK, or PEACE_ARG, explained: memory that is not there, or may not be read (written). What the calling thread has asked about
// lately costs nothing, else a system call, above 1 MiB a walk through the kernel's list of mappings.
enum class Access : bool { read, write };
int check_memory(const char* argument, const void* memory, size_t bytes, Access access);
// The same without a word.
bool may_touch(const void* memory, size_t bytes, Access access);
size_t page_bytes();
// The result of a message to this address that was not taken: the port serves but nobody waits there (BUSY), or it is gone.
int busy_or_gone(peace_address_t to);
// Messages of a port that were counted have been taken. The port's mutex is held.
void count_taken(Port& port, uint64_t messages = 1);
// A look found nothing, though the descriptor may say otherwise: makes it say what there is. The port's mutex is not held.
void resettle(Port& port);

}  // namespace portunus::peace
