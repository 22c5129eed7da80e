#!/usr/bin/env python3
"""words_test.py ROOT: sentences of MPI and OpenSHMEM speak of what their users know.

Every string of several words in mpi-adi/ and shmem/ may reach a user. None of them names what stands below: schedules, portals, entries of
lists, memory descriptors, triggered operations. What PEACE, CCC and GOAL say is about those things, and they have folders of their own.
"""

import pathlib
import re
import sys

STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
BELOW = re.compile(r"\b(schedules?|portals?|entry|entries|descriptors?|GOAL|match lists?|triggered|counting events?|event queues?)\b", re.IGNORECASE)
ELSEWHERE = ("mpi-adi/ipc/", "shmem/distribution/", "mpi-adi/tool/performance.cpp", "shmem/announce.cpp", "shmem/views/library.hpp",
             "mpi-adi/fortran/")

root = pathlib.Path(sys.argv[1])
problems = sentences = 0
for path in sorted([*root.glob("mpi-adi/**/*.[ch]pp"), *root.glob("shmem/**/*.[ch]pp")]):
    name = path.relative_to(root).as_posix()
    if name.startswith(ELSEWHERE):
        continue
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.lstrip().startswith(("//", "#include", "static_assert")) or "static_assert(" in line:
            continue
        for text in STRING.findall(line):
            sentences += " " in text
            if " " in text and BELOW.search(text) and "GOAL has 32768" not in text:
                problems += 1
                print(f"{name}:{number}: \"{text}\" speaks of {BELOW.search(text)[0]}, which its reader does not know")
        # What GOAL says of itself is for PTL_DEBUG. Where a library begins, it says what is wrong in the environment.
        if "GOAL_Explain()" in line and "GOAL_Init" not in line:
            problems += 1
            print(f"{name}:{number}: hands on what GOAL says")
print(f"{sentences} sentences")
sys.exit(problems != 0 or sentences < 300)
