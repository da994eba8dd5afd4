"""`diff --first` says why two rows cannot be compared, where it said "adds inf" alone: another dtype or shape, no common statistic."""
import os
import subprocess
import tempfile
import unittest

COMMAND = os.environ["COMMAND"]
IDENTITY = "Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape"


class FirstWords(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        os.chdir(folder.name)

    def first(self, a, b, statistics="Max Value,L2Norm Value"):
        """Of two rows, each (dtype, shape, values)."""
        for name, (dtype, shape, values) in (("a", a), ("b", b)):
            os.makedirs(f"{name}/rank_0/net/0/3", exist_ok=True)
            with open(f"{name}/rank_0/net/0/3/statistic.csv", "w") as file:
                file.write(f'{IDENTITY},{statistics}\nAdd,x,0,0,1,input,0,8,float32,"(2)",1,1\nAdd,x,0,0,1,output,0,8,{dtype},"{shape}",{values}\n')
        ran = subprocess.run([COMMAND, "diff", "a", "b", "--first"], capture_output=True, text=True, check=False)
        self.assertEqual((ran.returncode, ran.stderr), (1, ""))
        return ran.stdout

    def test_rows_that_cannot_be_compared(self):
        for a, b, words in ((("float32", "(2)", "1,1"), ("float16", "(2)", "1,1"), "dtype float32 and float16"),
                            (("float32", "(2)", "1,1"), ("float16", "(2)", "3,4"), "dtype float32 and float16"),
                            (("float32", "(2,1)", "1,1"), ("float32", "(2)", "1,1"), "shape (2,1) and (2)"),
                            (("float32", "(2)", ","), ("float32", "(2)", ","), "no statistic is in both")):
            text = self.first(a, b)
            self.assertIn(f"(rank 0, iteration 3), forward  {words}\n", text)
            self.assertNotIn("adds", text)

    def test_rows_that_can(self):
        self.assertIn("forward  adds 0.5\n    max 1 and 2\n", self.first(("float32", "(2)", "1,1"), ("float32", "(2)", "2,1")))
        self.assertIn("forward  adds inf\n    max 1 and nan\n", self.first(("float32", "(2)", "1,1"), ("float32", "(2)", "nan,1")))


if __name__ == "__main__":
    unittest.main()
