"""mpi_header.py: what mpi.h declares, as lists of functions and of constants.

Used by the generator alone. The header's layout is relied upon: a prototype begins at the start of a line and ends with ");",
a constant is one #define.
"""

import re
from dataclasses import dataclass, field


@dataclass
class Parameter:
    """`ctype` without the name, with [] for arrays: "const int []", "MPI_Comm *", "int [][3]"."""
    ctype: str
    name: str


@dataclass
class Function:
    """`name` without MPI_, or without MPIX_: "Comm_rank"."""
    result: str
    name: str
    parameters: list = field(default_factory=list)
    is_extension: bool = False

    @property
    def is_large(self):
        return self.name.endswith("_c")

    @property
    def base(self):
        return self.name[:-2] if self.is_large else self.name


# Arrays for which a constant may stand, which mpi.h therefore declares as pointers.
WEIGHTS = {"weights", "sourceweights", "destweights"}


def _parameter(text):
    if text == "...":
        return Parameter("...", "")
    kind, name, dimensions = re.fullmatch(r"(.*?)(\w+)\s*((?:\[\d*\])*)", text).groups()
    kind = kind.strip()
    if name in WEIGHTS and not dimensions:
        kind, dimensions = kind.removesuffix("*").strip(), "[]"
    return Parameter(f"{kind} {dimensions}" if dimensions else kind, name)


def functions(text, prefix="MPI_"):
    """All functions of the header `text` whose names begin with `prefix`, in its order."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    found = []
    for result, name, rest in re.findall(rf"^(\w+ \**){prefix}(\w+)\(([^;]*)\);", text, re.MULTILINE):
        rest = " ".join(rest.split())
        parameters = [] if rest == "void" else [_parameter(each.strip()) for each in rest.split(",")]
        found.append(Function(result.strip(), name, parameters, prefix == "MPIX_"))
    return found


def constants(text):
    """(name, C type or None for plain integers, value) of every constant with a value; another constant's name is resolved."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    found = {}
    for name, value in re.findall(r"^#define (MPI_\w+)\s+(\S.*?)\s*$", text, re.MULTILINE):
        if value in found:
            found[name] = found[value]
        elif cast := re.fullmatch(r"\(\((\w+(?: \*+)?)\)(\S+)\)", value):
            found[name] = (cast[1], int(cast[2], 0))
        elif re.fullmatch(r"\(?-?\w+\)?", value):
            try:
                found[name] = (None, int(value.strip("()"), 0))
            except ValueError:
                continue
    return [(name, *what) for name, what in found.items()]
