#!/usr/bin/env python3
"""bench_arguments_test.py ROOT: what a measuring program cannot do it refuses at once, by a sentence that names what was given.

Every option of every program in bench/ that takes a value gets one that it cannot have. A program that takes it would go on to its build
folder, of which it is told one that is not there.
"""

import os
import pathlib
import re
import subprocess
import sys

NONSENSE = "8x;?"
NOWHERE = "/nonexistent/place"
NO_BUILD = "/nonexistent/build"


def options_with_values(words):
    """Those of a usage message, such as [--sizes BYTES]."""
    return re.findall(r"\[(-{1,2}[a-z-]+) ([A-Z{][^\]]*)\]", " ".join(words.split()))


def told(command):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60, check=False)
    return done.returncode, done.stdout


def problems(program):
    status, words = told([program, "--help"])
    if status != 0 or not words.startswith("usage: "):
        yield f"{program} --help does not tell how it is used"
        return
    has_build = "--build" in words
    for option, what in options_with_values(words.split("\n\n")[0].removeprefix("usage: ")):
        if option == "--build":
            continue
        value = NOWHERE if what.split()[0] in ("FILE", "DIR") else NONSENSE
        status, words = told([program, option, value, *(["--build", NO_BUILD] if has_build else [])])
        last = words.strip().splitlines()[-1] if words.strip() else ""
        if status != 2 or "Traceback" in words or (value not in last and option not in last):
            yield f"{program} {option} {value} ends with status {status} and says: {last}"


def main(root):
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    found = 0
    bad = []
    for path in sorted((pathlib.Path(root) / "bench").iterdir()):
        if path.is_file() and os.access(path, os.X_OK):
            found += 1
            bad += problems(str(path))
    print("\n".join(bad) or f"{found} programs refuse what they cannot do")
    return 1 if bad or not found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
