// under_baton.hpp: "under the baton", as Clang's analysis of thread safety reads it: who calls a function that is marked UNDER_BATON must
// hold the baton (baton.hpp), which the analysis follows from where it is taken to where it is left. It sees the doors of the
// engine and of progress; what lies behind them carries no marks. Other compilers see nothing of it.
//
// The one baton of the analysis stands for the one of each process: no process has two engines; tests that step several by hand are not
// compiled with it.
#pragma once

#if defined(__clang__)
#define BATON_ATTRIBUTE(...) __attribute__((__VA_ARGS__))
#else
#define BATON_ATTRIBUTE(...)
#endif

namespace portunus {
inline constexpr struct BATON_ATTRIBUTE(capability("baton")) { } the_baton; }  // namespace portunus

#define UNDER_BATON BATON_ATTRIBUTE(requires_capability(::portunus::the_baton))
#define TAKES_BATON BATON_ATTRIBUTE(acquire_capability(::portunus::the_baton))
#define TAKES_BATON_IF_TRUE BATON_ATTRIBUTE(try_acquire_capability(true, ::portunus::the_baton))
#define LEAVES_BATON BATON_ATTRIBUTE(release_capability(::portunus::the_baton))
#define BATON_NOT_FOLLOWED BATON_ATTRIBUTE(no_thread_safety_analysis)  // says why beside it

namespace portunus {
// For a place where the baton is as good as held, since no other thread can be inside.
inline void as_if_under_baton() BATON_ATTRIBUTE(assert_capability(the_baton)) {}
}  // namespace portunus
