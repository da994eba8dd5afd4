"""Whatever NumPy takes as the description of an array's dtype is read with NumPy's values, or refused because it holds no
numbers. The members of archives that bzip2, LZMA, xz and zstd packed, too."""
import ctypes
import ctypes.util
import io
import json
import lzma
import os
import shutil
import struct
import subprocess
import tempfile
import unittest
import zipfile
import zlib

import numpy

COMMAND = os.environ["COMMAND"]
NAMES = ("bool int8 uint8 int16 uint16 int32 uint32 int64 uint64 float16 float32 float64 complex64 complex128 half single double float csingle cfloat cdouble complex "
         "byte ubyte short ushort intc uintc int uint long ulong longlong ulonglong intp uintp").split()
DESCRIPTIONS = ([f"'{order}{code}'" for order in ("<", ">", "=", "|", "") for code in "? b B h H i I l L q Q p P e f d F D i2 u4 f4 f8 c8 b1".split()] +
                [f"'{name}'" for name in NAMES] +
                ["u'<f4'", "[('a','<f4')]", "[['a','<f4']]", "[('a', '<f4', 2)]", "[('a','<f4',(2,))]", "[('a', ('<f4',(2,)))]", "[('a', ('<f4', 3)), ('b', 'float16')]",
                 "[('a','float32'), ('b', 'd')]", "[['a', [['b', '<i2'], ['c', 'h']]]]", "[(('title', 'a'), 'f')]"])


def header(description, shape, version=1):
    text = f"{{'descr': {description}, 'fortran_order': False, 'shape': {shape}, }}".encode()
    text += b" " * (-(len(text) + 11) % 64) + b"\n"
    return b"\x93NUMPY" + bytes([version, 0]) + struct.pack("<H" if version == 1 else "<I", len(text)) + text


class Npy(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def rows(self, *files):
        ran = subprocess.run([COMMAND, *files, "--format", "ndjson", "--stats", "argmax,absmax,md5", "--on", "host"], cwd=self.folder, capture_output=True, text=True,
                             timeout=120, check=False)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        return list(map(json.loads, ran.stdout.splitlines()))

    def test_descriptions(self):
        arrays = []
        for i, description in enumerate(DESCRIPTIONS):
            try:
                bytes_ = numpy.lib.format.read_array_header_1_0(io.BytesIO(header(description, (5,))[8:]))[2].itemsize * 5
            except (ValueError, TypeError):
                continue  # this NumPy does not take it
            content = header(description, (5,)) + bytes(7 * each % 60 + 1 for each in range(bytes_))
            with open(self.path(f"{i}.npy"), "wb") as file:
                file.write(content)
            array = numpy.load(self.path(f"{i}.npy"))
            arrays.append((f"{i}.npy", description, [array[name] for name in array.dtype.names] if array.dtype.names else [array]))
        self.assertGreater(len(arrays), 150)
        rows = self.rows(*(name for name, _, _ in arrays))
        for name, description, fields in arrays:
            matches = [row for row in rows if row["path"] == name]
            plain = [part for field in fields for part in ([field[inner] for inner in field.dtype.names] if field.dtype.names else [field])]
            self.assertEqual(len(matches), len(plain), description)
            for row, field in zip(matches, plain):
                self.assertEqual((row["dtype"], row["shape"]), (field.dtype.name, list(field.shape)), description)
                if field.dtype.kind not in "cb":
                    self.assertEqual(float(row["stats"]["absmax"]), float(numpy.abs(field.astype("f8")).max()), description)
                    self.assertEqual(row["stats"]["argmax"], int(field.argmax()), description)

    def test_a_long_header(self):
        fields = ", ".join(f"('a field with a long name and the number {i}', '<f4')" for i in range(4_000))
        with open(self.path("x.npy"), "wb") as file:
            file.write(header(f"[{fields}]", (2,), 2) + struct.pack("<8000f", *range(8_000)))
        rows = self.rows("x.npy")
        self.assertEqual(len(rows), 4_000)
        self.assertEqual([row["stats"]["absmax"] for row in rows[:3]], [4_000, 4_001, 4_002])

    def test_packed_members(self):
        random = numpy.random.default_rng(3)
        arrays = {"a": random.standard_normal((300, 700)).astype("f4"), "b": numpy.arange(6).reshape(2, 3), "c": numpy.zeros((400, 1000))}
        for name, method in (("stored", zipfile.ZIP_STORED), ("deflated", zipfile.ZIP_DEFLATED), ("bzip2", zipfile.ZIP_BZIP2), ("lzma", zipfile.ZIP_LZMA)):
            with zipfile.ZipFile(self.path(name + ".npz"), "w", method) as archive:
                for key, array in arrays.items():
                    with archive.open(key + ".npy", "w") as member:
                        numpy.lib.format.write_array(member, array)
        rows = self.rows("stored.npz", "deflated.npz", "bzip2.npz", "lzma.npz")
        self.assertEqual(len(rows), 12)
        for row in rows:
            self.assertEqual(row["stats"], next(each for each in rows if each["tensor"] == row["tensor"])["stats"])
        # Damage.
        for name in ("bzip2", "lzma"):
            with open(self.path(name + ".npz"), "r+b") as file:
                file.seek(200_000)
                file.write(bytes(50))
            ran = subprocess.run([COMMAND, name + ".npz", "--on", "host"], cwd=self.folder, capture_output=True, text=True, timeout=120, check=False)
            self.assertEqual(ran.returncode, 3, ran.stdout)
            self.assertIn(f"{name}.npz::a: is damaged", ran.stderr)

    def test_members_that_zipfile_does_not_write(self):
        """Methods 95 (xz) and 93 (zstd): the bytes of a stored archive with other members. Python's lzma and libzstd pack them."""
        zstd = ctypes.util.find_library("zstd")
        packers = {95: lambda data: lzma.compress(data, lzma.FORMAT_XZ)}
        if zstd:
            packers[93] = lambda data: zstd_compressed(ctypes.CDLL(zstd), data)
        array = numpy.random.default_rng(4).integers(0, 9, (300, 400)).astype("f4")
        numpy.save(self.path("x.npy"), array)
        with open(self.path("x.npy"), "rb") as file:
            plain = file.read()
        for method, packed in ((method, pack(plain)) for method, pack in packers.items()):
            with self.subTest(method):
                facts = struct.pack("<HHHIIIHH", method, 0, 33, zlib.crc32(plain), len(packed), len(plain), 5, 0)
                local = b"PK\x03\x04" + struct.pack("<HH", 63, 0) + facts + b"x.npy" + packed
                central = b"PK\x01\x02" + struct.pack("<HHH", 63, 63, 0) + facts + struct.pack("<HHHII", 0, 0, 0, 0, 0) + b"x.npy"
                end = b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, 1, 1, len(central), len(local), 0)
                with open(self.path("packed.npz"), "wb") as file:
                    file.write(local + central + end)
                row, = self.rows("packed.npz")
                expected, = self.rows("x.npy")
                self.assertEqual((row["tensor"], row["shape"], row["stats"]), ("x", [300, 400], expected["stats"]))


def zstd_compressed(library, data):
    library.ZSTD_compressBound.restype = library.ZSTD_compress.restype = ctypes.c_size_t
    room = ctypes.create_string_buffer(library.ZSTD_compressBound(ctypes.c_size_t(len(data))))
    size = library.ZSTD_compress(room, ctypes.c_size_t(len(room)), data, ctypes.c_size_t(len(data)), 3)
    return room.raw[:size]


if __name__ == "__main__":
    unittest.main()
