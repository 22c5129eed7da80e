#!/usr/bin/env python3
"""leaks_test.py PTLRUN PROGRAM: what MPI_Finalize says is left behind, once a job, and each thing where that is wanted."""

import os
import subprocess
import sys

# what is left: (the job's line, how many ranks tell of it, and how)
CASES = {
    "nothing": ("nothing behind", 0, ""),
    "request": ("1 request (rank 1: 1)", 1, "on rank 1: left is a request: it waits for a message from rank 0 with tag 7 on MPI_COMM_WORLD"),
    "communicator": ("3 communicators (rank 0: 1, rank 1: 1, rank 2: 1)", 3, "left is a communicator: of leaks.c of 3 ranks"),
    "datatype": ("1 datatype (rank 2: 1)", 1, "on rank 2: left is a datatype: one without name of 12 bytes"),
    "window": ("3 windows (rank 0: 1, rank 1: 1, rank 2: 1)", 3, "left is a window"),
    "file": ("1 file (rank 0: 1)", 1, "on rank 0: left is a file: " + sys.argv[2]),
    "group": ("2 groups (rank 1: 2)", 2, "on rank 1: left is a group: of 3 processes"),
    "operation": ("1 reduction operation (rank 0: 1)", 1, "on rank 0: left is a reduction operation: one that commutes"),
    "info": ("1 info (rank 2: 1)", 1, "on rank 2: left is an info: of 0 keys"),
    "errhandler": ("2 error handlers (rank 0: 2)", 2, "on rank 0: left is an error handler: of communicators"),
    "keyval": ("1 attribute key (rank 0: 1)", 1, "on rank 0: left is an attribute key: of communicators"),
    "message": ("2 messages never received (rank 1: 2)", 2, "on rank 1: left is a message never received"),
}
LINE = "MPI_Finalize: the job has left "

failures = 0
for way in [{"PTL_NODE": "1"}, {"PTL_NODE": "0", "PTL_FABRIC_PROVIDER": "tcp"}]:
    for what, (line, tellers, words) in CASES.items():
        for asks in [{"PTL_DEBUG": "leaks"}] + [{"PTL_INFO": "1"}, {}] * (what == "message"):
            job = [sys.argv[1], "-n", "3", "--timeout", "280", sys.argv[2], what]
            ran = subprocess.run(job, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env={**os.environ, **way, **asks})
            lines = ran.stderr.splitlines()
            told = [each for each in lines if words and words in each]
            good = ran.returncode == 0 and lines.count(LINE + line) == bool(asks)
            if not good or len(told) != (tellers if "PTL_DEBUG" in asks else 0) or len(lines) != len(told) + bool(asks):
                failures += 1
                print(f"{what} {way} {asks}: exit status {ran.returncode}; stderr:\n{ran.stderr}")
# Where only some ranks ask, nobody waits for the others.
some = [sys.argv[1], "--timeout", "280", "-n", "2", "env", "PTL_DEBUG=leaks", sys.argv[2], ":", "-n", "1", sys.argv[2]]
ran = subprocess.run(some, capture_output=True, text=True)
if ran.returncode != 0 or ran.stderr:
    failures += 1
    print(f"some ask: exit status {ran.returncode}; stderr:\n{ran.stderr}")
sys.exit(failures != 0)
