"""What the command writes beside a file of -o is gone after any signal that ends it, and after SIGKILL with the next run to
the same file. Other files of such names stay."""
import fcntl
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import numpy

COMMAND = os.environ["COMMAND"]
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGPIPE, signal.SIGKILL)


class LeftBehind(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = scratch.name
        numpy.savez(f"{self.folder}/x.npz", **{f"t{i}": numpy.ones(4, "f4") for i in range(1000)})
        self.line = [COMMAND, "x.npz", "--on", "host", "--stats", "all", "-o", "x.csv"]

    def run_whole(self):
        ran = subprocess.run(self.line, cwd=self.folder, capture_output=True, text=True, timeout=120)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))

    def names(self):
        return sorted(os.listdir(self.folder))

    def test_after_a_signal_at_any_time(self):
        begin = time.monotonic()
        self.run_whole()
        whole = time.monotonic() - begin
        seed = random.randrange(1 << 32)
        print("seed", seed, file=sys.stderr)
        dice = random.Random(seed)
        for number in SIGNALS * (20 if "TENSORSTAT_FULL" in os.environ else 3):
            job = subprocess.Popen(self.line, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                   preexec_fn=lambda: signal.signal(signal.SIGPIPE, signal.SIG_DFL))
            time.sleep(dice.uniform(0, whole))
            job.send_signal(number)
            job.wait(120)
            if number != signal.SIGKILL:
                self.assertEqual(self.names(), ["x.csv", "x.npz"], number)
        self.run_whole()
        self.assertEqual(self.names(), ["x.csv", "x.npz"])

    def test_what_a_killed_run_left_goes_and_all_else_stays(self):
        names = [".new-4711-x.csv", ".new-4711.2-x.csv", ".new-4711-y.csv", ".new-mine-x.csv", ".new-4712-x.csv"]
        for name in names:
            with open(f"{self.folder}/{name}", "w") as file:
                file.write("half of a table")
        os.mkdir(f"{self.folder}/.new-4713-x.csv")
        os.symlink("x.npz", f"{self.folder}/.new-4714-x.csv")
        with open(f"{self.folder}/.new-4712-x.csv") as living:
            fcntl.flock(living, fcntl.LOCK_EX)
            self.run_whole()
        self.assertEqual(self.names(), [".new-4711-y.csv", ".new-4712-x.csv", ".new-4713-x.csv", ".new-4714-x.csv",
                                        ".new-mine-x.csv", "x.csv", "x.npz"])


if __name__ == "__main__":
    unittest.main()
