// group_calls.cpp: the calls on groups.
// Thread: any. Source: MPI-5.0, 7.3.
#include <cstdint>
#include <tuple>
#include <unordered_map>

#include "mpi-adi/core/checks.hpp"
#include "mpi-adi/core/profiling.hpp"

namespace portunus::mpi {

// Members by their ranks in the job; made where a call would else look up each of many.
class MemberIndex {
 public:
  explicit MemberIndex(const Group& group) : group_(group) {
    if (group.ranks.empty()) return;
    for (int i = 0; i < group.size; ++i) places_[group.job_rank(i)] = i;
  }
  int find(int job_rank) const {
    if (group_.ranks.empty()) return group_.member(job_rank);
    const auto found = places_.find(job_rank);
    return found != places_.end() ? found->second : MPI_UNDEFINED;
  }
  bool has(int job_rank) const { return find(job_rank) != MPI_UNDEFINED; }

 private:
  const Group& group_;
  std::unordered_map<int, int> places_;
};

int compare(const Group& one, const Group& other) {
  if (one.size != other.size) return MPI_UNEQUAL;
  bool same_order = true;
  const MemberIndex index(other);
  for (int i = 0; i < one.size; ++i) {
    const int place = index.find(one.job_rank(i));
    if (place == MPI_UNDEFINED) return MPI_UNEQUAL;
    same_order = same_order && place == i;
  }
  return same_order ? MPI_IDENT : MPI_SIMILAR;
}

namespace {

// `of`: the group, or the first of those, that the members come from.
int hand_out(const char* function, const Group& of, std::vector<int> job_ranks, MPI_Group* result) {
  Group* made = make_group(std::move(job_ranks));
  if (made == nullptr) return raise(function, nullptr, MPI_ERR_NO_MEM, "too many groups are in use; free some first");
  if (of.session_buffer && made->size > 0) made->session_buffer = of.session_buffer;
  *result = handle_of(made);
  return MPI_SUCCESS;
}

// Ranks of the group, each at most once.
int check_ranks(const char* function, const Group& group, const std::vector<int>& ranks) {
  std::vector<bool> seen(static_cast<size_t>(group.size));
  for (int rank : ranks) {
    if (rank < 0 || rank >= group.size)
      return raise(function, nullptr, MPI_ERR_RANK, "there is no rank %d in a group of %d", rank, group.size);
    if (seen[static_cast<size_t>(rank)]) return raise(function, nullptr, MPI_ERR_RANK, "rank %d is named twice", rank);
    seen[static_cast<size_t>(rank)] = true;
  }
  return MPI_SUCCESS;
}

// The ranks that triplets first, last, stride mean.
int expand(const char* function, const Group& group, int n, int ranges[][3], std::vector<int>& ranks) {
  for (int i = 0; i < n; ++i) {
    const auto [first, last, stride] = std::tuple(ranges[i][0], ranges[i][1], ranges[i][2]);
    if (stride == 0) return raise(function, nullptr, MPI_ERR_ARG, "the stride of range %d is 0", i);
    for (int64_t rank = first; stride > 0 ? rank <= last : rank >= last; rank += stride) {
      if (rank < 0 || rank >= group.size)
        return raise(function, nullptr, MPI_ERR_RANK, "there is no rank %d in a group of %d", static_cast<int>(rank), group.size);
      ranks.push_back(static_cast<int>(rank));
    }
  }
  return MPI_SUCCESS;
}

int include(const char* function, const Group& group, const std::vector<int>& ranks, MPI_Group* result) {
  if (int error = check_ranks(function, group, ranks)) return error;
  std::vector<int> members;
  for (int rank : ranks) members.push_back(group.job_rank(rank));
  return hand_out(function, group, std::move(members), result);
}

int exclude(const char* function, const Group& group, const std::vector<int>& ranks, MPI_Group* result) {
  if (int error = check_ranks(function, group, ranks)) return error;
  std::vector<bool> out(static_cast<size_t>(group.size));
  for (int rank : ranks) out[static_cast<size_t>(rank)] = true;
  std::vector<int> members;
  for (int i = 0; i < group.size; ++i)
    if (!out[static_cast<size_t>(i)]) members.push_back(group.job_rank(i));
  return hand_out(function, group, std::move(members), result);
}

int check_count(const char* function, int n, const void* array) {
  if (n < 0) return raise(function, nullptr, MPI_ERR_ARG, "the number %d is negative", n);
  return n > 0 ? check_results(function, nullptr, {array}) : MPI_SUCCESS;
}

// Both groups of a call.
int check_two(const char* function, MPI_Group one, MPI_Group other, Group*& first, Group*& second, const void* result) {
  if (int error = check(function, one, first, {result})) return error;
  return check(function, other, second, {});
}

// Members of `one` for which keep() holds.
template <class Keep>
std::vector<int> filter(const Group& one, Keep&& keep) {
  std::vector<int> members;
  for (int i = 0; i < one.size; ++i)
    if (keep(one.job_rank(i))) members.push_back(one.job_rank(i));
  return members;
}

}  // namespace
}  // namespace portunus::mpi

using namespace portunus::mpi;

extern "C" int PMPI_Group_size(MPI_Group group, int* size) try {
  Group* found;
  if (int error = check("MPI_Group_size", group, found, {size})) return error;
  *size = found->size;
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Group_size)

extern "C" int PMPI_Group_rank(MPI_Group group, int* rank) try {
  Group* found;
  if (int error = check("MPI_Group_rank", group, found, {rank})) return error;
  *rank = found->rank;
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Group_rank)

extern "C" int PMPI_Group_translate_ranks(MPI_Group group1, int n, const int ranks1[], MPI_Group group2, int ranks2[]) try {
  static constexpr char kName[] = "MPI_Group_translate_ranks";
  Group *from, *to;
  if (int error = check_two(kName, group1, group2, from, to, kName)) return error;
  if (int error = check_count(kName, n, ranks1)) return error;
  if (int error = check_count(kName, n, ranks2)) return error;
  const MemberIndex index(*to);
  for (int i = 0; i < n; ++i) {
    if (ranks1[i] == MPI_PROC_NULL) {
      ranks2[i] = MPI_PROC_NULL;
      continue;
    }
    if (ranks1[i] < 0 || ranks1[i] >= from->size)
      return raise(kName, nullptr, MPI_ERR_RANK, "there is no rank %d in a group of %d", ranks1[i], from->size);
    ranks2[i] = index.find(from->job_rank(ranks1[i]));
  }
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Group_translate_ranks)

extern "C" int PMPI_Group_compare(MPI_Group group1, MPI_Group group2, int* result) try {
  Group *one, *other;
  if (int error = check_two("MPI_Group_compare", group1, group2, one, other, result)) return error;
  *result = compare(*one, *other);
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Group_compare)

extern "C" int PMPI_Group_union(MPI_Group group1, MPI_Group group2, MPI_Group* newgroup) try {
  static constexpr char kName[] = "MPI_Group_union";
  Group *one, *other;
  if (int error = check_two(kName, group1, group2, one, other, newgroup)) return error;
  const MemberIndex index(*one);
  std::vector<int> members = filter(*one, [](int) { return true; });
  const std::vector<int> added = filter(*other, [&](int rank) { return !index.has(rank); });
  members.insert(members.end(), added.begin(), added.end());
  return hand_out(kName, *one, std::move(members), newgroup);
}
MPI_WEAK_NAME(Group_union)

extern "C" int PMPI_Group_intersection(MPI_Group group1, MPI_Group group2, MPI_Group* newgroup) try {
  static constexpr char kName[] = "MPI_Group_intersection";
  Group *one, *other;
  if (int error = check_two(kName, group1, group2, one, other, newgroup)) return error;
  const MemberIndex index(*other);
  return hand_out(kName, *one, filter(*one, [&](int rank) { return index.has(rank); }), newgroup);
}
MPI_WEAK_NAME(Group_intersection)

extern "C" int PMPI_Group_difference(MPI_Group group1, MPI_Group group2, MPI_Group* newgroup) try {
  static constexpr char kName[] = "MPI_Group_difference";
  Group *one, *other;
  if (int error = check_two(kName, group1, group2, one, other, newgroup)) return error;
  const MemberIndex index(*other);
  return hand_out(kName, *one, filter(*one, [&](int rank) { return !index.has(rank); }), newgroup);
}
MPI_WEAK_NAME(Group_difference)

extern "C" int PMPI_Group_incl(MPI_Group group, int n, const int ranks[], MPI_Group* newgroup) try {
  static constexpr char kName[] = "MPI_Group_incl";
  Group* found;
  if (int error = check(kName, group, found, {newgroup})) return error;
  if (int error = check_count(kName, n, ranks)) return error;
  return include(kName, *found, std::vector<int>(ranks, ranks + n), newgroup);
}
MPI_WEAK_NAME(Group_incl)

extern "C" int PMPI_Group_excl(MPI_Group group, int n, const int ranks[], MPI_Group* newgroup) try {
  static constexpr char kName[] = "MPI_Group_excl";
  Group* found;
  if (int error = check(kName, group, found, {newgroup})) return error;
  if (int error = check_count(kName, n, ranks)) return error;
  return exclude(kName, *found, std::vector<int>(ranks, ranks + n), newgroup);
}
MPI_WEAK_NAME(Group_excl)

extern "C" int PMPI_Group_range_incl(MPI_Group group, int n, int ranges[][3], MPI_Group* newgroup) try {
  static constexpr char kName[] = "MPI_Group_range_incl";
  Group* found;
  std::vector<int> ranks;
  if (int error = check(kName, group, found, {newgroup})) return error;
  if (int error = check_count(kName, n, ranges)) return error;
  if (int error = expand(kName, *found, n, ranges, ranks)) return error;
  return include(kName, *found, ranks, newgroup);
}
MPI_WEAK_NAME(Group_range_incl)

extern "C" int PMPI_Group_range_excl(MPI_Group group, int n, int ranges[][3], MPI_Group* newgroup) try {
  static constexpr char kName[] = "MPI_Group_range_excl";
  Group* found;
  std::vector<int> ranks;
  if (int error = check(kName, group, found, {newgroup})) return error;
  if (int error = check_count(kName, n, ranges)) return error;
  if (int error = expand(kName, *found, n, ranges, ranks)) return error;
  return exclude(kName, *found, ranks, newgroup);
}
MPI_WEAK_NAME(Group_range_excl)

extern "C" int PMPI_Group_free(MPI_Group* group) try {
  static constexpr char kName[] = "MPI_Group_free";
  Group* found;
  if (int error = check_results(kName, nullptr, {group})) return error;
  if (int error = check(kName, *group, found, {})) return error;
  release(found);
  *group = MPI_GROUP_NULL;
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Group_free)
