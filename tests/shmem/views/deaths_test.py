#!/usr/bin/env python3
"""deaths_test.py PTLRUN PROGRAM TIMES PROCESSES: kills a process of a job at a random moment, TIMES times: the others survive, and none hangs."""
import os
import random
import subprocess
import sys

ptlrun, program, times, processes = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
random.seed(16)
problems = 0


def dies(victim, living, told, *arguments, pages=None):
    """Runs the program; the others are to survive."""
    global problems
    command = [ptlrun, "-n", str(living + 1), "--keep-going", "--timeout", "280", program, *arguments]
    environment = dict(os.environ, VDC_PAGES=pages) if pages else None
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, env=environment)
    survivors = sum(line.startswith("survived") for line in done.stdout.splitlines())
    if survivors != living or f"survived {victim}\n" in done.stdout:
        problems += 1
        print(f"{told}: {survivors} of {living} survived\n{done.stderr}")


for i in range(times):
    victim, step = random.randrange(processes), random.randrange(60)
    dies(victim, processes - 1, f"victim {victim} in step {step}", "80", str(victim), str(step))
    if problems == 3:
        break
for victim in range(processes):
    for reads in "0", "1":
        dies(victim, processes - 1, f"victim {victim}, waited for {'to read' if reads == '1' else 'to write'}", "named", str(victim), reads)
for i in range(times // 3):
    later = random.randrange(20000)
    dies(0, 1, f"victim 0 {later} us after it was asked for 16 MiB", "copied", str(later), pages="8192")
    later = random.randrange(4000)
    dies(0, 1, f"victim 0 {later} us after it began to release 8 MiB", "told", str(later), pages="8192")
for i in range(times // 3):
    victim, later = random.randrange(processes), random.randrange(60000)
    dies(victim, processes - 1, f"victim {victim} {later} us after a stream began", "stream", str(victim), str(later), pages="1024")
print(f"{times + 2 * processes + 3 * (times // 3)} deaths, {problems} with problems")
sys.exit(bool(problems))
