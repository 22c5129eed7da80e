// real.hpp: functions of the C library that ptlsim itself calls while a rank runs, which would get its own (interposed.cpp).
//
// Thread: any.
#pragma once

#include <sys/types.h>
#include <time.h>

namespace portunus::ptlsim::real {

int clock_gettime(clockid_t clock, timespec* out);
ssize_t write(int file, const void* text, size_t size);

}  // namespace portunus::ptlsim::real
