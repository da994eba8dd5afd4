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
        self.assertEqual(words.count("table.weight is not watched: "), 1)
        self.assertEqual(words.count("complex tensors have no statistics, and no rows"), 1)
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

    def dump_of_modules(self, model, run, steps=1, **settings):
        """What watch() leaves of each step, with msprobe's config."""
        with tempfile.TemporaryDirectory() as folder:
            config = {"task": "statistics", "dump_path": f"{folder}/dump", "level": "L0", **settings}
            with tensorstat.watch(model, json.dumps(config)) as watch:
                for _ in range(steps):
                    model.zero_grad()
                    run(model)
                    watch.step()
            found = []
            for step in range(steps):
                with open(f"{folder}/dump/step{step}/rank0/dump.json", encoding="utf-8") as file:
                    text = file.read()
                self.assertEqual(text, json.dumps(json.loads(text), indent=1))
                found.append(json.loads(text)["data"])
            with open(f"{folder}/dump/step0/rank0/construct.json", encoding="utf-8") as file:
                self.parents = json.load(file)
            return found

    def test_modules_as_msprobe_has_them(self):
        """A tensor that goes two ways, a module that runs twice and inside of another, nested outputs, arguments that are no
        tensors, outputs that nobody uses, in-place functions: gradients are those of the call, by autograd itself."""
        class Inner(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.linear = torch.nn.Linear(3, 3)

            def forward(self, x, more, scale=2, *, mask=None):
                y = self.linear(x) * scale
                return {"y": torch.relu_(y), "more": [more[0], (y * 2,)], "n": 3}

        class Outer(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = Inner()

            def forward(self, x):
                x = x * 1
                first = self.inner(x, [torch.ones(2), "text", slice(1, None)], 0.5, mask=None)
                second = self.inner(first["y"] + x, [None, {"a": 1.5}])
                self.seen = x, first["y"], second["y"]
                return second["y"].sum() + x.sum()

        model = Outer()
        x = torch.randn(2, 3, requires_grad=True)

        def run(model):
            loss = model(x)
            for tensor in model.seen:
                tensor.retain_grad()
            loss.backward()

        for data in self.dump_of_modules(model, run, steps=2):
            inner, linear = "Module.inner.Inner", "Module.inner.linear.Linear"
            self.assertEqual([call for call in data if "forward" in call],
                             [f"{inner}.forward.0", f"{linear}.forward.0", f"{inner}.forward.1", f"{linear}.forward.1"])
            self.assertEqual([call for call in data if "backward" in call],
                             [f"{linear}.backward.1", f"{inner}.backward.1", f"{linear}.backward.0", f"{inner}.backward.0"])
            first = data[f"{inner}.forward.0"]
            self.assertEqual(list(first), ["input_args", "input_kwargs", "output"])
            self.assertEqual(first["input_args"][1][1:], [{"type": "str", "value": "text"}, {"type": "slice", "value": [1, None, None]}])
            self.assertEqual(first["input_args"][2], {"type": "float", "value": 0.5})
            self.assertEqual(data[f"{inner}.forward.1"]["input_args"][1], [None, {"a": {"type": "float", "value": 1.5}}])
            (output,) = first["output"]
            self.assertEqual((list(output), output["n"]), (["y", "more", "n"], {"type": "int", "value": 3}))
            self.assertEqual([output["more"][0]["shape"], output["more"][1][0]["shape"]], [[2], [2, 3]])
            self.assertEqual(list(data[f"{linear}.forward.0"]["parameters"]), ["weight", "bias"])
            self.assertEqual(list(data[f"{linear}.parameters_grad.0"]), ["bias", "weight"])
            gradient = data[f"{linear}.parameters_grad.0"]["weight"][0]
            self.assertAlmostEqual(gradient["Norm"], model.inner.linear.weight.grad.norm().item(), places=4)
            # The last output is used once; x in three ways, of which each call is one.
            ones = data[f"{inner}.backward.1"]["input"]
            self.assertEqual((ones[0]["Max"], ones[0]["Min"], ones[1]), (1.0, 1.0, None))
            first_ones = data[f"{inner}.backward.0"]["input"]
            self.assertEqual((first_ones[0]["shape"], first_ones[1]), ([2, 3], None))
            through = {call: data[f"{inner}.backward.{call}"]["output"][0]["Mean"] for call in (0, 1)}
            whole = model.seen[0].grad.mean().item()
            self.assertAlmostEqual(through[0] + through[1] + 1, whole, places=4)
            self.assertEqual(self.parents[f"{linear}.forward.1"], f"{inner}.forward.1")
            self.assertIsNone(self.parents[f"{inner}.forward.0"])

    def test_modules_that_work_in_place_train_as_they_would(self):
        def made():
            torch.manual_seed(3)
            return torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU(inplace=True), torch.nn.Linear(4, 2),
                                       torch.nn.Dropout(0.5, inplace=True))

        def run(model):
            torch.manual_seed(4)
            model(torch.ones(2, 4)).square().sum().backward()

        watched, free = made(), made()
        (data,) = self.dump_of_modules(watched, run)
        run(free)
        for mine, theirs in zip(watched.parameters(), free.parameters()):
            self.assertTrue(torch.equal(mine.grad, theirs.grad))
        self.assertEqual(data["Module.1.ReLU.backward.0"]["output"], [None])
        self.assertEqual(len(data), 4 + 4 + 2)

    def test_outputs_of_a_module_with_many_calls_inside(self):
        inside = torch.nn.Sequential(*(torch.nn.Identity() for _ in range(300)))
        (data,) = self.dump_of_modules(torch.nn.Sequential(inside), lambda model: model(torch.ones(2)))
        self.assertEqual(len(data), 301)
        self.assertEqual(list(data)[:2], ["Module.0.Sequential.forward.0", "Module.0.0.Identity.forward.0"])
        self.assertEqual([len(data["Module.0.Sequential.forward.0"][io]) for io in ("input_args", "output")], [1, 1])

    def test_what_the_config_of_msprobe_wants(self):
        def run(model):
            model(torch.ones(1, 2, 4)).sum().backward()

        (data,) = self.dump_of_modules(self.model, run, statistics={"data_mode": ["forward", "output"], "list": ["Linear"]})
        self.assertGreater(len(data), 3)
        self.assertEqual({(tuple(call), key.split(".")[-2]) for key, call in data.items()}, {(("output", "parameters"), "forward")})
        self.assertTrue(all("Linear" in key for key in data))
        with tempfile.TemporaryDirectory() as folder, self.assertLogs("tensorstat", "WARNING") as said:
            with tensorstat.watch(self.model, json.dumps({"task": "statistics", "dump_path": folder, "level": "L1"})) as watch:
                run(self.model)
                watch.step()
            self.assertEqual((os.listdir(folder), len(said.output)), ([], 1))

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
