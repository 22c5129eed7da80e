#!/usr/bin/env python3
"""Minutes to hours of mixed jobs under attack: see --help.

As root it runs in a mount namespace with a /dev/shm of its own, so that what is left there is its own, and breaks the link between two
network namespaces; without, it says what it leaves out.
"""

import argparse
import os
import random
import sys
import threading
import time

sys.path += [os.path.dirname(os.path.abspath(__file__)), os.path.join(os.path.dirname(os.path.abspath(__file__)), "../hosts")]
import attacks as attacks_module
import jobs
import two_hosts

ALONE = "PORTUNUS_SOAK_ALONE"


class Pauses(threading.Thread):
    """Notices when this process itself was stopped: then nobody can be blamed for having taken long."""

    def __init__(self):
        super().__init__(daemon=True)
        self.count = 0
        self.start()

    def run(self):
        last = time.monotonic()
        while True:
            time.sleep(0.5)
            now = time.monotonic()
            self.count += now - last > 5
            last = now


def alone():
    """Once more, with a /dev/shm of our own, and names of namespaces that nobody else removes."""
    if os.geteuid() != 0 or os.environ.get(ALONE):
        return
    os.environ[ALONE] = "1"
    script = 'mount -t tmpfs -o size=2g tmpfs /dev/shm && mkdir -p /run/netns && mount -t tmpfs tmpfs /run/netns && exec "$@"; exec env -u PORTUNUS_SOAK_ALONE PORTUNUS_SOAK_ALONE=no "$@"'
    try:
        os.execvp("unshare", ["unshare", "--mount", "--propagation", "private", "sh", "-c", script, "sh", sys.executable, *sys.argv])
    except OSError:
        os.environ[ALONE] = "no"


def segments():
    return [name for name in os.listdir("/dev/shm")] if os.environ.get(ALONE) == "1" else []


class Flat:
    """What a job that goes on and on holds: memory, descriptors and threads must not grow, after it has got going."""

    def __init__(self, programs):
        self.programs = programs
        self.job = jobs.Job(programs.endless())
        self.first = self.last = {}
        self.shared = set()

    def look(self):
        now = {pid: facts for pid in self.job.ranks() if (facts := attacks_module.limits_of(pid))}
        self.last = now or self.last
        return now

    def settle(self):
        self.first = self.look()
        self.shared = set(segments())

    def again(self):
        """It does have an end."""
        if self.job.process.poll() != 0:
            return
        self.job.end()
        self.job = jobs.Job(self.programs.endless())
        time.sleep(10)
        self.settle()

    def wrong(self):
        if self.job.process.poll() is not None:
            return f"the job that should go on has ended with {self.job.process.returncode}\n{self.job.text()[-2000:]}"
        for pid, (memory, descriptors, threads) in self.look().items():
            was = self.first.get(pid)
            if was and (memory > 1.05 * was[0] + 4096 or descriptors > was[1] or threads > was[2]):
                return f"process {pid} has grown from {was} to {(memory, descriptors, threads)} (KiB, descriptors, threads)"
        if more := set(segments()) - self.shared:
            return f"left in /dev/shm: {sorted(more)}"
        return None


def soak(options, hosts):
    chance = random.Random(options.seed)
    programs = jobs.Programs(options.build, options.source, chance)
    attacks = attacks_module.Attacks(programs, chance, hosts)
    results = {name: [0, 0, 0] for name in attacks.all}  # tries, failures, not counted
    pauses, failures = Pauses(), []
    flat = Flat(programs)
    time.sleep(min(10, options.minutes * 20))
    flat.settle()
    begun = minute = time.monotonic()
    names = list(attacks.all)
    chance.shuffle(names)
    while time.monotonic() < begun + 60 * options.minutes or not all(tries for tries, _, _ in results.values()):
        name = names[sum(tries for tries, _, _ in results.values()) % len(names)] if options.in_turn else chance.choice(names)
        paused = pauses.count
        wrong = attacks.all[name]()
        if wrong and pauses.count != paused:
            results[name][2] += 1
            wrong = None
        results[name][0] += 1
        if wrong:
            results[name][1] += 1
            failures.append(f"{name}: {wrong}")
            print(f"FAILED {failures[-1]}", flush=True)
        if time.monotonic() >= minute + 60:
            minute = time.monotonic()
            flat.again()
            print(f"{(minute - begun) / 60:6.1f} min  {sum(t for t, _, _ in results.values())} tries, {len(failures)} failures; of the job that "
                  f"goes on: {' '.join(str(facts) for facts in flat.look().values())} (KiB, descriptors, threads); "
                  f"{len(segments())} files in /dev/shm", flush=True)
    if wrong := flat.wrong():
        failures.append(f"resources: {wrong}")
        print(f"FAILED {failures[-1]}", flush=True)
    first, last = list(flat.first.values()), list(flat.last.values())
    flat.job.end()
    print(f"\n{'attack':28} | {'tries':>5} | result\n{'-' * 28} | {'-' * 5} | {'-' * 20}")
    for name, (tries, failed, disturbed) in results.items():
        note = f", {disturbed} not counted, for this process was stopped meanwhile" if disturbed else ""
        print(f"{name:28} | {tries:5} | {'all well' if not failed else f'{failed} failed'}{note}")
    print(f"{'goes on all the time':28} | {1:5} | from {first} to {last} (KiB, descriptors, threads)")
    print(f"{len(failures)} failures in {(time.monotonic() - begun) / 60:.1f} minutes, seed {options.seed}")
    return 1 if failures else 0


def main():
    parser = argparse.ArgumentParser(description="Runs mixed jobs (MPI, SHMEM, GOAL) under attack - killed and stopped ranks, killed launchers, "
                                     "links that go down, limits - and sees that each ends as promised, and that nothing grows or is left "
                                     "behind. One line per minute, then a table; exit status 1 after any failure.")
    parser.add_argument("build", help="a build folder, with bench")
    parser.add_argument("--minutes", type=float, default=60, help="how long (60); each attack is made once at least")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="what is drawn; time is not")
    options = parser.parse_args()
    options.build = os.path.abspath(options.build)
    options.source = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
    options.in_turn = options.minutes < 5
    alone()
    if os.environ.get(ALONE) != "1":
        print("without a /dev/shm of its own: what is left there is not looked at", flush=True)
    try:
        with two_hosts.Hosts() as hosts:
            return soak(options, hosts)
    except two_hosts.CannotJoin as why:
        print(f"without links between namespaces: {why}", flush=True)
        return soak(options, None)


if __name__ == "__main__":
    sys.exit(main())
