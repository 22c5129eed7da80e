#!/usr/bin/env python3
"""Does Clang refuse what enters the engine without the baton? under_baton_test.py ROOT [COMPILER-FLAG...]

Every function of the engine is called by the holder of the baton only (engine/core/engine.hpp). Each program below breaks that in one way
and must be refused for it; the last one keeps to it and must be taken."""

import pathlib
import shutil
import subprocess
import sys

HEAD = """#include "engine/core/runtime.hpp"
using namespace portunus;
"""
FUNCTION = """#line 1 "case{}"
int use{}(Runtime& runtime, Command& command) {{
{}
}}
"""
REFUSED = {
    "a step without the baton": "return runtime.engine().step(0);",
    "a verb without the baton": "return runtime.engine().table().unlink(0);",
    "a command after the baton was left":
        "if (!runtime.progress().try_enter()) return 0; runtime.progress().leave(); runtime.engine().execute(command); return 1;",
    "the baton that was asked for, and maybe not taken": "runtime.progress().try_enter(); runtime.engine().settle(); return 1;",
    "the baton never left": "if (!runtime.progress().try_enter()) return 0; return 1;",
    "the baton left twice": "if (runtime.progress().try_enter()) { runtime.progress().leave(); runtime.progress().leave(); } return 0;",
    "an action of which nobody says that it runs under the baton":
        "auto action = [](Engine& engine) { return engine.flushed(); }; return runtime.progress().locked(action);",
}
TAKEN = """if (runtime.progress().try_enter()) {
  runtime.engine().execute(command);
  runtime.progress().leave();
}
return runtime.progress().locked([](Engine& engine) UNDER_BATON { return engine.flushed(); });"""


def main():
    root = pathlib.Path(sys.argv[1])
    clang = shutil.which("clang++")
    if clang is None:
        print("skipped: only Clang (clang++) reads the marks of the baton")
        return 77
    command = [clang, "-std=c++20", "-fsyntax-only", "-Wthread-safety", "-Werror=thread-safety", f"-I{root}", *sys.argv[2:], "-xc++", "-"]

    # All in one source: each case is a file to the compiler, whose messages name it.
    def said_of(bodies):
        source = HEAD + "".join(FUNCTION.format(number, number, body) for number, body in enumerate(bodies))
        return subprocess.run(command, input=source, capture_output=True, text=True)

    wrong = 0
    done = said_of(REFUSED.values())
    for number, what in enumerate(REFUSED):
        if f"case{number}:" not in done.stderr or "-Wthread-safety" not in done.stderr:
            print(f"{what}: was not refused for it\n{done.stderr}")
            wrong += 1
    done = said_of([TAKEN])
    if done.returncode != 0:
        print(f"a program that takes and leaves the baton was refused\n{done.stderr}")
        wrong += 1
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
