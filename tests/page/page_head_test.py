"""The data of a page has each member that page.d.ts promises the scripts, and the facts of its first finding. Needs no browser."""
import base64
import json
import math
import pathlib
import re
import tempfile
import unittest
import zlib

from runs import write_page

TYPES = pathlib.Path(__file__).resolve().parents[2] / "stats/show/page/page.d.ts"
NOT_IN_HEAD = {"exponent_codes"}  # a block of its own, as all that the scripts compute


def members(interface):
    text = re.search(rf"interface {interface} {{(.*?)(// Computed here|\n}})", TYPES.read_text(), re.DOTALL)[1]
    return set(re.findall(r"^  (\w+):", text, re.MULTILINE)) - NOT_IN_HEAD


class PageHead(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            page, code = write_page(folder, lambda name, rank, iteration: math.nan if name == "second" and iteration >= 6 else 2.0,
                                    names=("first", "second"), ranks=[1], iterations=range(4, 8))
            assert code == 1
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
