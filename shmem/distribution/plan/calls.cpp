// calls.cpp: the calls of ccc.h about plans: check, then plan.hpp; no exception leaves.
#include <shmem.h>

#include <memory>
#include <new>

#include "shmem/distribution/explain.hpp"
#include "shmem/distribution/layout/overlaps.hpp"
#include "shmem/distribution/plan/plan.hpp"

using namespace portunus::distribution;

namespace {

int no_plan() { return refuse(CCC_ERR_ARG, "the plan is NULL"); }

template <class F>
int guarded(F f) try {
  return f();
} catch (const std::bad_alloc&) {
  return refuse(CCC_ERR_NO_SPACE, "there is no memory left");
}

}  // namespace

int ccc_plan_create(const ccc_layout* from, const ccc_layout* to, const int* permutation, size_t size, ccc_plan* plan) {
  return guarded([&]() -> int {
    int up = 0;
    shmem_query_initialized(&up);
    if (!up) return refuse(CCC_ERR_STATE, "OpenSHMEM is not initialised; call shmem_init first");
    std::array<int, CCC_MOST_AXES> order{};
    if (const int code = check_pair(from, to, permutation, size, shmem_n_pes(), &order); code != CCC_SUCCESS) return code;
    if (!plan) return refuse(CCC_ERR_ARG, "there is no plan to fill: the pointer is NULL");
    auto made = std::make_unique<ccc_plan_>();
    if (const int code = made->create(*from, *to, order, size); code != CCC_SUCCESS) return code;
    *plan = made.release();
    return CCC_SUCCESS;
  });
}

int ccc_plan_run(ccc_plan plan, const void* from, void* to) {
  if (!plan) return no_plan();
  return guarded([&] { return plan->run(static_cast<const std::byte*>(from), static_cast<std::byte*>(to)); });
}
int ccc_plan_start(ccc_plan plan, const void* from, void* to) {
  if (!plan) return no_plan();
  return guarded([&] { return plan->start(static_cast<const std::byte*>(from), static_cast<std::byte*>(to)); });
}
int ccc_plan_test(ccc_plan plan, int* done) {
  if (!plan) return no_plan();
  if (!done) return refuse(CCC_ERR_ARG, "there is no result to fill: the pointer is NULL");
  return guarded([&] {
    bool ended = false;
    const int code = plan->test(&ended);
    if (code == CCC_SUCCESS) *done = ended;
    return code;
  });
}
int ccc_plan_wait(ccc_plan plan) {
  if (!plan) return no_plan();
  return guarded([&] { return plan->wait(); });
}

int ccc_plan_cost(ccc_plan plan, ccc_cost* cost) {
  if (!plan) return no_plan();
  if (!cost) return refuse(CCC_ERR_ARG, "there is no cost to fill: the pointer is NULL");
  return guarded([&]() -> int {
    *cost = cost_of(plan->from_layout, plan->to_layout, plan->order, plan->size);
    return CCC_SUCCESS;
  });
}
size_t ccc_plan_memory(ccc_plan plan) { return plan ? plan->memory() : 0; }

int ccc_plan_free(ccc_plan* plan) {
  if (!plan || !*plan) return no_plan();
  if ((*plan)->state == ccc_plan_::State::kStarted) return refuse(CCC_ERR_STATE, "the plan runs; wait for it first");
  (*plan)->destroy();
  delete *plan;
  *plan = nullptr;
  return CCC_SUCCESS;
}
