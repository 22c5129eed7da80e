"""Attacks: each runs one job, does something to it, and says what is wrong with how that ended; None: nothing is."""

import os
import resource
import signal
import time

import jobs

PATIENCE = 180  # ends what hangs; no measure of speed


class Attacks:
    def __init__(self, programs, chance, hosts):
        self.programs, self.chance, self.hosts = programs, chance, hosts
        self.all = {"none": self.none, "rank killed": self.killed, "launcher killed": self.launcher_killed,
                    "rank killed, others go on": self.survived, "ranks stopped": self.stopped, "job interrupted": self.interrupted,
                    "few descriptors": self.few_descriptors, "little memory": self.little_memory}
        if hosts:
            self.all |= {"link down for a while": self.link_flaps, "link down for good": self.link_lost}

    def start(self, options=(), program=None, settings=None, limits=None):
        drawn, way = self.programs.any()
        settings = way if settings is None else settings
        return jobs.Job([self.programs.ptlrun, *options, *(program or drawn)], settings, limits=limits)

    def wait_a_bit(self, most=1.5):
        time.sleep(self.chance.random() * most)

    def judged(self, job, allowed, patience=PATIENCE):
        """Ends the job; the sentence."""
        status = job.wait(patience)
        try:
            if status is None:
                return f"hangs: {' '.join(job.command)}\n{job.text()[-2000:]}\n{jobs.stacks(job)}"
            if left := job.left():
                return f"leaves {len(left)} processes behind: {' '.join(job.command)}"
            if not allowed(status):
                return f"ends with {status}: {' '.join(job.command)}\n{job.text()[-2000:]}"
            return None
        finally:
            job.end()

    def none(self):
        return self.judged(self.start(), lambda status: status == 0)

    # Over before the signal comes, or ended with the status of whoever was hit, or of who noticed first.
    def killed(self):
        job = self.start()
        self.wait_a_bit()
        if ranks := job.ranks():
            jobs.signalled(self.chance.choice(ranks), signal.SIGKILL)
        return self.judged(job, lambda status: status >= 0)

    def launcher_killed(self):
        job = self.start()
        self.wait_a_bit()
        jobs.signalled(job.process.pid, signal.SIGKILL)
        return self.judged(job, lambda status: status in (0, -signal.SIGKILL))

    def survived(self):
        job = self.start(["--keep-going", "--timeout", str(PATIENCE - 10)], self.programs.mitigating())
        return self.judged(job, lambda status: status in (0, 128 + signal.SIGKILL))

    def stopped(self):
        job = self.start()
        self.wait_a_bit()
        ranks = job.ranks()
        hit = self.chance.sample(ranks, self.chance.randint(1, len(ranks))) if ranks else []
        for pid in hit:
            jobs.signalled(pid, signal.SIGSTOP)
        time.sleep(self.chance.random() * 3)
        for pid in hit:
            jobs.signalled(pid, signal.SIGCONT)
        return self.judged(job, lambda status: status == 0)

    def interrupted(self):
        job = self.start()
        self.wait_a_bit()
        jobs.signalled(job.process.pid, signal.SIGTERM)
        return self.judged(job, lambda status: status in (0, 128 + signal.SIGTERM, -signal.SIGTERM))

    # It runs, or says why not.
    def few_descriptors(self):
        most = self.chance.randint(8, 60)
        job = self.start(limits=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (most, most)))
        return self.told(job)

    def little_memory(self):
        most = self.chance.randint(50, 4000) << 20
        job = self.start(limits=lambda: resource.setrlimit(resource.RLIMIT_AS, (most, most)))
        return self.told(job)

    def told(self, job):
        said = []

        def allowed(status):
            said.append(job.text())
            return status == 0 or (0 < status < 128 and "terminate called" not in said[0] and len(said[0].split()) > 3)

        return self.judged(job, allowed)

    # ---- two namespaces ----
    def two(self, settings):
        program = [self.programs.path("bench/apps/mpi/halo"), "--steps", "3000", "--rows", "64", "--columns", "64"]
        port = str(self.chance.randint(20000, 30000))
        return [jobs.Job([self.programs.ptlrun, "--hosts", "2", "--host-id", str(side), "--rendezvous", f"{self.hosts.addresses[0]}:{port}",
                          "-n", "1", *program], settings, prefix=["ip", "netns", "exec", self.hosts.names[side]]) for side in (0, 1)]

    def link_flaps(self):
        pair = self.two({"PTL_PEER_TIMEOUT": "20"})
        time.sleep(1)
        for _ in range(self.chance.randint(1, 3)):
            self.wait_a_bit()
            self.hosts.link(up=False)
            time.sleep(self.chance.random() * 3)
            self.hosts.link(up=True)
        return self.of_both(pair, lambda status: status == 0)

    def link_lost(self):
        pair = self.two({"PTL_PEER_TIMEOUT": "3"})
        time.sleep(1)
        self.wait_a_bit()
        self.hosts.link(up=False)
        wrong = self.of_both(pair, lambda status: status >= 0)
        self.hosts.link(up=True)
        return wrong

    def of_both(self, pair, allowed):
        wrong = [self.judged(job, allowed) for job in pair]
        return wrong[0] or wrong[1]


def limits_of(pid):
    """Memory in KiB, descriptors, threads of one process; None: it is gone."""
    try:
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
            facts = dict(line.split(":", 1) for line in file if ":" in line)
        return (int(facts["VmRSS"].split()[0]), len(os.listdir(f"/proc/{pid}/fd")), int(facts["Threads"]))
    except (OSError, KeyError):
        return None
