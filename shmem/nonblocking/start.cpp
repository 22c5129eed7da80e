// start.cpp: from a nonblocking call to a task of a request; waiting for requests, and looking at them.
#include "shmem/nonblocking/start.hpp"

#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <new>
#include <stdexcept>
#include <utility>

#include "engine/goal/copy.hpp"
#include "shmem/define.hpp"
#include "shmem/graph/capture.hpp"
#include "shmem/nonblocking/request.hpp"
#include "shmem/sync.hpp"

namespace portunus::shmem {

namespace {

// The code; with SHMEM_DEBUG also why.
int refused(int code, const char* function, const char* why) {
  if (runtime.debug) fprintf(stderr, "shmem: PE %d: %s: %s\n", runtime.my_pe, function, why);
  return code;
}

// Launches what task(team) says.
template <class MakeTask>
int start_on(const char* function, shmem_team_t handle, shmemx_req_t* handed, MakeTask&& task) {
  require_init(function);
  if (!handed) return refused(SHMEMX_ERR_ARG, function, "the request is NULL");
  *handed = SHMEMX_REQ_INVALID;
  if (graph::is_refused(function, graph::kNotBlocking)) return refused(SHMEMX_ERR_UNSUPPORTED, function, graph::kNotBlocking);
  Team* const team = team_of(handle);
  if (!team) return refused(SHMEMX_ERR_ARG, function, "the team is SHMEM_TEAM_INVALID");
  Requests& all = Requests::instance();
  Request* request = nullptr;
  int code;
  try {
    request = &all.claim();
    const shmemx_req_t given = Requests::handle_of(*request);
    code = request->launch(*team, task(*team));
    if (code == GOAL_SUCCESS) *handed = given;
  } catch (const std::bad_alloc&) {
    code = GOAL_ERR_NO_SPACE;
  } catch (const std::length_error&) {
    code = GOAL_ERR_NO_SPACE;
  }
  if (code == GOAL_SUCCESS) return 0;
  if (request) all.give_back(*request);
  if (code != GOAL_ERR_NO_SPACE) must_succeed(code, "GOAL_Start", team->members);
  return refused(SHMEMX_ERR_MEMORY, function, "there is not enough memory; nothing was started");
}

// Whether the place of a request has one; else `code` says what to answer.
bool names_one(const char* function, shmemx_req_t* handed, Request*& request, int& code) {
  require_init(function);
  request = nullptr;
  code = 0;
  if (!handed) code = refused(SHMEMX_ERR_ARG, function, "the request is NULL");
  else if (*handed != SHMEMX_REQ_INVALID && !(request = Requests::instance().find(*handed)))
    code = refused(SHMEMX_ERR_ARG, function, "there is no such request: it has ended, or was never started");
  return request != nullptr;
}

// It is decided. A run that has failed: its code.
int end_request(const char* function, Request& request, shmemx_req_t* handed) {
  const int code = request.take_end(function);
  Requests::instance().give_back(request);
  *handed = SHMEMX_REQ_INVALID;
  return code;
}

}  // namespace

int start_barrier(const char* function, shmem_team_t team, bool quiets, shmemx_req_t* request) {
  return start_on(function, team, request, [&](Team&) {
    if (quiets) quiet(default_channel);
    else std::atomic_thread_fence(std::memory_order_seq_cst);
    return Task{.call = call_of(GOAL_CALL_BARRIER, 0, nullptr, nullptr), .facts = {function, 0, 0, nullptr}};
  });
}

// The root's own copy is made at once, as source is to stay until the end.
int start_broadcast(const char* function, shmem_team_t team, void* dest, const void* source, size_t nelems, size_t element, int root,
                    shmemx_req_t* request) {
  return start_on(function, team, request, [&](Team& it) {
    ops::check_root(function, it, root);
    const size_t bytes = bytes_of(function, nelems, element);
    ops::check_buffers(function, dest, bytes, source, bytes);
    const bool from_here = root == it.my_pe;
    if (from_here && bytes != 0 && dest != source) copy_run(dest, source, bytes);
    return Task{.call = call_of(GOAL_CALL_BCAST, bytes, nullptr, from_here ? const_cast<void*>(source) : dest, root),
                .facts = {function, bytes, root, dest},
                .sends_nothing = bytes == 0 || it.size() == 1};
  });
}

int start_collect(const char* function, shmem_team_t team, void* dest, const void* source, size_t nelems, size_t element,
                  shmemx_req_t* request) {
  return start_on(function, team, request, [&](Team& it) {
    const size_t bytes = bytes_of(function, nelems, element), n = static_cast<size_t>(it.size());
    ops::check_buffers(function, dest, bytes, source, bytes);
    return Task{.call = call_of(GOAL_CALL_ALLGATHERV, bytes, source, dest),
                .facts = {function, 0, 0, nullptr},
                .sizes = std::vector<size_t>(n),
                .begins = std::vector<ptrdiff_t>(n)};
  });
}

int start_fcollect(const char* function, shmem_team_t team, void* dest, const void* source, size_t nelems, size_t element,
                   shmemx_req_t* request) {
  return start_on(function, team, request, [&](Team& it) {
    const size_t bytes = bytes_of(function, nelems, element);
    ops::check_buffers(function, dest, bytes_of(function, static_cast<size_t>(it.size()), bytes), source, bytes);
    return Task{.call = call_of(GOAL_CALL_ALLGATHER, bytes, source, dest), .facts = {function, bytes, 0, dest}};
  });
}

int start_alltoall(const char* function, shmem_team_t team, void* dest, const void* source, size_t nelems, size_t element,
                   shmemx_req_t* request) {
  return start_on(function, team, request, [&](Team& it) {
    const size_t bytes = bytes_of(function, nelems, element), all = bytes_of(function, static_cast<size_t>(it.size()), bytes);
    ops::check_buffers(function, dest, all, source, all);
    return Task{.call = call_of(GOAL_CALL_ALLTOALL, bytes, source, dest), .facts = {function, bytes, 0, dest}};
  });
}

int start_alltoalls(const char* function, shmem_team_t team, void* dest, const void* source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems,
                    size_t element, shmemx_req_t* request) {
  return start_on(function, team, request, [&](Team& it) {
    const ops::Strided all = ops::strided(function, it, dst, sst, nelems, element);
    ops::check_buffers(function, dest, all.extent(dst), source, all.extent(sst));
    const size_t bytes = nelems * element, packed = all.count * element;
    std::unique_ptr<std::byte[]> both(new std::byte[2 * packed]);
    all.pack(both.get(), source, sst);
    const GOAL_Call call = call_of(GOAL_CALL_ALLTOALL, bytes, both.get(), both.get() + packed);
    return Task{.call = call, .facts = {function, bytes, 0, dest}, .packed = std::move(both), .elements = all, .stride = dst, .dest = dest};
  });
}

int start_combining(const char* function, shmem_team_t team, void* dest, const void* source, size_t count, size_t element,
                    GOAL_Call_kind kind, GOAL_Type type, GOAL_Local_op op, shmemx_req_t* request) {
  return start_on(function, team, request, [&](Team& it) {
    const size_t bytes = bytes_of(function, count, element);
    ops::check_buffers(function, dest, bytes, source, bytes);
    return Task{.call = call_of(kind, count, type, op, source, dest),
                .facts = {function, bytes, 0, dest},
                .cleared = kind == GOAL_CALL_EXSCAN && it.my_pe == 0 ? bytes : 0,
                .dest = dest};
  });
}

}  // namespace portunus::shmem

using namespace portunus::shmem;

SHMEMI_DEFINE_BARE(int, shmemx_req_wait, (shmemx_req_t * handed)) try {
  Request* request;
  int code;
  if (!names_one("shmemx_req_wait", handed, request, code)) return code;
  request->await("shmemx_req_wait");
  return end_request("shmemx_req_wait", *request, handed);
}
SHMEMI_BARRIER

SHMEMI_DEFINE_BARE(int, shmemx_req_test, (shmemx_req_t * handed, int* complete)) try {
  Request* request;
  int code;
  if (!complete) return refused(SHMEMX_ERR_ARG, "shmemx_req_test", "the place of the answer is NULL");
  *complete = 0;
  if (!names_one("shmemx_req_test", handed, request, code)) {
    *complete = code == 0;
    return code;
  }
  if (!request->is_decided()) progress();
  if (!request->is_decided()) return request->must_be_hopeful("shmemx_req_test"), 0;
  *complete = 1;
  return end_request("shmemx_req_test", *request, handed);
}
SHMEMI_BARRIER

SHMEMI_DEFINE_BARE(int, shmemx_req_free, (shmemx_req_t * handed)) try {
  Request* request;
  int code;
  if (!names_one("shmemx_req_free", handed, request, code)) return code;
  if (request->is_decided()) request->must_be_well();
  Requests::instance().free(*request);
  *handed = SHMEMX_REQ_INVALID;
  return 0;
}
SHMEMI_BARRIER

SHMEMI_DEFINE_BARE(int, shmemx_barrier_nb, (shmem_team_t team, shmemx_req_t* request)) try {
  return start_barrier("shmemx_barrier_nb", team, true, request);
}
SHMEMI_BARRIER

SHMEMI_DEFINE_BARE(int, shmemx_sync_nb, (shmem_team_t team, shmemx_req_t* request)) try {
  return start_barrier("shmemx_sync_nb", team, false, request);
}
SHMEMI_BARRIER
