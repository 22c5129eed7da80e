"""Packs what bench/compare, history, breadth, crowd, hybrid, checks and record take into one tar compressed by xz: this build, stripped,
their programs compiled for each library, the peers' launchers, libraries and plugins, Python, a shell, and all that these load.

Unpacked anywhere on a Linux of the same processor it is a system without compilers, in which ./run-bundle runs a command."""

import encodings
import io
import os
import pathlib
import shutil
import statistics
import subprocess
import tarfile
import tempfile

import facts
import programs

BENCHES = ["compare", "history", "breadth", "compare_breadth", "crowd", "hybrid", "checks", "record", "facts.py", "programs.py"]
TOOLS = ["engine/tools/ptlinfo", "engine/tools/ptlstat"]
# With all that their packages have, and the packages of what these load.
COMMANDS = ["sh", "env", "python3", "mpiexec.mpich", "mpirun.openmpi"]
# One file of each package of Python's modules besides.
PLACES = ["/etc/openmpi", "/etc/debian_version", encodings.__file__, statistics.__file__]
ALONE = ["taskset", "grep", "sed"]
WRITTEN = ["/etc/passwd", "/etc/group", "/etc/hosts", "/etc/nsswitch.conf"]  # by no package
# What packages have that nobody runs: texts, what compiles, and what Python brings for other ends.
UNUSED = ["/usr/share/doc/", "/usr/share/man/", "/usr/share/info/", "/usr/share/locale/", "/usr/share/lintian/",
          "/usr/share/bash-completion/", "/usr/share/bug/", "/usr/share/common-licenses/", "/usr/include/", "/pkgconfig/", "/fortran/",
          "/gconv/", "/__pycache__/", "/ensurepip/", "/libuct_cuda", "/libuct_rocm", "/libucm_cuda", "/libucm_rocm", "/libucx_perftest_",
          "/idlelib/", "/pydoc_data/", "/sqlite3/", "/tkinter/", "/test/", "/_ssl.", "/_hashlib.", "/_sqlite3.", "/_curses",
          "/readline."]
UNUSED_ENDS = (".a", ".la", ".mod", ".h")


def said(*command):
    return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                          check=False).stdout


def loads(files):
    """The libraries that these load, by the names they are loaded by."""
    found = set()
    for path in files:
        with open(path, "rb") as file:
            if file.read(4) != b"\x7fELF":
                continue
        for line in said("ldd", str(path)).splitlines():
            found |= {os.path.normpath(word) for word in line.split() if word.startswith("/")}
    return found


def files_of(package):
    """What a package has, but for what is unused: by the folders' real names."""
    for path in said("dpkg-query", "-L", package).splitlines():
        if path != "/." and os.path.lexists(path) and not any(part in path for part in UNUSED) and not path.endswith(UNUSED_ENDS):
            yield os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))


def system_files(own):
    """The files of packages that COMMANDS take, and the files `own`."""
    alone = [shutil.which(command) for command in ALONE]
    found, packages = set(alone), set()
    todo = {*(shutil.which(command) for command in COMMANDS), *PLACES, *loads(own), *loads(alone)}
    while todo:
        owners = said("dpkg-query", "-S", *sorted(todo | {os.path.realpath(path) for path in todo}))
        new = {line.split(": ")[0].split(", ")[0] for line in owners.splitlines() if ": " in line} - packages
        packages |= new
        files = {path for package in new for path in files_of(package)} - found
        found |= files
        todo = loads(path for path in files if os.path.isfile(path)) - found
    return sorted(found)


def own_files(build, stage):
    """{place in the bundle: file}: what measures, and what that starts. What is compiled are stripped copies in `stage`."""
    libraries = programs.libraries(build)
    programs.compile_all(libraries, programs.SOURCES, stage)
    compiled = {programs.COMPILED / facts.slug(library.name) / name: programs.program_of(stage, library, name)
                for library in libraries for name in programs.SOURCES}
    compiled |= {build / target: build / target for target in [*programs.TARGETS, *programs.TARGETS_OF_RECORD, *TOOLS]}
    compiled |= {pathlib.Path(path): pathlib.Path(path) for path in loads(compiled.values()) if path.startswith(f"{build}/")}
    taken = {facts.ROOT / "bench" / name: facts.ROOT / "bench" / name for name in BENCHES}
    for number, (place, path) in enumerate(compiled.items()):
        copy = stage / f"stripped.{number}"
        done = facts.run(["strip", "--strip-unneeded", "-o", str(copy), str(path)])
        if done.returncode:
            raise facts.Refusal(f"{path} could not be stripped: {facts.why_failed(done)}")
        taken[place] = copy
    return taken


def write(archive, build):
    """All of it into the tar."""
    def add(name, words=None, mode=0o755):
        entry = tarfile.TarInfo(name)
        entry.mode, entry.type, entry.size = mode, tarfile.DIRTYPE if words is None else tarfile.REGTYPE, len(words or "")
        archive.addfile(entry, io.BytesIO((words or "").encode()))

    with tempfile.TemporaryDirectory(prefix="bundle.") as temporary:
        taken = own_files(build, pathlib.Path(temporary))
        for path in [*system_files(taken.values()), *filter(os.path.exists, WRITTEN)]:
            archive.add(path, path.lstrip("/"), recursive=False)
        for place, path in sorted(taken.items()):
            archive.add(path, str(place).lstrip("/"))
    for name in ("proc", "sys", "dev", "here", "root"):
        add(name)
    for name in ("tmp", "var/tmp"):
        add(name, mode=0o1777)
    add(f"{facts.ROOT}/.build/commit".lstrip("/"), facts.commit() + "\n", 0o644)
    archive.add(facts.ROOT / "bench/bundle/run-bundle", "run-bundle")


def pack(build, file):
    """Writes the bundle of this system to `file`."""
    launchers = {peer.launch[0]: peer.packages for peer in programs.PEERS}
    for tool, package in {"xz": "xz-utils", "strip": "binutils", "dpkg-query": "dpkg", **launchers}.items():
        if not shutil.which(tool):
            raise facts.Refusal(f"a bundle takes {tool}, which is not there; Debian's {package} has it")
    new = pathlib.Path(file + ".new")
    try:
        with open(new, "wb") as out, subprocess.Popen(["xz", "-T0", "-9"], stdin=subprocess.PIPE, stdout=out) as packer:
            with tarfile.open(fileobj=packer.stdin, mode="w|") as archive:
                write(archive, build)
            packer.stdin.close()
        if packer.returncode:
            raise facts.Refusal(f"xz could not write {new}")
        new.replace(file)
    except OSError as problem:
        raise facts.Refusal(f"the bundle could not be written: {problem}") from problem
    finally:
        new.unlink(missing_ok=True)
    print(f"{file}: {os.path.getsize(file) / 2**20:.1f} MiB")
