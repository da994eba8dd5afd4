"""`convert` of several paths: rows of two dumps do not come into one file, where nothing tells them apart, and a file that is named
twice is converted once."""
import os
import shutil
import subprocess
import tempfile
import unittest

COMMAND = os.environ["COMMAND"]
HEADING = "Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape,Max Value\n"


def lines(path):
    with open(path) as file:
        return file.read().splitlines()


class ConvertDumps(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        os.chdir(folder.name)
        for run in "ab":
            for rank in range(2):
                path = f"{run}/rank_{rank}/net/0/7"
                os.makedirs(path)
                with open(path + "/statistic.csv", "w") as file:
                    file.write(HEADING + f'Add,{run}{rank},0,0,1000,output,0,8,float32,"(2)",{rank}\n')

    def convert(self, *paths, to="ours", output="out"):
        return subprocess.run([COMMAND, "convert", *paths, "-o", output, "--to", to], capture_output=True, text=True, check=False)

    def test_two_dumps_are_refused(self):
        os.makedirs("flat_a")
        os.makedirs("flat_b")
        for name in "ab":
            shutil.copy(f"{name}/rank_0/net/0/7/statistic.csv", f"flat_{name}")
        for paths, output in ((("a", "b"), "out"), (("a/rank_0", "a/rank_1"), "out"), (("flat_a", "flat_b"), "out.csv")):
            for to in ("ours", "mindspore-2.7", "cann"):
                if (to, output) == ("cann", "out.csv"):
                    continue
                ran = self.convert(*paths, to=to, output=output)
                self.assertEqual(ran.returncode, 2, (paths, ran.stderr))
                self.assertIn("would be one folder; convert each dump by itself", ran.stderr)
                self.assertFalse(os.path.exists(output))

    def test_what_is_named_is_taken_together(self):
        self.assertEqual(self.convert("a/rank_0/net/0/7/statistic.csv", "b/rank_0/net/0/7/statistic.csv", output="out.csv").returncode, 0)
        self.assertEqual([line.split(",")[1] for line in lines("out.csv")[1:]], ["a0", "b0"])
        self.assertEqual(self.convert("a", "b/rank_0").returncode, 0)  # other folders
        self.assertEqual(len(lines("out/net/0/7/statistic.csv")), 2)

    def test_a_file_that_is_named_twice(self):
        ran = self.convert("a", "a")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn("2 rows of 2 files converted", ran.stderr)
        self.assertEqual(len(lines("out/rank_0/net/0/7/statistic.csv")), 2)


if __name__ == "__main__":
    unittest.main()
