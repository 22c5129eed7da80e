#!/usr/bin/env python3
"""Checks that the table of environment variables is what the program says, and that no variable is missing from it.

  environment_test.py ROOT PTLINFO
"""

import pathlib
import re
import subprocess
import sys

FOLDERS = ("engine", "portals", "shmem", "mpi-adi")
READ = re.compile(r'"((?:PTL|MPIADI|SHMEM|VDC|CCC|PEACE)_[A-Z_]+)"')
SHOWN = re.compile(r"^\| `(\w+)` \|", re.MULTILINE)
# What is read with its first part apart, and names in quotes that are no variables.
ALSO_READ = {"SHMEM_INFO", "SHMEM_VERSION", "SHMEM_DEBUG", "SHMEM_SYMMETRIC_SIZE", "SHMEM_HUGE_PAGES"}


def asked_for(root):
    """Variables whose names sources give to getenv, or to a function that reads one."""
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*.[ch]pp")):
            for line in path.read_text(encoding="utf-8").splitlines():
                if re.search(r"getenv|read_\w+\(|text_of\(|kVariable\b", line):
                    for name in READ.findall(line):
                        yield name, path.relative_to(root)


def main(arguments):
    root = pathlib.Path(arguments[0])
    printed = subprocess.run([arguments[1], "--variables"], capture_output=True, text=True, check=True).stdout
    kept = (root / "engine/host/variables.md").read_text(encoding="utf-8")
    problems = []
    if printed != kept:
        problems.append("engine/host/variables.md is not what ptlinfo prints; run 'ptlinfo --variables > engine/host/variables.md'")
    shown = set(SHOWN.findall(printed))
    for name, path in list(asked_for(root)) + [(name, "shmem/") for name in ALSO_READ]:
        if name not in shown:
            problems.append(f"{path} reads {name}, which engine/host/variables.cpp does not list")
    print("\n".join(problems) or f"{len(shown)} variables, all in the table")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
