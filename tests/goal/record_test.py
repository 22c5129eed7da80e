#!/usr/bin/env python3
"""record_test.py PTLRUN GOALC GOALRUN PROGRAM: programs that are recorded leave a schedule that can be read and executed, with their messages.

PROGRAM (recorded.c) makes calls of one kind. Faults: a rank that dies, disks without room, what cannot be recorded.
"""
import collections
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile

ptlrun, goalc, goalrun, program = sys.argv[1:5]
# A sanitizer wants to be the first library that is loaded.
ENVIRONMENT = {**os.environ, "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0:detect_leaks=0"}
TIME = 240  # only against hanging for ever
failed = 0


def expect(name, good, *said):
    global failed
    print(f"{'ok' if good else 'FAILED'}: {name}", flush=True)
    if not good:
        failed += 1
        print(*said, sep="\n")


def run(*command, **settings):
    return subprocess.run([str(word) for word in command], env={**ENVIRONMENT, **settings}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=TIME)


def record(file, ranks, *command, **settings):
    return run(ptlrun, "-n", ranks, "--timeout", TIME - 10, "--record", file, *command, **settings)


def messages(text):
    """Of the sends and of the receives, how often each number of bytes is there."""
    found = {"send": collections.Counter(), "recv": collections.Counter()}
    for block in text.split("\nrank ")[1:]:
        empty = set(re.findall(r"^//@ (\w+) bytes 0$", block, re.MULTILINE))
        for label, kind, size in re.findall(r"^(\w+): (send|recv) (\d+)b", block, re.MULTILINE):
            found[kind][0 if label in empty else int(size)] += 1
    return found


# How often the program has each rank send so many bytes, on a ring.
RING = collections.Counter({12: 1, 20: 1, 28: 1, 36: 1, 44: 1, 0: 1, 52: 1})


def kinds(folder):
    for ranks in (2, 3, 5):
        for kind in ("messages", "persistent", "collectives", "communicators", "one-sided", "threads"):
            name, file = f"{kind} of {ranks} ranks", folder / f"{kind}.{ranks}.goal"
            done = record(file, ranks, program, kind)
            expect(f"{name} are recorded", done.returncode == 0 and ("threads called" in done.stderr) == (kind == "threads"), done.stderr)
            text = file.read_text()
            there = messages(text)
            expect(f"{name}: each message has its other end, and none is left out",
                   there["send"] == there["recv"] and there["send"] and "left out" not in text, there, text[:500])
            if kind in ("messages", "threads"):
                wanted = collections.Counter({size: count * ranks for size, count in RING.items()})
                expect(f"{name}: they are those of the program", there["send"] == wanted, there["send"], wanted)
            if kind == "persistent":
                expect(f"{name}: started three times, and a partitioned one", (there["send"][16], there["send"][24]) == (3 * ranks, ranks), there)
            if kind == "one-sided":
                expect(f"{name}: what is put and got", all(there["send"][4 * each] == ranks for each in (6, 5, 7, 3)), there)
            ran = run(goalrun, file)
            expect(f"{name} are executed", ran.returncode == 0, ran.stdout, ran.stderr)


def waits(folder):
    """The second receive is waited for first: what follows does not wait for the first."""
    file = folder / "messages.2.goal"
    block = file.read_text().split("\nrank ")[1]
    found = re.search(r"^(\w+): recv 28b", block, re.MULTILINE), re.search(r"^(\w+): recv 36b", block, re.MULTILINE)
    expect("receives of any source stand in their order", all(found) and found[0].start() < found[1].start(), block)
    send = re.search(r"^(\w+): send 44b", block, re.MULTILINE).group(1)
    before = set()
    new = {send}
    while new:
        before |= new
        new = {two for one, two in re.findall(r"^(\w+) requires (\w+)$", block, re.MULTILINE) if one in new} - before
    expect("what follows a wait for all waits for each", {one.group(1) for one in found} <= before, before)
    expect("a receive does not wait for the one that was started before",
           f"{found[1].group(1)} requires {found[0].group(1)}" not in block.splitlines(), block)


def forms(folder):
    binary = folder / "form.bin"
    done = run(ptlrun, "-n", 2, program, "messages", PTL_RECORD=str(binary))
    expect("PTL_RECORD names the file, .bin asks for the binary form", done.returncode == 0 and binary.read_bytes()[:2] == b"\x7f\x10", done.stderr)
    expect("goalc reads it", run(goalc, "--brief", binary).returncode == 0)
    for options in (["--brief"], ["--dot"], ["--export"]):
        done = run(goalc, *options, folder / "collectives.3.goal")
        expect(f"goalc {options[0]}", done.returncode == 0, done.stderr)


def several_hosts(folder):
    """Two launchers with two ranks each write what one with four does; a rank that dies with the second launcher is said to be cut."""
    one, two = folder / "one.goal", folder / "two.goal"
    for kind, status in (("messages", 0), ("die", 3)):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            where = f"127.0.0.1:{probe.getsockname()[1]}"
        launchers = [subprocess.Popen([ptlrun, "--hosts", "2", "--host-id", host, "--rendezvous", where, "-n", "2", "--timeout", str(TIME - 10), "--record",
                                       two if host == "0" else folder / "none/of/them.goal", program, kind], env=ENVIRONMENT, stdin=subprocess.DEVNULL,
                                      stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) for host in ("0", "1")]
        said = [launcher.communicate()[1] for launcher in launchers]
        expect(f"{kind}: two launchers end", all(launcher.returncode == status for launcher in launchers), said)
        text = two.read_text()
        if kind == "messages":
            record(one, 4, program, kind)
            expect("what ranks of two launchers send is what those of one do", messages(text) == messages(one.read_text()), text[:500])
        else:
            expect("a rank of the second launcher that dies is cut", "// rank 3 is cut: it ended without MPI_Finalize." in text, said, text[:500])
        expect(f"{kind} of two launchers are executed", run(goalrun, two).returncode == 0)


def faults(folder):
    file = folder / "died.goal"
    done = record(file, 3, program, "die")
    text = file.read_text()
    expect("a rank that dies leaves a file that says so",
           done.returncode == 3 and "// rank 2 is cut: it ended without MPI_Finalize." in text, done.stderr, text[:500])
    expect("which is executed", run(goalrun, file).returncode == 0)
    done = record(file, 2, program, "spawn")
    text = file.read_text()
    expect("processes that were spawned are left out, and said to be",
           done.returncode == 0 and "num_ranks 2\n" in text and "// messages with processes of other jobs" in text, done.stderr, text[:500])
    done = record("/dev/full", 2, program, "messages")
    expect("a file without room", done.returncode == 1 and "/dev/full: the file cannot be written" in done.stderr, done.stderr)
    done = record(folder / "none/x.goal", 2, program, "messages")
    expect("a file that cannot be", done.returncode == 2 and "--record" in done.stderr, done.stderr)
    done = record(folder / "without.goal", 2, goalc, "--version")
    expect("a program without MPI", done.returncode == 1 and "no process has called MPI_Init" in done.stderr, done.stderr)
    done = run(goalc, "--records", folder)
    expect("records without a file", done.returncode == 2 and "go together" in done.stderr, done.stderr)
    broken = folder / "broken"
    broken.mkdir()
    (broken / "rank.0").write_bytes(b"x" * 5000)
    done = run(goalc, "--records", broken, "--output", file)
    expect("records that are none", done.returncode == 1 and "none of this version" in done.stderr, done.stderr)
    small = folder / "small"
    small.mkdir()
    if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", small], capture_output=True, check=False).returncode:
        return print("no small disk can be mounted: what becomes of records there is not looked at")
    try:
        done = record(folder / "small.goal", 2, program, "many", TMPDIR=str(small))
        expect("a disk without room for records lets the program go on",
               done.returncode == 0 and "is cut: the disk had no room" in (folder / "small.goal").read_text(), done.stderr)
    finally:
        subprocess.run(["umount", small], check=True)


with tempfile.TemporaryDirectory() as temporary:
    at = pathlib.Path(temporary)
    kinds(at)
    waits(at)
    forms(at)
    several_hosts(at)
    faults(at)
sys.exit(1 if failed else 0)
