#!/usr/bin/env python3
"""killed_test.py PTLRUN PROGRAM: three of four ranks must report that the other one was killed, and go on."""
import subprocess
import sys

ptlrun, program = sys.argv[1:3]
done = subprocess.run([ptlrun, "--keep-going", "-n", "4", "--timeout", "280", program], capture_output=True, text=True, timeout=300)
said = sorted(line for line in done.stdout.splitlines())
if done.returncode != 128 + 9 or said != [f"rank {rank} has seen the failure" for rank in (0, 1, 3)]:
    sys.exit(f"status {done.returncode}\nstdout: {done.stdout}\nstderr: {done.stderr}")
