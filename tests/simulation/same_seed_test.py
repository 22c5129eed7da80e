#!/usr/bin/env python3
"""same_seed_test.py SIMULATE SEED...: a seed's job does the same at the same times whenever it is run."""
import hashlib
import subprocess
import sys

RUNS = 2


def run(simulate, seed):
    told = subprocess.run([simulate, '--work', 'mpi', '--seed', seed, '--runs', '1', '--tell'], capture_output=True, text=True, check=False)
    return told.stdout


def main():
    simulate, *seeds = sys.argv[1:]
    unlike = [seed for seed in seeds if len({hashlib.sha256(run(simulate, seed).encode()).digest() for _ in range(RUNS)}) != 1]
    if unlike:
        sys.exit(f'seeds {", ".join(unlike)}: their runs differ, so something real decides what a simulated process does; '
                 f'compare the outputs of `simulate --work mpi --seed {unlike[0]} --runs 1 --tell`')


main()
