#!/usr/bin/env python3
"""rules_file_test.py PTLRUN COLLECTIVES_JOB NODE_COLLECTIVES: PTL_COLLECTIVES=file=PATH, of good files and of bad ones."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

RULES = """# each rule another algorithm than the table
barrier any any binomial
bcast any any linear network
reduce any any binomial network single
bcast 4k any pipeline
bcast any any scatter_allgather
reduce any any halving
allreduce 1k 3 doubling
allreduce any any ring
gather any any binomial node several
gather any any linear uncrowded
scatter any any binomial
allgather any any bruck
allgatherv 100 any ring
alltoall any any bruck
reduce_scatter any any ring
"""


class FilesOfRules(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def file(self, content, name="rules"):
        path = pathlib.Path(self.folder.name) / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(path)

    def run_with(self, value, *command):
        return subprocess.run(command, capture_output=True, text=True, timeout=250, check=False, stdin=subprocess.DEVNULL,
                              env={**os.environ, "PTL_COLLECTIVES": value})

    def refuses(self, path, sentence):
        """GOAL_Init says which file it is and what is wrong."""
        done = self.run_with(f"nodes=on,file={path}", COLLECTIVES_JOB, "variable", f'"file={path}": {sentence}')
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_rules_of_a_file_give_right_results(self):
        done = self.run_with(f"file={self.file(RULES)}", PTLRUN, "-n", "4", "--timeout", "240", COLLECTIVES_JOB)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_rules_of_a_file_leave_the_collectives_of_a_node_alone(self):
        done = self.run_with(f"file={self.file(RULES)}", PTLRUN, "-n", "3", "--timeout", "240", NODE_COLLECTIVES)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_bad_lines_are_told(self):
        self.refuses(self.file("# tcp\n\nbarrier any any ring\n"), 'line 3, "barrier any any ring": the algorithms of barrier are')
        self.refuses(self.file("bcast much any linear"), 'line 1, "bcast much any linear": up to how many bytes is a number')
        self.refuses(self.file("bcast 8k linear"), 'line 1, "bcast 8k linear": write COLLECTIVE UP-TO-BYTES')
        self.refuses(self.file(bytes(range(256))), "line 1, ")

    def test_what_is_no_file_of_rules_is_told(self):
        self.refuses(self.folder.name + "/none", "the file cannot be read (No such file")
        self.refuses(self.folder.name, "this is no regular file; name a file of rules")
        self.refuses("/dev/zero", "this is no regular file")
        self.refuses("", "the file cannot be read")
        os.mkfifo(self.folder.name + "/pipe")
        self.refuses(self.folder.name + "/pipe", "this is no regular file")
        self.refuses(self.file("#" * 65537), "the file has more than 65536 bytes")


if __name__ == "__main__":
    PTLRUN, COLLECTIVES_JOB, NODE_COLLECTIVES = sys.argv[1:4]
    unittest.main(argv=sys.argv[:1], verbosity=2)
