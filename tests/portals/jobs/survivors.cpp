// survivors.cpp: peers that end without a word. What was under way towards them ends as UNDELIVERABLE, the others go on.
//
//   survivors stopped WAY..   the last rank is stopped, all others send to it until nothing more goes, then it is killed
//   survivors bulk WAY..      the last rank is killed while the others pull large blocks from it
//   survivors leaves WAY..    the last rank ends as a program should, while the others still send to it
//   survivors unasked WAY..   the last rank is killed while the others call nothing: what waits for its death happens all the same
//   survivors silent WAY..    the network between the ranks goes silent while they read from one another; each says
//                             "reading" on its output once it does
//   survivors late WAY..      there is no way to the other rank at first: each says "here", and when a byte comes on the input wants one,
//   and
//                             says "asking"
//   survivors computing WAY.. the same while they compute and call nothing: until a byte comes on the input after "reading", which is
//                             for who has seen that both engines know; then until the next after "told", when memory must be as it was
// WAY as peers.hpp reads it. Nothing here measures time: a death that is not noticed hangs, and the launcher ends that.
// Source: Portals 4.3, PTL_NI_UNDELIVERABLE.
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "tests/portals/peers.hpp"

using namespace portals_test;

namespace {

constexpr size_t kSmall = 8, kEager = 4096, kBulk = size_t{8} << 20;

int failures = 0;
void expect(bool holds, const char* what, int line) {
  if (holds) return;
  ++failures;
  std::fprintf(stderr, "survivors.cpp:%d: not so: %s\n", line, what);
}
#define EXPECT(holds) expect((holds), #holds, __LINE__)

class Rank {
 public:
  explicit Rank(Peers& peers) : peers_(peers), memory_(kBulk, 0x11), local_(kBulk, static_cast<uint8_t>(peers.rank)) {
    EXPECT(PtlInit() == PTL_OK);
    EXPECT(PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_PHYSICAL, PTL_PID_ANY, nullptr, nullptr, &ni_) == PTL_OK);
    all_ = addresses(peers, ni_, "address");
    EXPECT(PtlEQAlloc(ni_, 1 << 16, &eq_) == PTL_OK);
    EXPECT(PtlEQAlloc(ni_, 1 << 10, &target_eq_) == PTL_OK);
    EXPECT(PtlCTAlloc(ni_, &heard_) == PTL_OK);
    EXPECT(PtlPTAlloc(ni_, 0, target_eq_, PTL_PT_ANY, &pt_) == PTL_OK);
    offer(kMemory, memory_.data(), memory_.size(), PTL_ME_OP_PUT | PTL_ME_OP_GET | PTL_ME_EVENT_COMM_DISABLE, PTL_CT_NONE);
    offer(kBlocks, memory_.data(), memory_.size(), PTL_ME_OP_PUT, PTL_CT_NONE);
    offer(kNotice, nullptr, 0, PTL_ME_OP_PUT | PTL_ME_EVENT_COMM_DISABLE | PTL_ME_EVENT_CT_COMM, heard_);
    ptl_md_t md{nullptr, PTL_SIZE_MAX, PTL_MD_EVENT_SEND_DISABLE, eq_, PTL_CT_NONE};
    EXPECT(PtlMDBind(ni_, &md, &md_) == PTL_OK);
    processes_ = peers.exchange("process", std::to_string(getpid()));
    peers.meet("offered");
  }
  // Nobody is hung on to.
  void leave() {
    EXPECT(PtlNIFini(ni_) == PTL_OK);
    PtlFini();
  }

  int rank() const { return peers_.rank; }
  int last() const { return peers_.size - 1; }

  // One operation of each kind; each ends with one event.
  void one_of_each(int peer) {
    put(peer, kSmall);
    put(peer, kBulk);
    get(peer, kSmall);
    get(peer, kBulk);
    const auto id = all_[static_cast<size_t>(peer)];
    const auto at = reinterpret_cast<ptl_size_t>(local_.data());
    EXPECT(PtlAtomic(md_, at, 8, PTL_ACK_REQ, id, pt_, kMemory, 0, nullptr, 0, PTL_SUM, PTL_UINT64_T) == PTL_OK);
    EXPECT(PtlFetchAtomic(md_, at, md_, at, 8, id, pt_, kMemory, 0, nullptr, 0, PTL_SUM, PTL_UINT64_T) == PTL_OK);
    EXPECT(PtlSwap(md_, at, md_, at, 8, id, pt_, kMemory, 0, nullptr, 0, nullptr, PTL_SWAP, PTL_UINT64_T) == PTL_OK);
    issued_ += 3;
  }
  void put(int peer, size_t size, ptl_match_bits_t bits = kMemory) {
    EXPECT(PtlPut(md_, reinterpret_cast<ptl_size_t>(local_.data()), size, PTL_ACK_REQ, all_[static_cast<size_t>(peer)], pt_, bits, 0,
                  nullptr, 0) == PTL_OK);
    ++issued_;
  }
  void get(int peer, size_t size) {
    EXPECT(PtlGet(md_, reinterpret_cast<ptl_size_t>(local_.data()), size, all_[static_cast<size_t>(peer)], pt_, kMemory, 0, nullptr) ==
           PTL_OK);
    ++issued_;
  }
  // Waits for the end of all that was issued; returns how many succeeded.
  int ends() {
    int good = 0;
    for (; issued_ > 0; --issued_) {
      ptl_event_t event;
      EXPECT(PtlEQWait(eq_, &event) == PTL_OK);
      EXPECT(event.type == PTL_EVENT_ACK || event.type == PTL_EVENT_REPLY);
      // Dropped is what a process that is still there, but no longer has the interface, makes of a message.
      EXPECT(event.ni_fail_type == PTL_NI_OK || event.ni_fail_type == PTL_NI_UNDELIVERABLE ||
             (may_drop_ && event.ni_fail_type == PTL_NI_DROPPED));
      good += event.ni_fail_type == PTL_NI_OK;
    }
    return good;
  }
  // As the target of that many large puts: each comes whole, or its event says that it does not.
  void blocks(int expected) {
    for (; expected > 0; --expected) {
      ptl_event_t event;
      EXPECT(PtlEQWait(target_eq_, &event) == PTL_OK && event.type == PTL_EVENT_PUT);
      EXPECT(event.ni_fail_type == PTL_NI_OK ? event.mlength == kBulk : event.ni_fail_type == PTL_NI_UNDELIVERABLE);
    }
  }
  void tell(int peer) { EXPECT(PtlPut(md_, 0, 0, PTL_NO_ACK_REQ, all_[static_cast<size_t>(peer)], pt_, kNotice, 0, nullptr, 0) == PTL_OK); }
  void hear(int times) {
    ptl_ct_event_t value;
    heard_so_far_ += static_cast<uint64_t>(times);
    EXPECT(PtlCTWait(heard_, heard_so_far_, &value) == PTL_OK && value.failure == 0);
  }
  // The ranks below `size` meet, by messages alone.
  void meet(int size) {
    if (rank() != 0) {
      tell(0);
      hear(1);
    } else {
      hear(size - 1);
      for (int peer = 1; peer < size; ++peer) tell(peer);
    }
  }
  // Memory is written when the death of `peer` is known, by the engine alone.
  void watch(int peer) {
    ptl_handle_ct_t deaths;
    EXPECT(PtlCTAlloc(ni_, &deaths) == PTL_OK && PtlxCTWatch(deaths, all_[static_cast<size_t>(peer)]) == PTL_OK);
    local_[0] = kMine;
    EXPECT(PtlTriggeredPut(md_, reinterpret_cast<ptl_size_t>(local_.data()), 1, PTL_NO_ACK_REQ, all_[static_cast<size_t>(rank())], pt_,
                           kMemory, 0, nullptr, 0, deaths, 1) == PTL_OK);
  }
  bool was_told() const { return __atomic_load_n(memory_.data(), __ATOMIC_ACQUIRE) == kMine; }
  // The memory that was read into: an operation that has ended leaves it alone.
  void take_back_memory() { std::fill(local_.begin(), local_.end(), kMine); }
  bool memory_is_untouched() const {
    return std::all_of(local_.begin(), local_.end(), [](uint8_t byte) { return byte == kMine; });
  }
  void may_drop() { may_drop_ = true; }
  void signal_last(int number) { EXPECT(kill(std::stoi(processes_.back()), number) == 0); }

  // The last rank is gone: what is sent there fails at once, all else works.
  void go_on() {
    one_of_each(last());
    EXPECT(ends() == 0);
    meet(last());
    for (int peer = 0; peer < last(); ++peer) one_of_each(peer);
    EXPECT(ends() == 7 * last());
    meet(last());
  }

  void offer(ptl_match_bits_t bits, void* start, size_t length, unsigned options, ptl_handle_ct_t ct) {
    ptl_me_t me{};
    me.start = start;
    me.length = length;
    me.ct_handle = ct;
    me.uid = PTL_UID_ANY;
    me.options = options | PTL_ME_EVENT_LINK_DISABLE | PTL_ME_EVENT_UNLINK_DISABLE;
    me.match_id.phys = {PTL_NID_ANY, PTL_PID_ANY};
    me.match_bits = bits;
    ptl_handle_me_t handle;
    EXPECT(PtlMEAppend(ni_, pt_, &me, PTL_PRIORITY_LIST, nullptr, &handle) == PTL_OK);
  }

  static constexpr uint8_t kMine = 0x77;
  static constexpr ptl_match_bits_t kMemory = 1, kNotice = 2, kBlocks = 3;
  Peers& peers_;
  ptl_handle_ni_t ni_;
  ptl_handle_eq_t eq_, target_eq_;
  ptl_handle_ct_t heard_;
  ptl_handle_md_t md_;
  ptl_pt_index_t pt_;
  std::vector<ptl_process_t> all_;
  std::vector<std::string> processes_;
  std::vector<uint8_t> memory_, local_;
  int issued_ = 0;
  bool may_drop_ = false;
  uint64_t heard_so_far_ = 0;
};

void stopped(Rank& me) {
  if (me.rank() == me.last()) {
    me.tell(0);
    for (;;) pause();  // its engine answers, until it is stopped
  }
  me.one_of_each(me.last());  // so that every way is open
  EXPECT(me.ends() == 7);
  if (me.rank() == 0) me.hear(1);
  me.meet(me.last());
  if (me.rank() == 0) me.signal_last(SIGSTOP);
  me.meet(me.last());
  me.one_of_each(me.last());
  for (int i = 0; i < 3000; ++i) me.put(me.last(), kEager);  // more than any way takes: the rest is held back
  me.meet(me.last());
  if (me.rank() == 0) me.signal_last(SIGKILL);
  EXPECT(me.ends() < 3007);
  me.go_on();
}

void bulk(Rank& me) {
  constexpr int kBlocks = 100;
  if (me.rank() == me.last()) {
    for (int round = 0; round < kBlocks; ++round)
      for (int peer = 0; peer < me.last(); ++peer) me.put(peer, kBulk, Rank::kBlocks);
    me.tell(0);
    for (;;) pause();
  }
  if (me.rank() == 0) {
    me.hear(1);  // behind the headers of all blocks: some are being pulled now
    me.signal_last(SIGKILL);
  }
  do me.get(me.last(), kSmall);
  while (me.ends() == 1);
  if (me.rank() == 0) me.blocks(kBlocks);
  me.go_on();
}

void leaves(Rank& me) {
  if (me.rank() == me.last()) return me.leave();
  me.may_drop();
  while (me.one_of_each(me.last()), me.ends() > 0) {
  }
  me.go_on();
}

void unasked(Rank& me) {
  if (me.rank() == me.last()) {
    me.hear(me.last());
    for (int peer = me.last() - 1; peer >= 0; --peer) me.tell(peer);  // rank 0, who kills this one, as the last
    for (;;) pause();
  }
  me.watch(me.last());
  me.tell(me.last());
  me.hear(1);  // in this call the application drives the engine, whose thread gives way
  EXPECT(!me.was_told());
  if (me.rank() == 0) me.signal_last(SIGKILL);
  while (!me.was_told()) {
  }
  me.go_on();
}

void say(const char* word) {
  std::puts(word);
  std::fflush(stdout);
}

void silent(Rank& me) {
  const int peer = 1 - me.rank();
  me.get(peer, kBulk);
  EXPECT(me.ends() == 1);
  say("reading");
  do me.get(peer, kBulk);
  while (me.ends() == 1);
  me.one_of_each(peer);
  EXPECT(me.ends() == 0);
  me.one_of_each(me.rank());
  EXPECT(me.ends() == 7);
}

// Computes, and calls nothing but what looks for that byte.
void compute_until_told() {
  static volatile double sink;
  pollfd input{STDIN_FILENO, POLLIN, 0};
  while (poll(&input, 1, 0) == 0)
    for (int i = 0; i < 100'000; ++i) sink = sink * 1.0000001 + 1e-9;
  char byte;
  EXPECT(read(STDIN_FILENO, &byte, 1) == 1);
}

void late(Rank& me) {
  say("here");
  compute_until_told();
  me.one_of_each(1 - me.rank());
  say("asking");
  EXPECT(me.ends() == 7);
  me.meet(2);
}

void computing(Rank& me) {
  const int peer = 1 - me.rank();
  me.get(peer, kBulk);
  EXPECT(me.ends() == 1);
  me.get(peer, kBulk);
  say("reading");
  compute_until_told();
  EXPECT(me.ends() == 0);
  me.take_back_memory();
  say("told");
  compute_until_told();
  EXPECT(me.memory_is_untouched());
  me.one_of_each(peer);
  EXPECT(me.ends() == 0);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  std::unique_ptr<Peers> peers = find_peers(argc, argv, 2);
  Rank me(*peers);
  if (what == "stopped") stopped(me);
  else if (what == "bulk") bulk(me);
  else if (what == "leaves") leaves(me);
  else if (what == "unasked") unasked(me);
  else if (what == "silent") silent(me);
  else if (what == "late") late(me);
  else if (what == "computing") computing(me);
  else give_up("say what is to happen: stopped, bulk, leaves, unasked, silent, late or computing");
  if (what != "leaves" || me.rank() != me.last()) me.leave();
  return failures != 0;
}
