// misuse.hpp: the end of a job whose program broke a rule, or whose network failed: one sentence, all PEs end.
//
// Thread: any. None of these returns.
#pragma once

#include <cstddef>

namespace portunus::shmem {

inline constexpr int kMisuseStatus = 1;  // exit status of a job that ends so

// "shmem: PE 2: <sentence>." on stderr.
[[noreturn, gnu::cold, gnu::format(printf, 1, 2)]] void misuse(const char* sentence, ...);
[[noreturn, gnu::cold]] void misuse_pe(const char* function, int pe);
[[noreturn, gnu::cold]] void misuse_team_pe(const char* function, int pe, int size);
[[noreturn, gnu::cold]] void misuse_address(const char* function, const void* address, size_t size, int pe);
[[noreturn, gnu::cold]] void misuse_alignment(const char* function, const void* address, size_t alignment, int pe);
[[noreturn, gnu::cold]] void misuse_length(const char* function, size_t nelems, size_t element);
[[noreturn, gnu::cold]] void misuse_context(const char* function);
[[noreturn, gnu::cold]] void misuse_memory(const char* function);  // there is not enough

}  // namespace portunus::shmem
