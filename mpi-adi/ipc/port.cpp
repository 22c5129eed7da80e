// port.cpp: opening, closing, addresses, and what every call checks first.
#include "mpi-adi/ipc/port.hpp"

#include <pthread.h>
#include <unistd.h>

#include <array>
#include <cinttypes>
#include <cstdlib>
#include <cstring>

#include "mpi-adi/ipc/internal.hpp"
#include "mpi-adi/ipc/memory.hpp"

namespace portunus::peace {
namespace {

Mutex lifetime;  // guards initialisation, opening and closing
std::atomic<int> uses{0};
std::atomic<bool> forked{false};
std::array<std::atomic<Port*>, kMostPort + 1> table{};  // written under `lifetime`; ports are never freed
std::array<uint32_t, kMostPort + 1> generations{};      // under `lifetime`: the last one of each number
std::vector<uint32_t>& opened() {                       // under `lifetime`: the numbers of open ports, in order of opening
  static auto& all = *new std::vector<uint32_t>;
  return all;
}
std::atomic<uint64_t> home{0};  // header data of the first of them
std::atomic<uint64_t> tokens{1};

// A handle is no address: number, generation and a tag, so that one that was never given out is told from those that were.
constexpr uint64_t kTag = 0x50;
uint64_t handle_of(peace_address_t address) { return uint64_t{address.generation} << 32 | uint64_t{address.port} << 8 | kTag; }

uint32_t free_number() {
  constexpr uint32_t kFirstAny = 32'768;
  for (uint32_t number = kFirstAny; number <= kMostPort; ++number)
    if (Port* port = table[number].load(std::memory_order_relaxed); !port || !port->open()) return number;
  for (uint32_t number = 1; number < kFirstAny; ++number)
    if (Port* port = table[number].load(std::memory_order_relaxed); !port || !port->open()) return number;
  return 0;
}

void choose_home() {
  uint64_t data = 0;
  if (!opened().empty()) {
    const peace_address_t& address = table[opened().front()].load(std::memory_order_relaxed)->address;
    data = header_data(address.port, address.generation, 0);
  }
  home.store(data, std::memory_order_release);
}

// A held message, in answer to a select that asked for the signal.
void arrived(Listener& listener, const ptl_event_t&) {
  auto& port = static_cast<Port&>(listener);
  {
    const std::lock_guard lock(port.mutex);
    port.armed = false;
  }
  wake_selects();
}

int open_entries(Port& port) {
  const peace_address_t& address = port.address;
  int code = PtlCTAlloc(interface.ni, &port.arrivals);
  if (code != PTL_OK) return code;
  // Messages that asked for somebody who waits now are not held.
  ptl_me_t hold = entry_for(nullptr, 0, PTL_ME_OP_PUT | PTLX_ME_HOLD | PTL_ME_EVENT_COMM_DISABLE,
                            port_bits(address.port, address.generation), kFormMask | kTypeMask, anybody());
  if (port.buffers.empty()) {
    hold.ct_handle = port.arrivals;
    hold.options |= PTL_ME_EVENT_CT_COMM;
  }
  code = PtlMEAppend(interface.ni, kReceives, &hold, PTL_OVERFLOW_LIST, nullptr, &port.hold);
  if (code != PTL_OK) return code;
  const ptl_me_t told = entry_for(&port.address, sizeof port.address, PTL_ME_OP_GET | PTL_ME_EVENT_COMM_DISABLE,
                                  token_bits(Kept::port, uint64_t{address.port} << kPortShift), 0, anybody());
  return PtlMEAppend(interface.ni, kTokens, &told, PTL_PRIORITY_LIST, nullptr, &port.told);
}

void close_entries(Port& port) {
  if (port.told != PTL_INVALID_HANDLE) client::take_out(port.told);
  if (port.hold != PTL_INVALID_HANDLE) {
    PtlMEUnlink(port.hold);
    const ptl_me_t all = entry_for(nullptr, 0, PTL_ME_OP_PUT, port_bits(port.address.port, port.address.generation),
                                   kFormMask | kTryBit | kTypeMask, anybody());
    PtlxMERefuse(interface.ni, kReceives, &all);
  }
  if (port.arrivals != PTL_CT_NONE) PtlCTFree(port.arrivals);
  port.told = port.hold = PTL_INVALID_HANDLE;
  port.arrivals = PTL_CT_NONE;
  if (port.fd >= 0) close(port.fd);
  port.fd = -1;
}

int close_port(Port& port) {
  const uint32_t number = port.address.port;
  {
    const std::lock_guard lock(port.mutex);
    port.handle.store(0, std::memory_order_release);
    for (Receive* receive : port.receives) {
      const bool waits_for_buffer = receive->entry == PTL_INVALID_HANDLE;
      const int code = waits_for_buffer ? int{PTL_OK} : PtlMEUnlink(receive->entry);
      receive->entry_is_gone = code != PTL_IN_USE;
      if (code == PTL_OK && !receive->over()) complete(*receive, PEACE_GONE);
    }
    close_entries(port);
  }
  close_buffers(port);
  wake_selects();
  poke();
  std::erase(opened(), number);
  choose_home();
  return PEACE_OK;
}

// A request for a few bytes of a peer's entry.
struct Ask : Request {};
void answered(Listener& listener, const ptl_event_t& event) {
  auto& ask = static_cast<Ask&>(listener);
  complete(ask,
           event.ni_fail_type == PTL_NI_OK && event.mlength != sizeof(peace_address_t) ? PEACE_GONE : result_of_move(event.ni_fail_type));
}
int ask_for_port(uint64_t process, uint32_t number, peace_address_t& address) {
  if (!admit()) return fail(PEACE_NO_SPACE, "more than %d requests are under way", kMostPending);
  Ask ask;
  ask.heard = answered;
  ask.doing = "asks for";
  ask.with = process;
  ask.port = number;
  peace_address_t got{};
  const int code = PtlGet(interface.md, offset_of(&got), sizeof got, process_of(process), kTokens,
                          token_bits(Kept::port, uint64_t{number} << kPortShift), 0, &ask);
  if (code == PTL_OK) wait(ask);
  dismiss();
  if (code != PTL_OK) return portals_failed("ask for a port", code);
  if (ask.result == PEACE_OK) address = got;
  return ask.result;
}

}  // namespace

int check_state() {
  if (forked.load(std::memory_order_relaxed))
    return fail(PEACE_STATE, "this process was made by fork after peace_init: it has to exec before it uses peace");
  if (uses.load(std::memory_order_acquire) == 0) return fail(PEACE_STATE, "peace_init was not called, or peace_fini was called as often");
  return PEACE_OK;
}

int bad_limit() { return fail(PEACE_ARG, "the limit is below PEACE_FOREVER (-1)"); }

int check_address(peace_address_t address) {
  if (address.process == 0) return fail(PEACE_ARG, "the address names no process: its process is 0");
  if (address.port == 0 || address.port > kMostPort) return fail(PEACE_ARG, "the address's port %u is not from 1 to 65535", address.port);
  if (address.generation == 0 || address.generation > kMostGeneration)
    return fail(PEACE_ARG, "the address's generation %u was never given out; use peace_find or peace_address", address.generation);
  return PEACE_OK;
}

Port* find_port(peace_port_t given) {
  if (check_state() != PEACE_OK) return nullptr;
  const auto handle = reinterpret_cast<uint64_t>(given);
  const uint32_t number = static_cast<uint32_t>(handle >> 8) & 0xffffff;
  Port* port = (handle & 0xff) == kTag && number <= kMostPort ? table[number].load(std::memory_order_acquire) : nullptr;
  if (port && port->handle.load(std::memory_order_acquire) == handle) return port;
  fail(PEACE_STATE, given ? "the port is closed, or is no port" : "the port is NULL");
  return nullptr;
}

uint64_t own_header_data(uint64_t token) { return home.load(std::memory_order_acquire) | (token & kTokenMask); }
uint64_t new_token() { return tokens.fetch_add(1, std::memory_order_relaxed) & kTokenMask; }

int busy_or_gone(peace_address_t to) {
  peace_address_t there{};
  const int code = ask_for_port(to.process, to.port, there);
  if (code == PEACE_OK && there.generation == to.generation)
    return fail(PEACE_BUSY, "nobody waits at port %u for this message now", to.port);
  if (code == PEACE_DIED) return fail(PEACE_DIED, "the process of port %u has ended, or cannot be reached", to.port);
  return code == PEACE_OK || code == PEACE_GONE ? fail(PEACE_GONE, "port %u is closed", to.port) : code;
}

void count_taken(Port& port, uint64_t messages) {
  port.taken += messages;
  for (uint64_t i = 0; port.fd >= 0 && i < messages; ++i) {
    uint64_t one;
    if (read(port.fd, &one, sizeof one) < 0) break;
  }
}

void resettle(Port& port) {
  {
    const std::lock_guard lock(port.mutex);
    if (!port.open() || port.fd < 0) return;
    uint64_t one;
    while (read(port.fd, &one, sizeof one) > 0) {
    }
  }
  // After that: what came meanwhile, or is for an accept, is found, or tells the descriptor by itself.
  poll();
  bool there;
  if (port.buffers.empty()) {
    Ask search;
    search.heard = [](Listener& listener, const ptl_event_t& event) {
      complete(static_cast<Ask&>(listener), event.ni_fail_type == PTL_NI_OK ? PEACE_OK : PEACE_BUSY);
    };
    const ptl_me_t like =
        entry_for(nullptr, 0, kOnce, port_bits(port.address.port, port.address.generation), kFormMask | kTryBit | kTypeMask, anybody());
    if (PtlMESearch(interface.ni, kReceives, &like, PTL_SEARCH_ONLY, static_cast<Listener*>(&search)) != PTL_OK) return;
    wait(search);
    there = search.result == PEACE_OK;
  } else {
    const std::lock_guard lock(port.mutex);
    there = !port.queue.empty() && port.queue.front()->full;
  }
  const std::lock_guard lock(port.mutex);
  const uint64_t one = 1;
  if (there && port.fd >= 0 && write(port.fd, &one, sizeof one) < 0) return;
}

}  // namespace portunus::peace

using namespace portunus::peace;

int peace_init(void) try {
  if (forked.load(std::memory_order_relaxed)) return check_state();
  const std::lock_guard lock(lifetime);
  if (uses.load(std::memory_order_relaxed) == 0) {
    static const int once = pthread_atfork(nullptr, nullptr, [] {
      if (uses.load(std::memory_order_relaxed) > 0) forked.store(true, std::memory_order_relaxed);
    });
    (void)once;
    if (const int code = interface.open(); code != PEACE_OK) return code;
    if (const int code = open_memory(); code != PEACE_OK) {
      interface.close();
      return code;
    }
    // A process with the address of one that has ended shall not take what is meant for that one's ports.
    const auto seed = static_cast<uint32_t>(now() / 1000);
    for (uint32_t number = 1; number <= kMostPort; ++number)
      if (generations[number] == 0) generations[number] = seed % kMostGeneration + 1;
  }
  uses.fetch_add(1, std::memory_order_release);
  return PEACE_OK;
}
PEACE_BARRIER

int peace_fini(void) try {
  if (const int code = check_state(); code != PEACE_OK) return code;
  const std::lock_guard lock(lifetime);
  if (uses.load(std::memory_order_relaxed) == 1) {
    while (!opened().empty()) close_port(*table[opened().front()].load(std::memory_order_relaxed));
    close_requests();
    close_tasks();
    forget_peers();
    close_memory();
    interface.close();
  }
  uses.fetch_sub(1, std::memory_order_release);
  return PEACE_OK;
}
PEACE_BARRIER

int peace_open(uint32_t number, uint32_t buffers, size_t bytes, peace_port_t* out) try {
  if (const int code = check_state(); code != PEACE_OK) return code;
  if (!out) return fail(PEACE_ARG, "port is NULL");
  if (number > kMostPort) return fail(PEACE_ARG, "number %u is not from 0 to 65535", number);
  const std::lock_guard lock(lifetime);
  if (number == 0 && (number = free_number()) == 0) return fail(PEACE_NO_SPACE, "all 65535 ports are open");
  Port* port = table[number].load(std::memory_order_relaxed);
  if (port && port->open()) return fail(PEACE_STATE, "port %u is open in this process", number);
  if (!port) {
    port = new (std::nothrow) Port;
    if (!port) return fail(PEACE_NO_SPACE, "there is no memory for a port");
    port->heard = arrived;
    table[number].store(port, std::memory_order_release);
  }
  generations[number] = generations[number] % kMostGeneration + 1;
  const std::lock_guard port_lock(port->mutex);
  port->address = {number_of(interface.self), number, generations[number]};
  port->taken = 0;
  port->notified = 0;
  port->armed = false;
  int code = open_buffers(*port, buffers, bytes);
  if (code == PEACE_OK)
    if (const int ptl_code = open_entries(*port); ptl_code != PTL_OK) code = portals_failed("open a port", ptl_code);
  for (const std::unique_ptr<Buffer>& buffer : port->buffers)
    if (code == PEACE_OK) {
      refill(*port, *buffer);
      if (buffer->entry == PTL_INVALID_HANDLE) code = fail(PEACE_NO_SPACE, "there is no room for a buffer");
    }
  if (code != PEACE_OK) {
    close_entries(*port);
    return code;
  }
  port->handle.store(handle_of(port->address), std::memory_order_release);
  opened().push_back(number);
  choose_home();
  *out = reinterpret_cast<peace_port_t>(handle_of(port->address));
  return PEACE_OK;
}
PEACE_BARRIER

int peace_close(peace_port_t* given) try {
  if (const int code = check_state(); code != PEACE_OK) return code;
  if (!given) return fail(PEACE_ARG, "port is NULL");
  const std::lock_guard lock(lifetime);
  Port* port = find_port(*given);
  if (!port) return PEACE_STATE;
  *given = nullptr;
  return close_port(*port);
}
PEACE_BARRIER

int peace_address(peace_port_t given, peace_address_t* address) try {
  Port* port = find_port(given);
  if (!port) return PEACE_STATE;
  if (!address) return fail(PEACE_ARG, "address is NULL");
  *address = port->address;
  return PEACE_OK;
}
PEACE_BARRIER

int peace_rank() { return check_state() != PEACE_OK ? -1 : interface.joined ? interface.job.rank : 0; }
int peace_size() { return check_state() != PEACE_OK ? -1 : interface.joined ? interface.job.size : 1; }

uint64_t peace_process(int rank) {
  if (check_state() != PEACE_OK) return 0;
  if (rank == -1 || (!interface.joined && rank == 0)) return number_of(interface.self);
  if (!interface.joined || rank < 0 || rank >= interface.job.size) {
    fail(PEACE_ARG, "rank %d is not below %d", rank, interface.joined ? interface.job.size : 1);
    return 0;
  }
  uint64_t process = 0;
  size_t size = sizeof process;
  return PtlxJobGet(rank, "peace.process", &process, &size) == PTL_OK ? process : 0;
}

int peace_find(uint64_t process, uint32_t number, int64_t limit, peace_address_t* address) try {
  if (const int code = check_state(); code != PEACE_OK) return code;
  if (!address) return fail(PEACE_ARG, "address is NULL");
  if (process == 0) return fail(PEACE_ARG, "process is 0");
  if (number == 0 || number > kMostPort) return fail(PEACE_ARG, "number %u is not from 1 to 65535", number);
  if (const int code = check_limit(limit); code != PEACE_OK) return code;
  const int64_t deadline = deadline_of(limit);
  for (int64_t pause = 100'000;; pause = std::min<int64_t>(2 * pause, 10'000'000)) {
    const int code = ask_for_port(process, number, *address);
    if (code == PEACE_DIED) return fail(PEACE_DIED, "the process has ended, or cannot be reached");
    if (code != PEACE_GONE) return code;
    if (limit == 0) return fail(PEACE_BUSY, "port %u is not open now", number);
    Ask nothing;  // it never ends
    int64_t until = now() + pause;
    if (deadline != kNever) until = std::min(until, deadline);
    nothing.doing = "waits for the opening of";
    nothing.with = process;
    nothing.port = number;
    wait(nothing, until);
    if (deadline != kNever && now() >= deadline) return fail(PEACE_TIMEOUT, "port %u was not opened in time", number);
  }
}
PEACE_BARRIER
