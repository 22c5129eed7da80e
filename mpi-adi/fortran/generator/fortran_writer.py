"""fortran_writer.py: writes mpif.h, the module mpi and the module mpi_f08.

The modules hold interfaces only; what they describe is the C of wrappers.c. Procedures with choice buffers have BIND(C) in
mpi_f08, which makes compilers hand over descriptors as the Fortran standard lays them out (ISO_Fortran_binding.h); all others
go by the compiler's own rules, as in Fortran 77. Source: MPI-5.0, 19.1.
"""

import constants as c
import interfaces
from table import HANDLES, OWN_LARGE_NAMES, TWO_FORMS, arguments, has_binding, keeps_arguments

KINDS = {"integer": "integer", "address": "integer(MPI_ADDRESS_KIND)", "count": "integer(MPI_COUNT_KIND)",
         "offset": "integer(MPI_OFFSET_KIND)", "logical": "logical", "ranges": "integer", "string": "character(len=*)",
         "strings": "character(len=*)", "attribute": "integer(MPI_ADDRESS_KIND)", "state": "integer(MPI_ADDRESS_KIND)"}
RESULTS = {"double": "double precision", "MPI_Aint": "integer(MPI_ADDRESS_KIND)"}
NO_ERROR = {"Pcontrol"}
OLD = {"Attr_put", "Attr_get", "Attr_delete", "Keyval_create", "Keyval_free"}  # of mpif.h and mpi only; attributes are default integers
# Compilers' ways to let an argument be of any type and rank.
ANYTHING = ["!GCC$ ATTRIBUTES NO_ARG_CHECK :: {0}", "!DEC$ ATTRIBUTES NO_ARG_CHECK :: {0}", "!DIR$ IGNORE_TKR {0}",
            "!$PRAGMA IGNORE_TKR {0}", "!IBM* IGNORE_TKR {0}"]


def bound(functions, large):
    return [each for each in functions if has_binding(each.name) and (large or not each.is_large)]


def _full(prefix, function):
    return (prefix.replace("MPI_", "MPIX_") if function.is_extension else prefix) + function.name


def _folded(line):
    """One statement, on lines of at most 100 columns."""
    lines, words = [], line.split(" ")
    while words:
        text = words.pop(0)
        while words and len(text) + len(words[0]) < 98:
            text += " " + words.pop(0)
        lines.append(text + (" &" if words else ""))
    return lines


def _shape(one, f08):
    if one.kind == "status" and not f08:
        return "(MPI_STATUS_SIZE,*)" if one.name.startswith("array") else "(MPI_STATUS_SIZE)"
    if one.kind == "ranges":
        return "(3,*)"
    if one.name == "array_of_argv":
        return "(count,*)"
    return "(*)" if one.is_array else ""


def _argument(one, function, f08, pointer):
    """The declaration of a dummy argument; `pointer`: addresses that come out are TYPE(C_PTR)."""
    intent = "" if one.way == "any" else f", intent({one.way})"
    held = ", asynchronous" if f08 and keeps_arguments(function.base) and (one.kind == "choice" or one.is_array) else ""
    if one.kind == "choice":
        if f08:
            return [f"type(*), dimension(..){intent}{held} :: {one.name}"]
        return [each.format(one.name) for each in ANYTHING] + [f"type(*), dimension(*){intent} :: {one.name}"]
    if one.kind == "scalar":
        return [f"type(*) :: {one.name}"]
    if one.kind == "function":
        return [f"procedure({one.procedure}) :: {one.name}"] if f08 else [f"external :: {one.name}"]
    if one.kind == "pointer":
        if not f08 and function.base in TWO_FORMS:
            return [each.format(one.name) for each in ANYTHING] + [f"type(*), dimension(*) :: {one.name}"]
        return [f"{'type(c_ptr)' if f08 or pointer else KINDS['address']}, intent(out) :: {one.name}"]
    kind = KINDS.get(one.kind, "integer")
    if one.kind in {"attribute", "state"} and function.base in OLD:
        kind = "integer"
    if f08 and one.kind in {"handle", "status"}:
        kind = f"type({one.handle or 'MPI_Status'})"
    if not f08:
        intent = intent if one.way == "in" else ""
    return [f"{kind}{intent}{held} :: {one.name}{_shape(one, f08)}"]


def _procedure(function, name, f08, binding="", pointer=False):
    given = arguments(function)
    has_result = function.result != "int"
    names = [one.name for one in given] + ([] if has_result or function.base in NO_ERROR else ["ierror"])
    lines = _folded(f"{'function' if has_result else 'subroutine'} {name}({', '.join(names)}){binding}") + ["import"]
    for one in given:
        lines += _argument(one, function, f08, pointer)
    if has_result:
        lines.append(f"{RESULTS[function.result]} :: {name}")
    elif names[-1:] == ["ierror"]:
        lines.append(f"integer{', optional' if f08 else ''}, intent(out) :: ierror")
    return lines + [f"end {'function' if has_result else 'subroutine'}"]


def _characteristic(function):
    """What generic names are told apart by."""
    kinds = {"integer": 4, "logical": "l", "address": 8, "count": 8, "offset": 8}
    return [(kinds.get(one.kind, one.kind), one.is_array, one.handle) for one in arguments(function)]


def _specific(function, prefix):
    described = any(one.kind == "choice" for one in arguments(function))
    name = f"{_full(prefix, function)}_f08{'ts' if described else ''}"
    return name, f' bind(C, name="{name.lower()}_")' if described else ""


def _constants(constants, f08):
    lines = [f"integer, parameter :: {name} = {value}" for name, value in c.KINDS + c.STATUS + c.integers(constants)]
    for name, handle, value in c.handles(constants):
        lines.append(f"type({handle}), parameter :: {name} = {handle}({value})" if f08 else f"integer, parameter :: {name} = {value}")
    lines += [f"logical, parameter :: MPI_SUBARRAYS_SUPPORTED = {'.true.' if f08 else '.false.'}",
              f"logical, parameter :: MPI_ASYNC_PROTECTS_NONBLOCKING = {'.true.' if f08 else '.false.'}",
              "integer(MPI_OFFSET_KIND), parameter :: MPI_DISPLACEMENT_CURRENT = -1_MPI_OFFSET_KIND"]
    status = {"MPI_STATUS_IGNORE": "" if f08 else "(MPI_STATUS_SIZE)", "MPI_STATUSES_IGNORE": "(1)" if f08 else "(MPI_STATUS_SIZE,1)"}
    for name in c.ADDRESSES:
        if name in status:
            lines.append(f"{'type(MPI_Status)' if f08 else 'integer'} :: {name}{status[name]}")
        else:
            lines.append(f"{'character(len=1)' if 'ARGV' in name else 'integer'} :: {name}{c.SHAPES.get(name, '')}")
    return lines + [f"common /{c.BLOCK}/ {name}" for name in c.ADDRESSES]


def _sizeof(f08):
    lines = []
    for prefix in ("", "P"):
        name = f"{prefix}MPI_Sizeof"
        lines += [f"interface {name}", f'subroutine {name}_f08ts(x, size, ierror) bind(C, name="{name.lower()}_f08ts_")',
                  "type(*), dimension(..), intent(in) :: x", "integer, intent(out) :: size",
                  f"integer{', optional' if f08 else ''}, intent(out) :: ierror", "end subroutine", "end interface"]
    return lines


def _own(f08):
    """Functions that only Fortran has."""
    lines = []
    for prefix in ("", "P"):
        suffix = "_f08" if f08 else ""
        anything = ["type(*), dimension(..), asynchronous :: buf"] if f08 else (
            [each.format("buf") for each in ANYTHING] + ["type(*), dimension(*) :: buf"])
        sync = f"{prefix}MPI_F_sync_reg"
        bind = f' bind(C, name="{sync.lower()}_f08ts_")' if f08 else ""
        lines += [f"interface {sync}", f"subroutine {sync}{'_f08ts' if f08 else ''}(buf){bind}"] + anything + ["end subroutine", "end interface"]
        for name, old, new in (("f2f08", "intent(in)", "intent(out)"), ("f082f", "intent(out)", "intent(in)")):
            full = f"{prefix}MPI_Status_{name}"
            order = "f_status, f08_status" if name == "f2f08" else "f08_status, f_status"
            lines += [f"interface {full}", f"subroutine {full}{suffix}({order}, ierror)", "import",
                      f"integer, {old} :: f_status(MPI_STATUS_SIZE)", f"type(MPI_Status), {new} :: f08_status",
                      f"integer{', optional' if f08 else ''}, intent(out) :: ierror", "end subroutine", "end interface"]
    return lines


TYPES = """module mpi_f08_types
  implicit none
  public
  type, bind(C) :: MPI_Status
     integer :: MPI_SOURCE, MPI_TAG, MPI_ERROR
     integer :: MPI_internal(5)
  end type
"""


def _types():
    lines = [TYPES]
    for handle in HANDLES:
        lines += [f"type, bind(C) :: {handle}", "integer :: MPI_VAL", "end type"]
    for operator, word, sign in (("==", "same", "=="), ("/=", "other", "/=")):
        lines.append(f"interface operator({operator})")
        lines += [f"module procedure {word}_{short}" for short in HANDLES.values()] + ["end interface"]
        lines.append(f"private :: {', '.join(f'{word}_{short}' for short in HANDLES.values())}".replace(", same_op", ", &\n same_op")
                     .replace(", other_op", ", &\n other_op"))
    lines.append("contains")
    for handle, short in HANDLES.items():
        for word, sign in (("same", "=="), ("other", "/=")):
            lines += [f"elemental logical function {word}_{short}(a, b)", f"type({handle}), intent(in) :: a, b",
                      f"{word}_{short} = a%MPI_VAL {sign} b%MPI_VAL", "end function"]
    return lines + ["end module", ""]


def mpi(functions, constants):
    lines = ["! Generated: the module mpi, and the types of mpi_f08."] + _types()
    lines += ["module mpi", "use, intrinsic :: iso_c_binding, only : c_ptr", "use mpi_f08_types", "implicit none", "public", "private :: c_ptr"]
    lines += _constants(constants, False)
    lines += [f"external :: {name}" for name in [name for name, _ in c.PREDEFINED if not name.endswith("_C")] + c.OLD_PREDEFINED]
    for prefix in ("MPI_", "PMPI_"):
        for function in bound(functions, False):
            name = _full(prefix, function)
            has_pointer = any(one.name == "baseptr" for one in arguments(function))
            lines += [f"interface {name}" if has_pointer else "interface"] + _procedure(function, name, False)
            if has_pointer:
                lines += _procedure(function, name + "_cptr", False, pointer=True)
            lines.append("end interface")
    return "\n".join(lines + _sizeof(False) + _own(False) + ["end module", ""])


def mpi_f08(functions, constants):
    lines = ["! Generated: the module mpi_f08.", "module mpi_f08", "use, intrinsic :: iso_c_binding, only : c_ptr", "use mpi_f08_types",
             "implicit none", "public", "private :: c_ptr"]
    lines += _constants(constants, True) + interfaces.text()
    for name, procedure in c.PREDEFINED:
        lines.append(f"procedure({procedure}) :: {name}")
    large = {each.base: each for each in functions if each.is_large and each.name not in OWN_LARGE_NAMES}
    for prefix in ("MPI_", "PMPI_"):
        for function in bound(functions, True):
            if function.base in OLD or function.is_large and function.name not in OWN_LARGE_NAMES:
                continue
            forms = [function]
            if function.name in large and _characteristic(large[function.name]) != _characteristic(function):
                forms.append(large[function.name])
            lines.append(f"interface {_full(prefix, function)}")
            for each in forms:
                name, binding = _specific(each, prefix)
                lines += _procedure(each, name, True, binding)
            lines.append("end interface")
    return "\n".join(lines + _sizeof(True) + _own(True) + ["end module", ""])


def mpif(functions, constants):
    """Valid in fixed and in free form: at most 72 columns, no continued lines, comments by "!"."""
    lines = ["! Generated: the constants of MPI for Fortran 77, in fixed or free form."]
    for name, value in c.KINDS + c.STATUS + c.integers(constants) + [(name, value) for name, _, value in c.handles(constants)]:
        lines += [f"integer {name}", f"parameter ({name}={value})"]
    lines += [f"logical {name}\n      parameter ({name}=.false.)" for name in ("MPI_SUBARRAYS_SUPPORTED", "MPI_ASYNC_PROTECTS_NONBLOCKING")]
    lines += ["integer(MPI_OFFSET_KIND) MPI_DISPLACEMENT_CURRENT", "parameter (MPI_DISPLACEMENT_CURRENT=-1)"]
    shapes = dict(c.SHAPES, MPI_STATUS_IGNORE="(MPI_STATUS_SIZE)", MPI_STATUSES_IGNORE="(MPI_STATUS_SIZE,1)")
    for name in c.ADDRESSES:
        lines += [f"{'character' if 'ARGV' in name else 'integer'} {name}{shapes.get(name, '')}", f"common /{c.BLOCK}/ {name}"]
    lines += [f"external {name}" for name in [name for name, _ in c.PREDEFINED if not name.endswith("_C")] + c.OLD_PREDEFINED]
    for prefix in ("MPI_", "PMPI_"):
        for function in bound(functions, False):
            if function.result != "int":
                name = (prefix + function.name).upper()
                lines += [f"{RESULTS[function.result]} {name}", f"external {name}"]
    return "\n".join([lines[0]] + [f"      {line}" for line in lines[1:]]) + "\n"
