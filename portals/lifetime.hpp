// lifetime.hpp: what opening and closing share. Thread: any; `lifetime` serialises set-up and tear-down.
#pragma once

#include <mutex>

#include "engine/core/runtime.hpp"

namespace portunus::api {

std::mutex& lifetime();
// The place of this process in its job; set by PtlxJobInit before the engine starts.
JobPlace& job_place();
// Closes every interface and stops the engine. Caller holds `lifetime`.
void close_all_interfaces();

}  // namespace portunus::api
