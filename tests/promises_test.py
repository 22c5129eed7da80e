#!/usr/bin/env python3
"""Checks promises.md: every sentence of the sections that promise something has a row, and every test that a row names exists.

  promises_test.py ROOT BUILD
"""

import json
import pathlib
import re
import subprocess
import sys

SECTIONS = (("README.md", "## Failure and trust", "## "), (".github/SECURITY.md", "## Who can do what", "## "))
CASE = re.compile(r"\bTEST(?:_F|_P)?\((\w+), (\w+)\)|\bdef (test_\w+)\(")


def sentences(text, begin, end):
    text = text[text.index(begin) + len(begin):]
    for paragraph in text[:text.index(end)].split("\n\n"):
        if not paragraph.strip().startswith("|"):
            yield from filter(None, re.split(r"(?<=[.])\s+(?=[A-Z`])", re.sub(r"(\*\*) ", r"\1 ", " ".join(paragraph.split()))))


def joined(found):
    """A heading in bold belongs to the sentence behind it."""
    pending = ""
    for sentence in found:
        if re.fullmatch(r"\*\*[^*]+\*\*", sentence):
            pending = sentence + " "
            continue
        yield pending + sentence
        pending = ""


def known_tests(root, build):
    names = {test["name"] for test in json.loads((build / "meson-info/intro-tests.json").read_text())}
    listed = subprocess.run(["git", "-C", root, "ls-files", "tests"], capture_output=True, text=True, check=False).stdout.split()
    for name in listed or [str(path.relative_to(root)) for path in (root / "tests").rglob("*")]:
        if name.endswith((".cpp", ".py")):
            for suite, case, function in CASE.findall((root / name).read_text(encoding="utf-8", errors="replace")):
                names.add(function or f"{suite}.{case}")
    return names


def main(root, build):
    text = (root / "tests/promises.md").read_text(encoding="utf-8")
    rows = [" ".join(item.split())[2:].split(": ", 1) for item in re.findall(r"^- .*(?:\n  .*)*", text, re.MULTILINE)]
    known, wrong = known_tests(root, build), []
    for first, *rest in rows:
        wrong += [f"{first}: there is no test {name}" for cell in rest for name in re.findall(r"`([\w.-]+)`", cell) if name not in known]
    promised = [sentence for path, begin, end in SECTIONS
                for sentence in joined(sentences((root / path).read_text(encoding="utf-8"), begin, end))]
    for sentence in promised:
        if sum(sentence.startswith(first) for first, *_ in rows) != 1:
            wrong.append(f"no row, or several, for: {sentence}")
    for line in wrong:
        print(line)
    print(f"{len(promised)} sentences, {len(rows)} rows, {len(wrong)} mistakes")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])))
