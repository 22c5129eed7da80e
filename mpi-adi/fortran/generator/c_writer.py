"""c_writer.py: writes the C of the bindings: for each function what mpif.h and `use mpi` call (mpi_send_) and what mpi_f08 calls.

The mpi_f08 form of a function without choice buffers is the same code under another name: a handle of mpi_f08 is a structure of
one integer, and an absent ierror a null pointer. With choice buffers it is code of its own, which takes descriptors. Each file
is compiled twice, see names.h.
"""

from table import BY_HAND, HANDLES, STRINGS, arguments, has_binding, keeps_arguments, treatment

POINTERS = {"integer": "MPI_Fint", "logical": "MPI_Fint", "handle": "MPI_Fint", "status": "MPI_Fint", "ranges": "MPI_Fint",
            "address": "MPI_Aint", "count": "MPI_Count", "offset": "MPI_Offset", "choice": "void", "scalar": "void", "pointer": "void",
            "string": "char"}
# Which count and datatype say what lies in a buffer.
PARTNERS = {"buf": ("count", "datatype"), "buffer": ("count", "datatype"), "sendbuf": ("sendcount", "sendtype"),
            "recvbuf": ("recvcount", "recvtype"), "origin_addr": ("origin_count", "origin_datatype"),
            "result_addr": ("result_count", "result_datatype")}


class Body:
    """The parts of a function's code, in the order in which they stand."""

    def __init__(self):
        self.declarations, self.before, self.call, self.success, self.after = [], [], [], [], []


def _handle(body, one, function):
    short, ctype = HANDLES[one.handle], one.handle
    if one.is_array:
        if function.base.endswith(("lltoallw", "lltoallw_init")):
            return _alltoallw_types(body, one, function)
        count = f"*{one.length}"
        body.declarations.append(f"struct handles {one.name}_h;")
        body.before.append(f"{ctype} *{one.name}_c = {short}s_in(&{one.name}_h, {one.name}, {count});" if one.way == "in" else
                           f"{ctype} *{one.name}_c = {short}s_room(&{one.name}_h, {count});")
        if one.way == "out":
            body.success.append(f"{short}s_out(&{one.name}_h, {one.name}, {count});")
        body.after.append(f"handles_end(&{one.name}_h);")
        return f"{one.name}_c"
    if one.way == "in":
        return f"{one.name}_c" if any(one.name == kind for _, kind in PARTNERS.values()) else f"to_{short}(*{one.name})"
    if one.way == "out":
        body.declarations.append(f"{ctype} {one.name}_c = ({ctype})0;")
        if one.handle == "MPI_Request":
            body.success.insert(0, f"if (is_anything_kept()) kept_new({one.name}_c);")
        body.success.append(f"*{one.name} = from_{short}({one.name}_c);")
    else:
        body.before.append(f"{ctype} {one.name}_c = to_{short}(*{one.name}), {one.name}_was = {one.name}_c;")
        body.after.append(f"if ({one.name}_c != {one.name}_was) *{one.name} = from_{short}({one.name}_c);")
    return f"&{one.name}_c"


def _alltoallw_types(body, one, function):
    neighbours = "true" if "eighbor" in function.base else "false"
    side = "send" if one.name == "sendtypes" else "receive"
    body.declarations.append(f"struct handles {one.name}_h;")
    absent = "sendbuf_c == MPI_IN_PLACE ? 0 : " if side == "send" else ""
    room = "types_lasting" if keeps_arguments(function.base) else "types_in"
    body.before.append(f"MPI_Datatype *{one.name}_c = {room}(&{one.name}_h, {one.name}, "
                       f"{absent}{side}_peers(to_comm(*comm), {neighbours}));")
    if keeps_arguments(function.base):
        body.success.append(f"handles_keep(&{one.name}_h, request_c);")
    body.after.append(f"handles_end(&{one.name}_h);")
    return f"{one.name}_c"


def _string(body, one, described):
    given = f"(char *){one.name}->base_addr, {one.name}->elem_len" if described else f"{one.name}, {one.name}_length"
    if one.way == "in":
        body.declarations.append(f"struct text {one.name}_t;")
        both = one.name in {"key", "value"}
        body.before.append(f"const char *{one.name}_c = text_in(&{one.name}_t, {given}, {'true' if both else 'false'});")
        body.after.append(f"text_end(&{one.name}_t);")
    else:
        body.declarations.append(f"char {one.name}_c[MPI_MAX_{STRINGS[one.name]} + 1] = \"\";")
        body.success.append(f"text_out({one.name}_c, {given});")
    return f"{one.name}_c"


def _choice(body, one, function, described, names):
    if not described:
        body.before.insert(0, f"void *{one.name}_c = address_in({one.name});")
        return f"{one.name}_c"
    how = treatment(function.base)
    if how == "CHOICE_ADDRESS":
        return f"address_in({one.name}->base_addr)"
    body.declarations.append(f"struct choice {one.name}_x;")
    written = "false" if one.way == "in" else "true"
    count, kind = PARTNERS.get(one.name, ("", ""))
    if how.startswith("CHOICE_TYPED") and count in names:
        ctype = "MPI_Count" if function.is_large else "int"
        body.before.append(f"MPI_Count {count}_n = *{count};")
        body.before.append(f"void *{one.name}_c = choice_typed(&{one.name}_x, {one.name}, {how}, {written}, &{count}_n, &{kind}_c, &rc);")
        body.before.append(f"{ctype} {count}_c = ({ctype}){count}_n;")
    else:
        body.before.insert(0, f"void *{one.name}_c = choice_in(&{one.name}_x, {one.name}, {how}, {written}, &rc);")
    if "request" in names and how in {"CHOICE_TYPED", "CHOICE_COPY"}:
        body.success.append(f"choice_keep(&{one.name}_x, request_c);")
    body.after.append(f"choice_end(&{one.name}_x);")
    return f"{one.name}_c"


def _value(body, one, function, described, names, replaced):
    """What the C function is given for `one`."""
    if one.kind == "handle":
        return _handle(body, one, function)
    if one.kind == "string":
        return _string(body, one, described)
    if one.kind == "choice":
        return _choice(body, one, function, described, names)
    if one.kind == "status":
        return f"(MPI_Status *)address_in({one.name})" if one.way != "in" else f"(const MPI_Status *){one.name}"
    if one.kind in {"pointer", "scalar"}:
        return one.name
    if one.kind == "ranges":
        return f"(int (*)[3]){one.name}"
    if one.is_array or one.way != "in":
        if one.is_index:
            body.success.append(f"indices_from_one({one.name}, *outcount);" if one.is_array else f"indices_from_one({one.name}, 1);")
        return f"address_in((void *){one.name})" if one.name in {"weights", "sourceweights", "destweights", "array_of_errcodes"} else one.name
    return f"{one.name}_c" if one.name in replaced else f"*{one.name}"


def _parameters(given, described, with_error):
    words, lengths = [], []
    for one in given:
        if described and one.kind in {"choice", "string"}:
            words.append(f"CFI_cdesc_t *{one.name}")
            continue
        words.append(f"{POINTERS[one.kind]} *{one.name}")
        if one.kind == "string":
            lengths.append(f"size_t {one.name}_length")
    return ", ".join(words + (["MPI_Fint *ierror"] if with_error else []) + lengths) or "void"


def _one(function, described):
    given = arguments(function)
    x = "X" if function.is_extension else ""
    name = function.name.lower() + ("_f08ts_" if described else "_f08_" if function.is_large else "_")
    if function.result != "int":
        values = ", ".join(f"*{one.name}" for one in given)
        return [f"{function.result} F{x}({name})({_parameters(given, False, False)}) {{", f"    return C{x}({function.name})({values});", "}"]
    body, names = Body(), {one.name for one in given}
    typed = described and treatment(function.base).startswith("CHOICE_TYPED")
    replaced = {PARTNERS[one.name][0] for one in given if one.name in PARTNERS and one.kind == "choice"} & names if typed else set()
    for one in given:
        if one.kind == "handle" and not one.is_array and one.way == "in" and any(one.name == kind for _, kind in PARTNERS.values()):
            body.before.append(f"MPI_Datatype {one.name}_c = to_type(*{one.name});")
    values = [_value(body, one, function, described, names, replaced) for one in given]
    lines = [f"void F{x}({name})({_parameters(given, described, True)}) {{"]
    lines += [f"    {each}" for each in ["int rc = MPI_SUCCESS;"] + body.declarations]
    # Datatypes are converted before what depends upon them, and buffers before the arrays that they make absent.
    lines += [f"    {each}" for each in sorted(body.before, key=lambda line: "= to_type(" not in line)]
    guard = "if (rc == MPI_SUCCESS) " if described and "_x" in " ".join(body.declarations) else ""
    # Another library of the ABI need not have the function.
    present = f"!C{x}({function.name}) ? MPI_ERR_UNSUPPORTED_OPERATION : " if x else ""
    lines.append(f"    {guard}rc = {present}C{x}({function.name})({', '.join(values)});")
    if body.success:
        lines += ["    if (rc == MPI_SUCCESS) {"] + [f"        {each}" for each in body.success] + ["    }"]
    lines += [f"    {each}" for each in body.after]
    lines += ["    if (ierror) *ierror = rc;", "}"]
    return lines


def wrappers(functions):
    """The text of the file that defines all wrappers that are not written by hand."""
    lines = ["/* Generated: the bindings for Fortran of all functions that need no code of their own. */",
             '#include "mpi-adi/fortran/runtime.h"', "", "#pragma GCC visibility push(default)", ""]
    for function in functions:
        if not has_binding(function.name) or not function.is_extension and {function.base, function.name} & BY_HAND:
            continue
        has_choice = any(one.kind == "choice" for one in arguments(function))
        if function.is_extension:
            lines += [f"#pragma weak MPIX_{function.name}", f"#pragma weak PMPIX_{function.name}"]
        if not (function.is_large and has_choice):
            lines += _one(function, False)
        small = function.name.lower()
        if not function.is_large:
            same = "SAMEX" if function.is_extension else "SAME"
            lines.append(f"{same}({small}__, {small}_)")
            if not has_choice:
                lines.append(f"{same}({small}_f08_, {small}_)")
        if has_choice:
            lines += _one(function, True)
        if any(one.name == "baseptr" for one in arguments(function)) and not function.is_large:
            lines.append(f"SAME({small}_cptr_, {small}_)")
        lines.append("")
    return "\n".join(lines)
