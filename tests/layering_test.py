#!/usr/bin/env python3
"""Checks who includes whom, what lies at the top level, that every header has a guard, and that READMEs quote truly.

  layering_test.py ROOT                    the rules below
  layering_test.py ROOT --headers-alone    compiles every header on its own with $CXX (or g++), unless a source includes it
                                           before all else: then each build does; the headers that C programs include,
                                           as C99 with $CC (or gcc), too

The rules are lists: a file must satisfy every rule whose first pattern matches its path. Paths are written from ROOT.
"""

import collections
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

TOP_LEVEL = {"meson.build", "meson_options.txt", "portals", "mpi-adi", "shmem", "engine", "bench", "tests", "README.md",
             "LICENSE"}
LONGEST_FOLDER = 40
SOURCES = {".h", ".hpp", ".c", ".cpp"}
CODE = ("engine", "portals", "shmem", "mpi-adi")
PUBLIC = ("portals", "shmem/include", "mpi-adi", "engine/goal", "shmem/distribution")  # the folders whose headers programs include

# What one process may see of another side. (files, allowed project headers, the rule in words)
ALLOWED = [
    (r"shmem/", r"shmem/|portals/[^/]+\.h$|engine/client/|engine/goal/[^/]+\.hp?p?$",
     "shmem/ stands on portals/*.h, engine/client/ and engine/goal/ only"),
    (r"mpi-adi/", r"mpi-adi/|portals/[^/]+\.h$|engine/client/|engine/goal/[^/]+\.hp?p?$",
     "mpi-adi/ stands on portals/*.h, engine/client/ and engine/goal/ only"),
    (r"engine/client/", r"engine/client/|portals/portals4(_ext)?\.h$", "engine/client/ is a client of Portals like any other"),
    (r"portals/", r"portals/|engine/core/(runtime|interface|objects|target/list_entry|triggered/atomic_ops)\.hpp$|engine/shared/|engine/progress/|engine/host/",
     "portals/ sees the engine's door, engine/shared/ and engine/host/ only"),
    (r"engine/(?!tools/)", r"engine/(?!tools/)|portals/portals4(_ext)?\.h$",
     "engine/ takes only its vocabulary, portals4.h and portals4_ext.h, from outside"),
    (r"engine/progress/", r"engine/progress/", "engine/progress/ waits for whatever engine it is given"),
    (r"engine/transport/", r"engine/transport/|engine/progress/(?!progress)|engine/host/|engine/shared/(?!counter)|portals/portals4(_ext)?\.h$",
     "engine/transport/ knows bytes and peers, never match lists or counters"),
    (r"engine/shared/", r"engine/shared/|engine/host/|portals/portals4(_ext)?\.h$",
     "engine/shared/ is what application threads and the engine both touch, and knows neither"),
    (r"engine/goal/", r"engine/goal/|engine/client/|engine/shared/|engine/host/(clock|copy_run)\.hpp$|engine/core/triggered/atomic_ops\.hpp$|portals/[^/]+\.h$",
     "engine/goal/ knows schedules, Commands, the Portals API and what operations compute"),
]

# Who alone may include something: (what is included, who may, the rule in words)
ONLY = [
    (r"rdma/", r"engine/transport/fabric/|bench/pairs/fabric_pingpong\.cpp$",
     "libfabric is known to engine/transport/fabric/ only, and to the bench that compares with it alone"),
    (r"hwloc", r"engine/host/topology[^/]*$", "hwloc is known to engine/host/topology* only"),
    (r"pmix", r"engine/host/pmix\.cpp$|engine/tools/ptlrun/", "PMIx is known to engine/host/pmix.cpp and ptlrun only"),
    (r"engine/transport/fabric/fabric\.hpp$", r"engine/transport/fabric/",
     "the fabric is opened by its line in the table of transports only (engine/transport/table.hpp)"),
    (r".*CLI/", r"engine/tools/|bench/", "options are parsed in tools only"),
]

# The engine's own headers, a group per line: each may include those above it and its own group's, none below.
ENGINE_ORDER = [
    "match_pattern order_list atomic_ops way payload memory",
    "key_index match_list unexpected_list local_work throttle trigger",
    "list_entry peer",
    "delivery kept_header interface operation request withdraw",
    "objects",
    "core",
    "triggers",
    "reports packing",
    "local_operations peers portal_table",
    "flow_control pending_operations",
    "initiator bulk unexpected write_order",
    "target",
    "engine",
]
ENGINE_RANK = {name: rank for rank, line in enumerate(ENGINE_ORDER) for name in line.split()}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)
GUARD = re.compile(r"^#pragma once$|^#ifndef (\w+)\n#define \1\b", re.MULTILINE)
FORWARDING = re.compile(r'(\s|/\*.*?\*/|#include "[^"]+")*', re.DOTALL)  # only hands on what guards itself
BY_DESIGN_UNGUARDED = "without a guard"  # the head of a table that is included several times says so


def files(root, folders):
    for folder in folders:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in SOURCES and path.is_file():
                yield path.relative_to(root).as_posix()


def project_path(root, file, name):
    """The path from ROOT that an include in quotes means, or None for the world outside."""
    for candidate in (name, (pathlib.PurePosixPath(file).parent / name).as_posix()):
        if (root / candidate).is_file():
            return candidate
    for folder in PUBLIC:
        if (root / folder / name).is_file():
            return f"{folder}/{name}"
    return None


def engine_rank(file):
    """The place of a file of engine/core/ in the order above; None for all others."""
    return ENGINE_RANK.get(pathlib.PurePosixPath(file).stem) if file.startswith("engine/core/") else None


def check_includes(root, file, text):
    for mark, name in INCLUDE.findall(text):
        target = project_path(root, file, name)
        if target is None and mark == '"':
            yield f"{file} includes \"{name}\", which is not in the tree"
        if target and file.split("/")[0] in CODE:
            for who, allowed, rule in ALLOWED:
                if re.match(who, file) and not re.match(allowed, target):
                    yield f"{file} includes {target}: {rule}"
        rank = engine_rank(file)
        if rank is not None and target and (engine_rank(target) or 0) > rank:
            yield f"{file} includes {target}, which stands above it: engine/README.md has the order"
        for what, who, rule in ONLY:
            if re.match(what, target or name) and not re.match(who, file) and not file.startswith("tests/"):
                yield f"{file} includes {name}: {rule}"


def check_top_level(root):
    listed = subprocess.run(["git", "-C", root, "ls-files"], capture_output=True, text=True, check=False)
    names = {line.split("/")[0] for line in listed.stdout.splitlines()} or {path.name for path in root.iterdir()}
    for name in sorted(names):
        if name not in TOP_LEVEL and not name.startswith("."):
            yield f"{name} lies at the top level, where only {', '.join(sorted(TOP_LEVEL))} and dotfiles belong"


def check_folders(root):
    """A folder is read as a list: a long one hides what it is about."""
    listed = subprocess.run(["git", "-C", root, "ls-files"], capture_output=True, text=True, check=False).stdout.splitlines()
    for folder, count in collections.Counter(os.path.dirname(line) for line in listed).items():
        if count > LONGEST_FOLDER and not folder.startswith("tests/fuzz/corpus"):
            yield f"{folder} holds {count} files; more than {LONGEST_FOLDER} nobody takes in: give those that belong together a folder"


def check_readmes(root):
    """Programs that READMEs print are those that are compiled and run; what they link to is there."""
    readmes = {path: path.read_text(encoding="utf-8") for path in sorted(root.glob("**/README.md"))
               if ".build" not in path.parts}
    for path in sorted((root / "tests/install").glob("first*")):
        program = path.read_text(encoding="utf-8").strip()
        if not any(program in text for text in readmes.values()):
            yield f"no README.md prints {path.name} as it is compiled and run"
    for path, text in readmes.items():
        for link in re.findall(r"\]\(([^)#:]+)\)", text):
            if not (path.parent / link).exists():
                yield f"{path.relative_to(root)} links to {link}, which is not there"


def check_version(root):
    """One version, wherever it is written."""
    version = re.search(r"^\s*version: '([\d.]+)'", (root / "meson.build").read_text(encoding="utf-8"), re.MULTILINE)[1]
    for file, words in ((".github/CHANGELOG.md", f"## {version}\n"), ("README.md", f"Version {version}."),
                        ("shmem/include/shmem_base.h", f'"Portunus {version}"'), (".packaging/debian/changelog", f"portunus ({version}-"),
                        (".packaging/spack/package.py", f'version("{version}")')):
        if words not in (root / file).read_text(encoding="utf-8"):
            yield f"{file} does not say {words.strip()}, the version of meson.build"


# Not part of the order: what stands above the engine.
ABOVE_ENGINE = {"runtime", "process_environment"}


def check_engine_order(root):
    for path in sorted((root / "engine").glob("*.[ch]pp")):
        if f"engine/{path.stem}" not in ENGINE_RANK and path.stem not in ABOVE_ENGINE:
            yield f"engine/{path.name} has no place in ENGINE_ORDER"
        if path.suffix == ".cpp" and not path.with_suffix(".hpp").is_file() and path.stem not in ABOVE_ENGINE:
            yield f"engine/{path.name} has no header of its name"


def check_rules(root):
    yield from check_engine_order(root)
    yield from check_version(root)
    yield from check_top_level(root)
    yield from check_folders(root)
    yield from check_readmes(root)
    for file in files(root, CODE + ("bench", "tests")):
        text = (root / file).read_text(encoding="utf-8")
        yield from check_includes(root, file, text)
        unguarded = not GUARD.search(text) and not FORWARDING.fullmatch(text) and BY_DESIGN_UNGUARDED not in text[:1500]
        if file.endswith((".h", ".hpp")) and unguarded:
            yield f"{file} has neither '#pragma once' nor a guard"


def compile_alone(root, command, file):
    done = subprocess.run(command + ["-fsyntax-only", "-Wall", "-Wextra", "-Werror", f"-I{root}",
                                     *(f"-I{root / folder}" for folder in PUBLIC), "-include", root / file, "/dev/null"], capture_output=True, text=True, check=False)
    return f"{file} does not compile alone with {command[0]}:\n{done.stderr}" if done.returncode else None


def compiled_first(root):
    """The headers with which a source begins."""
    for file in files(root, CODE):
        first = INCLUDE.search((root / file).read_text(encoding="utf-8")) if file.endswith(".cpp") else None
        if first and first[1] == '"':
            yield project_path(root, file, first[2])


def check_headers_alone(root):
    packages = subprocess.run(["pkg-config", "--cflags", "libfabric", "hwloc", "pmix"], capture_output=True, text=True,
                              check=True)
    options = packages.stdout.split()
    cxx = [os.environ.get("CXX", "g++"), "-x", "c++", "-std=c++20"]
    c = [os.environ.get("CC", "gcc"), "-x", "c", "-std=c99"]
    proven = set(compiled_first(root))
    jobs = []
    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        for file in files(root, CODE):
            if not file.endswith((".h", ".hpp")) or BY_DESIGN_UNGUARDED in (root / file).read_text(encoding="utf-8")[:1500]:
                continue
            if file not in proven:
                jobs.append(pool.submit(compile_alone, root, cxx + options, file))
            if file.endswith(".h"):
                jobs.append(pool.submit(compile_alone, root, c + options, file))
        return [problem for problem in (job.result() for job in jobs) if problem]


def main(arguments):
    root = pathlib.Path(arguments[0]).resolve()
    if arguments[1:2] == ["--headers-alone"]:
        problems = check_headers_alone(root)
    else:
        problems = list(check_rules(root))
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
