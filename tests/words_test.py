#!/usr/bin/env python3
"""words_test.py ROOT: plain words, of strings, names, comments and pages.

Every string of several words in mpi-adi/ and shmem/ may reach a user. None of them names what stands below: schedules, portals, entries of
lists, memory descriptors, triggered operations. What PEACE, CCC and GOAL say is about those things, and they have folders of their own.

Names that took the place of the field's own do not come back, comments name their subject first, and pages fit a screen.
"""

import pathlib
import re
import subprocess
import sys

STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
BELOW = re.compile(r"\b(schedules?|portals?|entry|entries|descriptors?|GOAL|match lists?|triggered|counting events?|event queues?)\b", re.IGNORECASE)
ELSEWHERE = ("mpi-adi/ipc/", "shmem/distribution/", "mpi-adi/tool/performance.cpp", "shmem/announce.cpp", "shmem/views/library.hpp",
             "mpi-adi/fortran/")

LIBRARIES = ("engine", "portals", "mpi-adi", "shmem")
CODE = {".h", ".hpp", ".c", ".cpp"}
NO_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"', re.DOTALL)
# Names that are gone, and what the field says.
GONE = {
    "aim": "target_of",
    "Aim": "Target",
    "linger": "drain_on_close",
    "Grant": "ReceiveCredit",
    "Lender": "CreditPool",
    "Landing": "RdmaSlots",
    "go_ahead": "prefault_next",
    "hope_for": "expect",
    "Box": "SenderRing",
    "Sleeping": "WakeupManager",
    "OfThread": "ThreadState",
    "Board": "SharedMemoryGroup", "Calm": "a policy", "Cosy": "Interface", "Drive": "PosixFile", "Gaps": "ComputePredictor", "Gate": "WakeupFilter",
    "Hopeless": "AbortPredicate", "Knock": "ConnectRequest", "Lobby": "rendezvous", "Patience": "SpinPredictor", "Rooms": "ExchangeBuffers",
    "Rush": "WaitRateMeter", "ToldWord": "ReleaseNotice", "Transit": "Packing", "UnderWay": "PendingRuns", "Wire": "FileMessenger",
    "aheads": "prefetches", "calm": "polling off", "cool": "polling off", "cosy": "interface", "departures": "dead_peers", "equal_parts": "regular",
    "gate": "wakeup_filter", "hang_out": "publish", "heat": "polling on", "herald": "header_first", "hopeless": "should_abort",
    "in_parts": "is_partial", "knock": "connect", "lender": "credit_pool", "lobby": "rendezvous", "mitigation": "ulfm", "nice": "events",
    "nowait": "nonblocking", "own_parts": "vector", "parting": "disconnect", "poison": "failure_notice", "progress_memory": "process_environment",
    "rush": "wait_rate", "transit": "packing", "unmet": "network_unused", "verbs": "one name for each class",
}

COMMENT = re.compile(r"^\s*(?://+|/?\*+|#)\s+(Who|Whoever|Of|What|Where)\b")

WRITTEN_BY_PROGRAMS = ("engine/host/variables.md",)
MOST_COLUMNS, MOST_LINES = 140, 120


def sentences(root):
    """Strings that speak of what stands below; at last how many there were."""
    count = 0
    for path in sorted([*root.glob("mpi-adi/**/*.[ch]pp"), *root.glob("shmem/**/*.[ch]pp")]):
        name = path.relative_to(root).as_posix()
        if name.startswith(ELSEWHERE):
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if line.lstrip().startswith(("//", "#include", "static_assert")) or "static_assert(" in line:
                continue
            for text in STRING.findall(line):
                count += " " in text
                if " " in text and BELOW.search(text) and "GOAL has 32768" not in text:
                    yield f"{name}:{number}: \"{text}\" speaks of {BELOW.search(text)[0]}, which its reader does not know"
            # What GOAL says of itself is for PTL_DEBUG. Where a library begins, it says what is wrong in the environment.
            if "GOAL_Explain()" in line and "GOAL_Init" not in line:
                yield f"{name}:{number}: hands on what GOAL says"
    if count < 300:
        yield f"there are {count} sentences; are they still found?"


def sources(root, files):
    for name in files:
        if pathlib.PurePosixPath(name).suffix in CODE and (root / name).is_file():
            yield name, (root / name).read_text(encoding="utf-8", errors="replace")


def names(root, files):
    gone = re.compile(r"\b(" + "|".join(GONE) + r")\b")
    for name, text in sources(root, files):
        if name.startswith(tuple(folder + "/" for folder in LIBRARIES)):
            for word in sorted(set(gone.findall(NO_CODE.sub("", text)))):
                yield f"{name} has the name {word}; the field says {GONE[word]}"


def comments(root, files):
    for name, text in sources(root, files):
        for number, line in enumerate(text.splitlines(), 1):
            if found := COMMENT.match(line):
                yield f"{name}:{number}: a line of a comment begins with {found[1]}; begin with the subject"


def pages(root, files):
    for name in files:
        if not name.endswith(".md") or name in WRITTEN_BY_PROGRAMS or not (root / name).is_file():
            continue
        lines = (root / name).read_text(encoding="utf-8").splitlines()
        if name.endswith("README.md") and len(lines) > MOST_LINES:
            yield f"{name} has {len(lines)} lines; more than {MOST_LINES} nobody reads: figures belong into bench/results/"
        for number, line in enumerate(lines, 1):
            if len(line) > MOST_COLUMNS:
                yield f"{name}:{number} has {len(line)} columns; split the cell, or say it below the table"


def main(arguments):
    root = pathlib.Path(arguments[0])
    listed = subprocess.run(["git", "-C", root, "ls-files"], capture_output=True, text=True, check=False).stdout.split("\n")
    files = [name for name in listed if name] or [path.relative_to(root).as_posix() for path in sorted(root.rglob("*"))
                                                  if path.is_file() and ".build" not in path.parts]
    problems = [*sentences(root), *names(root, files), *comments(root, files), *pages(root, files)]
    print("\n".join(problems) or f"{len(files)} files speak plainly")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
