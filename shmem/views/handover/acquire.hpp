// acquire.hpp: views as the calls see them: acquire with a time limit, ahead, release, destroy.
//
// Thread: the one that calls. All refuse (refusal.hpp) what is wrong.
#pragma once

#include <functional>

#include "shmem/views/library.hpp"

namespace portunus::views {

inline constexpr double kForEver = -1;

void acquire(View& view, Vdcx_mode mode, double seconds);
void release(View& view);
// Steps what was begun; true when it has ended. Never waits.
bool go_on(View& view);
void begin(View& view, Vdcx_mode mode);
void complete(View& view, double seconds);
// Steps everything that was begun ahead, for whoever waits meanwhile.
void continue_prefetches();
void destroy(View& view);
// Waits until done() is true, which looks at own words; between looks, what was begun goes on. False: time is up.
bool wait_for(const std::function<bool()>& done, double seconds);

}  // namespace portunus::views
