#!/usr/bin/env python3
"""symbols_test.py NM LIBRARY LIST HEADER...: the library exports what the list names, which is what the headers declare, and
nothing else; portals4.h, the first header, needs <stdint.h> alone."""
import pathlib
import re
import subprocess
import sys

nm, library, list_file, *headers = sys.argv[1:]
exported = set()
for line in subprocess.run([nm, "-D", "--defined-only", library], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines():
    exported.add(line.split()[-1].split("@")[0])
listed = pathlib.Path(list_file).read_text(encoding="utf-8").split()
declared = set()
problems = []
for number, header in enumerate(headers):
    text = re.sub(r"/\*.*?\*/", "", pathlib.Path(header).read_text(encoding="utf-8"), flags=re.DOTALL)
    declared |= set(re.findall(r"^(?!static|#|typedef)[a-z][\w ]*[ *](Ptlx?[A-Z]\w*|GOAL_[A-Z]\w*)\(", text, flags=re.MULTILINE))
    declared |= set(re.findall(r'^extern "C" const [\w:]+ (portunus_\w+);', text, flags=re.MULTILINE))  # for debuggers
    if number == 0 and re.findall(r"#\s*include\s*(\S+)", text) != ["<stdint.h>"]:
        problems.append(f"{header} includes more than <stdint.h>")
problems += [f"exported but not declared: {name}" for name in sorted(exported - declared)]
problems += [f"declared but not exported: {name}" for name in sorted(declared - exported)]
problems += [f"exported but not in {list_file}: {name}" for name in sorted(exported - set(listed))]
problems += [f"in {list_file} but not exported: {name}" for name in sorted(set(listed) - exported)]
if listed != sorted(set(listed)):
    problems.append(f"{list_file} is not sorted, or names something twice")
print("\n".join(problems) or f"{len(exported)} names, as declared")
sys.exit(bool(problems))
