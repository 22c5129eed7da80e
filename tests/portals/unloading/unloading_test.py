#!/usr/bin/env python3
"""A program that loads a library, or a plugin that is linked with it, may close it whenever it wants, and open it again.

Usage: unloading_test.py PROGRESS PTLRUN HOST PLUGIN... (two of each library) [unittest arguments]
"""
import itertools
import os
import subprocess
import sys
import unittest

PROGRESS, PTLRUN, HOST, PLUGINS = '', '', '', []
HANG = 280
WAYS = 'close', 'again', 'two', 'destructor', 'atexit', 'exit', '_exit', 'fork'


class Unloading(unittest.TestCase):
    def check(self, command, environment):
        done = subprocess.run(command, capture_output=True, text=True, timeout=HANG, env={**os.environ, **environment})
        self.assertEqual((done.returncode, done.stderr), (0, ''))

    def test_plugins_may_be_closed_with_the_library_open_or_closed(self):
        pairs = list(zip(PLUGINS[::2], PLUGINS[1::2]))
        for way, end, scope, pair in itertools.product(WAYS, '01', ('local', 'global'), pairs):
            with self.subTest(way=way, end=end, scope=scope, plugin=os.path.basename(pair[0])):
                self.check([HOST, way, end, scope, *pair], {'PTL_PROGRESS': PROGRESS})

    def test_so_may_those_of_ranks(self):
        for pair in zip(PLUGINS[::2], PLUGINS[1::2]):
            for way in WAYS:
                with self.subTest(way=way, plugin=os.path.basename(pair[0])):
                    self.check([PTLRUN, '-n', '2', HOST, way, '1', 'local', *pair], {})


if __name__ == '__main__':
    PROGRESS = sys.argv.pop(1)
    PTLRUN, HOST = (os.path.abspath(sys.argv.pop(1)) for _ in range(2))
    while len(sys.argv) > 1 and os.path.exists(sys.argv[1]):
        PLUGINS.append(os.path.abspath(sys.argv.pop(1)))
    unittest.main()
