#!/usr/bin/env python3
"""endings_test.py PTLRUN PROGRAM FAILING_DISK: accesses to files that fail are told to every rank, and nobody hangs."""

import glob
import os
import pathlib
import subprocess
import sys
import tempfile

ptlrun, program, failing_disk = sys.argv[1:]
failures = 0


def job(how, file, ranks=3, status=0, options=(), env=None):
    global failures
    command = [ptlrun, "-n", str(ranks), "--timeout", "280", *options, program, how, str(file)]
    before = set(glob.glob("/dev/shm/*"))
    ran = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **(env or {})})
    complaints = [line for line in ran.stderr.splitlines() if "rank " in line and "class" in line]
    if ran.returncode != status or complaints:
        failures += 1
        print(f"{how}: exit status {ran.returncode}, expected {status}; stderr:\n{ran.stderr}")
    left = [name for name in set(glob.glob("/dev/shm/*")) - before if "portunus-win" in name]
    if left:
        failures += 1
        print(f"{how}: left behind: {left}")


with tempfile.TemporaryDirectory(prefix="portunus-io-") as folder:
    file = pathlib.Path(folder) / "file"
    # A disk that answers EIO to everything.
    sanitizer = os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"  # which otherwise wants to be the first that is loaded
    job("error", file, env={"LD_PRELOAD": failing_disk, "ASAN_OPTIONS": sanitizer})
    job("limit", file)
    job("attribute", file)
    # A rank dies in the middle of collectives: an aggregator (0), and another.
    for victim in (0, 2):
        job(f"kill{victim}", file, status=128 + 9, options=["--keep-going"])
    small = pathlib.Path(folder) / "small"
    small.mkdir()
    mounted = os.geteuid() == 0 and subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", str(small)],
                                                   capture_output=True).returncode == 0
    if mounted:
        try:
            job("full", small / "file")
        finally:
            subprocess.run(["umount", str(small)], check=False)
    else:
        print("the full disk is left out: only root may mount a small one")
sys.exit(failures != 0)
