#!/usr/bin/env python3
"""mistaken_test.py PTLRUN PROGRAM one|all|table: of small jobs with one deliberate mistake each, made with one call or with many, those are
told that can be, each with a sentence that names it; of jobs without a mistake nothing is told. table: prints how many jobs of each kind
are told instead, with PTL_DEBUG as it is in the environment."""

import collections
import concurrent.futures
import os
import subprocess
import sys

# Kinds of mistakes, as collections of such programs name them.
ORDER, MATCHING, PARAMETERS, INVALID = "call ordering", "call matching", "parameter matching", "invalid parameter"
REQUESTS, EPOCHS, LOCAL, RACE = "request lifecycle", "epoch lifecycle", "local concurrency", "message race"
GLOBAL, LEAK, CORRECT = "global concurrency", "resource leak", "correct"

BLOCKING = "Bcast Gather Gatherv Scatter Scatterv Allgather Allgatherv Alltoall Alltoallv".split()
REDUCTIONS = "Reduce Allreduce Reduce_scatter Reduce_scatter_block Scan Exscan Ireduce Iallreduce Iscan".split()
PAIRS = ["Alltoallw", "Neighbor_alltoall"]
MOVING = [*BLOCKING, *REDUCTIONS, *"Ibcast Igather Iscatter Iallgather Ialltoall".split()]
COLLECTIVES = ["Barrier", "Ibarrier", *MOVING, *PAIRS]
ROOTED = "Bcast Gather Gatherv Scatter Scatterv Reduce Ibcast Igather Iscatter Ireduce".split()
SENDS, RECEIVES = "Send Ssend Isend Issend Send_init".split(), "Recv Irecv Probe Mprobe Recv_init".split()
SYNCHRONOUS = ["Ssend", "Issend"]

EVER = "ranks wait for one another for ever"
NOTHING = None  # is told
# (kind, mistake, calls, a part of what is said)
TABLE = [
    (CORRECT, "correct", [*COLLECTIVES, "messages", "pairs", "ring", "bytes", "fence", "lock", "post"], NOTHING),
    (CORRECT, "concurrent", ["empty"], NOTHING),
    (ORDER, "receives_first", RECEIVES, EVER),
    (ORDER, "sends_first", ["Send", "Ssend", "Issend"], EVER),
    (ORDER, "other_order", ["Barrier+Bcast", "Gather+Scatter", "Reduce+Allreduce", "Bcast+Reduce", "Allgather+Alltoall", "Ibarrier+Ibcast",
                            "Ireduce+Iallreduce", "Barrier+Ibarrier"], "as collective number 1 of this communicator"),
    (ORDER, "other_communicators", ["Barrier", "Allreduce", "Alltoall", "Ibarrier"], EVER),
    (ORDER, "against_receive", ["Barrier", "Allreduce", "Alltoall"], EVER),
    (MATCHING, "one_leaves_it_out", ["Bcast", "Scatter", "Scatterv", "Scan", "Exscan", "Ibcast", "Iscatter", "Iscan"],
     "the first that is left out is MPI_"),
    (MATCHING, "one_leaves_it_out", ["Barrier", "Gather", "Allgather", "Alltoallv", "Reduce", "Allreduce", "Reduce_scatter", "Ibarrier",
                                     "Igather", "Ialltoall", "Ireduce"], EVER),
    (MATCHING, "root_leaves_it_out", ["Bcast", "Scatter", "Ibcast"], EVER),
    (MATCHING, "one_calls_it_twice", ["Barrier", "Allreduce", "Ibarrier"], EVER),
    (MATCHING, "nobody_sends", RECEIVES, EVER),
    (MATCHING, "nobody_receives", SYNCHRONOUS, EVER),
    (MATCHING, "nobody_receives", ["Send", "Isend", "Send_init"], "left is a message never received: 4 bytes from rank 0 with tag 0"),
    (MATCHING, "other_tag", ["Send", *RECEIVES], "with tag 4 on MPI_COMM_WORLD; rank 0 has sent 4 bytes with tag 3"),
    (MATCHING, "other_tag", ["Ssend"], EVER),
    (MATCHING, "other_communicator", RECEIVES, "rank 0 has sent 4 bytes with tag 0 on another communicator"),
    (MATCHING, "ends_early", ["with"], EVER),
    (MATCHING, "ends_early", ["without"], "a rank cannot be reached; it has ended"),
    (PARAMETERS, "other_type", [*SENDS, *RECEIVES], "rank 0 has sent 4 MPI_INT with tag 0, where MPI_"),
    (PARAMETERS, "other_length_of_type", [*SENDS[:2], *RECEIVES[:2]], "rank 0 has sent 4 MPI_INT with tag 0, where MPI_"),
    (PARAMETERS, "too_long", [*SENDS, *RECEIVES], "a message of 32 bytes from rank 0 with tag 0 is longer than the receive buffer of 16"),
    (PARAMETERS, "other_type_of_collective", [*MOVING, *PAIRS, "Alltoallv/tcp"], "datatypes of another signature"),
    (PARAMETERS, "other_count", [*MOVING, *PAIRS], "MPI_ERR_TRUNCATE"),
    (PARAMETERS, "other_op", REDUCTIONS, "with another operation"),
    (PARAMETERS, "other_root", ROOTED, "MPI_ERR_ROOT"),
    (INVALID, "invalid", "count tag peer source buffer type communicator request uncommitted freed_type freed_communicator root op op_for_type "
                         "aliased in_place predefined world group negative_block target displacement window".split(), "(MPI_ERR_"),
    (REQUESTS, "request_life", ["no_wait", "no_wait_for_send", "no_wait_for_collective", "no_free"], "left is a request"),
    (REQUESTS, "request_life", ["waits_twice", "frees_twice", "starts_twice", "starts_a_receive", "starts_nothing", "ready_before_start"],
     "(MPI_ERR_REQUEST)"),
    (REQUESTS, "request_life", ["frees_collective"], "a wait or a test is to complete it (MPI_ERR_REQUEST)"),
    (REQUESTS, "request_life", ["ready_twice"], "the partition 0 is ready already"),
    (EPOCHS, "epoch", "put_outside get_outside accumulate_outside locks_twice unlocks_only unlocks_another unlocks_all_only completes_only "
                      "waits_only flushes_only fence_in_lock posts_twice put_after_last_fence frees_in_lock".split(), "(MPI_ERR_RMA_SYNC)"),
    (EPOCHS, "epoch", ["rput_in_fence"], "which accesses with a request ask for (MPI_ERR_RMA_SYNC)"),
    (LOCAL, "concurrent", ["changes_sent", "changes_copied"], "its data were changed before it was complete (MPI_ERR_BUFFER)"),
    (LOCAL, "concurrent", ["receives_twice", "sends_received", "receives_sent", "starts_on_received"], "is in use: MPI_"),
    (EPOCHS, "epoch", ["lock_and_receive/tcp", "no_fence", "no_post", "no_complete", "lock_and_receive"], EVER),
    (LEAK, "left", ["communicator", "datatype", "window", "message", "operation", "group", "info", "error handler", "keyval"], "left is a"),
]
# Mistakes of which nothing is said: nobody but a tool that sees each access to memory could, or the standard lets programs be so.
UNTOLD = [
    (LOCAL, "concurrent", ["reads_received"]),
    (RACE, "concurrent", ["any_source"]),
    (GLOBAL, "concurrent", ["puts_to_one_place"]),
]
LEFT = "MPI_Finalize: the job has left nothing behind\n"


def run(job):
    kind, mistake, call, ranks, words = job
    call, _, transport = call.partition("/")
    ways = {"PTL_NODE": "0", "PTL_FABRIC_PROVIDER": transport} if transport else {}
    ran = subprocess.run([sys.argv[1], "-n", str(ranks), "--timeout", "280", sys.argv[2], mistake, call], capture_output=True, text=True,
                         env={**environment, **ways})
    said = ran.stdout + ran.stderr
    return job, ran.returncode, said


def jobs_of(table):
    for kind, mistake, calls, words in table:
        for i, call in enumerate(calls):
            yield kind, mistake, call, 2 + (i + len(mistake)) % 3, words


def all_of(jobs):
    # Those that wait for ever sleep for seconds: many of them at once.
    waiting, others = [job for job in jobs if job[4] == EVER], [job for job in jobs if job[4] != EVER]
    with concurrent.futures.ThreadPoolExecutor(6) as first, concurrent.futures.ThreadPoolExecutor(2) as second:
        yield from (done.result() for done in [first.submit(run, job) for job in waiting] + [second.submit(run, job) for job in others])


if sys.argv[3] == "table":
    environment = dict(os.environ)
    told, tried = collections.Counter(), collections.Counter()
    for job, status, said in all_of(list(jobs_of(TABLE + [(*row, "") for row in UNTOLD]))):
        tried[job[0]] += 1
        told[job[0]] += status not in (0, 124) or EVER in said or "is left" in said or "left is" in said
    for kind in tried:
        print(f"| {kind} | {tried[kind]} | {told[kind]} |")
    sys.exit(0)

environment = {**os.environ, "PTL_DEBUG": "calls,leaks,buffers"}
failures = 0
chosen = TABLE if sys.argv[3] == "all" else [(kind, mistake, calls[:1], words) for kind, mistake, calls, words in TABLE]
for job, status, said in all_of(list(jobs_of(chosen))):
    kind, mistake, call, ranks, words = job
    good = (status == 0 and said == LEFT) if words is NOTHING else words in said
    if not good:
        failures += 1
        print(f"{mistake} {call}, {ranks} ranks: exit status {status}; expected: {words}; said:\n{said}")
sys.exit(failures != 0)
