"""Every compiler of this machine that is not the build's accepts the sources of the product without a warning: GCC and clang from
12 and 14 on. The newest GCC accepts each source by itself, too: sources that are compiled together have each other's headers.
Only the front ends run."""
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
OLDEST = {"g++": 12, "clang++": 14}


def compilers():
    names = [f"{name}-{version}" for name, oldest in OLDEST.items() for version in range(oldest, oldest + 12)]
    return [name for name in names if shutil.which(name)]


def commands_of(compiler, build, *options):
    """The compile commands of the product, with what it generates made."""
    subprocess.run(["cmake", "-S", ROOT, "-B", build, "-G", "Ninja", f"-DCMAKE_CXX_COMPILER={compiler}", "-DTENSORSTAT_QUICK=ON",
                    "-DTENSORSTAT_TESTS=OFF", *options, "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"], check=True, stdout=subprocess.DEVNULL)
    targets = subprocess.run(["ninja", "-C", build, "-t", "targets", "all"], check=True, capture_output=True, text=True).stdout
    generated = re.findall(r"^(.*\.(?:inc|hpp|h|cpp)): CUSTOM_COMMAND$", targets, re.M)
    subprocess.run(["ninja", "-C", build, *generated], check=True, stdout=subprocess.DEVNULL)
    with open(os.path.join(build, "compile_commands.json")) as file:
        return [entry for entry in json.load(file) if entry["file"].endswith((".cpp", ".cxx"))]


def complaints_of(entry):
    words = shlex.split(entry["command"])
    position = words.index("-o")
    del words[position:position + 2]
    done = subprocess.run([*words, "-fsyntax-only"], cwd=entry["directory"], capture_output=True, text=True)
    return done.stderr or ("" if done.returncode == 0 else f"{entry['file']}: exit status {done.returncode}")


class CompilersTest(unittest.TestCase):
    def check(self, compiler, least, *options):
        with self.subTest(compiler=compiler), tempfile.TemporaryDirectory() as build, ThreadPoolExecutor(os.cpu_count()) as pool:
            entries = commands_of(compiler, build, *options)
            self.assertGreater(len(entries), least)
            complaints = [each for each in pool.map(complaints_of, entries) if each]
            print(f"{compiler}: {len(entries)} files", file=sys.stderr)
            self.assertEqual(complaints, [], "\n".join(complaints)[:8000])

    def test_no_compiler_complains(self):
        for compiler in compilers():
            self.check(compiler, 40)

    def test_each_source_has_its_headers(self):
        self.check([name for name in compilers() if name.startswith("g++")][-1], 300, "-DTENSORSTAT_UNITY=OFF")


if __name__ == "__main__":
    unittest.main()
