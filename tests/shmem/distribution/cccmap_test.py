#!/usr/bin/env python3
"""cccmap_test.py CCCMAP: what the tool says of some distributions, and what it refuses."""
import os
import subprocess
import sys
import tempfile

tool = sys.argv[1]
problems = []


def run(*args):
    return subprocess.run([tool, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)


def says(args, *parts):
    done = run(*args)
    problems.extend(f"{args} does not say '{part}':\n{done.stdout}{done.stderr}" for part in parts if done.returncode or part not in done.stdout)


def refuses(args, part):
    done = run(*args)
    if done.returncode != 2 or part not in done.stderr or len(done.stderr.strip().splitlines()) != 1:
        problems.append(f"{args}: status {done.returncode}, {done.stderr}")


says(["--help"], "usage: cccmap")
says(["--n", "64", "--virtual", "16:cyclic", "--physical", "4:block"], "periods left: none", "theorem 6.1 holds", "block-cyclic(4)",
     "0000111122223333" * 4, "0 has 16: 0-0 16-16 32-32 48-48 1-1")
says(["--n", "3", "--virtual", "2:1", "--physical", "2:2"], "theorem 6.1 does not hold", "periods left: 2")
says(["--n", "4,4", "--virtual", "2:block,2:cyclic"], "0101\n  0101\n  2323\n  2323")
says(["--n", "4096", "--virtual", "4:64", "--to", "4:8", "--size", "1"], "12 messages, 3072 bytes")
with tempfile.TemporaryDirectory() as folder:
    picture = os.path.join(folder, "map.svg")
    says(["--n", "8", "--virtual", "4:block", "--svg", picture], "owners")
    drawn = open(picture, encoding="utf-8").read()
    if drawn.count("<rect") != 8 or not drawn.rstrip().endswith("</svg>"):
        problems.append("the picture does not have a square for each index")
refuses([], "--n and --virtual are needed")
refuses(["--n", "ten", "--virtual", "2:block"], "is no number")
refuses(["--n", "10", "--virtual", "2"], "PROCESSORS:FUNCTION")
refuses(["--n", "10,10", "--virtual", "2:block"], "for each dimension")
refuses(["--n", "1,2,3", "--virtual", "2:block"], "two dimensions")
refuses(["--n", "-1", "--virtual", "2:block"], "-1 indices")
refuses(["--n", "9", "--virtual", "0:block"], "0 processors")
refuses(["--n", "9", "--virtual", "9:block", "--svg", "/nowhere/at/all"], "cannot be written")
refuses(["--what", "9"], "no option")
refuses(["--n"], "wants a value")
print("\n".join(problems) or "as it should be")
sys.exit(bool(problems))
