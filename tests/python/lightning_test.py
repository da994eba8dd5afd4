"""callbacks.lightning_callback() in the order of hooks that Lightning 2 documents (lightning.ai/docs/pytorch/stable, LightningModule,
"Hooks", and Callback): accumulated gradients, validation between the steps, a checkpoint, an exception, a second fit().

Lightning itself is not packaged by Debian: a stand-in has its loop, the names of its hooks and their parameters."""
import csv
import glob
import inspect
import json
import os
import sys
import tempfile
import types
import unittest

import tensorstat
from tensorstat import callbacks

try:
    import torch
except ImportError:
    print("torch is not installed: nothing is tested here", file=sys.stderr)
    sys.exit(0)

NAN = float("nan")


class Callback:
    """The documented hooks that training calls, and `trainer`, `pl_module` before their own parameters."""
    def setup(self, trainer, pl_module, stage): ...
    def teardown(self, trainer, pl_module, stage): ...
    def on_fit_start(self, trainer, pl_module): ...
    def on_fit_end(self, trainer, pl_module): ...
    def on_sanity_check_start(self, trainer, pl_module): ...
    def on_sanity_check_end(self, trainer, pl_module): ...
    def on_train_start(self, trainer, pl_module): ...
    def on_train_end(self, trainer, pl_module): ...
    def on_train_batch_start(self, trainer, pl_module, batch, batch_idx): ...
    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx): ...
    def on_validation_start(self, trainer, pl_module): ...
    def on_validation_end(self, trainer, pl_module): ...
    def on_before_zero_grad(self, trainer, pl_module, optimizer): ...
    def on_before_backward(self, trainer, pl_module, loss): ...
    def on_after_backward(self, trainer, pl_module): ...
    def on_before_optimizer_step(self, trainer, pl_module, optimizer): ...
    def on_exception(self, trainer, pl_module, exception): ...


sys.modules["lightning"] = types.ModuleType("lightning")
sys.modules["lightning.pytorch"] = types.SimpleNamespace(Callback=Callback)


class Module(torch.nn.Module):
    """A LightningModule: the trainer calls training_step(), and forward() only if that does."""
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.body, self.head, self.is_spoilt = torch.nn.Linear(4, 8), torch.nn.Linear(8, 1), False

    def training_step(self, batch, batch_idx):
        return self.head(torch.log(-torch.ones(5, 8)) if self.is_spoilt else torch.relu(self.body(batch))).square().mean()

    def validation_step(self, batch, batch_idx):
        self.head(torch.relu(self.body(batch)))


class Trainer:
    def __init__(self, callback, accumulates=1):
        self.callback, self.accumulates, self.global_step = callback, accumulates, 0

    def _call(self, hook, *arguments):
        getattr(self.callback, hook)(self, self.module, *arguments)

    def fit(self, module, batches, validation=None, global_step=0):
        self.module, self.global_step = module, global_step
        try:
            self._call("setup", "fit")
            self._call("on_fit_start")
            self._call("on_sanity_check_start")
            self._validate(0, validation)
            self._call("on_sanity_check_end")
            self._call("on_train_start")
            module.train()
            optimizer = torch.optim.SGD(module.parameters(), lr=0.01)
            for number, batch in enumerate(batches):
                self._call("on_train_batch_start", batch, number)
                loss = module.training_step(batch, number) / self.accumulates
                if number % self.accumulates == 0:
                    self._call("on_before_zero_grad", optimizer)
                    optimizer.zero_grad()
                self._call("on_before_backward", loss)
                loss.backward()
                self._call("on_after_backward")
                if number % self.accumulates == self.accumulates - 1:
                    self._call("on_before_optimizer_step", optimizer)
                    optimizer.step()
                    self.global_step += 1
                self._call("on_train_batch_end", {"loss": loss.detach() * self.accumulates}, batch, number)
                self._validate(number, validation)
            self._call("on_train_end")
            self._call("on_fit_end")
        except Exception as fault:
            self._call("on_exception", fault)
            raise
        finally:
            self._call("teardown", "fit")

    def _validate(self, number, batch_of):
        if batch_of is None:
            return
        self.module.eval()
        with torch.no_grad():
            self._call("on_validation_start")
            self.module.validation_step(batch_of(number), number)
            self._call("on_validation_end")
        self.module.train()


def hooks_left():
    return len(torch.nn.modules.module._global_forward_hooks) + len(torch.nn.modules.module._global_forward_pre_hooks)


class Lightning(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = f"{folder.name}/run"
        self.batches = list(torch.randn(6, 5, 4))

    def calls(self, of_step, name):
        return sum(row["IO"] == "output" for row in of_step["Linear", f"{name}/forward"])

    def rows(self, path=None, graph=0):
        """{iteration: {(op type, op name): [row]}}"""
        steps = {}
        for file in glob.glob(f"{path or self.path}/rank_0/model/{graph}/*/statistic.csv"):
            with open(file, newline="") as text:
                of_step = steps[int(os.path.basename(os.path.dirname(file)))] = {}
                for row in csv.DictReader(text):
                    of_step.setdefault((row["Op Type"], row["Op Name"]), []).append(row)
        return steps

    def test_parameters_are_the_documented_ones(self):
        kind = type(callbacks.lightning_callback(self.path))
        own = [name for name in dir(Callback) if not name.startswith("_") and getattr(kind, name) is not getattr(Callback, name)]
        self.assertIn("on_train_batch_end", own)
        for name in own:
            self.assertEqual([*inspect.signature(getattr(kind, name)).parameters], [*inspect.signature(getattr(Callback, name)).parameters])
        unknown = [name for name in dir(kind) if name.startswith("on_") and not hasattr(Callback, name)]
        self.assertEqual(unknown, [])

    def test_a_step_is_a_global_step(self):
        module = Module()
        Trainer(callbacks.lightning_callback(self.path), accumulates=2).fit(module, self.batches)
        rows = self.rows()
        self.assertEqual(sorted(rows), [0, 1, 2])
        for step, of_step in rows.items():
            self.assertEqual(self.calls(of_step, "body"), 2, step)  # micro-batches
            for name, _ in module.named_parameters():
                self.assertTrue(of_step.get(("Gradient", name)) and of_step.get(("Parameter", name)), (step, name))
            self.assertTrue(of_step.get(("Loss", "loss")), step)
        torch.manual_seed(0)
        alone = Module()
        optimizer = torch.optim.SGD(alone.parameters(), lr=0.01)
        for first, second in zip(self.batches[::2], self.batches[1::2]):
            optimizer.zero_grad()
            for batch in (first, second):
                loss = alone.training_step(batch, 0)
                (loss / 2).backward()
            optimizer.step()
        self.assertEqual(float(rows[2]["Loss", "loss"][0]["Max Value"]), loss.item())
        self.assertTrue(torch.equal(alone.body.weight, module.body.weight))

    def test_validation_has_rows_of_its_own(self):
        Trainer(callbacks.lightning_callback(self.path)).fit(Module(), self.batches, lambda number: torch.full((5, 4), NAN if number == 2 else 1.0))
        self.assertEqual([self.calls(of_step, "body") for of_step in self.rows().values()], [1] * len(self.batches))
        self.assertTrue(self.rows(graph=1))
        verdict = tensorstat.origin(self.path)["verdict"]
        self.assertIn("evaluation", verdict["sentence"])

    def test_an_exception_closes_the_watch(self):
        module = Module()
        before = hooks_left()

        def fail(number):
            if number == 3:
                raise FloatingPointError("the loss is NaN")
            module.is_spoilt = number == 1
            return torch.ones(5, 4)
        with self.assertLogs("tensorstat", "WARNING") as log, self.assertRaises(FloatingPointError):
            Trainer(callbacks.lightning_callback(self.path)).fit(module, self.batches, fail)
        self.assertTrue([each for each in log.output if "first NaN: iteration 2" in each], log.output)
        self.assertEqual(hooks_left(), before)

    def test_a_second_fit_and_a_checkpoint(self):
        callback = callbacks.lightning_callback(self.path)
        Trainer(callback).fit(Module(), self.batches)
        with self.assertLogs("tensorstat", "WARNING"):
            Trainer(callback).fit(Module(), self.batches[:2])
        self.assertEqual((sorted(self.rows()), sorted(self.rows(self.path + "-2"))), ([0, 1, 2, 3, 4, 5], [0, 1]))
        Trainer(callbacks.lightning_callback(self.path, resume=True)).fit(Module(), self.batches, global_step=4)
        self.assertEqual(sorted(self.rows()), list(range(10)))
        with open(f"{self.path}/rank_0/model/watch.ndjson", encoding="utf-8") as file:
            self.assertEqual(sum(json.loads(line)["kind"] == "run" for line in file), 2)


if __name__ == "__main__":
    unittest.main()
