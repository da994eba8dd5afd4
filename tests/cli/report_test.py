"""`tensorstat report` of rows that are written here: the rules that need two ranks or float16, what they must not accuse, limits,
formats and exit statuses."""
import json
import os
import random
import re
import subprocess
import tempfile
import unittest

COMMAND = os.environ["COMMAND"]
HEADING = ("Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape,Max Value,Min Value,Avg Value,"
           "L2Norm Value,NaN Count\n")
SEED = 7


class Report(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.random = random.Random(SEED)

    def write(self, iterations, rows, ranks=1):
        """`rows(rank, iteration)`: tuples of op type, op name, dtype, greatest magnitude, and the slot where it is not 0."""
        for rank in range(ranks):
            for iteration in range(iterations[rank] if isinstance(iterations, list) else iterations):
                path = os.path.join(self.folder, f"rank_{rank}", "net", "0", str(iteration))
                os.makedirs(path)
                with open(os.path.join(path, "statistic.csv"), "w") as file:
                    file.write(HEADING)
                    for index, (kind, name, dtype, size, *slot) in enumerate(rows(rank, iteration)):
                        file.write(f'{kind},{name},0,0,{1000 * iteration + index},output,{slot[0] if slot else 0},64,{dtype},"(16)",'
                                   f"{size!r},{-size!r},{size / 3!r},{size * 2.5!r},0\n")

    def run_report(self, *arguments):
        return subprocess.run([COMMAND, "report", self.folder, *arguments], capture_output=True, text=True)

    def findings(self, *arguments):
        ran = self.run_report("--format", "json", *arguments)
        self.assertEqual(ran.stderr, "")
        report = json.loads(ran.stdout)
        self.assertEqual(ran.returncode, 1 if report["findings"] else 0)
        return [(finding["rule"], finding["op_name"], finding["rank"], finding["first_iteration"])
                for finding in report["findings"]], report

    def noise(self):
        return 1 + self.random.random() / 7

    def test_overflow_ahead_is_seen_before_it_comes(self):
        self.write(60, lambda rank, iteration: [("MatMul", "mul", "float16", 900 * 1.1**iteration), ("Add", "add", "float16", self.noise())]
                   if iteration < 46 else [("Add", "add", "float16", self.noise())])
        findings, report = self.findings()
        self.assertEqual(findings, [("overflow", "mul", 0, 38)])  # 900 * 1.1^38 is the first above 32752
        self.assertIn("float16 ends at 65504", report["verdict"])
        self.assertEqual(self.findings("--limit", "overflow=0.9")[0][0][3], 44)  # 58953.6

    def test_a_mask_is_no_overflow(self):
        self.write(40, lambda rank, iteration: [("Mask", "mask", "float16", 65504.0), ("Fill", "fill", "float16", 60000.0),
                                                ("Scaled", "scaled", "float8_e4m3fn", 440.0)])
        self.assertEqual(self.findings()[0], [])

    def test_a_list_of_an_optimizer_has_no_past(self):
        """As LBFGS keeps its last directions: a tensor moves from slot to slot, and the list may become shorter."""
        sizes = [(1 if each % 45 == 30 else 0.001) * self.noise() for each in range(120)]
        self.write(100, lambda rank, iteration: [("Parameter", "a", "float32", self.noise())]
                   + [("OptimizerState", "a/old_dirs", "float32", sizes[iteration + slot], slot) for slot in range(3 if iteration < 60 else 2)])
        self.assertEqual(self.findings()[0], [])

    def test_ranks_that_part_are_named_with_the_iteration(self):
        sizes = [self.noise() for _ in range(30)]
        self.write(30, lambda rank, iteration: [
            ("Parameter", "a", "float32", sizes[iteration]),
            ("Parameter", "b", "float32", sizes[iteration] * (1 + 2.0**-50 if rank == 1 and iteration >= 17 else 1))], ranks=2)
        self.assertEqual(self.findings()[0], [("ranks", "b", 1, 17)])

    def test_replicas_that_differ(self):
        self.write(30, lambda rank, iteration: [("Parameter", "b", "float32", self.noise())], ranks=2)
        lines = ['{"kind": "run", "world_size": 2, "shards": "dp"}',
                 '{"kind": "replica", "iteration": 9, "op_type": "Parameter", "op_name": "b", "ranks": [1], "replicas": 3}',
                 '{"kind": "replica", "iteration": 9, "op_type": "OptimizerState", "op_name": "b/m", "ranks": [0, 1], "replicas": 2}',
                 '{"kind": "replica", "iteration": 20, "op_type": "Linear", "op_name": "0/forward", "ranks": [1], "replicas": 3}',
                 '{"kind": "replica", "iteration": 21, "ranks": [], "replicas": 3}', '{"kind": "replica", "ranks": [{}, "1", -1]}']
        for rank in range(2):  # every rank has the same lines: they are one finding
            with open(os.path.join(self.folder, f"rank_{rank}", "net", "watch.ndjson"), "w") as file:
                file.write("\n".join(lines) + "\n")
        findings, report = self.findings()
        self.assertEqual(findings, [("replica", "b/m", 0, 9), ("replica", "0/forward", 1, 20)])
        self.assertEqual([each["text"] for each in report["findings"]],
                         ["optimizer state b/m: of 2 replicas ranks 0, 1 differ in a bit since iteration 9; so did 1 other tensor",
                          "output of 0/forward: of 3 replicas rank 1 differs in a bit since iteration 20"])
        self.assertEqual(report["findings"][0]["severity"], "error")
        self.assertFalse(any(each.startswith("replica") for each in report["not_measured"]))
        self.assertIn("replica: needs watch(shards=...)", self.not_measured_without_watch())

    def not_measured_without_watch(self):
        for rank in range(2):
            os.remove(os.path.join(self.folder, f"rank_{rank}", "net", "watch.ndjson"))
        return self.findings()[1]["not_measured"]

    def test_parts_of_a_model_and_running_means_may_differ(self):
        same = [self.noise() for _ in range(30)]
        own = [[self.noise() for _ in range(30)] for _ in range(2)]
        self.write(30, lambda rank, iteration: [
            ("Parameter", "shard", "float32", own[rank][iteration]),
            ("Parameter", "norm.running_mean", "float32", own[rank][iteration] if iteration > 5 else same[iteration]),
            ("Parameter", "synchronised.later", "float32", own[rank][iteration] if iteration % 4 else same[iteration // 4])][:2]
            + [("Parameter", "between", "float32", own[rank][iteration] if iteration % 4 and iteration < 28 else same[iteration])],
            ranks=2)
        self.assertEqual(self.findings()[0], [])

    def test_a_rank_that_stops_is_named(self):
        self.write([30, 12, 30], lambda rank, iteration: [("Add", "add", "float32", self.noise())], ranks=3)
        self.assertEqual(self.findings()[0], [("stopped", None, 1, 12)])

    def test_a_rank_that_is_one_iteration_behind_has_not_stopped(self):
        self.write([30, 29], lambda rank, iteration: [("Add", "add", "float32", self.noise())], ranks=2)
        findings, report = self.findings()
        self.assertEqual(findings, [])
        self.assertIn("nothing found", report["verdict"].lower())
        self.assertTrue(any(each.startswith("ranks: ") for each in report["not_measured"]))

    def test_the_name_of_the_output_tells_the_format(self):
        self.write(3, lambda rank, iteration: [("Add", "add", "float32", 1.0)])
        for name, begins in (("x.json", '{"schema_version"'), ("x.html", "<!doctype html"), ("x.svg", "<svg"), ("x.txt", "Nothing found"), ("x", "Nothing found")):
            path = os.path.join(self.folder, name)
            self.assertEqual(self.run_report("-o", path).returncode, 0)
            with open(path) as file:
                self.assertEqual(file.read(len(begins)).lower(), begins.lower(), name)
        self.run_report("-o", self.folder + "/x.json", "--format", "text")
        with open(self.folder + "/x.json") as file:
            self.assertTrue(file.read().startswith("Nothing found"))

    def test_no_name_reaches_the_terminal_as_an_escape_sequence(self):
        self.write(30, lambda rank, iteration: [("Add", "add\x1b[31m\x07", "float32", 1e9 if iteration == 25 else 1.0)])
        path = os.path.join(self.folder, "rank_0", "net", "0", "29", "statistic.csv")
        with open(path) as file:
            rows = file.read()
        for text in (rows, rows.replace(",0\n", ",3\n")):  # a jump, and NaN
            with open(path, "w") as file:
                file.write(text)
            ran = self.run_report()
            self.assertEqual((ran.returncode, ran.stderr), (1, ""))
            self.assertNotRegex(ran.stdout, "[\x00-\x09\x0b-\x1f\x7f]")
            self.assertIn(r"add\x1b[31m\x07", ran.stdout)

    def test_the_help_has_every_rule(self):
        ran = subprocess.run([COMMAND, "report", "--help"], capture_output=True, text=True, check=False)
        self.write(3, lambda rank, iteration: [("Add", "add", "float32", 1.0)])
        metrics = self.run_report("--format", "openmetrics").stdout
        for rule in re.findall('rule="([a-z]+)"', metrics):
            self.assertRegex(ran.stdout.split("The rules:")[1], rf"\b{rule}\b")

    def test_wrong_usage(self):
        self.write(3, lambda rank, iteration: [("Add", "add", "float32", 1.0)])
        for limit in ("jump", "jump=", "jump=-1", "jump=nan", "nan=3", "leap=3"):
            ran = self.run_report("--limit", limit)
            self.assertEqual(ran.returncode, 2, limit)
            self.assertIn("--limit: a limit is RULE=NUMBER", ran.stderr)
        for seconds in ("nan", "0", "-1", "inf", "1e9"):
            ran = self.run_report("-o", self.folder + "/x.html", "--follow", seconds)
            self.assertEqual((ran.returncode, os.path.exists(self.folder + "/x.html")), (2, False), seconds)
        self.assertEqual(subprocess.run([COMMAND, "report", self.folder + "/absent"], capture_output=True).returncode, 3)


if __name__ == "__main__":
    unittest.main()
