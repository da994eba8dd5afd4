"""What torch traces in a watched training is as without a watch, in measured steps, too: torch.export, compiled autograd, and a
backward inside of a compiled function. Losses, exported programs and graphs are the same, and no training ends. Skipped without
torch.compiler.set_stance (before torch 2.6)."""
import contextlib
import csv
import glob
import tempfile
import unittest

import tensorstat

try:
    import torch
    from torch import nn
    set_stance = torch.compiler.set_stance
    import torch._dynamo as dynamo
    from torch._dynamo import compiled_autograd
except (ImportError, AttributeError):
    dynamo = None


def row_count(folder):
    count = 0
    for path in glob.glob(f"{folder}/rank_*/*/*/*/statistic.csv"):
        with open(path, newline="") as file:
            count += sum(row["Op Type"] == "Gradient" for row in csv.DictReader(file))
    return count


def exports_strictly():
    """torch 2.14 refuses a strict export where any global hook of modules is set."""
    handle = nn.modules.module.register_module_forward_hook(lambda *_: None)
    try:
        torch.export.export(nn.Linear(2, 2), (torch.zeros(1, 2),), strict=True)
        return True
    except Exception:
        return False
    finally:
        handle.remove()


def steps_of(train, watch, optimizer):
    """Four losses; train(x) is one forward and backward."""
    losses = []
    for step in range(4):
        loss = train(torch.randn(4, 8, generator=torch.Generator().manual_seed(step)))
        optimizer.step()
        if watch:
            watch.step(loss)
        optimizer.zero_grad()
        losses.append(loss.item())
    return losses


class TracedBeside(unittest.TestCase):
    def setUp(self):
        if dynamo is None:
            self.skipTest("torch.compiler.set_stance is of torch 2.6")

    def check_same(self, make_train, gradient_rows):
        """make_train(model) gives train(x) and a list of what it exported."""
        wanted = self.run_job(make_train, None)
        for options in ({"every": 1}, {"every": 2}, {"every": 1, "compiled": "graph"}, {"every": 2, "compiled": "graph"}):
            with self.subTest(**options), tempfile.TemporaryDirectory() as folder:
                self.assertEqual(self.run_job(make_train, folder, **options)[:2], wanted[:2])
                if "compiled" not in options:
                    self.assertEqual(row_count(folder), gradient_rows // options["every"])

    def run_job(self, make_train, folder, **options):
        dynamo.reset()
        dynamo.utils.counters.clear()
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 4))
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        train, exported = make_train(model)
        with contextlib.nullcontext() if folder is None else tensorstat.watch(model, path=folder, **options) as watch:
            losses = steps_of(train, watch, optimizer)
        return losses, exported, sum(dynamo.utils.counters["graph_break"].values())

    def test_export_in_each_step(self):
        for strict in (True, False) if exports_strictly() else (False,):
            for is_compiled in (True, False):
                def make_train(model, strict=strict, is_compiled=is_compiled):
                    called, exported = torch.compile(model, backend="eager") if is_compiled else model, []

                    def train(x):
                        exported.append(str(torch.export.export(model, (x,), strict=strict).graph))
                        loss = called(x).square().mean()
                        loss.backward()
                        return loss
                    return train, exported
                with self.subTest(strict=strict, is_compiled=is_compiled):
                    self.check_same(make_train, 16)

    def test_compiled_autograd(self):
        def make_train(model):
            enable = getattr(compiled_autograd, "_enable", None) or compiled_autograd.enable

            def train(x):
                loss = model(x).square().mean()
                with enable(torch.compile(backend="eager")):
                    loss.backward()
                return loss
            return train, []
        self.check_same(make_train, 16)

    def test_a_backward_inside_of_a_compiled_function(self):
        def make_train(model):
            @torch.compile(backend="eager")
            def train(x):
                loss = model(x).square().mean()
                loss.backward()
                return loss.detach()
            return train, []
        self.check_same(make_train, 16)
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(self.run_job(make_train, None)[2], self.run_job(make_train, folder, every=2)[2])


if __name__ == "__main__":
    unittest.main()
