"""A session in somebody else's process: the job may close descriptors that it does not know and reuse their numbers, begin
without stdin, stdout and stderr, damage the ring of kept steps, and run twice in one rank. It is not ended, none of its files
gets a byte of ours, and no row is lost."""
import csv
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

COMMAND = os.environ["COMMAND"]
BEGIN = """
import json, os, signal, sys
import numpy, tensorstat
folder = sys.argv[1]
x = numpy.ones(4, "f4")
MINDSPORE = json.dumps({
    "common_dump_settings": {"dump_mode": 0, "path": folder + "/d", "net_name": "m", "iteration": "all", "kernels": [], "input_output": 0,
                             "support_device": [0], "saved_data": "statistic", "statistic_category": ["max"]},
    "e2e_dump_settings": {"enable": True}})
MSPROBE = json.dumps({"task": "statistics", "dump_path": folder + "/d", "rank": [], "step": [], "level": "L1",
                      "statistics": {"scope": [], "list": [], "data_mode": ["all"], "summary_mode": "statistics"}})
"""
RUN = """
for step in range(6):
    for number in range(2 if step < 4 else 300):
        s.collect("Functional" if config is MSPROBE else "T", f"relu.{number}.forward" if config is MSPROBE else f"w{number}", outputs=[x],
                  iteration=0 if config is MSPROBE else step)
    s.step_end(iteration=0 if config is MSPROBE else step)
"""
TAKE = """
def take():
    os.closerange(3, 200)
    return [os.open(f"{folder}/mine{i}", os.O_RDWR | os.O_CREAT | os.O_TRUNC) for i in range(60)]
def check(mine):
    for number in mine:
        assert os.fstat(number).st_size == 0, "somebody else wrote to it"  # and it is still open
    assert all(os.path.getsize(f"{folder}/mine{i}") == 0 for i in range(60))
"""


def run(folder, script, **more):
    return subprocess.run([sys.executable, "-c", BEGIN + script, folder], capture_output=True, text=True, timeout=120, **more)


class ForeignProcess(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = scratch.name

    def rows(self):
        rows = []
        for path in sorted(pathlib.Path(self.folder, "d").rglob("statistic.csv")):
            with open(path, newline="") as file:
                rows += [(path.parent.name, row["Op Name"], row["Max Value"]) for row in csv.DictReader(file)]
        return rows

    def test_descriptors_that_the_job_takes(self):
        wanted = [(str(step), f"w{number}", "1") for step in range(6) for number in range(2 if step < 4 else 300)]
        ran = run(self.folder, TAKE + """
config = MINDSPORE
s = tensorstat.DumpSession(config)
""" + RUN.replace("    s.step_end", "    s.flush(); mine = take()\n    s.step_end") + """
s.flush()
mine = take()
s.close()
check(mine)
""")
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        self.assertEqual(sorted(self.rows()), sorted(wanted))

    def test_descriptors_of_msprobes_files(self):
        ran = run(self.folder, TAKE + """
config = MSPROBE
s = tensorstat.DumpSession(config)
mine = None
""" + RUN.replace("    s.step_end", "    s.flush(); mine = take()\n    s.step_end") + """
s.flush()
mine = take()
s.close()
check(mine)
""")
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        data = json.loads(pathlib.Path(self.folder, "d/step0/rank0/dump.json").read_text())["data"]
        self.assertEqual(len(data), 4 * 2 + 2 * 300)

    def test_descriptors_of_the_ring_and_closed_standard_streams(self):
        for closing in ("", "0<&-", "1>&-", "2>&-", "0<&- 1>&- 2>&-"):
            with self.subTest(closing=closing), tempfile.TemporaryDirectory() as self.folder:
                script = TAKE + """
config = MINDSPORE
s = tensorstat.DumpSession(config, keep=2)
for each in (0, 1, 2):
    try: os.write(each, b"a warning of some C library")
    except OSError: pass
""" + RUN + """
mine = take()
s.collect("T", "last", outputs=[x], iteration=6)
s.step_end(iteration=6)
check(mine)
os.kill(os.getpid(), signal.SIGKILL)
"""
                ran = subprocess.run(["sh", "-c", f'exec "$0" -c "$1" "$2" {closing}', sys.executable, BEGIN + script, self.folder],
                                     stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=120)
                self.assertEqual(ran.returncode, -9)
                told = subprocess.run([COMMAND, "events", self.folder], capture_output=True, text=True, timeout=60)
                self.assertIn("died; steps 4 to 6 are kept", told.stdout + told.stderr)

    def test_what_others_do_with_the_ring(self):
        for deed in (": > {r}", "echo x > {r}", "cp /bin/sh {r}", "rm {r}", "truncate -s 5000 {r}",
                     "dd if=/dev/urandom of={r} bs=64 count=1 conv=notrunc 2>/dev/null"):
            with self.subTest(deed=deed), tempfile.TemporaryDirectory() as self.folder:
                ran = run(self.folder, """
import subprocess
config = MINDSPORE
s = tensorstat.DumpSession(config, keep=2)
""" + RUN + "    if step == 2: subprocess.run(" + repr(deed) + ".format(r=folder + '/d/rank_0/last_steps.ring'), shell=True)\n" + """
os.kill(os.getpid(), signal.SIGKILL)
""")
                self.assertEqual(ran.returncode, -9, ran.stderr)
                told = subprocess.run([COMMAND, "events", self.folder, "--list"], capture_output=True, text=True, timeout=60)
                self.assertIn("died; steps 3 to 5 are kept", told.stdout + told.stderr)

    def test_two_processes_without_a_rank_keep_their_msprobe_dumps(self):
        script = """
config = MSPROBE
s = tensorstat.DumpSession(config)
s.collect("Functional", "relu", outputs=[x * float(sys.argv[2] if len(sys.argv) > 2 else 1)], iteration=0)
s.step_end(iteration=0)
print("begun", flush=True)
sys.stdin.readline()
s.close()
"""
        jobs = [subprocess.Popen([sys.executable, "-W", "ignore", "-c", BEGIN + script, self.folder, str(number)], stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for number in (1, 2, 3)]
        for job in jobs:
            self.assertEqual(job.stdout.readline(), "begun\n")
        errors = "".join(job.communicate("\n", timeout=120)[1] for job in jobs)
        self.assertEqual([job.returncode for job in jobs], [0, 0, 0], errors)
        self.assertEqual(errors.count("Give each process its rank"), 2, errors)
        maxima = []
        for path in pathlib.Path(self.folder, "d/step0").glob("*/dump.json"):
            self.assertIn(path.parent.name, ["rank0", *(f"proc{job.pid}" for job in jobs)])
            (call,) = json.loads(path.read_text())["data"].values()
            maxima.append(call["output"][0]["Max"])
        self.assertEqual(sorted(maxima), [1, 2, 3])
        self.assertEqual(os.listdir(f"{self.folder}/d"), ["step0"])
        # Alone, the next run has the rank's folder.
        self.assertEqual(subprocess.run([sys.executable, "-c", BEGIN + script, self.folder, "7"], input="\n", capture_output=True, text=True,
                                        timeout=120).returncode, 0)
        data = json.loads(pathlib.Path(self.folder, "d/step0/rank0/dump.json").read_text())["data"]
        self.assertEqual([call["output"][0]["Max"] for call in data.values()], [7])

    def test_numbers_below_zero_are_refused(self):
        for more in ("event_bytes=-1", "keep=-1", "keep=(0, -1)", "event_bytes=1.5"):
            ran = run(self.folder, f"s = tensorstat.DumpSession(MINDSPORE, {more})")
            self.assertEqual(ran.returncode, 1, more)
            self.assertRegex(ran.stderr, "(ValueError|TypeError|OverflowError)", more)


if __name__ == "__main__":
    unittest.main()
