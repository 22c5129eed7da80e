"""What the measuring programs share: arguments, the build folder, the machine, the commit, and running a command to its end."""

import argparse
import functools
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# For applications that are compared: where a loop begins would else hang on each library's own constants, up to a fifth of the time.
ALIGNED = ["-falign-functions=64", "-falign-loops=64", "-falign-jumps=32"]
# What makes each library take TCP between processes of one node. Each gets its own alone: FI_PROVIDER=tcp, which MPICHs over libfabric need,
# keeps ours from the faster of libfabric's two; Debian's MPICH is over UCX, and takes shared memory in spite of MPIR_CVAR_NOLOCAL.
# Open MPI leaves the loopback out by itself, and version 5 finds no way from another interface to the same one; windows would be in shared
# memory, and are so in version 5 in any case, see without_windows_by_tcp().
TCP = {"ours": {"PTL_NODE": "0", "PTL_FABRIC_PROVIDER": "tcp"}, "MPICH": {"MPIR_CVAR_NOLOCAL": "1", "FI_PROVIDER": "tcp", "UCX_TLS": "tcp,self"},
       "Open MPI": {"OMPI_MCA_btl": "tcp,self", "OMPI_MCA_pml": "ob1", "OMPI_MCA_btl_tcp_if_include": "lo", "OMPI_MCA_osc": "^sm,ucx"}}
TCP_OF_SHMEM = {"ours": TCP["ours"], "Open MPI": {"UCX_TLS": "tcp,self", **TCP["Open MPI"]}}  # its barriers are those of its MPI

OURS = "Portunus"


class Refusal(Exception):
    """One sentence: the cause, and the remedy."""


def numbers(text):
    """An argument such as 2,4,8, as a list."""
    words = text.split(",")
    if not all(word.isdecimal() and int(word) > 0 for word in words):
        raise argparse.ArgumentTypeError(f"'{text}' is no list of numbers, such as 2,4")
    return [int(word) for word in words]


def numbers_from_0(text):
    """The same, where 0 is a number, too."""
    if not re.fullmatch(r"\d+(,\d+)*", text):
        raise argparse.ArgumentTypeError(f"'{text}' is no list of numbers, such as 0,10")
    return [int(word) for word in text.split(",")]


def names(known):
    """The type of an argument that lists some of these."""
    def listed(text):
        for word in text.split(","):
            if word not in known:
                raise argparse.ArgumentTypeError(f"there is no '{word}'; choose of {', '.join(known)}")
        return text.split(",")
    return listed


def fitting(pattern, example):
    """The type of an argument that has this form."""
    def checked(text):
        if not re.fullmatch(pattern, text):
            raise argparse.ArgumentTypeError(f"'{text}' is not such as {example}")
        return text
    return checked


def folder(text):
    """An argument that names a folder which is there."""
    if not os.path.isdir(text):
        raise argparse.ArgumentTypeError(f"there is no folder {text}")
    return text


def result_file(text):
    """An argument that names a file which can be written: who learns it after an hour has lost an hour's results."""
    above = os.path.dirname(os.path.abspath(text))
    if os.path.isdir(text) or not os.access(text if os.path.exists(text) else above, os.W_OK):
        raise argparse.ArgumentTypeError(f"{text} cannot be written")
    return text


def write_results(file, document):
    """Writes them as JSON, whole or not at all: may be called again as results come. Does nothing without a file."""
    if not file:
        return
    new = pathlib.Path(file + ".new")
    try:
        new.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
        new.replace(file)
    except OSError as problem:
        raise Refusal(f"the results could not be written: {problem}") from problem


def add_places(parser):
    """The options --build and --root; see enter()."""
    parser.add_argument("--build", metavar="DIR", help="build folder of this project (.build/release)")
    parser.add_argument("--root", metavar="DIR", default="/", help="run in the system in DIR, which bench/peers has made, beside its "
                        "peers; files are those below the current folder, --build those of that system")


def enter(root):
    """Runs this program in the system in `root` with the arguments that it has here, and ends as it ends there."""
    if root == "/":
        return
    if not os.path.isdir(os.path.join(root, "portunus")):
        raise Refusal(f"--root was given '{root}', where bench/peers has made no system; run 'bench/peers {root}'")
    os.execv(ROOT / "bench/peers", ["bench/peers", root, f"/portunus/bench/{pathlib.Path(sys.argv[0]).name}", *sys.argv[1:], "--root", "/"])


def is_bundle():
    """Whether this is a bundle, which has all compiled, and no compiler."""
    return (ROOT / ".build/programs").is_dir()


def build_folder(given, targets):
    """The build folder, with `targets` up to date."""
    if is_bundle() and not given:
        return ROOT / ".build/release"
    folder = pathlib.Path(given).resolve() if given else ROOT / ".build/release"
    if not (folder / "build.ninja").is_file():
        if given:
            raise Refusal(f"{folder} is no build folder; make it with 'meson setup -Dbench=true {folder} {ROOT}'")
        raise Refusal("nothing is built yet; run 'bench/demo/run', which builds in .build/release, or name a build folder "
                      "with --build")
    done = run(["ninja", "-C", str(folder), *targets], timeout=None)
    if done.returncode:
        raise Refusal(f"the build in {folder} failed; see 'ninja -C {folder}'")
    return folder


def run(command, timeout=60, env=None):
    """Runs `command` in a process group of its own, which is ended when the time is over: then returncode is 124."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               start_new_session=True, env={**os.environ, **(env or {})})
    try:
        out, err = process.communicate(timeout=timeout)
    except BaseException as problem:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.communicate(timeout=5)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
        if not isinstance(problem, subprocess.TimeoutExpired):
            raise
        return subprocess.CompletedProcess(command, 124, "", f"not done after {timeout} seconds")
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def why_failed(done):
    """The command, its status and its last words, in one line."""
    words = [line for line in (done.stderr.strip() or done.stdout.strip()).splitlines() if re.search(r"\w", line)]  # no frame around them
    command = done.args[0] if len(done.args) == 1 else f"'{shlex.join(map(str, done.args))}'"
    return f"{command} returned {done.returncode}" + (f": {words[-1]}" if words else "")


@functools.cache
def open_mpi_version():
    """The first number of it; 0 where there is none."""
    if not shutil.which("mpirun.openmpi"):
        return 0
    version = re.search(r"\((?:Open MPI|OpenRTE)\) (\d+)", run(["mpirun.openmpi", "--allow-run-as-root", "--version"]).stdout)
    return int(version[1]) if version else 0


@functools.cache
def without_windows_by_tcp():
    """The libraries whose windows between processes of one host are in shared memory, whatever they are told; says so once."""
    if open_mpi_version() < 5:
        return frozenset()
    print("Open MPI is left out of one-sided calls by TCP: version 5 has windows of one host in shared memory.", file=sys.stderr)
    return frozenset(["Open MPI"])


def commit():
    """The checked-out commit, with -dirty when tracked files differ from it; "unknown" outside a checkout, and where there is no git."""
    told = ROOT / ".build/commit"  # by bench/peers, in whose system there need be no git
    if told.is_file():
        return told.read_text(encoding="utf-8").strip()
    if not shutil.which("git"):
        return "unknown"
    done = run(["git", "-C", str(ROOT), "describe", "--always", "--abbrev=12", "--dirty", "--match", ""])
    return done.stdout.strip() if done.returncode == 0 else "unknown"


def cores():
    return len(os.sched_getaffinity(0))


def machine():
    model = "unknown"
    for line in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            model = line.split(": ", 1)[1]
            break
    return {"cpu": model, "cores": cores()}


def slug(text):
    return re.sub(r"[^a-z0-9.]+", "-", text.lower()).strip("-")


def load():
    return round(os.getloadavg()[0], 2)


def warn_when_busy(before, after):
    """Says so when other programs were running: then no number means much."""
    if before > 0.5 * cores():
        print(f"The machine was busy before this began (load average {before} on {cores()} cores, {after} at the end): "
              "other programs took part in these figures, so draw no conclusion from them.")


def main_of(function):
    """Runs `function`; a Refusal becomes one sentence and status 2. SIGTERM ends it as an exception does, with all that it has started and made."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        sys.exit(function())
    except Refusal as refusal:
        print(f"{pathlib.Path(sys.argv[0]).name}: {refusal}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
