#!/usr/bin/env python3
"""goalc from outside: what it writes it reads again, and mistakes end with a sentence and a status.

  goalc_test.py GOALC SCHEDULES
"""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

GOALC, SCHEDULES = sys.argv[1], pathlib.Path(sys.argv[2])

ANNOTATED = """num_ranks 2
rank 0 {
//@ scratch 64
in: recv 32b from 1 tag 7
//@ in buf scratch+0
more: recv 32b from 1 tag 7
//@ more buf [scratch+32:16,user1+0:16]
sum: calc 9
//@ sum op sum f64 dst user+0 a user+0 b scratch+0 n 4
any: calc 0
//@ any needs 1
sum requires in
any requires in
any requires more
}
rank 1 {
one: send 32b to 0 tag 7
two: send 32b to 0 tag 7
two requires one
}
"""


def goalc(*arguments):
    done = subprocess.run([GOALC, "--hop", "10", *map(str, arguments)], capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stdout, done.stderr


class Goalc(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name)

    def file(self, name, text):
        (self.path / name).write_text(text, encoding="ascii")
        return self.path / name

    def good(self, *arguments):
        status, out, err = goalc(*arguments)
        self.assertEqual((status, err), (0, ""), arguments)
        return out

    def refused(self, sentence, *arguments, status=1):
        got, out, err = goalc(*arguments)
        self.assertEqual((got, out), (status, ""), arguments)
        self.assertIn(sentence, err)
        self.assertEqual(err.count("\n"), 1)

    def test_what_is_written_is_read_again(self):
        files = [SCHEDULES / "allreduce_recdoub.8.goal", self.file("annotated.goal", ANNOTATED)]
        for file in files:
            brief = self.good("--brief", file)
            text = self.file("text.goal", self.good("--text", file))
            self.assertEqual(self.good("--brief", text), brief)
            self.assertIsNone(re.search(r"^[ \t]", text.read_text(), re.MULTILINE))
            self.good("--binary", self.path / "it.bin", file)
            self.good("--brief", self.path / "it.bin")
            exported = self.file("exported.goal", self.good("--export", file))
            self.assertIn("cpu 1", exported.read_text())
            self.good("--brief", exported)
            self.good("--export", "--binary", self.path / "exported.bin", file)
            self.good("--brief", self.path / "exported.bin")

    def test_the_compiled_form_names_counters_and_operations(self):
        out = self.good(self.file("annotated.goal", ANNOTATED))
        self.assertRegex(out, r"before start +append +-> c\d+ +bits \w{16} +in: recv 32b from 1 tag 7")
        self.assertRegex(out, r"c\d+ = 1 +local +-> finish +sum: add f64 x 4")
        self.assertRegex(out, r"(?m)^ +0 +4 +3 ")
        self.assertIn("critical path:", out)
        self.assertNotIn("rank 1\n", self.good("--rank", 0, self.path / "annotated.goal"))

    def test_the_critical_path_follows_the_costs(self):
        file = self.file("line.goal", "num_ranks 2\nrank 0 {\nw: calc 1000\ns: send 11b to 1\ns requires w\n}\n"
                                      "rank 1 {\nr: recv 11b from 0\nx: calc 5\n}\n")
        out = self.good("--latency", 500, "--overhead", 20, "--byte", 2, file)
        # hop + work + hop + overhead + latency + bytes + overhead
        self.assertIn(f"critical path: 3 operations, {10 + 1000 + 10 + 20 + 500 + 22 + 20} ns", out)

    def test_the_graph_is_drawn(self):
        out = self.good("--dot", self.file("annotated.goal", ANNOTATED))
        self.assertTrue(out.startswith("digraph goal {") and out.endswith("}\n"))
        self.assertEqual(out.count("style=dashed"), 2)
        self.assertIn("shape=diamond", out)

    def test_mistakes_are_told(self):
        self.refused("no FILE was given", status=2)
        self.refused("run 'goalc --help'", "--nonsense", status=2)
        self.refused("--dot", "--dot", "--export", "x", status=2)
        self.refused("cannot be read", self.path / "none")
        self.refused(":3:4:", self.file("bad.goal", "num_ranks 1\nrank 0 {\na: sand 8b to 0\n}\n"))
        self.refused("no matching receive", self.file("alone.goal", "num_ranks 1\nrank 0 {\na: send 8b to 0\n}\n"))
        self.refused(":3:5: this rank has no operation", self.file("label.goal", "num_ranks 1\nrank 0 {\n//@ a needs 2\n}\n"))
        good = self.file("good.goal", "num_ranks 1\nrank 0 {\n}\n")
        self.refused("there is no rank 1", "--rank", 1, good)
        self.refused("cannot be written", "--binary", self.path / "no" / "folder", good)
        self.good("--binary", self.path / "cut.bin", good)
        (self.path / "cut.bin").write_bytes((self.path / "cut.bin").read_bytes()[:-4])
        self.refused("it was cut", self.path / "cut.bin")

    def test_help_is_a_manual(self):
        out = self.good("--help")
        for option in ("--rank", "--brief", "--dot", "--export", "--text", "--binary", "Statuses"):
            self.assertIn(option, out)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
