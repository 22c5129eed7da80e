"""Reads what `meson test` recorded: names the skipped tests with their reasons, and counts.

The last line printed is "PASSED FAILED SKIPPED", three numbers. With --failed: only the names of the failed tests, a line each.
"""

import json
import sys


def reason(record):
    """The last line that says something: tests print why they skip just before they exit."""
    lines = [line.strip() for line in (record.get("stdout", "") + record.get("stderr", "")).splitlines()]
    return next((line for line in reversed(lines) if line), "no reason given")


def failed(path):
    with open(path, encoding="utf-8") as log:
        for record in map(json.loads, log):
            if record["result"] not in ("OK", "EXPECTEDFAIL", "SKIP"):
                print(record["name"].split(" / ")[-1])


def main(path):
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    with open(path, encoding="utf-8") as log:
        for record in map(json.loads, log):
            if record["result"] in ("OK", "EXPECTEDFAIL"):
                counts["passed"] += 1
            elif record["result"] == "SKIP":
                counts["skipped"] += 1
                print(f"   skipped {record['name']}: {reason(record)}")
            else:
                counts["failed"] += 1
    print(*counts.values())


if __name__ == "__main__":
    failed(sys.argv[2]) if sys.argv[1] == "--failed" else main(sys.argv[1])
