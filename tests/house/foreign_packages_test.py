"""The packages and the wheel of a build for another processor are for that processor, need the packages that own the
libraries they load, and measure what this machine's build measures, byte for byte. They run under QEMU from a folder.

foreign_packages_test.py CPACK BUILD NATIVE_BUILD SYSROOT: SYSROOT is of Debian's packages in BUILD/apt/archives, and has
a Python."""
import glob
import os
import random
import re
import struct
import subprocess
import sys
import tempfile
import unittest
import zipfile

CPACK, BUILD, NATIVE, SYSROOT = map(os.path.abspath, sys.argv[1:5])
SOURCE = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
os.environ["QEMU_LD_PREFIX"] = SYSROOT
HERE = tempfile.TemporaryDirectory(dir=BUILD)
PACKAGES, ROOT, WHEELS = (os.path.join(HERE.name, name) for name in ("packages", "root", "wheels"))
EM_AARCH64 = 183


def output(*command, **environment):
    ran = subprocess.run(command, capture_output=True, env={**os.environ, **environment})
    if ran.returncode:
        raise AssertionError(f"{command}: {ran.returncode}\n{ran.stdout.decode()}{ran.stderr.decode()}")
    return ran.stdout


def programs(folder):
    for path, _, names in os.walk(folder):
        for name in names:
            file = os.path.join(path, name)
            if os.path.islink(file):
                continue
            with open(file, "rb") as opened:
                head = opened.read(20)
            if head[:4] == b"\x7fELF":
                yield file, struct.unpack_from("<H", head, 18)[0]


def owners():
    """Which package of the sysroot has which library."""
    packages = {}
    for archive in glob.glob(BUILD + "/apt/archives/*.deb"):
        for line in output("dpkg-deb", "--contents", archive).decode().splitlines():
            path = line.split(" -> ")[0].split()[-1]
            if "/lib/aarch64-linux-gnu/" in path:
                packages[os.path.basename(path)] = os.path.basename(archive).split("_")[0]
    return packages


def tensors(folder):
    """Files of some dtypes with everything odd in them, and the project's samples."""
    rng = random.Random(7)
    floats = [rng.gauss(0, 10 ** rng.randint(-30, 30)) for _ in range(5000)] + [float("nan"), float("inf"), -0.0, 1e-45]
    columns = {"F64": struct.pack(f"<{len(floats)}d", *floats), "F32": struct.pack(f"<{len(floats)}f", *floats),
               "BF16": rng.randbytes(9000), "F16": rng.randbytes(9000), "I8": rng.randbytes(4097),
               "U16": rng.randbytes(4098), "I64": rng.randbytes(8000), "BOOL": bytes(rng.choices((0, 1), k=999))}
    sizes = {"F64": 8, "F32": 4, "BF16": 2, "F16": 2, "I8": 1, "U16": 2, "I64": 8, "BOOL": 1}
    header, offset = [], 0
    for dtype, data in columns.items():
        header.append(f'"{dtype.lower()}": {{"dtype": "{dtype}", "shape": [{len(data) // sizes[dtype]}], '
                      f'"data_offsets": [{offset}, {offset + len(data)}]}}')
        offset += len(data)
    text = ("{" + ", ".join(header) + "}").encode()
    path = os.path.join(folder, "model.safetensors")
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(columns.values()))
    return [path] + sorted(glob.glob(SOURCE + "/stats/samples/*.npy"))


MEASURES = """
import array, json, sys, tensorstat
print(tensorstat.__file__, file=sys.stderr)
with open(sys.argv[1], "rb") as file:
    data = file.read()
for code in "bBhHiIqQfd":
    items = array.array(code)
    items.frombytes(data[:len(data) // items.itemsize * items.itemsize])
    print(code, tensorstat.measure(items, "all,l1norm,p50,md5,argmax,nan count").to_dict())
"""


class ForeignPackages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        output(CPACK, "--config", BUILD + "/CPackConfig.cmake", "-B", HERE.name + "/work",
               "-D", "CPACK_OUTPUT_FILE_PREFIX=" + PACKAGES)
        cls.packages = sorted(glob.glob(PACKAGES + "/*.deb"))
        for package in cls.packages:
            output("dpkg-deb", "--extract", package, ROOT)
        cls.files = tensors(HERE.name)

    def test_are_for_the_processor_and_need_what_owns_their_libraries(self):
        self.assertEqual([os.path.basename(each).split("_")[0] for each in self.packages],
                         ["libtensorstat-core0", "libtensorstat-dev", "libtensorstat0", "python3-tensorstat", "tensorstat"])
        owner, count = owners(), 0
        for package in self.packages:
            self.assertEqual(output("dpkg-deb", "--field", package, "Architecture"), b"arm64\n")
            needs = output("dpkg-deb", "--field", package, "Depends").decode()
            with tempfile.TemporaryDirectory(dir=HERE.name) as folder:
                output("dpkg-deb", "--extract", package, folder)
                for file, machine in programs(folder):
                    self.assertEqual(machine, EM_AARCH64, file)
                    dynamic = output("aarch64-linux-gnu-readelf", "--dynamic", file).decode()
                    for library in re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic):
                        name = owner.get(library, library.replace(".so.", ""))  # libtensorstat.so.0 is of libtensorstat0
                        self.assertRegex(needs, r"(^|[ ,|])" + re.escape(name) + r"(\W|$)", f"{file} needs {library}")
                        count += 1
        self.assertGreater(count, 10)

    def test_the_command_measures_what_this_machine_measures(self):
        for form in ("csv", "ndjson", "json", "table"):
            arguments = [*self.files, "--format", form, "--on", "host", "--stats",
                         "all,l1norm,rms,p50,md5,argmax,first nan index,exponents"]
            here = output(NATIVE + "/bin/tensorstat", *arguments)
            self.assertEqual(output(ROOT + "/usr/bin/tensorstat", *arguments), here)
            self.assertGreaterEqual(here.count(b"\n"), 15 if form != "json" else 1)

    def measured(self, python, package):
        program = subprocess.run([python, "-c", MEASURES, self.files[0]], capture_output=True,
                                 env={**os.environ, "PYTHONPATH": package})
        self.assertEqual(program.returncode, 0, program.stderr.decode())
        self.assertTrue(program.stderr.decode().startswith(package), program.stderr.decode())
        return program.stdout

    def test_python_measures_what_this_machine_measures(self):
        here = self.measured("/usr/bin/python3", NATIVE + "/python")
        self.assertEqual(here.count(b"\n"), 10)
        foreign = SYSROOT + "/usr/bin/python3"
        self.assertEqual(output(foreign, "-c", "import platform; print(platform.machine())"), b"aarch64\n")
        self.assertEqual(self.measured(foreign, ROOT + "/usr/lib/python3/dist-packages"), here)

        output("/usr/bin/python3", "-m", "pip", "wheel", "--no-build-isolation", "--no-deps", "--no-index", "-w", WHEELS,
               SOURCE + "/stats/bindings/python", TENSORSTAT_BUILD=BUILD)
        (wheel,) = os.listdir(WHEELS)
        self.assertRegex(wheel, r"-cp311-abi3-manylinux_2_\d+_aarch64\.whl$")
        with zipfile.ZipFile(WHEELS + "/" + wheel) as opened:
            opened.extractall(WHEELS + "/here")
        self.assertEqual(self.measured(foreign, WHEELS + "/here"), here)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
