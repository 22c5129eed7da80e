/* Puts, gets, signals, and the order among them. Each PE works on its right neighbour's memory, and `end` looks at what its left one did. */
#include "kinds.h"

static shmem_ctx_t ctx;
#if HAS_1_5
static uint64_t *signal_word;
#endif

/* Round `turn` has this as the first number; the left neighbour's last one is to be here in the end. */
static void next(void) { sent[0] = ++turn; }
static void check_put(void) { expect(exposed[0] == turn); }
static void check_long(void) { expect(exposed[0] == turn && exposed[kLong - 1] == left); }
static void check_strided(void) {
    expect(exposed[0] == turn);
    for (int i = 1; i < kCount; ++i) expect(exposed[2 * i] == left);
}
static void offer(void) {
    for (int i = 0; i < kLong; ++i) exposed[i] = me + 1;
    shmem_barrier_all();
}
static void fill(void) {
    for (int i = 0; i < (kLong > 8 * kCount ? kLong : 8 * kCount); ++i) sent[i] = me;
}
/* The data that are got are to be there each time. */
static void forget(void) { received[0] = 0; }
static void check_got(void) { expect(received[0] == right + 1); }

static void put(void) {
    next();
    shmem_long_put(exposed, sent, kCount, right);
}
static void putmem(void) {
    next();
    shmem_putmem(exposed, sent, kCount * sizeof *sent, right);
}
static void put64(void) {
    next();
    shmem_put64(exposed, sent, kCount, right);
}
static void put_char(void) { shmem_char_put((char *)exposed, (const char *)sent, kCount, right); }
static void put_double(void) { shmem_double_put((double *)exposed, (const double *)sent, kCount, right); }
static void put_long(void) {
    next();
    shmem_long_put(exposed, sent, kLong, right);
}
static void put_self(void) {
    next();
    shmem_long_put(exposed, sent, kCount, me);
}
static void get(void) {
    forget();
    shmem_long_get(received, exposed, kCount, right);
    check_got();
}
static void getmem(void) {
    forget();
    shmem_getmem(received, exposed, kCount * sizeof *received, right);
    check_got();
}
static void get64(void) {
    forget();
    shmem_get64(received, exposed, kCount, right);
    check_got();
}
static void get_long(void) {
    forget();
    shmem_long_get(received, exposed, kLong, right);
    check_got();
}
static void iput(void) {
    next();
    shmem_long_iput(exposed, sent, 2, 3, kCount, right);
}
static void iget(void) {
    forget();
    shmem_long_iget(received, exposed, 2, 3, kCount, right);
    check_got();
}
static void iput32(void) { shmem_iput32(exposed, sent, 2, 3, kCount, right); }
static void iget32(void) { shmem_iget32(received, exposed, 2, 3, kCount, right); }
static void p(void) { shmem_long_p(exposed, ++turn, right); }
static void g(void) { expect(shmem_long_g(exposed, right) == right + 1); }
static void p_char(void) { shmem_char_p((char *)exposed, (char)++turn, right); }
static void g_double(void) { shmem_double_g((const double *)exposed, right); }
static void put_nbi(void) {
    next();
    shmem_long_put_nbi(exposed, sent, kCount, right);
    shmem_quiet();
}
static void putmem_nbi(void) {
    next();
    shmem_putmem_nbi(exposed, sent, kCount * sizeof *sent, right);
    shmem_quiet();
}
static void get_nbi(void) {
    forget();
    shmem_long_get_nbi(received, exposed, kCount, right);
    shmem_quiet();
    check_got();
}
static void getmem_nbi(void) {
    forget();
    shmem_getmem_nbi(received, exposed, kCount * sizeof *received, right);
    shmem_quiet();
    check_got();
}
static void eight_puts(void) {
    next();
    for (int i = 0; i < 8; ++i) shmem_long_put_nbi(exposed + i, sent + i, 1, right);
    shmem_quiet();
}
static void eight_gets(void) {
    forget();
    for (int i = 0; i < 8; ++i) shmem_long_get_nbi(received + i, exposed + i, 1, right);
    shmem_quiet();
    check_got();
}
#if HAS_1_6
static void ibput(void) {
    next();
    shmem_long_ibput(exposed, sent, 2, 3, 1, kCount, right);
}
static void ibget(void) {
    forget();
    shmem_long_ibget(received, exposed, 2, 3, 1, kCount, right);
    check_got();
}
#endif

const struct Kind puts_and_gets[] = {
    {"put", put, fill, check_put},
    {"putmem", putmem, fill, check_put},
    {"put64", put64, fill, check_put},
    {"put-char", put_char, fill, NULL},
    {"put-double", put_double, fill, NULL},
    {"put-256k", put_long, fill, check_long},
    {"put-self", put_self, fill, check_put},
    {"get", get, offer, NULL},
    {"getmem", getmem, offer, NULL},
    {"get64", get64, offer, NULL},
    {"get-256k", get_long, offer, NULL},
    {"iput", iput, fill, check_strided},
    {"iget", iget, offer, NULL},
    {"iput32", iput32, fill, NULL},
    {"iget32", iget32, offer, NULL},
    SINCE_1_6("ibput", ibput, fill, check_strided),
    SINCE_1_6("ibget", ibget, offer, NULL),
    {"p", p, NULL, check_put},
    {"g", g, offer, NULL},
    {"p-char", p_char, NULL, NULL},
    {"g-double", g_double, offer, NULL},
    {"put-nbi-quiet", put_nbi, fill, check_put},
    {"putmem-nbi-quiet", putmem_nbi, fill, check_put},
    {"get-nbi-quiet", get_nbi, offer, NULL},
    {"getmem-nbi-quiet", getmem_nbi, offer, NULL},
    {"eight-put-nbi-quiet", eight_puts, fill, check_put},
    {"eight-get-nbi-quiet", eight_gets, offer, NULL},
    {NULL, NULL, NULL, NULL},
};

static void ctx_put(void) {
    next();
    shmem_ctx_long_put(ctx, exposed, sent, kCount, right);
}
static void ctx_get(void) {
    forget();
    shmem_ctx_long_get(ctx, received, exposed, kCount, right);
    check_got();
}
static void ctx_p(void) { shmem_ctx_long_p(ctx, exposed, ++turn, right); }
static void ctx_put_nbi(void) {
    next();
    shmem_ctx_long_put_nbi(ctx, exposed, sent, kCount, right);
    shmem_ctx_quiet(ctx);
}
static void ctx_add(void) {
    shmem_ctx_long_atomic_add(ctx, exposed, 1, right);
    ++turn;
}
static void ctx_fence(void) { shmem_ctx_fence(ctx); }
static void ctx_quiet(void) { shmem_ctx_quiet(ctx); }
static void make_ctx(long options) {
    if (shmem_ctx_create(options, &ctx) != 0) ctx = SHMEM_CTX_DEFAULT;
    fill();
    offer();
}
static void make_private(void) { make_ctx(SHMEM_CTX_PRIVATE); }
static void make_shared(void) {
    make_ctx(0);
    exposed[0] = 0;
    shmem_barrier_all();
}
static void free_ctx(void) {
    if (ctx != SHMEM_CTX_DEFAULT) shmem_ctx_destroy(ctx);
}
static void check_and_free(void) {
    shmem_ctx_quiet(ctx); /* the barrier before this completes the default context alone */
    shmem_barrier_all();
    check_put();
    free_ctx();
}
#if HAS_1_6
static void session(void) {
    shmem_ctx_session_start(ctx, 0, NULL, 0);
    ctx_put();
    shmem_ctx_session_stop(ctx);
}
#endif

const struct Kind contexts[] = {
    {"ctx-put", ctx_put, make_private, check_and_free},
    {"ctx-get", ctx_get, make_private, free_ctx},
    {"ctx-p", ctx_p, make_private, check_and_free},
    {"ctx-put-nbi-quiet", ctx_put_nbi, make_shared, check_and_free},
    {"ctx-add", ctx_add, make_shared, check_and_free},
    {"ctx-fence", ctx_fence, make_shared, free_ctx},
    {"ctx-quiet", ctx_quiet, make_shared, free_ctx},
    SINCE_1_6("ctx-session", session, make_private, check_and_free),
    {NULL, NULL, NULL, NULL},
};

#if HAS_1_5
static void make_signal(void) {
    fill();
    signal_word = shmem_calloc(1, sizeof *signal_word);
}
static void free_signal(void) {
    expect(*signal_word == (uint64_t)turn);
    shmem_free(signal_word);
}
static void check_signal(void) {
    check_put();
    free_signal();
}
static void put_signal(void) {
    next();
    shmem_long_put_signal(exposed, sent, kCount, signal_word, (uint64_t)turn, SHMEM_SIGNAL_SET, right);
}
static void put_signal_add(void) {
    next();
    shmem_long_put_signal(exposed, sent, kCount, signal_word, 1, SHMEM_SIGNAL_ADD, right);
}
static void putmem_signal(void) {
    next();
    shmem_putmem_signal(exposed, sent, kCount * sizeof *sent, signal_word, (uint64_t)turn, SHMEM_SIGNAL_SET, right);
}
static void put_signal_nbi(void) {
    next();
    shmem_long_put_signal_nbi(exposed, sent, kCount, signal_word, (uint64_t)turn, SHMEM_SIGNAL_SET, right);
    shmem_quiet();
}
static void signal_fetch(void) { expect(shmem_signal_fetch(signal_word) == 0); }
static void wait_for_signal(void) {
    expect(shmem_signal_wait_until(signal_word, SHMEM_CMP_EQ, (uint64_t)turn) == (uint64_t)turn);
    expect(exposed[0] == turn);
}
/* Once around the ring of PEs. */
static void signal_wait(void) {
    next();
    if (me != 0) wait_for_signal();
    shmem_long_put_signal(exposed, sent, kCount, signal_word, (uint64_t)turn, SHMEM_SIGNAL_SET, right);
    if (me == 0) wait_for_signal();
}
#endif
#if HAS_1_6
static void signal_set(void) { shmem_signal_set(signal_word, (uint64_t)++turn, right); }
static void signal_add(void) {
    ++turn;
    shmem_signal_add(signal_word, 1, right);
}
#endif

const struct Kind signals[] = {
    SINCE_1_5("put-signal", put_signal, make_signal, check_signal),
    SINCE_1_5("put-signal-add", put_signal_add, make_signal, check_signal),
    SINCE_1_5("putmem-signal", putmem_signal, make_signal, check_signal),
    SINCE_1_5("put-signal-nbi-quiet", put_signal_nbi, make_signal, check_signal),
    SINCE_1_5("signal-fetch", signal_fetch, make_signal, free_signal),
    SINCE_1_5("signal-wait-until", signal_wait, make_signal, check_signal),
    SINCE_1_6("signal-set", signal_set, make_signal, free_signal),
    SINCE_1_6("signal-add", signal_add, make_signal, free_signal),
    {NULL, NULL, NULL, NULL},
};

static void fence(void) { shmem_fence(); }
static void quiet(void) { shmem_quiet(); }
static void p_quiet(void) {
    p();
    shmem_quiet();
}
static void p_fence_p(void) {
    p();
    shmem_fence();
    shmem_long_p(exposed + 1, turn, right);
}
static void put_quiet(void) {
    put();
    shmem_quiet();
}
#if HAS_1_6
static void pe_quiet(void) {
    p();
    shmem_pe_quiet(&right, 1);
}
#endif

const struct Kind ordering[] = {
    {"fence", fence, NULL, NULL},
    {"quiet", quiet, NULL, NULL},
    {"p-fence-p", p_fence_p, NULL, check_put},
    {"p-quiet", p_quiet, NULL, check_put},
    {"put-quiet", put_quiet, fill, check_put},
    SINCE_1_6("p-pe-quiet", pe_quiet, NULL, check_put),
    {NULL, NULL, NULL, NULL},
};
