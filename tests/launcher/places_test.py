#!/usr/bin/env python3
"""places_test.py PTLRUN MPI_PROGRAM SHMEM_PROGRAM: jobs run where there is little: a small or full /dev/shm, few addresses, one processor,
no /sys, no /proc/sys, no TMPDIR, and a kernel that refuses process_vm_readv and membarrier. Without root most of it is skipped."""
import ctypes
import os
import resource
import struct
import subprocess
import sys

ptlrun, mpi_program, shmem_program = sys.argv[1:4]
MIB = 1 << 20


def few_addresses(mib):
    return lambda: resource.setrlimit(resource.RLIMIT_AS, (mib * MIB, mib * MIB))


def refuses(*numbers):
    """Makes these system calls of x86-64 fail with EPERM, as containers do."""
    BPF_LD_W_ABS, BPF_JEQ, BPF_RET = 0x20, 0x15, 0x06
    rules = [(BPF_LD_W_ABS, 0, 0, 0)]
    for number in numbers:
        rules += [(BPF_JEQ, 0, 1, number), (BPF_RET, 0, 0, 0x00050000 | 1)]
    rules.append((BPF_RET, 0, 0, 0x7FFF0000))

    def install():
        program = b"".join(struct.pack("HBBI", *rule) for rule in rules)
        memory = ctypes.create_string_buffer(program)
        filters = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(rules), ctypes.addressof(memory)))
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.prctl(38, 1, 0, 0, 0) != 0 or libc.prctl(22, 2, filters, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "no filter can be installed")

    return install


def hidden(*folders):
    return "; ".join(f"mount -t tmpfs -o ro none {folder}" for folder in folders)


# Name, what is mounted first, what the job's launcher does before it starts, variables.
PLACES = [
    ("/dev/shm of 1 MB", "mount -t tmpfs -o size=1m none /dev/shm", None, {}),
    ("/dev/shm of 8 MB", "mount -t tmpfs -o size=8m none /dev/shm", None, {}),
    ("/dev/shm of 64 MB", "mount -t tmpfs -o size=64m none /dev/shm", None, {}),
    ("2 GiB of addresses", None, few_addresses(2048), {}),
    ("one processor", None, lambda: os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}), {}),
    ("no /sys", hidden("/sys"), None, {}),
    ("no /proc/sys", hidden("/proc/sys"), None, {}),
    ("TMPDIR that is not there", None, None, {"TMPDIR": "/there/is/no/such/folder"}),
    ("no process_vm_readv, process_vm_writev, membarrier", None, refuses(310, 311, 324), {}),
    ("no pidfd_open, memfd_create", None, refuses(434, 319), {}),
]
PLACES_OF_MPI = [
    ("300 MiB of addresses", None, few_addresses(300), {}),
    ("/dev/shm that cannot be written", hidden("/dev/shm"), None, {}),
]


def may_mount():
    return subprocess.run(["unshare", "-m", "true"], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode == 0


def run(program, mounts, before, variables):
    command = [ptlrun, "-n", "3", "--timeout", "280", program]
    if mounts:
        command = ["unshare", "-m", "sh", "-ec", mounts + '; exec "$@"', "sh"] + command
    return subprocess.run(command, env=dict(os.environ, **variables), preexec_fn=before, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)


mounting = may_mount()
problems, skipped = [], 0
for program, places in ((mpi_program, PLACES + PLACES_OF_MPI), (shmem_program, PLACES)):
    for name, mounts, before, variables in places:
        if mounts and not mounting:
            skipped += 1
            continue
        done = run(program, mounts, before, variables)
        if done.returncode != 0:
            problems.append(f"{os.path.basename(program)} with {name}: status {done.returncode}: {done.stdout}")
print("\n".join(problems) or f"all well; {skipped} skipped, which need root to mount")
sys.exit(bool(problems))
