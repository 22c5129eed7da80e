#!/usr/bin/env python3
"""symbols_test.py NM LIBRARY LIST: the library exports the names of the list, sorted, and no others."""
import subprocess
import sys

nm, library, list_file = sys.argv[1:4]
lines = subprocess.run([nm, "-D", "--defined-only", library], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
exported = {line.split()[-1].split("@")[0] for line in lines if line.split()[-2] != "A"}  # A: the version
listed = open(list_file, encoding="utf-8").read().split()
problems = [f"exported but not listed: {name}" for name in sorted(exported - set(listed))]
problems += [f"listed but not exported: {name}" for name in sorted(set(listed) - exported)]
if listed != sorted(set(listed)):
    problems.append("the list is not sorted, or names something twice")
print("\n".join(problems) or f"{len(exported)} names, as listed")
sys.exit(bool(problems))
