#!/usr/bin/env python3
"""bench/paper: the cheapest figures of papers, measured quickly, become tables, a file of results and a page; what it cannot do it refuses.

  paper_test.py SOURCE_ROOT BUILD_FOLDER
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT, BUILD = map(pathlib.Path, (sys.argv.pop(1), sys.argv.pop(1)))


def paper(*options):
    return subprocess.run([ROOT / "bench/paper", *map(str, options)], capture_output=True, text=True, check=False)


class Paper(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.json, self.page = (pathlib.Path(folder.name) / name for name in ("results.json", "page.html"))

    def measured(self, number, figure, row, x):
        done = paper(number, "--quick", "--figures", figure, "--build", BUILD, "--json", self.json, "--html", self.page)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        document = json.loads(self.json.read_text(encoding="utf-8"))
        self.assertEqual(document["paper"], number)
        found = [known for known in document["figures"][0]["rows"] if (known["row"], known["x"]) == (row, x)]
        self.assertEqual(len(found), 1, document)
        self.assertGreater(found[0]["of"]["Portunus"], 0)
        self.assertIn("The paper: ", done.stdout)
        page = self.page.read_text(encoding="utf-8")
        self.assertIn(document["figures"][0]["title"], page)
        self.assertIn("<svg", page)
        return document

    def test_atomics_of_the_paper_on_shmem(self):
        document = self.measured("001", 7, "fetch_add", 2)
        self.assertTrue(any("Sandia" in reason for reason in document["figures"][0]["missing"]))

    def test_steps_of_virtual_processors(self):
        self.measured("003", 2, "get, 2 PEs", 100000)

    def test_refuses_papers_and_figures_that_are_not_there(self):
        for options, words in ((("007",), "invalid choice: '007'"), ((), "no paper was named"), (("002", "--figures", "2"), "has 1 to 1 here")):
            done = paper(*options)
            self.assertEqual(done.returncode, 2)
            self.assertIn(words, done.stderr)


unittest.main()
