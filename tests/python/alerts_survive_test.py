"""The rows of the last steps are readable after kill -9 at a random moment: the last step is whole, or the one before it."""
import csv
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time
import unittest

COMMAND = os.environ["COMMAND"]
KEEP = 5
CONFIG = ('{"common_dump_settings": {"dump_mode": 0, "path": "", "net_name": "net", "iteration": "all", "saved_data": "statistic", '
          '"input_output": 0, "kernels": [], "support_device": [0], "op_debug_mode": 0, "statistic_category": ["max", "l2norm"]}, '
          '"e2e_dump_settings": {"enable": false, "trans_flag": true}}')
# Tensors are 40, and later 200: the ring grows on the way.
JOB = f"""
import os, sys, numpy, tensorstat
session = tensorstat.DumpSession({CONFIG!r}, path=sys.argv[1], dialect="ours", alerts="nan", keep={KEEP})
x = numpy.zeros(3)
for step in range(1 << 30):
    x[0] = step
    for tensor in range(40 if step < 100 else 200):
        session.collect("Op", f"layer.{{tensor}}", outputs=[x], iteration=step)
    session.step_end(iteration=step)
    os.write(1, f"{{step}}\\n".encode())
"""


class AlertsSurvive(unittest.TestCase):
    def test_kept_steps_outlive_kill(self):
        seed = int(os.environ.get("SEED", random.randrange(1 << 32)))
        print("seed", seed, file=sys.stderr)
        dice = random.Random(seed)
        for _ in range(200 if os.environ.get("TENSORSTAT_FULL") == "1" else 20):
            with tempfile.TemporaryDirectory() as folder:
                with subprocess.Popen([sys.executable, "-c", JOB, folder], stdout=subprocess.PIPE) as job:
                    first = job.stdout.readline()  # it works
                    time.sleep(dice.uniform(0, .3))
                    job.send_signal(signal.SIGKILL)
                    output = first + job.stdout.read()
                last = int(output[:output.rindex(b"\n")].split(b"\n")[-1])
                self.check(folder, last)

    def check(self, folder, last):
        ran = subprocess.run([COMMAND, "events", folder], capture_output=True, text=True)
        self.assertEqual((ran.returncode, ran.stderr), (1, ""), ran.stdout)
        self.assertIn(" died; step", ran.stdout)
        (event,) = pathlib.Path(folder).glob("event_*")
        steps = sorted(int(each.name) for each in event.glob("rank_0/net/0/*"))
        self.assertIn(steps[-1], (last, last + 1, last + 2))  # it may have died before it said so
        self.assertEqual(steps, list(range(max(0, steps[-1] - KEEP), steps[-1] + 1)))
        self.assertEqual(event.name, f"event_{steps[-1]}")
        for step in steps:
            with open(event / f"rank_0/net/0/{step}/statistic.csv", newline="") as file:
                rows = list(csv.DictReader(file))
            count = 40 if step < 100 else 200
            if step <= last:
                self.assertEqual(len(rows), count, step)
            for number, row in enumerate(rows):
                self.assertEqual((row["Op Name"], float(row["Max Value"])), (f"layer.{number}", step))

    def test_a_damaged_ring_is_an_error_or_says_so(self):
        with tempfile.TemporaryDirectory() as folder:
            job = subprocess.Popen([sys.executable, "-c", JOB, folder], stdout=subprocess.PIPE)
            for _ in range(30):
                job.stdout.readline()
            job.kill()
            job.communicate()
            ring = pathlib.Path(folder, "rank_0/last_steps.ring")
            whole = ring.read_bytes()
            seed = random.randrange(1 << 32)
            print("seed", seed, file=sys.stderr)
            dice = random.Random(seed)
            for _ in range(60):
                damaged = bytearray(whole[:dice.randrange(len(whole))] if dice.random() < .3 else whole)
                for _ in range(dice.randint(1, 40)):
                    offset = dice.choice([dice.randrange(128), 4096 + dice.randrange(8192), dice.randrange(len(whole))])
                    if offset < len(damaged):
                        damaged[offset] = dice.randrange(256)
                ring.write_bytes(damaged)
                ran = subprocess.run([COMMAND, "events", "--list", folder], capture_output=True, text=True, timeout=60)
                self.assertIn(ran.returncode, (0, 1, 3), ran.stderr)


if __name__ == "__main__":
    unittest.main()
