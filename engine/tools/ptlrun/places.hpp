// The hosts that -host, -hosts and -hostfile name.
//
// Thread: pure, but for reading the file and asking for this host's name.
#pragma once

#include <string>
#include <vector>

namespace portunus::launch {

struct HostSlots {
  std::string name;
  int slots = 0;  // how many ranks it shall take; 0: not said
};

// NAME[:SLOTS],... Throws Refusal.
void add_hosts(const std::string& list, std::vector<HostSlots>& places);

// A host in each line: NAME, NAME:SLOTS or NAME slots=SLOTS; '#' begins a remark. Throws Refusal.
void add_host_file(const std::string& path, std::vector<HostSlots>& places);

// Whether this name means the host that ptlrun runs on.
bool is_this_host(const std::string& name);

}  // namespace portunus::launch
