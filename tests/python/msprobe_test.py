"""msprobe itself is the judge of dump.json. Where MSPROBE names the folder `python` of its sources (github Ascend/msprobe)
and its packages are installed (tests/cli/msprobe_rules_test.py names them), its PrecisionDebugger dumps a model that is
trained: the rows that are read say what msprobe says, the values are those of the tensors, and its compare takes what a
session writes of the same tensors for the same dump, what `tensorstat convert` makes of a dump, and what tensorstat.watch()
leaves of the same training."""
import collections
import csv
import glob
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import types
import unittest
import zlib

import tensorstat

try:
    import numpy
    import torch
except ImportError:
    torch = None

MSPROBE = os.environ.get("MSPROBE")
DEBUGGER = os.path.join(os.path.dirname(__file__), "../support/precision_debugger.py")
STATISTICS = {"Max": "max", "Min": "min", "Mean": "avg", "Norm": "l2norm"}
HALVES = {"torch.float16": 2 ** -9, "torch.bfloat16": 2 ** -6}  # msprobe computes with them


def leaves_of(value):
    """The tensors in a member of a call, in order."""
    if isinstance(value, list):
        return [leaf for each in value for leaf in leaves_of(each)]
    if not isinstance(value, dict):
        return []
    if "type" in value:
        return [value] if "dtype" in value and "shape" in value else []
    return [leaf for each in value.values() for leaf in leaves_of(each)]


def is_equal(a, b):
    return a is None and b is None or a == b or (a is not None and b is not None and a != a and b != b)


@unittest.skipUnless(MSPROBE and torch, "MSPROBE names no sources of msprobe, or there is no torch")
class Judged(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.dumps, cls.watched = {}, {}
        for level in ("L0", "L1", "mix"):
            for task, summary in (("statistics", "statistics"), ("statistics", "md5"), ("tensor", "md5")):
                folder = f"{cls.scratch.name}/{level}_{task}_{summary}"
                os.mkdir(folder)
                subprocess.run([sys.executable, DEBUGGER, MSPROBE, folder, level, task, summary], check=True, capture_output=True)
                cls.dumps[level, task, summary] = sorted(glob.glob(f"{folder}/dump/step*/*/dump.json"))
                if level == "L0":
                    folder += "_ours"
                    os.mkdir(folder)
                    subprocess.run([sys.executable, DEBUGGER, MSPROBE, folder, level, task, summary, "ours"], check=True)
                    cls.watched[task, summary] = sorted(glob.glob(f"{folder}/dump/step*/rank0/dump.json"))

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def calls_of(self, path):
        with open(path, encoding="utf-8") as file:
            data = json.load(file)["data"]
        return {call: {member: leaves_of(value) for member, value in members.items()} for call, members in data.items()}

    def test_rows_say_what_msprobe_says(self):
        counted = collections.Counter()
        for choice, paths in self.dumps.items():
            self.assertEqual(len(paths), 2, choice)
            for path in paths:
                wanted = [(call, leaf) for call, members in self.calls_of(path).items() for leaves in members.values() for leaf in leaves]
                rows = tensorstat.read(path)
                self.assertEqual(len(rows), len(wanted), path)
                for row, (call, leaf) in zip(rows, wanted):
                    self.assertEqual((row["op name"], "torch." + row["data type"], list(row["shape"])), (call, leaf["dtype"], leaf["shape"]))
                    self.assertEqual(row["requires_grad"], str(leaf["requires_grad"]))
                    self.assertEqual(row.get("crc32"), leaf.get("md5"))
                    if "data_name" in leaf and ".parameters_grad." not in leaf["data_name"]:
                        self.assertEqual(row["tensor"] + ".pt", leaf["data_name"])
                    for theirs, ours in STATISTICS.items():
                        counted["values"] += 1
                        self.assertTrue(is_equal(row[ours], leaf[theirs]), (path, call, theirs, row[ours], leaf[theirs]))
                counted["rows"] += len(rows)
        self.assertGreater(counted["rows"], 1500)

    def tensor_of(self, path, leaf):
        if "data_name" not in leaf:  # it has no elements
            return torch.empty(leaf["shape"], dtype=getattr(torch, leaf["dtype"].removeprefix("torch.")))
        return torch.load(f"{os.path.dirname(path)}/dump_tensor_data/{leaf['data_name']}").detach()

    def test_values_are_those_of_the_tensors(self):
        """msprobe's own arithmetic is float32's, or the half type's; a tensor without dimensions is its own norm."""
        checked = 0
        for path in self.dumps["mix", "tensor", "md5"]:
            for members in self.calls_of(path).values():
                for leaf in (leaf for leaves in members.values() for leaf in leaves if "data_name" in leaf):
                    tensor = self.tensor_of(path, leaf)
                    bits = tensor.contiguous().view(torch.int16) if tensor.dtype == torch.bfloat16 else tensor.contiguous()
                    self.assertEqual(f"{zlib.crc32(bits.numpy().tobytes()):08x}", leaf["md5"], leaf)
                    statistics = tensorstat.measure(tensor, stats="max,min,avg,l2norm")
                    for theirs, ours in STATISTICS.items():
                        value = leaf[theirs]
                        if value is None or (tensor.dim() == 0 and theirs == "Norm"):
                            continue
                        checked += 1
                        if theirs in ("Max", "Min") or not math.isfinite(value):
                            self.assertTrue(is_equal(statistics[ours], value), (leaf, ours, statistics[ours]))
                        else:
                            scale = leaf["Norm"] / math.sqrt(tensor.numel()) if theirs == "Mean" else abs(value)
                            bound = HALVES.get(leaf["dtype"], 2e-6) * max(abs(value), scale)
                            self.assertLessEqual(abs(statistics[ours] - value), bound, (leaf, ours))
        self.assertGreater(checked, 1000)

    def assert_same(self, theirs, ours, where):
        """The same, but for the last digits of what msprobe computes in float32, for what its version leaves out of
        integers (null), and for the endings of files."""
        self.assertEqual(isinstance(theirs, dict), isinstance(ours, dict), where)
        if not isinstance(theirs, dict):
            self.assertEqual(isinstance(theirs, list), isinstance(ours, list), where)
            if not isinstance(theirs, list):
                return self.assertEqual(theirs, ours, where)
            self.assertEqual(len(theirs), len(ours), where)
            for index, pair in enumerate(zip(theirs, ours)):
                self.assert_same(*pair, (*where, index))
            return
        self.assertEqual(list(theirs), list(ours), where)
        for name in theirs:
            a, b = theirs[name], ours[name]
            if name == "data_name":
                self.assertEqual(a.removesuffix(".pt"), b.removesuffix(".npy"), where)
            elif name in ("Mean", "Norm") and "dtype" in theirs:
                self.counted["reals"] += 1
                if a is None:
                    self.assertEqual(theirs["dtype"], "torch.int64", where)
                else:
                    scale = theirs["Norm"] / math.sqrt(max(1, math.prod(theirs["shape"]))) if name == "Mean" else 0
                    self.assertLessEqual(abs(a - b), 2e-6 * max(abs(a), scale), (where, name))
            else:
                self.assert_same(a, b, (*where, name))

    def test_watch_leaves_what_the_debugger_leaves(self):
        """Names, order, places, types, extrema and checksums are equal; the rest to the last digits."""
        self.counted = collections.Counter()
        for choice, paths in self.watched.items():
            self.assertEqual(len(paths), 2, choice)
            for theirs, ours in zip(self.dumps["L0", *choice], paths):
                with open(theirs, encoding="utf-8") as their_file, open(ours, encoding="utf-8") as our_file:
                    a, b = json.load(their_file), json.load(our_file)
                self.assertEqual(list(a), list(b))
                self.assertEqual([a["task"], a["level"], a["framework"]], [b["task"], b["level"], b["framework"]])
                self.assertEqual(list(a["data"]), list(b["data"]))
                self.assertTrue(any(".backward." in call for call in a["data"]))
                self.assert_same(a["data"], b["data"], (ours,))
        self.assertGreater(self.counted["reals"], 200)

    def test_compare_takes_what_watch_leaves(self):
        for choice in (choice for choice in self.watched if choice[0] == "statistics"):  # of tensors it reads PyTorch's own files alone
            for theirs, ours in zip(self.dumps["L0", *choice], self.watched[choice]):
                with self.subTest(choice=choice), tempfile.TemporaryDirectory() as folder:
                    rows = self.compared(ours, theirs, f"{folder}/out")
                    self.assertEqual(len(rows), len(tensorstat.read(theirs)))
                    self.assertEqual({(row["Result"], row["Err_message"]) for row in rows}, {("pass", "[]")})
                    self.assertEqual([row["NPU Name"] for row in rows], [row["Bench Name"] for row in rows])

    def write_session(self, path, folder):
        """Hands the tensors of a dump over, as a backend would."""
        with open(path, encoding="utf-8") as file:
            data = json.load(file)["data"]
        config = {"task": "statistics", "dump_path": folder, "level": "mix", "statistics": {"summary_mode": "statistics"}}
        with tensorstat.DumpSession(json.dumps(config), framework="pytorch") as session:
            for call, members in data.items():
                def held(*names):
                    tensors = []
                    for leaf in (leaf for name in names for leaf in leaves_of(members.get(name))):
                        tensor = self.tensor_of(path, leaf)
                        tensors.append(tensor.requires_grad_() if leaf["requires_grad"] else tensor)
                    return tensors
                inputs = held("input_args", "input_kwargs", "parameters", "input")
                outputs = held("output") if "output" in members else held(*members)
                session.collect(call.split(".")[-3], call, inputs=inputs, outputs=outputs)
            self.assertIs(session.step_end(), True)
            self.assertEqual(session.counters["lost_row_count"], 0)
        return f"{folder}/step0/rank0/dump.json"

    def compared(self, npu, bench, out):
        """The rows of msprobe's compare."""
        program = ("import sys, types\n"
                   "sys.modules['einops'] = types.ModuleType('einops')\n"
                   "sys.modules['einops'].rearrange = None\n"
                   "sys.path.insert(0, sys.argv[1])\n"
                   "sys.argv = ['msprobe', 'compare', '-tp', sys.argv[2], '-gp', sys.argv[3], '-o', sys.argv[4]]\n"
                   "from msprobe.msprobe import main\n"
                   "main()\n")
        ran = subprocess.run([sys.executable, "-c", program, MSPROBE, npu, bench, out], capture_output=True, text=True)
        made = glob.glob(f"{out}/*.csv")
        self.assertEqual(len(made), 1, ran.stdout + ran.stderr)
        with open(made[0], newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def test_compare_takes_a_sessions_dump(self):
        for level in ("L0", "L1", "mix"):
            with self.subTest(level=level), tempfile.TemporaryDirectory() as folder:
                theirs = self.dumps[level, "tensor", "md5"][0]
                ours = self.write_session(theirs, f"{folder}/ours")
                again = self.write_session(theirs, f"{folder}/again")
                count = len(tensorstat.read(theirs))
                self.assertEqual(len(tensorstat.read(ours)), count)
                rows = self.compared(ours, again, f"{folder}/same")
                self.assertEqual(len(rows), count)
                self.assertEqual({(row["Result"], row["Err_message"]) for row in rows}, {("pass", "[]")})

    def test_compare_takes_what_convert_makes(self):
        for level in ("L0", "L1", "mix"):
            with self.subTest(level=level), tempfile.TemporaryDirectory() as folder:
                for theirs in self.dumps[level, "statistics", "statistics"] + self.dumps[level, "statistics", "md5"]:
                    made = f"{folder}/{len(os.listdir(folder))}"
                    os.mkdir(made)
                    ran = subprocess.run([os.environ["COMMAND"], "convert", theirs, "-o", f"{made}/dump.json", "--to", "msprobe"],
                                         capture_output=True, text=True)
                    self.assertEqual((ran.returncode, ran.stderr.count("\n")), (0, 1), "nothing is lost: " + ran.stderr)
                    rows = self.compared(theirs, f"{made}/dump.json", f"{made}/out")
                    self.assertEqual({(row["Result"], row["Err_message"]) for row in rows}, {("pass", "[]")})
                    self.assertGreaterEqual(len(rows), len(tensorstat.read(theirs)))
                    self.assertEqual([row["NPU Name"] for row in rows], [row["Bench Name"] for row in rows])
                    with open(theirs, encoding="utf-8") as before, open(f"{made}/dump.json", encoding="utf-8") as after:
                        self.assertEqual(repr(json.load(before)["data"]), repr(json.load(after)["data"]))

    def as_replayed(self, value):
        """The facts that a replay of the tensors as .npy has: no file, no checksum, no arithmetic but msprobe's own."""
        if isinstance(value, list):
            return [self.as_replayed(each) for each in value]
        if not isinstance(value, dict):
            return value
        if "dtype" in value and "shape" in value:
            if "data_name" not in value:
                return None  # it has no elements, and no file
            value = {**value, "dtype": value["dtype"].replace("bfloat16", "float32")}  # NumPy has no bfloat16
            return {name: value[name] for name in value if name not in ("data_name", "md5", "Mean", "Norm")}
        return {name: self.as_replayed(each) for name, each in value.items()}

    def test_replay_keeps_the_places_of_tensors(self):
        """msprobe's tree of tensors, as .npy, through its config: the calls, their order, and what stands where."""
        counted = 0
        for level in ("L0", "L1", "mix"):
            theirs = self.dumps[level, "tensor", "md5"][0]
            with self.subTest(level=level), tempfile.TemporaryDirectory() as folder:
                tree = f"{folder}/step0/rank0"
                os.makedirs(f"{tree}/dump_tensor_data")
                shutil.copy(theirs, tree)
                for path in glob.glob(f"{os.path.dirname(theirs)}/dump_tensor_data/*.pt"):
                    tensor = torch.load(path).detach()
                    tensor = tensor.float() if tensor.dtype == torch.bfloat16 else tensor
                    numpy.save(f"{tree}/dump_tensor_data/{os.path.basename(path).removesuffix('.pt')}.npy", tensor.numpy())
                with open(f"{folder}/config.json", "w", encoding="utf-8") as file:
                    json.dump({"task": "statistics", "dump_path": "/elsewhere", "level": "mix"}, file)
                subprocess.run([os.environ["COMMAND"], "dump", "--config", f"{folder}/config.json", tree, "-o", f"{folder}/out",
                                "--framework", "pytorch"], check=True, capture_output=True)
                with open(theirs, encoding="utf-8") as before, open(f"{folder}/out/step0/rank0/dump.json", encoding="utf-8") as after:
                    wanted, replay = (json.load(file, parse_constant=str)["data"] for file in (before, after))
                wanted = {call: members for call, members in wanted.items() if '"data_name"' in json.dumps(members)}
                self.assertEqual(list(wanted), list(replay))
                for call, members in wanted.items():
                    for leaf in (leaf for leaves in replay[call].values() for leaf in leaves_of(leaves)):
                        del leaf["Mean"], leaf["Norm"]
                        counted += 1
                    self.assert_same(self.as_replayed(members), replay[call], (call,))
        self.assertGreater(counted, 300)


if __name__ == "__main__":
    unittest.main()
