// nearby.cpp: see nearby.hpp.
#include "engine/host/nearby.hpp"

#include <sched.h>

#include <algorithm>
#include <fstream>
#include <sstream>

namespace portunus {

std::vector<int> processors_in(const std::string& list) {
  std::vector<int> all;
  std::istringstream text(list);
  int first;
  while (text >> first) {
    int last = first;
    if (text.peek() == '-') text.ignore() >> last;
    for (int one = first; one <= last; ++one) all.push_back(one);
    if (text.peek() == ',') text.ignore();
  }
  return all;
}

std::vector<int> processors_near(const std::string& device) {
  std::ifstream file(device + "/local_cpulist");
  std::string list;
  std::getline(file, list);
  return processors_in(list);
}

std::vector<int> own_processors() {
  std::vector<int> all;
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return all;
  for (int one = 0; one < CPU_SETSIZE; ++one)
    if (CPU_ISSET(one, &set)) all.push_back(one);
  return all;
}

size_t nearest(std::span<const std::vector<int>> near, const std::vector<int>& own, size_t turn) {
  std::vector<size_t> best;
  size_t most = 0;
  for (size_t i = 0; i < near.size(); ++i) {
    const std::vector<int>& its = near[i];
    const auto is_near = [&its](int one) { return its.empty() || std::find(its.begin(), its.end(), one) != its.end(); };
    const auto shared = static_cast<size_t>(std::count_if(own.begin(), own.end(), is_near));
    if (best.empty() || shared > most) best.clear(), most = shared;
    if (shared == most) best.push_back(i);
  }
  if (best.empty()) return 0;
  const std::vector<int>& its = near[best.front()];
  const bool shares = !own.empty() && own.size() < its.size() && most == own.size();
  if (shares) turn = static_cast<size_t>(std::find(its.begin(), its.end(), own.front()) - its.begin()) / own.size();
  return best[turn % best.size()];
}

}  // namespace portunus
