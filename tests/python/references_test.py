"""No object is lost and none is given back twice: 100,000 of each kind are made and dropped, under the debug hooks of Python's
allocator. DLPack tensors of versions 0 and 1 are deleted once, by whoever made them."""
import ctypes
import gc
import os
import resource
import subprocess
import sys
import unittest

import numpy
import tensorstat

TIMES = 100_000


class DlTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device", ctypes.c_int32 * 2), ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8),
                ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


class Managed(ctypes.Structure):
    _fields_ = [("tensor", DlTensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class ManagedVersioned(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint32 * 2), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p),
                ("flags", ctypes.c_uint64), ("tensor", DlTensor)]


Destructor = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype, new_capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, Destructor]


class Producer:
    """A float32 tensor of 2 x 3 behind DLPack, which counts how often it was given back."""

    def __init__(self, versioned, major=1):
        self.data, self.shape, self.strides = (ctypes.c_float * 6)(*range(6)), (ctypes.c_int64 * 2)(2, 3), (ctypes.c_int64 * 2)(1, 2)
        tensor = DlTensor(ctypes.addressof(self.data), (ctypes.c_int32 * 2)(1, 0), 2, 2, 32, 1, self.shape, self.strides, 0)
        self.managed = ManagedVersioned((major, 0), None, None, 0, tensor) if versioned else Managed(tensor, None, None)
        self.name = b"dltensor_versioned" if versioned else b"dltensor"
        self.deleted = 0
        self.destructor = Destructor(self.delete)

    def delete(self, capsule):
        self.deleted += 1

    def __dlpack__(self, stream=None):
        return new_capsule(ctypes.addressof(self.managed), self.name, self.destructor)


class References(unittest.TestCase):
    def assert_nothing_stays(self, make, things):
        for _ in range(2000):
            make()
        gc.collect()
        counts, blocks = [sys.getrefcount(each) for each in things], sys.getallocatedblocks()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for _ in range(TIMES):
            make()
        gc.collect()
        self.assertEqual([sys.getrefcount(each) for each in things], counts)
        self.assertLess(abs(sys.getallocatedblocks() - blocks), 1000)
        self.assertLess(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, 6_000)  # KiB: 60 bytes an object

    def test_results(self):
        x, strided = numpy.zeros(10), numpy.zeros((4, 6))[::2, ::3]
        tensors = {"a": x, "b": strided, "c": b"abc"}
        meter = tensorstat.Meter()

        def make():
            results = meter.measure(tensors, "max,md5")
            kept = results["b"]
            del results
            return kept.max, kept.shape, kept.dtype, dict(kept)
        self.assert_nothing_stays(make, [x, strided, tensors, meter, tensorstat.Statistics])

    def test_parts(self):
        x = numpy.zeros(10)
        meter = tensorstat.Meter()

        def make():
            (meter.fold(x, "max") + meter.fold(x, "max")).finish()
            stream = meter.stream("float64", "max")
            stream.append(x)
            stream.finish()
        self.assert_nothing_stays(make, [x, meter, tensorstat.Partial, tensorstat.Stream])

    def test_errors(self):
        bad = [numpy.zeros(1, "U1"), numpy.zeros(1, ">f4"), [1.0], object(), memoryview(b"a").cast("c")]

        def make():
            for x in bad:
                try:
                    tensorstat.measure([numpy.zeros(2), x])
                except tensorstat.Error:
                    pass
        global TIMES
        times, TIMES = TIMES, 20_000  # of five each
        self.addCleanup(lambda: globals().update(TIMES=times))
        self.assert_nothing_stays(make, bad)

    def test_dlpack_is_deleted_once(self):
        for versioned in (False, True):
            with self.subTest(versioned=versioned):
                producer = Producer(versioned)
                for times in range(1, 1001):
                    measured = tensorstat.measure(producer, "max,count")
                    self.assertEqual(producer.deleted, times)
                self.assertEqual((measured.max, measured.count, measured.shape), (5.0, 6, (2, 3)))
        later = Producer(True, major=2)
        with self.assertRaisesRegex(tensorstat.Error, "DLPack 2"):
            tensorstat.measure(later)
        self.assertEqual(later.deleted, 1)


if __name__ == "__main__":
    if "PYTHONMALLOC" not in os.environ:  # Python reads it at its start
        sys.exit(subprocess.run([sys.executable, "-B", *sys.argv], env={**os.environ, "PYTHONMALLOC": "debug"}).returncode)
    unittest.main()
