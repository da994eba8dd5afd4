"""A wheel of the package, with the C libraries and the command inside: pip wheel --no-build-isolation stats/bindings/python

CMake builds it. TENSORSTAT_BUILD names a build folder of the project that is there already, such as .build; without it
the project is built in .build-wheel. The wheel fits every CPython from 3.11 on, and every Linux that has the glibc which
its name says, or a newer one. libz.so.1 and libgcc_s.so.1 must be there; every other library is loaded when it is needed."""
import os
import re
import shutil
import subprocess
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py

try:
    from setuptools.command.bdist_wheel import bdist_wheel  # since setuptools 70.1
except ImportError:
    from wheel.bdist_wheel import bdist_wheel

PROJECT = Path(__file__).resolve().parents[3]
BUILD = Path(os.environ.get("TENSORSTAT_BUILD", PROJECT / ".build-wheel")).resolve()
SCRATCH = BUILD / "wheel"  # what setuptools would write among the sources
INSTALLED = SCRATCH / "installed"
# The libraries that PEP 600 lets a wheel need, as far as this one does.
SYSTEM = re.compile(r"(lib(c|m|dl|pthread|rt)|ld-linux.*|libgcc_s)\.so\.\d+|libz\.so\.1")


def output(*command):
    return subprocess.run(list(map(str, command)), check=True, stdout=subprocess.PIPE, text=True).stdout


def run(*command):
    subprocess.run(list(map(str, command)), check=True)


def cached(name):
    """A value of the build folder's cache."""
    return re.search(rf"^{name}:\w+=(.*)$", (BUILD / "CMakeCache.txt").read_text(), re.MULTILINE)


class BuildPackage(build_py):
    """Takes the package as CMake installs it. The library and its helper lie inside as below any prefix. The command, its
    helper and its layer go into the environment, as below any prefix."""

    def run(self):
        if not (BUILD / "CMakeCache.txt").exists():
            run("cmake", "-S", PROJECT, "-B", BUILD, "-DCMAKE_BUILD_TYPE=Release")
        has_command = cached("TENSORSTAT_COMMAND")[1] == "ON"
        targets = ["tensorstat_c", "tensorstat_preflight", "tensorstat_python"]
        if has_command:
            targets += ["tensorstat_command", "tensorstat_pages"]
        run("cmake", "--build", BUILD, "--parallel", os.cpu_count() or 1, "--target", *targets)
        shutil.rmtree(INSTALLED, ignore_errors=True)
        for component in ("c_core", "c", "helper", "python"):
            self.install(component, INSTALLED / "package")
        (module,) = (INSTALLED / "package").glob("**/tensorstat/_native.abi3.so")
        package = Path(self.build_lib) / "tensorstat"
        shutil.rmtree(package, ignore_errors=True)
        shutil.copytree(module.parent, package, ignore=shutil.ignore_patterns("__pycache__"))
        for text in ("LICENSE", "packaging/copyright"):
            shutil.copy(PROJECT / "stats" / text, package)
        for library in (INSTALLED / "package").glob("**/libtensorstat*.so.*"):
            if library.is_symlink():  # libtensorstat.so.0, by which the extension knows it, and libtensorstat-core.so.0
                self.copy(library, package)
        for helper in (INSTALLED / "package").glob("**/tensorstat-preflight"):
            self.copy(helper, package)
        if has_command:
            self.distribution.data_files = self.command_files()

    def command_files(self):
        """[(folder below the environment, [file])] of the command."""
        root = INSTALLED / "command"
        for component in ("command", "helper"):
            self.install(component, root)
        return [(str(file.parent.relative_to(root)), [str(file)]) for file in sorted(root.glob("**/*")) if file.is_file()]

    @staticmethod
    def install(component, prefix):
        run("cmake", "--install", BUILD, "--prefix", prefix, "--component", component, "--strip")

    @staticmethod
    def copy(file, package):
        to = package / file.relative_to(INSTALLED / "package")
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, to)


def processor():
    """The processor that the build folder is for: not this machine's if it was cross-compiled."""
    for facts in BUILD.glob("CMakeFiles/*/CMakeSystem.cmake"):
        return re.search(r'CMAKE_SYSTEM_PROCESSOR "(\w+)"', facts.read_text())[1]


def platform(files):
    """manylinux_2_34_x86_64 if these programs and libraries need the symbols of glibc 2.34 and no library but the system's."""
    newest = 17
    for file in files:
        text = output("readelf", "-dVW", file)
        others = [each for each in re.findall(r"\(NEEDED\).*\[(.*)\]", text)
                  if not SYSTEM.fullmatch(each) and not re.match(r"libtensorstat(-core)?\.so\.", each)]
        if others:
            print(f"{file} needs {', '.join(others)}: the wheel is for this distribution alone")
            return "linux_" + processor()
        newest = max([newest, *map(int, re.findall(r"\bGLIBC_2\.(\d+)", text))])
    return f"manylinux_2_{newest}_{processor()}"


class Wheel(bdist_wheel):
    def get_tag(self):
        programs = [file for file in INSTALLED.glob("**/*")
                    if file.is_file() and not file.is_symlink() and file.read_bytes()[:4] == b"\x7fELF"]
        return "cp311", "abi3", platform(programs)


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
    cmdclass={"build_py": BuildPackage, "bdist_wheel": Wheel},
    options={"build": {"build_base": str(SCRATCH)}, "egg_info": {"egg_base": str(SCRATCH)},
             "bdist_wheel": {"py_limited_api": "cp311"}},
)
