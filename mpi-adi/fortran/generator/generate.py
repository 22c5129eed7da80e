#!/usr/bin/env python3
"""generate.py MPI.H FOLDER: writes the bindings for Fortran, from what mpi.h declares and the table of table.py, into FOLDER:
wrappers.c, mpif.h, mpi.f90 and mpi_f08.f90."""

import pathlib
import sys

import c_writer
import fortran_writer
import mpi_header


def main():
    header, folder = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    text = header.read_text(encoding="ascii")
    functions, constants = mpi_header.functions(text), mpi_header.constants(text)
    for name, content in {"wrappers.c": c_writer.wrappers(functions), "mpif.h": fortran_writer.mpif(functions, constants),
                          "mpi.f90": fortran_writer.mpi(functions, constants),
                          "mpi_f08.f90": fortran_writer.mpi_f08(functions, constants)}.items():
        (folder / name).write_text(content, encoding="ascii")


main()
