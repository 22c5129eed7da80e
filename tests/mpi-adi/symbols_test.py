#!/usr/bin/env python3
"""symbols_test.py NM LIBRARY SYMBOLS: the library exports what SYMBOLS lists, in order, and each MPI_ name is weak."""

import subprocess
import sys

nm, library, symbols = sys.argv[1:]
lines = subprocess.run([nm, "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout.splitlines()
kinds = {line.split()[2]: line.split()[1] for line in lines}
listed = open(symbols, encoding="ascii").read().split()
problems = [f"not exported: {name}" for name in listed if name not in kinds]
problems += [f"not listed: {name}" for name in kinds if name not in listed]
problems += [f"not weak: {name}" for name, kind in kinds.items() if name.startswith("MPI_") and kind != "W"]
problems += [f"no PMPI name: {name}" for name in kinds if name.startswith("MPI_") and "P" + name not in kinds]
if listed != sorted(listed):
    problems.append("the list is not sorted")
print("\n".join(problems))
sys.exit(bool(problems))
