// thorough.hpp: how many of its random cases a long test runs.
#pragma once

#include <cstdint>

namespace portunus::test {

#if defined(__has_feature)  // Clang
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define PORTUNUS_TEST_SANITIZED
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define PORTUNUS_TEST_SANITIZED
#endif
#ifdef PORTUNUS_TEST_SANITIZED
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

// All, or every eighth in builds with sanitizers, which look at memory and are ten times slower; 0 only of 0.
constexpr uint32_t runs(uint32_t all) { return kSanitized ? (all + 7) / 8 : all; }

}  // namespace portunus::test
