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

    def simulated(self, text, network="L=1000,o=100,G=1", *options):
        out = self.good("--simulate", "--network", network, *options, self.file("simulated.goal", text))
        return int(re.match(r"simulated: (\d+) ns", out)[1])

    def test_a_simulated_message_takes_the_overheads_the_latency_and_its_bytes(self):
        one = "num_ranks 2\nrank 0 {\na: send 10b to 1 tag 1\n}\nrank 1 {\nb: recv 10b from 0 tag 1\n}\n"
        self.assertEqual(self.simulated(one), 100 + 1000 + 10 + 100)
        self.assertEqual(self.simulated(one, "L=1000,o=100,O=2,G=1"), 120 + 1000 + 10 + 120)
        # The announcement, the question, and the data.
        self.assertEqual(self.simulated(one, "L=1000,o=100,G=1,S=9"), (100 + 1000) + (100 + 1000) + (1000 + 10) + 100)
        self.assertEqual(self.simulated(one, "L=1000,o=100,G=1,S=10"), 100 + 1000 + 10 + 100)

    def test_a_simulated_network_card_carries_one_message_after_the_other(self):
        two = "num_ranks 3\nrank 0 {\na: send 500b to 1 tag 1\nb: send 500b to 2 tag 1\n}\n" + "".join(
            f"rank {r} {{\na: recv 500b from 0 tag 1\n}}\n" for r in (1, 2))
        self.assertEqual(self.simulated(two), 100 + 500 + 1000 + 500 + 100)
        self.assertEqual(self.simulated(two, "L=1000,o=100,G=1,g=50"), 100 + 550 + 1000 + 500 + 100)
        self.assertEqual(self.simulated(two, "L=1000,o=100,G=0"), 200 + 1000 + 100)

    def test_a_simulated_processor_does_one_thing_after_the_other(self):
        calcs = "num_ranks 1\nrank 0 {\na: calc 500\nb: calc 500 cpu %d\nc: calc 7\nc %s a\nc requires b\n}\n"
        self.assertEqual(self.simulated(calcs % (0, "requires")), 1007)
        self.assertEqual(self.simulated(calcs % (1, "requires")), 507)
        self.assertEqual(self.simulated(calcs % (1, "irequires")), 507)
        any_of = "num_ranks 1\nrank 0 {\na: calc 500\nb: calc 90 cpu 1\n//@ c needs 1\nc: calc 7 cpu 2\nc requires a\nc requires b\n}\n"
        self.assertEqual(self.simulated(any_of), 500)
        out = self.good("--simulate", "--rank", "0", self.file("any.goal", any_of))
        self.assertIn("rank 0: ends at 500 ns, computes for 597, sends and receives for 0", out)

    def test_simulated_receives_take_messages_in_order_by_source_and_tag(self):
        text = ("num_ranks 2\nrank 0 {\na: send 8b to 1 tag 1\nb: calc 5000\nb requires a\nc: send 8b to 1 tag 2\nc requires b\n}\n"
                "rank 1 {\na: recv 8b from 0 tag %s\nb: calc 3\nb requires a\nc: recv 8b from -1 tag -1\n}\n")
        first, other = self.simulated(text % 1), self.simulated(text % 2)
        self.assertEqual(first, 100 + 5000 + 100 + 1000 + 8 + 100)
        self.assertEqual(other, first + 3)  # what waits for the second message ends after it

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
        self.refused("that of --simulate", "--network", "L=1", "x", status=2)
        good = self.file("good.goal", "num_ranks 1\nrank 0 {\n}\n")
        self.refused("there is no rank 1", "--rank", 1, good)
        self.refused("cannot be written", "--binary", self.path / "no" / "folder", good)
        self.refused("there is no 'speed'", "--simulate", "--network", "speed=1", good)
        self.good("--binary", self.path / "cut.bin", good)
        (self.path / "cut.bin").write_bytes((self.path / "cut.bin").read_bytes()[:-4])
        self.refused("it was cut", self.path / "cut.bin")

    def test_help_is_a_manual(self):
        out = self.good("--help")
        for option in ("--rank", "--brief", "--dot", "--export", "--text", "--binary", "--simulate", "Statuses"):
            self.assertIn(option, out)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
