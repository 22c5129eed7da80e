#!/usr/bin/env python3
"""little_memory_test.py PTLRUN PROGRAM: a PE that may have fewer addresses than the others does its part, or ends the job with a sentence.

One that could not map the memory of the others waited for messages of theirs, which waited in memory for it. Now both know, and send.
"""
import os
import subprocess
import sys

ptlrun, program = sys.argv[1:3]
HEAP = 256 << 20  # of 3 PEs: each maps 768 MiB
failures = 0
good = 0

for most in range(320 << 20, 1600 << 20, 160 << 20):
    limited = ["sh", "-c", f"ulimit -v {most >> 10}; exec {program}"]
    command = [ptlrun, "--timeout", "20", "-n", "2", program, ":", "-n", "1", *limited]
    done = subprocess.run(command, text=True, stdin=subprocess.DEVNULL, capture_output=True, check=False,
                          env={**os.environ, "SHMEM_SYMMETRIC_SIZE": str(HEAP)})
    good += done.returncode == 0
    if done.returncode == 124 or (done.returncode != 0 and len(done.stderr.split()) < 4) or "terminate called" in done.stderr:
        failures += 1
        print(f"with {most >> 20} MiB of addresses: status {done.returncode}, {done.stderr.strip()}")
if good < 3:  # from 640 MiB on there is room for its own part, at least
    failures += 1
    print(f"only {good} jobs ran to their end")
print(f"{failures} failures, {good} jobs ran to their end")
sys.exit(1 if failures else 0)
