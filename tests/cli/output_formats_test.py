"""The extension of -o tells the format where no --format does: of `diff` and `origin`, as of the command without a subcommand and of
`report`. They wrote a text into x.json."""
import csv
import json
import os
import subprocess
import tempfile
import unittest

COMMAND = os.environ["COMMAND"]
HEADING = "Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape,Max Value,Min Value,Avg Value,L2Norm Value,NaN Count\n"


class OutputFormats(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        os.chdir(folder.name)
        for name, value in (("a", "1"), ("b", "nan")):
            os.mkdir(name)
            with open(f"{name}/statistic.csv", "w") as file:
                file.write(HEADING + f'Add,x,0,0,1,input,0,8,float32,"(2)",1,1,1,1,0\nAdd,x,0,0,1,output,0,8,float32,"(2)",{value},{value},{value},{value},{int(value == "nan")}\n')

    def written(self, output, *words):
        ran = subprocess.run([COMMAND, *words, "-o", output], capture_output=True, text=True, check=False)
        self.assertEqual((ran.returncode, ran.stdout), (1, ""), ran.stderr)
        with open(output) as file:
            return file.read()

    def test_diff(self):
        self.assertEqual(len(json.loads(self.written("x.json", "diff", "a", "b"))["pairs"]), 2)
        for name in ("x.ndjson", "x.jsonl"):
            self.assertEqual(len([json.loads(line) for line in self.written(name, "diff", "a", "b").splitlines()]), 2)
        self.assertEqual(len({len(row) for row in csv.reader(self.written("x.csv", "diff", "a", "b").splitlines())}), 1)
        self.assertIn("\n|", self.written("x.md", "diff", "a", "b"))
        table = self.written("x.txt", "diff", "a", "b")
        self.assertEqual(self.written("x", "diff", "a", "b"), table)
        self.assertEqual(self.written("x.json", "diff", "a", "b", "--format", "table"), table)
        self.assertTrue(json.loads(self.written("x.json", "diff", "a", "b", "--first")))
        self.assertEqual(self.written("x.csv", "diff", "a", "b", "--first"), self.written("x.txt", "diff", "a", "b", "--first"))

    def test_origin(self):
        self.assertTrue(json.loads(self.written("x.json", "origin", "b"))["verdict"])
        text = self.written("x.txt", "origin", "b")
        self.assertEqual(self.written("x.json", "origin", "b", "--format", "text"), text)
        self.assertTrue(self.written("x.json", "origin", "b", "--all").startswith(text))


if __name__ == "__main__":
    unittest.main()
