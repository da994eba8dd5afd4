"""A store goes where a dump's folder goes: findings, origin, report and follow say of RUNS.db what they say of the dump that was
added. Skipped where the command has no store."""
import csv
import math
import os
import subprocess
import sys
import tempfile
import unittest

import tensorstat

COMMAND = os.environ["COMMAND"]
HEADING = ("Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape,Max Value,Min Value,Avg Value,L2Norm Value,"
           "NaN Count,Positive Inf Count,Negative Inf Count").split(",")

if subprocess.run([COMMAND, "store", "--help"], capture_output=True).returncode != 0:
    print("the command was built without SQLite: stores are not tested here", file=sys.stderr)
    sys.exit(0)


def write_run(folder, is_faulty):
    for iteration in range(80):
        place = os.path.join(folder, "rank_0", "net", "0", str(iteration))
        os.makedirs(place)
        with open(os.path.join(place, "statistic.csv"), "w", newline="") as file:
            rows = csv.writer(file, lineterminator="\n")
            rows.writerow(HEADING)
            for index, name in enumerate(("up", "down")):
                value = math.nan if is_faulty and iteration >= 60 and name == "down" else 1 + math.sin(iteration) / 9
                rows.writerow(["Linear", name, 0, 0, 1000 * iteration + index, "output", 0, 64, "float32", "(16)", value, -value, value / 3, value,
                               int(math.isnan(value)), 0, 0])


class Store(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.store = os.path.join(folder.name, "runs.db")
        self.dumps = {name: os.path.join(folder.name, name) for name in ("clean", "faulty")}
        for name, dump in self.dumps.items():
            write_run(dump, name == "faulty")
            subprocess.run([COMMAND, "store", "add", self.store, dump, "--run", name], check=True, capture_output=True)

    def test_a_store_says_what_its_dump_says(self):
        for name, dump in self.dumps.items():
            stored = self.store + "//" + name
            of_store, of_dump = tensorstat.findings(stored), tensorstat.findings(dump)
            self.assertEqual([repr(each) for each in of_store], [repr(each) for each in of_dump])
            self.assertEqual(len(of_store) > 0, name == "faulty")
            self.assertEqual(tensorstat.origin(stored)["verdict"], tensorstat.origin(dump)["verdict"])
        self.assertIn("down", str(tensorstat.report(self.store + "//faulty").findings))
        rows = list(tensorstat.follow(self.store + "//faulty", findings=False, idle=0))
        self.assertEqual(len(rows), 160)
        findings = [each for each in tensorstat.follow(self.store + "//faulty", rows=False, idle=6)]
        self.assertEqual([each.rule for each in findings][:1], ["nan"])

    def test_rows_of_a_store_are_those_of_its_dump(self):
        def rows_of(path, folder):
            return [repr({**row, "path": row["path"].removeprefix(folder)}) for row in tensorstat.read(path)]
        everything = []
        for name, dump in self.dumps.items():
            of_store = rows_of(f"{self.store}//{name}", f"{self.store}//{name}")
            self.assertEqual(of_store, rows_of(dump, ""))
            self.assertEqual(len(of_store), 160)
            everything += of_store
        self.assertEqual(len(tensorstat.read(self.store)), len(everything))

    def test_no_such_run(self):
        for ask in tensorstat.findings, tensorstat.read:
            with self.assertRaises(tensorstat.Error):
                ask(self.store + "//other")


if __name__ == "__main__":
    unittest.main()
