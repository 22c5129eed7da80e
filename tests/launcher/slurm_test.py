#!/usr/bin/env python3
"""slurm_test.py CLIENT: jobs under Slurm, by PMIx and by PMI. A controller and a node of this machine are started for the test, with
ports, folders and keys of their own, and ended with it. Skips (77) where Slurm is not installed (Debian: slurm-wlm) or does not start.
"""
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

CLIENT = os.path.abspath(sys.argv[1])


def skip(why):
    print(f'skipped: {why}')
    sys.exit(77)


def free_port():
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        return probe.getsockname()[1]


tools = {name: shutil.which(name, path=os.environ['PATH'] + ':/usr/sbin') for name in ('slurmctld', 'slurmd', 'srun', 'munged', 'scontrol')}
missing = [name for name, path in tools.items() if path is None]
if missing:
    skip(f'{", ".join(missing)} not installed (Debian: slurm-wlm)')
if os.geteuid() != 0:
    skip('needs root')

folder = tempfile.mkdtemp(prefix='slurm-test.')
host = socket.gethostname().split('.')[0]
os.chmod(folder, 0o755)
for name in ('state', 'spool', 'munge'):
    os.mkdir(f'{folder}/{name}')
with open(f'{folder}/munge.key', 'wb') as file:
    file.write(os.urandom(128))
os.chmod(f'{folder}/munge.key', 0o400)
with open(f'{folder}/slurm.conf', 'w') as file:
    file.write(f'''ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={free_port()}
SlurmdPort={free_port()}
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/ctld.pid
SlurmdPidFile={folder}/d.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
MpiDefault=none
ReturnToService=2
NodeName={host} NodeAddr=127.0.0.1 CPUs={os.cpu_count()} State=UNKNOWN
PartitionName=all Nodes={host} Default=YES OverSubscribe=FORCE:8 State=UP
''')
environment = {name: value for name, value in os.environ.items() if not name.startswith(('SLURM_', 'PMIX_', 'PMI_'))}
environment['SLURM_CONF'] = f'{folder}/slurm.conf'
daemons, failed = [], 0


def daemon(*words):
    log = open(f'{folder}/{os.path.basename(words[0])}.log', 'w')
    daemons.append(subprocess.Popen(words, env=environment, stdout=log, stderr=log))


def srun(*words):
    return subprocess.run([tools['srun'], '--overcommit', *words], env=environment, capture_output=True, text=True, timeout=100)


def expect(holds, what, done):
    global failed
    if not holds:
        failed += 1
        print(f'FAILED: {what}: status {done.returncode}\n{done.stdout}{done.stderr}')


try:
    daemon(tools['munged'], '-F', '--force', f'--key-file={folder}/munge.key', f'--socket={folder}/munge/socket', f'--pid-file={folder}/munge/pid',
           f'--log-file={folder}/munge/log', f'--seed-file={folder}/munge/seed')
    while not os.path.exists(f'{folder}/munge/socket') and daemons[0].poll() is None:
        time.sleep(0.05)
    daemon(tools['slurmctld'], '-D', '-i')
    daemon(tools['slurmd'], '-D', '-N', host)
    up = False
    for _ in range(150):  # Slurm tells nobody when it is ready
        if any(one.poll() is not None for one in daemons):
            break
        words = subprocess.run([tools['scontrol'], 'show', 'node'], env=environment, capture_output=True, text=True).stdout
        up = bool(re.search(r'State=(IDLE|MIXED|ALLOCATED)\b(?!\*)', words))
        if up:
            break
        time.sleep(0.2)
    if not up:
        logs = ''.join(open(f'{folder}/{name}.log').read()[-500:] for name in ('munged', 'slurmctld', 'slurmd') if os.path.exists(f'{folder}/{name}.log'))
        skip(f'Slurm does not start here: {logs}')
    offered = srun('--mpi=list').stdout + srun('--mpi=list').stderr
    for kind in ('pmix', 'pmi2'):
        if kind not in offered:
            print(f'not tested: this Slurm has no {kind}')
            continue
        done = srun(f'--mpi={kind}', '-n', '3', CLIENT, 'exchange-at-fences')
        ranks = sorted(re.findall(r'^rank (\d+) size 3 local \d/3 peers 0 1 2 job', done.stdout, re.M))
        expect(done.returncode == 0 and ranks == ['0', '1', '2'], f'a job of three by {kind}', done)
        done = srun(f'--mpi={kind}', '-n', '2', CLIENT, 'abort', '1', '7')
        expect(done.returncode != 0 and 'the test asked for it' in done.stderr, f'the end of a job that aborts by {kind}', done)
    done = srun('--mpi=none', '-n', '3', CLIENT, 'tell')
    expect(done.stderr.count('portals: srun started 3 processes') == 1, 'singletons say so once', done)
    done = srun('--mpi=none', '-n', '2', CLIENT, 'place')
    expect(sorted(done.stdout.split()) == ['0/2', '1/2'], 'places that srun exports', done)
finally:
    for one in reversed(daemons):
        one.send_signal(signal.SIGTERM)
    for one in reversed(daemons):
        try:
            one.wait(20)
        except subprocess.TimeoutExpired:
            one.kill()
            one.wait()
    shutil.rmtree(folder, ignore_errors=True)
sys.exit(failed != 0)
