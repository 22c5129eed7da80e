#!/usr/bin/env python3
"""generate.py MPI.H MPI-EXT.H FOLDER: writes the bindings for Fortran, from what mpi.h and mpi-ext.h declare and the table of table.py, into
FOLDER: wrappers.c, mpif.h, mpi.f90 and mpi_f08.f90."""

import pathlib
import sys

import c_writer
import fortran_writer
import mpi_header
import table


def main():
    text, extensions = (pathlib.Path(header).read_text(encoding="ascii") for header in sys.argv[1:3])
    folder = pathlib.Path(sys.argv[3])
    functions, constants = mpi_header.functions(text), mpi_header.constants(text)
    functions += [each for each in mpi_header.functions(extensions, "MPIX_") if table.is_extension_bound(each.name)]
    constants += table.EXTENSION_CONSTANTS
    for name, content in {"wrappers.c": c_writer.wrappers(functions), "mpif.h": fortran_writer.mpif(functions, constants),
                          "mpi.f90": fortran_writer.mpi(functions, constants),
                          "mpi_f08.f90": fortran_writer.mpi_f08(functions, constants)}.items():
        (folder / name).write_text(content, encoding="ascii")


main()
