// interposed.cpp: the functions of the C library that ranks find here instead: time, sleep, beginning, end, and what is kept for each.
//
// The executable exports them (exported.list), so that the dynamic linker takes them for what ranks' programs and libraries call. ptlsim
// itself, while no rank runs, gets the C library's. Thread: one.
#include <dlfcn.h>
#include <errno.h>
#include <getopt.h>
#include <link.h>
#include <pthread.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdarg>

#include "engine/tools/ptlsim/rank.hpp"
#include "engine/tools/ptlsim/real.hpp"

using portunus::ptlsim::Rank;

namespace {

template <class Function>
Function* real_of(Function*, const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

constexpr uint64_t kSecond = 1'000'000'000;

int pass(uint64_t ns) {
  Rank::current->sleep(ns);
  return 0;
}

uint64_t as_ns(const timespec& time) { return static_cast<uint64_t>(time.tv_sec) * kSecond + static_cast<uint64_t>(time.tv_nsec); }

int refuse(const char* what) {
  Rank::current->end_job(2, "rank " + std::to_string(Rank::current->number) + " calls " + what +
                                ", which cannot be simulated: each rank is a single thread here, and no process");
}

// The C library keeps one place in the arguments for all; programs may have their own names for it.
template <class Call>
int read_option(Call call) {
  Rank& rank = *Rank::current;
  const bool is_first = rank.own_optind == 1;
  int& own = rank.loaded.optind ? *rank.loaded.optind : rank.own_optind;
  optind = is_first && own <= 1 ? 0 : own;
  const int option = call();
  own = rank.own_optind = optind;
  if (rank.loaded.optarg) *rank.loaded.optarg = optarg;
  if (rank.loaded.optopt) *rank.loaded.optopt = optopt;
  return option;
}

}  // namespace

namespace portunus::ptlsim::real {

int clock_gettime(clockid_t clock, timespec* out) {
  static auto* const function = real_of(::clock_gettime, "clock_gettime");
  return function(clock, out);
}

ssize_t write(int file, const void* text, size_t size) {
  static auto* const function = real_of(::write, "write");
  return function(file, text, size);
}

}  // namespace portunus::ptlsim::real

#define IN_RANK(name, ...) \
  if (!Rank::current) return real_of(name, #name)(__VA_ARGS__)
#define SIMULATED extern "C" [[gnu::visibility("default")]]

SIMULATED int __libc_start_main(int (*main)(int, char**, char**), int argc, char** argv, void (*init)(), void (*fini)(),
                                void (*rtld_fini)(), void* stack_end) {
  if (!Rank::current) return real_of(__libc_start_main, "__libc_start_main")(main, argc, argv, init, fini, rtld_fini, stack_end);
  Rank::current->end(main(argc, argv, environ));
}

SIMULATED int __cxa_atexit(void (*function)(void*), void* argument, void* object) {
  if (!Rank::current) return real_of(__cxa_atexit, "__cxa_atexit")(function, argument, object);
  Rank::current->at_end(function, argument);
  return 0;
}

SIMULATED void exit(int status) noexcept {
  if (Rank::current) Rank::current->end(status & 0xff);
  real_of(exit, "exit")(status);
  __builtin_unreachable();
}

// Without what the rank has registered for its end.
SIMULATED void _exit(int status) {
  if (Rank::current) Rank::current->end_at_once(status & 0xff);
  real_of(_exit, "_exit")(status);
  __builtin_unreachable();
}

SIMULATED void _Exit(int status) noexcept {
  if (Rank::current) Rank::current->end_at_once(status & 0xff);
  real_of(_Exit, "_Exit")(status);
  __builtin_unreachable();
}

SIMULATED void quick_exit(int status) noexcept {
  if (Rank::current) Rank::current->end_at_once(status & 0xff);
  real_of(quick_exit, "quick_exit")(status);
  __builtin_unreachable();
}

// A rank's program comes first, as a process's own does.
SIMULATED int dl_iterate_phdr(int (*look)(dl_phdr_info*, size_t, void*), void* data) {
  if (Rank::current && Rank::current->loaded.image) {
    const std::byte* const image = Rank::current->loaded.image;
    const auto& header = *reinterpret_cast<const ElfW(Ehdr)*>(image);
    dl_phdr_info own{};
    own.dlpi_addr = reinterpret_cast<ElfW(Addr)>(image);
    own.dlpi_name = "";
    own.dlpi_phdr = reinterpret_cast<const ElfW(Phdr)*>(image + header.e_phoff);
    own.dlpi_phnum = header.e_phnum;
    if (const int answer = look(&own, sizeof own, data); answer != 0) return answer;
  }
  return real_of(dl_iterate_phdr, "dl_iterate_phdr")(look, data);
}

SIMULATED int clock_gettime(clockid_t clock, timespec* out) noexcept {
  IN_RANK(clock_gettime, clock, out);
  const uint64_t now = Rank::current->now();
  *out = {static_cast<time_t>(now / kSecond), static_cast<long>(now % kSecond)};
  return 0;
}

SIMULATED int gettimeofday(timeval* out, void* zone) noexcept {
  IN_RANK(gettimeofday, out, zone);
  const uint64_t now = Rank::current->now();
  *out = {static_cast<time_t>(now / kSecond), static_cast<suseconds_t>(now % kSecond / 1000)};
  return 0;
}

SIMULATED time_t time(time_t* out) noexcept {
  IN_RANK(time, out);
  const auto now = static_cast<time_t>(Rank::current->now() / kSecond);
  if (out) *out = now;
  return now;
}

SIMULATED int nanosleep(const timespec* time, timespec* left) {
  IN_RANK(nanosleep, time, left);
  return pass(as_ns(*time));
}

SIMULATED int clock_nanosleep(clockid_t clock, int flags, const timespec* time, timespec* left) {
  IN_RANK(clock_nanosleep, clock, flags, time, left);
  const uint64_t now = flags & TIMER_ABSTIME ? Rank::current->now() : 0;
  return pass(as_ns(*time) - std::min(now, as_ns(*time)));
}

SIMULATED int usleep(useconds_t us) {
  IN_RANK(usleep, us);
  return pass(uint64_t{us} * 1000);
}

SIMULATED unsigned sleep(unsigned seconds) {
  IN_RANK(sleep, seconds);
  return static_cast<unsigned>(pass(seconds * kSecond));
}

SIMULATED int sched_yield() noexcept {
  IN_RANK(sched_yield);
  Rank::current->yield();
  return 0;
}

SIMULATED ssize_t write(int file, const void* text, size_t size) {
  if (!Rank::current || (file != 1 && file != 2)) return real_of(write, "write")(file, text, size);
  Rank::current->output.add(file, static_cast<const char*>(text), size);
  return static_cast<ssize_t>(size);
}

SIMULATED long random() noexcept {
  IN_RANK(random);
  int32_t number = 0;
  random_r(&Rank::current->random, &number);
  return number;
}

SIMULATED void srandom(unsigned seed) noexcept {
  IN_RANK(srandom, seed);
  srandom_r(seed, &Rank::current->random);
}

SIMULATED int rand() noexcept { return static_cast<int>(random()); }
SIMULATED void srand(unsigned seed) noexcept { srandom(seed); }

SIMULATED int getopt(int argc, char* const argv[], const char* options) noexcept {
  IN_RANK(getopt, argc, argv, options);
  return read_option([&] { return real_of(getopt, "getopt")(argc, argv, options); });
}

SIMULATED int getopt_long(int argc, char* const argv[], const char* options, const option* names, int* which) noexcept {
  IN_RANK(getopt_long, argc, argv, options, names, which);
  return read_option([&] { return real_of(getopt_long, "getopt_long")(argc, argv, options, names, which); });
}

SIMULATED int getopt_long_only(int argc, char* const argv[], const char* options, const option* names, int* which) noexcept {
  IN_RANK(getopt_long_only, argc, argv, options, names, which);
  return read_option([&] { return real_of(getopt_long_only, "getopt_long_only")(argc, argv, options, names, which); });
}

SIMULATED pid_t fork() noexcept {
  IN_RANK(fork);
  return refuse("fork");
}

SIMULATED pid_t vfork() noexcept { return refuse("vfork"); }

SIMULATED int execv(const char* path, char* const words[]) noexcept {
  IN_RANK(execv, path, words);
  return refuse("execv");
}

SIMULATED int execvp(const char* path, char* const words[]) noexcept {
  IN_RANK(execvp, path, words);
  return refuse("execvp");
}

SIMULATED int execve(const char* path, char* const words[], char* const variables[]) noexcept {
  IN_RANK(execve, path, words, variables);
  return refuse("execve");
}

SIMULATED int system(const char* command) {
  IN_RANK(system, command);
  return refuse("system");
}

SIMULATED FILE* popen(const char* command, const char* mode) {
  IN_RANK(popen, command, mode);
  refuse("popen");
  return nullptr;
}

SIMULATED int pthread_create(pthread_t* thread, const pthread_attr_t* how, void* (*body)(void*), void* argument) noexcept {
  IN_RANK(pthread_create, thread, how, body, argument);
  return refuse("pthread_create");
}
