#!/usr/bin/env python3
"""lacks_test.py PTLRUN PROGRAM: refuses rank 0 of a job of two one descriptor, piece of memory, port, thread or watch, the first, the
second .. that it asks for: the job ends, and if it does not end well, it says why."""
import concurrent.futures
import os
import re
import subprocess
import sys

ptlrun, program = sys.argv[1:3]
CAUSE = re.compile("Too many open files|No space left|Resource temporarily unavailable|Cannot allocate memory|ulimit -n|No buffer space|"
                   "no memory|no address space|not enough room")


def run(which):
    """What is wrong with the job whose `which`-th call is refused."""
    done = subprocess.run([ptlrun, "-n", "2", "--timeout", "280", program], env=dict(os.environ, LACKS=str(which)), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode == 0 and "a sum of 2" in done.stdout:
        return None
    if done.returncode in (124, 0):
        return f"call {which}: status {done.returncode}: {done.stdout}"
    return None if CAUSE.search(done.stdout) else f"call {which}: no cause: {done.stdout}"


whole = subprocess.run([ptlrun, "-n", "2", "--timeout", "280", program], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=True)
calls = int(re.match(r"(\d+) calls", whole.stdout).group(1))
with concurrent.futures.ThreadPoolExecutor(2) as pool:
    problems = [problem for problem in pool.map(run, range(1, calls + 1)) if problem]
print("\n".join(problems) or f"{calls} calls, each refused once")
sys.exit(bool(problems))
