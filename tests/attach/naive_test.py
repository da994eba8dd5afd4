"""Programs of programs.cpp that a naive layer (naive_layer.cpp) hangs, changes or misjudges. attach_test.py holds `tensorstat attach`
to the same programs: there each is as alone, and its guilty launch is named. So these programs can tell a good layer from a bad one."""
import os
import signal
import subprocess
import time
import unittest

from attach_test import GUILTY

PROGRAMS, LAYER = os.environ["PROGRAMS"], os.environ["NAIVE_LAYER"]
MOST_SECONDS, STILL_SECONDS = 120, 2

# A launch waits for what the program does after it: a layer that waits for the launch never gets there. In a forked child
# no thread of the driver is left that could read.
HANGS = [("waits", "user_event"), ("waits", "gate_of_another_queue"), ("waits", "out_of_order_gate"), ("waits", "exits_blocked"),
         ("waits", "threads"), ("late", "forks"), ("late", "exits_blocked")]
# The guilty launch is not the first that is accused.
MISJUDGED = {
    ("waits", "in_place"): "the type is a typedef",
    ("waits", "reused_memory"): "what nobody wrote counts as an input",
    ("late", "two_queues"): "another queue has overwritten it",
    ("late", "out_of_order"): "a later launch has overwritten it",
    ("late", "released_at_once"): "the buffer is gone",
    ("late", "own_memory"): "the buffer is gone",
    ("late", "aborts"): "nothing is called at the end",
    ("late", "mapped"): "a later launch has written other values",
}
if "san.so" in os.environ.get("LD_PRELOAD", ""):
    del MISJUDGED["waits", "reused_memory"]  # a sanitizer does not give memory out again so soon


def environment(how, **more):
    more["OPENCL_LAYERS"] = ":".join(filter(None, [more.get("OPENCL_LAYERS"), LAYER]))
    return {**os.environ, "NAIVE": how, **more}


def run(program, environ=None):
    return subprocess.run([PROGRAMS, program], capture_output=True, text=True, timeout=MOST_SECONDS, env=environ, check=False)


def ticks(pid):
    """The processor time of a process and its living children."""
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        processes = [pid, *map(int, file.read().split())]
    total = 0
    for each in processes:
        with open(f"/proc/{each}/stat", encoding="ascii") as file:
            total += sum(map(int, file.read().rsplit(")", 1)[1].split()[11:13]))
    return total


class Naive(unittest.TestCase):
    def wait_until_still(self, process):
        """Until it does nothing for a while, and never will again. A blocked driver thread may poll a little."""
        deadline = time.monotonic() + MOST_SECONDS
        while time.monotonic() < deadline:
            before = ticks(process.pid)
            time.sleep(STILL_SECONDS)
            self.assertIsNone(process.poll(), "it has ended")
            after = ticks(process.pid)
            if before > 0 and after - before <= 1:
                return
        self.fail("it is still at work")

    def test_it_hangs_programs(self):
        running = {}
        for how, program in HANGS:
            running[how, program] = subprocess.Popen([PROGRAMS, program], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                                     env=environment(how), start_new_session=True)
        try:
            for key, process in running.items():
                with self.subTest(key):
                    self.wait_until_still(process)
        finally:
            for process in running.values():
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    def test_it_misjudges_programs(self):
        for (how, program), why in MISJUDGED.items():
            with self.subTest(program, how=how, why=why):
                alone, under = run(program), run(program, environment(how))
                self.assertEqual(under.returncode, alone.returncode, under.stderr)
                # The program sees that its options are others; the rest of its output is as alone.
                self.assertNotEqual(under.stdout, alone.stdout)
                self.assertEqual(under.stdout.splitlines()[1:], alone.stdout.splitlines()[1:])
                self.assertFalse(under.stderr.startswith(f"NaN in {GUILTY[program]}\n"), under.stderr)

    def test_it_is_right_where_nothing_is_difficult(self):
        for how in ("waits", "late"):
            self.assertEqual(run("references", environment(how)).stderr, "NaN in root#0\n")
            self.assertEqual(run("clean", environment(how)).stderr, "")

    def test_it_breaks_a_build_that_refuses_the_option(self):
        refuses = {"OPENCL_LAYERS": os.environ["CL_LAYER"], "CL_LAYER_REFUSE_OPTION": "-cl-kernel-arg-info"}
        alone = run("user_event", {**os.environ, **refuses})
        under = run("user_event", environment("late", **refuses))
        self.assertEqual(alone.returncode, 0)
        self.assertEqual((under.returncode, under.stdout[:5]), (3, "build"))

    def test_it_hands_errors_on(self):
        fails = {"OPENCL_LAYERS": os.environ["FAILING_LAYER"], "FAIL_OURS": "-1"}
        self.assertEqual(run("two_queues", {**os.environ, **fails}).returncode, 0)
        self.assertEqual(run("two_queues", environment("waits", **fails)).returncode, 3)


if __name__ == "__main__":
    unittest.main()
