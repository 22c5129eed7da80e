// Puts, waits, teams and contexts of OpenSHMEM as records: see shmem.hpp.
#include "engine/tools/record/shmem.hpp"

#include <link.h>

#include <algorithm>
#include <array>
#include <unordered_map>
#include <vector>

#include "shmem/include/pshmem.h"

namespace portunus::record::shmem {

namespace {

// A team, an active set or a context as records name it.
struct Group {
  uint32_t number = 0;
  uint64_t hash = 0;
  uint32_t created = 0;
  std::vector<int> pes;  // in the job
};

struct Range {
  uintptr_t begin = 0, end = 0;
  [[nodiscard]] bool has(uintptr_t at) const { return at >= begin && at < end; }
};

struct Tables {
  std::recursive_mutex mutex;
  int depth = 0, pe = 0;
  uint32_t numbers = 0;
  uint64_t ids = 0;
  Group world;
  std::unordered_map<shmem_team_t, Group> teams;
  std::unordered_map<uint64_t, Group> sets;  // of the deprecated calls
  std::unordered_map<shmem_ctx_t, Group> contexts;
  std::unordered_map<shmemx_req_t, uint64_t> requests;
  std::unordered_map<const void*, uint64_t> seen;  // what the last look at a word found
  Range heap;                                      // from what was allocated first to the end of what lies last
  Range data;                                      // of the program
};

[[gnu::always_inline]] inline Tables& tables() {
  static Tables& all = *new Tables;
  return all;
}

std::unique_lock<std::recursive_mutex> lock_tables() {
  return Writer::instance().is_serialised() ? std::unique_lock(tables().mutex) : std::unique_lock<std::recursive_mutex>();
}

uint64_t mixed(uint64_t hash, uint64_t number) {
  const uint64_t z = (hash ^ (number + 1)) * 0x9e3779b97f4a7c15u;
  return (z ^ (z >> 29)) * 0xbf58476d1ce4e5b9u;
}

Record of(const Group& group, What what) {
  Record record;
  record.what = what;
  record.comm = group.number;
  return record;
}

void define(Call& call, Group& group, uint64_t hash) {
  group.hash = hash;
  group.number = tables().numbers++;
  std::vector<uint64_t> numbers{hash};
  for (const int pe : group.pes) numbers.push_back(static_cast<uint64_t>(pe));
  call.append(of(group, What::communicator), numbers);
}

void fill(Group& group, shmem_team_t team) {
  const int size = pshmem_team_n_pes(team);
  for (int i = 0; i < size; ++i) group.pes.push_back(pshmem_team_translate_pe(team, i, SHMEM_TEAM_WORLD));
}

Group& group_of(Call& call, shmem_team_t team) {
  if (team == SHMEM_TEAM_WORLD) return tables().world;
  Group& group = tables().teams[team];
  if (!group.pes.empty()) return group;
  fill(group, team);
  uint64_t hash = 2;
  for (const int pe : group.pes) hash = mixed(hash, static_cast<uint64_t>(pe));
  define(call, group, hash);
  return group;
}

Group& group_of(Call& call, const Members& members) {
  if (members.team != SHMEM_TEAM_INVALID) return group_of(call, members.team);
  const uint64_t hash = mixed(mixed(mixed(3, static_cast<uint64_t>(members.start)), static_cast<uint64_t>(members.log_stride)),
                              static_cast<uint64_t>(members.size));
  Group& group = tables().sets[hash];
  if (!group.pes.empty()) return group;
  for (int i = 0; i < members.size; ++i) group.pes.push_back(members.start + (i << members.log_stride));
  define(call, group, hash);
  return group;
}

// Operations of a context have its number; those of the default context have that of all PEs.
const Group& group_of(Call& call, shmem_ctx_t ctx) {
  Tables& all = tables();
  if (ctx == SHMEM_CTX_DEFAULT) return all.world;
  const auto found = all.contexts.find(ctx);
  if (found == all.contexts.end()) return all.world;
  Group& group = found->second;
  if (group.hash == 0) define(call, group, mixed(mixed(4, static_cast<uint64_t>(tables().pe)), tables().numbers));
  return group;
}

int pe_of(const Group& group, int pe) {
  return pe >= 0 && static_cast<size_t>(pe) < group.pes.size() ? group.pes[static_cast<size_t>(pe)] : -1;
}

// The object of the program or its libraries that has this address, if one has.
Range object_of(uintptr_t at) {
  std::array<Range, 2> search{Range{at, 0}, Range{}};
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* data) {
        auto& [wanted, found] = *static_cast<std::array<Range, 2>*>(data);
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const auto& header = info->dlpi_phdr[i];
          const uintptr_t begin = info->dlpi_addr + header.p_vaddr;
          if (header.p_type == PT_LOAD && wanted.begin >= begin && wanted.begin < begin + header.p_memsz)
            found = {begin, begin + header.p_memsz};
        }
        return found.end == 0 ? 0 : 1;
      },
      &search);
  return search[1];
}

// A place in symmetric memory, the same number on all PEs: they make the same allocations in the same order.
uint64_t place_of(const void* address) {
  constexpr uint64_t kData = uint64_t{1} << 62;  // beyond the heap
  Tables& all = tables();
  const auto at = reinterpret_cast<uintptr_t>(address);
  if (!all.heap.has(at) && !all.data.has(at) && all.data.end == 0) all.data = object_of(at);
  return all.data.has(at) ? kData + (at - all.data.begin) : at - all.heap.begin;
}

bool has_changed(const void* word, uint64_t value) {
  const auto [found, fresh] = tables().seen.try_emplace(word, value);
  const bool changed = !fresh && found->second != value;
  found->second = value;
  return changed;
}

}  // namespace

void begin(Call& call) {
  const auto lock = lock_tables();
  Tables& all = tables();
  if (all.depth++ > 0) return;
  all.pe = pshmem_my_pe();
  Writer::instance().open(all.pe, pshmem_n_pes(), Interface::shmem);
  if (!all.world.pes.empty()) return;
  fill(all.world, SHMEM_TEAM_WORLD);
  define(call, all.world, 1);
}

void end(Call& call) {
  const auto lock = lock_tables();
  if (--tables().depth > 0) return;
  call.append({});
  Writer::instance().finish();
}

void allow_threads() { Writer::instance().serialise(); }

void allocated(Call& call, void* memory, size_t size) {
  const auto lock = lock_tables();
  const auto begin = reinterpret_cast<uintptr_t>(memory);
  Range& heap = tables().heap;
  if (heap.begin == 0) heap.begin = begin;
  heap.end = std::max(heap.end, begin + size);
  collective(call, {SHMEM_TEAM_WORLD}, Collective::barrier, 0);
}

// ---- remote memory; what stays on this PE is no message

void put(Call& call, shmem_ctx_t ctx, const void* dest, uint64_t bytes, int pe, uint8_t flags, Value value) {
  const auto lock = lock_tables();
  const Group& group = group_of(call, ctx);
  const int peer = pe_of(group, pe);
  if (peer < 0 || peer == tables().pe || bytes == 0) return;
  Record record = of(group, What::put);
  record.peer = peer;
  record.bytes = bytes;
  record.detail = flags;
  const std::array<uint64_t, 3> numbers{place_of(dest), value.value, static_cast<uint64_t>(value.change)};
  call.append(record, numbers);
}

void get(Call& call, shmem_ctx_t ctx, const void* word, uint64_t asking, uint64_t bytes, int pe, uint8_t flags, Value value) {
  const auto lock = lock_tables();
  const Group& group = group_of(call, ctx);
  const int peer = pe_of(group, pe);
  if (peer < 0 || peer == tables().pe || bytes == 0) return;
  Record record = of(group, What::get);
  record.peer = peer;
  record.bytes = bytes;
  record.detail = flags;
  const std::array<uint64_t, 4> numbers{asking, word == nullptr ? 0 : place_of(word), value.value, static_cast<uint64_t>(value.change)};
  call.append(record, std::span(numbers).first(word == nullptr ? 1 : 4));
}

bool is_here(Call& call, shmem_ctx_t ctx, int pe) {
  const auto lock = lock_tables();
  return pe_of(group_of(call, ctx), pe) == tables().pe;
}

void looked(Call& call, const void* word, uint64_t bytes, uint64_t value) {
  const auto lock = lock_tables();
  if (has_changed(word, value)) waited(call, word, bytes, value);
  else call.found_nothing();
}

void order(Call& call, shmem_ctx_t ctx) {
  const auto lock = lock_tables();
  call.append(of(group_of(call, ctx), What::order));
}

void quiet(Call& call, shmem_ctx_t ctx) {
  const auto lock = lock_tables();
  call.append(of(group_of(call, ctx), What::flush));
}

void waited(Call& call, const void* word, uint64_t bytes, uint64_t value) {
  const auto lock = lock_tables();
  Record record = of(tables().world, What::wait_word);
  record.time_ns = call.end_ns();
  const std::array<uint64_t, 4> numbers{place_of(word), bytes, value, 1};
  call.append(record, numbers);
}

// ---- locks: each is asked for at one PE.

void locked(Call& call, const long* lock) {
  const auto held = lock_tables();
  Record record = of(tables().world, What::lock);
  record.object = place_of(lock);
  record.time_ns = call.end_ns();
  get(call, SHMEM_CTX_DEFAULT, nullptr, sizeof *lock, sizeof *lock,
      static_cast<int>(record.object / sizeof *lock % tables().world.pes.size()), kBlocking);
  call.append(record);
}

void unlocked(Call& call, const long* lock) {
  const auto held = lock_tables();
  quiet(call, SHMEM_CTX_DEFAULT);
  Record record = of(tables().world, What::unlock);
  record.object = place_of(lock);
  call.append(record);
}

// ---- teams and contexts

void collective(Call& call, const Members& members, Collective kind, uint64_t bytes, int root, const shmemx_req_t* request) {
  if (request != nullptr && *request == SHMEMX_REQ_INVALID) return;
  const auto lock = lock_tables();
  Record record = of(group_of(call, members), What::collective);
  record.detail = static_cast<uint8_t>(kind);
  record.bytes = bytes;
  record.peer = root;
  if (request != nullptr) tables().requests[*request] = record.object = ++tables().ids;
  call.append(record);
}

void completed(Call& call, shmemx_req_t request) {
  const auto lock = lock_tables();
  const auto found = tables().requests.extract(request);
  if (found.empty()) return;
  Record record;
  record.what = What::done;
  record.object = found.mapped();
  record.time_ns = call.end_ns();
  call.append(record);
}

void freed(shmemx_req_t request) {
  const auto lock = lock_tables();
  tables().requests.erase(request);
}

void created(Call& call, shmem_team_t parent, const shmem_team_t* team) {
  const auto lock = lock_tables();
  collective(call, {parent}, Collective::barrier, 0);
  Group& above = group_of(call, parent);
  const uint64_t hash = mixed(above.hash, ++above.created);
  if (*team == SHMEM_TEAM_INVALID) return;
  Group group;
  fill(group, *team);
  // Teams that one call makes have no PE in common.
  define(call, group, mixed(hash, static_cast<uint64_t>(group.pes.front())));
  tables().teams[*team] = std::move(group);
}

void destroyed(Call& call, shmem_team_t team) {
  const auto lock = lock_tables();
  collective(call, {team}, Collective::barrier, 0);
  tables().teams.erase(team);
}

void created(shmem_ctx_t ctx, shmem_team_t team) {
  const auto lock = lock_tables();
  Group group;
  fill(group, team);
  tables().contexts[ctx] = std::move(group);
}

void destroyed(Call& call, shmem_ctx_t ctx) {
  const auto lock = lock_tables();
  quiet(call, ctx);
  tables().contexts.erase(ctx);
}

}  // namespace portunus::record::shmem
