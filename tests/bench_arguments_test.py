#!/usr/bin/env python3
"""bench_arguments_test.py ROOT: what a measuring program cannot do it refuses at once, by a sentence that names what was given.

Every option of every program in bench/ that takes a value gets one that it cannot have. A program that takes it would go on to its build
folder, of which it is told one that is not there. What a program has measured it writes as it comes, inside its loops, so that an error
after an hour loses nothing, and every name that it or a module in bench/ reads is one that it has.
"""

import ast
import builtins
import dis
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


def codes(code):
    """A compiled file's code, and that of all functions and classes in it."""
    yield code
    for constant in code.co_consts:
        if hasattr(constant, "co_code"):
            yield from codes(constant)


def missing_names(program, text):
    inside = list(codes(compile(text, program, "exec")))
    made = {step.argval for code in inside for step in dis.get_instructions(code) if step.opname in ("STORE_NAME", "STORE_GLOBAL")}
    read = {step.argval for code in inside for step in dis.get_instructions(code) if step.opname in ("LOAD_NAME", "LOAD_GLOBAL")}
    for name in sorted(read - made - set(dir(builtins)) - {"__file__"}):
        yield f"{program} reads the name {name}, which nothing gives a value"


def called(tree):
    """The last words of what is called somewhere in it."""
    calls = (node.func for node in ast.walk(tree) if isinstance(node, ast.Call))
    return {getattr(function, "attr", getattr(function, "id", None)) for function in calls}


def writes_late(program, text):
    tree = ast.parse(text)
    writers = {"write_results"}
    functions = {node.name: called(node) for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    while more := {name for name, inside in functions.items() if inside & writers} - writers:
        writers |= more
    if not any(called(node) & writers for node in ast.walk(tree) if isinstance(node, ast.For)):
        yield f"{program} does not write its results as they come: facts.write_results is called in no loop"
    if "dumps" in called(tree):
        yield f"{program} writes JSON itself; facts.write_results leaves the old file whole until the new one is"


def problems_of_source(program):
    text = pathlib.Path(program).read_text(encoding="utf-8")
    if "python" in text.splitlines()[0]:
        yield from missing_names(program, text)
        if '"also write all' in text or '"--out"' in text:
            yield from writes_late(program, text)


def main(root):
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    found = 0
    bad = []
    for path in sorted((pathlib.Path(root) / "bench").iterdir()):
        if path.is_file() and os.access(path, os.X_OK):
            found += 1
            bad += problems(str(path))
            bad += problems_of_source(str(path))
        elif path.suffix == ".py":
            bad += missing_names(str(path), path.read_text(encoding="utf-8"))
    print("\n".join(bad) or f"{found} programs refuse what they cannot do")
    return 1 if bad or not found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
