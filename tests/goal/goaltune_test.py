#!/usr/bin/env python3
"""goaltune_test.py GOALTUNE PTLRUN COLLECTIVES_JOB GOALC: goaltune writes a file of rules that programs accept and give right results with."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

COLLECTIVES = ["barrier", "bcast", "reduce", "allreduce", "gather", "scatter", "allgather", "allgatherv", "alltoall", "reduce_scatter"]
WAYS = {"node": {"PTL_NODE": "1"}, "tcp": {"PTL_NODE": "0", "PTL_FABRIC_PROVIDER": "tcp"}}
QUICK = ("--seconds", "0", "--rounds", "3", "--most", "65536", "--step", "64")


def run(*command, **settings):
    return subprocess.run([str(word) for word in command], env={**os.environ, **settings}, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=250, check=False)


class Goaltune(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def tune(self, ranks, *options, **settings):
        return run(PTLRUN, "-n", ranks, "--timeout", 240, GOALTUNE, *options, **settings)

    def says(self, done, status, sentence):
        lines = [line for line in done.stderr.splitlines() if not line.startswith("ptlrun: rank ")]
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertEqual(len(lines), 1, done.stderr)
        self.assertRegex(lines[0], sentence)

    def test_what_it_writes_is_used(self):
        for ranks, way in ((2, "node"), (4, "node"), (2, "tcp"), (4, "tcp")):
            with self.subTest(ranks=ranks, way=way):
                rules = self.folder / f"rules.{ranks}.{way}"
                done = self.tune(ranks, "-o", rules, *QUICK, **WAYS[way])
                self.assertEqual(done.returncode, 0, done.stderr)
                text = rules.read_text()
                for word in (f"ranks:           {ranks}\n", f"ranks per node:  {ranks}\n", "machine: ", "oversubscribed: ", "Portunus "):
                    self.assertIn(word, text)
                self.assertRegex(text, r"transport: +" + ("node\n" if way == "node" else r"fabric\("))
                lines = [line.split() for line in text.splitlines() if line and not line.startswith("#")]
                self.assertEqual(list(dict.fromkeys(line[0] for line in lines)), COLLECTIVES)
                self.assertEqual({line[4] for line in lines}, {"node" if way == "node" else "network"})
                for name in COLLECTIVES:  # all sizes of the largest group are covered
                    self.assertEqual([line for line in lines if line[0] == name][-1][1:3], ["any", str(ranks)])
                self.assertRegex(done.stdout, r"(?m)^bcast +8 +2 +linear +\d+%.* linear [\d.]+\+-[\d.]+ binomial ")
                self.assertEqual(os.listdir(self.folder).count(rules.name), 1)
                self.assertFalse([name for name in os.listdir(self.folder) if name.startswith(rules.name + ".")])
                job = run(PTLRUN, "-n", ranks, "--timeout", 240, COLLECTIVES_JOB, PTL_COLLECTIVES=f"file={rules}", **WAYS[way])
                self.assertEqual(job.returncode, 0, job.stderr)

    def test_without_a_file_the_rules_come_behind_the_table(self):
        done = self.tune(3, "--only", "allreduce,barrier", *QUICK)
        self.assertEqual(done.returncode, 0, done.stderr)
        table, rules = done.stdout.split("\n# Algorithms of collectives", 1)
        self.assertRegex(table, r"(?m)^barrier +0 +3 +dissemination ")
        self.assertTrue(re.search(r"(?m)^allreduce +any +3 ", rules))
        self.assertNotIn("bcast", table)

    def test_the_network_that_it_measures_is_what_goalc_simulates(self):
        schedule = self.folder / "one.goal"
        schedule.write_text("num_ranks 2\nrank 0 {\na: send 1000b to 1 tag 1\n}\nrank 1 {\na: recv 1000b from 0 tag 1\n}\n")
        for ranks, way in ((2, "node"), (3, "tcp")):
            with self.subTest(way=way):
                done = self.tune(ranks, "--network", "--most", "4096", **WAYS[way])
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertRegex(done.stdout, r"^L=\d+,o=\d+,g=\d+,G=\d+\.\d+,S=65536\n$")
                self.assertEqual(re.findall(r"goaltune: +(\d+) bytes: [\d.]+ us", done.stderr), ["8", "1024", "4096"])
                again = run(GOALC, "--simulate", "--network", done.stdout.strip(), schedule)
                self.assertEqual((again.returncode, again.stderr), (0, ""))

    def test_the_choice_of_a_file_can_be_judged(self):
        (self.folder / "rules").write_text("allreduce any any ring\n")
        done = self.tune(2, "--only", "allreduce", *QUICK, PTL_COLLECTIVES=f"file={self.folder}/rules")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"(?m)^allreduce +8 +2 +ring ")
        self.assertIn("PTL_COLLECTIVES", done.stdout.splitlines()[0])

    def test_refuses_in_one_sentence(self):
        self.says(self.tune(2, "--only", "cast"), 2, "^goaltune: --only 'cast': the collectives with a choice are barrier, bcast")
        self.says(self.tune(2, "--least", "4096", "--most", "64"), 2, "^goaltune: --least is larger than --most")
        self.says(self.tune(2, "--seconds", "-1"), 2, "^goaltune: .*--help")
        self.says(run(GOALTUNE), 2, "^goaltune: there are no other ranks")
        self.says(self.tune(2, PTL_COLLECTIVES="bcast=ring"), 1, "^goaltune: the variable PTL_COLLECTIVES has")

    def test_says_before_it_measures_where_it_cannot_write(self):
        self.says(self.tune(2, "-o", self.folder / "none" / "rules"), 1, "the file cannot be written .No such file")
        self.says(self.tune(2, "-o", "/dev/null"), 1, "/dev/null: this is no regular file")

    def test_help_and_version_are_printed_once(self):
        for option, words in (("--help", "--seconds"), ("--version", "goaltune (Portunus) ")):
            done = self.tune(2, option)
            self.assertEqual((done.returncode, done.stdout.count(words)), (0, 1), done.stdout + done.stderr)


if __name__ == "__main__":
    GOALTUNE, PTLRUN, COLLECTIVES_JOB, GOALC = sys.argv[1:5]
    unittest.main(argv=sys.argv[:1], verbosity=2)
