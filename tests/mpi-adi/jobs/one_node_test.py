#!/usr/bin/env python3
"""one_node_test.py PTLRUN PROGRAM: a job of two launchers on this host, with two ranks each, is one node of four."""
import socket
import subprocess
import sys

ptlrun, program = sys.argv[1:]
with socket.socket() as probe:
    probe.bind(("127.0.0.1", 0))
    where = f"127.0.0.1:{probe.getsockname()[1]}"
launchers = [subprocess.Popen([ptlrun, "--hosts", "2", "--host-id", host, "--rendezvous", where, "--timeout", "280", "-n", "2", program],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) for host in ("0", "1")]
said = [launcher.communicate()[0] for launcher in launchers]
print("".join(said), end="")
sys.exit(any(launcher.returncode for launcher in launchers) or "".join(said) != "a node of 4, 0 wrong\n")
