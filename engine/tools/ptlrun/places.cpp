// Reads lists of hosts.
//
// Thread: ptlrun's main thread.
#include "engine/tools/ptlrun/places.hpp"

#include <unistd.h>

#include <charconv>
#include <fstream>
#include <sstream>

#include "engine/tools/ptlrun/options.hpp"

namespace portunus::launch {
namespace {

int slots_in(const std::string& word, const std::string& entry) {
  int slots = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), slots);
  if (error != std::errc() || end != word.data() + word.size() || slots < 1 || slots > kMaxRanks)
    throw Refusal(kBadUse, "the host '" + entry + "' was given '" + word + "' slots; give 1 to " + std::to_string(kMaxRanks));
  return slots;
}

void add_host(const std::string& entry, std::vector<HostSlots>& places) {
  HostSlots place{entry, 0};
  if (const auto colon = entry.find(':'); colon != std::string::npos)
    place = {entry.substr(0, colon), slots_in(entry.substr(colon + 1), entry)};
  if (place.name.empty()) throw Refusal(kBadUse, "a list of hosts has an empty name; write NAME or NAME:SLOTS, divided by commas");
  places.push_back(std::move(place));
}

}  // namespace

void add_hosts(const std::string& list, std::vector<HostSlots>& places) {
  for (size_t from = 0; from <= list.size();) {
    const size_t to = std::min(list.find(',', from), list.size());
    add_host(list.substr(from, to - from), places);
    from = to + 1;
  }
}

void add_host_file(const std::string& path, std::vector<HostSlots>& places) {
  std::ifstream file(path);
  if (!file) throw Refusal(kBadUse, "the file of hosts '" + path + "' cannot be read; check the path and its permissions");
  const size_t before = places.size();
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line.substr(0, line.find('#')));
    std::string word;
    if (!(words >> word)) continue;
    add_host(word, places);
    while (words >> word)
      if (word.starts_with("slots=")) places.back().slots = slots_in(word.substr(6), places.back().name);
  }
  if (places.size() == before) throw Refusal(kBadUse, "the file of hosts '" + path + "' names none; write one in each line");
}

bool is_this_host(const std::string& name) {
  char own[256] = "";
  if (gethostname(own, sizeof own - 1) != 0) own[0] = '\0';
  const std::string whole = own;
  return name == "localhost" || name == "127.0.0.1" || name == "::1" || name == whole || name == whole.substr(0, whole.find('.'));
}

}  // namespace portunus::launch
