// deaths.hpp: PEs that have died while this one lives, and what ends then: the rule of README.md, "When a PE dies".
//
// PEs of this node are watched from the start, others from when a wait has been a long one: to watch them takes a connection to each.
// The engine counts deaths (client::Deaths); who finds that changed asks which PEs they are.
//
// Thread: open and close: init and finalize; the rest: any.
// Source: portals4_ext.h, PtlxCTWatch, PtlxTriggeredNotify.
#pragma once

#include <cstdint>

#include "engine/client/deaths.hpp"
#include "shmem/members.hpp"

namespace portunus::shmem {

extern client::Deaths& deaths_counted [[gnu::visibility("hidden")]];

// One load.
inline uint64_t deaths() { return deaths_counted.told(); }

void deaths_open(ptl_handle_ni_t ni);  // after `runtime` is filled
void deaths_close();

// A dead PE of these, or of all for null; -1: none that is known. Takes no time while nobody has died.
int dead_among(const Members* members);
bool is_dead(int pe);

// Ends the job if the PE has died.
[[gnu::cold, gnu::noinline]] void must_live(const char* function, int pe);
// The dead one of these, after something failed: the failure may be here before the death is, so it is awaited for up to a second. -1:
// nobody.
[[gnu::cold]] int who_failed(const Members* members);
// Ends the job since operations failed: "<number> <what> failed", and why.
[[noreturn, gnu::cold]] void failed_operations(uint64_t number, const char* what);

// Until ready(arg), stepping the engine; the end of the job, with a sentence, if that needs a PE of `whom` (null: any PE) which has died.
void await(uint32_t watched, int (*ready)(void* arg), void* arg, const char* what, const Members* whom);

}  // namespace portunus::shmem
