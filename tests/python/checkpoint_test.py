"""MindSpore's checkpoints, encoded by protoc, are read; .ckpt files of Lightning are told apart."""
import hashlib
import json
import os
import random
import re
import shutil
import subprocess
import tempfile
import unittest
import zlib

import numpy
import tensorstat

STATS = "count,max,min,l2norm,argmax,md5"
PROTO = os.path.join(os.path.dirname(os.path.abspath(__file__)), "checkpoint.proto")
DTYPES = {"Float32": "f4", "Float16": "f2", "Float64": "f8", "Int8": "i1", "Int16": "i2", "Int32": "i4", "Int64": "i8",
          "UInt8": "u1", "UInt16": "u2", "UInt32": "u4", "UInt64": "u8", "Bool": "?", "Complex64": "c8", "Complex128": "c16"}


def value(tag, dims, tensor_type, content):
    """A Value in protoc's text format."""
    text = "".join(f"\\{byte:03o}" for byte in content)
    return (f'value {{ tag: "{tag}" tensor {{ {" ".join(f"dims: {d}" for d in dims)} tensor_type: "{tensor_type}" '
            f'tensor_content: "{text}" }} }}\n')


def encoded(text):
    return subprocess.run(["protoc", "--encode=Checkpoint", f"-I{os.path.dirname(PROTO)}", PROTO], input=text.encode(),
                          capture_output=True, check=True).stdout


@unittest.skipIf(shutil.which("protoc") is None, "protoc is not installed")
class Checkpoint(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, content):
        with open(self.path(name), "wb") as file:
            file.write(content)
        return self.path(name)

    def arrays(self):
        draw = numpy.random.default_rng(3)
        return {f"layer.{name}.weight": (name, (draw.standard_normal((3, 4)) * 50).astype(dtype))
                for name, dtype in DTYPES.items()}

    def check(self, row, array, where):
        self.assertEqual((row.shape, row.md5), (array.shape, hashlib.md5(array.tobytes()).hexdigest()), where)
        if array.dtype.kind != "c" and array.size:
            self.assertEqual((row.max, row.min, row.argmax), (array.max(), array.min(), array.argmax()), where)

    def test_every_type(self):
        arrays = self.arrays()
        text = "".join(value(tag, array.shape, name, array.tobytes()) for tag, (name, array) in arrays.items())
        rows = tensorstat.read(self.write("x.ckpt", encoded(text)), STATS)
        self.assertEqual(list(rows), list(arrays))
        for tag, (_, array) in arrays.items():
            self.check(rows[tag], array, tag)

    def test_bfloat16(self):
        bits = numpy.array([0x3f80, 0xc000, 0x7f80, 0], "<u2")  # 1, -2, Inf, 0
        row = tensorstat.read(self.write("x.ckpt", encoded(value("a", (2, 2), "BFloat16", bits.tobytes()))), STATS)["a"]
        self.assertEqual((row.dtype, row.shape, row.max, row.min), ("bfloat16", (2, 2), float("inf"), -2))
        self.assertEqual(row.md5, hashlib.md5(bits.tobytes()).hexdigest())

    def test_chunks_of_one_parameter(self):
        """Cut between any two bytes, as numpy.array_split and slices of bytes cut them."""
        array = numpy.random.default_rng(5).standard_normal((7, 9)).astype("f4")
        content, draw = array.tobytes(), random.Random(8)
        for _ in range(10):
            cuts = [0] + sorted(draw.choices(range(len(content) + 1), k=draw.randint(1, 6))) + [len(content)]
            text = value("before", (1,), "Int8", b"\1")
            text += "".join(value("x", array.shape, "Float32", content[a:b]) for a, b in zip(cuts, cuts[1:]))
            rows = tensorstat.read(self.write("x.ckpt", encoded(text + value("behind", (1,), "Int8", b"\2"))), STATS)
            self.assertEqual(list(rows), ["before", "x", "behind"])
            self.check(rows["x"], array, cuts)

    def test_a_scalar_has_the_dimension_zero(self):
        text = value("step", (0,), "Int32", b"\5\0\0\0") + value("none", (0,), "Float32", b"") + value("s", (), "Int8", b"\3")
        rows = tensorstat.read(self.write("x.ckpt", encoded(text)), STATS)
        self.assertEqual([(row.shape, row.count) for row in rows.values()], [((), 1), ((0,), 0), ((), 1)])
        self.assertEqual(rows["step"].max, 5)

    def test_a_checksum_behind_it_is_passed_over(self):
        whole = encoded(value("a", (1,), "Int8", b"\7"))
        whole += b"crc_num" + zlib.crc32(whole).to_bytes(10, "big")
        self.assertEqual(tensorstat.read(self.write("x.ckpt", whole), STATS)["a"].max, 7)

    def test_what_is_not_read_is_named_and_the_rest_is_read(self):
        text = (value("a", (1,), "Int8", b"\1") + value("note", (3,), "str", b"abc") + value("q", (2,), "Int4", b"\1\2") +
                value("short", (3,), "Float32", bytes(8)) + value("random_op", (), "random_op", b"seed") +
                2 * value("table", (1,), "Int8", b"\3").replace("tensor {", "maptensor { tensor {").replace(" } }\n", " } } }\n") +
                value("b", (1,), "Int8", b"\2"))
        with self.assertLogs("tensorstat", "WARNING") as log:
            rows = tensorstat.read(self.write("x.ckpt", encoded(text)), STATS, skip_faults=True)
        self.assertEqual(list(rows), ["a", "b"])
        for words in ("note: is a text", "q: has the type 'Int4', which is not read",
                      "table: is a map parameter, which is not read", "random_op: has the type 'random_op', which is not read",
                      "short: shape (3) of Float32 needs 12 bytes, and it has 8"):
            self.assertIn(words, " ".join(log.output))

    def test_what_contradicts_itself_is_an_error(self):
        a, b = value("a", (1,), "Int8", b"\1"), value("b", (1,), "Int8", b"\2")
        for content, words in (
                (encoded(a + b + a), "the parameter 'a' comes again"),
                (encoded(a + value("a", (2,), "Int8", b"\1")), "the chunks of 'a' differ in shape or type"),
                (b"\x12\1a", "a field that no checkpoint has"),
                (b"\x0a\3\x0a\1a", "a parameter without a tag or content"),
                (b"not a checkpoint", "is a text, and no file of tensors"),
                (b"\x0a\x7f\x0a", "is damaged at its byte")):
            with self.assertRaisesRegex(tensorstat.Error, re.escape(words)):
                tensorstat.read(self.write("x.ckpt", content), STATS)

    def test_a_folder_and_shards(self):
        self.write("a-00001-of-00002.ckpt", encoded(value("a", (1,), "Int8", b"\1")))
        self.write("a-00002-of-00002.ckpt", encoded(value("b", (1,), "Int8", b"\2")))
        with open(self.path("a.ckpt.index.json"), "w") as file:
            json.dump({"weight_map": {"a": "a-00001-of-00002.ckpt", "b": "a-00002-of-00002.ckpt"}}, file)
        self.assertEqual(list(tensorstat.read(self.path("a.ckpt.index.json"))), ["a", "b"])
        ran = subprocess.run([os.environ["COMMAND"], ".", "--format", "ndjson", "--on", "host"], cwd=self.folder,
                             capture_output=True, text=True)
        self.assertEqual((ran.returncode, ran.stderr, len(ran.stdout.splitlines())), (0, "", 2))

    def test_lightning_is_told_apart(self):
        try:
            import torch
        except ImportError:
            self.skipTest("torch is not installed")
        model = torch.nn.Linear(2, 1)
        optimizer = torch.optim.Adam(model.parameters())
        model(torch.ones(3, 2)).sum().backward()
        optimizer.step()
        # The keys that Lightning's Trainer.save_checkpoint writes.
        torch.save({"epoch": 1, "global_step": 2, "pytorch-lightning_version": "2.0.0", "state_dict": model.state_dict(),
                    "loops": {"fit_loop": {"state_dict": {}}}, "callbacks": {}, "optimizer_states": [optimizer.state_dict()],
                    "lr_schedulers": [], "hparams_name": "kwargs", "hyper_parameters": {"lr": 0.1}}, self.path("x.ckpt"))
        rows = tensorstat.read(self.path("x.ckpt"), STATS)
        self.assertEqual(set(rows), {"state_dict.weight", "state_dict.bias"} | {
            f"optimizer_states.0.state.{i}.{key}" for i in (0, 1) for key in ("step", "exp_avg", "exp_avg_sq")})
        expected = optimizer.state_dict()["state"][0]["exp_avg"]
        self.check(rows["optimizer_states.0.state.0.exp_avg"], expected.numpy(), "exp_avg")


if __name__ == "__main__":
    unittest.main()
