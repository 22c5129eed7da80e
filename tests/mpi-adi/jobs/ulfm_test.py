#!/usr/bin/env python3
"""ulfm_test.py PTLRUN PROGRAM [RUNS [FIRST]]: the calls of mpi-ext.h, and a computation that loses a rank at a random moment and
goes on, RUNS times (default 6), by memory of the node, by schedules there, and by tcp. By hand: RUNS=200."""

import os
import subprocess
import sys

ptlrun, program = sys.argv[1:3]
runs, first = (int(word) for word in (sys.argv[3:5] + ["6", "1"][len(sys.argv[3:5]):]))
ways = [{}, {"PTL_DEBUG": "no-node-collectives"}, {"PTL_NODE": "0", "PTL_FABRIC_PROVIDER": "tcp"}]


def run(ranks, way, argument):
    job = [ptlrun, "-n", str(ranks), "--timeout", "280", "--keep-going", program, argument]
    return subprocess.run(job, capture_output=True, text=True, env={**os.environ, **way})


failures = deaths = 0
for way, calls in [(way, "calls") for way in ways] + [({}, "calls-threads")]:
    ran = run(5, way, calls)
    if ran.returncode != 128 + 9 or ran.stdout.count("is right") != 4:
        failures += 1
        print(f"{calls} {way}: exit status {ran.returncode}\n{ran.stdout}{ran.stderr}")
for seed in range(first, first + runs):
    ranks, way = 3 + seed // 3 % 3, ways[seed % 3]
    ran = run(ranks, way, str(seed))
    died = ran.returncode == 128 + 9
    deaths += died
    if ran.returncode not in (0, 128 + 9) or ran.stdout.count("is right") < ranks - died:
        failures += 1
        print(f"seed {seed}, {ranks} ranks, {way}: exit status {ran.returncode}\n{ran.stdout}{ran.stderr}", flush=True)
print(f"{runs} runs, {deaths} with a death, {failures} failures")
sys.exit(failures != 0)
