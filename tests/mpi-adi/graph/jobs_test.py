#!/usr/bin/env python3
"""jobs_test.py PTLRUN GOALC GOALRUN PROGRAM [RUNS]: the text of a graph is one that goalc and goalrun take; a rank that is killed while a
graph runs is an error of all others' requests, by memory of the node and by tcp, RUNS times (default 6) at another moment each."""

import os
import subprocess
import sys
import tempfile

ptlrun, goalc, goalrun, program = sys.argv[1:5]
runs = int(sys.argv[5]) if len(sys.argv) > 5 else 6
failures = 0


def run(what, command, way, returned, right):
    global failures
    ran = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **way})
    if ran.returncode == returned and ran.stdout.count("is right") == right:
        return
    failures += 1
    print(f"{what} {way}: exit status {ran.returncode}\n{ran.stdout}{ran.stderr}", flush=True)


with tempfile.TemporaryDirectory() as folder:
    text = folder + "/graph.goal"
    run("export", [ptlrun, "-n", "3", "--timeout", "60", program, "export", text], {}, 0, 3)
    run("goalc", [goalc, "--brief", text], {}, 0, 0)
    run("goalrun", [ptlrun, "-n", "3", "--timeout", "60", goalrun, text], {}, 0, 0)
for number in range(runs):
    way = {"PTL_NODE": "0", "PTL_FABRIC_PROVIDER": "tcp"} if number % 2 else {}
    job = [ptlrun, "-n", "3", "--timeout", "40", "--keep-going", program, "killed", str(number * 977)]
    run(f"killed after {number * 977} microseconds", job, way, 128 + 9, 2)
sys.exit(failures != 0)
