// mode.hpp: the forms of progress that PTL_PROGRESS names.
#pragma once

#include <cstdint>

namespace portunus {

enum class ProgressMode : uint8_t { automatic, spin, park, offload, caller };

}  // namespace portunus
