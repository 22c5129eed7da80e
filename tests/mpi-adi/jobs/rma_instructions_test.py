#!/usr/bin/env python3
"""usage: rma_instructions_test.py PROGRAM

MPI_Put, MPI_Get and MPI_Accumulate of eight bytes in a shared window are checks and a store or an atomic of the processor: valgrind counts
their instructions, which have a limit. Without valgrind the test is skipped.
"""
import re
import shutil
import subprocess
import sys

# GCC 12 makes 289, 287 and 518 of them with assertions, 288, 287 and 508 without, GCC 14 294, 294 and 500, Clang 14 306, 310 and 537.
# Debian 12's Open MPI 4.1 has 244, 254 and 361, its MPICH 4.0 593, 563 and 5158; Debian 13's 289, 293 and 372, and 575, 563 and 4900.
LIMITS = {"put": 350, "get": 350, "add": 620}
FEW, MANY = 1000, 6000


def count(program, kind, rounds):
    done = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", program, kind, str(rounds)],
                          capture_output=True, text=True, timeout=200)
    counted = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode or not counted:
        sys.exit(f"{kind}: status {done.returncode}\n{done.stderr[-2000:]}")
    return int(counted[1])


def main():
    if not shutil.which("valgrind"):
        print("skipped: there is no valgrind")
        sys.exit(77)
    program, failed = sys.argv[1], False
    for kind, limit in LIMITS.items():
        each = (count(program, kind, MANY) - count(program, kind, FEW)) / (MANY - FEW)
        print(f"{kind}: {each:.0f} instructions, at most {limit}")
        failed = failed or each > limit
    sys.exit(failed)


main()
