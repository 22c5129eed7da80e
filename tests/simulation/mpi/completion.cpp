// completion.cpp: how a rank's requests end: see rank.hpp.
#include "tests/simulation/mpi/rank.hpp"

#include <algorithm>

namespace portunus::simulation {

void Rank::ended(std::list<Open>::iterator which, MPI_Status& status, int code) {
  Open& open = *which;
  if (open.receive) received(*open.receive, status, code);
  else check(code, "a request");
  if (open.cancelled) {
    int cancelled = 0;
    MPI_Test_cancelled(&status, &cancelled);
    expect(cancelled, "a receive that nothing matched was not cancelled");
  }
  if (open.look) open.look();
  if (open.persistent) check(MPI_Request_free(&open.request), "MPI_Request_free");
  expect(open.request == MPI_REQUEST_NULL, "a request that has ended is not null");
  open_.erase(which);
}

void Rank::complete(bool surely) {
  std::vector<std::list<Open>::iterator> which;
  const bool all = one_in(2);
  for (auto it = open_.begin(); it != open_.end(); ++it)
    if (!it->deferred && (all || one_in(2))) which.push_back(it);
  if (which.empty()) return;
  for (size_t i = which.size() - 1; i > 0; --i) std::swap(which[i], which[draw(static_cast<uint32_t>(i + 1))]);
  std::vector<MPI_Request> requests;
  for (const auto& each : which) {
    requests.push_back(each->request);
    machine_.notes("with", each->number);
  }
  const int count = static_cast<int>(which.size());
  std::vector<MPI_Status> statuses(which.size());
  std::vector<int> indices(which.size());
  int found = 0, index = 0, code = MPI_SUCCESS;
  const auto several = [&](bool listed) {
    if (code != MPI_SUCCESS && class_of(code) != MPI_ERR_IN_STATUS) check(code, "a completion of several");
    for (int i = 0; i < found; ++i) {
      const auto at = static_cast<size_t>(listed ? indices[static_cast<size_t>(i)] : i);
      MPI_Status& status = statuses[static_cast<size_t>(i)];
      which[at]->request = requests[at];
      ended(which[at], status, code == MPI_SUCCESS ? MPI_SUCCESS : status.MPI_ERROR);
    }
  };
  const auto one = [&] {
    which[static_cast<size_t>(index)]->request = requests[static_cast<size_t>(index)];
    ended(which[static_cast<size_t>(index)], statuses[0], code);
  };
  const uint32_t way = surely && one_in(2) ? draw(4) : draw(8);
  static constexpr const char* kCalls[] = {"MPI_Wait", "MPI_Waitany", "MPI_Waitsome", "MPI_Waitall",
                                           "MPI_Test", "MPI_Testany", "MPI_Testsome", "MPI_Testall"};
  machine_.acts(kCalls[way]);
  switch (way) {
    case 0: code = MPI_Wait(requests.data(), statuses.data()); return one();
    case 1: code = MPI_Waitany(count, requests.data(), &index, statuses.data()); return one();
    case 2:
      code = MPI_Waitsome(count, requests.data(), &found, indices.data(), statuses.data());
      expect(found > 0, "MPI_Waitsome returns with nothing");
      return several(true);
    case 3:
      code = MPI_Waitall(count, requests.data(), statuses.data());
      found = count;
      return several(false);
    case 4: code = MPI_Test(requests.data(), &found, statuses.data()); return found ? one() : static_cast<void>(check(code, "MPI_Test"));
    case 5:
      code = MPI_Testany(count, requests.data(), &index, &found, statuses.data());
      return found ? one() : static_cast<void>(check(code, "MPI_Testany"));
    case 6: code = MPI_Testsome(count, requests.data(), &found, indices.data(), statuses.data()); return several(true);
    default:
      code = MPI_Testall(count, requests.data(), &found, statuses.data());
      if (found) found = count;
      return several(false);
  }
}

}  // namespace portunus::simulation
