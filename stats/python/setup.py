"""A wheel of the package, with the C library inside: pip wheel --no-build-isolation stats/python

CMake builds it. TENSORSTAT_BUILD names a build folder of the project that is there already, such as .build; without it
the project is built in .build-wheel. The wheel fits every CPython from 3.11 on, and a Linux with the shared libraries
that it was built against: OpenCL's loader, zlib, libstdc++ and, for digests, libcrypto are not inside."""
import os
import re
import shutil
import subprocess
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py

PROJECT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("TENSORSTAT_BUILD", PROJECT / ".build-wheel")).resolve()
SCRATCH = BUILD / "wheel"  # what setuptools would write among the sources


def run(*command):
    subprocess.run(list(map(str, command)), check=True)


class BuildPackage(build_py):
    """Takes the package as CMake installs it. The library and its helper lie inside as below any prefix."""

    def run(self):
        if not (BUILD / "CMakeCache.txt").exists():
            run("cmake", "-S", PROJECT, "-B", BUILD, "-DCMAKE_BUILD_TYPE=Release", "-DTENSORSTAT_COMMAND=OFF")
        run("cmake", "--build", BUILD, "--parallel", os.cpu_count() or 1,
            "--target", "tensorstat_c", "tensorstat_preflight", "tensorstat_python")
        shutil.rmtree(SCRATCH / "installed", ignore_errors=True)
        for component in ("c", "helper", "python"):
            run("cmake", "--install", BUILD, "--prefix", SCRATCH / "installed", "--component", component, "--strip")
        (found,) = (SCRATCH / "installed").glob("**/tensorstat/_native.abi3.so")
        package = Path(self.build_lib) / "tensorstat"
        shutil.rmtree(package, ignore_errors=True)
        shutil.copytree(found.parent, package, ignore=shutil.ignore_patterns("__pycache__"))
        for text in ("LICENSE", "packaging/copyright"):
            shutil.copy(PROJECT / "stats" / text, package)
        for library in (SCRATCH / "installed").glob("**/libtensorstat.so.*"):
            if library.is_symlink():  # libtensorstat.so.0, by which the extension knows it
                self.copy(library, package)
        for helper in (SCRATCH / "installed").glob("**/tensorstat-preflight"):
            self.copy(helper, package)

    @staticmethod
    def copy(file, package):
        to = package / file.relative_to(SCRATCH / "installed")
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, to)


def platform():
    """The platform that the build folder is for: not this machine's if it was cross-compiled."""
    for facts in BUILD.glob("CMakeFiles/*/CMakeSystem.cmake"):
        return "linux_" + re.search(r'CMAKE_SYSTEM_PROCESSOR "(\w+)"', facts.read_text())[1]


class WithExtension(Distribution):
    def has_ext_modules(self):
        return True


SCRATCH.mkdir(parents=True, exist_ok=True)
setup(
    name="tensorstat",
    version=re.search(r"project\(tensorstat VERSION ([0-9.]+)", (PROJECT / "CMakeLists.txt").read_text())[1],
    description="Statistics of tensors, computed where the tensors live",
    license="Apache-2.0",
    python_requires=">=3.11",
    packages=["tensorstat"],
    distclass=WithExtension,
    cmdclass={"build_py": BuildPackage},
    options={"build": {"build_base": str(SCRATCH)}, "egg_info": {"egg_base": str(SCRATCH)},
             "bdist_wheel": {"py_limited_api": "cp311", "plat_name": platform()}},
)
