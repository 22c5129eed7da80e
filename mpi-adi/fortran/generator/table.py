"""table.py: the one table of the interface: what each parameter of each function is to Fortran.

mpi.h says nearly all of it: an `MPI_Comm *` is a communicator that comes out, a `const int []` an array that goes in. Here is
what it does not say: which ints are logicals, what goes in and comes out, how long arrays of handles are, what the functions
do with buffers that do not lie in one piece, and which functions are written by hand.

Source: MPI-5.0, 19.1 (Fortran support) and the appendix A.3 to A.5 (bindings).
"""

from dataclasses import dataclass

HANDLES = {"MPI_Comm": "comm", "MPI_Datatype": "type", "MPI_Errhandler": "errhandler", "MPI_File": "file", "MPI_Group": "group",
           "MPI_Info": "info", "MPI_Message": "message", "MPI_Op": "op", "MPI_Request": "request", "MPI_Session": "session",
           "MPI_Win": "win", "MPIX_Graph": "graph"}
INTEGERS = {"int": "integer", "MPI_Aint": "address", "MPI_Count": "count", "MPI_Offset": "offset"}

# Functions of mpi.h that have no Fortran binding: of the tool interface, and those that are about C's own handles.
def has_binding(name):
    return not (name.startswith("T_") or name.endswith(("_toint", "_fromint", "_c2f", "_f2c", "_c2f08", "_f082c", "_f082f", "_f2f08")))

# Functions of mpi-ext.h that have one, and constants that go with them: name, type, value.
def is_extension_bound(name):
    return name.removesuffix("_c").endswith("_notify") or name.startswith("Graph_") and has_binding(name)


EXTENSION_CONSTANTS = [("MPIX_GRAPH_NULL", "MPIX_Graph", 0)]

LOGICALS = {"flag", "is_set", "commute", "high", "reorder", "weighted", "periods", "remain_dims"}
# Scalars of any type: no buffers.
SCALARS = {"logical_true", "logical_false"}
# Scalars that go in and come out.
INOUT = {"position"} | {(function, "keyval") for function in ("Keyval_free",)} | {
    (f"{kind}_free_keyval", f"{kind.lower()}_keyval") for kind in ("Comm", "Type", "Win")}
INOUT_ARRAYS = {("Dims_create", "dims")}
# Handles that come out only, though they are pointers like those that go in too.
GOES_IN_TOO = {"Wait", "Test", "Request_free", "Cancel", "Start", "Mrecv", "Imrecv", "Comm_free", "Comm_disconnect", "Group_free",
               "Win_free", "File_close", "Info_free", "Errhandler_free", "Op_free", "Type_free", "Type_commit", "Session_finalize", "Graph_free"}
NOT_IN = {("Imrecv", "request")}
# Arrays and scalars in whose place an address constant may stand.
WEIGHTS = {"weights", "sourceweights", "destweights"}
LENGTHS = {("Type_create_struct", "array_of_types"): "count", ("Type_get_contents", "array_of_datatypes"): "max_datatypes",
           ("Request_get_status_some", "array_of_requests"): "incount", ("Waitsome", "array_of_requests"): "incount",
           ("Testsome", "array_of_requests"): "incount", ("Comm_spawn_multiple", "array_of_info"): "count"}
# Indices of arrays of requests count from 1 in Fortran.
INDICES = {("Request_get_status_any", "indx"), ("Request_get_status_some", "array_of_indices")}
STRINGS = {"comm_name": "OBJECT_NAME", "type_name": "OBJECT_NAME", "win_name": "OBJECT_NAME", "name": "PROCESSOR_NAME",
           "port_name": "PORT_NAME", "string": "ERROR_STRING", "version": "LIBRARY_VERSION_STRING", "key": "INFO_KEY",
           "datarep": "DATAREP_STRING"}
CALLBACKS = {"MPI_Copy_function": "COPY_FUNCTION", "MPI_Delete_function": "DELETE_FUNCTION"}

# Written by hand (calls_*.c, completion.c), in all their forms.
BY_HAND = {
    "Init", "Init_thread", "Session_init", "Info_create_env", "Pcontrol", "Info_get", "Info_get_string", "Session_get_nth_pset",
    "Comm_spawn", "Comm_spawn_multiple", "Buffer_detach", "Comm_detach_buffer", "Session_detach_buffer",
    "Op_create", "Op_create_c", "Comm_create_errhandler", "Win_create_errhandler", "File_create_errhandler",
    "Session_create_errhandler", "Grequest_start", "Register_datarep", "Register_datarep_c",
    "Comm_create_keyval", "Type_create_keyval", "Win_create_keyval", "Keyval_create",
    "Comm_set_attr", "Type_set_attr", "Win_set_attr", "Attr_put", "Comm_get_attr", "Type_get_attr", "Win_get_attr", "Attr_get",
    "Wait", "Waitall", "Waitany", "Waitsome", "Test", "Testall", "Testany", "Testsome", "Request_free", "Start", "Startall"}
# Of these the mpi_f08 form differs from that of mpi and mpif.h, and both are written by hand.
TWO_FORMS = {"Buffer_detach", "Comm_detach_buffer", "Session_detach_buffer"}
# Op_create_c and Register_datarep_c keep their names, as only their functions' interfaces differ.
OWN_LARGE_NAMES = {"Op_create_c", "Register_datarep_c"}

# What becomes of a buffer that mpi_f08 hands over as an array that does not lie in one piece (see choice.h).
ADDRESS_ONLY = {"Get_address", "Free_mem", "Win_detach", "Fetch_and_op", "Compare_and_swap", "File_read_all_end",
                "File_write_all_end", "File_read_at_all_end", "File_write_at_all_end", "File_read_ordered_end",
                "File_write_ordered_end"}
WHOLE_ONLY = {"Win_create", "Win_attach", "Buffer_attach", "Comm_attach_buffer", "Session_attach_buffer", "Psend_init", "Precv_init"}
TYPED = {"Send", "Ssend", "Bsend", "Rsend", "Isend", "Issend", "Ibsend", "Irsend", "Recv", "Irecv", "Sendrecv", "Isendrecv", "Mrecv",
         "Imrecv", "Send_init", "Ssend_init", "Bsend_init", "Rsend_init", "Recv_init", "Put", "Get", "Accumulate", "Get_accumulate",
         "Rput", "Rget", "Raccumulate", "Rget_accumulate", "Put_notify", "Get_notify", "Bcast", "Ibcast", "Bcast_init"}

# Nothing may be copied for these: the buffer is in use when the call has returned, and no request says until when.
STAYS_IN_USE = {"Put", "Get", "Accumulate", "Get_accumulate", "Put_notify", "Get_notify"}


def treatment(base):
    """How choice.h treats buffers of a function: CHOICE_ADDRESS, _WHOLE, _TYPED, _TYPED_ONLY or _COPY."""
    if base in ADDRESS_ONLY:
        return "CHOICE_ADDRESS"
    if base in WHOLE_ONLY:
        return "CHOICE_WHOLE"
    if base in STAYS_IN_USE or base.endswith("_begin"):
        return "CHOICE_TYPED_ONLY"
    if base in TYPED or base.startswith("File_"):
        return "CHOICE_TYPED"
    return "CHOICE_COPY"


def keeps_arguments(base):
    """Whether buffers and arrays are in use when the call has returned."""
    return (base in STAYS_IN_USE or base.endswith(("_init", "_begin", "_end")) or base in WHOLE_ONLY
            or base in {"Rput", "Rget", "Raccumulate", "Rget_accumulate", "Fetch_and_op", "Compare_and_swap"}
            or base.startswith(("Isend", "Issend", "Ibsend", "Irsend", "Irecv", "Imrecv", "File_i"))
            or base[0] == "I" and base[1:].split("_")[0] in {
                "bcast", "gather", "gatherv", "scatter", "scatterv", "allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw",
                "reduce", "allreduce", "scan", "exscan", "neighbor"})


@dataclass
class Argument:
    """What a parameter is to Fortran.

    kind: integer, address, count, offset, logical, handle, string, status, choice, scalar (of any type), pointer (an address that
          comes out), attribute, state (a callback's), function, strings (spawn's), ranges, skipped
    way: in, out, inout or any (no intent: an address constant may stand there)
    """
    name: str
    ctype: str
    kind: str
    way: str = "in"
    is_array: bool = False
    handle: str = ""      # of handles: MPI_Comm ...
    length: str = ""      # of arrays of handles: the parameter that counts them
    is_index: bool = False
    procedure: str = ""   # of functions: their interface


def argument(function, parameter):
    base, name, ctype = function.base, parameter.name, parameter.ctype
    constant = ctype.startswith("const ")
    plain = ctype.removeprefix("const ")
    is_array = "[]" in plain
    element = plain.replace("[]", "").replace("[3]", "").strip()
    pointer = element.endswith("*")
    element = element.rstrip("* ")
    new = Argument(name, ctype, "", "in", is_array)

    if base in {"Init", "Init_thread", "Info_create_env"} and name in {"argc", "argv"}:
        new.kind = "skipped"
    elif element.endswith("_function") or element.endswith("_function_c"):
        new.kind, new.procedure = "function", CALLBACKS.get(element, element)
    elif element == "char" and (plain.count("*") + plain.count("[]")) > 1:
        new.kind, new.is_array = "strings", True
    elif element == "char":
        new.kind, new.way, new.is_array = "string", "in" if constant else "out", False
    elif element == "void" and name in {"baseptr", "buffer_addr"}:
        new.kind, new.way = "pointer", "out"
    elif element == "void" and name == "attribute_val":
        new.kind, new.way = "attribute", "out" if base.endswith(("get_attr", "Attr_get")) else "in"
    elif element == "void" and name == "extra_state":
        new.kind = "state"
    elif element == "void" and name in SCALARS:
        new.kind, new.way = "scalar", "any"
    elif element == "void":
        new.kind, new.way = "choice", "in" if constant else "any"
    elif element == "MPI_Status":
        new.kind, new.way = "status", "in" if constant else "inout" if base.startswith("Status_set") else "any"
    elif element in HANDLES:
        new.kind, new.handle = "handle", element
        if is_array:
            new.way = "in" if constant else "out" if name == "array_of_datatypes" else "inout"
            new.length = LENGTHS.get((base, name), "count")
        elif pointer:
            new.way = "inout" if base in GOES_IN_TOO and (base, name) not in NOT_IN else "out"
    else:
        new.kind = "ranges" if name == "ranges" else "logical" if name in LOGICALS else INTEGERS[element]
        if is_array:
            new.way = "in" if constant else "inout" if (base, name) in INOUT_ARRAYS else "out"
            if name in WEIGHTS or name == "array_of_errcodes":
                new.way = new.way if constant else "any"
            new.way = "in" if name == "ranges" else new.way
        elif pointer:
            new.way = "inout" if name in INOUT or (base, name) in INOUT or name in {"buflen", "pset_len"} else "out"
        new.is_index = (base, name) in INDICES or name == "indx" or name == "array_of_indices"
    return new


def arguments(function):
    return [each for each in (argument(function, one) for one in function.parameters if one.ctype != "...") if each.kind != "skipped"]
