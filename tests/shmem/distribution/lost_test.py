#!/usr/bin/env python3
"""lost_test.py PTLRUN PROGRAM: when a PE is killed, every other one is told by its plan and none waits for ever."""
import os
import subprocess
import sys

ptlrun, program = sys.argv[1:3]
TCP = {"PTL_NODE": "0", "PTL_FABRIC_PROVIDER": "tcp"}
wrong = 0
for mode, size, settings in (("run", 10000, {}), ("start", 10000, {}), ("run", 300000, {}), ("start", 300000, {}), ("run", 10000, TCP),
                             ("start", 300000, TCP), ("start", 10000, {"PTL_DEBUG": "ccc-schedule"})):
    done = subprocess.run([ptlrun, "-n", "3", "--keep-going", "--timeout", "280", program, mode, str(size)], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False, env={**os.environ, **settings})
    told = done.stdout.count("was told")
    if told != 2:
        wrong += 1
        print(f"{mode} of {size} elements, {settings}: {told} of 2 PEs were told, status {done.returncode}\n{done.stdout}")
print("wrong:", wrong)
sys.exit(wrong != 0)
