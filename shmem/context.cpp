// context.cpp: creation and destruction of contexts; sessions.
#include "shmem/context.hpp"

#include <algorithm>
#include <cassert>
#include <new>

#include "shmem/define.hpp"
#include "shmem/sync.hpp"

namespace portunus::shmem {

namespace {

constexpr long kKnownOptions = SHMEM_CTX_SERIALIZED | SHMEM_CTX_PRIVATE | SHMEM_CTX_NOSTORE;

// Makes a context. That none can be had is no error: the program goes on with another one.
int create(Team* team, long options, shmem_ctx_t* handle) {
  *handle = SHMEM_CTX_INVALID;
  if (!team || (options & ~kKnownOptions) != 0) return -1;
  auto* context = new (std::nothrow) Context{.channel = {}, .team = team, .options = options};
  if (!context) return -1;
  const bool one_thread = (options & (SHMEM_CTX_SERIALIZED | SHMEM_CTX_PRIVATE)) != 0;
  if (runtime.any_remote && !context->channel.open(one_thread)) {
    delete context;
    return -1;
  }
  const std::lock_guard lock(team->guard);
  team->contexts.push_back(context);
  *handle = reinterpret_cast<shmem_ctx_t>(context);
  return 0;
}

}  // namespace

void destroy_context(Context* context) {
  assert(context->team != nullptr && (context->options & ~kKnownOptions) == 0);
  quiet(context->channel);
  {
    const std::lock_guard lock(context->team->guard);
    std::erase(context->team->contexts, context);
  }
  if (runtime.any_remote) context->channel.close();
  delete context;
}

}  // namespace portunus::shmem

using namespace portunus::shmem;

SHMEMI_DEFINE(int, ctx_create, (long options, shmem_ctx_t* ctx)) try {
  require_init("shmem_ctx_create");
  return create(team_of(SHMEM_TEAM_WORLD), options, ctx);
}
SHMEMI_BARRIER

SHMEMI_DEFINE(int, team_create_ctx, (shmem_team_t team, long options, shmem_ctx_t* ctx)) try {
  require_init("shmem_team_create_ctx");
  return create(team_of(team), options, ctx);
}
SHMEMI_BARRIER

SHMEMI_DEFINE(void, ctx_destroy, (shmem_ctx_t ctx)) try {
  require_init("shmem_ctx_destroy");
  if (ctx == SHMEM_CTX_INVALID) return;
  if (ctx == SHMEM_CTX_DEFAULT) misuse("shmem_ctx_destroy: SHMEM_CTX_DEFAULT cannot be destroyed");
  destroy_context(reinterpret_cast<Context*>(ctx));
}
SHMEMI_BARRIER

SHMEMI_DEFINE(int, ctx_get_team, (shmem_ctx_t ctx, shmem_team_t* team)) try {
  require_init("shmem_ctx_get_team");
  *team = SHMEM_TEAM_INVALID;
  if (ctx == SHMEM_CTX_INVALID) return -1;
  *team = ctx == SHMEM_CTX_DEFAULT ? SHMEM_TEAM_WORLD : handle_of(reinterpret_cast<Context*>(ctx)->team);
  return 0;
}
SHMEMI_BARRIER

// A session is a hint about what will be issued. Operations are issued as early as they can be in any case.
SHMEMI_DEFINE(void, ctx_session_start, (shmem_ctx_t ctx, long, const shmem_ctx_session_config_t* config, long config_mask)) try {
  require_init("shmem_ctx_session_start");
  if (ctx != SHMEM_CTX_INVALID && config_mask != 0 && !config)
    misuse("shmem_ctx_session_start: config_mask is %ld, but there is no config", config_mask);
}
SHMEMI_BARRIER

SHMEMI_DEFINE(void, ctx_session_stop, (shmem_ctx_t)) try { require_init("shmem_ctx_session_stop"); }
SHMEMI_BARRIER
