"""An option with an empty value, as from a variable of the shell that is not set, is wrong usage: it is not taken for an option that
is not there."""
import os
import subprocess
import tempfile
import unittest

COMMAND = os.environ["COMMAND"]
ROWS = ("Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape,Max Value,Min Value,Avg Value,L2Norm Value,NaN Count\n"
        'Add,a,0,0,1000,input,0,8,float32,"(2)",1,1,1,1,0\n')


class EmptyValues(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        os.chdir(folder.name)
        for name in "ab":
            os.makedirs(name)
            with open(f"{name}/statistic.csv", "w") as file:
                file.write(ROWS)

    def test_each_option(self):
        for line in ("a --where", "a --fail-on", "a --sort", "a --columns", "a --device", "a --dtype", "a --shape", "a --by",
                     "a --stats", "a --scale", "a --budget", "diff a b --where", "diff a b --sort", "diff a b --columns",
                     "diff a b --tolerances", "diff a b --names", "diff a b --rules msprobe -o x.csv --mapping",
                     "diff a b --rules msprobe -o x.csv --merge", "origin a --run", "report a --run", "report a --limit",
                     "trend a --run", "trend a --name", "trend a --iterations", "top a --once --until", "top a --once --run",
                     "dump a -o x --config", "plan a --parts 2 -o x --stats", "merge a --where", "store add x.db a --run"):
            ran = subprocess.run([COMMAND, *line.split(), ""], capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual((ran.returncode, ran.stdout), (2, ""), line)
            self.assertIn(line.split()[-1], ran.stderr)
        self.assertEqual(sorted(os.listdir()), ["a", "b"])

    def test_a_second_run(self):
        ran = subprocess.run([COMMAND, "report", "a", "", "-o", "x.html"], capture_output=True, text=True, check=False)
        self.assertEqual(ran.returncode, 2)
        self.assertIn("the name is empty", ran.stderr)


if __name__ == "__main__":
    unittest.main()
