#!/usr/bin/env python3
"""Checks that C++ sources are laid out as .clang-format says, and that of two usual spellings one is used. C is laid out by hand, as the
specifications print it.

  format_test.py ROOT [--write]     --write lays them out

It skips (status 77) where clang-format 14, whose layout this is, is not installed: other versions differ in details.
"""

import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys

VERSION = "14"
SKIPPED = 77
SPELLINGS = {
    re.compile(r"\bstd::(u?int(?:8|16|32|64|ptr)_t|size_t)\b"): r"\1",
    re.compile(r"\*\*([A-Za-z ]+:)\*\*"): r"\1",  # of comments: Thread:, Source:
}


def tool():
    for name in (f"clang-format-{VERSION}", "clang-format"):
        path = shutil.which(name)
        if path and re.search(rf"version {VERSION}\.", subprocess.run([path, "--version"], capture_output=True, text=True, check=True).stdout):
            return path
    return None


def main(arguments):
    root = pathlib.Path(arguments[0]).resolve()
    command = tool()
    if not command:
        print(f"clang-format {VERSION} is not installed (Debian: clang-format-{VERSION}), so the layout is not checked")
        return SKIPPED
    files = [path for folder in ("engine", "portals", "shmem", "mpi-adi", "bench", "tests") for path in sorted((root / folder).rglob("*.[ch]pp"))
             if ".build" not in path.parts]
    if arguments[1:2] == ["--write"]:
        for path in files:
            text = spelled = path.read_text(encoding="utf-8")
            for one, other in SPELLINGS.items():
                spelled = one.sub(other, spelled)
            if spelled != text:
                path.write_text(spelled, encoding="utf-8")
        subprocess.run([command, "-i", *files], check=True)
        return 0
    size = 40
    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        runs = pool.map(lambda some: subprocess.run([command, "--dry-run", "-Werror", *some], capture_output=True, text=True, check=False),
                        [files[i:i + size] for i in range(0, len(files), size)])
        wrong = sorted({line.split(":")[0] for run in runs for line in run.stderr.splitlines() if "clang-format-violations" in line})
    for path in wrong:
        print(f"{os.path.relpath(path, root)} is not laid out as .clang-format says; run tests/format_test.py . --write")
    misspelled = [(path, found.group()) for path in files for spelling in SPELLINGS if (found := spelling.search(path.read_text(encoding="utf-8")))]
    for path, found in misspelled:
        print(f"{os.path.relpath(path, root)}: '{found}' is spelled without the ornament here; run tests/format_test.py . --write")
    print(f"{len(files)} files, {len(wrong)} to be laid out, {len(misspelled)} spelled otherwise")
    return 1 if wrong or misspelled else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
