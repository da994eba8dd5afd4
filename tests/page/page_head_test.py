"""The data of a page has each member that page.d.ts promises the scripts, and the facts of its first finding. Needs no browser."""
import base64
import csv
import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest
import zlib

COMMAND = os.environ["COMMAND"]
TYPES = pathlib.Path(__file__).resolve().parents[2] / "stats/show/page/page.d.ts"
HEADING = ("Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape,Max Value,Min Value,Avg Value,L2Norm Value,"
           "NaN Count,Positive Inf Count,Negative Inf Count,Zero Count").split(",")
NOT_IN_HEAD = {"exponent_codes"}  # a block of its own, as all that the scripts compute


def members(interface):
    text = re.search(rf"interface {interface} {{(.*?)(// Computed here|\n}})", TYPES.read_text(), re.DOTALL)[1]
    return set(re.findall(r"^  (\w+):", text, re.MULTILINE)) - NOT_IN_HEAD


class PageHead(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            for iteration in (4, 5, 6, 7):
                place = os.path.join(folder, "dump/rank_1/net/0", str(iteration))
                os.makedirs(place)
                nan = iteration >= 6
                with open(os.path.join(place, "statistic.csv"), "w", newline="") as file:
                    rows = csv.writer(file, lineterminator="\n")
                    rows.writerow(HEADING)
                    for name, value in (("first", 2), ("second", "nan" if nan else 3)):
                        rows.writerow(["Op", name, 0, 0, 1000 * iteration, "output", 0, 64, "float32", "(16)", value, -1, 0.5, value,
                                       int(nan and name == "second"), 0, 0, 0])
            page = os.path.join(folder, "page.html")
            ran = subprocess.run([COMMAND, "report", os.path.join(folder, "dump"), "-o", page], capture_output=True, text=True)
            assert ran.returncode == 1, ran.stderr
            block = re.search(r'id="head"[^>]*>([^<]*)<', pathlib.Path(page).read_text())[1]
            cls.head = json.loads(zlib.decompress(base64.b64decode(block)))

    def test_members(self):
        self.assertEqual(set(self.head), members("Run"))
        for finding in self.head["findings"]:
            self.assertEqual(set(finding), members("Finding"))
        for statistic in self.head["statistics"]:
            self.assertEqual(set(statistic), members("Statistic") - {"codes"})  # a block each

    def test_facts(self):
        first = self.head["findings"][0]
        self.assertEqual({name: first[name] for name in ("rule", "severity", "op_name", "rank", "first_iteration", "last_clean_iteration", "run")},
                         {"rule": "nan", "severity": "error", "op_name": "second", "rank": 1, "first_iteration": 6, "last_clean_iteration": 5,
                          "run": 0})
        self.assertEqual(self.head["tensors"][first["tensor"]][1], "second")
        self.assertEqual((self.head["rows"], self.head["ranks"], self.head["iterations"]), (8, [1], [4, 5, 6, 7]))
        self.assertEqual((self.head["pooled"], self.head["follow"], self.head["parting"], self.head["loss"]), (1, 0, -1, -1))


if __name__ == "__main__":
    unittest.main()
