#!/usr/bin/env python3
"""symbols_test.py NM LIBRARY SYMBOLS HEADER: the library exports what SYMBOLS lists, in order, and HEADER declares; nothing else."""

import re
import subprocess
import sys

nm, library, symbols, header = sys.argv[1:]
lines = subprocess.run([nm, "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout.splitlines()
exported = {line.split()[2].split("@")[0] for line in lines if line.split()[-2] != "A"}  # A: the version
listed = open(symbols, encoding="ascii").read().split()
text = re.sub(r"/\*.*?\*/", "", open(header, encoding="ascii").read(), flags=re.DOTALL)
declared = set(re.findall(r"^(?:const )?\w+ \*?((?:peace|mqs)_\w+)\(", text, re.MULTILINE))
problems = [f"not exported: {name}" for name in listed if name not in exported]
problems += [f"not listed: {name}" for name in sorted(exported) if name not in listed]
problems += [f"declared, but not listed: {name}" for name in sorted(declared - set(listed))]
problems += [f"not declared: {name}" for name in listed if name not in declared]
if listed != sorted(listed):
    problems.append("the list is not sorted")
print("\n".join(problems))
sys.exit(bool(problems))
