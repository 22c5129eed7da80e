// recover.hpp: after a death: the living agree on the newest whole copy of a view, whose process becomes the owner.
#pragma once

#include <cstdint>
#include <utility>

#include "shmem/views/library.hpp"

namespace portunus::views {

// Owner and version. Collective over the living.
std::pair<int, uint64_t> recover(View& view);

// Waits until all living processes have called it as often as this one, recoveries included.
void meet_the_living();

}  // namespace portunus::views
