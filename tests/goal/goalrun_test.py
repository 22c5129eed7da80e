#!/usr/bin/env python3
"""goalrun_test.py GOALRUN PTLRUN SCHEDULES WAY: goalrun on the files of other tools, on small ones, and on bad input.

WAY is node, tcp or shm: how the messages travel; or input, for the refusals.
"""
import csv
import io
import json
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

goalrun, ptlrun, schedules, way = sys.argv[1:5]
ENVIRONMENT = {
    "node": {"PTL_NODE": "1"},
    "tcp": {"PTL_NODE": "0", "PTL_FABRIC_PROVIDER": "tcp"},
    "shm": {"PTL_NODE": "0", "PTL_FABRIC_PROVIDER": "shm"},
    "input": {},
}[way]
# The faster of libfabric 1's two providers over TCP is `net`; libfabric 2 has made it `tcp`.
TRANSPORT = {"node": "node", "tcp": "fabric(net)", "shm": "fabric(shm)"}.get(way)
TIME = 240  # only against hanging for ever

folder = tempfile.TemporaryDirectory()
failed = 0


def write(name, text):
    path = pathlib.Path(folder.name) / name
    path.write_text(text)
    return str(path)


def run(*command, **settings):
    return subprocess.run(command, env={**os.environ, **ENVIRONMENT, **settings}, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=TIME)


def expect(name, good, result):
    global failed
    print(f"{'ok' if good else 'FAILED'}: {name}", flush=True)
    if not good:
        failed += 1
        print(f"  status {result.returncode}\n  stdout: {result.stdout}\n  stderr: {result.stderr}")


def succeeds(name, file, *options, ranks, transport=TRANSPORT):
    result = run(goalrun, file, *options)
    rows = re.findall(r"^ *(\d+|all)(?: +[0-9.]+){4}", result.stdout, re.MULTILINE)
    last = result.stdout.splitlines()[-1] if result.stdout else ""
    good = (result.returncode == 0 and rows == [*map(str, range(ranks)), "all"] and result.stderr == "" and
            last.startswith(f"goalrun: ok {file}: ranks {ranks}, ") and
            any(f"transport {name}, progress " in last for name in (transport, transport.replace("net", "tcp"))))
    expect(name, good, result)


def refuses(name, status, sentence, *command, **settings):
    """One sentence, once; the launcher may add its own."""
    result = run(*command, **settings)
    lines = [line for line in result.stderr.splitlines() if not line.startswith("ptlrun: rank ")]
    expect(name, result.returncode == status and result.stdout == "" and len(lines) == 1 and re.fullmatch(sentence, lines[0]), result)


# Sizes around every limit of the transports, both directions at once, and a long chain through one rank.
SIZES = "num_ranks 2\n" + "".join(
    f"rank {me} {{\n" + "".join(f"s{i}: send {size}b to {1 - me} tag {i}; r{i}: recv {size}b from {1 - me} tag {i}\n"
                                for i, size in enumerate([0, 1, 7, 64, 4096, 8128, 16384, 65536, 100001, 3000000])) + "}\n"
    for me in range(2))
CHAIN = "num_ranks 2\nrank 0 {\ns0: send 8b to 1\n" + "".join(
    f"r{i}: recv 8b from 1\n" + (f"s{i + 1}: send 8b to 1\ns{i + 1} requires r{i}\n" if i < 499 else "") for i in range(500)
) + "}\nrank 1 {\n" + "".join(f"r{i}: recv 8b from 0; s{i}: send 8b to 0\ns{i} requires r{i}\n" for i in range(500)) + "}\n"
# Later receives of a pair and tag wait for earlier ones, so that most messages come before their receive.
EXACT = """num_ranks 3
rank 0 {
  a: send 100b to 1; b: send 200b to 1; c: send 300b to 1 tag 4000000000; d: calc 1000000; e: send 50000b to 2; f: recv 8b from 2
  e requires d; c irequires e
}
rank 1 {
  w: recv 16b from 2
  a: recv 100b from 0; b: recv 200b from 0; c: recv 300b from 0 tag 4000000000
  a requires w; b requires a, w; c irequires b
}
rank 2 {
  w: send 16b to 1; e: recv 50000b from 0; f: send 8b to 0; s: send 1000b to 2; t: recv 1000b from 2
  w requires e; f requires s, t
}
"""
WILD = """num_ranks 3
rank 0 {
  a: recv 1000b from -1 tag 5; b: recv 1000b from -1 tag 5; c: recv 20000b from 1 tag -1; d: recv 1b from 2
  b requires a; c requires b
}
rank 1 {
  a: send 1000b to 0 tag 5; c: send 20000b to 0 tag 6
}
rank 2 {
  a: send 1000b to 0 tag 5; d: send 1b to 0
  d requires a
}
"""


def schedules_run():
    for path in sorted(pathlib.Path(schedules).glob("*.goal")):
        succeeds(path.name, str(path), "--repeat", "3", ranks=8)
    succeeds("all sizes", write("sizes.goal", SIZES), "--repeat", "3", ranks=2)
    succeeds("long chain", write("chain.goal", CHAIN), ranks=2)
    succeeds("dependencies", write("exact.goal", EXACT), "--repeat", "20", ranks=3, transport=f"{TRANSPORT}+self")
    succeeds("receives of any source or tag", write("wild.goal", WILD), "--repeat", "20", ranks=3)
    succeeds("more epochs than the match bits count", write("pair.goal", "num_ranks 2\nrank 0 {\nsend 8b to 1\n}\nrank 1 {\nrecv 8b from 0\n}\n"),
             "--repeat", "600", ranks=2)
    succeeds("all sizes, by plain Portals", write("sizes.goal", SIZES), "--plain", "--repeat", "3", ranks=2)
    succeeds("dependencies, by plain Portals", write("exact.goal", EXACT), "--plain", "--repeat", "20", ranks=3, transport=f"{TRANSPORT}+self")
    result = run(goalrun, write("sizes.goal", SIZES), "--csv", "--repeat", "2", "--compute", "50", "--no-check")
    rows = list(csv.DictReader(io.StringIO(result.stdout)))
    expect("csv", result.returncode == 0 and [row["rank"] for row in rows] == ["0", "1", "all"] and
           all(0 <= float(row["overlap"]) <= 1 and float(row["min_us"]) >= 50 for row in rows) and "payload not checked" in result.stderr,
           result)
    result = run(goalrun, write("busy.goal", SIZES), "--busy", "--no-check", "--repeat", "3")
    expect("a busy thread steps alone", result.returncode == 0 and "progress caller" in result.stdout, result)
    result = run(goalrun, write("empty.goal", "num_ranks 2\nrank 0 {\na: send 1b to 1\n//@ a bytes 0\n}\nrank 1 {\na: recv 1b from 0\n//@ a bytes 0\n}\n"))
    expect("annotations of sizes alone leave messages to be checked", result.returncode == 0 and "payload checked" in result.stdout, result)


def trace_of(path, rank):
    """The vertices of a trace by label and execution: (begin, end), and the names of its messages, as sent and as received."""
    events = json.loads(pathlib.Path(path).read_text())["traceEvents"]
    slices = {(e["name"], e["args"]["execution"]): (e["ts"], e["ts"] + e["dur"]) for e in events if e["ph"] == "X" and e["tid"] != 0}
    good = all(e["pid"] == rank for e in events) and any(e["ph"] == "C" for e in events)
    return slices if good else {}, {e["id"] for e in events if e["ph"] == "s"}, {e["id"] for e in events if e["ph"] == "f"}


def traces():
    file = write("pong.goal", "num_ranks 2\nrank 0 {\na: calc 1000; b: send 8b to 1; c: recv 8b from 1\nb requires a\n}\n"
                              "rank 1 {\nb: recv 8b from 0; c: send 8b to 0\nc requires b\n}\n")
    path = pathlib.Path(folder.name) / "trace.json"
    result = run(goalrun, file, "--repeat", "3", PTL_TRACE=str(path))
    (first, sent, received), (second, sent_back, received_there) = (trace_of(path.with_suffix(f".{rank}.json"), rank) for rank in range(2))
    good = (result.returncode == 0 and len(first) == 12 and len(second) == 8 and sent == received_there and sent_back == received and
            all(first["b", n][0] >= first["a", n][1] >= first["a", n][0] + 1 and second["b", n][1] <= second["c", n][0] for n in range(4)) and
            all(first["b", n][0] <= second["b", n][1] and second["c", n][0] <= first["c", n][1] for n in range(4)))
    expect("a trace per rank", good, result)
    result = run(goalrun, file, PTL_TRACE="/no/such/folder/trace")
    lines = sorted(result.stderr.splitlines())
    said = r"cannot be written \(No such file or directory\); .*"
    expect("a trace that cannot be written", result.returncode == 0 and len(lines) == 2 and
           all(re.fullmatch(rf".*PTL_TRACE: '/no/such/folder/trace\.{n}' {said}", lines[n]) for n in range(2)), result)
    for rank in range(2):
        (pathlib.Path(folder.name) / f"taken.{rank}.json").mkdir()
    result = run(goalrun, file, PTL_TRACE=str(pathlib.Path(folder.name) / "taken.json"))
    expect("a trace that cannot be put in its place leaves nothing", result.returncode == 0 and
           result.stderr.count("cannot be written (Is a directory)") == 2 and not list(pathlib.Path(folder.name).glob("*.part")), result)


# Both ranks get the sum of what both have, in pieces that the message puts together.
SUM = "num_ranks 2\n" + "".join(
    f"rank {me} {{\n//@ s buf [user+0:8,user+16:16]\n//@ r buf scratch+0\n//@ a op sum f64 dst user1+0 a [user+0:8,user+16:16] b scratch+0 n 3\n"
    f"//@ scratch 24\ns: send 24b to {1 - me}; r: recv 24b from {1 - me}; a: calc 100\na requires s, r\n}}\n" for me in range(2))


# Each rank sends its vector and then takes the other's into the same memory.
SWAP = "num_ranks 2\n" + "".join(f"rank {me} {{\n//@ s buf user+0\n//@ r buf user+0\ns: send 40000b to {1 - me}; r: recv 40000b from {1 - me}\n"
                                 "r requires s\n}\n" for me in range(2))


def annotations():
    swap, folder_name = write("swap.goal", SWAP), pathlib.Path(folder.name)
    for rank in range(2):
        (folder_name / f"mine.{rank}").write_bytes(bytes([65 + rank]) * 40000)
    result = run(goalrun, swap, "--repeat", "3", "--input", str(folder_name / "mine.%r"), "--output", str(folder_name / "theirs.%r"))
    expect("long messages in a circle", result.returncode == 0 and
           all((folder_name / f"theirs.{rank}").read_bytes() == bytes([66 - rank]) * 40000 for rank in range(2)), result)
    file, base = write("sum.goal", SUM), pathlib.Path(folder.name)
    for rank in range(2):
        (base / f"in.{rank}.0").write_bytes(struct.pack("4d", 1 + rank, 77, 0.5 + rank, -3 * rank))
        (base / f"in.{rank}.1").write_bytes(b"")
    result = run(goalrun, file, "--repeat", "5", "--input", str(base / "in.%r.%k"), "--output", str(base / "out.%r.%k"))
    sums = [struct.unpack("3d", (base / f"out.{rank}.1").read_bytes()) if result.returncode == 0 else () for rank in range(2)]
    expect("annotated operations", sums == [(3, 2, -3)] * 2 and "payload not checked" in result.stdout, result)
    result = run(goalrun, file, "--input", "/no/such/file")
    lines = [line for line in result.stderr.splitlines() if line.startswith("goalrun: ")]
    expect("input that is not there", result.returncode == 1 and lines and
           all(re.fullmatch(r"goalrun: rank \d: /no/such/file: the file cannot be read \(.*\); .*", line) for line in lines), result)
    bad = write("bad.goal", SUM.replace("op sum f64", "op sum f65"))
    refuses("an annotation that means nothing", 1, rf"{re.escape(bad)}:5:\d+: expected a type here: .*", goalrun, bad)


def bad_input():
    refuses("receives of any source by plain Portals", 1, r"goalrun: rank 0: it receives from any source or any tag, .*",
            goalrun, "--plain", write("any.goal", "num_ranks 1\nrank 0 {\nsend 8b to 0\nrecv 8b from -1\n}\n"))
    cycle = write("cycle.goal", "num_ranks 2\nrank 0 {\na: send 8b to 1\nb: calc 5\na requires b\nb requires a\n}\nrank 1 {\nrecv 8b from 0\n}\n")
    circle = rf"{re.escape(cycle)}:3:1: operations wait for each other in a circle: .*; remove one of these dependencies"
    refuses("cycle", 1, circle, goalrun, cycle)
    refuses("cycle, on all ranks", 1, circle, ptlrun, "-n", "2", goalrun, cycle)
    deadlock = write("deadlock.goal", "num_ranks 2\n" + "".join(
        f"rank {me} {{\na: send 8b to {1 - me}\nb: recv 8b from {1 - me}\na requires b\n}}\n" for me in range(2)))
    refuses("ranks that wait for each other", 1, rf"{re.escape(deadlock)}:\d+:1: .* can never end: .*", goalrun, deadlock)
    unmatched = write("unmatched.goal", "num_ranks 2\nrank 0 {\na: send 8b to 1\n}\nrank 1 {\n}\n")
    refuses("unmatched", 1, rf"{re.escape(unmatched)}:3:1: the send \"a\" .* has no matching receive: .*", goalrun, unmatched)
    unknown = write("unknown.goal", "num_ranks 1\nrank 0 {\na: calc 5\na requires zz\n}\n")
    refuses("unknown label", 1, rf"{re.escape(unknown)}:4:12: .*\"zz\".*", goalrun, unknown)
    empty = write("empty.goal", "")
    refuses("a device, which has no end", 1, r"(goalrun: )?/dev/zero: the file cannot be read .*", goalrun, "/dev/zero")
    refuses("empty file", 1, rf"{re.escape(empty)}:1:1: the file does not say how many ranks there are; .*", goalrun, empty)
    none = write("none.goal", "num_ranks 0\n")
    refuses("no rank", 1, rf"{re.escape(none)}:1:\d+: .*", goalrun, none)
    refuses("missing file", 1, r"/no/such\.goal: the file cannot be read \(No such file or directory\); .*", goalrun, "/no/such.goal")
    refuses("folder", 1, r"/tmp: the file cannot be read \(Is a directory\); .*", goalrun, "/tmp")
    good = sorted(pathlib.Path(schedules).glob("*.goal"))[0]
    refuses("wrong number of ranks", 1, rf"{re.escape(str(good))}: the schedule is for 8 ranks, but the job has 2; .*",
            ptlrun, "-n", "2", goalrun, str(good))
    huge = write("huge.goal", "num_ranks 1\nrank 0 {\nsend 99999999999999b to 0\nrecv 99999999999999b from 0\n}\n")
    refuses("too large", 1, r"goalrun: rank 0: the messages of this rank need \d+ bytes of memory, .*", goalrun, huge)
    see = r"; run 'goalrun --help' for the options"
    refuses("unknown option", 2, r"goalrun: .*--frobnicate" + see, goalrun, "--frobnicate", str(good))
    refuses("unknown option, on all ranks", 2, r"goalrun: .*--frobnicate" + see, ptlrun, "-n", "3", goalrun, "--frobnicate", str(good))
    refuses("no file named", 2, r"goalrun: no FILE was given" + see, goalrun)
    refuses("no epoch", 2, r"goalrun: --repeat: .*" + see, goalrun, "--repeat", "0", str(good))
    result = run(goalrun, "--help")
    expect("help", result.returncode == 0 and "--compute" in result.stdout and result.stderr == "", result)
    alone = write("alone.goal", "num_ranks 1\nrank 0 {\na: calc 1000; b: send 9b to 0; c: recv 9b from 0\nb requires a\n}\n")
    succeeds("one rank needs no launcher", alone, ranks=1, transport="self")


bad_input() if way == "input" else schedules_run()
if way == "node":
    traces()
    annotations()
sys.exit(failed != 0)
