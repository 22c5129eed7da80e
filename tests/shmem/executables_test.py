#!/usr/bin/env python3
"""executables_test.py PTLRUN PROGRAM SWAPPED WITHOUT_ID: PEs that run different executables are refused, copies of one are not.

Globals are symmetric, so that they must lie at the same places. SWAPPED has those of PROGRAM, as many bytes, in another order;
WITHOUT_ID has no build id.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

ptlrun, program, swapped, without_id = sys.argv[1:5]
failures = 0


def libraries(of):
    """The folders of the libraries that it is linked with, which a copy in another folder may not find by itself."""
    told = subprocess.run(["ldd", of], text=True, capture_output=True, check=True).stdout
    return ":".join(sorted({os.path.dirname(path) for path in re.findall(r"=> (/\S+)", told)}))


def job(first, second, good, env):
    global failures
    done = subprocess.run([ptlrun, "--timeout", "280", "-n", "1", first, ":", "-n", "1", second], text=True, stdin=subprocess.DEVNULL,
                          capture_output=True, env={**os.environ, **env}, check=False)
    told = re.search(r"shmem.*PE \d runs another executable \([^)]+\) than PE \d \([^)]+\).*start all PEs from the same", done.stderr)
    if (done.returncode == 0) != good or bool(told) == good:
        failures += 1
        print(f"{first} beside {second} with {env}: status {done.returncode}, {done.stderr.strip()}")


with tempfile.TemporaryDirectory(dir=os.path.dirname(os.path.abspath(program)), prefix="copy.") as folder:
    copy = shutil.copy(program, os.path.join(folder, "another_name"))
    os.environ["LD_LIBRARY_PATH"] = libraries(program)
    for env in {}, {"PTL_NODE": "0", "PTL_FABRIC_PROVIDER": "tcp"}:
        job(program, program, True, env)
        job(program, copy, True, env)
        job(without_id, without_id, True, env)
        job(program, swapped, False, env)
        job(without_id, program, False, env)
print(f"{failures} failures")
sys.exit(1 if failures else 0)
