"""`tensorstat top`: what it shows of a run that grows, its keys in a pseudo-terminal, the terminal given back on every way out, and
--until."""
import fcntl
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import tempfile
import termios
import time
import unittest

COMMAND = os.environ["COMMAND"]
HEADING = ("Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape,Max Value,Min Value,Avg Value,"
           "L2Norm Value,NaN Count,Positive Inf Count,Negative Inf Count\n")
ENTER, LEAVE = "\x1b[?1049h", "\x1b[?1049l"
PATIENCE = 60  # seconds that a slow machine may take


def row(name, size, delay=0, nan=0, io="output", inf=0):
    return f'Op,{name},0,0,{int(time.time() * 1e6) + delay},{io},0,64,float32,"(16)",{size!r},{-1.0!r},{size / 3!r},{size * 2!r},{nan},{inf},0\n'


class Top(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        os.chdir(folder.name)

    def write(self, iteration, rows, rank=0):
        folder = f"dump/rank_{rank}/net/0/{iteration}"
        os.makedirs(folder, exist_ok=True)
        path = folder + "/statistic.csv"
        with open(path, "a") as file:
            if file.tell() == 0:
                file.write(HEADING)
            file.write("".join(rows))

    def calm(self, iterations, ranks=1):
        for rank in range(ranks):
            for i in range(iterations):
                self.write(i, [row(name, 1 + 0.01 * ((i * 7 + len(name)) % 5), delay) for delay, name in enumerate(("a.up", "a.down"))], rank)

    def run_top(self, *arguments, path="dump", **more):
        environment = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "LINES", "CLICOLOR_FORCE")}
        return subprocess.run([COMMAND, "top", path, *arguments], capture_output=True, text=True, timeout=PATIENCE * 5,
                              env=environment | more)

    def start(self, *arguments, path="dump", rows=24, columns=80):
        """top in a terminal of this size: (process id, the terminal)."""
        child, terminal = pty.fork()
        if child == 0:
            fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
            kept = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "LINES", "NO_COLOR")}
            os.execve(COMMAND, [COMMAND, "top", path, *arguments], kept | {"TERM": "xterm-256color"})
        self.addCleanup(os.close, terminal)
        self.seen = ""
        return child, terminal

    def read_until(self, terminal, pattern, patience=PATIENCE):
        """Reads what is shown until it has the pattern; what was read since the last call."""
        end, text = time.monotonic() + patience, ""
        while not re.search(pattern, text):
            ready, _, _ = select.select([terminal], [], [], max(0, end - time.monotonic()))
            self.assertTrue(ready, f"{pattern!r} was not shown: {text[-2000:]!r}")
            try:
                piece = os.read(terminal, 65536).decode(errors="replace")
            except OSError:
                piece = ""
            if not piece:
                self.fail(f"ended before {pattern!r} was shown: {text[-2000:]!r}")
            text += piece
            self.seen += piece
        return text

    def end(self, child, terminal):
        """Reads to the end. The wait status."""
        while True:
            try:
                piece = os.read(terminal, 65536)
            except OSError:
                break
            if not piece:
                break
            self.seen += piece.decode(errors="replace")
        return os.waitpid(child, 0)[1]

    def assert_given_back(self, terminal, before):
        self.assertEqual(self.seen.count(ENTER), self.seen.count(LEAVE))
        self.assertLess(self.seen.rfind(ENTER), self.seen.rfind(LEAVE))
        self.assertIn("\x1b[?25h", self.seen[self.seen.rfind("\x1b[?25l"):])

    def test_once_prints_a_screen(self):
        self.calm(30, ranks=2)
        ran = self.run_top("--once")
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        self.assertNotIn("\x1b", ran.stdout)
        lines = ran.stdout.splitlines()
        self.assertEqual(len(lines), 24)
        self.assertLessEqual(max(map(len, lines)), 80)
        self.assertRegex(lines[0], r"tensorstat top  dump +iteration 29$")
        self.assertIn("Nothing found", lines[1])
        self.assertIn("120 rows of 2 tensors, 2 ranks", lines[2])

    def test_rows_that_come_are_shown_and_keys_do_what_help_says(self):
        self.calm(30)
        child, terminal = self.start()
        self.read_until(terminal, "iteration 29")
        self.write(30, [row("a.up", 1.0), row("a.down", 1.0)])
        self.read_until(terminal, "iteration 30")
        os.write(terminal, b"2")
        self.read_until(terminal, "a.down output 0")
        os.write(terminal, b"/up\r")
        self.assertNotIn("a.down output 0", self.read_until(terminal, "find: up"))
        os.write(terminal, b"\r")
        self.read_until(terminal, "l2norm")
        os.write(terminal, b"\x1b")
        self.read_until(terminal, "x median")
        os.write(terminal, b"3")
        self.read_until(terminal, "behind")
        os.write(terminal, b"?")
        self.read_until(terminal, "the next line")
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 132, 0, 0))
        os.kill(child, signal.SIGWINCH)
        self.read_until(terminal, r"\x1b\[40;1H")
        os.write(terminal, b"q")
        self.assertEqual(self.end(child, terminal), 0)
        self.assert_given_back(terminal, None)

    def test_arrows_choose_a_line(self):
        for i in range(25):
            self.write(i, [row(f"tensor{k}", 1.0, k) for k in range(4)])
        child, terminal = self.start()
        self.read_until(terminal, "iteration 24")
        os.write(terminal, b"2")
        names = re.findall(r"tensor\d", self.read_until(terminal, r"(?s)(tensor\d.*){4}"))
        for keys, chosen in ((b"\x1b[B\x1b[B\x1b[A", names[1]), (b"\x1b[B", names[2]), (b"\x1b[F", names[3]), (b"\x1b[H", names[0])):
            os.write(terminal, keys + b"\r")
            title = re.search(r"\x1b\[1m(tensor\d)", self.read_until(terminal, r"(?s)\x1b\[1mtensor\d.*l2norm"))
            self.assertEqual(title[1], chosen, keys)
            os.write(terminal, b"\x1b")
            self.read_until(terminal, "x median")
        os.write(terminal, b"q")
        self.end(child, terminal)

    def test_a_small_terminal_shows_every_view(self):
        self.calm(30)
        self.write(30, [row("a.up", float("nan"), nan=1)])
        self.write(33, [row("a.up", float("nan"), nan=1)])
        for rows, columns in (8, 80), (12, 80), (24, 20), (24, 27), (8, 20), (1, 1):
            child, terminal = self.start(rows=rows, columns=columns)
            self.read_until(terminal, "rule ")  # the heading of the findings
            for key in b"3", b"?", b"2", b"\r":
                os.write(terminal, key)
                self.read_until(terminal, re.escape("\x1b[?2026l"))  # the end of a frame
            os.write(terminal, b"q")
            self.assertEqual(self.end(child, terminal), 0, (rows, columns, self.seen[-300:]))

    def test_the_terminal_is_given_back_by_signals_and_crashes(self):
        self.calm(3)
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGSEGV, signal.SIGABRT):
            child, terminal = self.start()
            self.read_until(terminal, "iteration 2")
            os.kill(child, number)
            status = self.end(child, terminal)
            self.assertEqual(os.WTERMSIG(status), number)
            self.assert_given_back(terminal, None)

    def test_no_name_reaches_the_terminal_as_an_escape_sequence(self):
        self.write(0, [row("evil\x1b]0;title\x07\u202e", 1.0)])
        child, terminal = self.start()
        self.read_until(terminal, "iteration 0")
        os.write(terminal, b"2")
        self.read_until(terminal, r"evil\\x1b")
        os.write(terminal, b"q")
        self.end(child, terminal)
        self.assertNotIn("\x1b]0;", self.seen)
        self.assertNotIn("\u202e", self.seen)

    def test_a_line_without_its_end_waits(self):
        self.calm(1)
        whole = row("late", 1.0)
        self.write(0, [whole[:30]])
        self.assertIn("2 rows of 2 tensors", self.run_top("--once").stdout)
        self.write(0, [whole[30:]])
        self.assertIn("3 rows of 3 tensors", self.run_top("--once").stdout)

    def test_a_dump_that_is_replaced_is_read_again(self):
        self.calm(20)
        child, terminal = self.start()
        self.read_until(terminal, "40 rows of 2 tensors")
        shutil.rmtree("dump")
        self.calm(3)
        self.read_until(terminal, "6 rows of 2 tensors")
        os.write(terminal, b"q")
        self.end(child, terminal)

    def wait_until(self, what, path="dump"):
        """top --until without a terminal, beside this process."""
        return subprocess.Popen([COMMAND, "top", path, "--until", what], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def test_until_a_fault_that_lasts(self):
        waiting = self.wait_until("jump,nan,inf")  # before there is a dump
        self.calm(25)
        # A mask's Inf ends in the softmax that is given it.
        mask = [row("mask", float("inf"), inf=4), row("softmax", float("inf"), 1, io="input", inf=4), row("softmax", 0.5, 1)]
        self.write(25, mask[:1])
        time.sleep(1)
        self.write(25, mask[1:])
        for i in range(26, 30):
            self.write(i, mask)
        time.sleep(3)
        self.assertIsNone(waiting.poll(), "an Inf that ended is no reason to end a job")
        for i in range(30, 34):
            self.write(i, [row("a.up", 1.0), row("a.down", float("nan"), nan=3)])
        output, faults = waiting.communicate(timeout=PATIENCE)
        self.assertEqual((waiting.returncode, faults), (1, ""))
        self.assertRegex(output, r"^nan  iteration 30, rank 0: .*a\.down")

    def test_until_rows_end_at_a_nan(self):
        self.calm(25)
        waiting = self.wait_until("nan")
        self.write(25, [row("a.up", 1.0), row("a.down", float("nan"), nan=3)])
        output, _ = waiting.communicate(timeout=PATIENCE)
        self.assertEqual(waiting.returncode, 1)
        self.assertIn("iteration 25", output)

    def test_until_a_rule_on_rows(self):
        self.calm(3)
        waiting = self.wait_until("max > 60")
        self.write(3, [row("a.up", 1.0), row("a.down", 70.0)])
        output, _ = waiting.communicate(timeout=PATIENCE)
        self.assertEqual(waiting.returncode, 1)
        self.assertEqual(output, "max > 60  iteration 3, rank 0: a.down output 0: max is 70\n")

    def test_until_takes_absmax_from_max_and_min(self):
        self.write(0, [row("a.up", 3.0)])
        ran = self.run_top("--once", "--until", "absmax > 1000")
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        self.write(1, [row("a.up", 3.0).replace(",-1.0,", ",-5000.0,")])
        ran = self.run_top("--once", "--until", "absmax > 1000")
        self.assertEqual((ran.returncode, ran.stderr), (1, ""))
        self.assertIn("absmax is 5000", ran.stdout)

    def test_until_a_rule_on_earlier_iterations(self):
        self.calm(25)
        rule = "max > 30 * median(max, 20)"
        waiting = self.wait_until(f"jump,{rule},max > 1e9 for 2 steps")
        self.write(25, [row("a.up", 1.0), row("a.down", 70.0)])
        output, _ = waiting.communicate(timeout=PATIENCE)
        self.assertEqual((waiting.returncode, output), (1, f"{rule}  iteration 25, rank 0: a.down output 0: max is 70\n"))
        for rule, status in (("max > 30 * median(max, 26)", 0), ("max > 60 for 1 steps", 1), ("max > 60 for 2 steps", 0)):
            self.assertEqual(self.run_top("--once", "--until", rule).returncode, status, rule)
        refused = self.run_top("--once", "--until", "differs over dp")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("differs over asks other ranks for their replicas, which only alerts do", refused.stderr)

    def test_until_jump(self):
        self.calm(40)
        self.write(40, [row("a.up", 1.0), row("a.down", 90.0)])
        ran = self.run_top("--until", "jump")
        self.assertEqual(ran.returncode, 1)
        self.assertRegex(ran.stdout, r"^jump  iteration 40, rank 0: a\.down output 0 jumped")
        self.assertEqual(self.run_top("--until", "nan", "--once").returncode, 0)

    def test_limits_are_other_ones(self):
        """A size of 30 is a jump beside values near 1, and none with a limit of 1000."""
        self.calm(80)
        self.write(80, [row("a.up", 30.0)])
        self.write(81, [row("a.up", 1.0)])
        self.assertEqual(self.run_top("--once", "--until", "jump").returncode, 1)
        self.assertEqual(self.run_top("--once", "--until", "jump", "--limit", "jump=1000").returncode, 0)
        for limit in ("jump", "jump=-1", "leap=3"):
            ran = self.run_top("--once", "--limit", limit)
            self.assertEqual(ran.returncode, 2, limit)
            self.assertIn("--limit: a limit is RULE=NUMBER", ran.stderr)

    def test_what_cannot_be_told_is_said(self):
        self.calm(2)
        ran = self.run_top("--until", "jmup")
        self.assertEqual(ran.returncode, 2)
        self.assertIn("'jmup' is no finding (nan, inf,", ran.stderr)
        ran = self.run_top("--until", "std > 3")
        self.assertEqual((ran.returncode, ran.stderr), (3, "tensorstat: --until: the rows do not have std\n"))
        ran = self.run_top("--once", path="nowhere")
        self.assertEqual((ran.returncode, ran.stdout), (3, ""))
        self.assertIn("there is no such file or folder", ran.stderr)

    def test_the_first_of_two_runs_is_judged(self):
        """The rows of one run are shown, and NaN in them was "Nothing found", because all files together are no run."""
        self.calm(30)
        shutil.copytree("dump", "both/b")
        for i in range(30, 34):
            self.write(i, [row("a.up", float("nan"), nan=3), row("a.down", float("nan"), delay=1, nan=3)])
        shutil.copytree("dump", "both/a")
        ran = self.run_top("--until", "nan", path="both")
        self.assertEqual(ran.returncode, 1, ran.stderr)
        self.assertRegex(ran.stdout, "^nan  iteration 30, rank 0: ")
        self.assertIn("are two runs: name one of them", ran.stderr)
        ran = self.run_top("--once", path="both")
        self.assertNotIn("Nothing found", ran.stdout)
        self.assertRegex(ran.stdout, r"nan +30 +0 ")

    def test_faults_that_cannot_be_judged_are_no_clean_run(self):
        """One run of a store has two dumps, and cannot be cut into them."""
        self.calm(30)
        shutil.copytree("dump", "other")
        self.write(30, [row("a.up", float("nan"), nan=3), row("a.down", float("nan"), delay=1, nan=3)])
        for folder in ("dump", "other"):
            ran = subprocess.run([COMMAND, "store", "add", "runs.db", folder, "--run", "r"], capture_output=True, text=True)
            if "without SQLite" in ran.stderr:
                self.skipTest("built without SQLite")
        ran = self.run_top("--once", path="runs.db")
        self.assertNotIn("Nothing found", ran.stdout)
        self.assertIn("which could not be judged", ran.stdout)

    def test_a_store(self):
        self.calm(5)
        if subprocess.run([COMMAND, "store", "add", "runs.db", "dump"], capture_output=True).returncode == 2:
            self.skipTest("built without SQLite")
        child, terminal = self.start(path="runs.db")
        self.read_until(terminal, "10 rows of 2 tensors")
        self.write(5, [row("a.up", 1.0), row("a.down", 1.0)])
        subprocess.run([COMMAND, "store", "add", "runs.db", "dump"], capture_output=True, check=True)
        self.read_until(terminal, "12 rows of 2 tensors")
        os.write(terminal, b"q")
        self.assertEqual(self.end(child, terminal), 0)

    def test_many_files_at_first_and_one_later(self):
        self.calm(400, ranks=2)
        child, terminal = self.start()
        self.read_until(terminal, "1,600 rows of 2 tensors, 2 ranks")
        self.write(400, [row("a.up", 1.0)], rank=1)
        self.read_until(terminal, "1,601 rows of 2 tensors, 2 ranks")
        self.write(400, [row("a.down", 1.0)], rank=1)
        self.read_until(terminal, "1,602 rows of 2 tensors, 2 ranks")
        os.write(terminal, b"q")
        self.end(child, terminal)


if __name__ == "__main__":
    unittest.main()
