// select.cpp: exactly one of several receives and at most one send.
//
// With several alternatives their entries are never appended together: that would release several senders. Messages are held; at a port
// that has some, an entry is appended that takes what is there, and unlinked if it took nothing, before the next port is looked at. When
// none is there, the next arrival at each port sends a signal here. An offer is an ordinary send that is withdrawn on an arrival: if it is
// too late for that, the offer was chosen, and the arrival stays held. Two that offer to each other and withdraw at the same time try again
// after pauses of random length.
#include <algorithm>
#include <list>
#include <random>

#include "mpi-adi/ipc/internal.hpp"

namespace portunus::peace {

// A thread in a select. Never freed: what ends an offer may wake it late, and it looks once more then.
struct Selecting : Request {
  std::optional<Send> offer;
  std::atomic<bool> offer_over{false};
};

namespace {

Mutex mutex;  // guards the two below; taken after a port's
std::vector<Selecting*>& waiting() {
  static auto& all = *new std::vector<Selecting*>;
  return all;
}
std::vector<Selecting*>& spare() {
  static auto& all = *new std::vector<Selecting*>;
  return all;
}
std::atomic<unsigned> selecting{0};  // how many are in `waiting`
std::atomic<unsigned> rotation{0};

// In the list for the length of a select.
class Listed {
 public:
  Listed() {
    const std::lock_guard lock(mutex);
    if (spare().empty()) {
      spare().reserve(++made());
      waiting().reserve(made());
      self_ = new Selecting;
    } else {
      self_ = spare().back();
      spare().pop_back();
    }
    waiting().push_back(self_);
    selecting.fetch_add(1, std::memory_order_seq_cst);
  }
  Listed(const Listed&) = delete;
  ~Listed() {
    const std::lock_guard lock(mutex);
    std::erase(waiting(), self_);
    spare().push_back(self_);
    selecting.fetch_sub(1, std::memory_order_relaxed);
  }
  Selecting& operator*() { return *self_; }

 private:
  static size_t& made() {
    static size_t count = 0;
    return count;
  }
  Selecting* self_;
};

void offer_ended(Send& send) {
  // The select of this send is its thread's, whose object outlives it.
  Selecting& self = *send.selecting;
  send.result = send.taken;
  self.offer_over.store(true, std::memory_order_release);
  complete(self, PEACE_OK);
}

void peer_died(Request& request) { complete(request, PEACE_DIED); }

class Select {
 public:
  Select(const peace_alternative_t* from, int count, const std::vector<Port*>& ports, const peace_offer_t* offer, Selecting& self,
         bool waits)
      : from_(from), count_(count), ports_(ports), offer_(offer), self_(self), waits_(waits) {}

  int run(unsigned flags, int64_t limit, int& chosen, peace_message_t& message);

 private:
  bool enabled(int i) const { return ports_[static_cast<size_t>(i)] != nullptr; }
  // PEACE_BUSY: nothing is there; what comes wakes this select, if it waits. Else `i` was chosen, and this is its result.
  int try_alternative(int i, peace_message_t& message);
  int scan(unsigned first, int& chosen, peace_message_t& message);
  int nobody_or_dead(int i);
  // An arrival after so many sends a signal, also if it has by now. The port's mutex is held.
  void arm(Port& port, uint64_t seen);
  int make_offer(bool only_now);
  int offer_result(peace_message_t& message) {
    message = self_.offer->message;
    const int result = result_of_send(*self_.offer, PEACE_TIMEOUT);
    self_.offer.reset();
    return result;
  }
  void end_offer() {
    withdraw_send(*self_.offer);
    while (!self_.offer_over.load(std::memory_order_acquire)) {
      wait(self_);
      self_.again();
    }
  }

  const peace_alternative_t* from_;
  int count_;
  const std::vector<Port*>& ports_;
  const peace_offer_t* offer_;
  Selecting& self_;
  const bool waits_;  // what arrives later shall wake it
};

int Select::try_alternative(int i, peace_message_t& message) {
  Port& port = *ports_[static_cast<size_t>(i)];
  const peace_alternative_t& want = from_[i];
  if (!port.open()) return fail(PEACE_GONE, "the port of alternative %d was closed", i);
  if (!port.buffers.empty()) {
    std::unique_lock lock(port.mutex);
    if (!take_now(port, {want.memory, want.bytes}, lock, message)) return PEACE_BUSY;
    return message.moved < message.sent ? fail(PEACE_CUT, "the message was longer than the room for it") : static_cast<int>(PEACE_OK);
  }
  // Whatever comes sends a signal: to ask the counter would look at the network for each port.
  if (waits_ && port.armed.load(std::memory_order_acquire) &&
      port.armed_at.load(std::memory_order_relaxed) == port.taken.load(std::memory_order_relaxed))
    return nobody_or_dead(i);
  ptl_ct_event_t arrivals{};
  {
    const std::lock_guard lock(port.mutex);
    if (!port.open() || PtlCTGet(port.arrivals, &arrivals) != PTL_OK) return fail(PEACE_GONE, "the port of alternative %d was closed", i);
    if (arrivals.success == port.taken) {
      if (waits_) arm(port, arrivals.success);
      return nobody_or_dead(i);
    }
  }
  Receive receive;
  receive.at_once = true;
  if (const int code = begin_receive(receive, port, want.which, {want.memory, want.bytes}, Form::send); code != PEACE_OK) return code;
  const int result = end_at_once(receive);
  const bool died = result == PEACE_DIED && any_process(want.which);  // it never was
  if (result != PEACE_BUSY && !died) {
    message = receive.message;
    return result;
  }
  if (waits_) {
    const std::lock_guard lock(port.mutex);
    if (!port.open()) return fail(PEACE_GONE, "the port of alternative %d was closed", i);
    arm(port, arrivals.success);
  }
  return nobody_or_dead(i);
}

int Select::nobody_or_dead(int i) {
  const peace_pattern_t& which = from_[i].which;
  if (any_process(which) || !has_ended(which.from.process)) return PEACE_BUSY;
  return fail(PEACE_DIED, "the process that alternative %d names has ended", i);
}

int Select::scan(unsigned first, int& chosen, peace_message_t& message) {
  for (int k = 0; k < count_; ++k) {
    const int i = static_cast<int>((first + static_cast<unsigned>(k)) % static_cast<unsigned>(count_));
    if (!enabled(i)) continue;
    const int result = try_alternative(i, message);
    if (result == PEACE_BUSY) continue;
    chosen = i;
    return result;
  }
  return PEACE_BUSY;
}

void Select::arm(Port& port, uint64_t seen) {
  if (port.armed) return;
  port.armed_at = seen;
  port.armed = true;  // before its signal can be heard
  if (PtlTriggeredPut(interface.md_copied, 0, 0, PTL_NO_ACK_REQ, interface.self, kSignals, 0, 0, nullptr,
                      reinterpret_cast<uint64_t>(static_cast<Listener*>(&port)), port.arrivals, seen + 1) != PTL_OK)
    port.armed = false;
}

int Select::make_offer(bool only_now) {
  Send& send = self_.offer.emplace();
  self_.offer_over.store(false, std::memory_order_relaxed);
  send.selecting = &self_;
  send.forgotten = offer_ended;
  const int code = begin_send(send, offer_->to, offer_->type, {offer_->data, offer_->bytes}, 0, only_now);
  if (code != PEACE_OK) self_.offer.reset();
  return code;
}

int Select::run(unsigned flags, int64_t limit, int& chosen, peace_message_t& message) {
  thread_local std::minstd_rand random{std::random_device{}()};
  const int64_t deadline = deadline_of(limit);
  const unsigned first = flags & PEACE_ROTATE ? rotation.load(std::memory_order_relaxed) : 0;
  if (limit == 0) poll();
  int64_t most_pause = 1'000;
  for (;;) {
    self_.again();
    int result = scan(first, chosen, message);
    if (result != PEACE_BUSY) {
      rotation.store(static_cast<unsigned>(chosen) + 1, std::memory_order_relaxed);
      return result;
    }
    chosen = -1;
    if (limit == 0) {
      if (!offer_) return fail(PEACE_BUSY, "no alternative is ready now");
      result = make_offer(true);
      if (result != PEACE_OK) return result;
      while (!self_.offer_over.load(std::memory_order_acquire)) {
        wait(self_);
        self_.again();
      }
      return offer_result(message);
    }
    if (offer_)
      if (result = make_offer(false); result != PEACE_OK) return result;
    const bool woken = wait(self_, deadline);
    if (offer_) {
      const bool ended = self_.offer_over.load(std::memory_order_acquire);
      if (!ended) {
        self_.again();
        end_offer();
      }
      if (self_.offer->taken != PEACE_CANCELLED) return offer_result(message);
      offer_result(message);
      if (!woken) return fail(PEACE_TIMEOUT, "no alternative was ready in time");
      self_.again();
      if (result = scan(first, chosen, message); result != PEACE_BUSY) {
        rotation.store(static_cast<unsigned>(chosen) + 1, std::memory_order_relaxed);
        return result;
      }
      // The arrival is not wanted, or gave way as this one did: whoever pauses longer finds the other's offer.
      int64_t until = now() + static_cast<int64_t>(random() % static_cast<uint64_t>(most_pause));
      if (deadline != kNever) until = std::min(until, deadline);
      most_pause = std::min<int64_t>(2 * most_pause, 1'000'000);
      wait(self_, until);
    }
    if (!woken || (deadline != kNever && now() >= deadline)) {
      self_.again();
      if (result = scan(first, chosen, message); result != PEACE_BUSY) return result;
      chosen = -1;
      return fail(PEACE_TIMEOUT, "no alternative was ready in time");
    }
  }
}

}  // namespace

void wake_selects() {
  if (selecting.load(std::memory_order_seq_cst) == 0) return;
  const std::lock_guard lock(mutex);
  for (Selecting* each : waiting()) complete(*each, PEACE_OK);
}

}  // namespace portunus::peace

using namespace portunus::peace;

int peace_select(const peace_alternative_t* from, int count, const peace_offer_t* offer, unsigned flags, int64_t limit, int* chosen,
                 peace_message_t* message) try {
  if (const int code = check_state(); code != PEACE_OK) return code;
  if (count < 0 || count > 65'536) return fail(PEACE_ARG, "count %d is not from 0 to 65536", count);
  if (count > 0 && !from) return fail(PEACE_ARG, "from is NULL with a count of %d", count);
  if (flags & ~unsigned{PEACE_ROTATE}) return fail(PEACE_ARG, "flags have bits that are not PEACE_ROTATE");
  if (const int code = check_limit(limit); code != PEACE_OK) return code;
  if (offer && !offer->enabled) offer = nullptr;
  if (offer) {
    if (const int code = check_address(offer->to); code != PEACE_OK) return code;
    if (const int code = check_memory("the offer's data", offer->data, offer->bytes, Access::read); code != PEACE_OK) return code;
  }
  thread_local std::vector<Port*> ports;  // kept, as its memory is
  ports.assign(static_cast<size_t>(count), nullptr);
  int last = -1, alternatives = 0;
  for (int i = 0; i < count; ++i) {
    if (!from[i].enabled) continue;
    Port* port = ports[static_cast<size_t>(i)] = find_port(from[i].port);
    if (!port) return PEACE_STATE;
    if (const int code = check_memory("an alternative's memory", from[i].memory, from[i].bytes, Access::write); code != PEACE_OK)
      return code;
    if (!port->buffers.empty() && (from[i].which.from.process != 0 || from[i].which.ignore != ~uint32_t{0}))
      return fail(PEACE_STATE, "alternative %d is a port with buffers: its pattern has to be any process, and ignore all of the type", i);
    last = i;
    ++alternatives;
  }
  int where = -1;
  peace_message_t got{};
  int result;
  if (alternatives == 0 && !offer) return fail(PEACE_STATE, "no alternative is enabled");
  if (alternatives == 0) {
    size_t moved = 0;
    result = peace_send(offer->to, offer->type, offer->data, offer->bytes, 0, limit, &moved);
    got = {offer->to, offer->type, offer->bytes, moved};
  } else if (alternatives == 1 && !offer) {
    where = last;
    result = peace_receive(from[last].port, from[last].which, from[last].memory, from[last].bytes, limit, &got);
  } else {
    Listed self;
    std::list<Watched> watched;
    for (int i = 0; i < count; ++i)
      if (ports[static_cast<size_t>(i)] && from[i].which.from.process != 0)
        if (const int code = watched.emplace_back().begin(from[i].which.from.process, *self, peer_died); code != PEACE_OK) return code;
    Select select(from, count, ports, offer, *self, limit != 0);
    result = select.run(flags, limit, where, got);
  }
  if (chosen) *chosen = where;
  if (message) *message = got;
  return result;
}
PEACE_BARRIER
