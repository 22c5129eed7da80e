// Operations and counting events of Portals as records: see portals.hpp.
#include "engine/tools/record/portals.hpp"

#include <array>
#include <bit>
#include <unordered_map>
#include <vector>

#include "engine/tools/record/portals_next.hpp"

namespace portunus::record::portals {

namespace {

// Portals is looked up when this library is loaded: it must be there by then.
[[gnu::used]] int (*const portals_is_needed)(ptl_handle_any_t, ptl_handle_any_t) = PtlHandleIsEqual;

struct Descriptor {
  ptl_handle_ni_t ni;
  ptl_handle_ct_t counter;
  unsigned int options;
};

struct Tables {
  std::recursive_mutex mutex;
  std::unordered_map<ptl_handle_md_t, Descriptor> descriptors;
  std::unordered_map<ptl_handle_ni_t, std::vector<ptl_process_t>> maps;  // of interfaces that name processes by rank
  std::unordered_map<ptl_handle_ct_t, ptl_ct_event_t> seen;              // the last look at a counting event
  bool named = false;
  int depth = 0;                 // calls of PtlInit without their PtlFini
  const char* thread = nullptr;  // a place that the first thread alone has
};

Tables& tables() {
  static Tables& all = *new Tables;
  return all;
}

// Portals has no levels of threads: a second one is noticed when it calls.
std::unique_lock<std::recursive_mutex> lock_tables() {
  static thread_local const char own = 0;
  auto lock = std::unique_lock(tables().mutex);
  if (tables().thread == nullptr) tables().thread = &own;
  if (tables().thread != &own && !Writer::instance().is_serialised()) Writer::instance().serialise();
  return lock;
}

uint64_t number_of(ptl_process_t process) { return process_number(process.phys.nid, process.phys.pid); }

// A process as all ranks name it.
uint64_t number_of(ptl_handle_ni_t ni, ptl_process_t process) {
  const auto map = tables().maps.find(ni);
  if (map == tables().maps.end()) return number_of(process);
  return process.rank < map->second.size() ? number_of(map->second[process.rank]) : UINT64_MAX;
}

uint64_t counter_number(ptl_handle_ct_t counter) { return counter == PTL_CT_NONE ? 0 : uint64_t{counter} + 1; }

template <class Numbers>
void append(Call& call, What what, uint64_t object, uint64_t bytes, uint8_t detail, const Numbers& numbers) {
  Record record;
  record.what = what;
  record.object = object;
  record.bytes = bytes;
  record.detail = detail;
  call.append(record, std::bit_cast<std::array<uint64_t, sizeof(Numbers) / sizeof(uint64_t)>>(numbers));
}

void append_wait(Call& call, ptl_handle_ct_t counter) {
  Record record;
  record.what = What::count_wait;
  record.object = counter;
  record.time_ns = call.end_ns();
  call.append(record);
}

}  // namespace

void begin(Call& call, int rank, int size) {
  const auto lock = lock_tables();
  Writer& writer = Writer::instance();
  if (writer.is_open()) return;
  writer.open(rank, size, Interface::portals);
  std::vector<uint64_t> world{1};
  for (int i = 0; i < size; ++i) world.push_back(static_cast<uint64_t>(i));
  Record record;
  record.what = What::communicator;
  call.append(record, world);
}

void entered() {
  const auto lock = lock_tables();
  ++tables().depth;
}

void end(Call& call) {
  const auto lock = lock_tables();
  if (--tables().depth > 0) return;
  call.append({});
  Writer::instance().finish();
}

void opened(Call& call, ptl_handle_ni_t ni, bool logical) {
  const auto lock = lock_tables();
  if (logical) tables().maps.try_emplace(ni);
  ptl_process_t own;
  if (tables().named || next::PtlGetPhysId(ni, &own) != PTL_OK) return;
  tables().named = true;
  Record record;
  record.what = What::process;
  record.object = number_of(own);
  call.append(record);
}

void mapped(ptl_handle_ni_t ni) {
  const auto lock = lock_tables();
  ptl_size_t size = 0;
  std::vector<ptl_process_t>& map = tables().maps[ni];
  if (next::PtlGetMap(ni, 0, nullptr, &size) != PTL_OK && size == 0) return;
  map.resize(size);
  next::PtlGetMap(ni, size, map.data(), &size);
}

void bound(ptl_handle_md_t md, const ptl_md_t& facts, ptl_handle_ni_t ni) {
  const auto lock = lock_tables();
  tables().descriptors[md] = {ni, facts.ct_handle, facts.options};
}

// Messages that land in an overflow list are counted by the entry that takes them later.
void appended(Call& call, ptl_handle_any_t entry, ptl_pt_index_t index, ptl_list_t list, unsigned int options, ptl_handle_ct_t counter,
              ptl_match_bits_t bits, ptl_match_bits_t ignored) {
  if (list != PTL_PRIORITY_LIST) return;
  const bool counts = (options & (PTL_ME_EVENT_CT_COMM | PTL_ME_EVENT_CT_OVERFLOW)) != 0;
  append(call, What::entry, entry, 0, 0,
         EntryNumbers{index, bits, ignored, counts ? counter_number(counter) : 0,
                      ((options & PTL_ME_USE_ONCE) != 0 ? kOnce : 0) | ((options & PTL_ME_EVENT_CT_BYTES) != 0 ? kBytes : 0)});
}

void unlinked(Call& call, ptl_handle_any_t entry) {
  Record record;
  record.what = What::entry_gone;
  record.object = entry;
  call.append(record);
}

void issued(Call& call, const Operation& operation, Trigger trigger) {
  const auto lock = lock_tables();
  const auto found = tables().descriptors.find(operation.md);
  if (found == tables().descriptors.end()) return;
  const Descriptor& md = found->second;
  const auto counts = [&](unsigned int option, uint8_t bit) { return (md.options & option) != 0 ? bit : 0; };
  const int detail = counts(PTL_MD_EVENT_CT_SEND, kCountsSend) | counts(PTL_MD_EVENT_CT_REPLY, kCountsReply) |
                     counts(PTL_MD_EVENT_CT_ACK, kCountsAck) | counts(PTL_MD_EVENT_CT_BYTES, kCountsBytes) |
                     (operation.acknowledged ? kAcknowledged : 0);
  append(call, What::operation, 0, operation.bytes, static_cast<uint8_t>(detail),
         OperationNumbers{number_of(md.ni, operation.target), operation.index, operation.bits, operation.back, counter_number(md.counter),
                          reinterpret_cast<uint64_t>(operation.user), counter_number(trigger.counter), trigger.threshold});
}

void counted(Call& call, ptl_handle_ct_t counter, ptl_size_t value, bool set, Trigger trigger) {
  append(call, What::count, counter, value, set ? 1 : 0, CountNumbers{counter_number(trigger.counter), trigger.threshold});
}

void waited(Call& call, ptl_handle_ct_t counter) {
  const auto lock = lock_tables();
  append_wait(call, counter);
}

void looked(Call& call, ptl_handle_ct_t counter, const ptl_ct_event_t& value) {
  const auto lock = lock_tables();
  ptl_ct_event_t& before = tables().seen[counter];
  if (before.success == value.success && before.failure == value.failure) return call.found_nothing();
  before = value;
  append_wait(call, counter);
}

void took(Call& call, ptl_handle_eq_t queue, const ptl_event_t& event) {
  const auto lock = lock_tables();
  ptl_handle_ni_t ni;
  if (next::PtlNIHandle(queue, &ni) != PTL_OK) return;
  const bool came = event.type <= PTL_EVENT_FETCH_ATOMIC_OVERFLOW;
  if (!came && event.type != PTL_EVENT_ACK && event.type != PTL_EVENT_REPLY) return;
  Record record;
  record.what = What::event;
  record.detail = came ? 0 : 1;
  record.bytes = event.rlength;
  record.time_ns = call.end_ns();
  const std::array<uint64_t, 4> numbers{came ? number_of(ni, event.initiator) : 0, event.pt_index, event.match_bits,
                                        reinterpret_cast<uint64_t>(event.user_ptr)};
  call.append(record, numbers);
}

void fenced(Call& call) {
  Record record;
  record.what = What::collective;
  record.detail = static_cast<uint8_t>(Collective::barrier);
  record.peer = 0;
  call.append(record);
}

}  // namespace portunus::record::portals
