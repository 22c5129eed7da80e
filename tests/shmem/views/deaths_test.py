#!/usr/bin/env python3
"""deaths_test.py PTLRUN PROGRAM TIMES PROCESSES: kills a process of a job at a random moment, TIMES times: the others survive, and none hangs."""
import random
import subprocess
import sys

ptlrun, program, times, processes = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
random.seed(16)
problems = 0
for i in range(times):
    victim, step = random.randrange(processes), random.randrange(60)
    command = [ptlrun, "-n", str(processes), "--keep-going", "--timeout", "60", program, "80", str(victim), str(step)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    survivors = sum(line.startswith("survived") for line in done.stdout.splitlines())
    if survivors != processes - 1 or f"survived {victim}\n" in done.stdout:
        problems += 1
        print(f"victim {victim} in step {step}: {survivors} of {processes - 1} survived\n{done.stderr}")
        if problems == 3:
            break
print(f"{times} deaths, {problems} with problems")
sys.exit(bool(problems))
