#!/usr/bin/env python3
"""bench/report: results become one page that loads nothing; what is no file of results is refused with a sentence.

  report_page_test.py SOURCE_ROOT
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

REPORT = pathlib.Path(sys.argv.pop(1)) / "bench/report"


def row(bench, size, ours, theirs, ranks=2, unit="us"):
    return {"bench": bench, "ranks": ranks, "size": size, "unit": unit, "median": {"Portunus": ours, "MPICH": theirs}, "ratio": ours / theirs,
            "ratio_of_best_rounds": ours / theirs, "samples": {"Portunus": [ours, ours], "MPICH": [theirs]}}


COMPARED = {"commit": "c0ffee", "machine": {"cpu": "<a processor>", "cores": 2}, "load_average": [0.1, 0.2],
            "rows": [row("latency", 8, 0.3, 0.4), row("latency", 1024, 0.5, 0.4), row("halo", 0, 1000.0, 1100.0)]}
OFFLOADED = {"commit": "c0ffee", "machine": {}, "load_average": [0.1, 0.2],
             "rows": [{"part": "link", "rate": "1gbit", "library": "GOAL", "op": "bcast", "size": float(size), "pure": 500.0, "overhead": 90.0, "overlap": 0.8}
                      for size in (65536, 1 << 20)] + [{"part": "statements", "statement": "F4a"}]}


def launch(first, later):
    return {"first": first, "later": later}


BROAD = {"commit": "c0ffee", "machine": {}, "load_average": 0.3, "interface": "mpi", "rounds": 400, "numbers": 16, "tcp": True,
         "rows": [{"chapter": "collectives", "kind": "gatherv", "ranks": 4, "samples": {"Portunus": [launch(6, 1.5), launch(5, 2.5)], "MPICH": [launch(9, 4)]},
                   "ratios": {"later": 0.5, "worst": 0.625, "first": 0.61}, "first_over_later": 2.75},
                  {"chapter": "objects", "kind": "info", "ranks": 4, "samples": {"Portunus": [launch(1, 0.25)], "MPICH": []}, "ratios": None, "first_over_later": 4}]}


class Page(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.at = pathlib.Path(self.folder.name)

    def write(self, name, content):
        (self.at / name).write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return str(self.at / name)

    def report(self, *options):
        return subprocess.run([REPORT, "-o", str(self.at / "page.html"), *options], capture_output=True, text=True, check=False)

    def refused(self, sentence, *options):
        done = self.report(*options)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn(sentence, done.stderr)
        told = [line for line in done.stderr.splitlines() if not line.startswith(("usage: ", " "))]
        self.assertEqual(len(told), 1, done.stderr)

    def test_shows_each_value_and_loads_nothing(self):
        done = self.report("--compare", self.write("c.json", COMPARED), "--offload", self.write("o.json", OFFLOADED))
        self.assertEqual(done.returncode, 0, done.stderr)
        page = (self.at / "page.html").read_text(encoding="utf-8")
        for words in ("Portunus, 8 B: 0.3 us (0.3 to 0.3 in 2 rounds)", "halo on 2 ranks, MPICH: 1100 us", "2 of 3 rows", "GOAL, 64 KiB: 0.8", "c0ffee"):
            self.assertIn(words, page)
        self.assertIn("&lt;a processor&gt;", page)
        self.assertEqual(re.findall(r"(?:src|href|url)\s*[=(]|<script", page), [])
        self.assertEqual(page.count("<svg"), page.count("</svg>"))

    def test_shows_each_kind_of_call_and_the_peers_of_two_systems(self):
        other = dict(COMPARED, rows=[row("latency", 8, 0.3, 0.2)])
        done = self.report("--compare", self.write("here.json", COMPARED), "--compare", self.write("today.json", other), "--breadth", self.write("b.json", BROAD))
        self.assertEqual(done.returncode, 0, done.stderr)
        page = (self.at / "page.html").read_text(encoding="utf-8")
        for words in ("All rows of here.json", "All rows of today.json", "Each kind of call: mpi, by TCP, 16 numbers", "gatherv on 4 ranks: 0.50 (worst launch 0.62, first rounds 0.61)",
                      "<td>2.5</td>", "info on 4 ranks"):
            self.assertIn(words, page)

    def test_draws_either_alone(self):
        self.assertEqual(self.report("--breadth", self.write("b.json", BROAD)).returncode, 0)
        self.assertEqual(self.report("--compare", self.write("c.json", COMPARED)).returncode, 0)
        self.assertEqual(self.report("--offload", self.write("o.json", OFFLOADED)).returncode, 0)

    def test_refuses_what_is_no_file_of_results(self):
        self.refused("cannot be read as results", "--compare", str(self.at / "nowhere"))
        self.refused("cannot be read as results", "--compare", self.write("cut.json", '{"rows": ['))
        self.refused("holds no rows", "--offload", self.write("list.json", []))
        broken = dict(COMPARED, rows=[{"bench": "latency"}])
        self.refused("a row of the results is not as", "--compare", self.write("broken.json", broken))

    def test_says_that_the_page_cannot_be_written(self):
        self.refused("cannot be written", "-o", "/nowhere/page.html", "--compare", self.write("c.json", COMPARED))


if __name__ == "__main__":
    unittest.main()
