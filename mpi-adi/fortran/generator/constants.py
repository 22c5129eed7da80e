"""constants.py: the constants of mpi.h as Fortran has them, and those that only Fortran has."""

from table import HANDLES

# Lengths are one less than C's, which count the terminating zero. (MPI-5.0, 2.6.2)
def _is_length(name):
    return name.startswith("MPI_MAX_")


def integers(constants):
    """(name, value) of plain integers."""
    return [(name, value - 1 if _is_length(name) else value) for name, ctype, value in constants
            if ctype is None and not name.startswith(("MPI_T_", "MPI_F_", "MPI_H_"))]


def handles(constants):
    """(name, C type of the handle, value)."""
    return [each for each in constants if each[1] in HANDLES]


# What only Fortran has: sizes of statuses and kinds. A status is an array in mpif.h and mpi.
STATUS = [("MPI_STATUS_SIZE", 8), ("MPI_SOURCE", 1), ("MPI_TAG", 2), ("MPI_ERROR", 3)]
KINDS = [("MPI_ADDRESS_KIND", 8), ("MPI_COUNT_KIND", 8), ("MPI_OFFSET_KIND", 8), ("MPI_INTEGER_KIND", 4)]

# Those whose address counts, in the order in which they lie in the common block; fortran.h has the same order.
BLOCK = "mpi_fortran_constants"
ADDRESSES = ["MPI_BOTTOM", "MPI_IN_PLACE", "MPI_BUFFER_AUTOMATIC", "MPI_UNWEIGHTED", "MPI_WEIGHTS_EMPTY", "MPI_ERRCODES_IGNORE",
             "MPI_STATUS_IGNORE", "MPI_STATUSES_IGNORE", "MPI_ARGV_NULL", "MPI_ARGVS_NULL"]
SHAPES = {"MPI_UNWEIGHTED": "(1)", "MPI_WEIGHTS_EMPTY": "(1)", "MPI_ERRCODES_IGNORE": "(1)", "MPI_ARGV_NULL": "(1)",
          "MPI_ARGVS_NULL": "(1,1)"}

# Functions that a program can hand over in place of its own: (name, the interface that they have).
PREDEFINED = [(f"MPI_{kind}_{which}", f"MPI_{kind.capitalize()}_{what}_attr_function")
              for kind in ("COMM", "TYPE", "WIN")
              for which, what in (("NULL_COPY_FN", "copy"), ("DUP_FN", "copy"), ("NULL_DELETE_FN", "delete"))] + [
    ("MPI_CONVERSION_FN_NULL", "MPI_Datarep_conversion_function"), ("MPI_CONVERSION_FN_NULL_C", "MPI_Datarep_conversion_function_c")]
OLD_PREDEFINED = ["MPI_NULL_COPY_FN", "MPI_DUP_FN", "MPI_NULL_DELETE_FN"]
