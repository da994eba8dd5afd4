"""Programs that hold a launch back by an event of their own, and programs that close, cut or reopen what a layer uses
(gated_programs.cpp, reopening_program.cpp): under `tensorstat attach` each has the output and exit status that it has alone and ends
in time. Where a reading would have had to be waited for, it is left out and counted; where the program's own events order everything,
nothing is left out."""
import os
import re
import subprocess
import tempfile
import unittest

COMMAND, PROGRAMS, REOPENING = os.environ["COMMAND"], os.environ["PROGRAMS"], os.environ["REOPENING_PROGRAM"]
FAILING_LAYER = os.environ["FAILING_LAYER"]
MOST_SECONDS = 120  # a program that hangs

# Who is named: "" for nobody. Of what is written by others while the launch is held back nobody can say.
GUILTY = {
    **dict.fromkeys(["gate_write", "gate_fill", "gate_copy", "gate_rectangle", "gate_map", "gate_native", "gate_launch", "gate_sub_buffer",
                     "gate_behind", "gate_of_events", "gate_in_callback", "gate_by_thread", "gate_shared",
                     "gate_failed", "released_early", "destructors", "command_buffer_gate"], ""),
    "late_writer": "", "far_behind": "root#10", "cuts_files": "root#1",
}
# Some of what these do cannot be measured; of these others everything can.
IN_PART = {"gate_write", "gate_fill", "gate_copy", "gate_rectangle", "gate_map", "gate_native", "gate_launch", "gate_sub_buffer",
           "gate_behind", "gate_of_events", "gate_in_callback", "gate_by_thread", "gate_shared",
           "late_writer", "command_buffer_gate"}
WHOLE = {"far_behind", "destructors", "released_early"}


class Gates(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def compare(self, name, *program, **variables):
        dump = os.path.join(self.folder, name)
        environment = {**os.environ, "CUT_FOLDER": dump, **variables}
        alone = subprocess.run(program, capture_output=True, text=True, timeout=MOST_SECONDS, check=False)
        attached = subprocess.run([COMMAND, "attach", "-o", dump, "--", *program], capture_output=True, text=True, timeout=MOST_SECONDS,
                                  env=environment, check=False)
        self.assertEqual((attached.stdout, attached.returncode), (alone.stdout, alone.returncode), attached.stderr)
        return attached.stderr

    def test_programs(self):
        for name, guilty in GUILTY.items():
            with self.subTest(name):
                report = self.compare(name, PROGRAMS, name)
                if guilty:
                    self.assertIn(f"NaN in {guilty} (", report)
                else:
                    self.assertNotIn("NaN in", report)
                if name in IN_PART:
                    self.assertRegex(report, r", [1-9]\d* left out \(another command wrote the memory")
                if name in WHOLE:
                    self.assertNotIn("left out", report)

    def test_readings_that_end_before_their_callbacks_are_set(self):
        self.compare("late", PROGRAMS, "destructors", OPENCL_LAYERS=FAILING_LAYER, LATE_CALLBACKS="1")

    def test_a_program_that_opens_opencl_again_and_again(self):
        report = self.compare("reopened", REOPENING)
        self.assertIn("NaN in root#2 (", report)
        self.assertRegex(report, "4 launches, 5 arguments measured")

    def test_a_folder_may_have_any_name(self):
        for name in ("x,poison=1", "a,,b,types=/nowhere", "comma,"):
            with self.subTest(name):
                self.assertIn("NaN in root#0 (", self.compare(name, PROGRAMS, "user_event"))
                self.assertTrue(os.path.exists(os.path.join(self.folder, name, "rank_0")))

    def test_attach_inside_attach(self):
        inner = os.path.join(self.folder, "inner")
        outer = subprocess.run([COMMAND, "attach", "-o", os.path.join(self.folder, "outer"), "--", COMMAND, "attach", "-o", inner, "--",
                                PROGRAMS, "user_event"], capture_output=True, text=True, timeout=MOST_SECONDS, check=False)
        self.assertEqual(outer.returncode, 0, outer.stderr)
        self.assertIn("NaN in root#0 (", outer.stderr)
        self.assertRegex(outer.stderr, f"the program runs `tensorstat attach` itself; its rows are in {re.escape(inner)}")
        self.assertNotIn("did not load OpenCL", outer.stderr)


if __name__ == "__main__":
    unittest.main()
