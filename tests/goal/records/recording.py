"""What the tests of recordings have in common: programs are recorded, and their files read, executed and simulated."""
import collections
import os
import re
import subprocess

# A sanitizer wants to be the first library that is loaded.
ENVIRONMENT = {**os.environ, "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0:detect_leaks=0"}
TIME = 240  # only against hanging for ever


def run(*command, **settings):
    return subprocess.run([str(word) for word in command], env={**ENVIRONMENT, **settings}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=TIME)


class Checks:
    """Counts what failed."""

    def __init__(self):
        self.failed = 0

    def expect(self, name, good, *said):
        print(f"{'ok' if good else 'FAILED'}: {name}", flush=True)
        if not good:
            self.failed += 1
            print(*said, sep="\n")


class Recorded:
    """A file of a recording: of each rank its operations, and what each waits for."""

    def __init__(self, text):
        self.text = text
        self.ranks = []
        for block in text.split("\nrank ")[1:]:
            empty = set(re.findall(r"^//@ (\w+) bytes 0$", block, re.MULTILINE))
            operations = {}
            for label, kind, size, peer in re.findall(r"^(\w+): (send|recv) (\d+)b (?:to|from) (\d+)", block, re.MULTILINE):
                operations[label] = (kind, 0 if label in empty else int(size), int(peer))
            needs = collections.defaultdict(set)
            for one, two in re.findall(r"^(\w+) i?requires (\w+)$", block, re.MULTILINE):
                needs[one].add(two)
            self.ranks.append((operations, needs))

    def count(self, kind, size):
        return sum(1 for operations, _ in self.ranks for one in operations.values() if one[:2] == (kind, size))

    def sizes(self, kind):
        return collections.Counter(one[1] for operations, _ in self.ranks for one in operations.values() if one[0] == kind)

    def labels(self, rank, kind, size):
        return [label for label, one in self.ranks[rank][0].items() if one[:2] == (kind, size)]

    def waits_for(self, rank, label, before):
        """Whether an operation of a rank starts after another one of it has ended."""
        needs, seen, new = self.ranks[rank][1], set(), {label}
        while new:
            seen |= new
            new = {two for one in new for two in needs[one]} - seen
        return before in seen - {label}

    def all_wait(self, kind, size, before_kind, before_size):
        """Whether on each rank all operations of one kind and size wait for all of another."""
        pairs = [(rank, one, two) for rank in range(len(self.ranks)) for one in self.labels(rank, kind, size)
                 for two in self.labels(rank, before_kind, before_size)]
        return bool(pairs) and all(self.waits_for(*pair) for pair in pairs)
