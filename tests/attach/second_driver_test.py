"""`tensorstat attach` over Oclgrind as the driver: a program has the same output as alone, and the launch that made NaN is named.
Quick, three programs of programs.cpp; with TENSORSTAT_FULL=1 all that run on Oclgrind. It has no user events, and one queue of it
must not wait for another (gate_of_another_queue). Skipped without Debian's oclgrind."""
import os
import subprocess
import tempfile
import unittest

from attach_test import GUILTY

COMMAND, PROGRAMS = os.environ["COMMAND"], os.environ["PROGRAMS"]
DRIVER = "/usr/lib/oclgrind/liboclgrind-rt-icd.so"
CHOSEN = ["in_place", "sub_buffers", "clean"]
if os.environ.get("TENSORSTAT_FULL") == "1":
    CHOSEN += ["two_queues", "out_of_order", "released_at_once", "own_memory", "unwritten_memory", "mapped", "profiling", "references"]


@unittest.skipUnless(os.path.exists(DRIVER), "needs Debian's oclgrind")
class SecondDriver(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        os.mkdir(self.folder + "/vendors")
        with open(self.folder + "/vendors/oclgrind.icd", "w", encoding="utf-8") as file:
            file.write(DRIVER)
        # Kernels are built as they are for users.
        self.environment = {**os.environ, "OCL_ICD_VENDORS": self.folder + "/vendors", "XDG_CACHE_HOME": self.folder + "/cache"}
        self.environment.pop("TENSORSTAT_CL_OPTIMIZE", None)

    def run_on_oclgrind(self, *command):
        return subprocess.run(command, capture_output=True, text=True, timeout=300, env=self.environment, check=False)

    def test_programs(self):
        for program in CHOSEN:
            guilty = GUILTY[program]
            with self.subTest(program):
                alone = self.run_on_oclgrind(PROGRAMS, program)
                attached = self.run_on_oclgrind(COMMAND, "attach", "-o", f"{self.folder}/{program}", "--", PROGRAMS, program)
                self.assertEqual((attached.returncode, attached.stdout), (alone.returncode, alone.stdout))
                self.assertRegex(attached.stderr, r"[1-9]\d* arguments measured, 0 not understood; ")
                if guilty:
                    self.assertIn(f"NaN in {guilty} (", attached.stderr)
                else:
                    self.assertNotIn("NaN", attached.stderr)

    def test_a_device_that_is_refused_is_said(self):
        self.environment |= {"OPENCL_LAYERS": os.environ["CL_LAYER"], "CL_LAYER_DEVICE_NAME": "llvmpipe"}
        attached = self.run_on_oclgrind(COMMAND, "attach", "-o", f"{self.folder}/refused", "--", PROGRAMS, "in_place")
        self.assertRegex(attached.stderr, r"0 arguments measured, .* left out \(.*llvmpipe: its loops run more or fewer rounds than the kernel says")


if __name__ == "__main__":
    unittest.main()
