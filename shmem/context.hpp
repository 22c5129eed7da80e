// context.hpp: contexts, and from a context and a PE number in its team to the peer and the channel that serve a call.
//
// Thread: any, within what the options of a context promise.
// Source: OpenSHMEM 1.6, chapter "Communication Management Routines".
#pragma once

#include "shmem/include/shmem_base.h"
#include "shmem/remote.hpp"
#include "shmem/team.hpp"

namespace portunus::shmem {

struct Context {
  Channel channel;
  Team* team;
  long options;
};

// The PE that a call reaches, and the channel to it.
struct Target {
  const Peer& peer;
  Channel& channel;
  int pe;  // of the world
};

inline Context& context_of(const char* function, shmem_ctx_t context) {
  if (context == SHMEM_CTX_INVALID) [[unlikely]]
    misuse_context(function);
  return *reinterpret_cast<Context*>(context);
}

inline Channel& channel_of(const char* function, shmem_ctx_t context) {
  if (context == SHMEM_CTX_DEFAULT) [[likely]]
    return default_channel;
  return context_of(function, context).channel;
}

// Returns the PE with this number in the team of the context; a sentence and the end of the job if there is none.
[[gnu::always_inline]] inline Target target_of(const char* function, shmem_ctx_t context, int pe) {
  if (context == SHMEM_CTX_DEFAULT) [[likely]]
    return {peer(function, pe), default_channel, pe};
  require_init(function);
  Context& used = context_of(function, context);
  if (static_cast<unsigned>(pe) >= static_cast<unsigned>(used.team->size())) [[unlikely]]
    misuse_team_pe(function, pe, used.team->size());
  const int world = used.team->members[pe];
  return {peer(function, world), used.channel, world};
}

// Ends a context, but not the default one, and all its operations.
void destroy_context(Context* context);

}  // namespace portunus::shmem
