"""interfaces.py: the functions that users hand over, as mpi_f08 describes them.

Source: MPI-5.0, A.1.3 (prototypes of callbacks).
"""

_EXTRA = "integer(MPI_ADDRESS_KIND) :: extra_state"
_POINTER = "type(c_ptr), value :: {}"


def _copy(kind, key):
    return (f"MPI_{kind}_copy_attr_function", f"old{key}, {key}_keyval, extra_state, attribute_val_in, attribute_val_out, flag, ierror",
            [f"type({_handle(kind)}) :: old{key}", f"integer :: {key}_keyval, ierror",
             "integer(MPI_ADDRESS_KIND) :: extra_state, attribute_val_in, attribute_val_out", "logical :: flag"])


def _delete(kind, key):
    name = "datatype" if key == "type" else key
    return (f"MPI_{kind}_delete_attr_function", f"{name}, {key}_keyval, attribute_val, extra_state, ierror",
            [f"type({_handle(kind)}) :: {name}", f"integer :: {key}_keyval, ierror",
             "integer(MPI_ADDRESS_KIND) :: attribute_val, extra_state"])


def _handle(kind):
    return "MPI_Datatype" if kind == "Type" else f"MPI_{kind}"


def _conversion(suffix):
    return (f"MPI_Datarep_conversion_function{suffix}", "userbuf, datatype, count, filebuf, position, extra_state, ierror",
            [_POINTER.format("userbuf, filebuf"), "type(MPI_Datatype) :: datatype",
             f"integer{'(MPI_COUNT_KIND)' if suffix else ''} :: count", "integer(MPI_OFFSET_KIND) :: position", _EXTRA, "integer :: ierror"])


def _user(suffix):
    return (f"MPI_User_function{suffix}", "invec, inoutvec, len, datatype",
            [_POINTER.format("invec, inoutvec"), f"integer{'(MPI_COUNT_KIND)' if suffix else ''} :: len", "type(MPI_Datatype) :: datatype"])


PROCEDURES = [_user(""), _user("_c")]
for _kind in ("Comm", "Type", "Win"):
    PROCEDURES += [_copy(_kind, _kind.lower()), _delete(_kind, _kind.lower())]
for _kind in ("Comm", "Win", "File", "Session"):
    PROCEDURES.append((f"MPI_{_kind}_errhandler_function", f"{_kind.lower()}, error_code",
                       [f"type(MPI_{_kind}) :: {_kind.lower()}", "integer :: error_code"]))
PROCEDURES += [
    ("MPI_Grequest_query_function", "extra_state, status, ierror", [_EXTRA, "type(MPI_Status) :: status", "integer :: ierror"]),
    ("MPI_Grequest_free_function", "extra_state, ierror", [_EXTRA, "integer :: ierror"]),
    ("MPI_Grequest_cancel_function", "extra_state, complete, ierror", [_EXTRA, "logical :: complete", "integer :: ierror"]),
    _conversion(""), _conversion("_c"),
    ("MPI_Datarep_extent_function", "datatype, extent, extra_state, ierror",
     ["type(MPI_Datatype) :: datatype", "integer(MPI_ADDRESS_KIND) :: extent, extra_state", "integer :: ierror"])]


def text():
    lines = ["abstract interface"]
    for name, arguments, declarations in PROCEDURES:
        lines += [f"subroutine {name}({arguments})".replace(", attribute_val_out", ", &\n attribute_val_out"), "import"]
        lines += declarations + ["end subroutine"]
    return lines + ["end interface"]
