"""The initializers of ONNX models that onnx itself and protoc write (Debian's python3-onnx). Skipped where they are not
installed."""
import hashlib
import json
import os
import re
import subprocess
import tempfile
import unittest

import numpy
import tensorstat

try:
    import onnx
    from onnx import TensorProto, helper, numpy_helper
except ImportError:
    onnx = None

STATS = "count,max,min,l2norm,argmax,md5"
# Types of later versions than Debian's onnx: their numbers, and the dtypes that they are here.
LATER = {"float8_e4m3fn": 17, "float8_e4m3fnuz": 18, "float8_e5m2": 19, "float8_e5m2fnuz": 20, "float8_e8m0fnu": 24}
PACKED = {"uint4": 21, "int4": 22, "float4_e2m1fn": 23}


@unittest.skipIf(onnx is None, "onnx is not installed")
class Onnx(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.random = numpy.random.default_rng(4)

    def path(self, name):
        return os.path.join(self.folder, name)

    def saved(self, tensors, sparse=(), **options):
        graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "g",
                                  [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1])],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1])],
                                  initializer=tensors, sparse_initializer=sparse)
        onnx.save(helper.make_model(graph, producer_name="test"), self.path("x.onnx"), **options)
        return self.path("x.onnx")

    def arrays(self):
        return {f"w.{dtype}": (self.random.standard_normal((3, 5)) * 50).astype(dtype)
                for dtype in ("f4", "f2", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?", "c8", "c16")}

    def check(self, row, array):
        self.assertEqual((row.shape, row.md5), (array.shape, hashlib.md5(array.tobytes()).hexdigest()), array.dtype)
        if array.dtype.kind != "c" and array.size:
            self.assertEqual((row.max, row.min, row.argmax), (array.max(), array.min(), array.argmax()))

    def test_raw_data(self):
        arrays = self.arrays() | {"none": numpy.zeros((0, 3), "f4"), "one": numpy.float32(7).reshape(())}
        rows = tensorstat.read(self.saved([numpy_helper.from_array(a, name) for name, a in arrays.items()]), STATS)
        self.assertEqual(list(rows), list(arrays))
        for name, array in arrays.items():
            self.check(rows[name], array)

    def test_typed_fields(self):
        arrays = self.arrays()
        tensors = [helper.make_tensor(name, helper.np_dtype_to_tensor_dtype(a.dtype) if hasattr(
            helper, "np_dtype_to_tensor_dtype") else onnx.mapping.NP_TYPE_TO_TENSOR_TYPE[a.dtype], a.shape, a.flatten())
                   for name, a in arrays.items()]
        for tensor in tensors:
            self.assertFalse(tensor.raw_data)
        path = self.saved(tensors)
        rows = tensorstat.read(path, STATS)
        for name, array in arrays.items():
            self.check(rows[name], array)

    def test_numbers_that_are_not_packed(self):
        numbers, floats = numpy.array([7, -2, 300], "i4"), numpy.array([1.5, -2, 8], "f4")
        def varint(n):
            n &= (1 << 64) - 1
            out = b""
            while n >= 128:
                out, n = out + bytes([n & 127 | 128]), n >> 7
            return out + bytes([n])
        def field(number, content):
            return varint(number << 3 | 2) + varint(len(content)) + content
        head = lambda name, kind: b"\x08\x03" + b"\x10" + bytes([kind]) + field(8, name)
        a = head(b"a", 6) + b"".join(b"\x28" + varint(int(n)) for n in numbers)
        b = head(b"b", 1) + b"".join(b"\x25" + f.tobytes() for f in floats)
        c = head(b"c", 6) + field(5, varint(7) + varint(-2)) + b"\x28" + varint(300)  # both forms may be mixed
        model = b"\x08\x07" + field(7, b"".join(field(5, tensor) for tensor in (a, b, c)))
        parsed = onnx.ModelProto.FromString(model)
        self.assertEqual(list(parsed.graph.initializer[2].int32_data), list(numbers))
        with open(self.path("x.onnx"), "wb") as file:
            file.write(model)
        rows = tensorstat.read(self.path("x.onnx"), STATS)
        self.check(rows["a"], numbers)
        self.check(rows["b"], floats)
        self.check(rows["c"], numbers)

    def test_bfloat16_and_smaller_floats(self):
        bits = numpy.arange(0x3f00, 0x3f90, dtype="<u2").reshape(12, 12)
        tensors = [onnx.TensorProto(name="bfloat16", data_type=16, dims=[12, 12], raw_data=bits.tobytes()),
                   onnx.TensorProto(name="typed", data_type=16, dims=[144], int32_data=bits.flatten().tolist())]
        small = numpy.arange(120, dtype="u1")
        for name, number in LATER.items():
            tensors.append(onnx.TensorProto(name=name, data_type=number, dims=[120], raw_data=small.tobytes()))
            tensors.append(onnx.TensorProto(name=name + ".typed", data_type=number, dims=[120], int32_data=small.tolist()))
        for name, number in PACKED.items():
            tensors.append(onnx.TensorProto(name=name, data_type=number, dims=[239], raw_data=small.tobytes()))
            tensors.append(onnx.TensorProto(name=name + ".typed", data_type=number, dims=[239], int32_data=small.tolist()))
        rows = tensorstat.read(self.saved(tensors), "count,max,min,avg,argmax,md5")
        self.assertEqual((rows["bfloat16"].dtype, rows["bfloat16"].max), ("bfloat16", 1.1171875))
        for name in LATER | PACKED:
            self.assertEqual((rows[name].dtype, rows[name].count), (name, 239 if name in PACKED else 120))
            self.assertEqual(str(rows[name]), str(rows[name + ".typed"]).replace(".typed", ""))
        self.assertEqual(rows["typed"].md5, hashlib.md5(bits.tobytes()).hexdigest())
        nibbles = numpy.stack([small & 15, small >> 4], 1).flatten()[:239].astype("i1")
        for name, values in ("uint4", nibbles), ("int4", numpy.where(nibbles > 7, nibbles - 16, nibbles)):
            self.assertEqual((rows[name].max, rows[name].min, rows[name].argmax, rows[name].avg),
                             (values.max(), values.min(), values.argmax(), tensorstat.measure(values, "avg").avg))

    def test_constant_nodes(self):
        """The tensor of a Constant node has the name of its output, that of another node NODE.ATTRIBUTE."""
        arrays = {"c0": self.random.standard_normal((3, 4)).astype("f4"), "c1": numpy.array([7, -2], "i8"), "c2": numpy.zeros((0, 2), "f2")}
        nodes = [helper.make_node("Constant", [], [name], name=f"node_{name}", value=numpy_helper.from_array(a, "inner"))
                 for name, a in arrays.items()]
        nodes += [helper.make_node("Constant", [], ["f"], value_float=1.5), helper.make_node("ConstantOfShape", ["c1"], ["s"],
                  value=numpy_helper.from_array(numpy.ones(1, "f4"))), helper.make_node("Add", ["x", "w"], ["y"])]
        values = helper.make_tensor("v", TensorProto.FLOAT, [1], [3.0])
        sparse = helper.make_sparse_tensor(values, helper.make_tensor("i", TensorProto.INT64, [1], [2]), [5])
        x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [1]) for name in "xy")
        weights = self.random.standard_normal(5).astype("f4")
        graph = helper.make_graph(nodes, "g", [x], [y], initializer=[numpy_helper.from_array(weights, "w")])
        onnx.save(helper.make_model(graph), self.path("x.onnx"))
        rows = tensorstat.read(self.path("x.onnx"), STATS)
        self.assertEqual(list(rows), [*arrays, "f", "s.value", "w"])
        for name, array in (arrays | {"w": weights, "f": numpy.float32(1.5), "s.value": numpy.ones(1, "f4")}).items():
            self.check(rows[name], numpy.asarray(array))
        graph.node.append(helper.make_node("Constant", [], ["sparse"], sparse_value=sparse))
        onnx.save(helper.make_model(graph), self.path("x.onnx"))
        rows = tensorstat.read(self.path("x.onnx"), STATS)
        self.check(rows["sparse.values"], numpy.float32([3]))
        self.check(rows["sparse.indices"], numpy.int64([2]))

    def test_numbers_in_attributes(self):
        """Numbers and lists of them in Constant nodes, and lists of floats in others, as ai.onnx.ml has its weights."""
        weights, tensors = self.random.standard_normal(40).astype("f4"), [self.random.standard_normal((2, k)).astype("f4") for k in (1, 2)]
        ints = [0, 1, -1, 127, 128, 300, -2**63, 2**63 - 1]
        nodes = [helper.make_node("Constant", [], ["i"], value_int=-7), helper.make_node("Constant", [], ["is"], value_ints=ints),
                 helper.make_node("Constant", [], ["fs"], value_floats=[1.5, -2.5]), helper.make_node("Constant", [], ["w"], value_float=2.5),
                 helper.make_node("Constant", [], ["text"], value_string="abc"), helper.make_node("Conv", ["x", "w"], ["c"], kernel_shape=[3, 3], alpha=0.5),
                 helper.make_node("LinearClassifier", ["x"], ["y", "z"], name="lc", domain="ai.onnx.ml", coefficients=weights.tolist(), multi_class=1),
                 helper.make_node("Custom", ["x"], ["q"], many=[numpy_helper.from_array(each) for each in tensors])]
        x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [1]) for name in "xy")
        onnx.save(helper.make_model(helper.make_graph(nodes, "g", [x], [y], initializer=[numpy_helper.from_array(weights, "w")])), self.path("x.onnx"))
        wanted = {"i": numpy.int64(-7), "is": numpy.array(ints), "fs": numpy.float32([1.5, -2.5]), "w": numpy.float32(2.5), "lc.coefficients": weights,
                  "q.many.0": tensors[0], "q.many.1": tensors[1], "w#2": weights}
        rows = tensorstat.read(self.path("x.onnx"), STATS)
        self.assertEqual(list(rows), list(wanted))
        for name, array in wanted.items():
            self.check(rows[name], numpy.asarray(array))

    def test_a_file_of_one_tensor(self):
        """As ONNX keeps inputs and outputs of its tests. A model may be called .pb, too; other messages are refused."""
        for array in *self.arrays().values(), numpy.float32(3), numpy.zeros((0, 2), "i4"):
            for name in "x", "":
                message = numpy_helper.from_array(numpy.asarray(array), name)
                with open(self.path("x.pb"), "wb") as file:
                    file.write(message.SerializeToString())
                (row,) = tensorstat.read(self.path("x.pb"), STATS).values()
                self.check(row, numpy.asarray(array))
        os.replace(self.saved([numpy_helper.from_array(numpy.float32([1, 2]), "w")]), self.path("x.pb"))
        self.assertEqual(list(tensorstat.read(self.path("x.pb"), "max")), ["w"])
        for content in (b"", b"\x0a\x07\x0a\x01x\x12\x02Op", b"\x08\x01\x12\x03abc", b"\x10\x00", b"\x01" * 40):
            with open(self.path("x.pb"), "wb") as file:
                file.write(content)
            with self.assertRaisesRegex(tensorstat.Error, "x.pb: a protobuf file that is no tensor and no model of ONNX"):
                tensorstat.read(self.path("x.pb"), "max")

    def body(self, name, arrays, nodes=()):
        """A graph with an initializer "w" and a Constant "c", which are put into `arrays`."""
        w, c = self.random.standard_normal(3).astype("f4"), self.random.standard_normal((2, 2))
        arrays += [("w", w), ("c", c)]
        nodes = [*nodes, helper.make_node("Constant", [], ["c"], value=numpy_helper.from_array(c, "inner"))]
        return helper.make_graph(nodes, name, [], [helper.make_tensor_value_info("w", TensorProto.FLOAT, [3])],
                                 initializer=[numpy_helper.from_array(w, "w")])

    def test_graphs_in_nodes_and_functions(self):
        """Bodies of If and Loop, also inside each other, and local functions. Their tensors may have the same names."""
        then, other, inner, loop, listed, own = ([] for _ in range(6))
        branch = helper.make_node("If", ["d"], ["e"], then_branch=self.body("inner", inner), else_branch=helper.make_graph([], "none", [], []))
        nodes = [helper.make_node("If", ["x"], ["a"], name="if_0", then_branch=self.body("then", then, [branch]), else_branch=self.body("else", other)),
                 helper.make_node("Loop", ["n", "x"], ["b"], body=self.body("loop", loop)),
                 helper.make_node("Custom", ["x"], ["y"], name="many", bodies=[self.body("0", listed), self.body("1", listed)])]
        x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [1]) for name in "xy")
        graph = helper.make_graph(nodes, "g", [x], [y], initializer=[numpy_helper.from_array(numpy.float32([9]), "w")])
        constant = self.random.standard_normal(4).astype("f4")
        function = helper.make_function("org.example", "Scale", ["x"], ["y"], [
            helper.make_node("Constant", [], ["k"], value=numpy_helper.from_array(constant)), helper.make_node("Mul", ["x", "k"], ["y"]),
            helper.make_node("If", ["x"], ["z"], then_branch=self.body("own", own), else_branch=helper.make_graph([], "none", [], []))],
            [helper.make_opsetid("", 15)])
        onnx.save(helper.make_model(graph, functions=[function]), self.path("x.onnx"))
        wanted = {"w": numpy.float32([9]), "org.example.Scale.k": constant}
        for scope, arrays in (("if_0.then_branch.e.then_branch", inner), ("if_0.then_branch", then), ("if_0.else_branch", other),
                              ("b.body", loop), ("many.bodies.0", listed[:2]), ("many.bodies.1", listed[2:]),
                              ("org.example.Scale.z.then_branch", own)):
            wanted |= {f"{scope}.{name}": array for name, array in arrays}
        rows = tensorstat.read(self.path("x.onnx"), STATS)
        self.assertEqual(sorted(rows), sorted(wanted))
        for name, array in wanted.items():
            self.check(rows[name], array)

    def test_graphs_that_are_too_deep_or_named_too_long_are_errors(self):
        def field(number, content):
            out, size = bytes([number << 3 | 2]), len(content)
            while size >= 128:
                out, size = out + bytes([size & 127 | 128]), size >> 7
            return out + bytes([size]) + content
        tensor = field(5, b"\x08\x01\x10\x03\x4a\x01\x07")  # int8 of one element
        def nested(depth, name=b"n"):
            graph = tensor
            for _ in range(depth):
                graph = field(1, field(3, name) + field(5, field(1, b"g") + field(6, graph)))
            return field(7, graph)
        def read(model):
            with open(self.path("x.onnx"), "wb") as file:
                file.write(model)
            return tensorstat.read(self.path("x.onnx"), STATS)
        self.assertEqual([len(name.split(".")) for name in read(nested(32))], [2 * 32 + 2])
        with self.assertRaisesRegex(tensorstat.Error, "graphs more than 32 deep"):
            read(nested(33))
        long = field(3, b"n" * 65000)
        for inside in tensor * 2000, field(1, field(5, field(6, b"") * 2000)):
            with self.assertRaisesRegex(tensorstat.Error, "more than 64 MiB of names"):
                read(field(7, field(1, long + field(5, field(6, inside)))))

    def test_external_data(self):
        arrays = {f"w{i}": self.random.standard_normal((40, 30)).astype("f4") for i in range(3)}
        tensors = [numpy_helper.from_array(a, name) for name, a in arrays.items()]
        for together in True, False:
            path = self.saved(tensors, save_as_external_data=True, all_tensors_to_one_file=together, location="w.data",
                              size_threshold=0)
            self.assertLess(os.path.getsize(path), 2000)
            rows = tensorstat.read(path, STATS)
            for name, array in arrays.items():
                self.check(rows[name], array)
            ran = subprocess.run([os.environ["COMMAND"], ".", "--format", "ndjson", "--on", "host"], cwd=self.folder,
                                 capture_output=True, text=True)
            self.assertEqual((ran.returncode, len(ran.stdout.splitlines())), (0, 3))
            if together:
                self.assertEqual(ran.stderr, "")  # the file of the elements belongs to the model
            for entry in os.scandir(self.folder):
                os.remove(entry.path)

    def external(self, **keys):
        tensor = onnx.TensorProto(name="a", data_type=TensorProto.FLOAT, dims=[2], data_location=1)
        for key, value in keys.items():
            tensor.external_data.add(key=key, value=value)
        return tensor

    def test_a_path_out_of_the_folder_is_refused(self):
        inside = self.path("inside")
        os.mkdir(inside)
        with open(self.path("secret"), "wb") as file:
            file.write(bytes(8))
        self.folder = inside
        for location in "../secret", self.path("../secret"), "/etc/hostname", "a/../../secret", "..", "":
            with self.assertRaisesRegex(tensorstat.Error, "not below the folder of the model: not opened"):
                tensorstat.read(self.saved([self.external(location=location)]), STATS)

    def test_external_data_that_are_wrong_are_errors(self):
        with open(self.path("w"), "wb") as file:
            file.write(bytes(8))
        for keys, words in (({"location": "none"}, "its elements are in another file: .*none: cannot be opened"),
                            ({"location": "w", "offset": "1"}, "needs 8 bytes, and has 8 at 1 of 'w', which has 8"),
                            ({"location": "w", "length": "7"}, "needs 8 bytes, and has 7 at 0"),
                            ({"location": "w", "offset": "18446744073709551615"}, "needs 8 bytes"),
                            ({"location": "w", "offset": "-1"}, "the offset of its elements is '-1', which is no number"),
                            ({"location": "w", "length": "8x"}, "which is no number"),
                            ({"location": "."}, "its elements are in another file: ")):
            with self.assertRaisesRegex(tensorstat.Error, words):
                tensorstat.read(self.saved([self.external(**keys)]), STATS)

    def test_what_is_not_read_is_named_and_the_rest_is_read(self):
        values = helper.make_tensor("s", TensorProto.FLOAT, [1], [3.0])
        sparse = helper.make_sparse_tensor(values, helper.make_tensor("i", TensorProto.INT64, [1], [2]), [5])
        segment = onnx.TensorProto(name="seg", data_type=TensorProto.FLOAT, dims=[1], raw_data=bytes(4))
        segment.segment.begin, segment.segment.end = 0, 1
        tensors = [helper.make_tensor("a", TensorProto.FLOAT, [1], [2.0]), helper.make_tensor("t", TensorProto.STRING, [1], [b"x"]),
                   segment, onnx.TensorProto(name="i2", data_type=26, dims=[4], raw_data=b"\0"),
                   onnx.TensorProto(name="new", data_type=99, dims=[1], raw_data=bytes(4)),
                   onnx.TensorProto(name="short", data_type=1, dims=[2], raw_data=bytes(4)),
                   onnx.TensorProto(name="few", data_type=6, dims=[3], int32_data=[1, 2]),
                   onnx.TensorProto(name="fewer", data_type=6, dims=[3], int32_data=[300, 2]),
                   onnx.TensorProto(name="many", data_type=6, dims=[1], int32_data=[1, 2]),
                   onnx.TensorProto(name="other", data_type=6, dims=[1], int64_data=[1]),
                   onnx.TensorProto(name="both", data_type=6, dims=[1], int32_data=[1], raw_data=bytes(4)),
                   onnx.TensorProto(name="huge", data_type=1, dims=[1 << 62, 1 << 62]),
                   onnx.TensorProto(name="minus", data_type=1, dims=[-1]), helper.make_tensor("b", TensorProto.FLOAT, [1], [4.0])]
        self.saved(tensors, [sparse])
        ran = subprocess.run([os.environ["COMMAND"], "x.onnx", "--format", "ndjson", "--on", "host", "--stats", "max"],
                             cwd=self.folder, capture_output=True, text=True)
        for name, words in (("t", "holds texts, which have no statistics"),
                            ("seg", "is a segment of a tensor"), ("i2", "has the type INT2, which is not read"),
                            ("new", "has the unknown type 99"), ("short", "needs 8 bytes, and it has 4"),
                            ("few", "has at most 2 numbers, and its shape needs 3"), ("fewer", "has 2 numbers, and its shape needs 3"), ("many", "has more numbers, and its shape needs 1"),
                            ("other", "has its elements in a field that INT32 does not use"),
                            ("both", "has elements in more than one field"), ("huge", ""), ("minus", "")):
            self.assertRegex(ran.stderr, rf"x.onnx::{name}: .*{re.escape(words)}")
        rows = [json.loads(line) for line in ran.stdout.splitlines()]
        self.assertEqual([(row["tensor"], row["stats"]["max"]) for row in rows], [("a", 2), ("b", 4), ("s.values", 3), ("s.indices", 2)])

    def test_graphs_of_a_training(self):
        x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [1]) for name in "xy")
        def graph(name, value):
            return helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "g", [x], [y], initializer=[numpy_helper.from_array(numpy.float32([value]), name)])
        model = helper.make_model(graph("w", 1))
        for value in 2, 4:
            info = model.training_info.add()
            info.initialization.CopyFrom(graph("w", value))
            info.algorithm.CopyFrom(graph("lr", value + 1))
        onnx.save(model, self.path("x.onnx"))
        rows = tensorstat.read(self.path("x.onnx"), STATS)
        self.assertEqual({name: row.max for name, row in rows.items()}, {
            "w": 1, "training_info.0.initialization.w": 2, "training_info.0.algorithm.lr": 3, "training_info.1.initialization.w": 4, "training_info.1.algorithm.lr": 5})

    def test_damage_is_an_error(self):
        path = self.saved([helper.make_tensor("a", TensorProto.INT64, [3], [1, 2, 3]),
                           numpy_helper.from_array(numpy.ones(4, "f4"), "b")])
        with open(path, "rb") as file:
            whole = file.read()
        draw = numpy.random.default_rng(1)
        for i in range(600):
            damaged = bytearray(whole[:draw.integers(len(whole))] if i % 2 else whole)
            if i % 2 == 0:
                damaged[draw.integers(len(damaged))] ^= 1 << int(draw.integers(8))
            with open(path, "wb") as file:
                file.write(damaged)
            try:
                for row in tensorstat.read(path, STATS).values():
                    self.assertLess(row.count, 1 << 20)
            except tensorstat.Error:
                pass


if __name__ == "__main__":
    unittest.main()
