#!/usr/bin/env python3
"""headers_test.py SOURCES: each public header, alone and as a program uses it, is compiled without a warning by each compiler that is there,
in each version of C and C++ that it is for: all of them, and OpenSHMEM's from C99 and C++11 on, as its specification says."""

import concurrent.futures
import pathlib
import shutil
import subprocess
import sys

sources = pathlib.Path(sys.argv[1])
FOLDERS = ["mpi-adi", "mpi-adi/ipc", "portals", "engine/goal", "shmem/include", "shmem/views", "shmem/distribution"]
SHMEM = ["shmem.h", "shmemx.h", "pshmem.h", "shmem-goal.h"]
HEADERS = SHMEM + ["mpi.h", "mpi-ext.h", "mpi-goal.h", "portals4.h", "portals4_ext.h", "goal.h", "goal_call.h", "goal_collectives.h",
                   "goal_domain.h", "peace.h", "vdc.h", "ccc.h"]
USES = {"mpi": "mpi.h", "goal": "goal.h", "peace": "peace.h", "portals": "portals4.h", "shmem": "shmem.h"}
WARNINGS = ["-Wall", "-Wextra", "-pedantic", "-Werror"]
LANGUAGES = {
    "c": (["gcc", "clang"], ["c89", "c99", "c11", "c17", "c2x"], ["-Wvariadic-macros", "-Wstrict-prototypes"]),
    "c++": (["g++", "clang++"], ["c++98", "c++11", "c++17", "c++20", "c++2b"], ["-Wold-style-cast"]),
}


def compiles(command, text):
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    return None if done.returncode == 0 else f"{' '.join(command)}\n{text}{done.stderr}"


jobs = []
for language, (compilers, standards, more) in LANGUAGES.items():
    for compiler in filter(shutil.which, compilers):
        for standard in standards:
            command = [compiler, "-x", language, "-std=" + standard, "-O2", *WARNINGS, *more, *("-I" + str(sources / folder) for folder in FOLDERS),
                       "-c", "-", "-o", "/dev/null"]
            texts = [(header, f"#include <{header}>\nint nothing;\n") for header in HEADERS]
            texts += [(header, (pathlib.Path(__file__).parent / "headers" / (use + ".c")).read_text()) for use, header in USES.items()]
            jobs += [(command, text) for header, text in texts if header not in SHMEM or standard not in ("c89", "c++98")]
with concurrent.futures.ThreadPoolExecutor(2) as pool:
    problems = [problem for problem in pool.map(lambda job: compiles(*job), jobs) if problem]
print("\n".join(problems) or f"{len(jobs)} times, no warning")
sys.exit(bool(problems) or not jobs)
