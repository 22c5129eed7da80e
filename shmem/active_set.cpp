// active_set.cpp: finding and making the teams of active sets.
#include "shmem/active_set.hpp"

#include <array>
#include <map>
#include <memory>

#include "shmem/collectives.hpp"
#include "shmem/typed/typed_rma.hpp"
#include "shmem/typed/typed_wait.hpp"

namespace portunus::shmem {

namespace {

using Sets = std::map<std::array<int, 3>, std::unique_ptr<Team>>;
// Not destroyed at exit.
union Lasting {
  Lasting() : sets() {}
  ~Lasting() {}
  Sets sets;
};
Sets& sets() {
  static Lasting all;
  return all.sets;
}

// Numbers and generations of teams are small: both fit into a long, which must not be SHMEM_SYNC_VALUE.
long packed(const TeamNumber& number) { return static_cast<long>(number.generation * kMostTeams + number.id + 1); }
TeamNumber unpacked(long word) {
  const auto number = static_cast<uint64_t>(word - 1);
  return {number % kMostTeams, number / kMostTeams};
}

std::unique_ptr<Team> make(const char* function, const Members& members, long* sync) {
  const int me = members.number_of(runtime.my_pe);
  TeamNumber number;
  if (me == 0) {
    number = claim_number();
    if (number.id == TeamNumber::kNone) misuse("%s: %u teams and active sets exist; more there cannot be", function, kMostTeams);
    for (int i = 1; i < members.size(); ++i) ops::p(function, SHMEM_CTX_DEFAULT, sync, packed(number), members[i]);
  } else {
    number = unpacked(ops::wait_for_value(function, sync, SHMEM_CMP_NE, long{SHMEM_SYNC_VALUE}));
    *sync = SHMEM_SYNC_VALUE;
  }
  return std::make_unique<Team>(members, me, static_cast<unsigned>(number.id), number.generation, 0);
}

}  // namespace

Team& active_set(const char* function, int start, int log_stride, int size, long* sync) {
  require_init(function);
  const bool fits = start >= 0 && log_stride >= 0 && log_stride < 31 && size >= 1 &&
                    start + (int64_t{size} - 1) * (int64_t{1} << log_stride) < runtime.n_pes;
  if (!fits)
    misuse("%s: PE_start %d, logPE_stride %d, PE_size %d are no active set of the %d PEs", function, start, log_stride, size,
           runtime.n_pes);
  if (start == 0 && log_stride == 0 && size == runtime.n_pes) return *fixed_teams.world;
  std::unique_ptr<Team>& team = sets()[{start, log_stride, size}];
  if (!team) {
    const Members members(start, 1 << log_stride, size);
    if (members.number_of(runtime.my_pe) < 0)
      misuse("%s: this PE is not in the active set PE_start %d, logPE_stride %d, PE_size %d", function, start, log_stride, size);
    team = make(function, members, sync);
  }
  return *team;
}

void active_sets_close() { sets().clear(); }

}  // namespace portunus::shmem
