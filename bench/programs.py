"""The programs that are measured: where their sources lie, how they are compiled for each library, and who has them compiled.

A bundle (bench/bundle/pack.py) holds those of MPI compiled, and no compiler: there they are taken from its .build/programs."""

import collections
import shutil
import sys

import facts

# The launcher up to the number of ranks; what stands behind the sources where a program is compiled.
Library = collections.namedtuple("Library", "name compiler launch packages behind", defaults=[()])
PEERS = [
    Library("MPICH", "mpicc.mpich", ["mpiexec.mpich", "-n"], "mpich and libmpich-dev"),
    Library("Open MPI", "mpicc.openmpi", ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "-n"],
            "openmpi-bin and libopenmpi-dev"),
]
PEERS_OF = {
    "mpi": PEERS,
    "shmem": [Library("Open MPI", "oshcc.openmpi" if shutil.which("oshcc.openmpi") else "oshcc",
                      ["oshrun", "--allow-run-as-root", "--oversubscribe", "-n"], "openmpi-bin and libopenmpi-dev")],
}
# Interfaces of our own: folders of headers, {folder of the build: library}.
OWN = {
    "portals": (["portals"], {"portals": "portals"}),
    "goal": (["portals", "engine/goal"], {"portals": "portals"}),
    "peace": (["portals", "mpi-adi/ipc"], {"mpi-adi/ipc": "peace", "portals": "portals"}),
    "views": (["portals", "shmem/views"], {"shmem/views": "vdc", "shmem": "shmem", "portals": "portals"}),
}
WRAPPERS = {"mpi": "mpi-adi/wrappers/mpicc", "shmem": "shmem/wrappers/oshcc"}
# What ours takes of a build folder.
TARGETS_OF = {
    "mpi": ["engine/tools/ptlrun", "portals/libportals.so.4.3.0", "mpi-adi/libmpi_abi.so.1", "mpi-adi/libmpi.so"],
    "shmem": ["engine/tools/ptlrun", "portals/libportals.so.4.3.0", "shmem/libshmem.so.1.6.0"],
    "portals": ["engine/tools/ptlrun", "portals/libportals.so.4.3.0"],
    "goal": ["engine/tools/ptlrun", "portals/libportals.so.4.3.0"],
    "peace": ["engine/tools/ptlrun", "portals/libportals.so.4.3.0", "mpi-adi/ipc/libpeace.so.0"],
    "views": ["engine/tools/ptlrun", "portals/libportals.so.4.3.0", "shmem/libshmem.so.1.6.0", "shmem/views/libvdc.so.0"],
}
TARGETS = TARGETS_OF["mpi"]
TARGETS_OF_RECORD = ["engine/tools/goalc", "engine/tools/goalrun", "engine/tools/goaltune", "engine/tools/record/libportunus_record.so.0"]
SOURCES = {path.stem: [path] for place in ("compare_mpi", "compare_history", "compare_hybrid", "compare_crowd", "apps/mpi")
           for path in sorted((facts.ROOT / "bench" / place).glob("*.c"))}
SOURCES["breadth"] = sorted((facts.ROOT / "bench/compare_breadth").glob("*.c"))
# Of other interfaces than MPI: a folder of each, beside MPI's sources.
SOURCES_OF = {interface: {program: sorted((facts.ROOT / f"bench/compare_{program}" / interface).glob("*.c")) for program in ("breadth", "history")}
              for interface in TARGETS_OF}
SOURCES_OF["mpi"] = SOURCES
# The same for all libraries.
OPTIONS = ["-std=gnu11", "-O2", "-w", *facts.ALIGNED]
OPTIONS_OF = {"hybrid": ["-fopenmp", "-pthread"]}
COMPILED = facts.ROOT / ".build/programs"  # in a bundle


def ours(build, interface="mpi"):
    launch = [str(build / "engine/tools/ptlrun"), "-n"]
    if interface in WRAPPERS:
        return Library(facts.OURS, str(build / WRAPPERS[interface]), launch, "")
    headers, taken = OWN[interface]
    behind = [f"-I{facts.ROOT / folder}" for folder in headers]
    for folder, library in taken.items():
        behind += [f"-L{build / folder}", f"-Wl,-rpath,{build / folder}", f"-l{library}"]
    return Library(facts.OURS, "cc", launch, "", behind)


def libraries(build, interface="mpi"):
    """Ours, and the peers that are here."""
    found = [ours(build, interface)]
    for peer in PEERS_OF.get(interface, []):
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


def blas(folder):
    """(options for the compiler, and behind the sources) of a program with a BLAS, tried in `folder`; None and why there is none."""
    source = folder / "blas.c"
    source.write_text("#include <cblas.h>\nint main(void) { return (int)cblas_dnrm2(0, 0, 1); }\n", encoding="utf-8")
    ways = [facts.run(["pkg-config", "--cflags", "--libs", name]) for name in ("openblas", "cblas", "blas")] if shutil.which("pkg-config") else []
    for behind in [*(way.stdout.split() for way in ways if way.returncode == 0), ["-lopenblas"], ["-lcblas"]]:
        headers = [word for word in behind if word.startswith("-I")]
        if shutil.which("cc") and facts.run(["cc", *headers, str(source), "-o", str(folder / "blas"), *behind]).returncode == 0:
            return (["-DWITH_BLAS", *headers], behind), None
    return None, "no BLAS with cblas.h is installed; Debian's libopenblas-dev has one"


def compile_all(found, names, folder, options=(), interface="mpi", behind=()):
    """The named programs for all these libraries, with these options besides, and behind them: in `folder`, unless they came compiled."""
    for library in found:
        for name in names:
            program = program_of(folder, library, name)
            if facts.is_bundle():
                if interface != "mpi" or not program.is_file():
                    raise facts.Refusal(f"this bundle has no program '{name}' of {interface} for {library.name}")
                continue
            program.parent.mkdir(exist_ok=True)
            sources = map(str, SOURCES_OF[interface][name])
            done = facts.run([library.compiler, *OPTIONS, *OPTIONS_OF.get(name, []), *options, *sources, "-o", str(program), *library.behind, *behind, "-lm"])
            if done.returncode:
                raise facts.Refusal(f"{name} of {interface} does not compile with {library.name}: {facts.why_failed(done)}")


def for_each(build, folder, name, options=(), interface="mpi", behind=()):
    """The named program for each library that is here: {library: (program, launcher up to the number of ranks)}."""
    found = libraries(build, interface)
    compile_all(found, [name], folder, options, interface, behind)
    return {library.name: (str(program_of(folder, library, name)), library.launch) for library in found}
