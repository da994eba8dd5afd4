"""A short file that names much takes little time and memory: what it would unfold to is refused by name, the rest is read,
and errors are bounded: a hundred lines, then a count."""
import io
import json
import os
import resource
import struct
import subprocess
import tempfile
import unittest
import zipfile
import zlib

COMMAND = os.environ["COMMAND"]
# ASan reserves more than any limit.
MEMORY = 1 << 30 if "ASAN_OPTIONS" not in os.environ else None


def integer(number):
    return b"\x8a\x08" + struct.pack("<q", number)


def text(word):
    return b"X" + struct.pack("<I", len(word)) + word.encode()


def tensor(shape, stride, key="0", storage="FloatStorage", elements=16):
    """The pickle of torch._utils._rebuild_tensor_v2 of a storage."""
    numbers = lambda each: b"(" + b"".join(map(integer, each)) + b"t"
    return (b"ctorch._utils\n_rebuild_tensor_v2\n((" + text("storage") + b"ctorch\n" + storage.encode() + b"\n" + text(key) +
            text("cpu") + integer(elements) + b"tQ" + integer(0) + numbers(shape) + numbers(stride) + b"\x89}tR")


class HostileFiles(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def run_command(self, name, *arguments, threads=1):
        limit = (lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))) if MEMORY else None
        ran = subprocess.run([COMMAND, self.path(name), "--on", "host", "--threads", str(threads), *arguments], capture_output=True,
                             text=True, errors="replace", timeout=240, preexec_fn=limit)
        self.assertLess(len(ran.stderr), 60_000, ran.stderr[:1000])
        return ran

    def rows(self, ran):
        return {each["tensor"]: each["stats"] for each in map(json.loads, ran.stdout.splitlines())}

    def archive(self, name, pickled):
        with zipfile.ZipFile(self.path(name), "w") as made:
            made.writestr("archive/data.pkl", pickled)
            made.writestr("archive/data/0", struct.pack("<16f", *range(16)))

    def state_dict(self, tensors):
        return b"\x80\x02}(" + b"".join(text(name) + each for name, each in tensors.items()) + b"u."

    def test_a_stride_of_0(self):
        self.archive("x.pt", self.state_dict({
            "honest": tensor((4096, 16), (0, 1)), "scalar": tensor((1000, 1000), (0, 0)), "huge": tensor((1 << 40,), (0,)),
            "wide": tensor((1 << 20, 1 << 20, 16), (0, 0, 1)), "last": tensor((16,), (1,))}))
        ran = self.run_command("x.pt", "--format", "ndjson", "--stats", "max,count,l1norm")
        self.assertEqual(ran.returncode, 3, ran.stderr)
        rows = self.rows(ran)
        self.assertEqual(rows, {"honest": {"max": 15, "count": 65536, "l1norm": 4096 * 120},
                                "scalar": {"max": 0, "count": 1_000_000, "l1norm": 0}, "last": {"max": 15, "count": 16, "l1norm": 120}})
        for name in "huge", "wide":
            self.assertRegex(ran.stderr, f"x.pt::{name}: would be read as [0-9]+ bytes")
        self.assertEqual(len(self.run_command("x.pt", "--head", "--format", "ndjson").stdout.splitlines()), 3)

    def test_many_huge_tensors(self):
        self.archive("x.pt", self.state_dict({f"t{i}": tensor((1 << 40,), (0,)) for i in range(2000)}))
        ran = self.run_command("x.pt")
        self.assertEqual(ran.returncode, 3)
        lines = ran.stderr.splitlines()
        self.assertEqual(len(lines), 101, lines[-3:])
        self.assertIn("and 1900 more errors", lines[-1])

    def test_one_storage_under_many_names(self):
        shared = tensor((16,), (1,)) + b"q\x00"
        self.archive("x.pt", b"\x80\x02](" + shared + b"h\x00" * 3_000_000 + b"e.")
        ran = self.run_command("x.pt")
        self.assertEqual(ran.returncode, 3)
        self.assertIn("names too many tensors for its bytes", ran.stderr)

    def test_views_of_elements_far_apart(self):
        """600 views of two elements each, which lie 16 MB apart. What lies between them is not read, and what a reader keeps
        is freed before its row is written, by one thread and by two."""
        apart = 4_000_000
        content = bytearray(2 * 4 * apart)
        content[:4], content[4 * apart:4 * apart + 4] = struct.pack("<f", 3), struct.pack("<f", 5)
        with zipfile.ZipFile(self.path("x.pt"), "w") as made:
            made.writestr("archive/data.pkl", self.state_dict({f"t{i}": tensor((2,), (apart,), elements=2 * apart) for i in range(600)}))
            made.writestr("archive/data/0", bytes(content))
        for threads in 1, 2:
            ran = self.run_command("x.pt", "--format", "ndjson", "--stats", "max,min", threads=threads)
            self.assertEqual((ran.returncode, ran.stderr), (0, ""))
            rows = self.rows(ran)
            self.assertEqual((len(rows), {(each["max"], each["min"]) for each in rows.values()}), (600, {(5, 3)}))

    def test_many_members_that_are_kept(self):
        """Each of these arrays of Zarr has ten elements in a chunk of 64 MB that packs to 300 kB."""
        packed = zlib.compress(struct.pack("<d", 7) * 10 + bytes(64_000_000 - 80), 1)
        for i in range(30):
            os.makedirs(self.path(f"z/a{i}"))
            with open(self.path(f"z/a{i}/.zarray"), "w") as file:
                json.dump({"zarr_format": 2, "shape": [10], "chunks": [8_000_000], "dtype": "<f8", "compressor": {"id": "zlib", "level": 1},
                           "fill_value": 0, "order": "C", "filters": None}, file)
            with open(self.path(f"z/a{i}/0"), "wb") as file:
                file.write(packed)
        ran = self.run_command("z", "--format", "ndjson", "--stats", "max", "--quiet", threads=2)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        self.assertEqual([each["max"] for each in self.rows(ran).values()], [7] * 30)

    def test_many_small_tensors_in_blocks(self):
        """Each is read by itself, into memory of its own size. When each cleared 32 MiB, these took 100 times the processor
        time of as many tensors without blocks."""
        def gguf_text(word):
            return struct.pack("<Q", len(word)) + word.encode()
        count, times = 300, {}
        block = struct.pack("<e", 0.5) + bytes(range(32)) + bytes(30)
        for kind, length, number in ("F32", 8, 0), ("Q8_0", 32, 8):
            head = b"GGUF" + struct.pack("<IQQ", 3, count, 0)
            head += b"".join(gguf_text(f"t{i}") + struct.pack("<IQIQ", 1, length, number, 64 * i) for i in range(count))
            with open(self.path("x.gguf"), "wb") as file:
                file.write(head + bytes(-len(head) % 32) + block * count)
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            ran = self.run_command("x.gguf", "--format", "ndjson", "--stats", "max")
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            times[kind] = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
            self.assertEqual((ran.returncode, len(ran.stdout.splitlines())), (0, count))
        self.assertEqual({each["max"] for each in self.rows(ran).values()}, {15.5})
        self.assertLess(times["Q8_0"], 25 * times["F32"] + 0.5)

    def test_pickles_of_many_objects(self):
        many = 12 << 20
        bombs = {"tuples": b")" * many, "lists": b"]" * many, "dicts": b"}" * many, "nones": b"N" * many, "marks": b"(" * many,
                 "memo": b"N" + b"\x94" * many, "pairs": b"N" + b"2" * many, "integers": b"K\x01" * (many // 2),
                 "nested": b"N" + b"\x85" * many, "keys": b"N" + b"".join(b"r" + struct.pack("<I", 7 * i + 9) for i in range(many // 5))}
        for name, bomb in bombs.items():
            with self.subTest(name):
                self.archive("x.pt", b"\x80\x04" + bomb + b".")
                ran = self.run_command("x.pt")
                self.assertEqual(ran.returncode, 0 if "holds no tensor" in ran.stderr else 3, ran.stderr)
                self.assertRegex(ran.stderr, "x.pt: (the pickle|holds no tensor|holds objects)", name)

    def test_fields_of_structures(self):
        """Each field reads the records again: 3,000 fields of 9 MB."""
        fields = ",".join(f"('f{i}','|u1')" for i in range(3000))
        records = 3000
        head = f"{{'descr': [{fields}], 'fortran_order': False, 'shape': ({records},)}}\n".encode()
        array = b"\x93NUMPY\x02\x00" + struct.pack("<I", len(head)) + head
        with open(self.path("x.npz"), "wb") as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as made:
            with made.open("x.npy", "w", force_zip64=True) as member:
                member.write(array)
                member.write(bytes(3000 * records))
        ran = self.run_command("x.npz", "--format", "ndjson", "--head")
        self.assertEqual(ran.returncode, 3)
        self.assertIn("would be read as 9000000 bytes", ran.stderr)
        self.assertIn(len(ran.stdout.splitlines()), range(100, 200))

    def test_external_data_named_many_times(self):
        def field(number, payload):
            length = len(payload)
            coded = b""
            while length > 127:
                coded += bytes([length & 127 | 128])
                length >>= 7
            return bytes([number << 3 | 2]) + coded + bytes([length]) + payload

        def entry(key, value):
            return field(13, field(1, key) + field(2, value))

        with open(self.path("data.bin"), "wb") as file:
            file.truncate(1 << 20)
        graph = b""
        for i in range(4000):  # 4 GiB of one MiB, each time under another spelling
            location = b"./" * (i % 50) + b"data.bin"
            graph += field(5, b"\x08\x80\x80\x40\x10\x02" + field(8, b"t%d" % i) + entry(b"location", location) + b"\x70\x01")
        with open(self.path("x.onnx"), "wb") as file:
            file.write(field(7, graph))
        ran = self.run_command("x.onnx", "--format", "ndjson", "--head")
        self.assertEqual(ran.returncode, 3)
        self.assertIn("would be read as 1048576 bytes", ran.stderr)
        self.assertIn(len(ran.stdout.splitlines()), range(1500, 3500))

    def test_a_million_errors(self):
        empty = io.BytesIO()
        with zipfile.ZipFile(empty, "w") as made:
            for i in range(3000):
                made.writestr(f"a{i}.npy", b"")
        with open(self.path("x.npz"), "wb") as file:
            file.write(empty.getvalue())
        with open(self.path("x.onnx"), "wb") as file:
            length = 2 * 50_000
            coded = b""
            while length > 127:
                coded += bytes([length & 127 | 128])
                length >>= 7
            file.write(b"\x3a" + coded + bytes([length]) + b"\x2a\x00" * 50_000)
        for name in "x.npz", "x.onnx":
            ran = self.run_command(name)
            self.assertEqual(ran.returncode, 3)
            self.assertLessEqual(len(ran.stderr.splitlines()), 102)
            self.assertRegex(ran.stderr, "and [0-9]+ more errors|the same for [0-9]+ more tensors")


if __name__ == "__main__":
    unittest.main()
