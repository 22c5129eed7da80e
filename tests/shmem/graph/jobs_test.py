#!/usr/bin/env python3
"""jobs_test.py PTLRUN GOALC GOALRUN PROGRAM [RUNS [SEED [GRAPHS]]]: the text of a graph is one that goalc and goalrun take; a PE that is
killed while a graph runs, of puts and waits, also of collectives, or one that only waits, is a code and a sentence of all others, on the node
and by tcp, RUNS times each (default 6) at moments that follow from SEED (1); and GRAPHS graphs (1000) that come and go leave nothing."""

import os
import random
import subprocess
import sys
import tempfile

ptlrun, goalc, goalrun, program = sys.argv[1:5]
runs, seed, graphs = ([int(each) for each in sys.argv[5:]] + [6, 1, 1000][len(sys.argv) - 5:])
moments = random.Random(seed)
ways = [{}, {"PTL_NODE": "0", "PTL_FABRIC_PROVIDER": "tcp"}]
failures = 0


def run(what, command, way, returned, right):
    global failures
    ran = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **way, "SHMEM_SYMMETRIC_SIZE": "1m"})
    if ran.returncode == returned and ran.stdout.count("is right") == right:
        return
    failures += 1
    print(f"{what} {way}: exit status {ran.returncode}\n{ran.stdout}{ran.stderr}", flush=True)


with tempfile.TemporaryDirectory() as folder:
    text = folder + "/graph.goal"
    run("export", [ptlrun, "-n", "3", "--timeout", "280", program, "export", text], {}, 0, 3)
    run("goalc", [goalc, "--brief", text], {}, 0, 0)
    run("goalrun", [ptlrun, "-n", "3", "--timeout", "280", goalrun, text], {}, 0, 0)
for number in range(runs):
    for mode in ("killed", "collective", "awaited"):
        when = str(moments.randrange(10000))
        job = [ptlrun, "-n", "3", "--timeout", "280", "--keep-going", program, mode, when]
        run(f"{mode} after {when} microseconds", job, ways[number % 2], 128 + 9, 2)
for way in ways:
    run(f"{graphs} graphs", [ptlrun, "-n", "2", "--timeout", "280", program, "many", str(graphs)], way, 0, 2)
sys.exit(failures != 0)
