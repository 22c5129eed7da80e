// kept.cpp: see kept.hpp.
#include "mpi-adi/fortran/kept.hpp"

#include <cstdlib>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "mpi-adi/fortran/choice.hpp"

int kept_requests = 0;  // changed under the lock with release, read by is_anything_kept() with acquire

namespace {

struct Table {
  std::mutex mutex;
  std::unordered_map<MPI_Request, std::vector<Kept>> of_request;
  std::vector<Kept> orphans;  // of requests that were freed: perhaps in use for ever
  void count() { __atomic_store_n(&kept_requests, static_cast<int>(of_request.size()), __ATOMIC_RELEASE); }
};

Table& table() {
  static auto& all = *new Table;
  return all;
}

void drop(std::vector<Kept>& list) {
  for (Kept& each : list) {
    std::free(each.memory);
    if (each.copy != nullptr) free_copy(each.copy);
  }
}

template <class Action>
void with(MPI_Request request, Action&& action) {
  Table& all = table();
  std::lock_guard lock(all.mutex);
  const auto found = all.of_request.find(request);
  if (found != all.of_request.end()) action(all, found);
}

}  // namespace

void keep(MPI_Request request, Kept kept) {
  Table& all = table();
  std::lock_guard lock(all.mutex);
  all.of_request[request].push_back(kept);
  all.count();
}

void kept_new(MPI_Request request) {
  with(request, [](Table& all, auto found) {
    drop(found->second);
    all.of_request.erase(found);
    all.count();
  });
}

void kept_started(MPI_Request request) {
  with(request, [](Table&, auto found) {
    for (Kept& each : found->second)
      if (each.copy != nullptr) gather(each.copy);
  });
}

void kept_complete(MPI_Request request, bool gone) {
  with(request, [gone](Table& all, auto found) {
    for (Kept& each : found->second)
      if (each.copy != nullptr) scatter(each.copy);
    if (!gone) return;
    drop(found->second);
    all.of_request.erase(found);
    all.count();
  });
}

void kept_forget(MPI_Request request) {
  with(request, [](Table& all, auto found) {
    all.orphans.insert(all.orphans.end(), found->second.begin(), found->second.end());
    all.of_request.erase(found);
    all.count();
  });
}
