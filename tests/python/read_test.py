"""read() gives what is in a file: tensors of every format, measured, and rows of every dialect. Against NumPy, and a
safetensors writer of our own."""
import importlib.util
import json
import os
import struct
import tempfile
import unittest

import numpy
import tensorstat


def write_safetensors(path, arrays):
    """https://github.com/huggingface/safetensors#format: the header's size, the header, the bytes."""
    names = {"float32": "F32", "int64": "I64", "bool": "BOOL", "complex64": "C64"}
    header, offset = {}, 0
    for name, array in arrays.items():
        header[name] = {"dtype": names[str(array.dtype)], "shape": array.shape, "data_offsets": [offset, offset + array.nbytes]}
        offset += array.nbytes
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(array.tobytes() for array in arrays.values()))


class Read(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        random = numpy.random.default_rng(5)
        self.arrays = {"layer.0/weight": random.standard_normal((3, 4)).astype(numpy.float32),
                       "steps": numpy.arange(6, dtype=numpy.int64), "mask": numpy.array([True, False])}

    def path(self, name):
        return os.path.join(self.folder, name)

    def test_one_tensor(self):
        numpy.save(self.path("x.npy"), self.arrays["layer.0/weight"].T)
        read = tensorstat.read(self.path("x.npy"), "max,avg,md5")
        self.assertEqual(read, tensorstat.measure(numpy.ascontiguousarray(self.arrays["layer.0/weight"].T), "max,avg,md5"))
        self.assertEqual((read.dtype, read.shape), ("float32", (4, 3)))

    def test_containers(self):
        numpy.savez(self.path("x.npz"), **self.arrays)
        numpy.savez_compressed(self.path("y.npz"), **self.arrays)
        write_safetensors(self.path("z.safetensors"), self.arrays)
        for name in ("x.npz", "y.npz", "z.safetensors"):
            with self.subTest(file=name):
                read = tensorstat.read(self.path(name))
                self.assertEqual(list(read), list(self.arrays))
                for tensor, array in self.arrays.items():
                    self.assertEqual(read[tensor], tensorstat.measure(array))
                    self.assertEqual((read[tensor].dtype, read[tensor].shape), (str(array.dtype), array.shape))

    def test_several_arrays_and_structures(self):
        structure = numpy.zeros(3, [("x", "f4"), ("y", "i2", (2,))])
        structure["x"] = 1, 2, numpy.nan
        with open(self.path("x.npy"), "wb") as file:
            for array in (numpy.ones(4), structure):
                numpy.save(file, array)
        read = tensorstat.read(self.path("x.npy"))
        self.assertEqual(list(read), ["0", "1::x", "1::y"])
        for name, array in (("0", numpy.ones(4)), ("1::x", structure["x"].copy()), ("1::y", structure["y"].copy())):
            self.assertEqual(read[name], tensorstat.measure(array))

    def test_a_tensor_that_cannot_be_measured(self):
        numpy.savez(self.path("x.npz"), good=numpy.ones(3), bad=numpy.ones(3, "U1"))
        with self.assertRaisesRegex(tensorstat.Error, "bad.*holds texts"):
            tensorstat.read(self.path("x.npz"))
        with self.assertLogs("tensorstat", "WARNING") as log:
            self.assertEqual(tensorstat.read(self.path("x.npz"), skip_faults=True)["good"].l2norm, 3 ** 0.5)
        self.assertRegex(log.output[0], "bad.*holds texts")

    def test_rows_of_every_dialect(self):
        arrays = [numpy.array([[1.5, -2.0], [numpy.nan, 0.0]], numpy.float32), numpy.arange(5, dtype=numpy.int16)]
        config = {"common_dump_settings": {
            "dump_mode": 0, "path": self.folder, "net_name": "Net", "iteration": "all", "input_output": 0, "kernels": [],
            "support_device": [0], "op_debug_mode": 0, "saved_data": "statistic",
            "statistic_category": ["max", "min", "avg", "l2norm", "nan count"]},
            "e2e_dump_settings": {"enable": True, "trans_flag": True}}
        for dialect in ("ours", "mindspore-2.7", "mindspore-next"):
            with self.subTest(dialect=dialect):
                folder = self.path(dialect)
                with tensorstat.DumpSession(json.dumps(config), path=folder, dialect=dialect) as session:
                    session.collect("Add", "Default/Add-op1", inputs=arrays, iteration=4)
                    self.assertIs(session.step_end(iteration=4), True)
                rows = tensorstat.read(f"{folder}/rank_0/Net/0/4/statistic.csv")
                self.assertEqual([(row["op type"], row["io"], row["slot"], row["data type"], row["shape"]) for row in rows],
                                 [("Add", "input", 0, "float32", (2, 2)), ("Add", "input", 1, "int16", (5,))])
                self.assertEqual([row["nan count"] for row in rows], [1, 0])
                self.assertTrue(numpy.isnan(rows[0]["max"]))
                self.assertEqual((rows[1]["max"], rows[1]["min"], rows[1]["avg"]), (4, 0, 2.0))
                self.assertAlmostEqual(rows[1]["l2norm"], 30 ** 0.5, 4)

    def test_a_folder(self):
        config = {"common_dump_settings": {
            "dump_mode": 0, "path": self.folder, "net_name": "Net", "iteration": "all", "input_output": 0, "kernels": [],
            "support_device": [0, 1], "op_debug_mode": 0, "saved_data": "statistic"},
            "e2e_dump_settings": {"enable": True, "trans_flag": True}}
        with tensorstat.DumpSession(json.dumps(config)) as session:
            for rank in 1, 0:
                for step in 2, 10:
                    session.collect("Add", "Default/Add-op1", inputs=[numpy.full(3, step)], rank=rank, iteration=step)
                    session.step_end(rank=rank, iteration=step)
        rows = tensorstat.read(self.folder)
        self.assertEqual([(row["rank"], row["graph"], row["iteration"], row["max"]) for row in rows],
                         [(0, 0, 2, 2), (0, 0, 10, 10), (1, 0, 2, 2), (1, 0, 10, 10)])
        self.assertEqual(rows[3]["path"], self.path("rank_1/Net/0/10/statistic.csv"))
        with open(self.path("rank_0/Net/0/2/statistic.csv"), "a") as file:
            file.write("no row\n")
        with self.assertRaisesRegex(tensorstat.Error, "rank_0/Net/0/2/statistic.csv"):
            tensorstat.read(self.folder)
        with self.assertLogs("tensorstat", "WARNING"):
            self.assertEqual(len(tensorstat.read(self.folder, skip_faults=True)), 4)
        os.makedirs(self.path("empty"))
        with self.assertRaisesRegex(tensorstat.Error, "holds no statistic.csv"):
            tensorstat.read(self.path("empty"))

    def test_rows_of_msprobe(self):
        config = {"task": "statistics", "dump_path": self.folder, "level": "L1", "statistics": {"summary_mode": "md5"}}
        with tensorstat.DumpSession(json.dumps(config), framework="pytorch") as session:
            session.collect("relu", "Functional.relu.0.forward", inputs=[numpy.array([-1.0, 2.5], numpy.float32)])
        rows = tensorstat.read(self.path("step0/rank0/dump.json"))
        self.assertEqual([(row["op name"], row["tensor"], row["max"], row["min"], row["crc32"], row["requires_grad"]) for row in rows],
                         [("Functional.relu.0.forward", "Functional.relu.0.forward.input.0", 2.5, -1.0, "0a5d3146", "False")])

    def test_what_is_refused(self):
        with open(self.path("bad.csv"), "w") as file:
            file.write("Op Type,Op Name\n")
        with open(self.path("bad.npz"), "wb") as file:
            file.write(b"PK\x03\x04 and no more")
        for name, words in (("bad.csv", "bad.csv"), ("bad.npz", "bad.npz"), ("absent.npy", "absent.npy")):
            with self.subTest(file=name), self.assertRaisesRegex(tensorstat.Error, words) as refused:
                tensorstat.read(self.path(name))
            self.assertEqual(refused.exception.code, "unreadable")

    @unittest.skipUnless(importlib.util.find_spec("pandas"), "pandas is not installed")
    def test_frames(self):
        numpy.savez(self.path("x.npz"), **self.arrays)
        frame = tensorstat.to_pandas(tensorstat.read(self.path("x.npz")))
        self.assertEqual(list(frame.index), list(self.arrays))
        self.assertEqual(frame.loc["steps", "max"], 5)
        self.assertEqual(tensorstat.measure(self.arrays["steps"]).to_pandas()["l2norm"], 55 ** 0.5)
        one = tensorstat.to_pandas(tensorstat.measure(self.arrays["steps"], "max,count"))
        self.assertEqual((one.shape, list(one.columns)), ((1, 4), ["dtype", "shape", "max", "count"]))
        self.assertEqual((one.loc[0, "shape"], one.loc[0, "max"]), ((6,), 5))


if __name__ == "__main__":
    unittest.main()
