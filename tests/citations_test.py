#!/usr/bin/env python3
"""Checks that comments and pages cite only what a reader can look up: files of the repository, papers, specifications.

  citations_test.py ROOT

A file that is named must be there (its name may be given without folders). "Source:" names a specification with its section, a paper, a
manual page, or a file of the repository.
"""

import pathlib
import re
import subprocess
import sys

TEXTS = {".h", ".hpp", ".c", ".cpp", ".py", ".build", ".md", ".sh", ""}
COMMENT = re.compile(r"(?:^[ \t]*//[^\n]*\n)+|//[^\n]*|/\*.*?\*/|(?:^[ \t]*#[^\n]*\n)+", re.DOTALL | re.MULTILINE)
FILE = re.compile(r"(?<![\w.%<*/-])([\w-]+(?:/[\w-]+)*\.(?:hpp|cpp|md))\b")
OTHERS = {"prog.cpp"}  # names that stand for a user's file
SOURCE = re.compile(r"\bSource:\**\s*([^\n]+(?:\n[ \t]*(?://|\*|#)[ \t]+[^\n]+)*)")
KNOWN = re.compile(
    r"Giloi and Schroeder-Preikschat|Lin,|Huang|PMI-1|Portals|MPI|OpenSHMEM|PMIx|libfabric|fi_\w+\(3\)|\w+\([2378]\)|IEEE|ISO|RFC|POSIX|ESPGOAL|NBCBench|GOAL|LogGOPSim|LogGP|VODCA|CCC|PEACE|Cray"
    r"|Portunus|[A-Z][\w-]+(?: (?:and|,|et al\.?)|,)? .*\b(?:19|20)\d\d\b|bench|\.[ch]pp|\.h\b|C\+\+|C99|Linux|x86|Knuth|hwloc|Hydra|HDF5|Intel|OSU|ROMIO")
PRIVATE = re.compile(r"compile plan|architecture of (?:this|the)|design (?:note|document)|\bthe design's\b|\bthis task\b|\bissue \d+\b|/work/|the brief\b", re.IGNORECASE)


def comments(path, text):
    if path.suffix == ".md":
        yield text
    else:
        yield from COMMENT.findall(text)


def problems_of(root, files):
    names = {path.name for path in files} | {path.as_posix() for path in files}
    for path in files:
        if path.suffix not in TEXTS or path.name == "citations_test.py" or "corpus" in path.parts:
            continue
        try:
            text = (root / path).read_text(encoding="utf-8")
        except (UnicodeDecodeError, FileNotFoundError):
            continue
        for comment in comments(path, text):
            for name in FILE.findall(comment):
                known = name in names or any(whole.endswith("/" + name) for whole in names)
                if not known and name not in OTHERS:
                    yield f"{path}: a comment names {name}, which is not in the repository"
            for words in PRIVATE.findall(comment):
                yield f"{path}: a comment cites \"{words}\", which no reader can look up"
            if path.suffix != ".md":
                for source in SOURCE.findall(comment):
                    if not KNOWN.search(source):
                        yield f"{path}: \"Source: {source.strip()[:80]}\" names no specification, paper or file"


def main(arguments):
    root = pathlib.Path(arguments[0])
    listed = subprocess.run(["git", "-C", root, "ls-files"], capture_output=True, text=True, check=False).stdout.split("\n")
    files = [pathlib.PurePosixPath(line) for line in listed if line] or [
        path.relative_to(root) for path in root.rglob("*") if path.is_file() and ".build" not in path.parts]
    problems = sorted(set(problems_of(root, [pathlib.PurePosixPath(path) for path in files])))
    print("\n".join(problems) or f"{len(files)} files, all that they cite can be looked up")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
