// seam.hpp: functions that simulations define anew (engine/simulation/seams.cpp).
//
// The linker drops the second definition, so no call may have the first one's body in it, nor anything that follows from it.
#pragma once

#if defined(__clang__)
#define PORTUNUS_SEAM [[gnu::noinline]]
#else
#define PORTUNUS_SEAM [[gnu::noipa]]
#endif
