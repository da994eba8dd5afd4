"""FILE::ROW, as a table shows it, names rows of a file of rows: the others are neither shown nor asked."""
import json
import os
import subprocess
import tempfile
import unittest

COMMAND = os.environ["COMMAND"]
HEADING = "Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape,Max Value,NaN Count\n"


class NamedRows(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        os.chdir(folder.name)
        with open("rows.csv", "w") as file:
            file.write(HEADING + "".join(f'Add,{name},0,0,{i},output,{slot},8,float32,"(2)",{i},{int(name == "bad")}\n'
                                         for i, (name, slot) in enumerate((("a", 0), ("a", 1), ("bad", 0), ("b[0]", 0)))))

    def names(self, *arguments, status=0):
        ran = subprocess.run([COMMAND, *arguments, "--format", "ndjson"], capture_output=True, text=True, check=False)
        self.assertEqual(ran.returncode, status, ran.stderr)
        self.err = ran.stderr
        return [json.loads(line)["tensor"] for line in ran.stdout.splitlines()]

    def test_are_shown_alone(self):
        self.assertEqual(self.names("rows.csv::a.output.1"), ["a.output.1"])
        self.assertEqual(self.names("rows.csv::a.*", "rows.csv::b[0].output.0"), ["a.output.0", "a.output.1", "b[0].output.0"])
        self.assertEqual(len(self.names("rows.csv", "rows.csv::a.output.1")), 8)  # named itself, too: whole, once for each name

    def test_conditions_ask_them_alone(self):
        self.assertEqual(self.names("rows.csv::a.*", "--fail-on", "nan"), ["a.output.0", "a.output.1"])
        self.assertEqual(self.names("rows.csv::bad.*", "--fail-on", "nan", status=1), ["bad.output.0"])

    def test_one_that_is_not_there_is_an_error(self):
        self.assertEqual(self.names("rows.csv::a.output.1", "rows.csv::a.output.7", status=3), ["a.output.1"])
        self.assertIn("rows.csv::a.output.7: the file has no such row", self.err)


if __name__ == "__main__":
    unittest.main()
