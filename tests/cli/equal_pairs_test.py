"""Pairs of equal bits have every statistic of a pair: --where, --sort, csv and JSON see them, with the values that the definitions give
and that a comparison of elements gives where the pair is forced to be read."""
import csv
import io
import json
import os
import subprocess
import tempfile
import unittest

import numpy

COMMAND = os.environ["COMMAND"]
NAN, INF = float("nan"), float("inf")
EQUAL = {"float": numpy.array([1.5, -2, 0, 1e30], "f4"), "zeros": numpy.zeros(5, "f4"), "special": numpy.array([NAN, INF, -INF, 1, NAN], "f8"),
         "half": numpy.arange(9).astype("f2"), "int": numpy.arange(-3, 7, dtype="i4"), "bool": numpy.array([True, False]),
         "complex": numpy.array([1 + 2j, complex(NAN, 0), 3], "c8"), "empty": numpy.zeros((0, 3), "f4"), "big": numpy.arange(5000, dtype="u8")}
OTHERS = {"other": (numpy.array([1, 2, 3], "f4"), numpy.array([1, 2, 4], "f4")), "dtype": (numpy.ones(3, "f4"), numpy.ones(3, "f8")),
          "minus zero": (numpy.array([0.0, 1], "f4"), numpy.array([-0.0, 1], "f4"))}


class EqualPairs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        for index, side in enumerate("ab"):
            arrays = {**EQUAL, **{name: pair[index] for name, pair in OTHERS.items()}}
            numpy.savez(f"{cls.scratch.name}/{side}.npz", **arrays)

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def diff(self, *options):
        ran = subprocess.run([COMMAND, "diff", f"{self.scratch.name}/a.npz", f"{self.scratch.name}/b.npz", *options], capture_output=True,
                             text=True, check=False)
        self.assertIn(ran.returncode, (0, 1), ran.stderr)
        return ran.stdout

    def names_where(self, condition):
        rows = csv.DictReader(io.StringIO(self.diff("--where", condition, "--format", "csv")))
        return {row["a"].rpartition("::")[2].rpartition("/")[2].removesuffix(".npy") for row in rows}

    def test_conditions_see_them(self):
        full = set(EQUAL) - {"empty"}
        self.assertEqual(self.names_where("max-abs-diff == 0"), full | {"minus zero"})
        self.assertEqual(self.names_where("unequal-count == 0"), set(EQUAL))
        self.assertEqual(self.names_where("outside-count == 0"), set(EQUAL) | {"minus zero"})
        self.assertEqual(self.names_where("cosine > 0.9"), full | {"other", "minus zero"})
        self.assertEqual(self.names_where("max-abs-diff < 0.01 and not (cosine < 1)"), full | {"minus zero"})
        self.assertEqual(self.names_where("both-nan-count > 0"), {"special", "complex"})
        self.assertEqual(self.names_where("verdict == equal"), set(EQUAL))

    def test_columns_have_the_values_of_the_definitions(self):
        columns = "count,cosine,euclidean,rmse,relative-l2,snr,max-abs-diff,max-rel-diff,max-ulp,unequal-count,within-count,outside-count," \
                  "both-nan-count,same-inf-count,nan-alone-count,first-unequal-index,one-thousandth-ratio"
        rows = csv.DictReader(io.StringIO(self.diff("--all", "--columns", columns, "--format", "csv")))
        pairs = {row["a"].rpartition("::")[2].rpartition("/")[2].removesuffix(".npy"): row for row in rows}
        for name, array in EQUAL.items():
            parts = array.view("f4") if array.dtype.kind == "c" else array
            count, is_float = parts.size, parts.dtype.kind == "f"
            expected = {"count": count, "euclidean": 0, "relative l2": 0, "unequal count": 0, "within count": count, "outside count": 0,
                        "both nan count": int(numpy.isnan(parts).sum()) if is_float else 0,
                        "same inf count": int(numpy.isinf(parts).sum()) if is_float else 0, "nan alone count": 0, "first unequal index": ""}
            there = {"cosine": 1, "rmse": 0, "snr": INF, "max abs diff": 0, "max rel diff": 0, "one thousandth ratio": 1}
            expected.update(there if count else dict.fromkeys(there, ""))
            expected["max ulp"] = 0 if count and is_float else ""
            with self.subTest(name):
                for column, value in expected.items():
                    cell = pairs[name][column]
                    self.assertEqual(float(cell) if cell else "", float(value) if value != "" else "", column)

    def test_json_has_them(self):
        pairs = json.loads(self.diff("--format", "json", "--all"))["pairs"]
        equal = [each for each in pairs if each["verdict"] == "equal"]
        self.assertEqual(len(equal), len(EQUAL))
        for each in equal:
            self.assertEqual(each["elements"]["unequal"], 0)
            self.assertEqual(each["elements"]["outside"], 0)


if __name__ == "__main__":
    unittest.main()
