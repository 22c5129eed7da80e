#!/usr/bin/env python3
"""hangs_test.py PTLRUN PROGRAM WAY: ranks that wait for one another for ever end the job and are told, each with its call and what it waits
for; programs that only look so for some seconds end well."""

import os
import subprocess
import sys

WAYS = {"node": {"PTL_NODE": "1"}, "messages": {"PTL_DEBUG": "no-node-collectives"}, "tcp": {"PTL_NODE": "0", "PTL_FABRIC_PROVIDER": "tcp"},
        "offload": {"PTL_PROGRESS": "offload"}}

FINALIZE = "rank 2 has been in MPI_Finalize"
# What is said of a hang, in part.
NEVER = {
    "cycle_of_receives": ["rank 0 has been in MPI_Recv for", "a message from rank 1 with tag 0 on MPI_COMM_WORLD", "rank 2 has been in MPI_Recv"],
    "receive_of_oneself": ["rank 0 has been in MPI_Recv", "a message from rank 0 with tag 0"],
    "wrong_tag": ["rank 1 has been in MPI_Recv", "from rank 0 with tag 5 on MPI_COMM_WORLD; rank 0 has sent 8 bytes with tag 6", FINALIZE],
    "wrong_communicator": ["rank 1 has been in MPI_Recv", "rank 0 has sent 8 bytes with tag 5 on another communicator", FINALIZE],
    "cycle_of_ssends": ["rank 1 has been in MPI_Ssend", "its message with tag 0 on MPI_COMM_WORLD to be received by rank 2"],
    "cycle_of_long_sends": ["rank 1 has been in MPI_Send", "to be received by rank 2"],
    "barrier_against_receive": ["rank 0 has been in MPI_Recv", "rank 1 has been in MPI_Barrier", "the others in collective number 1"],
    "one_leaves_out_a_barrier": ["rank 0 has been in MPI_Barrier", "rank 1 has been in MPI_Barrier", FINALIZE],
    "one_leaves_out_an_allreduce": ["rank 0 has been in MPI_Allreduce", FINALIZE],
    "one_leaves_out_an_ibarrier": ["rank 0 has been in MPI_Wait", "the others in MPI_Ibarrier on MPI_COMM_WORLD", FINALIZE],
    "continues_after_an_ibarrier": ["rank 0 has been in MPI_Wait", "the others in MPI_Ibarrier on MPI_COMM_WORLD", FINALIZE],
    "partition_that_is_not_ready": ["rank 0 has been in MPI_Wait", "another rank to come to the same call", FINALIZE],
    "probe_for_nothing": ["rank 0 has been in MPI_Probe", "a message from any rank with tag 3", FINALIZE],
    "waits_for_either": ["rank 0 has been in MPI_Waitany", "from rank 1 with tag 1", "or a message from rank 2 with tag 2", FINALIZE],
    "waits_for_all": ["rank 0 has been in MPI_Waitall", "from rank 2 with tag 2", FINALIZE],
    "persistent_receive": ["rank 0 has been in MPI_Wait", "from rank 1 with tag 1", FINALIZE],
    "sendrecv_out_of_step": ["rank 0 has been in MPI_Sendrecv", "from rank 1 with tag 0", "rank 1 has sent 8 bytes with tag 1"],  # rank 2 may say so later
    "dup_by_some": ["rank 0 has been in MPI_Comm_dup", FINALIZE],
    "wait_for_notification": ["rank 0 has been in MPIX_Win_wait_notify", "notification 3 of a window", FINALIZE],
    "start_without_post": ["rank 0 has been in MPI_Win_start", "rank 2", FINALIZE],
    "post_without_complete": ["rank 0 has been in MPI_Win_wait", "rank 2", FINALIZE],
    "two_while_another_computes": ["rank 0 has been in MPI_Recv", "rank 1 has been in MPI_Recv"],
    "all_threads": ["rank 0 has been in MPI_Recv", "with tag 0", "with tag 1"],
}
WELL = ["late_sender", "late_by_computing", "other_thread_sends", "waits_outside", "accumulates_meanwhile", "notifies_late", "polls", "stopped_for_a_while",
        "goes_round", "accepts"]

way = sys.argv[3]
jobs = {}
for how in [*NEVER, *WELL]:
    # Where a network carries messages, some may be on their way to ranks that compute: all must wait.
    if way == "tcp" and how == "two_while_another_computes":
        continue
    job = [sys.argv[1], "-n", "3", "--timeout", "280", sys.argv[2], how]
    jobs[how] = subprocess.Popen(job, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env={**os.environ, **WAYS[way]})
failures = 0
for how, job in jobs.items():
    errors = job.communicate()[1]
    words = NEVER.get(how, [])
    if how in NEVER:
        words = ["ranks wait for one another for ever", *words]
    missing = [word for word in words if word not in errors]
    if job.returncode != (124 if how in NEVER else 0) or missing or (how in WELL and errors):
        failures += 1
        print(f"{how}: exit status {job.returncode}; missing: {missing}; stderr:\n{errors}")
sys.exit(failures != 0)
