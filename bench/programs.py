"""The MPI programs that are measured: where their sources lie, how they are compiled for each library, and who has them compiled.

A bundle (bench/bundle/pack.py) holds them compiled, and no compiler: there they are taken from its .build/programs."""

import collections
import shutil
import sys

import facts

Library = collections.namedtuple("Library", "name compiler launch packages")  # the launcher up to the number of ranks
PEERS = [
    Library("MPICH", "mpicc.mpich", ["mpiexec.mpich", "-n"], "mpich and libmpich-dev"),
    Library("Open MPI", "mpicc.openmpi", ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "-n"],
            "openmpi-bin and libopenmpi-dev"),
]
# What ours takes of a build folder.
TARGETS = ["engine/tools/ptlrun", "portals/libportals.so.4.3.0", "mpi-adi/libmpi_abi.so.1", "mpi-adi/libmpi.so"]
TARGETS_OF_RECORD = ["engine/tools/goalc", "engine/tools/goalrun", "engine/tools/record/libportunus_record.so.0"]
SOURCES = {path.stem: [path] for place in ("compare_mpi", "compare_history", "compare_hybrid", "compare_crowd", "apps/mpi")
           for path in sorted((facts.ROOT / "bench" / place).glob("*.c"))}
SOURCES["breadth"] = sorted((facts.ROOT / "bench/compare_breadth").glob("*.c"))
# The same for all libraries.
OPTIONS = ["-std=gnu11", "-O2", "-w", *facts.ALIGNED]
OPTIONS_OF = {"hybrid": ["-fopenmp", "-pthread"]}
COMPILED = facts.ROOT / ".build/programs"  # in a bundle


def ours(build):
    return Library(facts.OURS, str(build / "mpi-adi/wrappers/mpicc"), [str(build / "engine/tools/ptlrun"), "-n"], "")


def libraries(build):
    """Ours, and the peers that are here."""
    found = [ours(build)]
    for peer in PEERS:
        needed = peer.launch[:1] if facts.is_bundle() else [peer.compiler, peer.launch[0]]
        missing = [tool for tool in needed if not shutil.which(tool)]
        if missing:
            print(f"{peer.name} is left out: {missing[0]} is not there; install the Debian packages {peer.packages}.", file=sys.stderr)
        else:
            found.append(peer)
    return found


def program_of(folder, library, name):
    """Where compile_all has it."""
    return (COMPILED if facts.is_bundle() else folder) / facts.slug(library.name) / name


def compile_all(found, names, folder, options=()):
    """The named programs for all these libraries, with these options besides: in `folder`, unless they came compiled."""
    for library in found:
        for name in names:
            program = program_of(folder, library, name)
            if facts.is_bundle():
                if not program.is_file():
                    raise facts.Refusal(f"this bundle has no program '{name}' for {library.name}")
                continue
            program.parent.mkdir(exist_ok=True)
            done = facts.run([library.compiler, *OPTIONS, *OPTIONS_OF.get(name, []), *options, *map(str, SOURCES[name]), "-o", str(program), "-lm"])
            if done.returncode:
                raise facts.Refusal(f"{name}.c does not compile with {library.name}: {facts.why_failed(done)}")


def for_each(build, folder, name, options=()):
    """The named program for each library that is here: {library: (program, launcher up to the number of ranks)}."""
    found = libraries(build)
    compile_all(found, [name], folder, options)
    return {library.name: (str(program_of(folder, library, name)), library.launch) for library in found}
