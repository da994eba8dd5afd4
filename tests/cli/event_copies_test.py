"""A step that is in several events of a run counts once, with most of its rows, and a pipe in its place is told and not waited
for."""
import csv
import io
import os
import subprocess
import tempfile
import unittest

HEADING = "Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape,Max Value,NaN Count\n"
ROWS = [f'T,{name},0,0,{i},output,0,4,float32,"(1)",1,{nans}\n' for i, (name, nans) in enumerate((("a", 0), ("b", 1), ("c", 0)))]


class EventCopies(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, event):
        place = os.path.join(self.folder, f"event_{event}", "rank_0", "model", "0", "7")
        os.makedirs(place, exist_ok=True)
        return os.path.join(place, "statistic.csv")

    def write(self, event, rows):
        with open(self.path(event), "w") as file:
            file.write(HEADING + "".join(rows))

    def rows(self):
        ran = subprocess.run([os.environ["COMMAND"], self.folder, "--format", "csv"], capture_output=True, text=True, timeout=60)
        return [row["Op Name"] for row in csv.DictReader(io.StringIO(ran.stdout))], ran

    def test_the_copy_with_most_rows_counts(self):
        """Where a disk was full, an earlier event may lack the row with NaN."""
        for first, second, third in (1, 3, 2), (3, 1, 2), (0, 2, 3), (2, 3, 3):
            for event, count in (8, first), (9, second), (10, third):
                self.write(event, ROWS[:count])
            rows, ran = self.rows()
            self.assertEqual((rows, ran.returncode), (["a", "b", "c"], 0), ran.stderr)

    def test_a_file_that_differs_is_no_copy(self):
        self.write(8, ROWS[:2])
        self.write(9, ROWS[1:])
        self.assertEqual(self.rows()[0], ["a", "b", "b", "c"])

    def test_a_pipe_is_not_waited_for(self):
        self.write(8, ROWS)
        os.mkfifo(self.path(9))
        rows, ran = self.rows()
        self.assertEqual((rows, ran.returncode), (["a", "b", "c"], 3))
        self.assertIn("statistic.csv: is no regular file", ran.stderr)


if __name__ == "__main__":
    unittest.main()
