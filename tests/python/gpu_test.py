"""Objects that hold tensors in a GPU's memory, by DLPack or as torch does, are measured, compared and dumped with the values of
the host's arrays, behind the streams that DLPack and torch name. No GPU: the driver is tests/device/fake_gpu.cpp."""
import csv
import ctypes
import gc
import glob
import itertools
import json
import os
import sys
import tempfile
import types
import unittest

import numpy
import tensorstat

STATS = "max,min,avg,l2norm,count,argmax,md5"
WINDOW = 8 << 20
CUDA, ROCM, MANAGED, PINNED = 2, 10, 13, 3  # DLDeviceType
new_pointer = ctypes.pythonapi.PyCapsule_GetPointer
new_pointer.restype, new_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


class Driver:
    def __init__(self, file):
        self.library = ctypes.CDLL(file)
        for name, result, arguments in (
                ("allocate", ctypes.c_uint64, [ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]),
                ("stream", ctypes.c_void_p, [ctypes.c_int, ctypes.c_int]),
                ("write", None, [ctypes.c_int, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_void_p, ctypes.c_size_t]),
                ("capture", None, [ctypes.c_void_p, ctypes.c_int]), ("fail", None, [ctypes.c_long, ctypes.c_int]),
                ("held", ctypes.c_long, []), ("calls", ctypes.c_long, []), ("largest_copy", ctypes.c_size_t, [])):
            function = getattr(self.library, "fake_gpu_" + name)
            function.restype, function.argtypes = result, arguments
            setattr(self, name, function)

    def put(self, array, device=0):
        return self.allocate(device, array.ctypes.data, max(array.nbytes, 1), 0)


def drivers():
    return {CUDA: Driver(os.environ["FAKE_CUDA_MEMORY"]), ROCM: Driver(os.environ["FAKE_ROCM_MEMORY"])}


class Exported:
    """An array on a GPU, as CuPy's: all but __dlpack__ and __dlpack_device__ is hidden."""

    def __init__(self, driver, array, kind=CUDA):
        self.array, self.kind, self.streams = array, kind, []
        base = array if array.base is None else array.base
        self.pointer = driver.put(base) + array.ctypes.data - base.ctypes.data

    def __dlpack_device__(self):
        return (self.kind, 0)

    def __dlpack__(self, stream=None):
        self.streams.append(stream)
        capsule = self.array.__dlpack__()
        tensor = new_pointer(capsule, b"dltensor")
        ctypes.c_void_p.from_address(tensor).value = self.pointer if self.kind != PINNED else self.array.ctypes.data
        ctypes.c_int32.from_address(tensor + 8).value = self.kind
        return capsule


class Device:
    def __init__(self, index):
        self.type, self.index = "cuda", index

    def __str__(self):
        return f"cuda:{self.index}"


class FakeTensor:
    """The attributes of a torch.Tensor on a GPU that the extension reads. PyTorch of this machine has no GPU."""
    is_cpu, layout, requires_grad = False, "torch.strided", False

    def __init__(self, driver, array, kind=CUDA, index=0):
        self.driver, self.array, self.kind, self.device = driver, array, kind, Device(index)
        self.dtype, self.shape = f"torch.{array.dtype}", array.shape
        self.copies = []
        self.pointer = driver.put(numpy.ascontiguousarray(array), index)

    def __dlpack_device__(self):
        return (self.kind, self.device.index)

    def is_neg(self):
        return False

    def is_contiguous(self):
        return self.array.flags.c_contiguous

    def contiguous(self):
        self.copies.append(FakeTensor(self.driver, numpy.ascontiguousarray(self.array), self.kind, self.device.index))
        return self.copies[-1]

    def data_ptr(self):
        return self.pointer


class Gpu(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        x = numpy.ones(4, "f4")
        with open("/proc/self/maps") as maps:
            assert "fake_cuda" not in maps.read()
        tensorstat.measure(x)
        try:
            tensorstat.measure(Exported(types.SimpleNamespace(put=lambda array: 4096), x))
        except tensorstat.Error as refused:
            cls.without_driver = refused
        cls.drivers = drivers()

    def setUp(self):
        self.random = numpy.random.default_rng(20261125)

    def test_without_a_driver_it_is_refused_in_words(self):
        self.assertEqual(self.without_driver.code, "device")
        self.assertIn("nothing in this process has loaded CUDA's driver", str(self.without_driver))

    def test_dlpack_in_every_size_and_dtype(self):
        sizes = [0, 1, 1000, WINDOW // 8 - 1, WINDOW // 8, WINDOW // 8 + 1]
        for kind, dtype, size in itertools.product((CUDA, MANAGED, ROCM), ("f8", "f4", "i2", "c8"), sizes):
            if dtype != "f8" and size > 1000:
                continue
            with self.subTest(kind=kind, dtype=dtype, size=size):
                x = self.random.standard_normal(size).astype(dtype)
                stats = "l2norm,count" if dtype == "c8" else "max,avg,argmax" if size > 1000 else STATS
                there = Exported(self.drivers[ROCM if kind == ROCM else CUDA], x, kind)
                self.assertEqual(tensorstat.measure(there, stats), tensorstat.measure(x, stats))
                self.assertEqual(there.streams, [0 if kind == ROCM else 1])  # the default stream
        self.assertEqual(self.drivers[CUDA].largest_copy(), WINDOW)

    def test_what_is_not_read(self):
        x = self.random.standard_normal((6, 8))
        with self.assertRaisesRegex(tensorstat.Error, "in device memory is strided; make it contiguous first"):
            tensorstat.measure(Exported(self.drivers[CUDA], x.T))
        with self.assertRaisesRegex(tensorstat.Error, "the device cannot do it: libnvidia-opencl.so.1, which has the compiler"):
            tensorstat.measure(Exported(self.drivers[CUDA], x), on="device")
        with self.assertRaisesRegex(tensorstat.Error, "device type 8 "):
            tensorstat.measure(Exported(self.drivers[CUDA], x, 8))
        stream = tensorstat.stream("float64")
        with self.assertRaisesRegex(tensorstat.Error, "a piece of a stream lies in host memory"):
            stream.append(Exported(self.drivers[CUDA], x))

    def test_pinned_memory_is_read_in_place(self):
        x, calls = self.random.standard_normal(1000), self.drivers[CUDA].calls()
        self.assertEqual(tensorstat.measure(Exported(self.drivers[CUDA], x, PINNED), STATS), tensorstat.measure(x, STATS))
        self.assertEqual(self.drivers[CUDA].calls(), calls)

    def test_everything_that_takes_a_tensor(self):
        x, y = self.random.standard_normal((20, 30)), self.random.standard_normal((20, 30))
        on_gpu = [Exported(self.drivers[CUDA], each) for each in (x, y)]
        self.assertEqual(tensorstat.measure({"x": on_gpu[0], "y": y}, STATS), tensorstat.measure({"x": x, "y": y}, STATS))
        self.assertEqual(tensorstat.measure_by(on_gpu[0], 0, "max"), tensorstat.measure_by(x, 0, "max"))
        self.assertEqual(tensorstat.fold(on_gpu[0], "max,avg").finish(), tensorstat.measure(x, "max,avg"))
        for a, b in ((0, 1), (0, y), (x, 1)):
            a, b = (on_gpu[each] if isinstance(each, int) else each for each in (a, b))
            self.assertEqual(tensorstat.compare(a, b), tensorstat.compare(x, y))
        reasons = tensorstat.Meter().explain(on_gpu[0], "max")
        self.assertEqual(reasons["max"][0], "host")
        self.assertRegex(reasons["max"][1], "^in CUDA memory, which the host reads in windows: libnvidia-opencl.so.1, ")

    def with_torch(self, stream_of):
        """Modules in torch's place; `stream_of` has the current stream of each device."""
        module = types.ModuleType("torch.cuda")
        module.current_stream = lambda device: types.SimpleNamespace(cuda_stream=stream_of[device.index] or 0)
        torch = types.ModuleType("torch")
        torch.cuda, torch.Tensor = module, FakeTensor
        for name, each in (("torch", torch), ("torch.cuda", module)):
            before = sys.modules.get(name)
            sys.modules[name] = each
            self.addCleanup(lambda name=name, before=before: sys.modules.pop(name) if before is None else
                            sys.modules.update({name: before}))

    def test_torch_is_read_behind_its_current_stream(self):
        for kind, driver in self.drivers.items():
            for index, blocking in itertools.product((0, 1), (0, 1, None)):
                with self.subTest(kind=kind, index=index, blocking=blocking):
                    stream = None if blocking is None else driver.stream(index, blocking)
                    self.with_torch({index: stream})
                    x = self.random.standard_normal((50, 70)).astype("f4")
                    there = FakeTensor(driver, numpy.zeros_like(x), kind, index)
                    driver.write(index, stream, there.pointer, x.ctypes.data, x.nbytes)
                    self.assertEqual(tensorstat.measure(there, STATS), tensorstat.measure(x, STATS))
                    self.assertEqual(there.copies, [])

    def test_a_strided_tensor_of_torch_is_made_contiguous_on_its_device(self):
        self.with_torch({0: None})
        x = self.random.standard_normal((50, 70)).astype("f4")
        there = FakeTensor(self.drivers[CUDA], x.T)
        self.assertEqual(tensorstat.measure(there, STATS), tensorstat.measure(x.T, STATS))
        self.assertEqual(len(there.copies), 1)

    def test_torch_while_its_stream_is_captured(self):
        driver = self.drivers[CUDA]
        stream = driver.stream(0, 0)
        self.with_torch({0: stream})
        there = FakeTensor(driver, numpy.ones(5, "f4"))
        driver.capture(stream, 1)
        with self.assertRaisesRegex(tensorstat.Error, "its stream is being captured into a graph") as refused:
            tensorstat.measure(there)
        driver.capture(stream, 0)
        self.assertEqual(refused.exception.code, "unsupported")
        self.assertEqual(tensorstat.measure(there).max, 1)

    def test_an_error_is_named_with_its_tensor(self):
        there = Exported(self.drivers[CUDA], numpy.ones(5, "f4"))
        tensorstat.measure(there)
        errors = 0
        for nth in range(1, 20):  # the call that fails
            self.drivers[CUDA].fail(nth, 0)
            try:
                self.assertEqual(tensorstat.measure(there).max, 1)
            except tensorstat.Error as error:
                self.assertRegex(str(error), "CUDA memory cannot be read: cu[A-Za-z]+: FAKE_ERROR_ILLEGAL_ADDRESS")
                errors += 1
        self.assertGreater(errors, 3)
        self.drivers[CUDA].fail(0, 0)
        self.assertEqual(tensorstat.measure(there).max, 1)

    def test_a_session_has_the_rows_and_files_of_the_host(self):
        self.with_torch({0: None})
        x = self.random.standard_normal((50, 70)).astype("f4")
        rows, files = [], []
        for saved, (make, ordered) in itertools.product(("full", "statistic"), (
                (lambda each: each, False), (lambda each: Exported(self.drivers[CUDA], each), True),
                (lambda each: FakeTensor(self.drivers[ROCM], each, ROCM), True))):
            with tempfile.TemporaryDirectory() as folder:
                common = {"dump_mode": 0, "path": folder, "net_name": "Net", "iteration": "all", "kernels": [], "input_output": 0,
                          "support_device": [0], "saved_data": saved}
                config = {"common_dump_settings": common, "e2e_dump_settings": {"enable": True}}
                # Without a compiler of kernels nothing goes without a wait.
                with tensorstat.DumpSession(json.dumps(config), ordered_by_queue=ordered) as session:
                    session.collect("Add", "a", inputs=[make(x)], outputs=[make(-x), x])
                    session.step_end()
                if saved == "full":
                    files.append([numpy.load(name).tobytes() for name in glob.glob(folder + "/**/*.npy", recursive=True)])
                (file,) = glob.glob(folder + "/**/statistic.csv", recursive=True)
                with open(file) as lines:
                    header, *values = csv.reader(lines)
                column = header.index("Timestamp")
                rows.append([row[:column] + row[column + 1:] for row in values])
        self.assertEqual((len(rows[0]), len(files[0])), (3, 3))
        self.assertIn((-x).tobytes(), files[0])
        self.assertEqual(rows, [rows[0]] * 6)
        self.assertEqual([sorted(each) for each in files], [sorted(files[0])] * 3)

    def test_a_meter_gives_everything_back(self):
        x = self.random.standard_normal(1000)
        count = self.drivers[CUDA].held()
        meter = tensorstat.Meter()
        meter.measure(Exported(self.drivers[CUDA], x))
        self.assertGreater(self.drivers[CUDA].held(), count)
        del meter
        gc.collect()
        self.assertEqual(self.drivers[CUDA].held(), count)


if __name__ == "__main__":
    unittest.main()
