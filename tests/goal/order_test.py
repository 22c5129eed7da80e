#!/usr/bin/env python3
"""order_test.py PTLRUN PROGRAM: ranks that compile schedules in different orders are told so, and none hangs."""
import re
import subprocess
import sys

ptlrun, program = sys.argv[1:3]
TOLD = re.compile(r"compiled in another order on (rank \d+) than on (rank \d+): number \d+ of \1 sends \2 \d+ messages? with \d+ bytes in all, "
                  r"and number \d+ of \2 receives \d+ messages? with \d+ bytes in all from it; .* in the same order")
wrong = 0
for case in ("same", "tags", "collectives", "one-more"):
    for ranks in 2, 3:
        done = subprocess.run([ptlrun, "-n", str(ranks), "--timeout", "280", program, case], stdin=subprocess.DEVNULL, text=True,
                              capture_output=True, check=False)
        lines = done.stdout.splitlines()
        well = sum(line.endswith("ended well") for line in lines)
        good = done.returncode == 0 and (well == ranks if case == "same" else well < ranks and any(TOLD.search(line) for line in lines))
        if not good:
            wrong += 1
            print(f"{case} on {ranks} ranks: status {done.returncode}\n{done.stdout}{done.stderr}")
print(f"{wrong} wrong")
sys.exit(1 if wrong else 0)
