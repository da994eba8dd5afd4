"""A PyTorch model that is watched while it trains: the first NaN is found at its step and operator; hooks go with the
watch. Skipped where there is no torch (Debian's python3-torch)."""
import csv
import glob
import json
import math
import os
import tempfile
import unittest

import tensorstat

try:
    import torch
except ImportError:
    torch = None


def rows_of(folder):
    """(step, operator, io, row) in the order of execution."""
    found = []
    for path in glob.glob(f"{folder}/rank_*/*/0/*/statistic.csv"):
        with open(path, newline="") as file:
            found += [(int(path.split("/")[-2]), int(row["Timestamp"]), row["Op Name"], row["IO"], row) for row in csv.DictReader(file)]
    return [(step, name, io, row) for step, _, name, io, row in sorted(found, key=lambda each: each[:2])]


@unittest.skipIf(torch is None, "torch is not installed")
class Watched(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(7)
        layer = torch.nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
        self.model = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.TransformerEncoder(layer, 1), torch.nn.Linear(16, 1))
        self.optimizer = torch.optim.Adam(self.model.parameters())

    def train(self, watch, steps, poisoned=None):
        for step in range(steps):
            batch = torch.randn(3, 5, 4)
            if step == poisoned:
                batch[0, 0, 0] = math.nan
            self.model(batch).square().mean().backward()
            self.optimizer.step()
            watch.step()
            self.optimizer.zero_grad()

    def test_the_first_nan_is_found(self):
        with tempfile.TemporaryDirectory() as folder:
            with tensorstat.watch(self.model, path=folder, optimizer=self.optimizer, inputs=True) as watch:
                self.train(watch, 5, poisoned=3)
            rows = rows_of(folder)
            bad = [(step, name, io) for step, name, io, row in rows if int(row["NaN Count"])]
            self.assertEqual(bad[0], (3, "0/forward", "input"))
            kinds = {name.split("/")[-1] for _, name, _, _ in rows}
            self.assertLessEqual({"forward", "backward", "exp_avg_sq"}, kinds)

    def test_values_are_torchs(self):
        with tempfile.TemporaryDirectory() as folder:
            seen = {}
            hook = self.model[0].register_forward_hook(lambda module, inputs, output: seen.update(y=output.detach().clone()))
            with tensorstat.watch(self.model, path=folder, where="^0$", gradients=False, parameters=False) as watch:
                self.train(watch, 1)
            hook.remove()
            (step, name, io, row), = rows_of(folder)
            self.assertEqual((step, name, io, row["Shape"]), (0, "0/forward", "output", "(3,5,16)"))
            values = seen["y"].double().flatten().tolist()
            self.assertEqual(float(row["Max Value"]), max(values))
            self.assertEqual(float(row["Avg Value"]), math.fsum(values) / len(values))

    def test_hooks_are_gone_after_an_exception(self):
        before = len(self.model[0]._forward_hooks)
        with tempfile.TemporaryDirectory() as folder:
            with self.assertRaises(ZeroDivisionError):
                with tensorstat.watch(self.model, path=folder):
                    self.model(torch.randn(1, 2, 4))
                    raise ZeroDivisionError
        self.assertEqual(len(self.model[0]._forward_hooks), before)
        self.model(torch.randn(1, 2, 4)).sum().backward()

    def test_every_tenth_step(self):
        with tempfile.TemporaryDirectory() as folder:
            with tensorstat.watch(self.model, path=folder, every=10) as watch:
                self.train(watch, 21)
            self.assertEqual(sorted({step for step, *_ in rows_of(folder)}), [0, 10, 20])

    def test_a_config_and_every_dialect(self):
        config = {"common_dump_settings": {
            "dump_mode": 0, "path": "/absent", "net_name": "Net", "iteration": "1|3", "input_output": 0, "kernels": [],
            "support_device": [0], "op_debug_mode": 0, "saved_data": "statistic", "statistic_category": ["max", "nan count"]},
            "e2e_dump_settings": {"enable": True, "trans_flag": True}}
        for dialect in ("ours", "mindspore-2.7", "mindspore-next"):
            self.setUp()  # a model that no NaN has been through
            with self.subTest(dialect=dialect), tempfile.TemporaryDirectory() as folder:
                with open(f"{folder}/data_dump.json", "w") as file:
                    json.dump(config, file)
                with tensorstat.watch(self.model, f"{folder}/data_dump.json", path=f"{folder}/dump", dialect=dialect) as watch:
                    self.train(watch, 5, poisoned=3)
                read = {step: tensorstat.read(f"{folder}/dump/rank_0/Net/0/{step}/statistic.csv") for step in (1, 3)}
                self.assertEqual(len(os.listdir(f"{folder}/dump/rank_0/Net/0")), 2)
                self.assertEqual(sum(row["nan count"] for row in read[1]), 0)
                first = next(row for row in read[3] if row["nan count"])
                self.assertEqual(first["op name"], "0_forward" if dialect == "mindspore-2.7" else "0/forward")

    def test_nested_outputs_and_what_cannot_be_read(self):
        class Nested(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.table = torch.nn.Embedding(5, 3, sparse=True)

            def forward(self, x):
                found = self.table(x)
                return {"a": [found, (found * 2,)], "b": torch.view_as_complex(found[..., :2].contiguous()), "c": None}

        model = Nested()
        with tempfile.TemporaryDirectory() as folder, self.assertLogs("tensorstat", "WARNING") as said:
            with tensorstat.watch(model, path=folder) as watch:
                for _ in range(2):
                    out = model(torch.tensor([1, 4]))
                    (out["a"][0].sum() + out["a"][1][0].sum()).backward()
                    watch.step()
            found = {(name, row["Slot"]) for step, name, _, row in rows_of(folder) if step == 1}
        self.assertLessEqual({("Nested/forward", "0"), ("Nested/forward", "1"), ("Nested/backward", "1"),
                              ("table/forward", "0"), ("table.weight", "0")}, found)
        words = "\n".join(said.output)
        self.assertEqual((words.count("Nested/forward is not watched: "), words.count("table.weight is not watched: ")), (1, 1))
        self.assertIn("complex", words)
        self.assertIn("sparse", words)

    def test_in_place_functions_and_a_backward_after_the_end(self):
        model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU(inplace=True), torch.nn.Linear(4, 1))
        with tempfile.TemporaryDirectory() as folder:
            with tensorstat.watch(model, path=folder) as watch:
                model(torch.ones(2, 4)).sum().backward()
                watch.step()
                last = model(torch.ones(2, 4)).sum()
            last.backward()
            rows = {name: row for _, name, _, row in rows_of(folder)}
            self.assertEqual((rows["2/backward"]["Max Value"], rows["2/backward"]["Min Value"]), ("1", "1"))

    def test_every_dtype_of_torch(self):
        for dtype in (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16,
                      torch.bfloat16, torch.float32, torch.float64):
            x = (torch.randn(7, 9) * 10).to(dtype)
            r = tensorstat.measure(x.t()[::2])
            self.assertEqual(r.dtype, str(dtype).removeprefix("torch."))
            self.assertEqual(r.max, x.t()[::2].max().item())
            self.assertEqual(r.count, x.t()[::2].numel())
        parameter = torch.nn.Parameter(torch.ones(3))
        self.assertEqual(tensorstat.measure(parameter).l2norm, math.sqrt(3))


if __name__ == "__main__":
    unittest.main()
