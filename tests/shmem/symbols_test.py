#!/usr/bin/env python3
"""symbols_test.py NM LIBRARY LIST: the library exports the names of the list and no others, every one weak and with
a strong pshmem_ twin."""
import subprocess
import sys

nm, library, list_file = sys.argv[1:4]
kinds = {}
for line in subprocess.run([nm, "-D", "--defined-only", library], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines():
    kind, name = line.split()[-2:]
    kinds[name.split("@")[0]] = kind
listed = open(list_file).read().split()

problems = [f"exported but not listed: {name}" for name in sorted(set(kinds) - set(listed))]
problems += [f"listed but not exported: {name}" for name in sorted(set(listed) - set(kinds))]
if listed != sorted(set(listed)):
    problems.append("the list is not sorted, or names something twice")
for name, kind in sorted(kinds.items()):
    if name[0] == "p" and name[1:] in kinds:
        continue
    if kind != "W" or kinds.get("p" + name) != "T":
        problems.append(f"not a weak twin of a strong p{name}: {name}")
print("\n".join(problems) or f"{len(kinds)} names, as listed")
sys.exit(bool(problems))
