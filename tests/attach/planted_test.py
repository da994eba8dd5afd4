"""The launch that made the first NaN is named in each of the twenty PyOpenCL programs of planted.py: once in the quick run, fifty
times with TENSORSTAT_FULL=1. Output and exit status are the program's own. Skipped without Debian's python3-pyopencl."""
import os
import subprocess
import sys
import tempfile
import unittest

COMMAND = os.environ["COMMAND"]
RUNS = 50 if os.environ.get("TENSORSTAT_FULL") == "1" else 1
try:
    import planted
except ImportError:
    planted = None


@unittest.skipIf(planted is None, "python3-pyopencl is not installed")
class Planted(unittest.TestCase):
    def test_each_is_named(self):
        self.assertEqual(len(planted.GUILTY), 20)
        for name, guilty in planted.GUILTY.items():
            program = [sys.executable, planted.__file__, name]
            alone = subprocess.run(program, capture_output=True, text=True, timeout=120)
            for attempt in range(RUNS):
                with self.subTest(name, attempt=attempt), tempfile.TemporaryDirectory() as folder:
                    ran = subprocess.run([COMMAND, "attach", "-o", folder + "/dump", "--", *program], capture_output=True,
                                         text=True, timeout=120)
                    self.assertEqual((ran.stdout, ran.returncode), (alone.stdout, 0), ran.stderr)
                    self.assertIn(f"NaN in {guilty} (", ran.stderr)
                    self.assertIn(", 0 not understood", ran.stderr)

    def test_the_example_says_what_its_document_prints(self):
        root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
        with open(os.path.join(root, "stats", "doc", "attach.md"), encoding="utf-8") as file:
            block = file.read().split("    $ tensorstat attach -o dump -- python3 stats/examples/attach.py\n")[1].split("\n\n")[0]
        printed = [line.strip() for line in block.splitlines()]
        with tempfile.TemporaryDirectory() as folder:
            ran = subprocess.run([COMMAND, "attach", "-o", "dump", "--", sys.executable, os.path.join(root, "stats", "examples", "attach.py")],
                                 capture_output=True, text=True, timeout=120, cwd=folder, check=False,
                                 env={**os.environ, "PYTHONWARNINGS": "ignore"})  # PyOpenCL's own, of what it would like installed
        lines = ran.stdout.splitlines() + ran.stderr.splitlines()
        self.assertEqual(len(lines), len(printed), lines)
        for line, of_document in zip(lines, printed):
            for part in of_document.split("..."):
                self.assertIn(part, line)


if __name__ == "__main__":
    unittest.main()
