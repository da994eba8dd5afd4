"""`tensorstat trend` draws a run in 80 columns: one NaN among many cells is seen, NaN, Inf, zero and missing rows have looks of
their own, and there is no colour in a pipe or with NO_COLOR."""
import os
import pty
import random
import re
import subprocess
import tempfile
import unittest

COMMAND = os.environ["COMMAND"]
HEADING = ("Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape,Max Value,Min Value,Avg Value,"
           "L2Norm Value,NaN Count,Positive Inf Count,Negative Inf Count\n")
SEED = 11


def write(folder, tensors, iterations, cell, name_of="layers.{:04}/forward".format):
    """`cell(tensor, iteration)`: max and l2norm; None: no row."""
    for iteration in range(iterations):
        path = os.path.join(folder, "rank_0", "net", "0", str(iteration))
        os.makedirs(path)
        with open(os.path.join(path, "statistic.csv"), "w") as file:
            file.write(HEADING)
            for tensor in range(tensors):
                value = cell(tensor, iteration)
                if value is None:
                    continue
                nan, plus, minus = (int(value == each) for each in ("nan", "inf", "-inf"))
                least = value if nan or minus else 0
                most = 1 if minus else value
                file.write(f'Linear,{name_of(tensor)},0,0,{1000 * iteration + tensor},output,0,64,float32,"(16)",{most},{least},'
                           f'0.1,{"nan" if nan else "inf" if plus or minus else value},{nan},{plus},{minus}\n')


class Trend(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.random = random.Random(SEED)

    def trend(self, *arguments, status=0, **environment):
        ran = subprocess.run([COMMAND, "trend", self.folder, *arguments], capture_output=True, text=True,
                             env={**os.environ, **environment})
        self.assertEqual(ran.stderr, "")
        self.assertEqual(ran.returncode, status)
        return ran.stdout

    def lines(self, *arguments, **more):
        text = self.trend(*arguments, **more)
        self.assertNotIn("\033", text)
        lines = text.splitlines()
        self.assertLess(len(lines), 24)
        for line in lines:
            self.assertLessEqual(len(line), 80, line)
        return lines

    def test_names_that_are_too_long_keep_their_numbers(self):
        write(self.folder, 12, 60, lambda tensor, iteration: 1, "model.decoder.layers.{}.self_attention.o_proj".format)
        names = [line.split(" ")[0] for line in self.lines()[1:13]]
        self.assertEqual([re.findall(r"\d+", name) for name in names], [[str(number)] for number in range(12)])

    def test_colours_of_256_are_the_nearest(self):
        """A small fall is a grey, and nearly as light as a calm cell. It was black."""
        write(self.folder, 4, 120, lambda tensor, iteration: 1 if iteration < 100 else 0.445)
        child, terminal = pty.fork()
        if child == 0:
            os.execve(COMMAND, [COMMAND, "trend", self.folder], {**os.environ, "TERM": "xterm-256color", "COLORTERM": ""})
        screen = b""
        try:
            while piece := os.read(terminal, 65536):
                screen += piece
        except OSError:
            pass
        os.close(terminal)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        grounds = set(re.findall(rb"48;5;(\d+)m", screen))
        self.assertIn(b"237", grounds)
        self.assertNotIn(b"16", grounds, "black")

    def test_a_calm_run_is_calm_and_fits(self):
        write(self.folder, 300, 200, lambda tensor, iteration: 1 + self.random.random() / 2)
        lines = self.lines()
        self.assertTrue(lines[0].startswith("Nothing found in 60000 rows of 300 tensors"), lines[0])
        map_lines = [line for line in lines if line.startswith("layers.")]
        self.assertGreater(len(map_lines), 15)
        for line in map_lines:
            self.assertRegex(line, r"^layers\.\d{4}/forward +·{50,}$")

    def test_one_nan_among_sixty_thousand_cells_is_seen_where_it_is(self):
        write(self.folder, 300, 200, lambda tensor, iteration: "nan" if (tensor, iteration) == (155, 101) else 1 + self.random.random() / 2)
        lines = [line for line in self.lines(status=1) if re.match(r"layers.*·", line)]
        hits = [(row, line) for row, line in enumerate(lines) if "N" in line]
        self.assertEqual(len(hits), 1)
        row, line = hits[0]
        # The line has the first tensor's label.
        first = int(line[7:11])
        after = int(lines[row + 1][7:11]) if row + 1 < len(lines) else 300
        self.assertTrue(first <= 155 < after, (first, after))
        place = line.index("N") - line.index("·")
        columns = line.count("·") + 1
        self.assertEqual(place, ((101 + 1) * columns - 1) // 200)

    def test_looks(self):
        cells = {0: lambda iteration: "inf" if iteration == 60 else 1, 1: lambda iteration: "-inf" if iteration == 61 else 1,
                 2: lambda iteration: 0 if iteration >= 62 else 1, 3: lambda iteration: None if iteration == 63 else 1,
                 4: lambda iteration: 3 if iteration == 64 else 1, 5: lambda iteration: 40 if iteration == 65 else 1,
                 6: lambda iteration: 0.3 if iteration == 66 else 1, 7: lambda iteration: 0.01 if iteration == 67 else 1}
        write(self.folder, 8, 70, lambda tensor, iteration: cells[tensor](iteration))
        text = self.lines("--iterations", "55..69", status=1)
        lines = {int(line[7:11]): line for line in text if re.match(r"layers\.\d{4}/forward +[·^v0+#=-]", line)
                 and "▁" not in line and "█" not in line}
        wanted = {0: "^", 1: "v", 2: "0", 3: " ", 4: "+", 5: "#", 6: "-", 7: "="}
        for tensor, letter in wanted.items():
            drawn = lines[tensor][30:]
            self.assertEqual(set(drawn.strip()) if letter != " " else {"·", " "}, {"·", letter}, (tensor, drawn))
        zeros = lines[2][27:]
        self.assertEqual(zeros.count("0") + zeros.count("·"), len(zeros))
        self.assertGreater(zeros.count("0"), 20)

    def test_colours_are_on_a_terminal_only(self):
        write(self.folder, 60, 60, lambda tensor, iteration: "nan" if tensor == 3 and iteration >= 50 else 1 + self.random.random() / 2)
        self.assertIn("\033[", self.trend("--color", "always", status=1))
        self.assertIn(";2;255;60;190", self.trend("--color", "always", status=1, COLORTERM="truecolor"))
        for no_color, has_colour in (("", True), ("1", False)):
            main, terminal = pty.openpty()
            ran = subprocess.Popen([COMMAND, "trend", self.folder], stdout=terminal, stderr=terminal,
                                   env={**os.environ, "TERM": "xterm-256color", "NO_COLOR": no_color})
            os.close(terminal)
            text = b""
            while True:
                try:
                    piece = os.read(main, 65536)
                except OSError:
                    break
                if not piece:
                    break
                text += piece
            os.close(main)
            self.assertEqual(ran.wait(), 1)
            self.assertEqual(b"\033[" in text, has_colour, text[:300])
            self.assertIn("▀" if has_colour else "N", text.decode())

    def test_wrong_usage(self):
        write(self.folder, 2, 3, lambda tensor, iteration: 1)
        for arguments, words in ((["--iterations", "5"], "FIRST..LAST"), (["--iterations", "9..5"], "FIRST..LAST"),
                                 (["--rank", "7"], "no row is of rank 7"),
                                 (["--name", "absent"], "no tensor has 'absent'")):
            ran = subprocess.run([COMMAND, "trend", self.folder, *arguments], capture_output=True, text=True)
            self.assertEqual(ran.returncode, 2)
            self.assertIn(words, ran.stderr)
        self.assertEqual(subprocess.run([COMMAND, "trend", self.folder + "/absent"], capture_output=True).returncode, 3)


if __name__ == "__main__":
    unittest.main()
