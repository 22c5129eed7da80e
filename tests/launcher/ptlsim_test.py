#!/usr/bin/env python3
"""ptlsim_test.py PTLSIM PTLRUN GOALC SIMULATED SIMULATED_CXX STATIC HALO CONJUGATE_GRADIENT HEAT_RMA [OPENMP]: programs simulated, beside their real runs."""
import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest


def run(*command, **settings):
    return subprocess.run([str(word) for word in command], env={**os.environ, **settings}, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=280, check=False)


def simulate(ranks, *words, **settings):
    return run(PTLSIM, "-n", ranks, "--compute", "zero", *words, **settings)


class Results(unittest.TestCase):
    def test_programs_print_what_they_print_in_a_real_run(self):
        for what in ("ring", "pi"):
            for ranks in (4, 64):
                with self.subTest(what=what, ranks=ranks):
                    done = simulate(ranks, "--untagged", SIMULATED, what)
                    self.assertEqual((done.returncode, done.stderr), (0, ""))
                    real = run(PTLRUN, "-n", min(ranks, 4), SIMULATED, what)
                    self.assertEqual(done.stdout, real.stdout if ranks == 4 or what == "pi" else f"ring {63 * 64 // 2}\n")

    def test_applications_verify_their_results(self):
        for words in ((HALO, "--rows", "64", "--columns", "50", "--steps", "20"), (CONJUGATE_GRADIENT, "--side", "64")):
            for ranks in (4, 64):
                with self.subTest(words=words, ranks=ranks):
                    done = simulate(ranks, *words)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    self.assertIn("verified", done.stdout)

    def test_ranks_of_c_plus_plus_programs_have_variables_of_their_own(self):
        done = simulate(3, SIMULATED_CXX)
        self.assertEqual(done.returncode, 0, done.stderr)
        for rank in range(3):
            lines = [line for line in done.stdout.splitlines() if line.startswith(f"[{rank}] ")]
            self.assertEqual(lines, [f"[{rank}] {text}" for text in ("begins", "caught what was thrown", f"ends with {rank}")])

    def test_parallel_regions_run_on_one_thread_of_each_rank(self):
        if not OPENMP:
            self.skipTest("the compiler has no OpenMP")
        for ranks in (2, 64):
            done = simulate(ranks, "--untagged", OPENMP[0], OMP_NUM_THREADS="2")
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertEqual(done.stdout, f"{ranks * 499500 + 1000 * ranks * (ranks - 1) // 2}\n" * ranks)

    def test_options_and_random_numbers_are_each_ranks_own(self):
        done = simulate(3, SIMULATED, "chance", "-v", "5")
        real = run(PTLRUN, "-n", "3", "--tag-output", SIMULATED, "chance", "-v", "5")
        numbers = [sorted(re.findall(r"\] (5 \d+)$", text, re.MULTILINE)) for text in (done.stdout, real.stdout)]
        self.assertEqual(len(numbers[0]), 3, done.stdout + done.stderr)
        self.assertEqual(numbers[0], numbers[1])


    def test_a_recorded_run_has_the_messages_of_a_real_one(self):
        with tempfile.TemporaryDirectory() as folder:
            files = [pathlib.Path(folder) / name for name in ("simulated.goal", "real.goal")]
            words = (HALO, "--rows", "64", "--columns", "50", "--steps", "5")
            simulated = simulate(4, "--record", files[0], *words)
            real = run(PTLRUN, "-n", "4", "--record", files[1], *words)
            self.assertEqual((simulated.returncode, real.returncode), (0, 0), simulated.stderr + real.stderr)
            found = [collections.Counter(re.findall("(?:send|recv) .*", file.read_text())) for file in files]
            self.assertGreater(found[0].total(), 40)
            self.assertEqual(found[0], found[1])


    def test_a_recorded_run_that_ends_badly_leaves_a_schedule_that_says_so(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "cut.goal"
            for what, status in (("crash", 139), ("endless", 124)):
                with self.subTest(what=what):
                    done = simulate(3, "--timeout", "20" if what == "crash" else "0.5", "--record", file, SIMULATED, what, TMPDIR=folder)
                    self.assertEqual(done.returncode, status, done.stderr)
                    self.assertIn("num_ranks 3", file.read_text())
                    self.assertRegex(file.read_text(), "// .*cut")
                    self.assertEqual(os.listdir(folder), ["cut.goal"])

    def test_a_recorded_run_takes_as_long_by_goalc_as_it_took(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "run.goal"
            for words in ((HALO, "--rows", "64", "--columns", "400", "--steps", "20"), (CONJUGATE_GRADIENT, "--side", "40"),
                          (HEAT_RMA, "--steps", "50")):
                for network in ("latency=2us,overhead=200ns,bandwidth=100Gbit", "latency=30us,overhead=3us,bandwidth=1Gbit"):
                    with self.subTest(words=words, network=network):
                        done = simulate(4, "--network", network, "--record", file, *words)
                        self.assertEqual(done.returncode, 0, done.stderr)
                        took = int(re.search(r"took (\d+) ns", file.read_text())[1])
                        again = int(re.search(r"simulated: (\d+) ns", run(GOALC, "--simulate", "--network", network, file).stdout)[1])
                        self.assertTrue(0.85 * took < again < 1.15 * took, (took, again))


class Traces(unittest.TestCase):
    def trace(self, folder, *words):
        file = pathlib.Path(folder) / "trace.json"
        done = run(PTLSIM, "-n", 4, "--compute", "zero", "--trace", file, *words)
        return done, json.loads(file.read_text())["traceEvents"]

    def test_a_trace_has_all_messages_as_arrows_and_does_not_change_the_run(self):
        words = ("--progress", HALO, "--rows", "64", "--steps", "5")
        with tempfile.TemporaryDirectory() as folder:
            done, events = self.trace(folder, *words)
        without = simulate(4, *words)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, without.stdout, without.stderr))
        sent, received = ({event["id"]: event for event in events if event["ph"] == phase} for phase in "sf")
        self.assertEqual(sent.keys(), received.keys())
        self.assertEqual(len([event for event in events if event["name"].startswith("message to")]),
                         int(re.search(r"(\d+) messages", done.stderr)[1]))
        self.assertTrue(all(sent[number]["ts"] < received[number]["ts"] for number in sent))

    def test_what_a_rank_does_and_what_its_card_does_is_one_after_the_other(self):
        with tempfile.TemporaryDirectory() as folder:
            _, events = self.trace(folder, SIMULATED, "watch")
        tracks = collections.defaultdict(list)
        for event in events:
            if event["ph"] == "X":
                tracks[event["pid"], event["tid"]].append((event["ts"], event["ts"] + event["dur"]))
        self.assertTrue(any(event["name"] == "sleeps" and event["dur"] >= 3.6e9 for event in events))
        for track, slices in tracks.items():
            slices.sort()
            self.assertTrue(all(first[1] <= second[0] + 0.002 for first, second in zip(slices, slices[1:])), track)

    def test_runs_that_end_badly_leave_a_whole_trace(self):
        with tempfile.TemporaryDirectory() as folder:
            for words in (("--timeout", "0.5", SIMULATED, "endless"), (SIMULATED, "crash"), (SIMULATED, "hang"), ("--kill", "1@3ms", SIMULATED, "survive")):
                with self.subTest(words=words):
                    self.assertTrue(self.trace(folder, *words)[1])


class Time(unittest.TestCase):
    def times(self, *words):
        done = simulate(*words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return [float(word) for word in re.findall(r"\d+\.\d{9}", done.stdout)]

    def test_sleeping_takes_no_time_but_by_the_clock(self):
        for before, asleep in zip(*[iter(self.times(2, SIMULATED, "watch"))] * 2):
            self.assertTrue(0 < before < 1)
            self.assertTrue(3600 <= asleep < 3601)

    def test_the_network_decides_what_messages_take(self):
        slow = self.times(2, "--network", "latency=1ms,bandwidth=1Gbit", SIMULATED, "bulk")[0]
        self.assertTrue(0.008 + 0.001 < slow < 0.008 + 0.010, slow)
        fast = self.times(2, "--network", "L=1000,o=100,G=0.01", SIMULATED, "bulk")[0]
        self.assertTrue(10e-6 < fast < 30e-6, fast)

    def test_network_cards_are_busy_while_there_is_something_for_them(self):
        # 700 kB leave each card and come to each at 1 ns a byte. One that waits for another's card holds nobody up; in the worst order of
        # arrivals the last one gets nothing until all others have theirs.
        self.assertTrue(all(700e-6 < time < 1450e-6 for time in self.times(8, "--network", "L=1000,o=100,G=1", SIMULATED, "all")))

    def test_barriers_take_the_latency_of_their_rounds(self):
        near, far = (self.times(4, "--network", f"latency={us}us,overhead=0ns", SIMULATED, "watch")[0] for us in (1, 101))
        self.assertGreaterEqual(far - near, 10 * 100e-6)

    def test_what_lies_below_another_switch_is_further_away(self):
        below, beyond = (self.times(4, "--network", f"hop=1ms,topology=fat-tree:{leaf}", SIMULATED, "bulk")[0] for leaf in (4, 2))
        self.assertGreater(beyond - below, 2e-3)

    def test_slow_ranks_take_longer(self):
        usual, slow = (self.times(2, *words, SIMULATED, "bulk")[0] for words in ((), ("--slow", "1=10")))
        self.assertGreater(slow, 5 * usual)

    def test_equal_seeds_give_equal_runs(self):
        runs = [run(PTLSIM, "-n", "4", "--compute", "zero", "--progress", "--seed", seed, SIMULATED, "watch") for seed in (3, 3, 4)]
        self.assertEqual((runs[0].stdout, runs[0].stderr), (runs[1].stdout, runs[1].stderr))
        self.assertNotEqual(runs[0].stdout, runs[2].stdout)
        self.assertRegex(runs[0].stderr, "trace [0-9a-f]{16}\n")


class Misfortunes(unittest.TestCase):
    def test_ranks_that_wait_for_one_another_are_told(self):
        done = simulate(3, SIMULATED, "hang")
        self.assertEqual(done.returncode, 124)
        for rank in range(3):
            self.assertIn(f"rank {rank} in MPI_Recv waits for a message from rank {(rank + 1) % 3} with tag 5 on MPI_COMM_WORLD\n", done.stderr)

    def test_the_time_that_a_run_may_take_ends_one_that_calls_nothing(self):
        done = simulate(3, "--timeout", "0.5", SIMULATED, "endless")
        self.assertEqual(done.returncode, 124, done.stderr)
        self.assertIn("the time of --timeout is over", done.stderr)
        self.assertIn("rank 1 runs\n", done.stderr)

    def test_of_many_ranks_that_fail_the_number_is_told(self):
        done = simulate(40, HALO, "--rows", "7")  # fewer rows than ranks
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(done.stderr.count("has ended with status"), 4, done.stderr)
        self.assertIn("36 more ranks have ended with a status", done.stderr)

    def test_failures_name_the_rank(self):
        for how, status, text in (("crash", 139, "rank 1 ends by signal 11"), ("abort", 134, "rank 1 ends by signal 6"),
                                  ("exit", 7, "rank 1 has ended with status 7"), ("end", 9, "rank 1 ends the job with status 9"),
                                  ("fork", 2, "rank 1 calls fork, which cannot be simulated")):
            with self.subTest(how=how):
                done = simulate(3, SIMULATED, how)
                self.assertEqual(done.returncode, status, done.stderr)
                self.assertIn(text, done.stderr)

    def test_survivors_go_on_without_who_was_killed_or_cut_off(self):
        for words, left in ((("--kill", "2@3ms"), 3), (("--kill", "1@2ms,3@3ms"), 2)):
            with self.subTest(words=words):
                done = simulate(4, *words, SIMULATED, "survive")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(done.stdout.count(f"left {left}\n"), left, done.stdout)
        self.assertIn("left ", simulate(4, "--cut", "0-1@3ms", SIMULATED, "survive").stdout)

    def test_exploring_finds_a_race_and_the_seed_replays_it(self):
        self.assertEqual(simulate(3, SIMULATED, "race").returncode, 0)
        found = run(PTLSIM, "-n", "3", "--explore", "60", SIMULATED, "race")
        self.assertEqual(found.returncode, 3, found.stderr)
        seed = re.search(r"--seed (\d+) replays it", found.stderr)[1]
        self.assertEqual(simulate(3, "--seed", seed, SIMULATED, "race").returncode, 3)

    def test_exploring_finds_that_the_order_of_messages_decides_what_is_printed(self):
        for program, words in (("any", "message 1 is of rank 2"), ("puts", "rank 2 was last")):
            with self.subTest(program=program):
                self.assertEqual(run(PTLSIM, "-n", "3", "--explore", "0.1", SIMULATED, program).returncode, 0)
                found = run(PTLSIM, "-n", "3", "--explore", "60", "--same-output", SIMULATED, program)
                self.assertEqual(found.returncode, 1, found.stderr)
                self.assertRegex(found.stderr, rf"^ptlsim: '\[0\] {words}' is printed instead of '\[0\] .*', as with seed 0: the order of messages decides")
                seed = re.search(r"--seed (\d+) replays it", found.stderr)[1]
                self.assertIn(words, simulate(3, "--seed", seed, SIMULATED, program).stdout)
        done = run(PTLSIM, "-n", "3", "--explore", "0.2", "--same-output", SIMULATED, "chance")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_exploring_tells_that_it_found_nothing(self):
        done = run(PTLSIM, "-n", "3", "--explore", "0.1", SIMULATED, "ring")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, r"^ptlsim: \d+ seeds, none fails")


class Refusals(unittest.TestCase):
    def test_more_ranks_than_a_process_may_have_mappings_for_are_refused(self):
        with open("/proc/sys/vm/max_map_count", encoding="ascii") as file:
            if int(file.read()) > 65536 * 20:
                self.skipTest("a process may have mappings for 65536 ranks here")
        done = run(PTLSIM, "-n", "65536", SIMULATED, "ring")
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, r"^ptlsim: 65536 ranks need some \d+ mappings, and a process may have \d+ here; [^\n]*max_map_count[^\n]*\n$")

    def test_bad_use_and_programs_that_cannot_be_simulated_are_refused_with_a_sentence(self):
        for words, text in (((sys.executable,), "is not linked with a library of Portunus|position independent"), (("/nonsense",), "there is no program"),
                            ((__file__,), "is not a program of this machine"), ((STATIC,), "linked statically"), ((), "which program"),
                            (("--network", "latency=soon", SIMULATED), "is no value of latency"), (("--network", "speed=1", SIMULATED), "no 'speed'"),
                            (("--network", "topology=ring", SIMULATED), "is no topology"), (("--kill", "9@1s", SIMULATED), "names no rank"),
                            (("--cut", "1-1@1s", SIMULATED), "one rank twice"), (("--slow", "1=0", SIMULATED), "RANK=FACTOR"),
                            (("--compute", "half", SIMULATED), "none of measured"), (("--explore", "-1", SIMULATED), "needs seconds"),
                            (("--same-output", SIMULATED), "is for --explore"),
                            (("--record", "/nonsense/x", SIMULATED), "cannot be written"), (("--timeout", "0", SIMULATED), "needs seconds"),
                            (("--record", "x", "--explore", "1", SIMULATED), "neither"),
                            (("--trace", "/nonsense/x", SIMULATED), "cannot be written"),
                            (("--bad", SIMULATED), "no option --bad")):
            with self.subTest(words=words):
                done = run(PTLSIM, "-n", "2", *words)
                self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
                self.assertRegex(done.stderr, f"^ptlsim: [^\n]*({text})[^\n]*\n$")

    def test_help_and_version(self):
        self.assertIn("--network", run(PTLSIM, "--help").stdout)
        self.assertRegex(run(PTLSIM, "--version").stdout, r"^ptlsim \(Portunus\) \d")


if __name__ == "__main__":
    PTLSIM, PTLRUN, GOALC, SIMULATED, SIMULATED_CXX, STATIC, HALO, CONJUGATE_GRADIENT, HEAT_RMA, *OPENMP = sys.argv[1:]
    unittest.main(argv=sys.argv[:1])
