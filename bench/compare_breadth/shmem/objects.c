/* Locks; symmetric memory, teams and contexts that are made and freed again; calls that need nobody else. */
#include "kinds.h"

/* A lock for each PE, in lines of their own, that nobody else wants; and one that all want. */
static void lock_own(void) {
    long *const own = exposed + 8 * me;
    shmem_set_lock(own);
    shmem_clear_lock(own);
}
static void test_lock_own(void) {
    long *const own = exposed + 8 * me;
    while (shmem_test_lock(own) != 0) continue;
    shmem_clear_lock(own);
}
static long *guarded(void) { return exposed + kLong - 1; }
static void count_up(void) {
    shmem_long_p(guarded(), shmem_long_g(guarded(), 0) + 1, 0);
    ++turn;
    shmem_clear_lock(exposed);
}
static void lock_of_all(void) {
    shmem_set_lock(exposed);
    count_up();
}
static void test_lock_of_all(void) {
    while (shmem_test_lock(exposed) != 0) continue;
    count_up();
}
static void check_guarded(void) { expect(me != 0 || *guarded() == turn * pes); }

const struct Kind locks[] = {
    {"set-clear-lock", lock_own, NULL, NULL},
    {"test-clear-lock", test_lock_own, NULL, NULL},
    {"set-lock-of-all", lock_of_all, NULL, check_guarded},
    {"test-lock-of-all", test_lock_of_all, NULL, check_guarded},
    {NULL, NULL, NULL, NULL},
};

static void give_back(void *block) {
    expect(block != NULL);
    shmem_free(block);
}
static void malloc_free(void) { give_back(shmem_malloc(4096)); }
static void malloc_long(void) { give_back(shmem_malloc(1 << 20)); }
static void calloc_free(void) {
    long *const block = shmem_calloc(512, sizeof *block);
    expect(block[511] == 0);
    give_back(block);
}
static void align_free(void) {
    void *const block = shmem_align(4096, 4096);
    expect(((uintptr_t)block & 4095) == 0);
    give_back(block);
}
static void realloc_free(void) {
    long *block = shmem_malloc(64);
    block[0] = ++turn;
    block = shmem_realloc(block, 8192);
    expect(block[0] == turn);
    give_back(block);
}
#if HAS_1_5
static void malloc_with_hints(void) { give_back(shmem_malloc_with_hints(4096, SHMEM_MALLOC_ATOMICS_REMOTE)); }
#endif

const struct Kind memory[] = {
    {"malloc-free", malloc_free, NULL, NULL},
    {"malloc-free-1m", malloc_long, NULL, NULL},
    {"calloc-free", calloc_free, NULL, NULL},
    {"align-free", align_free, NULL, NULL},
    {"malloc-realloc-free", realloc_free, NULL, NULL},
    SINCE_1_5("malloc-with-hints-free", malloc_with_hints, NULL, NULL),
    {NULL, NULL, NULL, NULL},
};

static void create_ctx(long options) {
    shmem_ctx_t ctx;
    if (shmem_ctx_create(options, &ctx) == 0) shmem_ctx_destroy(ctx);
}
static void ctx_create(void) { create_ctx(0); }
static void ctx_create_private(void) { create_ctx(SHMEM_CTX_PRIVATE); }
static void create_put_destroy(void) {
    shmem_ctx_t ctx;
    ++turn;
    if (shmem_ctx_create(0, &ctx) != 0) return;
    shmem_ctx_long_p(ctx, exposed, turn, right);
    shmem_ctx_destroy(ctx);
}
static void check_put(void) { expect(exposed[0] == turn); }
#if HAS_1_5
static shmem_ctx_t kept;
static void split_strided(void) {
    shmem_team_t team;
    expect(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, pes, NULL, 0, &team) == 0);
    expect(shmem_team_n_pes(team) == pes);
    shmem_team_destroy(team);
}
static void split_half(void) {
    shmem_team_t team;
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 2, pes / 2, NULL, 0, &team);
    expect((team != SHMEM_TEAM_INVALID) == (me % 2 == 0));
    if (team != SHMEM_TEAM_INVALID) shmem_team_destroy(team);
}
static void split_2d(void) {
    shmem_team_t row, column;
    expect(shmem_team_split_2d(SHMEM_TEAM_WORLD, 2, NULL, 0, &row, NULL, 0, &column) == 0);
    expect(shmem_team_n_pes(row) == 2 && shmem_team_n_pes(column) == pes / 2);
    shmem_team_destroy(row);
    shmem_team_destroy(column);
}
static void team_create_ctx(void) {
    shmem_ctx_t ctx;
    expect(shmem_team_create_ctx(SHMEM_TEAM_WORLD, 0, &ctx) == 0);
    shmem_ctx_destroy(ctx);
}
static void make_kept(void) { expect(shmem_ctx_create(0, &kept) == 0); }
static void free_kept(void) { shmem_ctx_destroy(kept); }
#endif

const struct Kind objects[] = {
    {"ctx-create-destroy", ctx_create, NULL, NULL},
    {"ctx-create-private", ctx_create_private, NULL, NULL},
    {"ctx-create-p-destroy", create_put_destroy, NULL, check_put},
    SINCE_1_5("team-split-strided", split_strided, NULL, NULL),
    SINCE_1_5("team-split-half", split_half, NULL, NULL),
    SINCE_1_5("team-split-2d", split_2d, NULL, NULL),
    SINCE_1_5("team-create-ctx", team_create_ctx, NULL, NULL),
    {NULL, NULL, NULL, NULL},
};

static void own_pe(void) { expect(shmem_my_pe() == me); }
static void all_pes(void) { expect(shmem_n_pes() == pes); }
static void ptr(void) { shmem_ptr(exposed, right); }
static void pe_accessible(void) { expect(shmem_pe_accessible(right)); }
static void addr_accessible(void) { expect(shmem_addr_accessible(exposed, right)); }
static void get_version(void) {
    int major, minor;
    shmem_info_get_version(&major, &minor);
}
static void get_name(void) {
    char name[SHMEM_MAX_NAME_LEN];
    shmem_info_get_name(name);
}
static void query_thread(void) {
    int provided;
    shmem_query_thread(&provided);
}
#if HAS_1_5
static void team_my_pe(void) { expect(shmem_team_my_pe(SHMEM_TEAM_WORLD) == me); }
static void team_n_pes(void) { expect(shmem_team_n_pes(SHMEM_TEAM_WORLD) == pes); }
static void translate_pe(void) { expect(shmem_team_translate_pe(SHMEM_TEAM_WORLD, right, SHMEM_TEAM_WORLD) == right); }
static void get_config(void) {
    shmem_team_config_t config;
    shmem_team_get_config(SHMEM_TEAM_WORLD, SHMEM_TEAM_NUM_CONTEXTS, &config);
}
static void get_team(void) {
    shmem_team_t team;
    expect(shmem_ctx_get_team(kept, &team) == 0);
}
#endif
#if HAS_1_6
static void query_initialized(void) {
    int initialized;
    shmem_query_initialized(&initialized);
    expect(initialized);
}
static void team_ptr(void) { shmem_team_ptr(SHMEM_TEAM_WORLD, exposed, right); }
#endif

const struct Kind local_calls[] = {
    {"my-pe", own_pe, NULL, NULL},
    {"n-pes", all_pes, NULL, NULL},
    {"ptr", ptr, NULL, NULL},
    {"pe-accessible", pe_accessible, NULL, NULL},
    {"addr-accessible", addr_accessible, NULL, NULL},
    {"info-get-version", get_version, NULL, NULL},
    {"info-get-name", get_name, NULL, NULL},
    {"query-thread", query_thread, NULL, NULL},
    SINCE_1_6("query-initialized", query_initialized, NULL, NULL),
    SINCE_1_5("team-my-pe", team_my_pe, NULL, NULL),
    SINCE_1_5("team-n-pes", team_n_pes, NULL, NULL),
    SINCE_1_5("team-translate-pe", translate_pe, NULL, NULL),
    SINCE_1_5("team-get-config", get_config, NULL, NULL),
    SINCE_1_5("ctx-get-team", get_team, make_kept, free_kept),
    SINCE_1_6("team-ptr", team_ptr, NULL, NULL),
    {NULL, NULL, NULL, NULL},
};
