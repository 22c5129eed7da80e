// nearby.hpp: which of several devices is nearest to the processors of a process.
//
// Thread: set-up. Source: sched_setaffinity(2); Linux, Documentation/ABI/testing/sysfs-bus-pci.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace portunus {

// Returns the processors of a list as the kernel writes it: 0-3,8.
std::vector<int> processors_in(const std::string& list);
// Returns the processors near a device by its folder in /sys; none where nothing is known, as of devices without a place on a bus.
std::vector<int> processors_near(const std::string& device);
// Returns the processors that the calling thread may use.
std::vector<int> own_processors();

// Returns the number of the device that is nearest to processors of ours, by the processors near each. Processes of a node that several are
// equally near to are spread over these: by where their processors lie among those near the devices, and if all have the same ones, by
// `turn`, which differs from process to process.
size_t nearest(std::span<const std::vector<int>> near, const std::vector<int>& own, size_t turn);

}  // namespace portunus
