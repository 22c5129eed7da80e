#!/usr/bin/env python3
"""Checks that the tables of environment variables and of PTL_DEBUG's keys are what the program says, that none is missing from them, that
each key is asked for somewhere, and that no text speaks of a variable that only older versions read.

  environment_test.py ROOT PTLINFO
"""

import pathlib
import re
import subprocess
import sys

FOLDERS = ("engine", "portals", "shmem", "mpi-adi")
READ = re.compile(r'"((?:PTL|MPIADI|SHMEM|VDC|CCC|PEACE)_[A-Z_]+)"')
SHOWN = re.compile(r"^\| `([A-Z_]+)` \|", re.MULTILINE)
# What is read with its first part apart, and names in quotes that are no variables.
ALSO_READ = {"SHMEM_INFO", "SHMEM_VERSION", "SHMEM_DEBUG", "SHMEM_SYMMETRIC_SIZE", "SHMEM_HUGE_PAGES"}
# What ptlrun tells its ranks; nobody sets it.
INTERNAL = {"PTL_APPNUM", "PTL_DEBUGGER_COMES", "PTL_LOCAL_RANK", "PTL_LOCAL_SIZE", "PTL_RECORD_FOLDER"}
ASKED = re.compile(r'(?:PtlxDebug|debug_wanted|debug_value)\("([a-z-]+)"\)')
KEY = re.compile(r"^\| `([a-z-]+)(?:=[A-Z:]+)?` \|", re.MULTILINE)
REPLACED = re.compile(r"^\| `(\w+)` \| ([^|]+) \|$", re.MULTILINE)


def asked_for(root):
    """Variables whose names sources give to getenv, or to a function that reads one."""
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*.[ch]pp")):
            for line in path.read_text(encoding="utf-8").splitlines():
                if re.search(r"getenv|read_\w+\(|text_of\(|kVariable\b", line):
                    for name in READ.findall(line):
                        yield name, path.relative_to(root)


def keys_asked_for(root):
    return {key for folder in FOLDERS for path in (root / folder).rglob("*.[ch]pp") for key in ASKED.findall(path.read_text(encoding="utf-8"))}


def texts(root):
    for folder in (*FOLDERS, "bench", "tests"):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".cpp", ".hpp", ".h", ".c", ".py", ".build", "") or path.name == "README.md":
                if path.is_file() and ".build" not in path.parts and path.name not in ("variables.cpp", "environment_test.py", "tools_test.py"):
                    yield path
    yield root / "README.md"


def main(arguments):
    root = pathlib.Path(arguments[0])
    printed = subprocess.run([arguments[1], "--variables"], capture_output=True, text=True, check=True).stdout
    kept = (root / "engine/host/variables.md").read_text(encoding="utf-8")
    problems = []
    if printed != kept:
        problems.append("engine/host/variables.md is not what ptlinfo prints; run 'ptlinfo --variables > engine/host/variables.md'")
    now, older = printed.split("## What older versions read")
    shown, keys, replaced = set(SHOWN.findall(now)), set(KEY.findall(now)), dict(REPLACED.findall(older))
    for name in sorted(shown & set(replaced)):
        problems.append(f"{name} is a variable, and one that is not read any more")
    for name, instead in replaced.items():
        for word in re.findall(r"PTL_DEBUG=([a-z-]+)", instead):
            if word not in keys:
                problems.append(f"{name} is replaced by {word}, which is no key of PTL_DEBUG")
    for key in sorted(keys ^ keys_asked_for(root)):
        problems.append(f"{key} is a key of PTL_DEBUG that nobody asks for, or is asked for and is none")
    gone = re.compile(r"\b(" + "|".join(replaced) + r")\b")
    for path in texts(root):
        try:
            for name in sorted(set(gone.findall(path.read_text(encoding="utf-8")))):
                problems.append(f"{path.relative_to(root)} speaks of {name}; now it is {replaced[name]}")
        except UnicodeDecodeError:
            continue
    for name, path in list(asked_for(root)) + [(name, "shmem/") for name in ALSO_READ]:
        if name not in shown | INTERNAL:
            problems.append(f"{path} reads {name}, which engine/host/variables.cpp does not list")
    for name, key in re.findall(r"`((?:PTL|MPIADI|SHMEM)_[A-Z_]+)(?:=([a-z-]+))?[^`]*`", (root / "engine/host/cray.md").read_text(encoding="utf-8")):
        if name not in shown or (name == "PTL_DEBUG" and key not in keys):
            problems.append(f"engine/host/cray.md names {name}{'=' if key else ''}{key}, which is not in engine/host/variables.md")
    print("\n".join(problems) or f"{len(shown)} variables and {len(keys)} keys, all in the tables")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
