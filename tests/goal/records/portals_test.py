#!/usr/bin/env python3
"""portals_test.py PTLRUN GOALC GOALRUN PROGRAM: programs of Portals that are recorded leave a schedule with their messages and waits.

PROGRAM (recorded_portals.c) makes calls of one kind on a ring; each size of a message occurs for one purpose.
"""
import pathlib
import sys
import tempfile

from recording import TIME, Checks, Recorded, run

ptlrun, goalc, goalrun, program = sys.argv[1:5]
checks = Checks()
expect = checks.expect


def record(file, ranks, *command):
    return run(ptlrun, "-n", ranks, "--timeout", TIME - 10, "--record", file, *command)


def counters(name, file, ranks):
    expect(f"{name}: each operation is a message", all(file.count("send", size) == ranks for size in range(101, 107)), file.sizes("send"))
    expect(f"{name}: a wait comes after what its counter has counted", file.all_wait("send", 103, "recv", 101), file.text)
    expect(f"{name}: not after what arrived elsewhere", not file.all_wait("send", 103, "recv", 102), file.text)
    expect(f"{name}: and after replies", file.all_wait("send", 106, "recv", 105), file.text)
    # The acknowledgement is the only message of no bytes that the get's request waits for, but for barriers before.
    sends = [label for label in file.labels(0, "send", 0) if file.waits_for(0, file.labels(0, "send", 106)[0], label)]
    expect(f"{name}: a get is asked for after the acknowledgement", sends != [], file.text)


def triggered(name, file, ranks):
    for size in (203, 204, 205):
        expect(f"{name}: a put of {size} bytes leaves when two messages have come",
               file.count("send", size) == ranks and file.all_wait("send", size, "recv", 201) and file.all_wait("send", size, "recv", 202), file.text)
    expect(f"{name}: not before its own process has said so, if that counts", file.all_wait("send", 205, "send", 201) is False)


def events(name, file, ranks):
    expect(f"{name}: what follows an event comes after its message", file.all_wait("send", 303, "recv", 301), file.text)
    expect(f"{name}: not after a later one", not file.all_wait("send", 303, "recv", 302), file.text)
    expect(f"{name}: nor is one forgotten", file.all_wait("send", 304, "recv", 302), file.text)


KINDS = {"counters": counters, "triggered": triggered, "events": events}


def kinds(folder):
    for ranks in (2, 3, 4):
        for kind, check in KINDS.items():
            name, path = f"{kind} of {ranks} processes", folder / f"{kind}.{ranks}.goal"
            done = record(path, ranks, program, kind)
            expect(f"{name} are recorded", done.returncode == 0 and done.stderr == "", done.stderr)
            file = Recorded(path.read_text())
            expect(f"{name}: each message has its other end, and none is left out",
                   file.sizes("send") == file.sizes("recv") and file.sizes("send") and "left out" not in file.text, file.text[:500])
            check(name, file, ranks)
            ran = run(goalrun, path)
            expect(f"{name} are executed", ran.returncode == 0, ran.stdout, ran.stderr)
            ran = run(goalc, "--simulate", "--network", "latency=2us", path)
            expect(f"{name} are simulated", ran.returncode == 0, ran.stdout, ran.stderr)


def faults(folder):
    path = folder / "died.goal"
    done = record(path, 3, program, "die")
    text = path.read_text()
    expect("a process that dies leaves a file that says so", done.returncode == 3 and "// rank 2 is cut: it ended without PtlFini." in text,
           done.stderr, text[:500])
    expect("which is executed", run(goalrun, path).returncode == 0)


with tempfile.TemporaryDirectory() as temporary:
    kinds(pathlib.Path(temporary))
    faults(pathlib.Path(temporary))
sys.exit(1 if checks.failed else 0)
