"""compare() and origin() give what the rows and the tensors say, with Python's numbers."""
import importlib.util
import math
import os
import pathlib
import tempfile
import unittest

import numpy
import tensorstat

HEADING = "Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape,Max Value,Min Value\n"


def dump(path, values):
    """Rows of three operators, as MindSpore 2.7 writes them; `values` are the max of input and output in turn."""
    os.makedirs(os.path.dirname(path))
    with open(path, "w", encoding="utf-8") as file:
        file.write(HEADING)
        for i, value in enumerate(values):
            file.write(f"Op,net_Op-op{i // 2},0,0,{100 + i},{'output' if i % 2 else 'input'},0,24,float32,\"(6)\",{value},-1,\n")


class Compare(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def dump(self, name, values):
        dump(str(self.folder / name / "rank_3/net/0/5/statistic.csv"), values)
        return self.folder / name

    def test_the_first_operator_to_differ(self):
        a, b = self.dump("a", [1, 2, 2, 3, 3, 4]), self.dump("b", [1, 2, 2, "nan", "nan", 7])
        answer = tensorstat.compare(a, b, first=True)
        self.assertEqual((answer["compared"], answer["different"]), (6, 3))
        (first,) = answer["first"]
        self.assertEqual((first["op_name"], first["rank"], first["iteration"], first["io"]), ("net_Op-op1", 3, 5, "output"))
        self.assertEqual(first["added"], math.inf)
        self.assertTrue(math.isnan(answer["pairs"][3]["stats"]["max"]["b"]))

    def test_tolerances_and_names(self):
        a, b = self.dump("a", [1, 2]), self.dump("b", [1, 2.1])
        self.assertEqual(tensorstat.compare(a, b)["different"], 1)
        self.assertEqual(tensorstat.compare(a, b, rtol=0.1)["different"], 0)
        self.assertEqual(tensorstat.compare(a, b, tolerances="net_Op-op. rtol=0.1")["different"], 0)
        names = self.folder / "names"
        names.write_text("net_*,other_*\n", encoding="utf-8")
        self.assertEqual(len(tensorstat.compare(a, b, names=names)["unmatched_a"]), 2)
        for wrong in ({"tolerances": "( rtol=1"}, {"atol": 1.0}, {"rtol": math.nan}):
            with self.assertRaises(tensorstat.Error):
                tensorstat.compare(a, b, **wrong)

    def test_tensors(self):
        numpy.savez(self.folder / "a.npz", x=numpy.float32([1, 2, 3]), y=numpy.arange(4))
        numpy.savez(self.folder / "b.npz", x=numpy.float32([1, 3, 2]), y=numpy.arange(4))
        x, y = tensorstat.compare(self.folder / "a.npz", self.folder / "b.npz")["pairs"]
        self.assertEqual((x["verdict"], y["verdict"]), ("different", "equal"))
        self.assertEqual((x["elements"]["unequal"], x["elements"]["max abs diff"]), (2, 1))

    def test_two_arrays(self):
        random = numpy.random.default_rng(16)
        b = random.standard_normal((50, 70)).astype(numpy.float32)
        a = (b + numpy.float32(1e-3) * random.standard_normal(b.shape)).astype(numpy.float32)
        a[3, 4], b[3, 4], a[5, 6] = numpy.nan, numpy.nan, b[5, 6] + 9
        statistics = tensorstat.compare(a, b, rtol=1e-2, atol=1e-3)
        ok = ~numpy.isnan(a)
        x, y = a[ok].astype(numpy.longdouble), b[ok].astype(numpy.longdouble)
        cosine = (x * y).sum() / numpy.sqrt((x * x).sum() * (y * y).sum())
        self.assertAlmostEqual(statistics["cosine"], float(cosine), delta=1e-15)
        self.assertAlmostEqual(statistics["euclidean"], float(numpy.sqrt(((x - y) ** 2).sum())), delta=1e-14)
        self.assertEqual(statistics["max abs diff"], float(abs(x - y).max()))
        self.assertEqual(statistics["max abs diff index"], 5 * 70 + 6)
        self.assertEqual(statistics["within count"], numpy.isclose(x, y, 1e-2, 1e-3).sum() + 1)
        self.assertEqual((statistics["count"], statistics["both nan count"], statistics["nan alone count"]), (3500, 1, 0))
        self.assertEqual(tensorstat.compare(b[::2], b[::2].astype(numpy.float64))["unequal count"], 0)
        self.assertEqual(statistics, tensorstat.Meter(threads=1).compare(a, b, rtol=1e-2, atol=1e-3))
        self.assertEqual(statistics, tensorstat.Meter().compare(a, b, rtol=1e-2, atol=1e-3, on="host"))
        with self.assertRaises(tensorstat.Error):
            tensorstat.Meter().compare(a, b, on="elsewhere")
        for wrong in ((a, b.T, {}), (a, b, {"rtol": -1.0}), (a, b, {"scale": "a"}), (a, b, {"first": True}), (a, "b", {})):
            with self.assertRaises(tensorstat.Error):
                tensorstat.compare(wrong[0], wrong[1], **wrong[2])

    def test_two_state_dicts(self):
        a = {"w": numpy.float32([1, 2, 3]), "same": numpy.arange(4), "near": numpy.float32([1, 2]), "long": numpy.zeros(3),
             "wide": numpy.ones(2, "f4"), "text": numpy.array(["a"]), "only a": numpy.ones(1), "nan": numpy.array([math.nan]),
             "complex": numpy.complex64([1, 2j, 3]), "phase": numpy.complex128([[1, 2j]]).T, "turned": numpy.complex64([1 + 2j])}
        b = {"w": numpy.float32([1, 3, 2]), "same": numpy.arange(4), "near": numpy.float32([1, 2.000001]), "long": numpy.zeros(4),
             "wide": numpy.ones(2), "text": numpy.array(["a"]), "only b": numpy.ones(1), "nan": numpy.array([math.nan]),
             "complex": numpy.complex64([1, 2j, 3]), "phase": numpy.complex128([[1], [2.000001j]]), "turned": numpy.complex64([2 + 1j])}
        answer = tensorstat.compare(a, b)
        self.assertEqual({pair["a"]: pair["verdict"] for pair in answer["pairs"]},
                         {"w": "different", "same": "equal", "near": "within", "long": "different", "wide": "different",
                          "text": "different", "nan": "equal", "complex": "equal", "phase": "within", "turned": "different"})
        self.assertEqual((answer["compared"], answer["different"], answer["unmatched_a"], answer["unmatched_b"]),
                         (10, 5, ["only a"], ["only b"]))
        why = {pair["a"]: pair["why"] for pair in answer["pairs"]}
        self.assertEqual((why["w"], why["long"], why["wide"]),
                         ("2 of 3 elements", "shape (3,) and (4,)", "dtype float32 and float64"))
        self.assertEqual(why["turned"], "2 of 2 parts")
        self.assertIn("<U1", why["text"])
        self.assertEqual(answer["pairs"][0]["elements"]["max abs diff"], 1)
        # As of the same tensors in files.
        files = [self.folder / "a.npz", self.folder / "b.npz"]
        for path, tensors in zip(files, (a, b)):
            numpy.savez(path, **{name: tensor for name, tensor in tensors.items() if name != "text"})
        of_files = {pair["op_name"]: pair["verdict"] for pair in tensorstat.compare(*files)["pairs"]}
        self.assertEqual(of_files, {pair["a"]: pair["verdict"] for pair in answer["pairs"] if pair["a"] != "text"})
        of_two_dtypes = tensorstat.compare({"wide": a["wide"]}, {"wide": b["wide"]}, any_dtype=True, rtol=0.0)
        self.assertEqual([pair["verdict"] for pair in of_two_dtypes["pairs"]], ["within"])  # as of two files
        for wrong in ({"first": True}, {"any_dtype": True}):
            self.assertRaises(tensorstat.Error, tensorstat.compare, a, b, **wrong)
        self.assertRaises(tensorstat.Error, tensorstat.compare, a, numpy.ones(3))

    @unittest.skipUnless(importlib.util.find_spec("torch"), "torch is not installed")
    def test_models(self):
        import torch
        model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
        measured = tensorstat.measure(model, "max,count")
        self.assertEqual(list(measured), list(model.state_dict()))
        self.assertEqual(measured["0.weight"].max, model[0].weight.max().item())
        other = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
        other.load_state_dict(model.state_dict())
        self.assertEqual(tensorstat.compare(model, other.state_dict())["different"], 0)
        with torch.no_grad():
            other[0].weight[1, 2] += 1
        (pair,) = (pair for pair in tensorstat.compare(model, other)["pairs"] if pair["verdict"] == "different")
        self.assertEqual((pair["a"], pair["elements"]["max abs diff index"]), ("0.weight", 5))
        turns = torch.tensor([1 + 2j, 3 - 1j])
        compared = tensorstat.compare({"turns": turns.conj(), "one": torch.tensor(1j)},
                                      {"turns": turns, "one": torch.tensor(1j, requires_grad=True)})
        self.assertEqual([(pair["verdict"], pair["why"]) for pair in compared["pairs"]], [("different", "2 of 4 parts"), ("equal", "")])
        with self.assertRaisesRegex(tensorstat.Error, "^b: a torch.Tensor of layout torch.sparse_coo .*to_dense"):
            tensorstat.measure({"a": torch.ones(2), "b": torch.eye(3).to_sparse()})

    def test_the_origin_of_nan(self):
        answer = tensorstat.origin(self.dump("a", [1, 2, 2, "nan", "nan", "inf"]))
        (producer,) = answer["producers"]
        self.assertEqual((producer["op_name"], producer["nan"], producer["before"]), ("net_Op-op1", None, ["net_Op-op0"]))
        self.assertEqual(producer["inputs"], [{"slot": 0, "stats": {"max": 2, "min": -1}}])
        self.assertEqual([each["op_name"] for each in answer["propagators"]], ["net_Op-op2"])
        self.assertEqual(tensorstat.origin(self.folder / "a", nan_only=True)["entered"], [])
        verdict = answer["verdict"]
        self.assertEqual([verdict[key] for key in ("kind", "op_type", "op_name", "phase", "rank", "iteration", "io", "slot")],
                         ["produced", "Op", "net_Op-op1", "forward", 3, 5, "output", 0])
        self.assertIsNone(verdict["last_clean_iteration"])
        self.assertIsNone(verdict["file"])
        self.assertEqual(str(answer).split("\n")[0],
                         "NaN in net_Op-op1 (Op), forward, iteration 5, rank 3: made of finite inputs")
        self.assertEqual(repr(answer), str(answer))
        self.assertEqual(dict(answer)["notes"], [])

    def test_what_ended_is_a_note(self):
        path = self.dump("a", [1, "-inf", "-inf", 2, 2, 3])
        answer = tensorstat.origin(path)
        self.assertEqual(answer["verdict"]["kind"], "none")
        self.assertEqual(answer["notes"], ["Inf of net_Op-op0 (Op) ended at net_Op-op1 (Op): iteration 5"])
        self.assertEqual(tensorstat.origin(path, inf=True)["verdict"]["op_name"], "net_Op-op0")
        with self.assertRaises(tensorstat.Error):
            tensorstat.origin(path, inf=True, nan_only=True)
        with self.assertRaisesRegex(tensorstat.Error, "no such file or folder"):
            tensorstat.origin(self.folder / "missing")

    def test_what_cannot_be_read(self):
        a = self.dump("a", [1, 2])
        with self.assertRaises(tensorstat.Error):
            tensorstat.compare(a, self.folder / "missing")
        (self.folder / "a/rank_4").mkdir()
        (self.folder / "a/rank_4/statistic.csv").write_text("no heading\n", encoding="utf-8")
        with self.assertLogs("tensorstat", "WARNING"):
            self.assertEqual(tensorstat.compare(a, a)["different"], 0)


if __name__ == "__main__":
    unittest.main()
