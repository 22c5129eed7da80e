#!/usr/bin/env python3
"""unlike_test.py PTLRUN PROGRAM: with PTL_DEBUG=calls collective calls that are unlike one another are told, and those that are not are not."""

import os
import subprocess
import sys

OPERATION, TYPES = "with another operation", "with datatypes of another signature"
CASES = {"alike": None, "operation": OPERATION, "long_operation": OPERATION, "own_operation": OPERATION, "type": TYPES, "type_of_bcast": TYPES,
         "type_of_gather": TYPES, "type_of_alltoall": TYPES, "order_of_types": TYPES, "far_back": ("with another operation", "has made other calls than this one among the collectives number")}

failures = 0
for way in [{"PTL_NODE": "1"}, {"PTL_DEBUG": "calls,no-node-collectives"}, {"PTL_NODE": "0", "PTL_FABRIC_PROVIDER": "tcp"}]:
    jobs = {}
    for what in CASES:
        job = [sys.argv[1], "-n", "3", "--timeout", "280", sys.argv[2], what]
        jobs[what] = subprocess.Popen(job, stderr=subprocess.PIPE, text=True, env={**os.environ, "PTL_DEBUG": "calls", **way})
    for what, job in jobs.items():
        errors, words = job.communicate()[1], CASES[what]
        words = (words,) if isinstance(words, str) else words
        good = job.returncode == 0 and not errors if words is None else job.returncode not in (0, 124) and any(word in errors for word in words)
        if not good:
            failures += 1
            print(f"{what} {way}: exit status {job.returncode}; expected: {words}; stderr:\n{errors}")
sys.exit(failures != 0)
