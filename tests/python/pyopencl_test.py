"""PyOpenCL's arrays are measured in their own memory, on their own queue, behind what is in it. Skipped where there is no
pyopencl (Debian's python3-pyopencl) or no device."""
import gc
import pickle
import threading
import unittest

import numpy
import tensorstat

try:
    import pyopencl
    import pyopencl.array
    context = pyopencl.Context([pyopencl.get_platforms()[0].get_devices()[0]])
except Exception as missing:  # its own LogicError without a platform
    context, why = None, str(missing)
else:
    why = ""

STATS = "max,min,avg,l2norm,zero count,nan count"


@unittest.skipIf(context is None, f"no PyOpenCL: {why}")
class PyOpenCl(unittest.TestCase):
    def setUp(self):
        self.queue = pyopencl.CommandQueue(context)
        self.meter = tensorstat.Meter()
        random = numpy.random.default_rng(11)
        self.host = {name: (random.standard_normal((50, 40)) * 50).astype(name)
                     for name in ("float32", "float64", "float16", "int32", "uint8")}

    def test_every_array_in_place(self):
        for name, x in self.host.items():
            with self.subTest(dtype=name):
                array = pyopencl.array.to_device(self.queue, x)
                measured = self.meter.measure(array, STATS)
                self.assertEqual(measured, tensorstat.measure(x, STATS))
                self.assertEqual((measured.dtype, measured.shape), (name, (50, 40)))
                self.assertEqual(self.meter.measure(array[10:30], STATS), tensorstat.measure(x[10:30], STATS))  # an offset
        self.assertEqual(self.meter.explain(array, "max", on="device")["max"][0], "opencl")

    def test_behind_what_is_in_the_queue(self):
        array = pyopencl.array.zeros(self.queue, 1 << 20, numpy.float32)
        for value in range(20):
            array += 1
        self.assertEqual(self.meter.measure(array, "max,min").to_dict(), {"max": 20.0, "min": 20.0})

    def test_a_batch_of_two_queues_and_the_host(self):
        other = pyopencl.CommandQueue(context)
        x = self.host["float32"]
        batch = {"a": pyopencl.array.to_device(self.queue, x), "b": x + 1, "c": pyopencl.array.to_device(other, x + 2),
                 "d": pyopencl.array.to_device(self.queue, x + 3)}
        measured = self.meter.measure(batch, STATS)
        self.assertEqual(list(measured), list(batch))
        for add, name in enumerate(batch):
            self.assertEqual(measured[name], tensorstat.measure(x + numpy.float32(add), STATS), name)

    def test_a_queue_that_nobody_has_is_not_kept(self):
        def measured(queue):
            return self.meter.measure(pyopencl.array.to_device(queue, self.host["float32"]), "max")

        expected = measured(self.queue)
        gc.collect()
        before = context.reference_count
        for _ in range(20):
            self.assertEqual(measured(pyopencl.CommandQueue(context)), expected)
        gc.collect()
        self.assertEqual(len(self.meter._of_queues), 1)
        self.assertEqual(context.reference_count, before)

    def test_threads_bring_queues(self):
        expected = tensorstat.measure(self.host["float32"], STATS)
        results = []

        def work():
            for _ in range(10):
                queue = pyopencl.CommandQueue(context)
                results.append(self.meter.measure(pyopencl.array.to_device(queue, self.host["float32"]), STATS))

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(results, [expected] * 40)

    def test_compared_in_place(self):
        x = self.host["float32"]
        y = (x * numpy.float32(1.001)).astype("float16")
        a, b = (pyopencl.array.to_device(self.queue, each) for each in (x, y))
        expected = tensorstat.compare(x, y, rtol=1e-3)
        for both in ((a, b), (a, y), (x, b)):
            self.assertEqual(self.meter.compare(*both, rtol=1e-3, on="device"), expected)
            self.assertEqual(self.meter.compare(*both, rtol=1e-3), expected)
        self.assertEqual(self.meter.compare(a, b, rtol=1e-3, on="host"), expected)

    def test_parts(self):
        x = self.host["float32"]
        part = tensorstat.fold(pyopencl.array.to_device(self.queue, x[:20]), STATS)
        whole = pickle.loads(pickle.dumps(part)) + tensorstat.fold(x[20:], STATS)
        self.assertEqual(whole.finish(), tensorstat.measure(x, STATS))

    def test_what_is_refused(self):
        batch = {"a": self.host["float32"], "b": pyopencl.array.to_device(self.queue, self.host["float32"]),
                 "c": pyopencl.array.to_device(self.queue, self.host["float32"].astype("complex64"))}
        with self.assertRaisesRegex(tensorstat.Error, "^c: a complex64 tensor has no max"):
            self.meter.measure(batch, "max")
        array = pyopencl.array.to_device(self.queue, self.host["float32"])
        with self.assertRaisesRegex(tensorstat.Error, "strided"):
            self.meter.measure(array[:, ::2])
        with self.assertRaisesRegex(tensorstat.Error, "host memory"):
            tensorstat.stream("float32").append(array)


if __name__ == "__main__":
    unittest.main()
