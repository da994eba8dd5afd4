"""torch's views that change no bytes, of opposite signs (is_neg) and of conjugates (is_conj), have the values that torch
says, in a file and in memory; dtypes with a byte for each element of few bits are refused by name."""
import hashlib
import io
import os
import pickle
import struct
import tempfile
import unittest
import zipfile

import numpy
import tensorstat

try:
    import torch
except ImportError:
    torch = None

STATS = "count,nan count,zero count,l2norm,md5"


def text(word):
    return b"X" + struct.pack("<I", len(word)) + word.encode()


def archive(path, data, storage, count, shape, stride, flags, dtype=None, order="little"):
    """What torch.save writes of one view. With `dtype` by _rebuild_tensor_v3, else by _rebuild_tensor_v2."""
    numbers = lambda each: pickle.dumps(tuple(each), 2)[2:-1]
    function = "_rebuild_tensor_v3" if dtype else "_rebuild_tensor_v2"
    pickled = (b"\x80\x02ctorch._utils\n" + function.encode() + b"\n((" + text("storage") + b"ctorch\n" + storage.encode() + b"\n" +
               text("0") + text("cpu") + pickle.dumps(count, 2)[2:-1] + b"tQK\x00" + numbers(shape) + numbers(stride) +
               b"\x89ccollections\nOrderedDict\n)R" + (f"ctorch\n{dtype}\n".encode() if dtype else b"") +
               pickle.dumps(flags, 2)[2:-1] + b"tR.")
    with zipfile.ZipFile(path, "w") as made:
        made.writestr("a/data.pkl", pickled)
        made.writestr("a/byteorder", order)
        made.writestr("a/data/0", data)


class Files(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "x.pt")

    def check(self, array, where):
        row = tensorstat.read(self.path, STATS)
        array = numpy.ascontiguousarray(array)
        self.assertEqual((row.shape, row.md5), (array.shape, hashlib.md5(array.tobytes()).hexdigest()), where)
        self.assertEqual((row.zero_count, row.nan_count), ((array == 0).sum(), numpy.isnan(array).sum()), where)
        if array.dtype.kind in "fiu":
            self.assertEqual(tensorstat.read(self.path, "max").max, array.max(), where)

    def test_signs_and_conjugates(self):
        storages = {"f4": "FloatStorage", "f8": "DoubleStorage", "f2": "HalfStorage", "i8": "LongStorage", "i4": "IntStorage",
                    "i2": "ShortStorage", "i1": "CharStorage", "u1": "ByteStorage", "c8": "ComplexFloatStorage",
                    "c16": "ComplexDoubleStorage"}
        names = {"f4": "float32", "f8": "float64", "f2": "float16", "i8": "int64", "i4": "int32", "i2": "int16", "i1": "int8",
                 "u1": "uint8", "c8": "complex64", "c16": "complex128"}
        for kind, storage in storages.items():
            for order in "little", "big":
                plain = numpy.array([3, 0, 5, 7, 1, 120], kind)
                if plain.dtype.kind == "c":
                    plain = plain + numpy.array([1, -2, 0, 4, -0.0, 6]) * numpy.array(1j, kind)
                    plain = plain.astype(kind)
                data = plain.astype(plain.dtype.newbyteorder("<" if order == "little" else ">")).tobytes()
                layouts = {((6,), (1,)): plain, ((2, 3), (3, 1)): plain.reshape(2, 3), ((3, 2), (1, 3)): plain.reshape(2, 3).T,
                           ((3,), (2,)): plain[::2], ((2, 3), (0, 2)): numpy.stack([plain[::2]] * 2)}
                for (shape, stride), array in layouts.items():
                    for flags in {}, {"neg": True}, {"conj": True}, {"conj": True, "neg": True}, {"neg": False}:
                        expected = array.conj() if flags.get("conj") else array
                        expected = -expected if flags.get("neg") else expected
                        for dtype in None, names[kind]:
                            archive(self.path, data, "UntypedStorage" if dtype else storage, 6, shape, stride, flags, dtype, order)
                            self.check(expected, (kind, order, shape, stride, flags, dtype))

    def test_dtypes_of_few_bits_are_refused_by_name(self):
        for name in "uint4", "int4", "uint1", "int2", "uint7", "bits8", "bits4x2":
            archive(self.path, bytes(16), "UntypedStorage", 16, (16,), (1,), {}, name)
            with self.assertRaisesRegex(tensorstat.Error, f"dtype {name}, which is not supported"):
                tensorstat.read(self.path)


@unittest.skipIf(torch is None, "torch is not installed")
class Memory(unittest.TestCase):
    def check(self, tensor, where):
        resolved = tensor.resolve_conj().resolve_neg().contiguous().numpy()
        statistics = tensorstat.measure(tensor, STATS)
        self.assertEqual((statistics.shape, statistics.md5), (resolved.shape, hashlib.md5(resolved.tobytes()).hexdigest()), where)

    def views(self):
        x = torch.randn(4, 5, dtype=torch.complex64)
        x[0, 0] = complex(0, float("nan"))
        views = {"plain": x, "conj": x.conj(), "imag": x.conj().imag, "rows": x.conj()[::2, 1:], "turned": x.conj().t(),
                 "adjoint": x.mH, "imag rows": x.conj().imag[1::2], "real": x.conj().real, "neg": torch._neg_view(x),
                 "both": torch._neg_view(x).conj(), "double": x.to(torch.complex128).conj(),
                 "negative": torch._neg_view(torch.tensor([1.0, -0.0, 3.0]))}
        assert views["conj"].is_conj() and views["imag"].is_neg()
        return views

    def test_measured(self):
        for name, view in self.views().items():
            self.check(view, name)

    def test_saved(self):
        for name, view in self.views().items():
            saved = io.BytesIO()
            torch.save({"x": view}, saved)
            saved.seek(0)
            again = torch.load(saved)["x"]
            if again.is_conj() != view.is_conj() or again.is_neg() != view.is_neg():
                continue  # an older torch saves the bytes alone
            with tempfile.TemporaryDirectory() as folder:
                with open(folder + "/x.pt", "wb") as file:
                    file.write(saved.getvalue())
                row = tensorstat.read(folder + "/x.pt", STATS)["x"]
            # On some processors torch negates a complex number as 0 - x, which keeps the signs of 0 and NaN. NumPy changes them.
            values = torch._neg_view(view) if view.is_neg() else view
            values = values.resolve_conj().contiguous().numpy()
            self.assertEqual(row.md5, hashlib.md5((-values if view.is_neg() else values).tobytes()).hexdigest(), name)

    def test_freed_memory(self):
        """FSDP takes the memory from below its parameters, which stay views of nothing. Somebody else takes the end alone."""
        for bytes_left in 0, 4 * 16:
            whole = torch.ones(100)
            views = {"whole": whole, "behind": whole[10:], "strided": whole[10::2], "last": whole[16:17],
                     "complex": torch.view_as_complex(whole[16:20].view(2, 2)).conj()}
            kept = {"before": whole[:16], "strided before": whole[1:16:2], "one": whole[15], "none": whole[40:40]}
            (whole.untyped_storage() if hasattr(whole, "untyped_storage") else whole.storage()._storage).resize_(bytes_left)
            for name, view in (views | (kept if not bytes_left else {})).items():
                if view.numel():
                    with self.subTest(name, bytes_left=bytes_left), \
                            self.assertRaisesRegex(tensorstat.Error, "a torch.Tensor whose memory was freed cannot be read"):
                        tensorstat.measure({name: view})
            if bytes_left:
                self.assertEqual([tensorstat.measure(view, "count").count for view in kept.values()], [16, 8, 1, 0])

    def test_dtypes_of_few_bits(self):
        checked = 0
        for name in "uint4", "int4", "uint1", "int1", "int2", "uint2", "int7", "uint7", "bits8", "bits1x8":
            if not hasattr(torch, name):
                continue
            try:
                tensor = torch.arange(16, dtype=torch.uint8).view(getattr(torch, name))
            except (RuntimeError, TypeError):
                continue
            checked += 1
            with self.assertRaisesRegex(tensorstat.Error, f"a torch.Tensor of {name} "):
                tensorstat.measure(tensor)
        if not checked:
            self.skipTest("torch has none of them")

    def test_pairs_of_float4(self):
        if not hasattr(torch, "float4_e2m1fn_x2"):
            self.skipTest("torch has no float4_e2m1fn_x2")
        bytes_ = torch.tensor([[0x21, 0x43], [0x7f, 0xf0]], dtype=torch.uint8)
        for tensor in bytes_, bytes_.t():
            row = tensorstat.measure(tensor.view(torch.float4_e2m1fn_x2), "max,min,count,argmax")
            self.assertEqual((row.dtype, row.max, row.min, row.count), ("float4_e2m1fn", 6, -6, 8))
            self.assertEqual(row.shape, (2, 2, 2))


class Arrays(unittest.TestCase):
    def test_dtypes_of_few_bits(self):
        """ml_dtypes' arrays have a byte for each element, too."""
        try:
            import ml_dtypes
        except ImportError:
            self.skipTest("ml_dtypes is not installed")
        for name in "int4", "uint4", "float4_e2m1fn":
            if hasattr(ml_dtypes, name):
                array = numpy.array([1, 2, 3], getattr(ml_dtypes, name))
                with self.assertRaisesRegex(tensorstat.Error, f"an array of {name} has a byte for each element"):
                    tensorstat.measure(array)


if __name__ == "__main__":
    unittest.main()
