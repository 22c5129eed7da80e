// start_program.hpp: the way into a program as the kernel goes it, on the stack that is in use.
//
// Its first function finds the arguments on top of the stack, and calls __libc_start_main with them and with `main`: interposed.cpp has one
// for ranks.
// Thread: any.
#pragma once

#include <alloca.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace portunus::ptlsim {

[[noreturn]] inline void go(void (*entry)(), char** block) {
#if defined(__x86_64__)
  asm volatile("mov %0, %%rsp; xor %%edx, %%edx; xor %%ebp, %%ebp; jmp *%1" ::"r"(block), "r"(entry) : "rdx", "memory");
#else
  asm volatile("mov sp, %0; mov x0, xzr; mov x29, xzr; mov x30, xzr; br %1" ::"r"(block), "r"(entry) : "x0", "memory");
#endif
  __builtin_unreachable();
}

[[gnu::noinline]] inline void start_program(void (*entry)(), const std::vector<std::string>& command) {
  size_t variables = 0;
  while (environ[variables]) ++variables;
  const size_t words = 1 + command.size() + 1 + variables + 1 + 2;
  auto** const block = static_cast<char**>(alloca((words * sizeof(char*) + 31) & ~size_t{15}));
  auto** const aligned = reinterpret_cast<char**>((reinterpret_cast<uintptr_t>(block) + 15) & ~uintptr_t{15});
  char** next = aligned;
  *next++ = reinterpret_cast<char*>(command.size());
  for (const std::string& word : command) *next++ = strdup(word.c_str());  // the program may change them
  *next++ = nullptr;
  for (size_t i = 0; i <= variables; ++i) *next++ = environ[i];
  *next++ = nullptr;
  *next++ = nullptr;
  go(entry, aligned);
}

}  // namespace portunus::ptlsim
