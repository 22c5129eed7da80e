#!/usr/bin/env python3
"""tools_test.py PTLINFO PTLSTAT PTLRUN ENGINE_CLIENT: ptlinfo and ptlstat from outside; ENGINE_CLIENT is looked at."""
import json
import os
import signal
import subprocess
import sys
import tempfile
import unittest

ENVIRONMENT = {key: value for key, value in os.environ.items() if not key.startswith("PTL_")}


class Engine:
    def __init__(self, node="1", **settings):
        self.process = subprocess.Popen([ENGINE_CLIENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env={**ENVIRONMENT, "PTL_PROGRESS": "park", "PTL_NODE": node, **settings})
        assert self.process.stdout.readline() == "ready\n"

    def __enter__(self):
        return self

    def do(self, word):
        self.process.stdin.write(word + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline()

    def fire(self):
        assert self.do("fire") == "fired\n"

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(timeout=60)
        self.process.stdout.close()


def run(*command, environment=None, **options):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=60, check=False,
                          env={**ENVIRONMENT, **(environment or {})}, **options)


class Ptlinfo(unittest.TestCase):
    def test_tells_interfaces_providers_limits_engine_and_environment(self):
        done = run(PTLINFO, environment={"PTL_PROGRESS": "park", "PTL_NODE_RING": "64"})
        self.assertEqual(done.returncode, 0, done.stderr)
        for words in ("network interfaces", "lo ", "libfabric providers", "max_entries", "1000000", "PTL_NODE_RING            64 ", "park"):
            self.assertIn(words, done.stdout)

    def test_a_program_that_nobody_launched_gives_way_on_one_processor(self):
        usable = os.sched_getaffinity(0)
        for processors, gives_way in ((usable, len(usable) == 1), ({min(usable)}, True)):
            done = run(PTLINFO, "--json", environment={"PTL_DEBUG": "no-fabric"}, preexec_fn=lambda: os.sched_setaffinity(0, processors))
            self.assertEqual(json.loads(done.stdout)["portals"]["engine"]["oversubscribed"], gives_way, done.stdout)

    def test_prints_json(self):
        done = run(PTLINFO, "--json", environment={"PTL_DEBUG": "no-fabric", "PTL_PROGRESS": "caller"})
        self.assertEqual(done.returncode, 0, done.stderr)
        told = json.loads(done.stdout)
        self.assertEqual(told["portals"]["engine"]["progress"], "caller")
        self.assertEqual(told["portals"]["transports"], "self, node")
        self.assertGreaterEqual(told["portals"]["limits"]["max_msg_size"], 2**63)
        self.assertEqual(sum(one["used"] for one in told["interfaces"]), 1)
        values = {one["name"]: one["value"] for one in told["environment"]}
        self.assertEqual((values["PTL_DEBUG"], values["PTL_NODE"]), ("no-fabric", None))
        self.assertEqual(told["replaced"], [])

    def test_says_that_its_output_was_not_taken(self):
        with open("/dev/full", "w", encoding="ascii") as full:
            done = subprocess.run([PTLINFO], stdout=full, stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("the output cannot be written", done.stderr)

    def test_switches_are_0_or_1(self):
        for name in ("PTL_NODE", "PTL_INFO"):
            done = run(PTLINFO, environment={name: "yes"})
            self.assertEqual(done.returncode, 1)
            self.assertIn(f"{name}=yes is not understood; use 0 or 1", done.stderr)

    def test_marks_the_provider_that_is_asked_for(self):
        told = json.loads(run(PTLINFO, "--json", environment={"PTL_FABRIC_PROVIDER": "tcp"}).stdout)
        used = [one["name"] for one in told["providers"] if one["used"]]
        self.assertTrue(len(used) == 1 and used[0] in ("net", "tcp"), used)  # "net": libfabric 1.17's tcp without a layer above it
        self.assertIn(f"fabric({used[0]})", told["portals"]["transports"])

    def test_tells_each_rank_of_a_job_its_place(self):
        done = run(PTLRUN, "-n", "2", "--tag-output", PTLINFO, "--json")  # both at once, and longer than a pipe takes in one piece
        self.assertEqual(done.returncode, 0, done.stderr)
        for rank in 0, 1:
            tag = f"[{rank}] "
            told = json.loads("\n".join(line.removeprefix(tag) for line in done.stdout.splitlines() if line.startswith(tag)))
            self.assertEqual((told["portals"]["job"]["rank"], told["portals"]["job"]["size"]), (rank, 2))

    def test_says_why_the_library_does_not_start_and_tells_the_rest(self):
        done = run(PTLINFO, environment={"PTL_PROGRESS": "sometimes"})
        self.assertEqual(done.returncode, 1)
        self.assertIn("PTL_PROGRESS=sometimes is not understood; use auto", done.stderr)
        self.assertIn("network interfaces", done.stdout)

    def test_says_what_a_wire_is(self):
        for wire in "50", "50:", "50:0", "-1:100", "1000001:100", "50:100:2", "fast":
            with self.subTest(wire=wire):
                done = run(PTLINFO, environment={"PTL_DEBUG": f"leaks,wire={wire}"})
                self.assertEqual(done.returncode, 1)
                self.assertIn(f"PTL_DEBUG=wire={wire} is not understood; use LATENCY:WIDTH: microseconds", done.stderr)
        self.assertEqual(run(PTLINFO, environment={"PTL_DEBUG": "wire=50:10000,leaks"}).returncode, 0)

    def test_names_the_keys_where_a_word_is_none(self):
        for word in "bufers", "wire", "buffers=1", "very-short=", "very-short=0", "very-short=1k", "congestion=", "2":
            with self.subTest(word=word):
                done = run(PTLINFO, environment={"PTL_DEBUG": f"calls,{word},leaks"})
                self.assertEqual(done.returncode, 1)
                self.assertIn(f"PTL_DEBUG={word} is not understood; use 0, 1, or some of arguments, buffers, calls, leaks", done.stderr)
                self.assertIn("wire=LATENCY:WIDTH, with commas between them", done.stderr)

    def test_names_variables_of_older_versions_that_are_set(self):
        older = {"VDC_TRACE": "x.json", "PTL_NODE_CMA": "0"}
        done = run(PTLINFO, environment=older)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("set, but not read any more\n", done.stdout)
        self.assertRegex(done.stdout, r"PTL_NODE_CMA +use PTL_DEBUG=no-cma for 0\n +VDC_TRACE +use PTL_TRACE\n")
        job = run(PTLRUN, "-n", "2", PTLINFO, environment={**older, "PTL_INFO": "1"})  # told once for the node
        told = [line.split("portals: ")[1] for line in job.stderr.splitlines()]
        self.assertEqual(told, ["PTL_NODE_CMA is set, but not read any more; use PTL_DEBUG=no-cma for 0",
                                "VDC_TRACE is set, but not read any more; use PTL_TRACE"])

    def test_refuses_what_it_does_not_know(self):
        done = run(PTLINFO, "--loud")
        self.assertEqual(done.returncode, 2)
        self.assertIn("ptlinfo --help", done.stderr)
        self.assertEqual(run(PTLINFO, "--help").returncode, 0)


class Ptlstat(unittest.TestCase):
    def test_reads_the_counters_while_the_engine_counts(self):
        for node in "1", "0":  # without the node transport there is no segment to look into
            with self.subTest(node=node), Engine(node) as one:
                before = json.loads(run(PTLSTAT, one.process.pid, "--json").stdout)
                for _ in range(3):
                    one.fire()
                after = json.loads(run(PTLSTAT, one.process.pid, "--json").stdout)
                self.assertEqual(after["counters"]["triggers"] - before["counters"]["triggers"], 3)
                self.assertEqual((after["process"], after["progress"]), (one.process.pid, "park"))
                self.assertEqual("node" in after["transports"], node == "1")

    def test_shows_what_a_library_above_counts(self):
        with Engine() as one:
            one.process.stdin.write("count\n")
            one.process.stdin.flush()
            self.assertEqual(one.process.stdout.readline(), "counted\n")
            self.assertRegex(run(PTLSTAT, one.process.pid).stdout, r"client_steps +1  what the client did")
            self.assertEqual(json.loads(run(PTLSTAT, one.process.pid, "--json").stdout)["counters"]["client_steps"], 1)

    def test_prints_a_table_and_a_list(self):
        with Engine() as one:
            done = run(PTLSTAT, one.process.pid)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertRegex(done.stdout, r"triggers +0  triggered operations fired")
            self.assertIn(f"process {one.process.pid} (", run(PTLSTAT).stdout)

    def test_watches_until_the_process_ends(self):
        with Engine() as one:
            watcher = subprocess.Popen([PTLSTAT, str(one.process.pid), "--watch", "0.05", "--json"], stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)
            seen = json.loads(watcher.stdout.readline())
            one.fire()
            while seen["counters"]["triggers"] == 0:
                seen = json.loads(watcher.stdout.readline())
        _, errors = watcher.communicate(timeout=60)
        self.assertEqual(watcher.returncode, 0)
        self.assertIn("has ended", errors)

    def test_has_a_sentence_for_each_wrong_process(self):
        nobody = subprocess.Popen(["true"])
        nobody.wait()
        for words, status, sentence in (
            (["abc"], 2, "'abc' is no process number"),
            (["0"], 2, "'0' is no process number"),
            (["--watch", "1"], 2, "--watch needs a PID"),
            ([os.getpid(), "--watch", "0"], 2, "--watch needs a PID"),
            ([nobody.pid], 1, f"there is no process {nobody.pid}"),
            ([os.getpid()], 1, "runs no Portals engine; PtlNIInit starts one"),
        ):
            with self.subTest(words=words):
                done = run(PTLSTAT, *words)
                self.assertEqual(done.returncode, status)
                self.assertIn(sentence, done.stderr)
                self.assertEqual(len(done.stderr.splitlines()), 1)

    @unittest.skipUnless(os.geteuid() == 0, "only root can become another user")
    def test_shows_nothing_to_another_user(self):
        with Engine() as one, tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o755)
            copy = os.path.join(folder, "ptlstat")
            with open(PTLSTAT, "rb") as source, open(copy, "wb") as target:
                target.write(source.read())
            os.chmod(copy, 0o755)
            done = run(copy, one.process.pid, user=65534, group=65534, extra_groups=[])
            self.assertEqual(done.returncode, 1)
            self.assertIn("belongs to another user (0)", done.stderr)

    @unittest.skipIf(os.cpu_count() < 2, "there is no core beside the rank's")
    def test_engines_of_two_jobs_do_not_spin_on_one_core(self):
        alone = {"PTL_PROGRESS": "auto", "PTL_ENGINE_CORES": "1", "PTL_DEBUG": "no-fabric", "PTL_LOCAL_RANK": "0", "PTL_LOCAL_SIZE": "1"}  # as launchers tell it
        with Engine(**alone) as first, Engine(**alone) as second:
            told = [json.loads(run(PTLSTAT, one.process.pid, "--json").stdout) for one in (first, second)]
            self.assertEqual([one["progress"] for one in told], ["spin", "park"], told)

    def test_an_engine_spins_only_on_a_core_that_was_given(self):
        with Engine(PTL_PROGRESS="auto", PTL_DEBUG="no-fabric", PTL_LOCAL_RANK="0", PTL_LOCAL_SIZE="1") as one:
            self.assertEqual(json.loads(run(PTLSTAT, one.process.pid, "--json").stdout)["progress"], "park")

    def test_takes_no_child_of_a_fork_for_its_parent(self):
        with Engine() as one:
            child = int(one.do("fork"))
            done = run(PTLSTAT, child)
            os.kill(child, signal.SIGKILL)
            self.assertEqual(done.returncode, 1)
            self.assertIn("runs no Portals engine", done.stderr)


if __name__ == "__main__":
    PTLINFO, PTLSTAT, PTLRUN, ENGINE_CLIENT = (os.path.abspath(word) for word in sys.argv[1:5])
    unittest.main(argv=sys.argv[:1] + sys.argv[5:], verbosity=1)
