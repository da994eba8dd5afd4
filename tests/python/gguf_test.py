"""GGUF files are read as ggml defines them: the writer here and the values of the blocks (ggml_blocks.py) are ours alone, by
https://github.com/ggml-org/ggml (docs/gguf.md)."""
import hashlib
import importlib.util
import os
import re
import struct
import subprocess
import sys
import tempfile
import unittest

import numpy
import tensorstat

from ggml_blocks import BLOCKS, BOOKS, grid

STATS = "count,max,min,avg,l2norm,nan-count,argmax,argmin"
PLAIN = {"F32": (0, "float32"), "F16": (1, "float16"), "I8": (24, "int8"), "I16": (25, "int16"), "I32": (26, "int32"),
         "I64": (27, "int64"), "F64": (28, "float64"), "BF16": (30, "bfloat16")}

NOT_IN_PACKAGE = "Q8_K", "Q1_0", "Q2_0"  # gguf-py does not decode them
UNREAD = {"Q8_1": 9}


def text(value):
    return struct.pack("<Q", len(value)) + value.encode()


def gguf(tensors, keys=b"", key_count=0, version=3, alignment=32):
    """tensors: {name: (type, shape with the fastest index last, bytes)}"""
    head = b"GGUF" + struct.pack("<IQQ", version, len(tensors), key_count) + keys
    data = b""
    for name, (number, shape, content) in tensors.items():
        head += text(name) + struct.pack("<I", len(shape)) + b"".join(struct.pack("<Q", d) for d in reversed(shape))
        head += struct.pack("<IQ", number, len(data))
        data += content + bytes(-len(content) % alignment)
    return head + bytes(-len(head) % alignment) + data


KEYS = (text("general.architecture") + struct.pack("<I", 8) + text("llama") +
        text("tokenizer.ggml.tokens") + struct.pack("<IIQ", 9, 8, 3) + text("a") + text("") + text("b" * 40_000) +
        text("some.flags") + struct.pack("<IIQ", 9, 7, 5) + bytes(5) +
        text("nested") + struct.pack("<IIQ", 9, 9, 2) + struct.pack("<IQ", 0, 3) + bytes(3) + struct.pack("<IQ", 12, 1) + bytes(8))


class Gguf(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.random = numpy.random.default_rng(7)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, content):
        with open(self.path(name), "wb") as file:
            file.write(content)
        return self.path(name)

    def blocks(self, name, count, is_wild):
        number, _, size, halves, values = BLOCKS[name]
        blocks = self.random.integers(0, 256, (count, size), dtype=numpy.uint8)
        for offset in () if is_wild else halves:  # else NaN and Inf are among the scales
            blocks[:, offset:offset + 2] = (self.random.standard_normal((count, 1)) / 64).astype("<f2").view(numpy.uint8)
        with numpy.errstate(all="ignore"):
            return blocks, values(blocks).astype(numpy.float32)

    def run_command(self, *arguments):
        return subprocess.run([os.environ["COMMAND"], *arguments], capture_output=True, text=True, cwd=self.folder)

    def test_blocks_are_the_values_that_they_stand_for(self):
        for is_wild in False, True:
            tensors, expected = {}, {}
            for name, (number, each, size, _, _) in BLOCKS.items():
                blocks, values = self.blocks(name, 24, is_wild)
                shape = 2, 3, 4 * each
                tensors[f"blk.0.{name}"] = number, shape, blocks.tobytes()
                expected[f"blk.0.{name}"] = values.reshape(shape)
            path = self.write("x.gguf", gguf(tensors, KEYS, 4))
            rows = tensorstat.read(path, STATS + ",md5")
            self.assertEqual(list(rows), list(expected))
            for tensor, row in rows.items():
                self.assertEqual(row.md5, hashlib.md5(tensors[tensor][2]).hexdigest())
                self.assertEqual((row.dtype, row.shape), (tensor[6:], expected[tensor].shape))
                of_values = tensorstat.measure(expected[tensor], STATS)
                for statistic in STATS.split(","):
                    self.assertEqual(str(row[statistic.replace("-", " ")]), str(of_values[statistic.replace("-", " ")]), tensor)
            # Element beside element: nothing differs.
            numpy.savez(self.path("x.npz"), **expected)
            same = self.run_command("diff", "x.gguf", "x.npz", "--any-dtype", "--rtol", "0", "--format", "csv",
                                    "--all")
            self.assertEqual(same.returncode, 0, same.stdout + same.stderr)
            self.assertGreater(len(same.stdout), 500)

    def test_the_code_books_are_ggml_s(self):
        for name, digest in BOOKS.items():
            self.assertEqual(hashlib.md5(grid(name).astype("<u2").tobytes()).hexdigest(), digest, name)

    @unittest.skipUnless(os.environ.get("GGUF_JUDGE") or importlib.util.find_spec("gguf"),
                         "the package gguf is not installed, and GGUF_JUDGE names no folder gguf-py of llama.cpp's sources")
    def test_the_package_gguf_agrees(self):
        """A file that llama.cpp's own package writes has the values, shapes and bytes that its reader and decoders give."""
        if os.environ.get("GGUF_JUDGE"):
            sys.path.insert(0, os.environ["GGUF_JUDGE"])
        import gguf as package  # pylint: disable=import-outside-toplevel,import-error
        for is_wild in False, True:
            writer = package.GGUFWriter(self.path("x.gguf"), "llama")
            writer.add_array("tokenizer.ggml.tokens", ["a", "", "\u00f6" * 1000])
            for name in (each for each in BLOCKS if each not in NOT_IN_PACKAGE):
                blocks, _ = self.blocks(name, 2000, is_wild)
                writer.add_tensor(f"blk.0.{name}", blocks.reshape(20, -1), raw_dtype=package.GGMLQuantizationType[name])
            for name, (_, dtype) in PLAIN.items():
                if name != "BF16":
                    writer.add_tensor(name, (self.random.standard_normal((3, 5, 2)) * 50).astype(dtype))
            writer.write_header_to_file()
            writer.write_kv_data_to_file()
            writer.write_tensors_to_file()
            writer.close()
            theirs, rows = {}, tensorstat.read(self.path("x.gguf"), "md5")
            with numpy.errstate(all="ignore"):
                for tensor in package.GGUFReader(self.path("x.gguf")).tensors:
                    values = package.dequantize(tensor.data, tensor.tensor_type) if tensor.name.startswith("blk") else tensor.data
                    theirs[tensor.name] = values.reshape(tensor.shape[::-1].astype(int))
                    self.assertEqual(rows[tensor.name].md5, hashlib.md5(tensor.data.tobytes()).hexdigest())
                    self.assertEqual(rows[tensor.name].shape, theirs[tensor.name].shape)
            self.assertEqual(list(rows), list(theirs))
            numpy.savez(self.path("x.npz"), **theirs)
            same = self.run_command("diff", "x.gguf", "x.npz", "--any-dtype", "--rtol", "0", "--format", "csv", "--all")
            self.assertEqual(same.returncode, 0, same.stdout + same.stderr)
            self.assertEqual(len(same.stdout.splitlines()), 1 + len(theirs))

    def test_plain_types(self):
        values = self.random.standard_normal((3, 5, 2)) * 50
        tensors = {}
        for name, (number, dtype) in PLAIN.items():
            array = values.astype(numpy.float32).view(numpy.uint32) >> 16 if name == "BF16" else values.astype(dtype)
            array = array.astype(numpy.uint16) if name == "BF16" else array
            tensors[name] = number, array.shape, array.tobytes()
        for version in 2, 3:
            rows = tensorstat.read(self.write("x.gguf", gguf(tensors, version=version)), STATS + ",md5")
            for tensor, row in rows.items():
                self.assertEqual((row.dtype, row.shape), (PLAIN[tensor][1], (3, 5, 2)))
                self.assertEqual(row.md5, hashlib.md5(tensors[tensor][2]).hexdigest())
                if tensor != "BF16":
                    array = numpy.frombuffer(tensors[tensor][2], PLAIN[tensor][1])
                    self.assertEqual((row.max, row.argmax), (array.max(), array.argmax()))

    def test_alignment(self):
        for alignment in 8, 64, 4096:
            keys = text("general.alignment") + struct.pack("<II", 4, alignment)
            tensors = {"a": (24, (3,), b"\1\2\3"), "b": (24, (2,), b"\5\7"), "empty": (0, (0, 4), b"")}
            rows = tensorstat.read(self.write("x.gguf", gguf(tensors, keys, 1, alignment=alignment)), "max,count")
            self.assertEqual([(row.max, row.count) for row in rows.values()][:2], [(3, 3), (7, 2)])
            self.assertEqual(rows["empty"].count, 0)

    def test_types_that_are_not_read_are_named_and_the_others_read(self):
        tensors = {name: (number, (256,), bytes(300)) for name, number in UNREAD.items()}
        tensors |= {"of the future": (777, (256,), b""), "a": (0, (1,), struct.pack("<f", 2))}
        ran = self.run_command(self.write("x.gguf", gguf(tensors)), "--format", "csv", "--on", "host")
        for name in UNREAD:
            self.assertIn(f"x.gguf::{name}: has the type {name}, which is not read", ran.stderr)
        self.assertIn("of the future: has the unknown type 777", ran.stderr)
        self.assertEqual(len(ran.stdout.splitlines()), 2)

    def test_one_thread_and_two_say_the_same(self):
        number, each, _, _, _ = BLOCKS["Q5_K"]
        blocks, values = self.blocks("Q5_K", 40_000, False)
        path = self.write("x.gguf", gguf({"a": (number, (100, 400 * each), blocks.tobytes())}))
        expected = tensorstat.measure(values, "max,argmax,l2norm,std,p50")
        for threads in "1", "2":
            ran = self.run_command(path, "--stats", "max,argmax,l2norm,std,p50", "--format", "json", "--on", "host",
                                   "--threads", threads)
            self.assertIn(f'"l2norm":{expected.l2norm!r}', ran.stdout)
            self.assertIn(f'"std":{expected.std!r}', ran.stdout)
            self.assertIn(f'"argmax":{expected.argmax}', ran.stdout)

    def test_tensors_that_share_bytes_are_refused(self):
        """llama.cpp refuses such a file. Tensors that share nothing are read."""
        def entry(name, count, offset):
            return text(name) + struct.pack("<IQIQ", 1, count, 0, offset)
        places = {"a": (16, 0), "inside": (2, 8), "b": (8, 64), "same": (8, 64), "next": (4, 96), "empty": (0, 70), "long": (8, 112), "end": (4, 128)}
        head = b"GGUF" + struct.pack("<IQQ", 3, len(places), 0) + b"".join(entry(name, *place) for name, place in places.items())
        path = self.write("x.gguf", head + bytes(-len(head) % 32) + bytes(range(0, 144)))
        ran = self.run_command(path, "--format", "csv", "--on", "host", "--stats", "count")
        for name, other in ("a", "inside"), ("inside", "a"), ("b", "same"), ("same", "b"), ("long", "end"), ("end", "long"):
            self.assertIn(f"x.gguf::{name}: shares bytes with '{other}': the file is damaged", ran.stderr)
        self.assertEqual((ran.returncode, len(ran.stdout.splitlines())), (3, 3), ran.stdout)

    def test_what_is_not_read_is_told(self):
        whole = gguf({"a": (0, (8,), bytes(32))})
        for content, words in (
                (whole[:4] + struct.pack("<I", 1) + whole[8:], "is a GGUF file of version 1, which is not read"),
                (whole[:4] + struct.pack("<I", 4) + whole[8:], "is a GGUF file of version 4, which is not read"),
                (whole[:4] + struct.pack(">I", 3) + whole[8:], "is a GGUF file in big-endian order"),
                (b"FUGG" + whole[4:], "is a GGUF file in big-endian order"),
                (whole[:-1], "needs 32 bytes at 0, and the file has 31"),
                (gguf({"a": (2, (33,), bytes(36))}), "shape (33) of Q4_0 does not end with a block of 32"),
                (gguf({"a": (2, (), bytes(36))}), "is a scalar of Q4_0"),
                (gguf({"a": (0, (1,) * 5, bytes(4))}), "has 5 dimensions"),
                (gguf({"a": (0, (1 << 62, 8), bytes(4))}), "a: "),
                (b"GGUF" + struct.pack("<IQQ", 3, 1 << 60, 0), "is damaged at its byte 24"),
                (b"GGUF" + struct.pack("<IQQ", 3, 0, 1 << 60), "is damaged at its byte 24"),
                (gguf({}, text("x") + struct.pack("<IIQ", 9, 0, 1 << 62), 1), "is damaged at its byte"),
                (gguf({}, text("x") + struct.pack("<IIQ", 9, 10, 1 << 62), 1), "an array of more than 2^64 bytes"),
                (gguf({}, text("x") + struct.pack("<I", 13), 1), "a value of the unknown type 13"),
                (gguf({}, text("x") + struct.pack("<I", 9) + struct.pack("<IQ", 9, 1) * 9, 1), "nested too deep"),
                (gguf({}, text("general.alignment") + struct.pack("<II", 4, 24), 1), "no power of two"),
                (gguf({}, text("general.alignment") + struct.pack("<I", 8) + text("x"), 1), "no power of two"),
                (b"GGUF" + struct.pack("<IQQ", 3, 2, 0) + (text("a") + struct.pack("<IIQ", 0, 0, 0)) * 2, "'a' twice")):
            with self.subTest(words):
                with self.assertRaisesRegex(tensorstat.Error, re.escape(words)):
                    tensorstat.read(self.write("x.gguf", content))
        for end in range(len(whole)):
            with self.assertRaises(tensorstat.Error):
                tensorstat.read(self.write("x.gguf", whole[:end]))


if __name__ == "__main__":
    unittest.main()
