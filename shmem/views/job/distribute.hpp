// distribute.hpp: a global variable of process 0 to all.
#pragma once

#include <cstddef>

namespace portunus::views {

void distribute(void* variable, size_t bytes);

}  // namespace portunus::views
