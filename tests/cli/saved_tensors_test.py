"""What torch.save wrote on an NPU, in Python 2, with NumPy arrays or DTensors in it is read; a folder is told by first bytes; a
text, an empty state dict and a Git LFS pointer have the status and the words that they should have."""
import json
import os
import struct
import subprocess
import tempfile
import unittest
import zipfile

COMMAND = os.environ["COMMAND"]
VALUES = (1.0, -2.0, float("nan"), 4.0, 5.0, 6.0)


def text(word):
    return b"X" + struct.pack("<I", len(word.encode())) + word.encode()


def integers(*numbers):
    return b"(" + b"".join(b"K" + bytes([each]) for each in numbers) + b"t"


def arguments(storage="FloatStorage"):
    """Of _rebuild_tensor_v2: storage 0, from its first element, of shape (2,3), without gradient and hooks."""
    return (b"(" + text("storage") + b"ctorch\n" + storage.encode() + b"\n" + text("0") + text("cpu") + b"K\x06tQK\x00" +
            integers(2, 3) + integers(3, 1) + b"\x89ccollections\nOrderedDict\n)R")


TENSOR = b"ctorch._utils\n_rebuild_tensor_v2\n(" + arguments() + b"tR"
NPU = b"ctorch_npu.utils.storage\n_rebuild_npu_tensor\n(" + arguments() + b"K\x02tR"


def array(descr, order, shape, data, is_fortran=False, is_bytes=False):
    """ndarray.__reduce__ as pickle writes it, with the elements as bytes or as protocol 2 has them."""
    elements = (b"B" + struct.pack("<I", len(data)) + data if is_bytes else
                b"c_codecs\nencode\n" + text(data.decode("latin1")) + text("latin1") + b"\x86R")
    dtype = b"cnumpy\ndtype\n(" + text(descr) + b"\x89\x88tR(K\x03" + text(order) + b"NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"
    return (b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n" + integers(0) + text("b") + b"tR(K\x01" +
            integers(*shape) + dtype + (b"\x88" if is_fortran else b"\x89") + elements + b"tb")


class SavedTensors(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def save(self, name, objects):
        with zipfile.ZipFile(self.path(name), "w") as made:
            made.writestr("archive/data.pkl", b"\x80\x02" + objects + b".")
            made.writestr("archive/data/0", struct.pack("<6f", *VALUES))
        return name

    def write(self, name, data):
        with open(self.path(name), "wb") as file:
            file.write(data)
        return name

    def run_command(self, *words):
        return subprocess.run([COMMAND, *words, "--on", "host"], cwd=self.folder, capture_output=True, text=True, timeout=120)

    def rows(self, name):
        ran = self.run_command(name, "--format", "ndjson", "--stats", "max,min,count,nan-count,first-nan-index,finite-l2norm")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        return {each.get("tensor"): each for each in map(json.loads, ran.stdout.splitlines())}

    def assert_is_the_tensor(self, row):
        self.assertEqual((row["dtype"], row["shape"]), ("float32", [2, 3]))
        stats = row["stats"]
        self.assertEqual([stats[each] for each in ("count", "nan count", "first nan index", "finite l2norm")], [6, 1, 2, 82 ** 0.5])

    def test_on_an_npu(self):
        rows = self.rows(self.save("x.pt", b"}(" + text("model") + b"}" + text("w") + NPU + b"su"))
        self.assert_is_the_tensor(rows["model.w"])

    def test_of_another_device_moved_to_the_cpu(self):
        moved = b"ctorch._utils\n_rebuild_device_tensor_from_cpu_tensor\n(" + TENSOR + b"ctorch\nfloat32\n" + text("hpu:0") + b"\x89tR"
        self.assert_is_the_tensor(self.rows(self.save("x.pt", b"}" + text("w") + moved + b"s"))["w"])

    def test_by_python_2(self):
        """OrderedDict is a call with a list of pairs."""
        pairs = lambda *items: b"ccollections\nOrderedDict\n(](" + b"".join(b"](" + text(k) + v + b"e" for k, v in items) + b"etR"
        rows = self.rows(self.save("x.pth", pairs(("conv.weight", TENSOR), ("inner", pairs(("b", TENSOR))))))
        self.assertEqual(sorted(rows), ["conv.weight", "inner.b"])
        for row in rows.values():
            self.assert_is_the_tensor(row)

    def test_arrays(self):
        data = struct.pack(">6f", *VALUES)
        for is_bytes in False, True:
            rows = self.rows(self.save("x.pt", b"}(" + text("big") + array("f4", ">", (2, 3), data, False, is_bytes) + text("u") +
                                       array("u1", "|", (4,), b"\x00\x7f\x80\xff", False, is_bytes) + text("f") +
                                       array("i2", "<", (2, 2), struct.pack("<4h", 1, 3, 2, -4), True, is_bytes) + b"u"))
            self.assert_is_the_tensor(rows["big"])
            self.assertEqual([rows["u"]["stats"][each] for each in ("max", "min")], [255, 0])
            self.assertEqual((rows["f"]["shape"], rows["f"]["stats"]["min"]), ([2, 2], -4))

    def test_an_array_that_is_cut_is_named(self):
        ran = self.run_command(self.save("x.pt", b"}(" + text("a") + array("f4", "<", (3,), b"12345678") + text("w") + TENSOR + b"u"))
        self.assertEqual(ran.returncode, 3)
        self.assertRegex(ran.stderr, "'a' is a NumPy array whose pickle is damaged")
        self.assertRegex(ran.stdout, "x.pt::w")

    def test_a_subclass_of_tensor(self):
        marked = (b"ctorch._tensor\n_rebuild_from_type_v2\n(ctorch._utils\n_rebuild_tensor_v2\ncmine\nMarked\n(" + arguments() + b"t}tR")
        self.assert_is_the_tensor(self.rows(self.save("x.pt", b"}" + text("w") + marked + b"s"))["w"])

    def test_a_shard_of_a_dtensor(self):
        shard = (b"ctorch._tensor\n_rebuild_from_type_v2\n(ctorch._utils\n_rebuild_wrapper_subclass\nctorch.distributed.tensor\n"
                 b"DTensor\n)N}" + text("_local_tensor") + TENSOR + b"s\x86tR")
        rows = self.rows(self.save("x.pt", b"}" + text("w") + shard + b"s"))
        self.assert_is_the_tensor(rows["w._local_tensor"])

    def test_where_a_shard_lies(self):
        """A DTensorSpec as torch 2.6 and 2.14 pickle it: the names of the mesh's axes have another key in each."""
        def instance(name, state):
            return b"c" + name.encode() + b"\n)\x81}(" + state + b"ub"
        placements = "torch.distributed.tensor.placement_types\n"
        size = b"ctorch\nSize\n" + integers(6, 4) + b"\x85R"
        for key in ("mesh_dim_names", "_mesh_dim_names"):
            mesh = instance("torch.distributed.device_mesh\nDeviceMesh", text("mesh") + TENSOR + text(key) + text("dp") + text("tp") + b"\x86")
            spec = instance("torch.distributed.tensor._dtensor_spec\nDTensorSpec",
                            text("mesh") + mesh + text("placements") + instance(placements + "Shard", text("dim") + b"K\x00") +
                            b"c" + placements.encode() + b"Replicate\n)\x81\x86" +
                            text("tensor_meta") + b"ctorch.distributed.tensor._dtensor_spec\nTensorMeta\n" + size + integers(4, 1) + b"N\x87\x81")
            shard = (b"ctorch._tensor\n_rebuild_from_type_v2\n(ctorch._utils\n_rebuild_wrapper_subclass\nctorch.distributed.tensor\n"
                     b"DTensor\n)N}(" + text("_local_tensor") + TENSOR + text("_spec") + spec + b"u\x86tR")
            rows = self.rows(self.save("x.pt", b"}(" + text("w") + shard + text("b") + TENSOR + b"u"))
            self.assertEqual(sorted(rows), ["b", "w._local_tensor"])  # the ranks of the mesh are not a tensor of the model
            self.assert_is_the_tensor(rows["w._local_tensor"])
            self.assertEqual(rows["w._local_tensor"]["shard"], "Shard(dim=0) over dp, Replicate() over tp, of shape (6,4)")
            self.assertNotIn("shard", rows["b"])

    def test_names_that_collide(self):
        rows = self.rows(self.save("x.pt", b"}(" + text("a.b") + TENSOR + text("a") + b"}" + text("b") + NPU + b"su"))
        self.assertEqual(sorted(rows), ["a.b", "a.b#2"])

    def test_what_is_not_read_is_named(self):
        for function, words in (("_rebuild_qtensor", "is quantized"), ("_rebuild_sparse_tensor", "is sparse")):
            ran = self.run_command(self.save("x.pt", b"}" + text("w") + b"ctorch._utils\n" + function.encode() + b"\n(" +
                                             arguments() + b"tRs"))
            self.assertEqual(ran.returncode, 3, ran.stderr)
            self.assertRegex(ran.stderr, "'w' " + words)

    def test_a_note_is_no_error(self):
        self.save("scheduler.pt", b"}" + text("lr") + b"K\x01s")
        self.save("model.pt", b"}" + text("w") + TENSOR + b"s")
        ran = self.run_command("scheduler.pt")
        self.assertEqual((ran.returncode, ran.stderr), (0, "tensorstat: scheduler.pt: holds no tensor\n"))
        self.assertEqual(self.run_command(".", "--fail-on", "inf").returncode, 0)
        self.assertEqual(self.run_command(".", "--fail-on", "nan").returncode, 1)
        self.assertEqual(self.run_command("scheduler.pt", "-q").stderr, "")
        diff = subprocess.run([COMMAND, "diff", ".", "."], cwd=self.folder, capture_output=True, text=True, timeout=120)
        self.assertEqual((diff.returncode, diff.stderr), (0, "tensorstat: ./scheduler.pt: holds no tensor\n" * 2))  # of each side

    def test_a_folder_is_told_by_first_bytes(self):
        for name in "checkpoint-1000", "ip-adapter.bin", "w.sft":
            os.mkdir(self.path("folder"))
            self.save("folder/" + name, b"}" + text("w") + TENSOR + b"s")
            self.assertEqual(self.run_command("folder", "--fail-on", "nan", "-q").returncode, 1, name)
            os.remove(self.path("folder/" + name))
            os.rmdir(self.path("folder"))
        # Other zip archives are refused.
        self.save("model.pt", b"}" + text("w") + TENSOR + b"s")
        with zipfile.ZipFile(self.path("text.docx"), "w") as made:
            made.writestr("word/document.xml", "<a/>")
        self.write("counts.raw", struct.pack("<3q", 20, 10, 1))  # as a dump of Ascend's may begin
        ran = self.run_command(".", "--fail-on", "inf")
        self.assertEqual(ran.returncode, 0, ran.stderr)

    def test_pairs_of_float4_in_a_byte(self):
        """float4_e2m1fn_x2 as torch saves it, by _rebuild_tensor_v3: (2,3) bytes are (2,3,2) values, the low half first."""
        stored = b"(" + text("storage") + b"ctorch\nUntypedStorage\n" + text("0") + text("cpu") + b"K\x06tQ"
        def pairs(shape, stride):
            return (b"ctorch._utils\n_rebuild_tensor_v3\n(" + stored + b"K\x00" + integers(*shape) + integers(*stride) +
                    b"\x89ccollections\nOrderedDict\n)Rctorch\nfloat4_e2m1fn_x2\n}tR")
        with zipfile.ZipFile(self.path("x.pt"), "w") as made:
            made.writestr("archive/data.pkl", b"\x80\x02}" + text("w") + pairs((2, 3), (3, 1)) + b"s.")
            made.writestr("archive/data/0", bytes([0x10, 0x32, 0x54, 0x76, 0x98, 0xba]))  # 0 0.5 1 1.5 2 3 4 6 -0 -0.5 -1 -1.5
        row = json.loads(self.run_command("x.pt", "--format", "ndjson", "--stats", "max,argmax,min,argmin,count,zero-count").stdout)
        self.assertEqual((row["dtype"], row["shape"], row["bytes"]), ("float4_e2m1fn", [2, 3, 2], 6))
        self.assertEqual([row["stats"][each] for each in ("max", "argmax", "min", "argmin", "count", "zero count")],
                         [6, 7, -1.5, 11, 12, 2])
        with zipfile.ZipFile(self.path("y.pt"), "w") as made:
            made.writestr("archive/data.pkl", b"\x80\x02}" + text("w") + pairs((3, 2), (1, 3)) + b"s.")
            made.writestr("archive/data/0", bytes(6))
        ran = self.run_command("y.pt")
        self.assertEqual((ran.returncode, ran.stderr), (3, "tensorstat: y.pt::w: holds pairs of float4_e2m1fn that lie apart, which are not read\n"))

    def test_states_of_an_optimizer_have_the_names_of_its_parameters(self):
        def names(*words):
            return b"](" + b"".join(map(text, words)) + b"e"
        def numbers(*numbers):
            return b"](" + b"".join(b"K" + bytes([each]) for each in numbers) + b"e"
        def group(keys, words):
            return b"}(" + text("params") + numbers(*keys) + text("param_names") + names(*words) + b"u"
        state = b"}(" + b"".join(b"K" + bytes([key]) + b"}" + text("exp_avg") + TENSOR + b"s" for key in (0, 1, 2, 3)) + b"u"
        groups = b"](" + group((0, 1), ("a.weight", "a.bias")) + group((2,), ("b.weight", "c")) + group((3,), ("b.bias",)) + b"e"
        self.save("x.pt", b"}" + text("optimizer") + b"}(" + text("state") + state + text("param_groups") + groups + b"us")
        self.assertEqual(list(self.rows("x.pt")), ["optimizer.state." + each + ".exp_avg" for each in ("a.weight", "a.bias", "2", "b.bias")])

    def test_constants_of_the_code_of_a_scripted_module(self):
        with zipfile.ZipFile(self.path("x.pt"), "w") as made:
            made.writestr("archive/data.pkl", b"\x80\x02}" + text("w") + TENSOR + b"s.")
            made.writestr("archive/data/0", struct.pack("<6f", *VALUES))
            made.writestr("archive/constants.pkl", b"\x80\x02(" + TENSOR + TENSOR.replace(text("0"), text("1")) + b"t.")
            made.writestr("archive/constants/0", struct.pack("<6f", *[7] * 6))
            made.writestr("archive/constants/1", struct.pack("<6f", *[8] * 6))
        rows = self.rows("x.pt")
        self.assertEqual([(name, row["stats"]["max"]) for name, row in rows.items()], [("w", "nan"), ("constants.0", 7), ("constants.1", 8)])

    def test_exported_programs(self):
        """.pt2 of torch.export: lists in JSON beside members of plain bytes (2.8 and later), and files of torch.save in it (before)."""
        def entry(path, dtype, sizes, strides, offset=0, **more):
            as_ints = lambda numbers: [{"as_int": each} for each in numbers]
            return {"path_name": path, "use_pickle": False, "tensor_meta": {"dtype": dtype, "sizes": as_ints(sizes), "strides": as_ints(strides),
                                                                            "storage_offset": {"as_int": offset}}} | more
        weights = {"l.weight": entry("weight_0", 7, (2, 3), (3, 1)), "l.t": entry("weight_0", 7, (3, 2), (1, 3)), "l.tail": entry("weight_0", 7, (2,), (1,), 4)}
        constants = {"c": entry("tensor_0", 5, (1,), (1,))}
        with zipfile.ZipFile(self.path("x.pt2"), "w") as made:
            made.writestr("x/data/weights/weight_0", struct.pack("<6f", *VALUES))
            made.writestr("x/data/weights/model_weights_config.json", json.dumps({"config": weights}))
            made.writestr("x/data/constants/tensor_0", struct.pack("<q", -5))
            made.writestr("x/data/constants/model_constants_config.json", json.dumps({"config": constants}))
            made.writestr("x/data/sample_inputs/model.pt", b"not read")
        rows = self.rows("x.pt2")
        self.assertEqual([(name, row["dtype"], row["shape"]) for name, row in rows.items()],
                         [("l.weight", "float32", [2, 3]), ("l.t", "float32", [3, 2]), ("l.tail", "float32", [2]), ("c", "int64", [1])])
        self.assertEqual([rows[name]["stats"]["first nan index"] for name in ("l.weight", "l.t")], [2, 4])
        self.assertEqual((rows["l.tail"]["stats"]["min"], rows["c"]["stats"]["max"]), (5, -5))
        wrong = {"far": entry("weight_0", 7, (2, 3), (3, 1), 1), "lost": entry("weight_9", 7, (1,), (1,)), "new": entry("weight_0", 99, (1,), (1,)),
                 "pickled": entry("weight_0", 7, (1,), (1,), use_pickle=True), "bare": {}, "w": entry("weight_0", 7, (6,), (1,))}
        with zipfile.ZipFile(self.path("y.pt2"), "w") as made:
            made.writestr("x/data/weights/weight_0", struct.pack("<6f", *VALUES))
            made.writestr("x/data/weights/model_weights_config.json", json.dumps({"config": wrong}))
        ran = self.run_command("y.pt2", "--format", "csv")
        self.assertEqual((ran.returncode, len(ran.stdout.splitlines())), (3, 2))
        for name, words in (("far", "has elements up to 1 + 6 of a storage of 6"), ("lost", "the archive has no storage 'weight_9'"),
                            ("new", "has the dtype 99"), ("pickled", "is pickled"), ("bare", "is not described")):
            self.assertIn(f"y.pt2::{name}: {words}", ran.stderr)
        named = self.run_command("y.pt2::lost")  # a named tensor that cannot be read has its reason
        self.assertEqual((named.returncode, named.stderr), (3, "tensorstat: y.pt2::lost: the archive has no storage 'weight_9'\n"))
        self.save("state.pt", b"}" + text("w") + TENSOR + b"s")
        with open(self.path("state.pt"), "rb") as file, zipfile.ZipFile(self.path("z.pt2"), "w") as made:
            made.writestr("serialized_exported_program.json", "{}")
            made.writestr("serialized_state_dict.pt", file.read())
        self.assert_is_the_tensor(self.rows("z.pt2")["w"])

    def test_what_is_missed_in_a_folder_is_said(self):
        self.save("model.pt", b"}" + text("w") + TENSOR + b"s")
        self.write("notes.txt", b"a text of some length")
        self.assertEqual(self.run_command(".").returncode, 0)
        self.write("state.pkl", b"\x80\x04\x95" + b"x" * 32)
        ran = self.run_command(".", "--fail-on", "inf", "-q")
        self.assertEqual((ran.returncode, ran.stderr), (3, "tensorstat: 1 file not read: state.pkl (a pickle) (--verbose)\n"))

    def test_what_is_no_file_of_tensors(self):
        pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 12345\n"
        page = b"<!DOCTYPE html>\n<html><body>Sign in</body></html>\n"
        answer = b'{"error": "Repository not found"}\n'
        for name in "m.safetensors", "pytorch_model.bin", "m.pt", "m.onnx", "m.gguf", "m.h5", "m.npz", "m.npy", "m.ckpt", "m.pb", "m":
            for data, words in ((pointer, "is a Git LFS pointer, and not the file itself: `git lfs pull` brings it"),
                                (page, "is an HTML page"), (answer, "is JSON, and no file of tensors"),
                                (b"Hello, this is a text.\n", "is a text, and no file of tensors")):
                ran = self.run_command(self.write(name, data))
                self.assertEqual(ran.returncode, 3)
                self.assertIn(f"{name}: {words}", ran.stderr)

    def test_hdf5_behind_a_user_block_is_tried(self):
        self.write("a.mat", b"MATLAB 7.3 MAT-file".ljust(512, b"\0") + b"\x89HDF\r\n\x1a\n" + b"\0" * 512)
        ran = self.run_command("a.mat")
        self.assertEqual(ran.returncode, 3)
        self.assertRegex(ran.stderr, "hdf5")


if __name__ == "__main__":
    unittest.main()
