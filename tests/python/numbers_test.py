"""Python's numbers are the exact ones: of every container that people have, in place, strided or not."""
import array
import collections
import fractions
import hashlib
import json
import math
import pickle
import random
import unittest
import zlib

import numpy
import tensorstat

SEED = random.randrange(2**32)
STATS = "max,min,avg,l2norm,count,nan count,negative zero count,positive zero count,zero count,md5"


def exact_avg(values):
    return float(sum(map(fractions.Fraction, values)) / len(values))


class Numbers(unittest.TestCase):
    def setUp(self):
        self.random = numpy.random.default_rng(SEED)

    def test_of_every_dtype_of_numpy(self):
        for name in ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
                     "float32", "float64"):
            with self.subTest(dtype=name, seed=SEED):
                x = (self.random.standard_normal(1001) * 100).astype(name)
                r = tensorstat.measure(x, STATS)
                values = [int(v) if x.dtype.kind in "biu" else float(v) for v in x]
                self.assertEqual(r.dtype, name)
                self.assertEqual((r.max, r.min, r.count), (max(values), min(values), 1001))
                self.assertEqual(r.avg, exact_avg(values))
                self.assertEqual(r["negative zero count"], sum(v < 0 for v in values))
                self.assertIs(type(r.max), float if x.dtype.kind == "f" else int)

    def test_strided_reversed_and_transposed(self):
        x = self.random.standard_normal((7, 8, 9)).astype(numpy.float32)
        for view in (x[::2], x[:, ::-1], x.T, numpy.asfortranarray(x), x[1:1], x[0, 0, 0], numpy.broadcast_to(x[0], (5, 8, 9))):
            with self.subTest(shape=view.shape, seed=SEED):
                self.assertEqual(tensorstat.measure(view, STATS), tensorstat.measure(numpy.array(view, order="C"), STATS))

    def test_rows_are_those_of_slices(self):
        x = self.random.standard_normal((5, 6, 40)).astype(numpy.float32)
        for view in (x, x.T, x[::2]):
            with self.subTest(shape=view.shape, seed=SEED):
                whole = numpy.array(view, order="C")
                self.assertEqual(tensorstat.measure_by(view, 0), tensorstat.measure(list(whole)))
                columns = [whole[..., k].copy() for k in range(whole.shape[-1])]
                self.assertEqual(tensorstat.measure_by(view, [-1]), tensorstat.measure(columns))
        blocks = tensorstat.measure_by(x, block=64, stats=["max", "count"])
        self.assertEqual([r.max for r in blocks], [x.reshape(-1)[start:start + 64].max() for start in range(0, x.size, 64)])
        self.assertEqual((blocks[-1].count, blocks[-1].shape), (x.size % 64, (x.size % 64,)))
        self.assertEqual(tensorstat.measure_by(x, [0, 2])[0].shape, (6,))
        self.assertRaisesRegex(tensorstat.Error, "no axis 3", tensorstat.measure_by, x, 3)
        self.assertRaises(TypeError, tensorstat.measure_by, x, "0")
        self.assertRaises(OverflowError, tensorstat.measure_by, x, 2**70)
        self.assertEqual(tensorstat.measure_by(x, numpy.int64(1)), tensorstat.measure_by(x, 1))

    def test_whole_numbers_are_never_cut(self):
        meter = tensorstat.Meter(threads=numpy.int64(1))
        stream, part, x = meter.stream("int4"), meter.fold(numpy.zeros(3), "argmax"), numpy.zeros(10)
        config = json.dumps({"common_dump_settings": {
            "dump_mode": 0, "path": "/nowhere/tensorstat", "net_name": "Net", "iteration": "all", "kernels": [],
            "input_output": 0, "support_device": [0], "saved_data": "statistic"}, "e2e_dump_settings": {"enable": False}})
        session = tensorstat.DumpSession(config)
        place = lambda **where: lambda: session.collect("T", "a", outputs=[], **where)
        for beyond in (-1, 2**64, 2**64 + 2, -2**63, 2**70, 10**5000):
            for name, call in {"block": lambda: meter.measure_by(x, block=beyond), "rank": place(rank=beyond),
                               "device": place(device=beyond), "graph": place(graph=beyond), "iteration": place(iteration=beyond),
                               "unused": lambda: stream.append(b"a", unused=beyond), "first_element": lambda: part.move_to(beyond),
                               "budget_bytes": lambda: tensorstat.Meter(budget_bytes=beyond),
                               "threads": lambda: tensorstat.Meter(threads=beyond),
                               "memory_bytes": lambda: tensorstat.DumpSession(config, memory_bytes=beyond),
                               "world_size": lambda: tensorstat.DumpSession(config, world_size=beyond),
                               "iteration ": lambda: session.set_initial_iteration(beyond),
                               "rank ": lambda: session.step_end(rank=beyond), "graph ": lambda: session.wants("T", "a", graph=beyond),
                               }.items():
                with self.subTest(of=name), self.assertRaisesRegex(OverflowError, f"{name.strip()} does not fit"):
                    call()
        for call in (place(rank=2**32), lambda: tensorstat.Meter(threads=2**32), lambda: stream.append(b"a", unused=2**40)):
            self.assertRaises(OverflowError, call)
        self.assertRaises(TypeError, place(rank=1.0))
        self.assertRaises(OverflowError, tensorstat.Meter, platform=2**31)
        self.assertEqual(stream.shape, (0,))

    def test_quantiles_are_numpys(self):
        percents = (0, 0.1, 1, 5, 25, 50, 75, 95, 99, 99.9, 100)
        names = [f"p{n}" for n in percents]
        wanted = {"method" if numpy.lib.NumpyVersion(numpy.__version__) >= "1.22.0" else "interpolation": "inverted_cdf"}
        for dtype, bound in (("int8", 0), ("uint16", 0), ("float16", 0), ("int64", 2**-10), ("float32", 2**-8),
                             ("float64", 2**-8)):
            # So many that no N / 100 * n but the ends is a whole number: NumPy, in binary64, might be beyond that.
            x = (self.random.standard_normal(4001) * 30).astype(dtype)
            truth = dict(zip(names, numpy.percentile(x, percents, **wanted).tolist()))
            with self.subTest(dtype=dtype, seed=SEED):
                r = tensorstat.measure(x, names)
                self.assertEqual(list(r), names)
                for name in names:
                    exact = bound == 0 or name in ("p0", "p100")
                    self.assertLessEqual(abs(r[name] - truth[name]), 0 if exact else bound * abs(truth[name]))
                self.assertEqual((r.p50, r["p99.9"]), (r.to_dict()["p50"], r.to_dict()["p99.9"]))
                self.assertIs(type(r.p50), float if x.dtype.kind == "f" else int)
                self.assertEqual(pickle.loads(pickle.dumps(r)), r)
                self.assertEqual(json.loads(r.to_json())["p75"], r.p75)
                parts = [tensorstat.fold(x[start:start + 700], names) for start in range(0, x.size, 700)]
                whole = pickle.loads(pickle.dumps(parts[3]))
                for part in parts[:3] + parts[4:]:
                    whole.merge(pickle.loads(pickle.dumps(part)))
                self.assertEqual(whole.finish(), r)
        self.assertIsNone(tensorstat.measure(numpy.array([numpy.nan]), "p50").p50)
        r = tensorstat.measure(numpy.arange(10), "max")
        self.assertRaisesRegex(KeyError, "was not asked for", lambda: r["p50"])
        self.assertRaisesRegex(KeyError, "is no statistic", lambda: r["p101"])
        self.assertRaises(AttributeError, lambda: r.p50)
        self.assertRaisesRegex(tensorstat.Error, "pN", tensorstat.measure, numpy.arange(3), "p100.5")

    def test_places_are_numpys(self):
        where = "argmax,argmin,first nan index,first inf index,first bad index"
        x = self.random.permutation(60_000).astype(numpy.float32).reshape(30, 40, 50)
        bad = x.copy()
        bad[7, 8, 9], bad[7, 8, 3], bad[20] = numpy.nan, -numpy.inf, numpy.nan
        for whole in (x, bad):
            for view in (whole, whole[::-2, 3:], whole.T, numpy.asfortranarray(whole)):
                with self.subTest(shape=view.shape, seed=SEED):
                    r = tensorstat.measure(view, where)
                    nans, infs = numpy.flatnonzero(numpy.isnan(view)), numpy.flatnonzero(numpy.isinf(view))
                    bads = numpy.flatnonzero(~numpy.isfinite(view))
                    first = [int(places[0]) if places.size else None for places in (nans, infs, bads)]
                    self.assertEqual((r.argmax, r.argmin), (view.argmax(), view.argmin()))
                    self.assertEqual([r["first nan index"], r["first inf index"], r["first bad index"]], first)
        flat = bad.reshape(-1)
        parts = [tensorstat.fold(flat[start:start + 1000], where).move_to(start) for start in range(0, flat.size, 1000)]
        self.random.shuffle(parts)
        merged = parts[0]
        for part in parts[1:]:
            merged.merge(part)
        self.assertEqual(merged.finish().to_dict(), tensorstat.measure(flat, where).to_dict())
        with self.assertRaises(tensorstat.Error):
            merged.move_to(2**63)

    def test_of_the_buffer_protocol(self):
        x = array.array("f", [1, -2, 3.5])
        expected = tensorstat.measure(numpy.array(x), STATS)
        for each in (x, memoryview(x), memoryview(bytes(x)).cast("f"), memoryview(bytearray(x)).cast("f")):
            self.assertEqual(tensorstat.measure(each, STATS), expected)
        self.assertEqual(tensorstat.measure(b"\x00\x01\xff").max, 255)
        self.assertEqual(tensorstat.measure(memoryview(x)[::2]).max, 3.5)

    def test_of_dlpack(self):
        class Wrapped:
            def __init__(self, array):
                self.array = array

            def __dlpack__(self, stream=None):
                return self.array.__dlpack__()

        x = self.random.standard_normal((6, 5))
        for view in (x, x[::2, ::-1], x[0, 0:0]):
            self.assertEqual(tensorstat.measure(Wrapped(view), STATS), tensorstat.measure(view, STATS))

    def test_a_dict_and_a_list_are_one_batch(self):
        tensors = {f"t{i}": self.random.standard_normal(i) for i in range(50)}
        together = tensorstat.measure(tensors, STATS)
        self.assertEqual(list(together), list(tensors))
        for name, x in tensors.items():
            self.assertEqual(together[name], tensorstat.measure(x, STATS))
            self.assertEqual(together[name].shape, x.shape)
        self.assertEqual(tensorstat.measure(list(tensors.values()), STATS), list(together.values()))
        self.assertEqual(tensorstat.measure({}), {})

    def test_an_error_names_the_tensor(self):
        good = numpy.ones(3)
        mapping = collections.UserDict({"layer.0.weight": good})
        self.assertEqual(tensorstat.measure(mapping, "count")["layer.0.weight"].count, 3)
        for bad, stats, words in ((numpy.array(["1"]), "max", "an array of <U1"), ([1], "max", "an object of type list"),
                                  (numpy.ones(2, "c8"), "max", "a complex64 tensor has no max")):
            with self.assertRaisesRegex(tensorstat.Error, "^layer.1.bias: " + words) as refused:
                tensorstat.measure({"layer.0.weight": good, "layer.1.bias": bad}, stats)
            self.assertEqual(refused.exception.code, "unsupported")
            with self.assertRaisesRegex(tensorstat.Error, "^tensor 1: " + words):
                tensorstat.measure([good, bad], stats)
        self.assertEqual(tensorstat.measure({"a": good, "b": numpy.ones(2, "c8")}, "max,l2norm")["b"].l2norm, 2 ** 0.5)

    def test_special_values(self):
        r = tensorstat.measure(numpy.array([math.nan, math.inf, -math.inf, -0.0], numpy.float32))
        self.assertTrue(math.isnan(r.max) and math.isnan(r.avg))
        self.assertEqual((r.nan_count, r["positive-inf-count"], r["negative inf count"], r.zero_count), (1, 1, 1, 1))
        self.assertIn("NaN!", repr(r))
        empty = tensorstat.measure(numpy.zeros((0, 3)))
        self.assertEqual((empty.max, empty.avg, empty.l2norm, empty.count), (None, None, 0.0, 0))

    def test_results(self):
        r = tensorstat.measure(numpy.arange(4, dtype=numpy.int32), "max,nan-count,md5")
        self.assertEqual(r.to_dict()["max"], 3)
        self.assertEqual(list(r.to_dict()), ["max", "nan count", "md5"])
        self.assertEqual(json.loads(r.to_json()), r.to_dict())
        self.assertEqual(pickle.loads(pickle.dumps(r)), r)
        self.assertEqual(tensorstat.measure(numpy.arange(4, dtype=numpy.int32), "md5,max,nan-count"), r)
        self.assertNotEqual(tensorstat.measure(numpy.arange(4, dtype=numpy.int32), "md5,max"), r)
        with self.assertRaises(AttributeError):
            r.avg  # was not asked for
        with self.assertRaises(KeyError):
            r["maximum"]

    def test_exponents_and_casts(self):
        x = numpy.array([0, 1, -1.5, 0.75, 3, 1e-40, 1e-5, 1000, math.inf, math.nan], numpy.float32)
        r = tensorstat.measure(x, "exponents,e4m3fn underflow,e4m3fn overflow,float16 overflow")
        self.assertEqual(r.exponents, {"zero": 1, "subnormal": 1, "binades": {-17: 1, -1: 1, 0: 2, 1: 1, 9: 1}, "inf": 1,
                                       "nan": 1})
        self.assertEqual((r.e4m3fn_underflow, r.e4m3fn_overflow, r["float16 overflow"]), (2, 1, 0))
        self.assertEqual(pickle.loads(pickle.dumps(r)), r)
        parts = [tensorstat.fold(piece, "exponents") for piece in numpy.array_split(x, 3)]
        self.assertEqual((parts[0] + parts[1] + parts[2]).finish().exponents, r.exponents)

    def test_casts_at_a_scale(self):
        x = (2.0 ** self.random.integers(-20, 20, 5000)).astype(numpy.float32)
        for scale in (1, 0.25, 3.0):
            r = tensorstat.measure(x, "e4m3fn underflow,e4m3fn overflow", cast_scale=scale)
            scaled = x.astype(numpy.float64) * scale
            self.assertEqual(r["e4m3fn underflow"], int((scaled <= 2.0**-10).sum()))
            self.assertEqual(r["e4m3fn overflow"], int((scaled > 464).sum()))
        part = tensorstat.fold(x, "e4m3fn overflow", cast_scale=3.0)
        with self.assertRaises(tensorstat.Error):
            part.merge(tensorstat.fold(x, "e4m3fn overflow"))
        with self.assertRaises(tensorstat.Error):
            tensorstat.measure(x, "e4m3fn overflow", cast_scale=-1)

    def test_fingerprints(self):
        x = numpy.random.default_rng(1).standard_normal((700, 900)).astype(numpy.float32)
        for laid_out in (x, numpy.asfortranarray(x), x[::2, 5:]):
            in_order = laid_out.tobytes()  # in C order
            r = tensorstat.measure(laid_out, "crc32,xor64")
            self.assertEqual(r.crc32, f"{zlib.crc32(in_order):08x}")
            words = numpy.frombuffer(in_order + bytes(-len(in_order) % 8), "<u8")
            self.assertEqual(r.xor64, f"{numpy.bitwise_xor.reduce(words):016x}")

    def test_complex(self):
        random = numpy.random.default_rng(20261122)
        for dtype in (numpy.complex64, numpy.complex128):
            x = (random.standard_normal((50, 60)) + 1j * random.standard_normal((50, 60))).astype(dtype)
            x[4, 6], x[6, 8], x[8, 9], x[10] = complex(0, numpy.nan), complex(-numpy.inf, 1), complex(numpy.inf, numpy.nan), 0
            for laid_out in (x, numpy.asfortranarray(x), x[::2, 5:]):
                in_order = numpy.ascontiguousarray(laid_out)
                is_nan, is_finite = numpy.isnan(in_order), numpy.isfinite(in_order)
                r = tensorstat.measure(laid_out, "count,nan-count,zero-count,finite-count,l2norm,finite-l2norm,first-bad-index,md5,max")
                self.assertEqual((r.count, r.nan_count, r.zero_count, r.finite_count),
                                 (laid_out.size, is_nan.sum(), (in_order == 0).sum(), is_finite.sum()))
                self.assertTrue(math.isnan(r.l2norm) if is_nan.any() else math.isinf(r.l2norm))
                self.assertAlmostEqual(r.finite_l2norm, numpy.linalg.norm(in_order[is_finite].astype(numpy.complex128)), 11)
                self.assertEqual(r.first_bad_index, numpy.flatnonzero(~is_finite)[0])
                self.assertEqual(r.md5, hashlib.md5(in_order.tobytes()).hexdigest())
                self.assertIsNone(r.max)
            with self.assertRaisesRegex(tensorstat.Error, "has no max; it has count"):
                tensorstat.measure(x, "max")

    def test_what_is_refused(self):
        for bad, words in (([1, 2], "numpy.asarray"), ("text", "no tensor"), (numpy.array(["1"]), "<U1"),
                           (numpy.array([1], ">f4"), "big-endian"), (numpy.array([object()]), "cannot be measured")):
            with self.subTest(of=repr(bad)):
                with self.assertRaisesRegex(tensorstat.Error, words):
                    tensorstat.measure([bad] if isinstance(bad, list) else bad)
        with self.assertRaisesRegex(tensorstat.Error, "maximum"):
            tensorstat.measure(numpy.zeros(1), "maximum")
        for bad, words in ((5, "an object of type int is no tensor"), (array.array("u", "a"), "a buffer of type array of format [uw] "),
                           (memoryview(b"abcd").cast("c"), "a buffer of type memoryview of format c")):
            with self.subTest(of=repr(bad)), self.assertRaisesRegex(tensorstat.Error, words):
                tensorstat.measure(bad)

    def test_masked_arrays(self):
        x = numpy.ma.array([1.0, 1e9, 2.0], mask=[False, True, False])
        for call in (lambda: tensorstat.measure(x), lambda: tensorstat.measure({"a": x[1:]}), lambda: tensorstat.fold(x),
                     lambda: tensorstat.compare(x, x.data)):
            with self.assertRaisesRegex(tensorstat.Error, r"masked elements.*compressed\(\)"):
                call()
        self.assertEqual(tensorstat.measure(x.compressed(), "max").max, 2)
        for nothing_masked in (numpy.ma.array([1.0, 2]), numpy.ma.array([1.0, 2], mask=[False, False])):
            self.assertEqual(tensorstat.measure(nothing_masked, "max,count").to_dict(), {"max": 2, "count": 2})

    def test_explain(self):
        reasons = tensorstat.Meter().explain(numpy.zeros(3), "max,md5", on="host")
        self.assertEqual(reasons["max"][0], "host")
        self.assertGreater(len(reasons["md5"][1]), 5)


class Parts(unittest.TestCase):
    def test_partials_travel_and_merge_to_the_same_bits(self):
        x = numpy.random.default_rng(SEED).standard_normal(10_000) * 1e200
        whole = tensorstat.measure(x, "max,avg,l2norm,zero count")
        parts = [tensorstat.fold(piece, "max,avg,l2norm,zero count") for piece in numpy.array_split(x, 7)]
        random.Random(SEED).shuffle(parts)
        travelled = [pickle.loads(pickle.dumps(part)) for part in parts]
        merged = travelled[0]
        for part in travelled[1:]:
            merged = merged + part
        self.assertEqual(merged.finish().to_dict(), whole.to_dict(), f"seed {SEED}")
        with self.assertRaises(tensorstat.Error):
            merged.merge(tensorstat.fold(numpy.zeros(1, numpy.float32), "max"))

    def test_a_statistic_that_was_not_kept_is_none_of_an_empty_tensor(self):
        part = tensorstat.fold(numpy.arange(3.0), "max")
        self.assertEqual(tensorstat.Partial.parse(part.serialize(), "max,min,count").finish().to_dict(), {"max": 2, "min": 0, "count": 3})
        with self.assertRaisesRegex(tensorstat.Error, "does not keep what var, argmax needs"):
            tensorstat.Partial.parse(part.serialize(), "max,var,argmax").finish()
        empty = tensorstat.fold(numpy.zeros(0), "var,argmax")
        self.assertEqual(tensorstat.Partial.parse(empty.serialize(), "var,argmax").finish().to_dict(), {"var": None, "argmax": None})

    def test_streams(self):
        x = numpy.random.default_rng(SEED).standard_normal(5000).astype(numpy.float16)
        stream = tensorstat.stream("float16", "avg,md5")
        for piece in numpy.array_split(x, 9):
            stream.append(piece)
        self.assertEqual(stream.finish(), tensorstat.measure(x, "avg,md5"))
        with self.assertRaises(tensorstat.Error):
            stream.finish()

    def test_a_piece_of_another_dtype_is_refused(self):
        for dtype, piece in (("float32", numpy.array([1.0, 2.0])), ("float32", numpy.array([1, 2], "i4")), ("float16", array.array("f", [1])),
                             ("bool", numpy.zeros(2, "f4")), ("int4", numpy.zeros(2, "i1")), ("float32", numpy.zeros(8, "u1")),
                             ("float32", memoryview(numpy.zeros(2)))):
            stream = tensorstat.stream(dtype, "count")
            with self.subTest(dtype=dtype), self.assertRaisesRegex(tensorstat.Error, f"does not fit a stream of {dtype}"):
                stream.append(piece)
            self.assertEqual(stream.shape, (0,))
        x = numpy.array([1.5, -2], "f4")
        stream = tensorstat.stream("float32", "max,min,count")
        for piece in (x, x.tobytes(), bytearray(x.tobytes()), memoryview(x), memoryview(x).cast("B"), array.array("f", x)):
            stream.append(piece)
        self.assertEqual(stream.finish().to_dict(), {"max": 1.5, "min": -2, "count": 12})

    def test_a_stream_that_ends_within_a_byte(self):
        stream = tensorstat.stream("int4", "max,min,count,argmax")
        stream.append(bytes([0x21, 0x43]))
        stream.append(bytes([0x7f]), unused=1)  # the 7 is outside of the tensor
        self.assertEqual(stream.shape, (5,))
        with self.assertRaisesRegex(tensorstat.Error, "it was the last"):
            stream.append(b"a")
        statistics = stream.finish()
        self.assertEqual((statistics.max, statistics.min, statistics.count, statistics.argmax), (4, -1, 5, 3))
        with self.assertRaisesRegex(tensorstat.Error, "cannot have 2 unused"):
            tensorstat.stream("int4").append(b"a", unused=2)


if __name__ == "__main__":
    unittest.main()
