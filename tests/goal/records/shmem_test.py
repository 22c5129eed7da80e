#!/usr/bin/env python3
"""shmem_test.py PTLRUN GOALC GOALRUN PROGRAM: OpenSHMEM programs that are recorded leave a schedule with their messages and waits.

PROGRAM (recorded_shmem.c) makes calls of one kind; each size of a message occurs for one purpose.
"""
import pathlib
import sys
import tempfile

from recording import TIME, Checks, Recorded, run

ptlrun, goalc, goalrun, program = sys.argv[1:5]
checks = Checks()
expect = checks.expect


def record(file, ranks, *command, **settings):
    return run(ptlrun, "-n", ranks, "--timeout", TIME - 10, "--record", file, *command, **settings)


def puts(name, file, ranks):
    expect(f"{name}: a put is a message", all(file.count("send", size) == ranks for size in (101, 102, 106)), file.sizes("send"))
    expect(f"{name}: a get is a message back", all(file.count("send", size) == ranks for size in (103, 104, 108)), file.sizes("send"))
    expect(f"{name}: what a PE puts into its own memory is none", file.count("send", 105) == 0)
    expect(f"{name}: what follows a quiet waits for an acknowledgement",
           any(file.waits_for(0, file.labels(0, "recv", 103)[0], one) for one in file.labels(0, "recv", 0)), file.text)


def signals(name, file, ranks):
    for after, before, how in ((202, 201, "fence"), (204, 203, "signal")):
        expect(f"{name}: what follows a wait waits for what came before the {how}", file.all_wait("send", after, "recv", before), file.text)
    words = [label for label in file.labels(0, "recv", 8)]
    expect(f"{name}: and for the word itself", len(words) == 3 and sum(file.waits_for(0, file.labels(0, "send", 205)[0], word) for word in words) == 3,
           words)
    expect(f"{name}: a wait does not wait for what is put later", not file.waits_for(0, file.labels(0, "send", 202)[0], file.labels(0, "recv", 204)[0]))


def atomics(name, file, ranks):
    send = file.labels(0, "send", 301)[0]
    expect(f"{name}: a wait waits for both atomics that changed its word",
           sum(file.waits_for(0, send, word) for word in file.labels(0, "recv", 8)) >= 2, file.text)
    # An add, three words that go there to be changed (fetch-add, compare-swap) and are answered, a fetch.
    expect(f"{name}: atomics that return a word are messages there and back", file.count("send", 8) == 6 * ranks, file.sizes("send"))


def collectives(name, file, ranks):
    expect(f"{name}: a broadcast reaches all, that of a team its own",
           file.count("recv", 401) == ranks - 1 and file.count("recv", 603) == (ranks + 1) // 2 - 1, file.sizes("recv"))
    expect(f"{name}: each brings what it has to a collect", sum(file.sizes("send")[402 + pe] for pe in range(ranks)) >= ranks - 1, file.sizes("send"))


def contexts(name, file, ranks):
    expect(f"{name}: a wait waits for what its context ordered before", all(file.count("send", size) == ranks for size in (501, 502)), file.text)
    expect(f"{name}: what follows waits for it", file.all_wait("send", 502, "recv", 501), file.text)


def locks(name, file, ranks):
    # Each that had the lock before another has sent a message; the home of the lock and PE 0 are not among those who ask and put.
    takes = [rank for rank in range(ranks) if file.labels(rank, "recv", 8)]
    expect(f"{name}: the lock goes from one to the next", len(takes) >= ranks - 1, takes)


KINDS = {"puts": puts, "signals": signals, "atomics": atomics, "collectives": collectives, "contexts": contexts, "locks": locks}


def kinds(folder):
    for ranks in (2, 3, 4):
        for kind, check in KINDS.items():
            name, path = f"{kind} of {ranks} PEs", folder / f"{kind}.{ranks}.goal"
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
    expect("a PE that dies leaves a file that says so", done.returncode == 3 and "// rank 2 is cut: it ended without shmem_finalize." in text,
           done.stderr, text[:500])
    expect("which is executed", run(goalrun, path).returncode == 0)
    if b"__asan_init" in pathlib.Path(program).read_bytes():
        return  # a shell takes no library that is built with AddressSanitizer
    done = record(folder / "script.goal", 2, "/bin/sh", "-c", f"{program} puts")
    expect("a script that starts the program", done.returncode == 0 and Recorded((folder / "script.goal").read_text()).count("send", 101) == 2,
           done.stderr)


with tempfile.TemporaryDirectory() as temporary:
    kinds(pathlib.Path(temporary))
    faults(pathlib.Path(temporary))
sys.exit(1 if checks.failed else 0)
