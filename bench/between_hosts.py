"""Jobs of each library between hosts: network namespaces, two of them joined by a veth pair and more by a bridge, each with its share of the
processors. Needs root."""

import os
import pathlib
import shutil
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests/hosts"))
import facts  # noqa: E402
import two_hosts  # noqa: E402
from two_hosts import CannotJoin  # noqa: E402,F401

SHAPE = ["burst", "32kb", "latency", "400ms"]
PACKET = "16384"  # bytes that pass the link whole
PORT = 7431


def missing(rate):
    """Why it cannot be done here, or None."""
    return two_hosts.missing() or (None if not rate or shutil.which("tc") else "needs tc(8) of Debian's iproute2")


class Bridged(two_hosts.Hosts):
    """Several namespaces on a bridge, which has one of its own."""

    def __init__(self, count):
        super().__init__()
        self.names = [two_hosts.NAME.format(pid=os.getpid(), side=f"h{number}a") for number in range(count)]
        self.bridge = two_hosts.NAME.format(pid=os.getpid(), side="p")
        self.addresses = tuple(f"10.77.1.{number + 1}" for number in range(count))

    def __enter__(self):
        try:
            for name in (self.bridge, *self.names):
                two_hosts.ip("netns", "add", name)
            two_hosts.ip("-n", self.bridge, "link", "add", "bridge0", "type", "bridge")
            two_hosts.ip("-n", self.bridge, "link", "set", "bridge0", "up")
            for number, (name, address) in enumerate(zip(self.names, self.addresses)):
                two_hosts.ip("-n", name, "link", "add", "veth0", "type", "veth", "peer", "name", f"port{number}", "netns", self.bridge)
                two_hosts.ip("-n", self.bridge, "link", "set", f"port{number}", "master", "bridge0", "up")
                two_hosts.ip("-n", name, "addr", "add", address + "/24", "dev", "veth0")
                for device in ("lo", "veth0"):
                    two_hosts.ip("-n", name, "link", "set", device, "up")
        except BaseException:
            self.remove()
            raise
        return self

    def remove(self):
        super().remove()
        two_hosts.ip("netns", "del", self.bridge, check=False)


class Between:
    """`rate`: of the link, as tc(8) writes it; None: it is as fast as the machine. `as_is`: the interfaces are left as they are made; else
    packets pass a shaped link whole, and TCP does not pace itself by timers. `hosts`: how many."""

    def __init__(self, folder, timeout, rate=None, as_is=False, hosts=2):
        self.folder, self.rate, self.as_is = pathlib.Path(folder), rate, as_is
        two_hosts.LIMIT_S = timeout
        two_hosts.sweep_dead()
        self.hosts = two_hosts.Hosts() if hosts == 2 else Bridged(hosts)
        self.count = hosts
        # As if each host had processors of its own: libraries that find others idle would spin on one, both on the same.
        cores = sorted(os.sched_getaffinity(0))
        self.shares = [["taskset", "-c", ",".join(map(str, cores[host::hosts] or [cores[host % len(cores)]]))] for host in range(hosts)]
        self.sent = 0

    def __enter__(self):
        self.hosts.__enter__()
        try:
            self.wait_for_link()
            for name in self.hosts.names if self.rate else ():
                if not self.as_is:
                    two_hosts.ip("-n", name, "link", "set", "veth0", "gso_max_size", PACKET)
                    two_hosts.ip("netns", "exec", name, "sysctl", "-q", "-w", "net.ipv4.tcp_congestion_control=reno")
                two_hosts.ip("netns", "exec", name, "tc", "qdisc", "add", "dev", "veth0", "root", "tbf", "rate", self.rate, *SHAPE)
            agent = self.folder / "agent"  # stands for ssh: AGENT [OPTION...] ADDRESS COMMAND...
            agent.write_text("#!/bin/sh\nwhile :; do case $1 in\n" +
                             "".join(f"{address}) name={name}; share='{' '.join(share)}'; shift; break;;\n"
                                     for address, name, share in zip(self.hosts.addresses, self.hosts.names, self.shares)) +
                             "*) shift;; esac; done\nexec $share ip netns exec $name unshare -u sh -c \"hostname $name; $*\"\n", encoding="utf-8")
            agent.chmod(0o755)
        except BaseException:
            self.hosts.remove()
            raise
        return self

    def __exit__(self, *_):
        self.hosts.remove()

    def wait_for_link(self):
        """Programs that find an interface down use others, or give up."""
        for _ in range(100):
            states = [self.hosts.finish([self.hosts.start(side, ["cat", "/sys/class/net/veth0/operstate"])])[0][1].strip() for side in range(self.count)]
            if set(states) == {"up"}:
                return
            time.sleep(0.1)
        raise CannotJoin(f"the interfaces did not come up: {', '.join(states)}")

    def start_each(self, command_of):
        """One process on each host, with its processors."""
        return [self.hosts.start(side, [*self.shares[side], *command_of(side)]) for side in range(self.count)]

    def start_ours(self, ptlrun, ranks, command):
        """A job of this project; `ranks` on each host."""
        return self.start_each(lambda side: [ptlrun, "--hosts", str(self.count), "--host-id", str(side), "--rendezvous", f"{self.hosts.addresses[0]}:{PORT}",
                                             "-n", str(ranks), *command])

    def start_peer(self, name, ranks, command, env=(), launcher=None, options=()):
        """A job of MPICH or Open MPI; `ranks` on each host."""
        addresses = self.hosts.addresses
        agent = str(self.folder / "agent")
        if name == "MPICH":
            # Bound by the launchers, ranks of Open MPI on both hosts would share the first processor.
            # Debian's is built on UCX, which would use shared memory; others on libfabric.
            launch = ["env", "UCX_TLS=tcp,self", "UCX_NET_DEVICES=veth0", "FI_PROVIDER=tcp", "FI_TCP_IFACE=veth0", "MPIR_CVAR_NOLOCAL=1", launcher or "mpiexec.mpich", "-launcher", "ssh",
                      "-launcher-exec", agent, "-localhost", addresses[0], "-hosts", ",".join(addresses), "-ppn", str(ranks), "-n", str(self.count * ranks)]
        else:
            # Of its ways for windows, the one by messages alone goes over tcp; version 5 no longer has it, and takes another that does.
            windows = ["--mca", "osc", "pt2pt"] if facts.open_mpi_version() < 5 else []
            # Open MPI 5 counts no slots of hosts that are named by addresses.
            launch = [launcher or "mpirun.openmpi", "--allow-run-as-root", "--bind-to", "none", "--map-by", f"ppr:{ranks}:node:OVERSUBSCRIBE",
                      "--mca", "plm_rsh_agent", agent, "--mca", "pml", "ob1", "--mca", "btl", "tcp,self", *windows,
                      "--mca", "btl_tcp_if_include", "veth0", "--mca", "oob_tcp_if_include", "veth0",
                      "--host", ",".join(f"{address}:{ranks}" for address in addresses), "-n", str(self.count * ranks)]
        # Hosts of one name would be taken for one, and shared memory used.
        name_it = ["unshare", "-u", "sh", "-c", f"hostname {self.hosts.names[0]}; exec \"$@\"", "sh"]
        return [self.hosts.start(0, ["env", *env, *self.shares[0], *name_it, *launch, *options, *command])]

    def finish(self, job, library):
        """What became of it, and how many bytes went over the link."""
        status, text = 0, ""
        for code, output in self.hosts.finish(job):
            status = status or code
            text += output
        # What a launcher that was ended has left would run beside the next job.
        for name in self.hosts.names if status else ():
            for pid in self.hosts.pids(name):
                two_hosts.kill(pid)
        counts = [self.hosts.finish([self.hosts.start(side, ["cat", "/sys/class/net/veth0/statistics/tx_bytes"])])[0][1] for side in range(self.count)]
        sent, self.sent = sum(map(int, counts)) - self.sent, sum(map(int, counts))
        return subprocess.CompletedProcess([library], status, text, ""), sent
