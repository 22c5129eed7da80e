#!/usr/bin/env python3
"""Compares what installed libraries offer with what interfaces.txt and the lists that it names promise: names, kinds, sizes of variables.

  interfaces.py FOLDER-OF-LIBRARIES

A name that is gone, a variable of another size and another soname break programs that are linked already: they need a new soname. A new
name belongs into the list. Names that begin with two underscores are the Fortran compiler's, and not compared.
"""

import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent


def promised():
    """For each soname the list of its names, and its variables with their sizes."""
    libraries = {}
    for line in (HERE / "interfaces.txt").read_text(encoding="ascii").splitlines():
        words = line.split()
        if line.startswith("  "):
            libraries[soname][1][words[0]] = int(words[1])
        elif not line.startswith("#"):
            soname = words[0]
            libraries[soname] = words[1], {}
    return libraries


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def exported(library):
    """The names, with the size in bytes where it is a variable, else None."""
    names = {}
    for line in output("nm", "-D", "--defined-only", "--print-size", library).splitlines():
        words = line.split()
        kind, name = words[-2], words[-1].split("@")[0]
        if not name.startswith("__") and kind != "A":  # A: the name of a version
            names[name] = None if kind in "TWi" else int(words[1], 16)
    return names


def differences(folder):
    libraries = promised()
    found = {path.resolve() for path in folder.glob("lib*.so*")}
    sonames = {}
    for path in sorted(found):
        soname = re.search(r"Library soname: \[(.*)\]", output("readelf", "-d", path))
        if not soname or soname[1] not in libraries:
            yield f"{path.name} is installed, but interfaces.txt has no line for its soname, {soname[1] if soname else 'none'}"
        else:
            sonames[soname[1]] = path
    for soname, (names, variables) in libraries.items():
        if soname not in sonames:
            if soname != "libmpi_fortran.so.1":  # built where there is a Fortran compiler
                yield f"there is no library with the soname {soname}, which programs were linked with"
            continue
        there = exported(sonames[soname])
        if names != "-":
            listed = (ROOT / names).read_text(encoding="ascii").split()
            yield from (f"{soname}: {name} is gone, which {names} lists" for name in listed if name not in there)
            yield from (f"{soname}: {name} is exported, but {names} does not list it" for name in there if name not in listed)
        for name, size in there.items():
            if size != variables.get(name):
                yield f"{soname}: {name} has {size} bytes as a variable, and interfaces.txt says {variables.get(name)} (None: a function)"


def main(arguments):
    problems = list(differences(pathlib.Path(arguments[0])))
    print("\n".join(problems) or "as listed")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
