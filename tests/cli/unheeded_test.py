"""What a call cannot do is said and is its exit status: options that need elements, of rows that have none; a help that cannot be
written."""
import os
import subprocess
import tempfile
import unittest

COMMAND = os.environ["COMMAND"]
ROWS = ('Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape,Max Value\n'
        'Add,a,0,0,1000,input,0,8,float32,"(2)",1\n')


class Unheeded(unittest.TestCase):
    def test_options_that_need_elements(self):
        with tempfile.TemporaryDirectory() as folder:
            path = folder + "/statistic.csv"
            with open(path, "w") as file:
                file.write(ROWS)
            for options, name in ((["--dtype", "int8"], "--dtype"), (["--dtype", "int8", "--shape", "4"], "--dtype"),
                                  (["--precision", "low"], "--precision low"), (["--by", "0"], "--by")):
                for words in (path, folder):
                    ran = subprocess.run([COMMAND, words, *options], capture_output=True, text=True, check=False)
                    self.assertEqual((ran.returncode, ran.stdout), (2, ""), options)
                    self.assertIn(f"{name} needs elements, and a file of rows has none", ran.stderr)
            self.assertEqual(subprocess.run([COMMAND, path, "--precision", "high"], capture_output=True, check=False).returncode, 0)

    def test_a_help_that_cannot_be_written(self):
        for words in (["--help"], ["--help-all"], ["--version"], ["diff", "--help"]):
            with open("/dev/full", "w") as full:
                ran = subprocess.run([COMMAND, *words], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
            self.assertEqual(ran.returncode, 5, words)
            self.assertIn("stdout: cannot be written", ran.stderr)


if __name__ == "__main__":
    unittest.main()
