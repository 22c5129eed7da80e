#!/usr/bin/env python3
"""domain_lost_test.py PTLRUN PROGRAM [KILLS]: when a PE is killed somewhere inside a step of a domain, the others end with a sentence about
it. KILLS: of each kind of step (4)."""
import os
import random
import subprocess
import sys

ptlrun, program = sys.argv[1:3]
KILLS = int(sys.argv[3]) if len(sys.argv) > 3 else 4
TCP = {"PTL_NODE": "0", "PTL_FABRIC_PROVIDER": "tcp"}
draw = random.Random(20261128)
wrong = kills = 0
for mode in ("get", "get-function", "put", "put-function", "reduce", "exchange"):
    for settings in [{}, TCP] * (KILLS // 2):
        call = draw.randrange(1, 200 if mode == "exchange" else 20000)
        kills += 1
        done = subprocess.run([ptlrun, "-n", "3", "--keep-going", "--timeout", "60", program, mode, str(call)], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False, env={**os.environ, **settings})
        if mode == "exchange":
            good = done.stdout.count("code 4: ") == 2
        else:
            good = "PE 2, which has died" in done.stdout or "PE 2 has died" in done.stdout
        if not good or done.returncode == 0:
            wrong += 1
            print(f"{mode}, killed at call {call}, {settings}: status {done.returncode}\n{done.stdout}")
print("kills:", kills, "wrong:", wrong)
sys.exit(wrong != 0)
