#!/usr/bin/env python3
"""readme_lines.py BIN PKG-CONFIG-FOLDER SCRATCH: compiles and runs the first programs by the very lines that stand in the READMEs.

A line is taken as it is, by a shell that has BIN in front of its path and where pkg-config finds the folder: nothing else is set, so that
what a README leaves out is missing here, too.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

READMES = {"README.md": ["first_mpi"], "shmem/README.md": ["first_shmem"], "portals/README.md": ["first_portals"],
           "engine/goal/README.md": ["first_goal"], "shmem/views/README.md": ["first_vdc"], "mpi-adi/ipc/README.md": ["first_peace"],
           "shmem/distribution/README.md": ["first_ccc"]}
LINE = re.compile(r"(?:^ *|`)((?:cc|c\+\+|mpicc|mpicxx|oshcc|oshcxx) [^`\n]*?\b(first_\w+)\.c[^`\n]*&&[^`\n]*)(?:`|$)", re.MULTILINE)
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
HIDDEN = {"LD_LIBRARY_PATH", "LD_RUN_PATH", "LIBRARY_PATH", "CPATH", "LDFLAGS", "CFLAGS"}


def main(bin_folder, packages, scratch):
    place = pathlib.Path(scratch)
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(ROOT / "tests/install", place / "tests/install")
    for file in (ROOT / "tests/install").glob("first_*"):
        shutil.copy(file, place)
    env = {name: value for name, value in os.environ.items() if name not in HIDDEN}
    env |= {"PATH": f"{bin_folder}:{env['PATH']}", "PKG_CONFIG_PATH": packages}
    wrong = 0
    for readme, programs in READMES.items():
        text = (ROOT / readme).read_text(encoding="utf-8")
        found = {name: line for line, name in LINE.findall(text)}
        for name in programs:
            if name not in found:
                wrong += 1
                print(f"{readme} has no line that compiles and runs {name}")
                continue
            done = subprocess.run(["sh", "-euc", found[name]], cwd=place, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, timeout=280, check=False)
            if done.returncode or not done.stdout.strip():
                wrong += 1
                print(f"{readme}: '{found[name]}' ends with status {done.returncode}:\n{done.stdout}")
    print(f"{len(READMES)} READMEs, {wrong} of their lines do not work")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
