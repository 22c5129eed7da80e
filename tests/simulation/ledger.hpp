// ledger.hpp: what a random Portals program was promised, in the shortest form: who sent what, which receive it gets, and how each
// operation must end. It hears what arrives where before the engine does, and is told every event.
//
// The rules: messages of one pair to one portal arrive once each, in the order of issue; a message gets the first receive that was
// appended and matches, or waits for one; SEND comes once, and before ACK or REPLY, which comes once if it was asked for; an operation
// fails only if its target was lost, and then within the limit. Thread: one. Source: Portals 4.3, ordering, matching, events.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "tests/simulation/network.hpp"

namespace portunus::simulation {

constexpr uint16_t kMessages = 0, kWindow = 1;  // portals
constexpr uint32_t kAnybody = ~0u;
constexpr uint64_t kAnyTag = ~uint64_t{0}, kNobodysBits = 99;

// Byte i of the data of operation `id`.
inline uint8_t byte_of(uint64_t id, uint64_t i) { return static_cast<uint8_t>(id * 131 + i * 7 + (i >> 8)); }

struct Receive;

struct Operation {
  enum class Kind : uint8_t { message, put, get, add, fetch };
  uint64_t id = 0;
  Kind kind = Kind::message;
  uint32_t from = 0, to = 0;
  uint64_t tag = 0, length = 0, offset = 0;
  uint64_t order = 0;  // among those of the pair to the portal; 0: any
  ptl_ack_req_t ack = PTL_ACK_REQ;
  bool triggered = false, unwanted = false;  // unwanted: no entry has its bits
  uint64_t threshold = 0;
  uint64_t issued_at = 0;
  uint32_t slot = 0;
  std::vector<uint8_t> data, result;
  std::vector<ptl_iovec_t> pieces;
  // ---- so far ----
  bool begun = false;  // triggered: its counter is there
  unsigned arrivals = 0, sends = 0, answers = 0;
  bool failed = false;
  Receive* receive = nullptr;

  bool replies() const { return kind == Kind::get || kind == Kind::fetch; }
  bool answered() const { return replies() || ack == PTL_ACK_REQ; }
  bool over() const { return (kind == Kind::get || sends == 1) && (!answered() || answers == 1); }
};

struct Receive {
  uint32_t at = 0, source = kAnybody;
  uint64_t tag = kAnyTag;
  std::vector<uint8_t> memory;
  uint32_t handle = PTL_INVALID_HANDLE;
  Operation* operation = nullptr;  // that it gets
  bool done = false;
  bool matches(const Operation& message) const {
    return (source == kAnybody || source == message.from) && (tag == kAnyTag || tag == message.tag);
  }
};

class Ledger {
 public:
  explicit Ledger(Network& net)
      : net_(net), order_(net.weather.ranks * net.weather.ranks * 2), posted_(net.weather.ranks), early_(net.weather.ranks) {}

  Operation& add(Operation operation);
  Receive& add(Receive receive);
  void begin(Operation& operation);  // it is issued now

  // ---- told ----
  void arrived(uint32_t at, uint32_t from, const wire::Header& header);
  void event(uint32_t at, const ptl_event_t& event);

  // ---- asked ----
  // An operation that must have ended and has not: a sentence, or nothing.
  std::string unfinished(const std::vector<bool>& alive) const;
  // Data are still as they came.
  void look_again() const;
  bool waits_for_receive(uint32_t at) const { return !early_[at].empty(); }
  const std::deque<Receive*>& posted(uint32_t at) const { return posted_[at]; }
  std::deque<std::unique_ptr<Operation>>& operations() { return operations_; }
  uint64_t happened() const { return happened_; }
  uint64_t stopped_in_all = 0;  // time that processes did not run: nobody can be blamed for it

 private:
  void match(Receive& receive, Operation& operation);
  void message_received(uint32_t at, const ptl_event_t& event);
  void answered(Operation& operation, const ptl_event_t& event);
  void may_fail(const Operation& operation);
  void violated(const Operation& operation, const char* what) const;

  Network& net_;
  std::deque<std::unique_ptr<Operation>> operations_;
  std::deque<std::unique_ptr<Receive>> receives_;
  struct Order {
    uint64_t issued = 0, arrived = 0;
  };
  Order& order(uint32_t from, uint32_t to, uint16_t portal) { return order_[(size_t{from} * net_.weather.ranks + to) * 2 + portal]; }
  std::vector<Order> order_;
  std::vector<std::deque<Receive*>> posted_;   // unmatched, in order
  std::vector<std::deque<Operation*>> early_;  // unmatched, in order
  uint64_t happened_ = 0;
};

}  // namespace portunus::simulation
