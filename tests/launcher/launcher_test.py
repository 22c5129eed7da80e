#!/usr/bin/env python3
"""The launcher and the bootstrap, from outside: what a user sees of ptlrun, and what ranks learn of their job.

Usage: launcher_test.py PTLRUN CLIENT [unittest arguments]
Nothing here sleeps: a test waits for a line, for the end of a stream or for the end of a process.
"""
import contextlib
import ctypes
import fcntl
import glob
import os
import pty
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import unittest

PTLRUN, CLIENT = '', ''
HANG = 280  # a job that takes longer will never end


def run(*arguments, stdin='', env=None):
    """Runs ptlrun to its end."""
    return subprocess.run([PTLRUN, *arguments], input=stdin, capture_output=True, text=True, timeout=HANG,
                          env={**os.environ, **(env or {})})


def start(*arguments, program=None, **more):
    return subprocess.Popen([program or PTLRUN, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)


def shell(script):
    return ['sh', '-c', script]


@contextlib.contextmanager
def adopted_orphans():
    """What a killed ptlrun leaves to end by itself becomes our child, so that its end can be waited for."""
    prctl, set_child_subreaper = ctypes.CDLL(None).prctl, 36
    prctl(set_child_subreaper, 1, 0, 0, 0)
    try:
        yield
        while True:
            os.waitpid(-1, 0)
    except ChildProcessError:
        pass
    finally:
        prctl(set_child_subreaper, 0, 0, 0, 0)


class LauncherTest(unittest.TestCase):
    """Every test runs with a temporary folder of its own, which must be empty again at its end."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix='launcher-test.')
        self.old_folder = os.environ.get('TMPDIR')
        os.environ['TMPDIR'] = self.folder

    def tearDown(self):
        if self.old_folder is None:
            del os.environ['TMPDIR']
        else:
            os.environ['TMPDIR'] = self.old_folder
        left = os.listdir(self.folder)
        shutil.rmtree(self.folder)
        self.assertEqual(left, [], 'ptlrun left files behind')

    def ended(self, process):
        """Waits for the end; returns status, stdout and stderr. Streams end only when every rank has let go of them."""
        out, err = process.communicate(timeout=HANG)
        return process.returncode, out, err


class Job(LauncherTest):
    def check_ranks(self, output, size, local):
        lines = sorted(line for line in output.splitlines() if line.startswith('rank '))
        self.assertEqual(len(lines), size)
        jobs = set()
        for line in lines:
            found = re.fullmatch(r'rank (\d+) size (\d+) local (\d+)/(\d+) peers ([\d ]+) job (\S+)', line)
            self.assertTrue(found, line)
            rank, peers = int(found[1]), [int(peer) for peer in found[5].split()]
            self.assertEqual((int(found[2]), int(found[4])), (size, local[rank]))
            self.assertEqual(peers[int(found[3])], rank)
            self.assertEqual(len(peers), local[rank])
            jobs.add(found[6])
        self.assertEqual(len(jobs), 1)
        return jobs.pop()

    def test_every_rank_learns_its_place_and_gets_what_the_others_put(self):
        for size in (1, 2, 4, 8):
            with self.subTest(size=size):
                done = run('-n', str(size), CLIENT, 'exchange')
                self.assertEqual((done.returncode, done.stderr), (0, ''))
                job = self.check_ranks(done.stdout, size, [size] * size)
                self.assertRegex(job, r'^ptlrun-')

    def test_job_ids_differ_and_are_told_in_the_environment(self):
        ids = {run('-n', '1', *shell('echo $PTL_JOB_ID')).stdout for _ in range(3)}
        self.assertEqual(len(ids), 3)

    def test_program_started_alone_is_a_job_of_one(self):
        environment = {name: value for name, value in os.environ.items() if not name.startswith('PMIX_')}
        done = subprocess.run([CLIENT, 'exchange'], capture_output=True, text=True, timeout=HANG, env=environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(self.check_ranks(done.stdout, 1, [1]), r'^alone-')

    def test_program_alone_ends_with_the_status_it_aborts_with(self):
        done = subprocess.run([CLIENT, 'abort', '0', '9'], capture_output=True, text=True, timeout=HANG)
        self.assertEqual((done.returncode, done.stderr), (9, 'the test asked for it\n'))

    def test_server_that_is_gone_is_named_with_a_remedy(self):
        stale = {'PMIX_NAMESPACE': 'gone', 'PMIX_RANK': '0', 'PMIX_SERVER_URI41': 'gone.0;tcp4://127.0.0.1:1'}
        done = subprocess.run([CLIENT, 'tell'], capture_output=True, text=True, timeout=HANG, env={**os.environ, **stale})
        self.assertEqual(done.returncode, 98)
        self.assertIn('ptlrun', done.stderr)

    def test_value_that_nobody_put_and_rank_that_does_not_exist_are_refused(self):
        done = run('-n', '2', CLIENT, 'missing')
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.count("gave no value 'never-put'"), 2)
        self.assertEqual(done.stdout.count('rank 2 does not exist'), 2)

    def test_ranks_that_share_values_of_different_lengths_are_all_told(self):
        for size in (2, 12):
            with self.subTest(size=size):
                done = run('-n', str(size), CLIENT, 'share-unevenly')
                self.assertEqual((done.returncode, len(done.stderr.splitlines())), (0, size), done.stderr)
                self.assertIn(f'rank {size - 1} shares 2 bytes', done.stderr)

    def test_job_in_a_job_is_served_by_the_inner_launcher(self):
        done = run('-n', '1', PTLRUN, '-n', '2', CLIENT, 'exchange')
        self.assertEqual(done.returncode, 0, done.stderr)
        self.check_ranks(done.stdout, 2, [2, 2])

    @unittest.skipUnless(shutil.which('mpirun'), 'mpirun of Open MPI is not installed')
    def test_same_program_runs_under_open_mpi(self):
        version = subprocess.run(['mpirun', '--version'], capture_output=True, text=True).stdout
        if 'Open MPI' not in version:
            self.skipTest('mpirun is not that of Open MPI')
        # Open MPI's own folder of sockets must have a short name.
        environment = {name: value for name, value in os.environ.items() if not name.startswith('PMIX_') and name != 'TMPDIR'}
        for size in (1, 2, 4):
            with self.subTest(size=size):
                done = subprocess.run(['mpirun', '--allow-run-as-root', '--oversubscribe', '-n', str(size), CLIENT, 'exchange'],
                                      capture_output=True, text=True, timeout=HANG, env=environment)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.check_ranks(done.stdout, size, [size] * size)
        done = subprocess.run(['mpirun', '--allow-run-as-root', '--oversubscribe', '-n', '2', CLIENT, 'abort', '1', '7'],
                              capture_output=True, text=True, timeout=HANG, env=environment)
        self.assertEqual(done.returncode, 7)


def without(*prefixes):
    """This environment without the variables of launchers."""
    return {name: value for name, value in os.environ.items() if not name.startswith(prefixes)}


class ForeignLaunchers(LauncherTest):
    """Jobs that others start: MPICH's mpiexec by PMI-1, Slurm by PMIx and by PMI; and what is said where nothing can be asked."""

    @unittest.skipUnless(shutil.which('mpiexec.hydra'), 'mpiexec.hydra of MPICH is not installed')
    def test_hydra_starts_jobs_by_pmi_1(self):
        def hydra(*arguments):
            return subprocess.run(['mpiexec.hydra', '-launcher', 'fork', *arguments], capture_output=True, text=True, timeout=HANG,
                                  env=without('PMIX_', 'PMI_'))

        for size in (1, 3, 8):
            with self.subTest(size=size):
                done = hydra('-n', str(size), CLIENT, 'exchange-at-fences')
                if 'PMIU_cmd_is_static' in done.stderr:
                    self.skipTest('the proxy of MPICH 4.2 ends by an assertion of its own where 6 ranks put values of the greatest length')
                self.assertEqual((done.returncode, done.stderr), (0, ''))
                Job.check_ranks(self, done.stdout, size, [size] * size)
        done = hydra('-n', '2', CLIENT, 'twice')
        self.assertEqual((done.returncode, done.stderr), (0, ''))
        done = hydra('-n', '2', CLIENT, 'missing')
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.count("gave no value 'never-put'"), 2)
        self.assertEqual(hydra('-n', '3', CLIENT, 'abort', '1', '7').returncode, 7)
        # Jobs in jobs belong to the inner launcher.
        done = hydra('-n', '1', PTLRUN, '-n', '2', CLIENT, 'exchange')
        self.assertEqual(done.returncode, 0, done.stderr)
        self.check_inner(done.stdout)
        done = run('-n', '1', 'mpiexec.hydra', '-launcher', 'fork', '-n', '2', CLIENT, 'exchange-at-fences')
        self.assertEqual(done.returncode, 0, done.stderr)
        self.check_inner(done.stdout)

    def check_inner(self, output):
        Job.check_ranks(self, output, 2, [2, 2])

    def test_singletons_that_cannot_ask_their_launcher_say_so_once(self):
        clean = without('PMIX_', 'PMI_', 'OMPI_', 'SLURM_')
        for variables in (('OMPI_COMM_WORLD_RANK', 'OMPI_COMM_WORLD_SIZE'), ('SLURM_PROCID', 'SLURM_STEP_NUM_TASKS'), ('PMI_RANK', 'PMI_SIZE')):
            with self.subTest(variables=variables):
                said = ''
                for rank in range(3):
                    done = subprocess.run([CLIENT, 'tell'], capture_output=True, text=True, timeout=HANG,
                                          env={**clean, variables[0]: str(rank), variables[1]: '3'})
                    self.assertEqual(done.returncode, 0)
                    Job.check_ranks(self, done.stdout, 1, [1])
                    said += done.stderr
                self.assertRegex(said, r'^portals: .* started 3 processes, but offers no PMIx or PMI .*\n$')
        self.assertEqual(subprocess.run([CLIENT, 'tell'], capture_output=True, text=True, env=clean).stderr, '')

    def test_place_on_the_node_is_taken_from_what_launchers_export(self):
        clean = without('PTL_LOCAL', 'MPI_LOCAL', 'OMPI_', 'SLURM_')
        for told, place in (({}, 'unknown'), ({'MPI_LOCALRANKID': '1', 'MPI_LOCALNRANKS': '3'}, '1/3'),
                            ({'OMPI_COMM_WORLD_LOCAL_RANK': '0', 'OMPI_COMM_WORLD_LOCAL_SIZE': '2'}, '0/2'),
                            ({'SLURM_LOCALID': '3', 'SLURM_NODEID': '1', 'SLURM_STEP_TASKS_PER_NODE': '4(x2),1'}, '3/4'),
                            ({'SLURM_LOCALID': '0', 'SLURM_NODEID': '2', 'SLURM_STEP_TASKS_PER_NODE': '4(x2),1'}, '0/1'),
                            ({'SLURM_LOCALID': '0', 'SLURM_NODEID': '3', 'SLURM_STEP_TASKS_PER_NODE': '4(x2),1'}, 'unknown'),
                            ({'SLURM_LOCALID': '0', 'SLURM_NODEID': '0', 'SLURM_STEP_TASKS_PER_NODE': '4(y'}, 'unknown'),
                            ({'MPI_LOCALRANKID': '3', 'MPI_LOCALNRANKS': '3'}, 'unknown'),
                            ({'MPI_LOCALRANKID': '-1', 'MPI_LOCALNRANKS': 'x'}, 'unknown')):
            with self.subTest(told=told):
                done = subprocess.run([CLIENT, 'place'], capture_output=True, text=True, timeout=HANG, env={**clean, **told})
                self.assertEqual(done.stdout, place + '\n')
        self.assertEqual(sorted(run('-n', '2', CLIENT, 'place').stdout.split()), ['0/2', '1/2'])


class End(LauncherTest):
    def test_job_ends_with_zero_when_all_ranks_do(self):
        self.assertEqual(run('-n', '3', 'true').returncode, 0)

    def test_rank_that_exits_non_zero_ends_the_others_and_gives_its_status(self):
        done = run('-n', '4', CLIENT, 'exit', '2', '3')
        self.assertEqual(done.returncode, 3)
        self.assertEqual(done.stderr, 'ptlrun: rank 2 ended with exit status 3\n')

    def test_rank_that_dies_while_the_others_wait_for_it_gives_its_status(self):
        for _ in range(10):  # libpmix's server may break when it sees many ranks die in a fence; ptlrun must not
            done = run('-n', '8', CLIENT, 'stay-away', '3')
            self.assertEqual((done.returncode, done.stderr.splitlines()[-1]), (3, 'ptlrun: rank 7 ended with exit status 3'))

    def test_ranks_that_a_signal_kills_in_a_fence_give_128_more(self):
        for _ in range(10):
            process = start('-n', '8', CLIENT, 'stay-away', '0')
            for _ in range(7):
                self.assertEqual(process.stdout.readline(), 'ready\n')
            process.send_signal(signal.SIGINT)
            self.assertEqual(self.ended(process)[0], 128 + signal.SIGINT)

    def test_rank_that_a_signal_kills_ends_the_others_and_gives_128_more(self):
        for number in (signal.SIGKILL, signal.SIGABRT, signal.SIGTERM):
            with self.subTest(number=number):
                done = run('-n', '3', CLIENT, 'signal', '1', str(int(number)))
                self.assertEqual(done.returncode, 128 + number)
                self.assertIn(f'rank 1 was killed by signal {int(number)}', done.stderr)

    def test_rank_that_aborts_ends_the_others_and_gives_its_status(self):
        done = run('-n', '3', CLIENT, 'abort', '1', '7')
        self.assertEqual(done.returncode, 7)
        self.assertIn('the test asked for it', done.stderr)
        self.assertIn('rank 1 aborted the job with status 7', done.stderr)

    def test_abort_with_zero_ends_the_others_and_gives_zero(self):
        done = run('-n', '3', CLIENT, 'abort', '1', '0')
        self.assertEqual((done.returncode, done.stderr), (0, 'the test asked for it\n'))

    def test_others_go_on_where_that_is_wanted_and_the_failure_is_returned(self):
        script = 'case $PMIX_RANK in 0) read line; echo "$line";; 1) kill -9 $$;; 2) :;; esac'
        process = start('--keep-going', '-n', '3', *shell(script), stdin=subprocess.PIPE)
        said = ''
        while 'signal 9' not in said:  # only then does rank 0 hear anything
            said += process.stderr.readline()
        self.assertIn('rank 1 was killed by signal 9', said)
        self.assertIn('the others go on', said)
        process.stdin.write('still here\n')
        status, out, _ = self.ended(process)
        self.assertEqual((status, out), (137, 'still here\n'))

    def test_rank_that_ends_before_it_joins_is_missed_by_those_who_wait_for_it(self):
        for options, end, status in (['-n', '3'], 'exit 0', 98), (['--keep-going', '-n', '3'], 'exit 0', 98), (['--keep-going', '-n', '3'], 'kill -9 $$', 137):
            with self.subTest(options=options, end=end):
                done = run('--timeout', '60', *options, *shell(f'[ $PMIX_RANK = 1 ] && {end}; exec {CLIENT} exchange'))
                self.assertIn(done.returncode, (98, status), done.stderr)
                self.assertIn('rank 1 has ended without joining the job', done.stderr)

    def check_last_words(self, out, ranks, lines):
        said = {rank: [] for rank in ranks}
        for line in out.splitlines():
            found = re.fullmatch(r'(?:\[\d+\] )?rank (\d+) line (\d+)', line)
            self.assertTrue(found, line)
            if int(found[1]) in said:
                said[int(found[1])].append(int(found[2]))
        self.assertEqual({rank: heard == list(range(lines)) for rank, heard in said.items()}, {rank: True for rank in ranks})

    ENDS = ((1, 1), (3, 3), (128 + 6, 134), (128 + 9, 137))  # how a rank ends, and what the launcher returns

    def test_what_was_written_before_a_rank_is_ended_is_there(self):
        # In whole lines that fit a pipe, and in more than that, which is on its way when the first rank ends. Pieces of a page keep lines
        # of several ranks apart only where each is tagged.
        for tag, lines in (([], 1), ([], 100), (['--tag-output'], 1), (['--tag-output'], 5000)):
            options = ['--finish', '1000', *tag]  # however busy the machine is
            for how, status in ((0, 0), *self.ENDS):
                for _ in range(5):
                    with self.subTest(options=options, lines=lines, how=how, all='have finalized'):
                        done = run('-n', '4', *options, CLIENT, 'leave-together', str(how), str(lines))
                        self.assertEqual(done.returncode, status, done.stderr)
                        self.check_last_words(done.stdout, range(4), lines)
            for how, status in (*self.ENDS, (200, 7)):
                with self.subTest(options=options, lines=lines, how=how, all='but the one that ends have finalized'):
                    done = run('-n', '3', *options, CLIENT, 'outlive', str(how), str(lines))
                    self.assertEqual(done.returncode, status, done.stderr)
                    self.check_last_words(done.stdout, (1, 2), lines)
                with self.subTest(options=options, lines=lines, how=how, all='wait'):
                    done = run('-n', '3', *options, CLIENT, 'speak-and-wait', str(how), str(lines))
                    self.assertEqual(done.returncode, status, done.stderr)
                    self.check_last_words(done.stdout, (0, 1, 2), lines)

    def test_ranks_that_have_finalized_but_do_not_end_are_ended(self):
        script = f'{CLIENT} exchange-at-fences; [ $PMIX_RANK = 1 ] && exit 5; exec sleep 1000'
        done = run('-n', '2', '--finish', '0.2', *shell(script))
        self.assertEqual(done.returncode, 5)
        self.assertIn('did not end within 0.2 s', done.stderr)
        self.assertEqual(run('-n', '2', '--finish', '0', *shell(script)).returncode, 5)
        process = start('-n', '2', '--finish', '1000', *shell(script))
        self.assertIn('rank 1 ended with exit status 5', process.stderr.readline())
        process.send_signal(signal.SIGTERM)  # whoever asks need not wait for them
        self.assertEqual(self.ended(process)[0], 5)

    def test_rank_that_ignores_being_asked_is_killed(self):
        done = run('-n', '2', '--grace', '0.2', *shell('trap "" TERM; [ $PMIX_RANK = 1 ] && exit 5; while :; do sleep 1000; done'))
        self.assertEqual(done.returncode, 5)

    def test_timeout_ends_the_job_with_124(self):
        done = run('-n', '2', '--timeout', '0.2', 'sleep', '1000')
        self.assertEqual(done.returncode, 124)
        self.assertIn('did not end within 0.2 s', done.stderr)

    def test_timeout_is_that_of_other_launchers_unless_one_is_given(self):
        done = run('-n', '2', 'sleep', '1000', env={'MPIEXEC_TIMEOUT': '0.2'})
        self.assertEqual(done.returncode, 124)
        self.assertEqual(run('-n', '1', '--timeout', '60', 'sleep', '0.3', env={'MPIEXEC_TIMEOUT': '0.2'}).returncode, 0)
        done = run('-n', '1', 'true', env={'MPIEXEC_TIMEOUT': 'soon'})
        self.assertEqual(done.returncode, 2)
        self.assertIn("MPIEXEC_TIMEOUT is 'soon'", done.stderr)

    def test_descendants_end_with_the_job(self):
        # The stream ends only when the sleepers, which hold it, have ended.
        for script in ('sleep 1000 & exit 0', 'setsid sleep 1000 & exit 0', '(setsid sh -c "sleep 1000 & sleep 1000" &); exit 3'):
            with self.subTest(script=script):
                done = run('-n', '2', *shell(script))
                self.assertEqual(done.returncode, 3 if 'exit 3' in script else 0)

    def test_killed_launcher_leaves_neither_ranks_nor_files(self):
        with adopted_orphans():
            process = start('-n', '2', *shell('sleep 1000 & echo ready; wait'))
            self.assertEqual([process.stdout.readline() for _ in range(2)], ['ready\n', 'ready\n'])
            process.kill()
            self.assertEqual(self.ended(process)[0], -signal.SIGKILL)


class Segments(LauncherTest):
    """Files in /dev/shm named portunus.*: their owners hold an exclusive flock on them."""

    def setUp(self):
        super().setUp()
        if not os.access('/dev/shm', os.W_OK):
            self.skipTest('/dev/shm cannot be written')
        self.mine = f'/dev/shm/portunus.launcher-test-{os.getpid()}'

    def tearDown(self):
        for path in glob.glob(self.mine + '*'):
            os.unlink(path)
        super().tearDown()

    def test_segment_of_a_dead_owner_is_swept(self):
        with open(self.mine, 'w') as file:
            file.write('x')
        run('-n', '1', 'true')
        self.assertFalse(os.path.exists(self.mine))

    def test_regions_named_by_their_makers_go_with_them(self):
        dead = subprocess.Popen(['true'])
        dead.wait()
        paths = [f'/dev/shm/portunus-{kind}-{pid}-1' for kind in ('fabric', 'win', 'goal', 'file') for pid in (dead.pid, os.getpid())]
        for path in paths:
            open(path, 'w').close()
        try:
            run('-n', '1', 'true')
            self.assertEqual([os.path.exists(path) for path in paths], [False, True] * 4)
        finally:
            for path in paths:
                if os.path.exists(path):
                    os.unlink(path)

    def test_segment_of_a_living_owner_stays(self):
        with open(self.mine, 'w') as file:
            file.write('x')
            file.flush()
            fcntl.flock(file, fcntl.LOCK_EX)
            run('-n', '1', 'true')
            self.assertTrue(os.path.exists(self.mine))

    def test_segment_that_is_being_made_stays(self):
        open(self.mine, 'w').close()
        run('-n', '1', 'true')
        self.assertTrue(os.path.exists(self.mine))

    def test_segments_of_the_job_end_with_it_even_when_a_rank_is_killed(self):
        done = run('-n', '2', *shell(f'touch /dev/shm/portunus.$PTL_JOB_ID.$PMIX_RANK; echo x > {self.mine}.$PMIX_RANK; '
                                     'echo $PTL_JOB_ID; kill -9 $$'))
        self.assertEqual(done.returncode, 137)
        self.assertEqual(glob.glob(f'/dev/shm/portunus.{done.stdout.split()[0]}.*'), [])
        # One that its rank was killed in the midst of making is still empty; the next launcher sweeps it.
        self.assertEqual([path for path in glob.glob(self.mine + '*') if os.path.getsize(path) > 0], [])


class Streams(LauncherTest):
    def test_input_goes_to_rank_zero_only(self):
        done = run('-n', '3', *shell('echo "$PMIX_RANK:$(cat)"'), stdin='hello')
        self.assertEqual(sorted(done.stdout.splitlines()), ['0:hello', '1:', '2:'])

    def test_terminal_input_reaches_rank_zero(self):
        ours, theirs = pty.openpty()
        process = start('-n', '2', *shell('[ $PMIX_RANK = 0 ] && read line && echo "got $line"; exit 0'), stdin=theirs,
                        preexec_fn=lambda: (os.setsid(), fcntl.ioctl(theirs, 0x540E, 0)))  # TIOCSCTTY
        os.close(theirs)
        os.write(ours, b'from the terminal\n')
        status, out, _ = self.ended(process)
        os.close(ours)
        self.assertEqual((status, out), (0, 'got from the terminal\n'))

    def test_output_of_the_ranks_comes_unchanged(self):
        done = run('-n', '1', *shell('printf out; printf err >&2'))
        self.assertEqual((done.stdout, done.stderr), ('out', 'err'))

    def test_tagged_lines_name_rank_and_stream(self):
        done = run('-n', '2', '--tag-output', *shell('echo out; echo err >&2; printf unfinished'))
        self.assertEqual(sorted(done.stdout.splitlines()), ['[0] out', '[0] unfinished', '[1] out', '[1] unfinished'])
        self.assertEqual(sorted(done.stderr.splitlines()), ['[0:err] err', '[1:err] err'])

    def test_tagged_lines_stay_whole_on_a_shared_stream(self):
        script = 'i=0; while [ $i -lt 300 ]; do printf "%0500d\\n" $i; printf "%0700d\\n" $i >&2; i=$((i+1)); done'
        done = subprocess.run([PTLRUN, '-n', '4', '--tag-output', *shell(script)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, timeout=HANG)
        lines = done.stdout.splitlines()
        self.assertEqual(len(lines), 2400)
        for line in lines:
            self.assertRegex(line, r'^\[[0-3]\] [0-9]{500}$|^\[[0-3]:err\] [0-9]{700}$')

    def test_reader_that_leaves_ends_the_writers(self):
        process = start('-n', '2', '--tag-output', 'yes')
        process.stdout.readline()
        process.stdout.close()
        self.assertEqual(process.wait(timeout=HANG), 128 + signal.SIGPIPE)
        process.stderr.close()


class Signals(LauncherTest):
    def ready(self, *command, ranks=2):
        process = start('-n', str(ranks), *command)
        for _ in range(ranks):
            self.assertEqual(process.stdout.readline(), 'ready\n')
        return process

    def test_signals_are_passed_to_every_rank(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
            with self.subTest(number=number):
                process = self.ready(CLIENT, 'await', str(int(number)), '1')
                process.send_signal(number)
                self.assertEqual(self.ended(process), (0, f'got {int(number)}\n' * 2, ''))

    def test_signal_that_kills_the_ranks_gives_128_more(self):
        process = self.ready(*shell('echo ready; exec sleep 1000'))
        process.send_signal(signal.SIGTERM)
        self.assertEqual(self.ended(process)[0], 128 + signal.SIGTERM)

    def test_second_interrupt_ends_ranks_that_ignore_it(self):
        process = self.ready(CLIENT, 'await', str(int(signal.SIGINT)), '1000')
        process.send_signal(signal.SIGINT)
        self.assertEqual([process.stdout.readline() for _ in range(2)], ['got 2\n', 'got 2\n'])
        while process.poll() is None:  # more within half a second of the first are the same wish
            process.send_signal(signal.SIGINT)
        status, out, err = self.ended(process)
        self.assertEqual((status, out), (128 + signal.SIGINT, ''))
        self.assertIn('second signal', err)

    def test_signals_that_come_together_are_one_wish(self):
        for first, second in (signal.SIGTERM, signal.SIGINT), (signal.SIGINT, signal.SIGTERM):
            with self.subTest(first=first):
                # Stopped, the launcher finds both when it goes on; the lower number comes first.
                process = self.ready(CLIENT, 'await', str(int(min(first, second))), '1')
                process.send_signal(signal.SIGSTOP)
                os.waitpid(process.pid, os.WUNTRACED)
                process.send_signal(first)
                process.send_signal(second)
                process.send_signal(signal.SIGCONT)
                self.assertEqual(self.ended(process)[:2], (0, f'got {int(min(first, second))}\n' * 2))

    def test_ranks_that_ignore_a_terminating_signal_are_killed_after_the_grace(self):
        process = start('-n', '2', '--grace', '0.2', CLIENT, 'await', str(int(signal.SIGTERM)), '1000')
        self.assertEqual([process.stdout.readline() for _ in range(2)], ['ready\n'] * 2)
        process.send_signal(signal.SIGTERM)
        status, _, err = self.ended(process)
        self.assertEqual(status, 128 + signal.SIGTERM)
        self.assertIn('did not end within 0.2 s of signal 15', err)
        self.assertIn('default 5', run('--help').stdout)

    def test_stop_and_continue_reach_the_ranks(self):
        process = self.ready(CLIENT, 'await', str(int(signal.SIGCONT)), '1')
        process.send_signal(signal.SIGTSTP)
        _, status = os.waitpid(process.pid, os.WUNTRACED)
        self.assertTrue(os.WIFSTOPPED(status))
        process.send_signal(signal.SIGCONT)
        self.assertEqual(self.ended(process)[:2], (0, f'got {int(signal.SIGCONT)}\n' * 2))


class Options(LauncherTest):
    def test_arguments_of_the_program_are_its_own(self):
        self.assertEqual(run('-n', '1', 'echo', '-n', '5', '--help').stdout, '5 --help')
        self.assertEqual(run('-np', '1', '--', 'echo', '--', '-np').stdout, '-- -np\n')
        self.assertEqual(run('-n1', 'echo', 'hi').stdout, 'hi\n')

    def test_variables_are_exported(self):
        done = run('-n', '1', '-x', 'HERE', '-x', 'THERE=2=3', *shell('echo $HERE $THERE'), env={'HERE': '1'})
        self.assertEqual(done.stdout, '1 2=3\n')

    def test_programs_divided_by_colons_form_one_job(self):
        done = run('-n', '2', CLIENT, 'exchange', ':', '-n', '1', CLIENT, 'exchange')
        self.assertEqual((done.returncode, done.stderr), (0, ''))
        Job.check_ranks(self, done.stdout, 3, [3] * 3)
        done = run('-l', '-n', '2', 'echo', 'a', ':', '-n', '1', '-env', 'X', '3', '-wdir', self.folder, *shell('echo $PTL_APPNUM $X $PWD $0'))
        self.assertEqual(sorted(done.stdout.splitlines()), ['[0] a', '[1] a', f'[2] 1 3 {self.folder} sh'])
        self.assertEqual(run('-n', '1', 'true', ':', '-n', '1', *shell('exit 4')).returncode, 4)
        self.assertEqual(run('-n', '1', '--', 'echo', 'a', ':', 'b').stdout, 'a : b\n')

    def test_options_of_other_launchers_are_understood(self):
        program = os.path.join(self.folder, 'here')
        with open(program, 'w') as file:
            file.write('#!/bin/sh\necho $A $B $C $PWD\n')
        os.chmod(program, 0o755)
        for words in (['-np', '1'], ['--np', '1', '-bind-to', 'core', '-map-by', 'core', '-ppn', '1'],
                      ['-bind-to', 'none', '--map-by', 'node', '-oversubscribe', '--allow-run-as-root', '-mca', 'btl', 'self', '-n', '1'],
                      ['-hosts', 'localhost', '-n', '1'], ['-host', 'localhost:1'], ['--host=127.0.0.1', '-genvall', '-n', '1']):
            with self.subTest(words=words):
                done = run(*words, '-genv', 'A', '1', '-wdir', self.folder, '-env', 'B', '2', './here', env={'C': '3'})
                self.assertEqual((done.returncode, done.stdout, done.stderr), (0, f'1 2 3 {self.folder}\n', ''))
        os.unlink(program)
        here = {'HERE': '1', 'THERE': '2'}
        self.assertEqual(run('-n', '1', '-genvlist', 'PATH,HERE', *shell('echo $HERE $THERE'), env=here).stdout, '1\n')
        self.assertEqual(run('-n', '1', '-envnone', '-env', 'THERE', '5', '/bin/sh', '-c', 'echo $HERE $THERE', env=here).stdout, '5\n')
        for words in (['--interfaces', 'lo'], ['-iface', 'lo'], ['--mca', 'btl_tcp_if_include', 'lo']):
            self.assertEqual(run(*words, '-n', '1', *shell('echo $PTL_FABRIC_INTERFACE')).stdout, 'lo\n')
        self.assertEqual(run('--mca', 'btl_tcp_if_include', '10.0.0.0/8', '-n', '1', *shell('echo $PTL_FABRIC_INTERFACE')).stdout, '\n')
        hosts = os.path.join(self.folder, 'hosts')
        with open(hosts, 'w') as file:
            file.write('# two lines\nlocalhost slots=2\n127.0.0.1:1 # and a remark\n')
        self.assertEqual(run('-hostfile', hosts, 'echo', 'x').stdout, 'x\n' * 3)
        os.unlink(hosts)

    def test_programs_are_sought_where_path_says(self):
        for name in ('one', 'two'):
            os.makedirs(os.path.join(self.folder, name))
            with open(os.path.join(self.folder, name, 'sought'), 'w') as file:
                file.write(f'#!/bin/sh\necho {name} $1\n')
            os.chmod(file.name, 0o755)
        one, two = (os.path.join(self.folder, name) for name in ('one', 'two'))
        done = run('-n', '1', '-path', f'/nowhere:{one}:{two}', 'sought', 'a', ':', '-path', two, '-n', '1', 'sought', 'b')
        self.assertEqual((sorted(done.stdout.splitlines()), done.returncode), (['one a', 'two b'], 0))
        self.assertEqual(run('-path', one, '-n', '1', '-wdir', '/', 'sought').stdout, 'one\n')
        for folder in (one, two):
            os.unlink(os.path.join(folder, 'sought'))
            os.rmdir(folder)

    def test_a_file_says_which_programs_form_the_job(self):
        path = os.path.join(self.folder, 'programs')

        def programs(text):
            with open(path, 'w') as file:
                file.write(text)
            return path
        programs('# two programs\n\n-n 2 echo first\n  -n 1 -env X "a b" \\\n  /bin/sh -c \'echo "$X|$PTL_APPNUM"\'\n')
        for words in (['-configfile', path], ['-l', '--configfile', path]):
            done = run(*words)
            tagged = ['[0] first', '[1] first', '[2] a b|1']
            self.assertEqual(done.stdout and sorted(done.stdout.splitlines()),
                             tagged if words[0] == '-l' else sorted(line[4:] for line in tagged))
        programs('-n 1 -soft 1:1 ./no-such-program')
        self.assertEqual(run('-configfile', path).returncode, 127)
        self.assertEqual(run('-n', '1', 'echo', '-configfile', path).stdout, f'-configfile {path}\n')
        for text, words, sentence in (('# nothing\n', ['-configfile', path], 'names none'), ('-n 1 echo "x', ['-configfile', path], 'quote'),
                                      ('-n 1 true', ['-configfile', path, 'more'], 'nothing may follow'), ('', ['-configfile'], 'nothing may'),
                                      ('', ['-configfile', '/nowhere'], "'/nowhere'"), ('-n 1 true\n-n 0 true\n', ['-configfile', path], "'0'")):
            programs(text)
            done = run(*words)
            self.assertEqual((done.returncode, done.stderr.count('\n')), (2, 1), done.stderr)
            self.assertIn(sentence, done.stderr)
        os.unlink(path)

    def test_bound_ranks_stay_on_cores_of_their_own(self):
        allowed = os.sched_getaffinity(0)
        done = run('-n', '1', '--bind', 'core', sys.executable, '-c', 'import os; print(*os.sched_getaffinity(0))')
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertLessEqual({int(cpu) for cpu in done.stdout.split()}, allowed)
        many = str(len(allowed) + 1)
        done = run('-n', many, '--bind', 'core', '--tag-output', sys.executable, '-c', 'import os; print(sorted(os.sched_getaffinity(0)))')
        self.assertEqual({line.split(' ', 1)[1] for line in done.stdout.splitlines()}, {str(sorted(allowed))})
        self.assertEqual(done.stderr.count('none is bound'), 1)

    def test_ranks_behind_a_script_know_what_the_launcher_may_use(self):
        # Else each would take the one core that it is bound to for all there are, and ranks for more than cores.
        allowed = os.sched_getaffinity(0)
        script = f'"{CLIENT}" processors; exit $?'  # no exec: the script stays between the launcher and the rank
        for words in ([CLIENT, 'processors'], ['sh', '-c', script], ['sh', '-c', f"sh -c '{script}'; exit $?"]):
            done = run('-n', '2', *words)
            self.assertEqual((done.returncode, done.stdout.split()), (0, 2 * [str(len(allowed))]), done.stderr)
        if len(allowed) > 2:
            some = set(sorted(allowed)[:2])
            done = subprocess.run([PTLRUN, '-n', '2', 'sh', '-c', script], capture_output=True, text=True, timeout=HANG,
                                  preexec_fn=lambda: os.sched_setaffinity(0, some))
            self.assertEqual(done.stdout.split(), ['2', '2'], done.stderr)

    def test_help_and_version_are_printed(self):
        self.assertIn('--rendezvous', run('--help').stdout)
        self.assertRegex(run('--version').stdout, r'^ptlrun \(Portunus\) \d')

    def test_bad_input_is_refused_in_one_sentence(self):
        script = os.path.join(self.folder, 'no-interpreter-line')
        with open(script, 'w') as file:
            file.write('neither a script nor a binary\n')
        os.chmod(script, 0o755)
        cases = [
            ([], 2, 'number of ranks is missing'),
            (['-n'], 2, 'needs a value'),
            (['-n', '0', 'true'], 2, "'0'"),
            (['-n', '-1', 'true'], 2, "'-1'"),
            (['-n', 'two', 'true'], 2, "'two'"),
            (['-n', '2x', 'true'], 2, "'2x'"),
            (['-n', '99999999999999999999', 'true'], 2, 'whole number'),
            (['-n', '2'], 2, 'program is missing'),
            (['-n', '2', '--'], 2, 'program is missing'),
            (['--nonsense', '-n', '2', 'true'], 2, "unknown option '--nonsense'"),
            (['-q', '-n', '2', 'true'], 2, "unknown option '-q'"),
            (['-n', '1', '--bind', 'socket', 'true'], 2, "'socket'"),
            (['-n', '1', '--timeout', '0', 'true'], 2, "'0'"),
            (['-n', '1', '--universe', '0', 'true'], 2, "'0'"),
            (['-n', '1', '--timeout', 'soon', 'true'], 2, "'soon'"),
            (['-n', '1', '-x', 'NOT_SET_ANYWHERE', 'true'], 2, 'NOT_SET_ANYWHERE'),
            (['-n', '1', '-x', '=1', 'true'], 2, 'names no variable'),
            (['-n', '1', '--grace', '-1', 'true'], 2, "'-1'"),
            (['-n', '1', '--finish', 'never', 'true'], 2, "'never'"),
            (['-n', '1', '-wdir', '/nowhere', 'true'], 2, '/nowhere'),
            (['-n', '1', '-env', 'A'], 2, 'needs two values'),
            (['-n', '1', 'true', ':'], 2, 'number of ranks is missing'),
            (['-n', '1', 'true', ':', '-n', '1'], 2, 'program is missing'),
            (['-n', '1', 'true', ':', '--timeout', '1', '-n', '1', 'true'], 2, 'may differ'),
            (['--agent', 'false', '-hosts', 'elsewhere', '-n', '1', 'true'], 1, "could not be started on 'elsewhere'"),
            (['-host', 'elsewhere', '-n', '1', 'true', ':', '-n', '1', 'true'], 2, 'this host only'),
            (['-host', 'a:x', 'true'], 2, "'x' slots"),
            (['-hostfile', '/nowhere', '-n', '1', 'true'], 2, "'/nowhere'"),
            (['-n', '1', '--hosts', '2', 'true'], 2, '--rendezvous'),
            (['-n', '1', '--hosts', '2', '--host-id', '2', '--rendezvous', 'localhost:1', 'true'], 2, '--host-id'),
            (['-n', '1', '--hosts', '2', '--host-id', '0', '--rendezvous', 'nowhere', 'true'], 2, "'nowhere'"),
            (['-n', '1', '--hosts', '2', '--host-id', '0', '--rendezvous', '127.0.0.1:99999', 'true'], 2, "'127.0.0.1:99999'"),
            (['-n', '2', 'no-such-program'], 127, 'not found in PATH'),
            (['-n', '2', './no-such-program'], 127, 'not found'),
            (['-n', '2', ''], 127, 'not found'),
            (['-n', '2', '/'], 126, 'is a folder'),
            (['-n', '2', '/etc/passwd'], 126, 'not executable'),
            (['-n', '2', script], 126, 'cannot be executed'),
        ]
        for arguments, status, word in cases:
            with self.subTest(arguments=arguments):
                done = run(*arguments)
                self.assertEqual((done.returncode, done.stdout), (status, ''), done.stderr)
                self.assertTrue(done.stderr.startswith('ptlrun: '), done.stderr)
                self.assertEqual(done.stderr.count('\n'), 1)
                self.assertIn(word, done.stderr)
        os.unlink(script)


def free_port():
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        return probe.getsockname()[1]


class Hosts(LauncherTest):
    """Several ptlruns that form one job, here on one machine."""

    address = '127.0.0.1'

    def place(self, host):
        """What must stand before the command so that it runs on this host."""
        return []

    def hosts(self, shares, *command):
        where = f'{self.address}:{free_port()}'
        for host, ranks in enumerate(shares):
            words = [*self.place(host), PTLRUN, '--hosts', str(len(shares)), '--host-id', str(host), '--rendezvous', where,
                     '-n', str(ranks), *command]
            yield start(*words[1:], program=words[0])

    def all_ended(self, shares, *command):
        processes = list(self.hosts(shares, *command))
        ends = [None] * len(processes)

        def collect(index):
            ends[index] = self.ended(processes[index])

        threads = [threading.Thread(target=collect, args=(index,)) for index in range(len(processes))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return [end[0] for end in ends], ''.join(end[1] for end in ends), ''.join(end[2] for end in ends)

    def test_ranks_of_all_hosts_exchange_by_fence_and_by_fetch(self):
        for shares in ([1, 1], [2, 2], [1, 3], [2, 1, 1]):
            with self.subTest(shares=shares):
                statuses, out, err = self.all_ended(shares, CLIENT, 'exchange')
                self.assertEqual((statuses, err), ([0] * len(shares), ''))
                local = [share for share in shares for _ in range(share)]
                Job.check_ranks(self, out, sum(shares), local)

    def test_rank_that_dies_ends_the_job_on_all_hosts_with_its_status(self):
        for act, status in ((['exit', '0', '3'], 3), (['exit', '3', '4'], 4), (['signal', '2', '9'], 137), (['abort', '3', '7'], 7),
                            (['abort', '1', '0'], 0)):
            with self.subTest(act=act):
                statuses, _, _ = self.all_ended([2, 2], CLIENT, *act)
                self.assertEqual(statuses, [status, status])

    def test_rank_that_ends_before_it_joins_is_missed_on_all_hosts(self):
        statuses, _, err = self.all_ended([2, 2], '--keep-going', *shell(f'[ $PMIX_RANK = 1 ] && exit 0; exec {CLIENT} exchange'))
        self.assertEqual(statuses, [98, 98], err)
        self.assertEqual(err.count('launch_client: rank 1 has ended without joining the job'), 3, err)

    def test_host_whose_ranks_ended_well_shares_the_status_of_the_others(self):
        statuses, _, err = self.all_ended([1, 1], *shell('exit $PMIX_RANK'))
        self.assertEqual(statuses, [1, 1])
        self.assertIn('host 1 ended the job: rank 1 ended with exit status 1', err)

    def test_what_finalized_ranks_write_on_all_hosts_is_there(self):
        for act in (['leave-together', '3'], ['outlive', '3']):
            for _ in range(5):
                with self.subTest(act=act):
                    statuses, out, err = self.all_ended([2, 1], CLIENT, *act, '100')
                    self.assertEqual(statuses, [3, 3], err)
                    End.check_last_words(self, out, (1, 2), 100)

    def test_lost_launcher_ends_the_job(self):
        for victim in (0, 1):
            with self.subTest(victim=victim), adopted_orphans():
                processes = list(self.hosts([1, 1], *shell('echo ready; exec sleep 1000')))
                for process in processes:
                    self.assertEqual(process.stdout.readline(), 'ready\n')
                processes[victim].kill()
                status, _, err = self.ended(processes[1 - victim])
                self.assertEqual(status, 1)
                self.assertIn(f'the connection to host {victim}', err)
                self.ended(processes[victim])

    def test_signal_reaches_the_ranks_of_all_hosts(self):
        processes = list(self.hosts([1, 1], CLIENT, 'await', str(int(signal.SIGUSR1)), '1'))
        for process in processes:
            self.assertEqual(process.stdout.readline(), 'ready\n')
        processes[1].send_signal(signal.SIGUSR1)
        for process in processes:
            self.assertEqual(self.ended(process)[:2], (0, f'got {int(signal.SIGUSR1)}\n'))

    def test_host_that_disagrees_is_turned_away(self):
        where = f'127.0.0.1:{free_port()}'
        first = start('--hosts', '2', '--host-id', '0', '--rendezvous', where, '-n', '1', 'true')
        odd = run('--hosts', '3', '--host-id', '1', '--rendezvous', where, '-n', '1', 'true')
        self.assertEqual(odd.returncode, 2)
        self.assertIn('--hosts 3', odd.stderr)
        second = run('--hosts', '2', '--host-id', '1', '--rendezvous', where, '-n', '1', 'true')
        self.assertEqual((second.returncode, self.ended(first)[0]), (0, 0))

    def test_stranger_at_the_rendezvous_is_ignored(self):
        port = free_port()
        first = start('--hosts', '2', '--host-id', '0', '--rendezvous', f'127.0.0.1:{port}', '-n', '1', 'true')
        stranger = None
        while stranger is None:
            try:
                stranger = socket.create_connection(('127.0.0.1', port))
            except ConnectionRefusedError:
                continue
        stranger.sendall(b'GET / HTTP/1.0\r\n\r\n')
        with stranger, socket.create_connection(('127.0.0.1', port)):  # the other one never speaks
            second = run('--hosts', '2', '--host-id', '1', '--rendezvous', f'127.0.0.1:{port}', '-n', '1', 'true')
        self.assertEqual((second.returncode, self.ended(first)[0]), (0, 0))

    def test_host_that_never_comes_is_named(self):
        done = run('--hosts', '2', '--host-id', '0', '--rendezvous', f'127.0.0.1:{free_port()}', '--timeout', '0.2', '-n', '1', 'true')
        self.assertEqual(done.returncode, 124)
        self.assertIn('did not join the job', done.stderr)
        done = run('--hosts', '2', '--host-id', '1', '--rendezvous', f'127.0.0.1:{free_port()}', '--timeout', '0.2', '-n', '1', 'true')
        self.assertEqual(done.returncode, 124)
        self.assertIn('could not be reached', done.stderr)


class Agents(LauncherTest):
    """Hosts that ptlrun itself starts, by a stand-in for ssh that runs the command here."""

    def agent(self):
        path = os.path.join(self.folder, 'agent')
        with open(path, 'w') as file:
            file.write('#!/bin/sh\necho "$1" >> "$0.hosts"\nshift\nexec sh -c "$*" 3>&-\n')
        os.chmod(path, 0o755)
        return path

    def tearDown(self):
        for name in 'agent', 'agent.hosts', 'hosts':
            with contextlib.suppress(FileNotFoundError):
                os.unlink(os.path.join(self.folder, name))
        super().tearDown()

    def test_hosts_that_are_named_run_their_share_of_the_ranks(self):
        agent = self.agent()
        for words, local, started in ((['-host', 'a:2,b', '-n', '3'], [2, 2, 1], ['a', 'b']),
                                      (['-hosts', 'localhost,b', '-ppn', '2', '-n', '4'], [2] * 4, ['b']),
                                      (['-hostfile', os.path.join(self.folder, 'hosts')], [1, 2, 2], ['a', 'b'])):
            with self.subTest(words=words):
                with open(os.path.join(self.folder, 'hosts'), 'w') as file:
                    file.write('a\nb slots=2\n')
                open(agent + '.hosts', 'w').close()
                done = run('--agent', agent, *words, CLIENT, 'exchange')
                self.assertEqual((done.returncode, done.stderr), (0, ''))
                Job.check_ranks(self, done.stdout, len(local), local)
                with open(agent + '.hosts') as file:
                    self.assertEqual(sorted(file.read().split()), started)

    def test_words_variables_folders_and_tags_arrive_as_they_are(self):
        done = run('--agent', self.agent(), '-l', '-host', 'a,b', '-n', '2', '-wdir', '/tmp', '-x', "ODD=it's $HOME", *shell('echo "$ODD|$0|$PWD|$SHMEM_ODD"'),
                   'a  b', env={'SHMEM_ODD': '"x"'})
        self.assertEqual((done.returncode, done.stderr), (0, ''))
        self.assertEqual(sorted(done.stdout.splitlines()), [f"[{rank}] it's $HOME|a  b|/tmp|\"x\"" for rank in (0, 1)])

    def test_statuses_and_signals_cross(self):
        agent = self.agent()
        self.assertEqual(run('--agent', agent, '-host', 'a,b', '-n', '2', CLIENT, 'exit', '1', '5').returncode, 5)
        self.assertEqual(run('--agent', agent, '-host', 'localhost,b', '-n', '2', CLIENT, 'abort', '0', '7').returncode, 7)
        process = start('--agent', agent, '-host', 'a,b', '-n', '2', CLIENT, 'await', str(int(signal.SIGUSR1)), '1')
        self.assertEqual([process.stdout.readline() for _ in range(2)], ['ready\n'] * 2)
        process.send_signal(signal.SIGUSR1)
        self.assertEqual(self.ended(process)[:2], (0, f'got {int(signal.SIGUSR1)}\n' * 2))


class Namespaces(Hosts):
    """The same with a network namespace for each of two hosts, joined by a pair of veth devices."""

    address = '10.213.77.1'

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if os.geteuid() != 0 or not shutil.which('ip'):
            raise unittest.SkipTest('needs root and iproute2')
        cls.names = [f'ptlrun-test-{os.getpid()}-{host}' for host in (0, 1)]
        links = [f'ptl{os.getpid() % 1000000}{letter}' for letter in 'ab']
        commands = [f'netns add {cls.names[0]}', f'netns add {cls.names[1]}', f'link add {links[0]} type veth peer name {links[1]}']
        for host in (0, 1):
            commands += [f'link set {links[host]} netns {cls.names[host]}', f'-n {cls.names[host]} link set lo up',
                         f'-n {cls.names[host]} addr add 10.213.77.{host + 1}/24 dev {links[host]}',
                         f'-n {cls.names[host]} link set {links[host]} up']
        for command in commands:
            done = subprocess.run(['ip', *command.split()], capture_output=True, text=True)
            if done.returncode != 0:
                cls.tearDownClass()
                raise unittest.SkipTest(f'network namespaces cannot be made: ip {command}: {done.stderr.strip()}')

    @classmethod
    def tearDownClass(cls):
        for name in cls.names:
            subprocess.run(['ip', 'netns', 'del', name], capture_output=True)
        super().tearDownClass()

    def place(self, host):
        if host > 1:
            self.skipTest('two namespaces only')
        return [shutil.which('ip'), 'netns', 'exec', self.names[host]]

    def test_agent_starts_the_other_host(self):
        agent = os.path.join(self.folder, 'agent')
        with open(agent, 'w') as file:
            file.write(f'#!/bin/sh\nshift\nexec ip netns exec {self.names[1]} sh -c "$*"\n')
        os.chmod(agent, 0o755)
        process = start(*self.place(0)[1:], PTLRUN, '--agent', agent, '-host', 'localhost:2,10.213.77.2:2', '-n', '4', CLIENT, 'exchange',
                        program=self.place(0)[0])
        status, out, err = self.ended(process)
        os.unlink(agent)
        self.assertEqual((status, err), (0, ''))
        Job.check_ranks(self, out, 4, [2] * 4)

    def test_ranks_of_all_hosts_exchange_by_fence_and_by_fetch(self):
        statuses, out, err = self.all_ended([2, 2], CLIENT, 'exchange')
        self.assertEqual((statuses, err), ([0, 0], ''))
        Job.check_ranks(self, out, 4, [2] * 4)


# What does not cross the link gains nothing from being run in namespaces.
for name in ('test_host_that_disagrees_is_turned_away', 'test_stranger_at_the_rendezvous_is_ignored', 'test_host_that_never_comes_is_named'):
    setattr(Namespaces, name, None)


# Whoever starts the tests may ignore hang-ups (nohup does), and programs inherit that.
signal.signal(signal.SIGHUP, signal.SIG_DFL)

if __name__ == '__main__':
    PTLRUN, CLIENT = os.path.abspath(sys.argv.pop(1)), os.path.abspath(sys.argv.pop(1))
    unittest.main()
