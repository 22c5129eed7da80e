"""Jobs of many kinds, started by ptlrun, and what is known of their processes from outside."""

import os
import random
import shutil
import signal
import subprocess
import tempfile
import time

MARK = "PORTUNUS_SOAK"  # in the environment of every process that a soak starts: its number


def processes(mark):
    """The processes that have this mark, except those that have ended already."""
    found = []
    wanted = f"{MARK}={mark}".encode()
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                if wanted in file.read().split(b"\0"):
                    found.append(int(name))
        except OSError:
            pass  # not ours, or gone
    return found


class Job:
    """One ptlrun with its ranks; its output goes to a file, so that no pipe stops it."""

    last = 0

    def __init__(self, command, settings=(), prefix=(), limits=None):
        Job.last += 1
        self.mark = f"{os.getpid()}.{Job.last}"
        self.command, self.settings = command, dict(settings)
        self.output = tempfile.TemporaryFile()
        environment = {**os.environ, "SHMEM_SYMMETRIC_SIZE": "16m", **dict(settings), MARK: self.mark}
        self.process = subprocess.Popen([*prefix, *command], stdin=subprocess.DEVNULL, stdout=self.output, stderr=subprocess.STDOUT,
                                        env=environment, preexec_fn=limits)
        self.begun = time.monotonic()

    def ranks(self):
        return [pid for pid in processes(self.mark) if pid != self.process.pid and not is_launcher(pid)]

    def text(self):
        self.output.seek(0)
        return self.output.read().decode(errors="replace")

    def wait(self, seconds):
        """The exit status as ptlrun's; None: it did not end."""
        try:
            return self.process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            return None

    def left(self, patience=10):
        """Processes that outlive their job."""
        give_up = time.monotonic() + patience
        while (pids := processes(self.mark)) and time.monotonic() < give_up:
            time.sleep(0.05)
        return pids

    def end(self):
        for pid in [self.process.pid] * (self.process.poll() is None) + processes(self.mark):
            signalled(pid, signal.SIGKILL)
        self.process.wait()
        self.output.close()


def stacks(job):
    """Where the processes of a job are, if there is a debugger; and what they wait for."""
    said = []
    for pid in processes(job.mark):
        said.append(f"--- process {pid}: {job.settings}")
        if shutil.which("gdb"):
            done = subprocess.run(["gdb", "-p", str(pid), "-batch", "-ex", "thread apply all bt 24"], stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, errors="replace", check=False)
            said += [line for line in done.stdout.splitlines() if line.startswith(("#", "Thread"))]
    return "\n".join(said)


def is_launcher(pid):
    try:
        with open(f"/proc/{pid}/comm", encoding="ascii", errors="replace") as file:
            return file.read().strip() in ("ptlrun", "ip")
    except OSError:
        return True


def signalled(pid, which):
    try:
        os.kill(pid, which)
        return True
    except ProcessLookupError:
        return False


class Programs:
    """What is run: arguments of ptlrun, small enough to end within some seconds."""

    WAYS = [{}, {"PTL_PROGRESS": "offload"}, {"PTL_DEBUG": "no-node-collectives"}, {"PTL_NODE": "0", "PTL_FABRIC_PROVIDER": "tcp"}]

    def __init__(self, build, source, chance: random.Random):
        self.build, self.chance = build, chance
        self.ptlrun = self.path("engine/tools/ptlrun")
        self.schedules = [os.path.join(source, "tests/goal/schedules", name)
                          for name in ("allreduce_recdoub.8.goal", "dissemination.8.goal", "scatter.8.goal")]

    def path(self, name):
        return os.path.join(self.build, name)

    def any(self):
        """A job: (arguments after ptlrun, settings)."""
        ranks = str(self.chance.randint(2, 5))
        choices = {
            "MPI halo": ["-n", ranks, self.path("bench/apps/mpi/halo"), "--steps", "400"],
            "MPI crowd": ["-n", ranks, self.path("tests/mpi-adi/mpi_crowd"), "2"],
            "MPI sort": ["-n", ranks, self.path("bench/apps/mpi/bucket_sort")],
            "SHMEM gups": ["-n", ranks, self.path("bench/apps/gups"), "--words", "4096", "--updates", "4000"],
            "SHMEM queue": ["-n", ranks, self.path("bench/apps/work_queue"), "--tasks", "200", "--width", "20"],
            "SHMEM calls": ["-n", "2", self.path("tests/shmem/shmem_calls_test")],
            "GOAL epochs": ["-n", "4", self.path("tests/goal/goal_epochs_test"), "2000"],
            "GOAL files": ["-n", "8", self.path("engine/tools/goalrun"), self.chance.choice(self.schedules)],
        }
        kind = self.chance.choice(sorted(choices))
        return choices[kind], self.chance.choice(self.WAYS[:3] if kind in ("GOAL epochs", "GOAL files") else self.WAYS)

    def endless(self):
        """One that goes on as long as the soak; whether what it holds stays the same is looked at."""
        return [self.ptlrun, "-n", "2", self.path("bench/apps/mpi/halo"), "--steps", "1000000000", "--rows", "1024", "--columns", "1024"]

    def mitigating(self):
        return ["-n", str(self.chance.randint(3, 5)), self.path("tests/mpi-adi/mpi_ulfm"), str(self.chance.randint(1, 10**6))]
