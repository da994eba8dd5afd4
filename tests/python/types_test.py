"""The package is typed, and a program that uses it as the README says agrees with its types. Skipped where there is no mypy
(Debian's mypy)."""
import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import tensorstat

PROGRAM = '''
import tensorstat

one: tensorstat.Statistics = tensorstat.measure(b"ab", "max")
of_dict: dict[str, tensorstat.Statistics] = tensorstat.measure({"a": b"ab"}, ["max", "nan count"])
of_list: list[tensorstat.Statistics] = tensorstat.Meter(threads=1).measure([b"ab"])
whole: tensorstat.Statistics = (tensorstat.fold(b"a") + tensorstat.fold(b"b")).finish()
words: str = one.to_json()
rows: bool = tensorstat.DumpSession().step_end(iteration=3)
tensorstat.measure(b"ab", 7)  # wrong
tensorstat.DumpSession(sync=1)  # wrong
'''


PACKAGE = pathlib.Path(tensorstat.__file__).parent


@unittest.skipIf(importlib.util.find_spec("mypy") is None, "mypy is not installed")
class Types(unittest.TestCase):
    def test_of_the_package_and_of_a_program(self):
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder) / "program.py"
            program.write_text(PROGRAM)
            # Alone: torch and pandas, where they are installed, take minutes. The extension's functions may return anything.
            checked = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--no-warn-return-any", "--no-site-packages",
                                      "--ignore-missing-imports", f"--cache-dir={folder}/cache", str(PACKAGE), str(program)],
                                     capture_output=True, text=True, cwd=folder, env={**os.environ, "MYPYPATH": str(PACKAGE.parent)})
        wrong = [number for number, line in enumerate(PROGRAM.splitlines(), 1) if line.endswith("# wrong")]
        errors = [line for line in checked.stdout.splitlines() if ": error:" in line]
        self.assertEqual([line.split(":")[0].rsplit("/")[-1] for line in errors], ["program.py"] * len(wrong), checked.stdout)
        self.assertEqual([int(line.split(":")[1]) for line in errors], wrong, checked.stdout + checked.stderr)


if __name__ == "__main__":
    unittest.main()
