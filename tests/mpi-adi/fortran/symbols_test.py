#!/usr/bin/env python3
"""symbols_test.py NM LIBRARY MPI.H MPI-EXT.H: the bindings for Fortran export, for every function of mpi.h that has a binding and for the
graphs and notified accesses of mpi-ext.h, the names of mpif.h and mpi (mpi_send_, mpi_send__) and those of mpi_f08 (mpi_send_f08ts_ or mpi_comm_rank_f08_, also
with large counts), each with its twin pmpi_. The functions without bindings are the tool interface and handles as integers."""

import re
import subprocess
import sys

nm, library, header, extensions = sys.argv[1:]
lines = subprocess.run([nm, "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout.splitlines()
exported = {line.split()[2] for line in lines}
text = open(header, encoding="ascii").read()
problems = []
deprecated = {"attr_put", "attr_get", "attr_delete", "keyval_create", "keyval_free"}  # not in mpi_f08
without = r"T_.*|.*_(toint|fromint|c2f|f2c|c2f08|f082c|f2f08|f082f)"
for name, arguments in re.findall(r"^\w+ MPI_(\w+)\(([^;]*)\);", text, re.MULTILINE):
    if re.fullmatch(without, name):
        continue
    name = name.lower()
    wanted = [] if name.endswith("_c") else [f"mpi_{name}_", f"mpi_{name}__"]
    kinds = {f"mpi_{name}_f08_", f"mpi_{name}_f08ts_"}
    for each in wanted + ["p" + one for one in wanted]:
        if each not in exported:
            problems.append(f"not exported: {each}")
    if name not in deprecated and not any(kind in exported and "p" + kind in exported for kind in kinds):
        problems.append(f"not exported for mpi_f08: {name}")
for name, arguments in re.findall(r"^\w+ MPIX_(Graph_\w+|\w+_notify(?:_c)?)\(([^;]*)\);", open(extensions, encoding="ascii").read(), re.MULTILINE):
    if re.fullmatch(without, name):
        continue
    forms = ["_f08ts_" if "void *" in arguments else "_f08_"] + ([] if name.endswith("_c") else ["_", "__"])
    for each in (f"mpix_{name.lower()}{form}" for form in forms):
        problems += [f"not exported: {one}" for one in (each, "p" + each) if one not in exported]
for name in ("mpi_sizeof_f08ts_", "mpi_f_sync_reg_", "mpi_f_sync_reg_f08ts_", "mpi_status_f2f08_", "mpi_comm_dup_fn_", "mpi_fortran_constants_"):
    if name not in exported:
        problems.append(f"not exported: {name}")
print("\n".join(problems))
sys.exit(bool(problems))
