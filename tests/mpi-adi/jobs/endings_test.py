#!/usr/bin/env python3
"""endings_test.py PTLRUN PROGRAM: how a job ends after MPI errors: exit status, and one sentence with the cause."""

import os
import subprocess
import sys

# how the program goes wrong: (exit status, what the sentence contains)
CASES = {
    "well": (0, []),
    "freed": (0, []),
    "session": (0, []),
    "sessions": (0, []),
    "rank": (6, ["MPI_Send on rank 2, MPI_COMM_WORLD: there is no rank 3 among 3", "MPI_ERR_RANK"]),
    "tag": (4, ["MPI_Send on rank 2", "the tag -1", "MPI_ERR_TAG"]),
    "type": (3, ["MPI_Recv on rank 2, MPI_COMM_WORLD: the datatype is MPI_DATATYPE_NULL", "MPI_ERR_TYPE"]),
    "itself": (15, ["MPI_Gather on rank 2, MPI_COMM_WORLD: rank 2 sends itself 4 bytes, but receives 8", "MPI_ERR_TRUNCATE"]),
    "nobody": (5, ["MPI_Barrier on rank 2: the communicator is MPI_COMM_NULL", "MPI_ERR_COMM"]),
    "truncate": (15, ["MPI_Wait on rank 2", "8 bytes from rank 2 with tag 5", "buffer of 4 bytes", "MPI_ERR_TRUNCATE"]),
    "collective": (15, ["MPI_Bcast on rank 2, MPI_COMM_WORLD: rank", "has called MPI_Bcast with 8", "bytes for each rank, this one with 4",
                         "the ranks' counts or types do not fit", "MPI_ERR_TRUNCATE"]),
    "functions": (16, ["MPI_Barrier on rank 2, MPI_COMM_WORLD: rank 0 has called MPI_Gather", "this one MPI_Barrier", "MPI_ERR_OTHER"]),
    "ifunctions": (16, ["MPI_Wait on rank 2, MPI_COMM_WORLD: rank 0 has called MPI_Iscatter", "this one MPI_Ibcast", "MPI_ERR_OTHER"]),
    "requests": (39, ["MPI_Irecv on rank 2", "requests are in use", "MPI_ERR_NO_MEM"]),
    "abort": (42, ["rank 2 ends the job with error code 42"]),
    "abort256": (1, ["error code 256"]),
    "before": (16, ["MPI_Comm_rank: called before MPI_Init"]),
    "after": (16, ["MPI_Barrier: called after MPI_Finalize"]),
    "twice": (16, ["MPI_Init on rank 2", "initialized already"]),
}

failures = 0
for how, (status, words) in CASES.items():
    # The ranks that do nothing wrong wait for what nobody sends.
    job = [sys.argv[1], "-n", "3", "--timeout", "280", "--let-hang", sys.argv[2], how]
    ran = subprocess.run(job, capture_output=True, text=True)
    missing = [word for word in words if word not in ran.stderr]
    if ran.returncode != status or missing:
        failures += 1
        print(f"{how}: exit status {ran.returncode}, expected {status}; missing: {missing}; stderr:\n{ran.stderr}")
# Errors are returned, and a rank dies: operations with it fail, and the others go on.
for how in ["recv", "any", "probe", "ssend", "wait", "send", "allreduce", "after_many", "bulk", "barrier", "ialltoall", "dup", "idup"]:
    job = [sys.argv[1], "-n", "3", "--timeout", "280", "--keep-going", sys.argv[2], "outlives", how]
    ran = subprocess.run(job, capture_output=True, text=True)
    complaints = [line for line in ran.stderr.splitlines() if "rank 0" in line or "rank 1" in line]
    if ran.returncode != 128 + 9 or complaints:
        failures += 1
        print(f"outlives {how}: exit status {ran.returncode}, expected 137; stderr:\n{ran.stderr}")
# A rank dies among collectives that have schedules of their own: in memory of the node, by schedules there, and by tcp.
for at in ["1", "7", "31"]:
    for way in [{}, {"PTL_DEBUG": "no-node-collectives"}, {"PTL_NODE": "0", "PTL_FABRIC_PROVIDER": "tcp"}]:
        job = [sys.argv[1], "-n", "4", "--timeout", "280", "--keep-going", sys.argv[2], "sizes", at]
        ran = subprocess.run(job, capture_output=True, text=True, env={**os.environ, **way})
        if ran.returncode != 128 + 9 or ran.stderr.count("\n") != 1:
            failures += 1
            print(f"sizes {at} {way}: exit status {ran.returncode}; stderr:\n{ran.stderr}")
# Collectives that do not fit would wait for ever; ranks look after a second, so all cases run at once.
jobs = {}
for how in ["size", "meeting", "waiting", "waitany", "function", "ifunction", "early", "root"]:
    for way in [{"PTL_NODE": "1"}, {"PTL_NODE": "0", "PTL_FABRIC_PROVIDER": "tcp"}]:
        job = [sys.argv[1], "-n", "3", "--timeout", "280", sys.argv[2], "disagrees", how]
        jobs[how, way["PTL_NODE"]] = subprocess.Popen(job, stderr=subprocess.PIPE, text=True, env={**os.environ, **way})
for how, job in jobs.items():
    errors = job.communicate()[1]
    if job.returncode != 0:
        failures += 1
        print(f"disagrees {how}: exit status {job.returncode}; stderr:\n{errors}")
sys.exit(failures != 0)
