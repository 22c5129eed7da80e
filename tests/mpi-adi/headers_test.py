#!/usr/bin/env python3
"""headers_test.py SOURCE FOLDER: a program that uses mpi.h, which lies in FOLDER, is compiled without a warning by each compiler that is
there, in each version of C and C++ that it knows."""

import shutil
import subprocess
import sys

source, folder = sys.argv[1:]
WARNINGS = ["-Wall", "-Wextra", "-pedantic", "-Werror"]
LANGUAGES = {
    "c": (["gcc", "clang"], ["c89", "c99", "c11", "c17", "c2x"], ["-Wvariadic-macros"]),
    "c++": (["g++", "clang++"], ["c++98", "c++11", "c++17", "c++20", "c++2b"], ["-Wold-style-cast"]),
}
problems = []
compiled = 0
for language, (compilers, standards, more) in LANGUAGES.items():
    for compiler in filter(shutil.which, compilers):
        for standard in standards:
            command = [compiler, "-x", language, "-std=" + standard, "-O2", *WARNINGS, *more, "-I", folder, "-c", source, "-o", "/dev/null"]
            done = subprocess.run(command, capture_output=True, text=True)
            compiled += 1
            if done.returncode != 0:
                problems.append(f"{' '.join(command)}\n{done.stderr}")
print("\n".join(problems) or f"{compiled} times, no warning")
sys.exit(bool(problems) or compiled == 0)
