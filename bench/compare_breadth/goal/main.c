/* One kind of GOAL call in a loop from GOAL_Init on: what do its first rounds take, and what the later ones?
 *
 * usage: breadth_goal KIND ROUNDS. Rank 0 prints one line: microseconds a round, of the rank that takes longest, of the first 40 rounds and
 * of the second half.
 */
#include "kinds.h"

int me, ranks, right, left, wrong;
GOAL_Group world;
int64_t *in, *out, turn;

static const struct Kind *const tables[] = {schedules, runs, calls};

int main(int argc, char **argv) {
    long count;
    TRY(GOAL_Init(&me, &ranks));
    const struct Kind *const kind = chosen_kind(tables, sizeof tables / sizeof tables[0], argc, argv, &count);
    right = (me + 1) % ranks;
    left = (me + ranks - 1) % ranks;
    TRY(GOAL_World(&world));
    const size_t most = kLong > ranks * kCount ? kLong : (size_t)ranks * kCount;
    in = calloc(most, sizeof *in);
    out = calloc(most, sizeof *out);
    if (kind->prepare) kind->prepare();
    const struct Took took = measured(kind, count);
    if (kind->end) kind->end();
    const int status = report(kind, took, me, ranks);
    GOAL_Finalize();
    return status;
}
