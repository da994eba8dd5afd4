"""--by: a row for each index of the kept axes, or for each block, for files of every layout. Compared with NumPy."""
import csv
import json
import os
import subprocess
import tempfile
import unittest

import numpy

COMMAND = os.environ["COMMAND"]
STATS = "max,min,count,argmax,l2norm"


def run(*arguments, data=b""):
    return subprocess.run([COMMAND, *arguments], input=data, capture_output=True)


class By(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        os.chdir(folder.name)
        self.x = numpy.random.default_rng(5).normal(size=(6, 5, 70)).astype("f4")

    def rows(self, *arguments, stats=STATS, data=b""):
        ran = run(*arguments, "--stats", stats, "--on", "host", "--format", "json", data=data)
        self.assertEqual((ran.returncode, ran.stderr), (0, b""), arguments)
        return json.loads(ran.stdout)["tensors"]

    def assert_are(self, rows, x, axes):
        kept = [axis % x.ndim for axis in axes]
        indices = list(numpy.ndindex(*(x.shape[axis] for axis in sorted(kept))))
        self.assertEqual([tuple(row["index"]) for row in rows], indices)
        for row, index in zip(rows, indices):
            cut = [slice(None)] * x.ndim
            for axis, coordinate in zip(sorted(kept), index):
                cut[axis] = coordinate
            part = x[tuple(cut)]
            self.assertEqual(row["shape"], list(part.shape))
            self.assertEqual(row["bytes"], part.nbytes)
            stats = row["stats"]
            self.assertEqual([stats["max"], stats["min"], stats["count"], stats["argmax"]],
                             [part.max(), part.min(), part.size, part.argmax()])
            self.assertAlmostEqual(stats["l2norm"], numpy.linalg.norm(part.astype("f8")), places=9)

    def test_axes_are_numpys(self):
        numpy.save("c.npy", self.x)
        numpy.save("f.npy", numpy.asfortranarray(self.x))
        for file in ("c.npy", "f.npy"):
            for by in ((0,), (1,), (-1,), (0, 1), (0, 2), (2, 0), (1, -1), (0, 1, 2)):
                with self.subTest(file=file, by=by):
                    self.assert_are(self.rows(file, "--by=" + ",".join(map(str, by))), self.x, by)

    def test_containers_and_pipes(self):
        numpy.savez("both.npz", a=self.x, b=self.x[:2])
        rows = self.rows("both.npz", "--by", "0")
        self.assertEqual([row["tensor"] for row in rows], ["a"] * 6 + ["b"] * 2)
        self.assert_are(rows[:6], self.x, (0,))
        self.assert_are(self.rows("-", "--dtype", "float32", "--shape", "6,5,70", "--by", "2", data=self.x.tobytes()), self.x, (2,))

    def test_blocks(self):
        numpy.save("c.npy", self.x)
        rows = self.rows("c.npy", "--by", "block=64")
        self.assert_blocks(rows, self.x.reshape(30, 70), 64, [[i, k] for i in range(6) for k in range(5)])
        # Without a remainder, rows shorter than a block, a Fortran order, one axis, one element, none.
        for file, x in (("c", self.x), ("f", numpy.asfortranarray(self.x)), ("flat", self.x.reshape(-1)), ("one", self.x[0, 0, 0]),
                        ("none", self.x[:, :, :0]), ("nothing", self.x[:0])):
            numpy.save(file, x)
            for each in (1, 7, 64, 70, 100, 10_000):
                with self.subTest(file=file, each=each):
                    across = x.shape[:-1]
                    kept = [list(index) for index in numpy.ndindex(across)]
                    self.assert_blocks(self.rows(f"{file}.npy", "--by", f"block={each}"), x.reshape(len(kept), -1 if x.size else 0), each, kept)
        for axes in (1, 2, 3):
            shape = self.x.shape[:axes]
            rows = self.rows("c.npy", "--by", ",".join(map(str, range(axes))) + ",block=9")
            self.assert_blocks(rows, self.x.reshape(int(numpy.prod(shape)), -1), 9, [list(index) for index in numpy.ndindex(shape)])

    def assert_blocks(self, rows, x, each, kept):
        """x: (rows, elements of a row); kept: the index of each row."""
        blocks = [(index + [first], row[first:first + each]) for index, row in zip(kept, x) for first in range(0, x.shape[1], each)]
        self.assertEqual([row["index"] for row in rows], [index for index, _ in blocks])
        self.assertEqual([row["stats"]["max"] for row in rows], [block.max() for _, block in blocks])
        self.assertEqual([row["shape"] for row in rows], [[block.size] for _, block in blocks])

    def test_a_block_is_named_by_its_place(self):
        numpy.save("c.npy", self.x)
        self.assertIn(b"c.npy[59] (5,4,64:70)", run("c.npy", "--by", "block=64").stdout)
        lines = list(csv.DictReader(run("c.npy", "--by", "0,block=300", "--format", "csv").stdout.decode().splitlines()))
        self.assertEqual([line["Index"] for line in lines], [place for i in range(6) for place in (f"{2 * i} ({i},0:300)", f"{2 * i + 1} ({i},300:350)")])
        ran = run("c.npy", "--by", "1,block=3")
        self.assertEqual((ran.returncode, ran.stdout.count(b"[")), (3, 0))
        self.assertIn(b"the axes before a block are the first ones", ran.stderr)

    # More than the 64 MiB that are held at a time: rows within one slab, and rows across several slabs.
    def test_large_files_are_read_in_slabs(self):
        x = numpy.random.default_rng(6).normal(size=(1, 90, 500, 420)).astype("f4")
        numpy.save("large.npy", x)
        for by in (1, 3):
            with self.subTest(by=by):
                self.assert_are(self.rows("large.npy", "--by", str(by)), x, (by,))
        self.assertEqual(len(self.rows("large.npy", "--by", "1", stats="md5")), 90)
        ran = run("large.npy", "--by", "3", "--stats", "md5")
        self.assertEqual(ran.returncode, 3)
        self.assertIn(b"a digest of rows that lie apart", ran.stderr)

    def test_rows_are_told_apart_in_a_table_and_a_csv(self):
        numpy.save("c.npy", self.x)
        self.assertIn(b"c.npy[5,4]", run("c.npy", "--by", "0,1").stdout)
        self.assertIn(b"30 rows", run("c.npy", "--by", "0,1").stderr)
        lines = list(csv.DictReader(run("c.npy", "--by", "0,1", "--format", "csv").stdout.decode().splitlines()))
        self.assertEqual([line["Index"] for line in lines], [f"{i},{k}" for i in range(6) for k in range(5)])

    def test_what_makes_no_sense_is_refused(self):
        numpy.save("c.npy", self.x)
        for by, status, words in (("3", 3, b"has no axis 3"), ("0,0", 3, b"twice"), ("x", 2, b"no list of axes"),
                                  ("block=0", 2, b"at least one element"), ("block=x", 2, b"no list of axes"),
                                  ("block=4,0", 2, b"no list of axes"), ("0,block=0", 2, b"at least one element")):
            with self.subTest(by=by):
                ran = run("c.npy", "--by", by)
                self.assertEqual((ran.returncode, ran.stdout.count(b"[")), (status, 0))
                self.assertIn(words, ran.stderr)
        self.assertEqual(run("c.npy", "--by", "0", "--head").returncode, 2)
        # A tensor without such an axis does not stop the others.
        numpy.save("scalar.npy", numpy.float32(1))
        ran = run(".", "--by", "0", "--format", "json")
        self.assertEqual((ran.returncode, len(json.loads(ran.stdout)["tensors"])), (3, 6))


if __name__ == "__main__":
    unittest.main()
