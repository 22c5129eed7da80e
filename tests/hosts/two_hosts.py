#!/usr/bin/env python3
"""Two hosts on one machine: network namespaces joined by a pair of veth interfaces, with ranks of one job in both.

  two_hosts.py --ptlrun PTLRUN [--run "RANKS PROGRAM ARGUMENT..."]... [--kill "RANKS PROGRAM ARGUMENT..."] [--silent PROGRAM] [--late PROGRAM]
               [--computing PROGRAM] [--outage "LIMIT SECONDS PROGRAM"]... [--interfaces "RANKS PROGRAM ARGUMENT..."]

--run   starts RANKS ranks of the program in each namespace, as one job of two ptlruns; both must return 0.
--kill  starts a program that never ends by itself, kills one of its ranks in the second namespace, and expects both
        ptlruns to end with a failure.
--silent starts `PROGRAM silent files FOLDER RANK 2` in each namespace, without a launcher, and takes down the network between
        them once both say "reading"; both must find out, and return 0.
--late  is the same with `PROGRAM late`; the network is down from "here" until both say "asking": they must meet all the same.
--computing is the same with a slow network and `PROGRAM computing`, which calls nothing while the network is down: ptlstat tells that both
        engines know. Then the network comes back, and no connection may stand for long, nor memory have changed. Needs tc(8), too.
--outage "LIMIT SECONDS PROGRAM": two ranks of `PROGRAM FILE SECONDS'`, which make FILE once they exchange data, with PTL_PEER_TIMEOUT=LIMIT.
        The network between them is down for SECONDS. A job whose limit is longer goes on and ends well; a job whose limit is shorter is
        ended on both hosts while the network is still down, and says why.
--interfaces runs an MPI program as --run does, with a second pair of interfaces and ptlrun --interfaces naming both: both must carry
        data, and PTL_INFO says which one rank 0 uses.
-x NAME=VALUE is given to every ptlrun.

Needs root and ip(8), for the namespaces; exits with 77, after the reason, where it cannot have them. What it makes is
named after its process id and removed at the end, however that comes about.
"""

import argparse
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

SKIPPED = 77
LIMIT_S = 280  # ends jobs that hang; no measure of speed
NAME = "ptl{pid}{side}"


class CannotJoin(Exception):
    """This machine does not let us make the network."""


def ip(*words, check=True):
    done = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)
    if check and done.returncode:
        raise CannotJoin(f"ip {' '.join(words)}: {done.stderr.strip() or 'failed'}")
    return done


def kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass  # it was faster


class Hosts:
    """The two namespaces, and the processes that were started in them."""

    addresses = ("10.77.1.1", "10.77.1.2")

    def __init__(self):
        self.names = [NAME.format(pid=os.getpid(), side=side) for side in "ab"]
        self.running = []

    def __enter__(self):
        try:
            for name in self.names:
                ip("netns", "add", name)
            # Made inside the first namespace, so that nothing is ever seen in the machine's own.
            ip("-n", self.names[0], "link", "add", "veth0", "type", "veth", "peer", "name", "veth0", "netns", self.names[1])
            for name, address in zip(self.names, self.addresses):
                ip("-n", name, "addr", "add", address + "/24", "dev", "veth0")
                for device in ("lo", "veth0"):
                    ip("-n", name, "link", "set", device, "up")
        except BaseException:
            self.remove()
            raise
        return self

    def __exit__(self, *_):
        self.remove()

    def remove(self):
        for process in self.running:
            process.terminate()  # ptlrun ends its ranks
        for process in self.running:
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        for name in self.names:
            for pid in self.pids(name):
                kill(pid)
            ip("netns", "del", name, check=False)

    def pids(self, name):
        return [int(word) for word in ip("netns", "pids", name, check=False).stdout.split()]

    def link(self, up):
        ip("-n", self.names[0], "link", "set", "veth0", "up" if up else "down")

    def start(self, side, command):
        # exec, so that the process started here is ptlrun itself and receives the signals
        output = tempfile.TemporaryFile()  # a pipe could fill up and stop the job
        process = subprocess.Popen(["ip", "netns", "exec", self.names[side], *command], stdin=subprocess.DEVNULL,
                                   stdout=output, stderr=subprocess.STDOUT)
        process.output = output
        self.running.append(process)
        return process

    def start_job(self, options, ranks, program, port, more=()):
        """One job: a ptlrun in each namespace, with more options if there are any."""
        exports = [word for setting in options.exports for word in ("-x", setting)]
        return [self.start(side, [options.ptlrun, "--hosts", "2", "--host-id", str(side), "--rendezvous",
                                  f"{self.addresses[0]}:{port}", "--timeout", str(LIMIT_S), *exports, *more, "-n", ranks,
                                  *program])
                for side in (0, 1)]

    def finish(self, job):
        """The output and the status of each ptlrun of a job."""
        ends = []
        for process in job:
            note = ""
            try:
                process.wait(timeout=LIMIT_S + 30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                note = f"\nthe job did not end within {LIMIT_S + 30} s\n"
            process.output.seek(0)
            output = process.output.read().decode(errors="replace") + note
            self.running.remove(process)
            ends.append((process.returncode, output))
        return ends

    def ranks_of(self, side, program):
        """The processes of this program in a namespace."""
        found = []
        for pid in self.pids(self.names[side]):
            try:
                if os.path.samefile(f"/proc/{pid}/exe", program):
                    found.append(pid)
            except OSError:
                pass  # it has just ended
        return found


def show(ends):
    for side, (status, output) in zip("AB", ends):
        print(f"--- host {side}: status {status}\n{output}", end="" if output.endswith("\n") else "\n")


def run_case(hosts, options, words, port):
    ranks, *program = shlex.split(words)
    ends = hosts.finish(hosts.start_job(options, ranks, program, port))
    good = all(status == 0 for status, _ in ends)
    print(f"{'ok    ' if good else 'FAILED'} {os.path.basename(program[0])} {' '.join(program[1:])}, {ranks} ranks on each host",
          flush=True)
    if not good:
        show(ends)
    return good


def carried(hosts, side, device):
    """The bytes that an interface of a host has sent."""
    return int(ip("netns", "exec", hosts.names[side], "cat", f"/sys/class/net/{device}/statistics/tx_bytes").stdout)


def interfaces_case(hosts, options, words, port):
    ip("-n", hosts.names[0], "link", "add", "veth1", "type", "veth", "peer", "name", "veth1", "netns", hosts.names[1])
    for name, address in zip(hosts.names, ("10.77.2.1", "10.77.2.2")):
        ip("-n", name, "addr", "add", address + "/24", "dev", "veth1")
        ip("-n", name, "link", "set", "veth1", "up")
    both = [(side, device) for side in (0, 1) for device in ("veth0", "veth1")]
    before = [carried(hosts, *one) for one in both]
    options = argparse.Namespace(ptlrun=options.ptlrun, exports=[*options.exports, "PTL_INFO=1"])
    ranks, *program = shlex.split(words)
    ends = hosts.finish(hosts.start_job(options, ranks, program, port, ["--interfaces", "veth0,veth1"]))
    good = all(status == 0 for status, _ in ends) and any(", veth0)" in output for _, output in ends)
    if not good:
        show(ends)
    sent = [carried(hosts, *one) - earlier for one, earlier in zip(both, before)]
    ip("-n", hosts.names[0], "link", "del", "veth1")
    spread = min(sent) > 1 << 20  # an interface that no rank uses sends some packets, too
    print(f"{'ok    ' if spread else 'FAILED'} two interfaces of each host carry data: {sent} bytes", flush=True)
    return good and spread


def kill_case(hosts, options, words, port):
    ranks, *program = shlex.split(words)
    job = hosts.start_job(options, ranks, program, port)
    path = shutil.which(program[0])
    give_up = time.monotonic() + LIMIT_S
    victims = []
    while len(victims) < int(ranks) and time.monotonic() < give_up and job[1].poll() is None:
        victims = hosts.ranks_of(1, path)
    if victims:
        kill(victims[-1])
    begin = time.monotonic()
    ends = hosts.finish(job)
    bounded = time.monotonic() - begin < LIMIT_S  # it was the death that ended the job, not its time limit
    left = [pid for side in (0, 1) for pid in hosts.ranks_of(side, path)]
    good = bool(victims) and bounded and not left and all(status != 0 for status, _ in ends)
    print(f"{'ok    ' if good else 'FAILED'} a rank killed on host B ends the job on both", flush=True)
    if not good:
        print(f"killed {victims[-1:]}, left behind {left}")
        show(ends)
    return good


def outage_case(hosts, options, words, port):
    limit, seconds, program = shlex.split(words)
    goes_on = float(seconds) < float(limit)
    with tempfile.TemporaryDirectory() as folder:
        made = os.path.join(folder, "exchanging")
        options = argparse.Namespace(ptlrun=options.ptlrun, exports=[*options.exports, "PTL_PEER_TIMEOUT=" + limit, "PTL_FABRIC_PROVIDER=tcp"])
        begin = time.monotonic()
        os.environ["PTL_PEER_TIMEOUT"] = limit  # for the ptlruns themselves
        # Longer than the network is down, also if it takes a while to begin.
        job = hosts.start_job(options, "1", [program, made, str(float(seconds) + (5 if goes_on else LIMIT_S))], port)
        del os.environ["PTL_PEER_TIMEOUT"]
        while not os.path.exists(made) and all(process.poll() is None for process in job):
            time.sleep(0.01)
        hosts.link(False)
        down = time.monotonic()
        ended = {}
        while len(ended) < 2 and time.monotonic() - begin < LIMIT_S:
            if goes_on and time.monotonic() - down >= float(seconds):
                break
            ended.update({side: time.monotonic() - down for side in (0, 1) if side not in ended and job[side].poll() is not None})
            time.sleep(0.01)
        hosts.link(True)
        ends = hosts.finish(job)
    if goes_on:
        good = not ended and all(status == 0 for status, _ in ends)
        told = "goes on"
    else:
        good = len(ended) == 2 and all(status != 0 and ("lost" in output or "reached" in output) for status, output in ends)
        told = "is ended after " + " and ".join(f"{ended[side]:.1f}" for side in sorted(ended)) + " s"
    print(f"{'ok    ' if good else 'FAILED'} a network down for {seconds} s under a limit of {limit} s: the job {told}", flush=True)
    if not good:
        show(ends)
    return good


def late_case(hosts, program):
    """There is no way between the hosts when the first messages are sent."""
    with tempfile.TemporaryDirectory() as folder:
        ranks = start_ranks(hosts, program, "late", folder, "60")
        said = [process.stdout.readline() for process in ranks]
        hosts.link(False)
        tell(ranks)
        said = [first + process.stdout.readline() for first, process in zip(said, ranks)]
        hosts.link(True)
        said = [first + process.communicate()[0] for first, process in zip(said, ranks)]
        for process in ranks:
            hosts.running.remove(process)
    good = all(process.returncode == 0 for process in ranks)
    print(f"{'ok    ' if good else 'FAILED'} two processes meet although the network between their hosts is down when they begin", flush=True)
    if not good:
        show([(process.returncode, output) for process, output in zip(ranks, said)])
    return good


def start_ranks(hosts, program, mode, folder, limit):
    """One process of it on each host, without a launcher."""
    ranks = [subprocess.Popen(["timeout", str(LIMIT_S), "ip", "netns", "exec", name, program, mode, "files", folder, str(rank), "2"],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              env={**os.environ, "PTL_PEER_TIMEOUT": limit}) for rank, name in enumerate(hosts.names)]
    hosts.running += ranks
    return ranks


def silent_case(hosts, program):
    """No word comes of the other host any more, not even that it is gone."""
    with tempfile.TemporaryDirectory() as folder:
        ranks = start_ranks(hosts, program, "silent", folder, "2")
        said = [process.stdout.readline() for process in ranks]
        hosts.link(False)
        said = [first + process.communicate()[0] for first, process in zip(said, ranks)]
        for process in ranks:
            hosts.running.remove(process)
        hosts.link(True)
    good = all(process.returncode == 0 for process in ranks)
    print(f"{'ok    ' if good else 'FAILED'} two processes notice that the network between their hosts has gone silent", flush=True)
    if not good:
        show([(process.returncode, output) for process, output in zip(ranks, said)])
    return good


def lost_peers(ptlstat, pid):
    done = subprocess.run([ptlstat, "--json", str(pid)], capture_output=True, text=True, check=False)
    return json.loads(done.stdout)["counters"]["lost_peers"] if done.returncode == 0 else 0


def connections(hosts, side):
    """Those from this host to the other that stand."""
    return ip("netns", "exec", hosts.names[side], "ss", "-Htn", "state", "established", "dst", hosts.addresses[1 - side]).stdout


def computing_case(hosts, program, ptlstat):
    """Both engines notice by themselves, while their processes compute."""
    what = "two processes that compute notice that the network has gone, and are left alone when it comes back"
    if shutil.which("tc") is None:
        print(f"skipped: {what}: needs tc(8) of Debian's iproute2")
        return True
    for name in hosts.names:  # so slow that what is read is still on its way
        ip("netns", "exec", name, "tc", "qdisc", "add", "dev", "veth0", "root", "tbf", "rate", "50mbit", "burst", "32kb", "latency", "400ms")
    with tempfile.TemporaryDirectory() as folder:
        ranks = start_ranks(hosts, program, "computing", folder, "2")
        said = [process.stdout.readline() for process in ranks]
        hosts.link(False)
        pids = [pid for side in (0, 1) for pid in hosts.ranks_of(side, program)]
        give_up = time.monotonic() + LIMIT_S
        know = False
        while not know and time.monotonic() < give_up and all(process.poll() is None for process in ranks):
            know = len(pids) == 2 and all(lost_peers(ptlstat, pid) > 0 for pid in pids)
            time.sleep(0.05)
        tell(ranks)
        said = [first + process.stdout.readline() for first, process in zip(said, ranks)]
        hosts.link(True)
        # What one kernel still has for the other comes over these connections, in a while.
        while any(connections(hosts, side) for side in (0, 1)) and time.monotonic() < give_up:
            time.sleep(0.05)
        tell(ranks)
        said = [first + process.communicate()[0] for first, process in zip(said, ranks)]
        for process in ranks:
            hosts.running.remove(process)
    for name in hosts.names:
        ip("netns", "exec", name, "tc", "qdisc", "del", "dev", "veth0", "root")
    good = know and all(process.returncode == 0 for process in ranks)
    print(f"{'ok    ' if good else 'FAILED'} {what}", flush=True)
    if not good:
        show([(process.returncode, output) for process, output in zip(ranks, said)])
    return good


def tell(processes):
    for process in processes:
        try:
            process.stdin.write("\n")
            process.stdin.flush()
        except BrokenPipeError:
            pass  # it has ended; its status says why


def missing():
    """Why there can be no namespaces here; None when there can."""
    if os.geteuid() != 0:
        return "needs root to make network namespaces"
    if shutil.which("ip") is None:
        return "needs ip(8) of Debian's iproute2"
    probe = NAME.format(pid=os.getpid(), side="p")
    done = ip("netns", "add", probe, check=False)
    ip("netns", "del", probe, check=False)
    return f"no network namespace can be made here: {done.stderr.strip()}" if done.returncode else None


def sweep_dead():
    """Removes the namespaces of earlier runs that were killed before they could."""
    for line in ip("netns", "list", check=False).stdout.splitlines():
        name = line.split()[0]
        pid = name[3:-1].partition("h")[0]
        if name.startswith("ptl") and name[-1] in "abp" and pid.isdigit() and not os.path.exists(f"/proc/{pid}"):
            ip("netns", "del", name, check=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ptlrun", required=True)
    parser.add_argument("--run", action="append", default=[])
    parser.add_argument("--kill")
    parser.add_argument("--silent")
    parser.add_argument("--late")
    parser.add_argument("--computing")
    parser.add_argument("--outage", action="append", default=[])
    parser.add_argument("--interfaces")
    parser.add_argument("-x", dest="exports", action="append", default=[])
    options = parser.parse_args()
    reason = missing()
    if reason:
        print(reason)
        return SKIPPED
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    sweep_dead()
    good = True
    try:
        with Hosts() as hosts:
            for index, words in enumerate(options.run):
                good = run_case(hosts, options, words, 7000 + index) and good
            if options.kill:
                good = kill_case(hosts, options, options.kill, 7000 + len(options.run)) and good
            if options.silent:
                good = silent_case(hosts, options.silent) and good
            if options.late:
                good = late_case(hosts, options.late) and good
            if options.computing:
                good = computing_case(hosts, options.computing, os.path.join(os.path.dirname(options.ptlrun), "ptlstat")) and good
            for index, words in enumerate(options.outage):
                good = outage_case(hosts, options, words, 7100 + index) and good
            if options.interfaces:
                good = interfaces_case(hosts, options, options.interfaces, 7200) and good
    except CannotJoin as error:
        print(f"the two namespaces could not be joined: {error}")
        return SKIPPED
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
