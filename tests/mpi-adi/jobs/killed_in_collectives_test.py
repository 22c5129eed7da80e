#!/usr/bin/env python3
"""killed_in_collectives_test.py PTLRUN PROGRAM [KILLS]: a rank is killed at a random moment of many collectives with parts of their own
sizes, or among neighbours, on each transport; the others hear of it, agree, and go on. KILLS: of each kind and transport (1)."""
import os
import random
import subprocess
import sys

ptlrun, program = sys.argv[1:3]
KILLS = int(sys.argv[3]) if len(sys.argv) > 3 else 1
KINDS = """neighbor_alltoall neighbor_allgatherv neighbor_alltoallw ineighbor_alltoallv neighbor_alltoall_init ialltoallv alltoallw
iallgatherv gatherv scatterv""".split()
RANKS = 4
EXPECTED = [f"rank {rank} goes on with {RANKS - 1}, {RANKS - 1} answer" for rank in range(RANKS - 1)]
draw = random.Random(20261129)
wrong = kills = 0
for kind in KINDS:
    for settings in ({}, {"PTL_NODE": "0", "PTL_FABRIC_PROVIDER": "tcp"}):
        for _ in range(KILLS):
            kills += 1
            moment = draw.randrange(1, 20_000)
            done = subprocess.run([ptlrun, "-n", str(RANKS), "--keep-going", "--timeout", "280", program, kind, str(moment)], text=True,
                                  capture_output=True, check=False, env={**os.environ, **settings})
            if sorted(done.stdout.splitlines()) != EXPECTED or done.returncode != 128 + 9:
                wrong += 1
                print(f"{kind}, killed after {moment} us, {settings}: status {done.returncode}\n{done.stdout}{done.stderr}")
print("kills:", kills, "wrong:", wrong)
sys.exit(wrong != 0)
