#!/usr/bin/env python3
"""bench/ablation: a program of bench/compare with a mechanism and without, measured quickly, becomes rows and a mean.

  ablation_test.py SOURCE_ROOT BUILD_FOLDER
"""

import pathlib
import subprocess
import sys
import unittest

ROOT, BUILD = map(pathlib.Path, (sys.argv.pop(1), sys.argv.pop(1)))


class Ablation(unittest.TestCase):
    def measured(self, *options):
        done = subprocess.run([ROOT / "bench/ablation", "--build", BUILD, "--only", "barrier", "--ranks", "2", "--rounds", "1",
                               "--seconds", "0.002", *options], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"(?m)^barrier +2 ")
        self.assertRegex(done.stdout, r"(?m)^compare: \d\.\d{3} times as long without")
        return done

    def test_a_build_is_compared_with_itself(self):
        self.assertIn("nothing is switched off", self.measured().stderr)

    def test_a_variable_switches_the_mechanism_off(self):
        self.assertNotIn("nothing is switched off", self.measured("--set", "PTL_DEBUG=no-node-collectives").stderr)


if __name__ == "__main__":
    unittest.main()
