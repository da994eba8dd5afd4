"""Rows of two configs in one path: everybody's csv.DictReader reads each value under its own heading, and so do read() and
the command. Nothing is lost."""
import csv
import glob
import itertools
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import numpy
import tensorstat

COMMAND = os.environ["COMMAND"]
X = numpy.arange(1, 6, dtype=numpy.float32)
VALUES = {"Max Value": 5, "Min Value": 1, "Avg Value": 3, "L2Norm Value": 55 ** .5}


def config_of(folder, categories):
    return json.dumps({
        "common_dump_settings": {"dump_mode": 0, "path": folder, "net_name": "Net", "iteration": "all", "kernels": [], "input_output": 0,
                                 "support_device": [0], "saved_data": "statistic", "statistic_category": list(categories)},
        "e2e_dump_settings": {"enable": True}})


def dump(folder, categories, dialect="ours", names=("a",)):
    with tensorstat.DumpSession(config_of(folder, categories), dialect=dialect) as session:
        for name in names:
            session.collect("Add", name, outputs=[X], iteration=0)


class TwoConfigs(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = scratch.name

    def check(self, runs):
        """Each row of each csv file has the values of its headings, and there is a row for each run."""
        rows = 0
        for path in glob.glob(f"{self.folder}/rank_0/Net/0/0/*.csv"):
            with open(path, newline="") as file:
                for row in csv.DictReader(file):
                    rows += 1
                    for heading in row.keys() & VALUES.keys():
                        self.assertAlmostEqual(float(row[heading]), VALUES[heading], 4, path)  # MindSpore has six digits
        self.assertEqual(rows, runs)
        table = subprocess.run([COMMAND, self.folder, "--format", "csv"], capture_output=True, text=True, timeout=120)
        self.assertEqual((table.returncode, table.stderr), (0, ""))
        records = list(csv.DictReader(table.stdout.splitlines()))
        self.assertEqual(len(records), runs)
        for row in records:
            self.assertIn(row.get("Max Value") or "5", ("5", "5.0"))
            self.assertIn(row.get("Min Value") or "1", ("1", "1.0"))

    def test_any_two_orders_of_categories(self):
        orders = [("max", "min"), ("min", "max"), ("max", "avg"), ("min",), ("l2norm", "max", "min")]
        for one, other in itertools.permutations(orders, 2):
            with self.subTest(one=one, other=other), tempfile.TemporaryDirectory() as self.folder:
                with self.assertLogs("tensorstat", "WARNING") as log:
                    dump(self.folder, one)
                    dump(self.folder, other)
                    dump(self.folder, one)
                self.assertIn("statistic_2.csv", "".join(log.output))
                self.check(3)
                with open(f"{self.folder}/rank_0/.dump_metadata/data_dump.json") as file:
                    category = json.load(file)["common_dump_settings"]["statistic_category"]
                self.assertEqual(category, list(one), "the config of the last run, as in MindSpore")

    def test_two_dialects_with_one_heading(self):
        for one, other in itertools.permutations(("ours", "mindspore-2.7", "mindspore-next"), 2):
            with self.subTest(one=one, other=other), tempfile.TemporaryDirectory() as self.folder:
                dump(self.folder, ["max", "min"], one)
                dump(self.folder, ["max", "min"], other)
                self.check(2)

    def test_sessions_that_are_open_together(self):
        sessions = [tensorstat.DumpSession(config_of(self.folder, each)) for each in (("max", "min"), ("min", "max"))]
        for _ in range(20):
            for session in sessions:
                session.collect("Add", "a", outputs=[X], iteration=0)
                session.step_end(iteration=0)
        for session in sessions:
            session.close()
        self.check(40)

    def test_append_of_the_command(self):
        tensors = f"{self.folder}/from/rank_0/Net/0/0"
        os.makedirs(tensors)
        numpy.save(f"{tensors}/Add.a.0.0.1700000000000000.output.0.DefaultFormat.float32.npy", X)
        top, self.folder = self.folder, f"{self.folder}/to"
        for number, categories in enumerate((("max", "min"), ("min", "max"), ("min", "max"))):
            pathlib.Path(top, "config.json").write_text(config_of(self.folder, categories))
            ran = subprocess.run([COMMAND, "dump", f"{top}/from", "--config", f"{top}/config.json", *["--append"] * (number > 0)],
                                 capture_output=True, text=True, timeout=120)
            self.assertEqual(ran.returncode, 0, ran.stderr)
            self.assertEqual("statistic_2.csv" in ran.stderr, number > 0, ran.stderr)
        self.check(3)

    def test_the_same_config_goes_on_in_the_same_file(self):
        for _ in range(3):
            dump(self.folder, ["max", "min"])
        self.assertEqual(os.listdir(f"{self.folder}/rank_0/Net/0/0"), ["statistic.csv"])
        self.check(3)


if __name__ == "__main__":
    unittest.main()
