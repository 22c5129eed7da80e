#!/usr/bin/env python3
"""symbols_test.py NM LIBRARY SYMBOLS HEADER: the library exports what SYMBOLS lists, in order; each MPI_ name is weak; mpi.h
declares each, with its PMPI_ twin unless it is a variable, and nothing else; but not what MPI-3.0 has removed."""

import re
import subprocess
import sys

nm, library, symbols, header = sys.argv[1:]
lines = subprocess.run([nm, "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout.splitlines()
kinds = {line.split()[2]: line.split()[1] for line in lines}
listed = open(symbols, encoding="ascii").read().split()
text = open(header, encoding="ascii").read()
removed = """MPI_Address MPI_Errhandler_create MPI_Errhandler_get MPI_Errhandler_set MPI_Type_extent MPI_Type_hindexed MPI_Type_hvector
MPI_Type_lb MPI_Type_struct MPI_Type_ub""".split()
declared = re.findall(r"^\w+ (MPI_\w+)\(", text, re.MULTILINE)
variables = re.findall(r"^extern [\w ]+\*(MPI_\w+);", text, re.MULTILINE)
twins = ["MPI_" + name for name in re.findall(r"^MPI_ABI_TWIN\((\w+)\)", text, re.MULTILINE)]
problems = [f"not exported: {name}" for name in listed if name not in kinds]
problems += [f"not listed: {name}" for name in kinds if name not in listed]
problems += [f"not weak: {name}" for name, kind in kinds.items() if name.startswith("MPI_") and kind != "W" and name not in variables]
problems += [f"no PMPI name: {name}" for name in kinds if name.startswith("MPI_") and "P" + name not in kinds and name not in variables]
problems += [f"declared, but not there: {name}" for name in declared + variables if name not in kinds]
problems += [f"not declared: {name}" for name in kinds if name.startswith("MPI_") and name not in declared + variables + removed]
problems += [f"removed, but declared or not there: {name}" for name in removed if name in declared or name not in kinds]
problems += [f"declared without its PMPI name, or the other way round: {name}" for name in set(declared) ^ set(twins)]
if listed != sorted(listed):
    problems.append("the list is not sorted")
print("\n".join(problems))
sys.exit(bool(problems))
