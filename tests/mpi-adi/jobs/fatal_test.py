#!/usr/bin/env python3
"""fatal_test.py PTLRUN PROGRAM: an error that ends the job is one sentence; with its stack, and by a core, where PTL_DEBUG wants that."""

import os
import pathlib
import re
import resource
import signal
import subprocess
import sys
import tempfile

ptlrun, program = (os.path.abspath(name) for name in sys.argv[1:3])
STACK = re.compile(r"^the stack of this error, process \d+:$", re.MULTILINE)
SENTENCE = {"send": "MPI_Send on rank 1", "before": "called before MPI_Init"}
resource.setrlimit(resource.RLIMIT_CORE, [resource.getrlimit(resource.RLIMIT_CORE)[1]] * 2)
# AddressSanitizer lets its processes leave none.
leaves_cores = b"__asan_init" not in pathlib.Path(program).read_bytes() and resource.getrlimit(resource.RLIMIT_CORE)[0] != 0 and \
    re.fullmatch(r"[^|/]+", pathlib.Path("/proc/sys/kernel/core_pattern").read_text(encoding="utf-8").strip())
failures = 0
for what in "send", "before", "abort":
    for debug in "0", "stack", "core":
        with tempfile.TemporaryDirectory() as folder:
            alone = what == "before"
            command = [program, what] if alone else [ptlrun, "-n", "2", "--timeout", "280", program, what]
            done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd=folder, check=False,
                                  env={**os.environ, "PTL_DEBUG": debug})
            cores = list(pathlib.Path(folder).iterdir())
        wanted = debug != "0" and what != "abort"
        by_core = debug == "core" and wanted
        good = bool(STACK.search(done.stderr)) == wanted and done.stderr.count(SENTENCE.get(what, "")) >= 1
        good = good and bool(re.search(r"libmpi_abi\S*\((MPI|PMPI)_Send", done.stderr)) == wanted
        if alone:
            good = good and (done.returncode == -signal.SIGABRT) == by_core
        else:
            good = good and ("signal 6" in done.stderr) == by_core
        if leaves_cores:
            good = good and bool(cores) == by_core
        if not good or done.returncode == 0:
            failures += 1
            print(f"{what} with {debug}: exit status {done.returncode}, files {cores}; stderr:\n{done.stderr}")
print(f"{failures} failures")
sys.exit(failures != 0)
