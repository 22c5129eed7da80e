#!/usr/bin/env python3
"""misuse_test.py PTLRUN PROGRAM: every broken rule ends the whole job, with one sentence that names call, PE and value."""
import os
import re
import subprocess
import sys

ptlrun, program = sys.argv[1:3]

# rule -> (environment, exit status, what stderr must say)
RULES = {
    "none": ({}, 0, r"^$"),
    "put-to-stack": ({}, 1, r"shmem: PE 0: shmem_int_put to PE 1: the 4 bytes at 0x[0-9a-f]+ are not symmetric"),
    "get-from-stack": ({}, 1, r"shmem: PE 0: shmem_getmem to PE 1: the 4 bytes at 0x[0-9a-f]+ are not symmetric"),
    "past-the-end": ({}, 1, r"shmem: PE 0: shmem_putmem to PE 1: the 1099511627776 bytes at .* are not symmetric"),
    "pe-too-large": ({}, 1, r"shmem: PE 0: shmem_long_g: there is no PE 2; PEs are 0 \.\. 1"),
    "pe-negative": ({}, 1, r"shmem: PE 0: shmem_int_atomic_inc: there is no PE -1"),
    "context": ({}, 1, r"shmem: PE 0: shmem_ctx_int_p: the context is SHMEM_CTX_INVALID"),
    "alignment": ({}, 1, r"shmem: PE 0: shmem_uint64_atomic_inc to PE 1: address .* is not a multiple of 8"),
    "put-alignment": ({"SHMEM_DEBUG": "1"}, 1, r"shmem: PE 0: shmem_long_put to PE 1: address .* is not a multiple of 8"),
    "iget-alignment": ({"SHMEM_DEBUG": "1"}, 1, r"shmem: PE 0: shmem_iget32 to PE 1: address .* is not a multiple of 4"),
    "comparison": ({}, 1, r"shmem: PE 0: shmem_int_wait_until: 77 is no comparison"),
    "wait-on-stack": ({}, 1, r"shmem: PE 0: shmem_int_wait_until .* not symmetric"),
    "length": ({}, 1, r"shmem: PE 0: shmem_put128: \d+ elements of 16 bytes are more than memory can hold"),
    "free-inside": ({}, 1, r"shmem: PE 0: shmem_free: 0x[0-9a-f]+ is not the start of a block"),
    "out-of-heap": ({"SHMEM_SYMMETRIC_SIZE": "1m"}, 0, r"^$"),
    "out-of-heap-said": ({"SHMEM_DEBUG": "1", "SHMEM_SYMMETRIC_SIZE": "1m", "SHMEM_SYMETRIC_SIZE": "2g"}, 0,
                         r"(?s)shmem: SHMEM_SYMETRIC_SIZE means nothing.*PE 0: shmem_malloc: 1099511627776 bytes cannot be had: "
                         r"the symmetric heap of 1048576 bytes has no room"),
    "finalize-twice": ({}, 0, r"^$"),
    "malloc-differs": ({"SHMEM_DEBUG": "1"}, 1, r"shmem: PE 1: shmem_malloc: the PEs ask differently .* here 101 bytes.*"
                       r"PE 0 calls shmem_malloc with 100 bytes"),
    "free-differs": ({"SHMEM_DEBUG": "1"}, 1, r"shmem: PE 1: shmem_free: the PEs ask differently of the symmetric heap"),
    "reduce-differs": ({"SHMEM_DEBUG": "1"}, 1, r"shmem: PE 1: shmem_int_sum_reduce: the PEs of the team call differently: here with 8 bytes"
                       r".*PE 0 calls shmem_int_sum_reduce with 4 bytes"),
    "root-differs": ({"SHMEM_DEBUG": "1"}, 1, r"shmem: PE 1: shmem_broadcastmem: .* here with 4 bytes, root 1.*PE 0 .* root 0"),
    "dest-differs": ({"SHMEM_DEBUG": "1"}, 1, r"shmem: PE 1: shmem_int_fcollect: the PEs of the team call differently"),
    "calls-differ": ({"SHMEM_DEBUG": "1"}, 1, r"shmem: PE 1: shmem_int_min_reduce: .*PE 0 calls shmem_int_max_reduce"),
    "nb-reduce-differs": ({"SHMEM_DEBUG": "1"}, 1, r"shmem: PE (?P<here>\d): shmemx_int_sum_reduce_nb: the PEs of the team call differently: here "
                          r"with \d bytes.*PE (?!(?P=here))\d calls shmemx_int_sum_reduce_nb with \d bytes"),
    "nb-root-differs": ({"SHMEM_DEBUG": "1"}, 1, r"shmem: PE (?P<here>\d): shmemx_broadcastmem_nb: .* here with 4 bytes, root (?P=here).*"
                        r"PE (?P<there>\d) .* root (?P=there)"),
    "nb-collect-differs": ({"SHMEM_DEBUG": "1"}, 1, r"shmem: PE \d: shmemx_f?collectmem_nb: .*PE \d calls shmemx_f?collectmem_nb"),
    "nb-calls-differ": ({}, 1, r"shmem: PE \d: the PEs of a team call different collectives, or with different sizes or roots"),
    "nb-freed-differ": ({}, 1, r"shmem: PE \d: the PEs of a team call different collectives, or with different sizes or roots"),
    "nb-root": ({}, 1, r"shmem: PE \d: shmemx_broadcastmem_nb: there is no PE 2 in the team to be the root"),
    "nb-stack": ({}, 1, r"shmem: PE \d: shmemx_int_sum_reduce_nb .*the 4 bytes at 0x[0-9a-f]+ are not symmetric"),
    "nb-length": ({}, 1, r"shmem: PE \d: shmemx_int_fcollect_nb: \d+ elements of 4 bytes are more than memory can hold"),
    "nb-negative": ({}, 1, r"shmem: PE \d: shmemx_collectmem_nb .*the 18446744073709551615 bytes at 0x[0-9a-f]+ are not symmetric"),
    "nb-strides": ({}, 1, r"shmem: PE \d: shmemx_int_alltoalls_nb: strides of 0 and 1; strides are 1 or more"),
    "nb-said": ({"SHMEM_DEBUG": "1"}, 0, r"(?s)PE \d: shmemx_sync_nb: the team is SHMEM_TEAM_INVALID.*shmemx_sync_nb: the request is NULL.*"
                r"shmemx_req_wait: there is no such request"),
    "team-destroyed": ({"SHMEM_DEBUG": "1"}, 1, r"shmem: PE \d: there is no team with the handle .* destroyed"),
    "memory-malloc": ({}, 1, r"shmem: PE \d: shmem_malloc: there is not enough memory"),
    "memory-split": ({}, 1, r"shmem: PE \d: shmem_team_split_strided: there is not enough memory"),
    "memory-collect": ({}, 1, r"shmem: PE \d: shmem_int_collect: there is not enough memory"),
    "memory-start": ({}, 0, r"^$"),
    "memory-active-set": ({}, 1, r"shmem: PE \d: shmem_barrier: there is not enough memory"),
    "before-init": ({}, 1, r"shmem: shmem_int_p was called while OpenSHMEM is not initialised"),
    "after-finalize": ({}, 1, r"shmem: shmem_barrier_all was called while OpenSHMEM is not initialised"),
    "exit-status": ({}, 99, r""),
    "init-thread": ({"SHMEM_SYMMETRIC_SIZE": "lots"}, 42, r'shmem: SHMEM_SYMMETRIC_SIZE is "lots"; it must be a number'),
    "bad-size": ({"SHMEM_SYMMETRIC_SIZE": "-1"}, 1, r'shmem: SHMEM_SYMMETRIC_SIZE is "-1"; it must be a number'),
    "old-name": ({"SMA_SYMMETRIC_SIZE": "12x"}, 1, r'shmem: SHMEM_SYMMETRIC_SIZE is "12x"; it must be a number'),
    "bad-huge-pages": ({"SHMEM_HUGE_PAGES": "many"}, 1, r'shmem: SHMEM_HUGE_PAGES is "many"; it must be 0 or 1'),
    "too-large": ({"SHMEM_SYMMETRIC_SIZE": "100t"}, 1, r"a symmetric heap of 109951162777600 bytes cannot be had"),
}

# What is asked for is printed on stdout, once for the job.
INFO = (r"OpenSHMEM 1\.6, Portunus [\d.]+\n(?s:.*)SHMEM_SYMMETRIC_SIZE +12m (?s:.*)SHMEM_HUGE_PAGES +0 +\(default\)(?s:.*)"
        r"PEs: 2; PE 0 reaches 2 by loads and stores, 0 by Portals \((?s:.*)symmetric heap: 12582912 bytes")

clean = {name: value for name, value in os.environ.items() if not name.startswith(("SHMEM_", "SMA_"))}
failed = 0
for rule, (settings, status, sentence) in RULES.items():
    result = subprocess.run([ptlrun, "-n", "2", "--timeout", "280", program, rule], env={**clean, **settings},
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    good = result.returncode == status and re.search(sentence, result.stderr)
    print(f"{'ok' if good else 'FAILED'}: {rule}: status {result.returncode}")
    if not good:
        failed += 1
        print(f"  expected status {status} and {sentence!r}; stderr was:\n{result.stderr}")
info = subprocess.run([ptlrun, "-n", "2", "--timeout", "280", program, "none"], stdout=subprocess.PIPE, text=True,
                      env={**clean, "SHMEM_INFO": "1", "SHMEM_SYMMETRIC_SIZE": "12m"})
if info.returncode or not re.match(INFO, info.stdout) or info.stdout.count("OpenSHMEM 1.6") != 1:
    failed += 1
    print(f"FAILED: SHMEM_INFO printed:\n{info.stdout}")
sys.exit(failed != 0)
