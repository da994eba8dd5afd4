"""Arrays of Zarr stores, written here without Zarr: every order, packer, dtype, grid and name of chunks gives NumPy's
elements, missing chunks are the fill value, and damage is told."""
import bz2
import gzip
import itertools
import json
import lzma
import os
import shutil
import struct
import subprocess
import tempfile
import unittest
import zlib

import numpy

COMMAND = os.environ["COMMAND"]


def crc32c(data):
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    crc = 0xFFFFFFFF
    for byte in data:
        crc = table[(crc ^ byte) & 0xFF] ^ crc >> 8
    return data + struct.pack("<I", crc ^ 0xFFFFFFFF)


VERSION_2 = {None: (None, bytes), "zlib": ({"id": "zlib", "level": 1}, zlib.compress), "gzip": ({"id": "gzip", "level": 1}, gzip.compress),
             "bz2": ({"id": "bz2", "level": 1}, bz2.compress), "lzma": ({"id": "lzma", "format": 1}, lzma.compress)}
VERSION_3 = {None: ([], bytes), "gzip": ([{"name": "gzip", "configuration": {"level": 1}}], gzip.compress),
             "crc": ([{"name": "crc32c"}], crc32c), "gzip and crc": (["gzip", {"name": "crc32c"}], lambda data: crc32c(gzip.compress(data))),
             "crc and gzip": ([{"name": "crc32c"}, {"name": "gzip"}], lambda data: gzip.compress(crc32c(data)))}


class Zarr(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.random = numpy.random.default_rng(5)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, content):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "wb") as file:
            file.write(content if isinstance(content, bytes) else json.dumps(content).encode())

    def chunks(self, name, array, chunk, key, encode, skip=()):
        """Writes the chunks, those at the edges filled up with junk, which nothing may see."""
        counts = [-(-length // each) for length, each in zip(array.shape, chunk)]
        for index in itertools.product(*map(range, counts)):
            if index in skip:
                continue
            whole = numpy.frombuffer(self.random.bytes(int(numpy.prod(chunk)) * array.itemsize), numpy.uint8).view(array.dtype).reshape(chunk).copy()
            here = tuple(slice(i * each, min((i + 1) * each, length)) for i, each, length in zip(index, chunk, array.shape))
            whole[tuple(slice(0, part.stop - part.start) for part in here)] = array[here]
            self.write(f"{name}/{key(index)}", encode(whole))

    def version_2(self, name, array, chunk, order="C", packer=None, separator=None, fill=0, skip=()):
        compressor, pack = VERSION_2[packer]
        meta = {"zarr_format": 2, "shape": array.shape, "chunks": chunk, "dtype": array.dtype.str, "compressor": compressor, "fill_value": fill, "order": order, "filters": None}
        if separator:
            meta["dimension_separator"] = separator
        self.write(f"{name}/.zarray", meta)
        self.write(f"{name}/.zattrs", {"units": "m"})
        self.chunks(name, array, chunk, lambda index: (separator or ".").join(map(str, index)) or "0", lambda whole: pack(whole.tobytes(order)), skip)

    def version_3(self, name, array, chunk, packer=None, order=None, encoding="default", separator=None, fill=0, skip=()):
        codecs, pack = VERSION_3[packer]
        big = array.dtype.byteorder == ">"
        meta = {"zarr_format": 3, "node_type": "array", "shape": array.shape, "data_type": array.dtype.name, "fill_value": fill,
                "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunk}},
                "chunk_key_encoding": {"name": encoding, **({"configuration": {"separator": separator}} if separator else {})},
                "codecs": [*([{"name": "transpose", "configuration": {"order": order}}] if order else []),
                           {"name": "bytes", "configuration": {"endian": "big" if big else "little"}}, *codecs]}
        self.write(f"{name}/zarr.json", meta)
        between = separator or ("/" if encoding == "default" else ".")
        first = ["c"] if encoding == "default" else []
        self.chunks(name, array, chunk, lambda index: between.join([*first, *map(str, index)]) or "0",
                    lambda whole: pack(whole.transpose(order or range(whole.ndim)).tobytes()), skip)

    def run_command(self, *words):
        return subprocess.run([COMMAND, *words], cwd=self.folder, capture_output=True, text=True, timeout=120, check=False)

    def assert_same(self, store, arrays, group=""):
        """Element beside element: the same in the same order as NumPy writes."""
        for name, array in arrays.items():
            numpy.savez(self.path("x.npz"), **{name: numpy.ascontiguousarray(array).reshape(array.shape)})
            meta = next(each for each in (".zarray", "zarr.json") if os.path.exists(self.path(f"{store}/{group}{name}/{each}")))
            ran = self.run_command("diff", f"{store}/{group}{name}/{meta}", "x.npz", "--rtol", "0", "--atol", "0", "--format", "json", "--all")
            self.assertEqual(ran.returncode, 0, f"{name}: {ran.stdout} {ran.stderr}")
            self.assertIn('"equal"', ran.stdout)
        ran = self.run_command(store, "--format", "ndjson", "--stats", "count", "--on", "host")
        rows = {each["tensor"]: each for each in map(json.loads, ran.stdout.splitlines())}
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        self.assertEqual(set(rows), set(arrays))
        for name, array in arrays.items():
            self.assertEqual((rows[name]["dtype"], rows[name]["shape"]), (array.dtype.name, list(array.shape)))

    def array(self, dtype, shape):
        if dtype == "bool":
            return self.random.random(shape) < 0.5
        if dtype.startswith(("float", ">f", "complex")):
            return (self.random.standard_normal(shape) * 100).astype(dtype)
        return self.random.integers(0, 100, shape).astype(dtype)

    def test_version_2(self):
        arrays = {f"a{i}_{dtype.strip('>')}": self.array(dtype, (7, 5, 9)) for i, dtype in enumerate(
            ("bool", "int8", ">i2", "int32", "int64", "uint8", "uint16", "uint32", ">u8", "float16", "float32", ">f8", "complex64"))}
        for i, (name, array) in enumerate(arrays.items()):
            self.version_2(f"s.zarr/{name}", array, [(2, 5, 4), (7, 5, 9), (1, 1, 3), (8, 2, 10)][i % 4], "CF"[i % 2], list(VERSION_2)[i % 5], [None, "/", "."][i % 3])
        arrays["scalar"], arrays["none"] = numpy.array(2.5), numpy.zeros((0, 3), "f4")
        self.version_2("s.zarr/scalar", arrays["scalar"], ())
        self.version_2("s.zarr/none", arrays["none"], (1, 3))
        for name, content in (".zgroup", {"zarr_format": 2}), (".zattrs", {}), (".zmetadata", {"zarr_consolidated_format": 1, "metadata": {}}):
            self.write(f"s.zarr/{name}", content)
        self.assert_same("s.zarr", arrays)

    def test_version_3(self):
        arrays = {f"a{i}": self.array(dtype, (4, 6, 5)) for i, dtype in enumerate(("bool", "int16", ">i4", "uint64", "float16", "float32", ">f8", "complex128", "float32", "int8"))}
        for i, (name, array) in enumerate(arrays.items()):
            self.version_3(f"s.zarr/g/{name}", array, [(2, 4, 5), (1, 6, 2), (4, 6, 5)][i % 3], list(VERSION_3)[i % 5], [None, (2, 0, 1), (1, 2, 0)][i % 3],
                           ["default", "v2"][i % 2], [None, "/", "."][i // 2 % 3])
        arrays["scalar"] = numpy.array(7, "i4")
        self.version_3("s.zarr/g/scalar", arrays["scalar"], ())
        for group in ("s.zarr", "s.zarr/g"):
            self.write(group + "/zarr.json", {"zarr_format": 3, "node_type": "group", "attributes": {}})
        self.assert_same("s.zarr", arrays, "g/")

    def test_a_chunk_is_an_input_that_no_output_replaces(self):
        self.version_2("s.zarr/flat", self.array("float32", (4, 4)), (2, 4))
        self.version_2("s.zarr/deep2", self.array("float32", (4, 4)), (2, 4), separator="/")
        self.version_3("s.zarr/deep3", self.array("float32", (4, 4)), (2, 4))
        for chunk in ("flat/1.0", "deep2/1/0", "deep3/c/1/0"):
            path = self.path("s.zarr/" + chunk)
            with open(path, "rb") as file:
                before = file.read()
            for words in (("s.zarr",), ("s.zarr/deep2/.zarray", "s.zarr/deep3/zarr.json", "s.zarr/flat/.zarray"), ("diff", "s.zarr", "s.zarr")):
                ran = self.run_command(*words, "--format", "json", "-o", "s.zarr/" + chunk)
                self.assertEqual(ran.returncode, 2, (chunk, words))
                self.assertIn("is one of the inputs", ran.stderr)
            with open(path, "rb") as file:
                self.assertEqual(file.read(), before)

    def test_missing_chunks_are_the_fill_value(self):
        fills = {"float16": [("NaN", numpy.nan), (-2.5, -2.5), (65504.0, 65504), (1e-7, 1e-7), ("0x3c00", 1)], "float32": [("Infinity", numpy.inf), (0.1, 0.1)],
                 ">f8": [("-Infinity", -numpy.inf), (1e300, 1e300)], "int8": [(-5, -5)], ">i8": [(-2**63, -2**63)], "uint64": [(2**64 - 1, 2**64 - 1)],
                 "bool": [(True, True)], "complex64": [([1.5, -2.0], 1.5 - 2j)]}
        arrays = {}
        for i, (dtype, (written, value)) in enumerate((dtype, fill) for dtype, each in fills.items() for fill in each):
            array = self.array(dtype, (6, 4))
            array[0:2, 2:4] = array[4:6, 0:2] = value
            arrays[f"f{i}"] = array
            self.version_3(f"s.zarr/f{i}", array, (2, 2), fill=written, skip={(0, 1), (2, 0)})
        array = self.array("float32", (3, 3))
        array[0:2, 0:2] = 0
        arrays["null"] = array
        self.version_2("s.zarr/null", array, (2, 2), fill=None, skip={(0, 0)})
        self.assert_same("s.zarr", arrays)

    def sharded(self, name, array, shard, chunk, packer, at_start, with_crc, skip=()):
        """Shards of whole chunks, in any order, with holes between them."""
        codecs, pack = VERSION_3[packer]
        index_codecs = [{"name": "bytes", "configuration": {"endian": "little"}}, *([{"name": "crc32c"}] if with_crc else [])]
        inner = {"chunk_shape": chunk, "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, *codecs], "index_codecs": index_codecs,
                 "index_location": "start" if at_start else "end"}
        self.version_3(name, array, shard, fill=-1)
        with open(self.path(name + "/zarr.json")) as file:
            meta = json.load(file)
        self.write(name + "/zarr.json", {**meta, "codecs": [{"name": "sharding_indexed", "configuration": inner}]})
        for folder, _, files in os.walk(self.path(name + "/c")):
            for each in files:
                path = os.path.relpath(os.path.join(folder, each), self.folder)
                with open(self.path(path), "rb") as file:
                    whole = numpy.frombuffer(file.read(), array.dtype).reshape(shard)
                grid = [outer // step for outer, step in zip(shard, chunk)]
                boxes = list(itertools.product(*map(range, grid)))
                places, body = {}, b"x" * 5
                size = 16 * len(boxes) + 4 * with_crc
                for box in self.random.permutation(len(boxes)):
                    part = whole[tuple(slice(i * step, (i + 1) * step) for i, step in zip(boxes[box], chunk))]
                    packed = pack(part.tobytes())
                    places[box] = (2**64 - 1, 2**64 - 1) if boxes[box] in skip else (len(body) + size * at_start, len(packed))
                    body += b"" if boxes[box] in skip else packed + b"hole"
                index = b"".join(struct.pack("<QQ", *places[i]) for i in range(len(boxes)))
                index = crc32c(index) if with_crc else index
                self.write(path, index + body if at_start else body + index)

    def test_shards(self):
        arrays = {f"a{i}": self.array("int32", (7, 9, 4)) for i in range(4)}
        arrays["hole"] = self.array("int32", (4, 4))
        for i, name in enumerate(list(arrays)[:4]):
            self.sharded(f"s.zarr/{name}", arrays[name], (4, 6, 4), [(2, 3, 4), (1, 6, 2)][i % 2], [None, "gzip", "crc", "gzip and crc"][i], i % 2, i // 2)
        self.sharded("s.zarr/hole", arrays["hole"], (4, 4), (2, 2), None, False, True, skip={(0, 1)})
        arrays["hole"][0:2, 2:4] = -1
        self.assert_same("s.zarr", arrays)
        with open(self.path("s.zarr/a0/c/0/0/0"), "r+b") as file:
            file.truncate(20)
        ran = self.run_command("s.zarr/a0")
        self.assertEqual(ran.returncode, 3)
        self.assertIn("its chunk c/0/0/0: its shard has 20 bytes, and no room for its index", ran.stderr)

    def test_what_is_wrong_is_told_and_the_others_are_read(self):
        array = self.array("float32", (6, 6))
        def meta(**changes):
            def change():
                with open(self.path("s.zarr/b/zarr.json")) as file:
                    content = json.load(file)
                self.write("s.zarr/b/zarr.json", {**content, **changes})
            return change
        def cut():
            self.write("s.zarr/b/c/1/0", b"12")
        def spoil():
            with open(self.path("s.zarr/b/c/1/1"), "r+b") as file:
                file.seek(20)
                file.write(b"\x00\xff\x00")
        grid = {"name": "regular", "configuration": {"chunk_shape": [3, 0]}}
        shard = [{"name": "sharding_indexed", "configuration": {}}]
        huge = {"name": "regular", "configuration": {"chunk_shape": [1 << 40, 3]}}
        for change, packer, words in (
                (cut, None, "its chunk c/1/0: has 2 bytes, and 36 are due"), (cut, "crc", "its chunk c/1/0: has 2 bytes"), (spoil, "crc", "its chunk c/1/1: is damaged: it does not match"),
                (spoil, "gzip", "its chunk c/1/1: is damaged"), (meta(data_type="r16"), None, "is not supported"), (meta(codecs=shard), None, "chunk_shape is no list"), (meta(codecs=["packbits"]), None, "packbits"),
                (meta(chunk_grid=grid), None, "have no elements"), (meta(chunk_grid=huge), None, "s.zarr/b/zarr.json"), (meta(shape=[6]), None, "other axes"),
                (meta(shape=[1 << 62, 6]), None, "s.zarr/b/zarr.json"), (meta(shape=[1 << 40, 6]), None, "times that"), (meta(fill_value="x"), None, "the fill value"),
                (meta(storage_transformers=[{"name": "x"}]), None, "has the storage transformers"), (meta(storage_transformers={}), None, "has the storage transformers"),
                (meta(zarr_format=2), None, "another zarr_format"), (lambda: self.write("s.zarr/b/zarr.json", b"{"), None, "zarr.json")):
            with self.subTest(words):
                shutil.rmtree(self.path("s.zarr"), ignore_errors=True)
                self.version_3("s.zarr/a", array, (3, 3))
                self.version_3("s.zarr/b", array, (3, 3), packer)
                change()
                ran = self.run_command("s.zarr", "--format", "ndjson", "--stats", "max", "--on", "host")
                self.assertEqual(ran.returncode, 3, ran.stderr)
                self.assertIn(words, ran.stderr)
                self.assertEqual(json.loads(ran.stdout.splitlines()[0])["stats"]["max"], float(array.max()))


if __name__ == "__main__":
    unittest.main()
