#!/usr/bin/env python3
"""Writes the manual page of a C header from its comments, or that of a shell script from the comment at its head.

  pages.py VERSION FILE PAGE      writes PAGE, whose name ends with its section
  pages.py --names HEADER...      prints "HEADER FUNCTION" for each function that the headers declare

The first comment is the description; its first sentence, behind "name:", says what the file is. A comment that begins a line is about
the declarations below it, up to an empty line or the next such comment; one with dashes is a heading.
"""

import pathlib
import re
import sys

COMMENT = re.compile(r"^/\*(?:(?!\*/).)*\*/[ \t]*$", re.DOTALL | re.MULTILINE)
FUNCTION = re.compile(r"^(?:static inline )?(?!typedef|return|static)[A-Za-z]\w*[\w \t]*[ *](\w+)\(", re.MULTILINE)
BODY = re.compile(r"^(static inline [^\n]*\)) \{\n.*?^\}", re.DOTALL | re.MULTILINE)
HEADING = re.compile(r"^-+ (?:\d+\. )?(.*?) -+$")


def escaped(line, code=False):
    line = line.replace("\\", r"\e")
    if code:
        line = line.replace("-", r"\-")
    return r"\&" + line if line[:1] in (".", "'") else line


def words_of(comment):
    """The lines of a comment without its marks."""
    lines = comment.strip().removeprefix("/*").removesuffix("*/").split("\n")
    return [lines[0].strip()] + [re.sub(r"^ ?\*? ?", "", line).rstrip() for line in lines[1:]]


def code(lines):
    return [".nf", *(escaped(line, code=True) for line in lines), ".fi"]


def prose(lines):
    """Paragraphs; what is set in by two or more is printed as it stands."""
    page, block = [], []

    def end_block():
        if block:
            page.extend([".PP", *code(block), ".PP"])
            block.clear()

    for line in lines:
        if line.startswith("  ") or (block and not line):
            block.append(line)
            continue
        while block and not block[-1]:
            block.pop()
        end_block()
        page.append(escaped(line) if line else ".PP")
    end_block()
    while page and page[-1] == ".PP":
        page.pop()
    return page


def head(name, section, version, description):
    """The title, the name with the first sentence, the rest of the description."""
    text = "\n".join(description)
    first = re.match(r"(.*?)(?:\.(?=\s|$)|\n\n)(.*)", text + "\n\n", re.DOTALL)
    what = re.sub(r"^[\w.+]+: ", "", " ".join(first[1].split()))
    rest = first[2].strip("\n").lstrip().split("\n")
    return [f'.TH "{name}" "{section}" "" "Portunus {version}"', ".SH NAME", f"{name} \\- {escaped(what)}"], prose(rest)


def groups(body):
    """(comment lines, code lines) in the order of the file; either may be empty."""
    place, comment = 0, []
    for found in [*COMMENT.finditer(body), None]:
        for block in re.split(r"\n\s*\n", body[place:found.start() if found else len(body)]):
            lines = [line for line in block.strip("\n").split("\n") if line.strip()]
            if lines or comment:
                yield comment, lines
            comment = []
        if found:
            comment, place = words_of(found.group()), found.end()


def header_page(text, name, version):
    description = COMMENT.search(text)
    body = text[text.index("#pragma GCC visibility push(default)\n"):text.rindex("#pragma GCC visibility pop")].split("\n", 1)[1]
    top, about = head(name, "3", version, words_of(description.group()))
    includes = [f"#include <{name}.h>"]
    page = top + [".SH SYNOPSIS", *code(includes), ".SH DESCRIPTION", *about]
    for comment, lines in groups(BODY.sub(r"\1;", body)):
        heading = HEADING.match(comment[0]) if len(comment) == 1 else None
        if heading:
            page.append(f'.SH "{heading[1].rstrip(".").upper()}"')
            comment = []
        page += [".PP", *code(lines)] if lines else []
        if comment:
            page += [".RS 4", *prose(comment), ".RE"] if lines else [".PP", *prose(comment)]
    return page


def script_page(text, name, version):
    comment = re.match(r"#!.*\n((?:#.*\n)+)", text)[1]
    lines = [line[1:].removeprefix(" ") for line in comment.rstrip("\n").split("\n")]
    top, about = head(name, "1", version, lines)
    return top + [".SH SYNOPSIS", f".B {name}", r"[\fIoption\fR | \fIfile\fR] ...", ".SH DESCRIPTION", *about]


def main(arguments):
    if arguments[0] == "--names":
        for header in map(pathlib.Path, arguments[1:]):
            text = BODY.sub(r"\1;", header.read_text(encoding="utf-8"))
            text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
            for name in sorted(set(FUNCTION.findall(text))):
                print(header.stem, name)
        return
    version, source, page = arguments[0], pathlib.Path(arguments[1]), pathlib.Path(arguments[2])
    text = source.read_text(encoding="utf-8")
    write = script_page if text.startswith("#!") else header_page
    page.write_text("\n".join(write(text, page.stem, version)) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
