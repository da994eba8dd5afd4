"""A build whose compiler is called through ccache compiles what the files say: a precompiled header from the cache is one of the
same bytes. GCC includes a header anew that differs by a comment from the one it precompiled, and then finds each definition twice.
Without ccache, exit 77."""
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROJECT = """cmake_minimum_required(VERSION 3.25)
project(cached CXX)
add_library(cached OBJECT source.cpp)
target_precompile_headers(cached PRIVATE header.hpp)
"""


def launcher_of_the_product(build):
    """The words before the compiler in the command that precompiles this project's headers."""
    subprocess.run(["cmake", "-S", ROOT, "-B", build, "-G", "Ninja", "-DCMAKE_CXX_COMPILER=g++", "-DTENSORSTAT_QUICK=ON", "-DTENSORSTAT_TESTS=OFF"],
                   check=True, stdout=subprocess.DEVNULL)
    header = "CMakeFiles/tensorstat_headers.dir/cmake_pch.hxx.gch"
    words = shlex.split(subprocess.run(["ninja", "-C", build, "-t", "commands", header], check=True, capture_output=True, text=True).stdout)
    return words[:[os.path.basename(word) for word in words].index("g++")]


class CompilerCacheTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.environment = {**os.environ, "CCACHE_DIR": os.path.join(self.folder, "cache")}
        for name in ("CXX", "CXXFLAGS", "CMAKE_CXX_COMPILER_LAUNCHER", "CCACHE_DISABLE", "CCACHE_DEPEND", "CCACHE_SLOPPINESS"):
            self.environment.pop(name, None)

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w") as file:
            file.write(text)

    def build(self, launcher):
        """A clean build; its errors."""
        build = os.path.join(self.folder, "build")
        shutil.rmtree(build, ignore_errors=True)
        subprocess.run(["cmake", "-S", self.folder, "-B", build, "-G", "Ninja", "-DCMAKE_CXX_COMPILER=g++",
                        f"-DCMAKE_CXX_COMPILER_LAUNCHER={';'.join(launcher)}"], check=True, stdout=subprocess.DEVNULL, env=self.environment)
        done = subprocess.run(["ninja", "-C", build], capture_output=True, text=True, env=self.environment)
        return "" if done.returncode == 0 else done.stdout

    def test_another_comment_is_another_header(self):
        launcher = launcher_of_the_product(os.path.join(self.folder, "product"))
        self.assertIn("ccache", [os.path.basename(word) for word in launcher])
        self.write("CMakeLists.txt", PROJECT)
        for comment in ("a comment", "a longer comment"):
            self.write("header.hpp", f"#pragma once\n// {comment}\nstruct Defined {{}};\n")
            self.write("source.cpp", f'#include "header.hpp"\nDefined value;  // {comment}\n')
            self.assertEqual(self.build(launcher), "")
        # The cache is used: a third build compiles nothing.
        before = self.misses()
        self.assertEqual(self.build(launcher), "")
        self.assertEqual(self.misses(), before)

    def misses(self):
        printed = subprocess.run(["ccache", "--print-stats"], check=True, capture_output=True, text=True, env=self.environment).stdout
        return int(dict(line.split("\t") for line in printed.splitlines())["cache_miss"])


if __name__ == "__main__":
    if not shutil.which("ccache") or not shutil.which("g++"):
        sys.exit(77)
    unittest.main()
