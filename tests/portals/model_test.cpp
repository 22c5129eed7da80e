// Random programs: rank 0 sends, the last rank appends, searches, unlinks and closes its portal. All ranks draw the same and ask
// the same model, and compare with it what the library tells them after each call.
// Source: Portals 4.3, list entries, unexpected headers, search, events, counting, status registers.
#include <algorithm>
#include <random>

#include "tests/portals/exchange.hpp"
#include "tests/portals/model.hpp"

namespace portals_test {
namespace {

struct RandomPrograms : Exchange {
  static constexpr int kCounters = 3;
  static constexpr size_t kGap = 24;  // between the parts of an iovec

  std::mt19937_64 random;
  uint64_t unit = 1;  // scale of lengths: with the larger ones messages are bulk
  std::unique_ptr<Model> model;
  ptl_handle_ct_t cts[kCounters] = {};
  std::vector<ModelEntryPtr> entries;
  uintptr_t next_id = 1;
  ptl_uid_t uid = 0;
  std::string said;  // what was done, for who has to find out why

  static bool sends() { return rank() == 0; }
  static bool receives() { return rank() == ranks() - 1; }
  static void meet() {
    if (ranks() > 1) fence();
  }
  bool one_in(unsigned n) { return random() % n == 0; }
  uint64_t below(uint64_t n) { return random() % n; }

  ModelEntryPtr draw_entry(ptl_list_t list) {
    static constexpr struct {
      unsigned option, one_in;
    } kOptions[] = {{PTL_ME_USE_ONCE, 2},
                    {PTL_ME_MANAGE_LOCAL, 3},
                    {PTL_ME_NO_TRUNCATE, 3},
                    {PTL_ME_MAY_ALIGN, 4},
                    {PTL_ME_IS_ACCESSIBLE, 3},
                    {PTL_ME_EVENT_LINK_DISABLE, 2},
                    {PTL_ME_EVENT_COMM_DISABLE, 5},
                    {PTL_ME_EVENT_SUCCESS_DISABLE, 8},
                    {PTL_ME_EVENT_OVER_DISABLE, 6},
                    {PTL_ME_EVENT_UNLINK_DISABLE, 5},
                    {PTL_ME_EVENT_CT_COMM, 3},
                    {PTL_ME_EVENT_CT_OVERFLOW, 3},
                    {PTL_ME_EVENT_CT_BYTES, 3},
                    {PTL_ME_UNEXPECTED_HDR_DISABLE, 8},
                    {PTL_IOVEC, 4}};
    auto entry = std::make_shared<ModelEntry>();
    const uint64_t room = 64 * unit;
    entry->list = list;
    entry->id = next_id++;
    entry->length = one_in(5) ? below(8) : room - below(20 * unit);
    entry->memory.resize(room + 2 * kGap);
    entry->shadow.resize(room);
    ptl_me_t& me = entry->me;
    me.options = (one_in(8) ? 0 : PTL_ME_OP_PUT) | (one_in(4) ? 0 : PTL_ME_OP_GET);
    for (const auto& each : kOptions)
      if (one_in(each.one_in)) me.options |= each.option;
    if (list == PTL_PRIORITY_LIST && !entry->has(PTL_ME_USE_ONCE) && one_in(5))
      me.options |= PTL_ME_LOCAL_INC_UH_RLENGTH | PTL_ME_MANAGE_LOCAL;
    me.match_bits = below(4);
    me.ignore_bits = one_in(3) ? below(4) : list == PTL_OVERFLOW_LIST && one_in(2) ? 3 : 0;
    me.match_id.phys = {0, 0};
    me.match_id.rank = one_in(6) ? static_cast<ptl_rank_t>(ranks()) : one_in(2) ? PTL_RANK_ANY : 0;
    me.min_free = !entry->has(PTL_ME_MANAGE_LOCAL) ? random() : one_in(3) ? 0 : below(30 * unit);  // garbage, where it means nothing
    entry->for_us = !one_in(12);
    me.uid = !entry->for_us ? uid + 1 : one_in(2) ? PTL_UID_ANY : uid;
    entry->ct = one_in(2) ? -1 : static_cast<int>(below(kCounters));
    me.ct_handle = entry->ct < 0 ? PTL_CT_NONE : cts[entry->ct];
    lay_out(*entry);
    return entry;
  }
  void lay_out(ModelEntry& entry) {
    unsigned char* const memory = entry.memory.data();
    entry.me.start = memory;
    entry.me.length = entry.length;
    if (!entry.has(PTL_IOVEC)) return;
    const uint64_t first = below(entry.length + 1), second = first + below(entry.length - first + 1);
    entry.iovec = {
        {memory, first}, {memory + first + kGap, second - first}, {nullptr, 0}, {memory + second + 2 * kGap, entry.length - second}};
    entry.me.start = entry.iovec.data();
    entry.me.length = entry.iovec.size();
  }

  void append_one() {
    const ModelEntryPtr entry = draw_entry(below(5) < 3 ? PTL_PRIORITY_LIST : PTL_OVERFLOW_LIST);
    say("append", entry->id, entry->me.options, entry->me.match_bits, entry->length);
    entries.push_back(entry);
    const bool consumed = model->append(entry);
    if (receives()) {
      EXPECT_EQ(PtlMEAppend(ni, pt, &entry->me, entry->list, reinterpret_cast<void*>(entry->id), &entry->handle), PTL_OK);
    }
    compare();
    if (receives() && consumed) {
      EXPECT_EQ(PtlMEUnlink(entry->handle), entry->has(PTL_ME_LOCAL_INC_UH_RLENGTH) ? PTL_OK : PTL_ARG_INVALID) << said;
    }
  }

  void send_one() {
    static constexpr ptl_event_kind_t kKinds[] = {PTL_EVENT_GET, PTL_EVENT_ATOMIC, PTL_EVENT_FETCH_ATOMIC};
    ModelMessage message;
    message.event = one_in(3) ? kKinds[below(3)] : static_cast<ptl_event_kind_t>(PTL_EVENT_PUT);
    message.bits = below(4);
    message.rlength = below((one_in(4) ? 90 : 20) * unit);
    message.remote_offset = below((one_in(3) ? 80 : 24) * unit);
    message.hdr_data = random();
    message.data.resize(message.rlength);
    for (unsigned char& byte : message.data) byte = static_cast<unsigned char>(random());
    say("message", message.event, message.bits, message.rlength, message.remote_offset);
    const ModelAnswer answer = model->arrive(message);
    if (sends()) send(message, answer);
    meet();
    if (receives() && answer.entry) {
      EXPECT_TRUE(same_bytes(*answer.entry)) << said;
    }
    compare();
  }
  static bool same_bytes(ModelEntry& entry) {
    for (uint64_t i = 0; i < entry.length; ++i)
      if (*entry.at(i) != entry.shadow[i]) return false;
    return true;
  }
  void send(const ModelMessage& message, const ModelAnswer& expected) {
    const ptl_process_t to = process(ranks() - 1);
    const ptl_size_t length = message.rlength, offset = message.remote_offset;
    std::vector<unsigned char> fetched(length + 1);
    const ptl_size_t from = at(message.data.data()), into = at(fetched.data());
    switch (message.event) {
      case PTL_EVENT_PUT:
        EXPECT_EQ(PtlPut(out, from, length, PTL_ACK_REQ, to, pt, message.bits, offset, &random, message.hdr_data), PTL_OK);
        break;
      case PTL_EVENT_GET: EXPECT_EQ(PtlGet(out, into, length, to, pt, message.bits, offset, &random), PTL_OK); break;
      case PTL_EVENT_ATOMIC:
        EXPECT_EQ(PtlAtomic(out, from, length, PTL_ACK_REQ, to, pt, message.bits, offset, &random, message.hdr_data, PTL_SUM, PTL_UINT8_T),
                  PTL_OK);
        break;
      default:
        EXPECT_EQ(
            PtlFetchAtomic(out, into, out, from, length, to, pt, message.bits, offset, &random, message.hdr_data, PTL_BXOR, PTL_UINT8_T),
            PTL_OK);
    }
    const bool reply = message.event == PTL_EVENT_GET || message.event == PTL_EVENT_FETCH_ATOMIC;
    if (message.event != PTL_EVENT_GET) {
      const ptl_event_t sent = next(own);
      EXPECT_EQ(sent.type, PTL_EVENT_SEND) << said;
      EXPECT_EQ(sent.ni_fail_type, PTL_NI_OK) << said;
    }
    const ptl_event_t answer = next(own);
    EXPECT_EQ(answer.type, reply ? PTL_EVENT_REPLY : PTL_EVENT_ACK) << said;
    EXPECT_EQ(answer.user_ptr, &random) << said;
    EXPECT_EQ(answer.ni_fail_type, expected.fail) << said;
    EXPECT_EQ(answer.mlength, expected.mlength) << said;
    if (expected.fail != PTL_NI_OK) return;
    EXPECT_EQ(answer.ptl_list, expected.list) << said;
    if (!expected.beyond) {
      EXPECT_EQ(answer.remote_offset, expected.offset) << said;
    }
    if (reply) {
      EXPECT_TRUE(std::equal(expected.fetched.begin(), expected.fetched.end(), fetched.begin())) << said;
    }
  }

  void search_once() {
    const ModelEntryPtr like = draw_entry(PTL_PRIORITY_LIST);
    like->me.options &= ~static_cast<unsigned>(PTL_ME_LOCAL_INC_UH_RLENGTH);
    const bool remove = one_in(2);
    say(remove ? "search and delete" : "search", like->id, like->me.options, like->me.match_bits, like->length);
    model->search(*like, remove);
    if (receives()) {
      EXPECT_EQ(PtlMESearch(ni, pt, &like->me, remove ? PTL_SEARCH_DELETE : PTL_SEARCH_ONLY, reinterpret_cast<void*>(like->id)), PTL_OK);
    }
    compare();
  }
  void unlink_one() {
    if (entries.empty()) return;
    const size_t which = below(entries.size());
    ModelEntry& entry = *entries[which];
    say("unlink", entry.id, 0, 0, 0);
    const int code = model->unlink_by_hand(entry);
    if (receives()) {
      EXPECT_EQ(PtlMEUnlink(entry.handle), code) << said;
    }
    compare();
    if (!entry.linked && entry.headers == 0) entries.erase(entries.begin() + static_cast<ptrdiff_t>(which));
  }
  void open_or_close() {
    model->enabled = !model->enabled;
    say(model->enabled ? "enable" : "disable", 0, 0, 0, 0);
    if (receives()) {
      EXPECT_EQ(model->enabled ? PtlPTEnable(ni, pt) : PtlPTDisable(ni, pt), PTL_OK);
    }
    compare();
  }

  // Events and counts of the library since the last time are those of the model.
  void compare() {
    meet();
    if (receives() && !HasFailure()) {
      for (int i = 0; i < kCounters; ++i) {
        const ptl_ct_event_t value = read(cts[i]), expected = model->counts[static_cast<size_t>(i)];
        EXPECT_TRUE(value.success == expected.success && value.failure == expected.failure) << "counter " << i << '\n' << said;
        ptl_sr_value_t status = -1;
        EXPECT_EQ(PtlNIStatus(ni, static_cast<ptl_sr_index_t>(i), &status), PTL_OK);
        EXPECT_EQ(status, model->registers[static_cast<size_t>(i)]) << "status register " << i << '\n' << said;
      }
      for (const ptl_event_t& expected : model->events) expect_event(expected);
      ptl_event_t more;
      EXPECT_EQ(PtlEQGet(eq, &more), PTL_EQ_EMPTY) << said;
    }
    model->events.clear();
    meet();
  }
  void expect_event(const ptl_event_t& expected) {
    ptl_event_t event{};
    EXPECT_EQ(PtlEQGet(eq, &event), PTL_OK) << "for event " << int{expected.type} << '\n' << said;
    EXPECT_EQ(event.type, expected.type) << said;
    EXPECT_EQ(event.user_ptr, expected.user_ptr) << said;
    EXPECT_EQ(event.ni_fail_type, expected.ni_fail_type) << said;
    const bool of_message = expected.type <= PTL_EVENT_FETCH_ATOMIC_OVERFLOW || expected.type == PTL_EVENT_SEARCH;
    if (!of_message || expected.ni_fail_type != PTL_NI_OK) return;
    EXPECT_EQ(event.match_bits, expected.match_bits) << said;
    EXPECT_EQ(event.rlength, expected.rlength) << said;
    EXPECT_EQ(event.mlength, expected.mlength) << said;
    EXPECT_EQ(event.remote_offset, expected.remote_offset) << said;
    EXPECT_EQ(event.ptl_list, expected.ptl_list) << said;
    EXPECT_EQ(event.initiator.rank, expected.initiator.rank) << said;
    if (expected.mlength != 0) {
      EXPECT_EQ(event.start, expected.start) << said;
    }
    if (expected.type == PTL_EVENT_PUT || expected.type == PTL_EVENT_PUT_OVERFLOW) {
      EXPECT_EQ(event.hdr_data, expected.hdr_data) << said;
    }
  }
  void say(const char* what, uint64_t a, uint64_t b, uint64_t c, uint64_t d) {
    said +=
        std::string(what) + ' ' + std::to_string(a) + ' ' + std::to_string(b) + ' ' + std::to_string(c) + ' ' + std::to_string(d) + '\n';
  }
};

TEST_F(RandomPrograms, DoWhatTheModelSays) {
  constexpr int kSteps = 120;
  if (ranks() > 2) return;  // those between would only wait
  EXPECT_EQ(PtlGetUid(ni, &uid), PTL_OK);
  for (ptl_handle_ct_t& ct : cts) ct = counter();
  const uint64_t units[] = {1, 1, 130, 701};
  for (uint64_t seed = 1; seed <= std::size(units); ++seed) {
    random.seed(seed);
    unit = units[seed - 1];
    said = "seed " + std::to_string(seed) + '\n';
    const bool first = !model;
    auto fresh = std::make_unique<Model>();
    if (!first) fresh->counts = model->counts, fresh->registers = model->registers;
    model = std::move(fresh);
    for (int step = 0; step < kSteps; ++step) {
      const uint64_t what = below(40);
      if (what < 12) append_one();
      else if (what < 30) send_one();
      else if (what < 35) search_once();
      else if (what < 39) unlink_one();
      else open_or_close();
    }
    if (!model->enabled) open_or_close();
    ModelEntry all;
    all.me.ignore_bits = ~uint64_t{0};
    all.me.match_id.rank = PTL_RANK_ANY;
    all.me.options = PTL_ME_EVENT_OVER_DISABLE;
    all.me.ct_handle = PTL_CT_NONE;
    model->search(all, true);
    if (receives()) {
      EXPECT_EQ(PtlMESearch(ni, pt, &all.me, PTL_SEARCH_DELETE, nullptr), PTL_OK);
    }
    compare();
    while (!entries.empty()) unlink_one();
  }
}

}  // namespace
}  // namespace portals_test
