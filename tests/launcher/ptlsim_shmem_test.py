#!/usr/bin/env python3
"""ptlsim_shmem_test.py PTLSIM GOALC HEAT INTEGER_SORT WORK_QUEUE RING CALLS LIBRARY: programs of OpenSHMEM and Portals, simulated.

HEAT .. RING are applications of bench/apps, CALLS tests/goal/records/recorded_shmem, LIBRARY recorded_portals of the same folder.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest


def run(*command, **settings):
    return subprocess.run([str(word) for word in command], env={**os.environ, **settings}, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=280, check=False)


def simulate(ranks, *words, **settings):
    return run(PTLSIM, "-n", ranks, "--compute", "zero", *words, **settings)


class Programs(unittest.TestCase):
    def test_applications_verify_their_results(self):
        for words in ((HEAT, "--rows", "16"), (INTEGER_SORT, "--keys", "5000"), (WORK_QUEUE, "--tasks", "50"), (RING, "--rounds", "20")):
            for ranks in (1, 3, 16):
                with self.subTest(words=words, ranks=ranks):
                    done = simulate(ranks, *words)
                    self.assertEqual((done.returncode, done.stderr), (0, ""))
                    self.assertIn("verified", done.stdout)

    def test_calls_of_each_kind_end_well(self):
        for program, kinds in ((CALLS, ("puts", "signals", "atomics", "collectives", "contexts", "locks")),
                               (LIBRARY, ("counters", "triggered", "events"))):
            for kind in kinds:
                with self.subTest(program=program, kind=kind):
                    done = simulate(4, program, kind)
                    self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def test_globals_and_the_heap_of_each_pe_are_its_own(self):
        done = simulate(64, HEAT, "--rows", "2", "--steps", "10")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("verified", done.stdout)

    def test_equal_command_lines_give_equal_runs(self):
        first, second = (simulate(8, "--seed", 5, HEAT, "--rows", "8").stdout for _ in range(2))
        self.assertIn("verified", first)
        self.assertEqual(first, second)

    def test_a_pe_that_is_lost_ends_the_job_with_a_sentence(self):
        done = simulate(3, "--kill", "1@100us", HEAT)
        self.assertNotEqual(done.returncode, 0)
        self.assertRegex(done.stderr, "PE 1|rank 1")


class Recordings(unittest.TestCase):
    def test_a_recorded_run_takes_as_long_by_goalc_as_it_took(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "run.goal"
            network = "latency=50us,overhead=2us,bandwidth=1Gbit"
            for words in ((HEAT,), (INTEGER_SORT, "--keys", "20000"), (WORK_QUEUE, "--tasks", "100"), (RING, "--rounds", "50")):
                with self.subTest(words=words):
                    done = simulate(4, "--network", network, "--record", file, *words)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    took = int(re.search(r"took (\d+) ns", file.read_text())[1])
                    again = int(re.search(r"simulated: (\d+) ns", run(GOALC, "--simulate", "--network", network, file).stdout)[1])
                    self.assertTrue(0.8 * took < again < 1.2 * took, (took, again))

    def test_programs_of_portals_leave_their_messages(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "run.goal"
            done = simulate(4, "--record", file, LIBRARY, "triggered")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual([file.read_text().count(f": send {size}b") for size in range(201, 206)], [4] * 5)


if __name__ == "__main__":
    PTLSIM, GOALC, HEAT, INTEGER_SORT, WORK_QUEUE, RING, CALLS, LIBRARY = sys.argv[1:9]
    unittest.main(argv=sys.argv[:1])
