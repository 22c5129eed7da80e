// refusal.hpp: how the inside says no: a code of vdc.h and one sentence. The calls of the interface turn it into a result, or end
// the job.
//
// Thread: any.
#pragma once

#include <string>

#include "shmem/views/vdc.h"

namespace portunus::views {

struct Refusal {
  int code;
  std::string sentence;
};

// Throws it; the sentence is made as by printf.
[[noreturn, gnu::format(printf, 2, 3)]] void refuse(int code, const char* sentence, ...);

// "vdc: process 3: ...", and the end of the job.
[[noreturn, gnu::format(printf, 1, 2)]] void end_job(const char* sentence, ...);

}  // namespace portunus::views
