#!/usr/bin/env python3
"""What a rank has printed before it crashes or hangs is seen, with each library, before and after it begins.

Usage: last_lines_test.py PTLRUN SPEAKER... [unittest arguments]
"""
import os
import signal
import subprocess
import sys
import unittest

PTLRUN, SPEAKERS = '', []
HANG = 280


def start(*arguments, **variables):
    environment = {**os.environ, 'ASAN_OPTIONS': 'handle_segv=0:handle_abort=0:detect_leaks=0', **variables}
    return subprocess.Popen([PTLRUN, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


class LastLines(unittest.TestCase):
    def test_whole_lines_are_there_however_the_rank_ends(self):
        for speaker in SPEAKERS:
            for options in ([], ['--tag-output']):
                for end, lines in (('early', ['before']), *((end, ['before', 'after']) for end in ('abort', 'store', 'kill', 'exit'))):
                    with self.subTest(speaker=speaker, options=options, end=end):
                        process = start('-n', '1', *options, speaker, end)
                        out, _ = process.communicate(timeout=HANG)
                        self.assertNotEqual(process.returncode, 0)
                        self.assertEqual([line.removeprefix('[0] ') for line in out.splitlines()], lines)

    def test_lines_of_a_rank_that_hangs_are_seen_meanwhile(self):
        for speaker in SPEAKERS:
            for options in ([], ['--tag-output']):
                with self.subTest(speaker=speaker, options=options):
                    process = start('-n', '1', *options, speaker, 'wait')
                    self.assertEqual([process.stdout.readline().split()[-1] for _ in range(2)], ['before', 'after'])
                    process.send_signal(signal.SIGTERM)
                    process.communicate(timeout=HANG)
                    self.assertEqual(process.returncode, 128 + signal.SIGTERM)

    def test_who_wants_blocks_gets_them(self):
        for speaker in SPEAKERS:
            out, _ = start('-n', '1', '-x', 'PTL_STDOUT=block', speaker, 'abort').communicate(timeout=HANG)
            self.assertEqual(out, '')


if __name__ == '__main__':
    PTLRUN = os.path.abspath(sys.argv.pop(1))
    while len(sys.argv) > 1 and os.path.exists(sys.argv[1]):
        SPEAKERS.append(os.path.abspath(sys.argv.pop(1)))
    unittest.main()
