#!/usr/bin/env python3
"""dead_pe_test.py PTLRUN PROGRAM WAY: what concerns a dead PE ends the job with a sentence, the rest goes on; WAY: node or tcp."""
import os
import re
import subprocess
import sys

ptlrun, program, way = sys.argv[1:4]
WAYS = {"node": {"PTL_NODE": "1"}, "tcp": {"PTL_NODE": "0", "PTL_FABRIC_PROVIDER": "tcp"}}
CALLS = {"put": "shmem_int_p", "get": "shmem_int_g", "atomic": "shmem_int_atomic_inc", "fetch": "shmem_int_atomic_fetch_inc",
         "long-put": "", "nbi": "", "signal": "", "barrier": "a barrier", "sync": "a barrier", "reduce": "a collective", "broadcast": "a collective",
         "collect": "a collective", "alltoall": "a collective", "wait": "shmem_int_wait_until", "signal-wait": "shmem_signal_wait_until",
         "lock": "", "malloc": "a barrier", "split": "", "finalize": "a barrier",
         "started-test": "", "started-long": "", "started-collect": "", "started-barrier": "", "started-freed": ""}
NETWORK = ["put", "long-put", "get", "atomic", "fetch", "nbi", "signal", "barrier", "reduce", "wait", "lock", "finalize", "started-test", "started-long", "started-collect",
           "started-barrier", "started-freed"]
clean = {name: value for name, value in os.environ.items() if not name.startswith(("SHMEM_", "SMA_"))}
clean["SHMEM_SYMMETRIC_SIZE"] = "1m"
failed = 0


def job(way, call):
    return subprocess.run([ptlrun, "--keep-going", "-n", "3", "--timeout", "280", program, call], env={**clean, **WAYS[way]},
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)


def report(way, call, good, done):
    global failed
    print(f"{'ok' if good else 'FAILED'}: {way}: {call}: status {done.returncode}")
    if not good:
        failed += 1
        print(f"stdout: {done.stdout}\nstderr: {done.stderr}")


for call, who in CALLS.items():
    if way == "tcp" and call not in NETWORK:
        continue
    done = job(way, call)
    said = re.search(rf"shmem: PE [01]: .*{who if way == 'node' else ''}.*PE 2(, which)? has died", done.stderr)
    report(way, call, done.returncode == 1 and said, done)
done = job(way, "others")
report(way, "others", done.returncode == 137 and done.stdout.count("went on") == 2, done)
if way == "node":  # across the network nobody is watched before a wait has been a long one
    done = job(way, "accessible")
    report(way, "accessible", done.returncode == 137 and done.stdout.count("knows") == 2, done)
sys.exit(failed != 0)
