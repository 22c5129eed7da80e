#!/usr/bin/env python3
"""misuse_test.py PTLRUN PROGRAM: each mistake ends the job, by a sentence that names it; without one the job ends well.
PTL_TRACE has what views did in files beside those of schedules."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

CASES = {
    "none": None, "image": None, "acquired": None, "unacquired": "view 11: that is not held",
    "before": "before Vdc_startup|has not been called", "stray": "no view is held for writing", "reader": "held for reading only",
    "other": "belongs to no view that is held for writing; view 9 is", "id": "there is no view 16384", "release": "view 3 is not held",
    "rrelease": "view 3 is not held for reading", "nested": "writers do not nest", "upgrade": "held for reading", "full": "VDC_PAGES",
    "free": "not the start of a block", "twice": "was freed before", "foreign": "is not in the shared pages",
    "barriers": "is at barrier", "overlap": "was written in it, and in view 1 before", "held": "view 1 is still held",
    "end": "at barrier 3 while process 1 is at the end|at the end (Vdc_exit) while process 0 is at barrier 3",
    "null": "process 1: 0x10 was read or written: a pointer that is NULL here", "again": "called twice", "pages": "VDC_PAGES is",
}
ptlrun, program = sys.argv[1:3]
wrong = 0
for case, sentence in CASES.items():
    env = dict(os.environ, PTL_DEBUG="views")
    if case == "pages":
        env["VDC_PAGES"] = "many"
    done = subprocess.run([ptlrun, "-n", "2", "--timeout", "280", program, case], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env, check=False)
    if sentence is None:
        good = done.returncode == 0 and not done.stderr
    else:
        good = done.returncode not in (0, 124) and "vdc: " in done.stderr and any(words in done.stderr for words in sentence.split("|"))
    if not good:
        wrong += 1
        print(f"{case}: status {done.returncode}, {done.stderr or 'no sentence'}")
with tempfile.TemporaryDirectory() as folder:
    subprocess.run([ptlrun, "-n", "2", "--timeout", "280", program, "acquired"], env=dict(os.environ, PTL_TRACE=f"{folder}/trace.json"), check=False)
    for process in range(2):
        views, schedules = (json.loads((pathlib.Path(folder) / name).read_text(encoding="utf-8"))["traceEvents"]
                            for name in (f"trace.views.{process}.json", f"trace.{process}.json"))
        if not any(event["cat"] == "view" for event in views) or not any(event.get("cat") == "execution" for event in schedules):
            wrong += 1
            print(f"process {process}: its traces lack views or schedules")
print(f"{len(CASES)} cases, {wrong} wrong")
sys.exit(bool(wrong))
