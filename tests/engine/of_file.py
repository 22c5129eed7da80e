#!/usr/bin/env python3
"""Runs those tests of a GoogleTest program that one of its source files holds.

Usage: of_file.py SOURCE PROGRAM [GoogleTest options]
"""
import os
import re
import sys


def main():
    source, program = sys.argv[1:3]
    with open(source, encoding='utf-8') as file:
        suites = sorted(set(re.findall(r'^(?:TYPED_)?TEST(?:_F|_P)?\((\w+),', file.read(), re.MULTILINE)))
    if not suites:
        sys.exit(f'{source} holds no tests')
    patterns = ':'.join(f'{suite}.*:{suite}/*:*/{suite}.*' for suite in suites)
    os.execv(program, [program, f'--gtest_filter={patterns}', *sys.argv[3:]])


if __name__ == '__main__':
    main()
