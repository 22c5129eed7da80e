#!/usr/bin/env python3
"""How jobs end in which processes were spawned.

spawn_endings_test.py PTLRUN PROGRAM: PROGRAM is spawn.c; each case is a job of two ranks with two children.
"""

import os
import subprocess
import sys
import unittest

PTLRUN, PROGRAM = sys.argv[1:3]


def run(*words, **more):
    """(status, standard output, standard error)"""
    ended = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60, check=False, **more)
    return ended.returncode, ended.stdout, ended.stderr


def segments():
    """Names of this user's shared memory that its owner no longer holds are anybody's: only those of jobs of ours are counted."""
    return {name for name in os.listdir("/dev/shm") if "ptlrun-" in name}


class Endings(unittest.TestCase):
    def test_a_child_that_dies_ends_all_jobs(self):
        status, _, said = run(PTLRUN, "-n", "2", "--timeout", "280", PROGRAM, "killed")
        self.assertEqual(status, 128 + 6, said)
        self.assertIn("rank 1 of spawned job 1 was killed by signal 6", said)

    def test_with_keep_going_its_death_is_told_to_whoever_waits_for_it(self):
        status, out, said = run(PTLRUN, "-n", "2", "--keep-going", "--timeout", "280", PROGRAM, "killed")
        self.assertEqual(status, 128 + 6, said)
        self.assertEqual(sorted(out.split("\n")), ["", "rank 0 was told", "rank 1 was told"], said)
        self.assertNotIn("not so", said)

    def test_output_is_tagged_by_job_and_rank(self):
        status, out, said = run(PTLRUN, "-n", "1", "--tag-output", "--timeout", "280", PROGRAM, "speak")
        self.assertEqual(status, 0, said)
        self.assertEqual(sorted(out.split("\n")), ["", "[0] parent", "[1.0] child 0", "[1.1] child 1", "[2.0] child 0"], said)

    def test_the_jobs_end_together_when_their_time_is_over(self):
        before = segments()
        status, _, said = run(PTLRUN, "-n", "2", "--timeout", "3", PROGRAM, "stay")
        self.assertEqual(status, 124, said)
        self.assertEqual(segments() - before, set())

    def test_an_abort_in_a_child_ends_all(self):
        status, _, said = run(PTLRUN, "-n", "2", "--timeout", "280", PROGRAM, "abort")
        self.assertEqual(status, 7, said)
        self.assertIn("rank 0 of spawned job 1 aborted the job with status 7", said)

    def test_who_was_started_alone_is_refused_with_a_sentence(self):
        status, _, said = run(PROGRAM, "alone")
        self.assertEqual(status, 53, said)  # MPI_ERR_SPAWN
        self.assertIn("start it with mpiexec", said)
        self.assertNotIn("not so", said)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
