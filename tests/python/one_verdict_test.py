"""The same rows give the same verdict everywhere. Whichever statistics a watch writes of a training in which NaN begins, the watch itself,
its closing words and its alerts, `origin`, `report` and its page, --fail-on and --where say so, and of a clean one all say that nothing is
wrong. Faults with words about earlier iterations are checked, too. Skipped without torch."""
import contextlib
import io
import itertools
import json
import logging
import os
import subprocess
import tempfile
import unittest

import tensorstat

try:
    import torch
except ImportError:
    torch = None

import same_verdict

COMMAND = os.environ["COMMAND"]
FULL = bool(os.environ.get("TENSORSTAT_FULL"))
# Each shows NaN. Of the others of MindSpore's list, none does.
TELLING = ["max", "min", "avg", "l2norm", "nan count"]


def config_of(categories, path):
    return json.dumps({
        "common_dump_settings": {"dump_mode": 0, "path": path, "net_name": "net", "iteration": "all", "saved_data": "statistic",
                                 "input_output": 0, "kernels": [], "support_device": [0], "statistic_category": categories},
        "e2e_dump_settings": {"enable": True, "trans_flag": True}})


@unittest.skipUnless(torch, "there is no torch")
class OneVerdict(unittest.TestCase):
    def train(self, path, categories, is_bad, alerts=""):
        class Log(torch.nn.Module):
            def forward(self, x):
                return torch.log(x - 2 if is_bad else x.abs() + 1)

        torch.manual_seed(1)
        model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU(), Log())
        words = io.StringIO()
        handler = logging.StreamHandler(words)
        logging.getLogger("tensorstat").addHandler(handler)
        try:
            with contextlib.redirect_stderr(words), \
                    tensorstat.watch(model, config_of(categories, path), path=path, alerts=alerts) as watch:
                step_alerts = []
                for _ in range(2):
                    loss = model(torch.ones(2, 4)).sum()
                    loss.backward()
                    step_alerts += getattr(watch.step(loss), "alerts", [])
        finally:
            logging.getLogger("tensorstat").removeHandler(handler)
        return watch.first_fault, words.getvalue(), step_alerts

    def run_command(self, *arguments):
        return subprocess.run([COMMAND, *arguments], capture_output=True, text=True, check=False)

    def test_of_every_choice_of_statistics(self):
        choices = [list(chosen) for count in range(1, len(TELLING) + 1) for chosen in itertools.combinations(TELLING, count)]
        if not FULL:
            choices = [each for each in choices if len(each) == 1 or each in (["avg", "l2norm"], TELLING)]
        for categories in choices:
            for is_bad in (True, False):
                with self.subTest(categories=categories, is_bad=is_bad), tempfile.TemporaryDirectory() as path:
                    with tempfile.TemporaryDirectory() as other:  # rules measure their statistics, beside the columns
                        self.assertEqual(bool(self.train(other, categories, is_bad, "nan")[2]), is_bad)
                    fault, words, _ = self.train(path, categories + ["count"], is_bad)
                    kind = fault and (fault.kind, fault.phase, fault.operation)
                    self.assertEqual(kind, ("NaN", "forward", "log") if is_bad else None)
                    self.assertEqual("first NaN" in words, is_bad, words)
                    origin = self.run_command("origin", path)
                    self.assertEqual(origin.returncode, 1 if is_bad else 0, origin.stdout + origin.stderr)
                    self.assertEqual("log at " in origin.stdout, is_bad, origin.stdout)
                    report = self.run_command("report", path)
                    self.assertEqual("NaN in 2" in report.stdout, is_bad, report.stdout)
                    same_verdict.check(self, path, fault)
                    failing = self.run_command(path, "--fail-on", "nan")
                    self.assertEqual(failing.returncode, 1 if is_bad else 0, failing.stderr)
                    shown = self.run_command(path, "--where", "nan", "--format", "csv", "-q")
                    self.assertEqual(shown.returncode, 0, shown.stderr)
                    self.assertEqual(len(shown.stdout.splitlines()) > 1, is_bad, shown.stdout)


if torch is not None:
    class Do(torch.nn.Module):
        """function(step, x, *others)"""

        def __init__(self, function):
            super().__init__()
            self.function, self.step = function, 0

        def forward(self, *given):
            return self.function(self.step, *given)

    class Product(torch.nn.Module):
        """Grows ten times a step, and beyond float32."""

        def __init__(self, is_cut_off):
            super().__init__()
            self.line, self.is_cut_off = torch.nn.Linear(4, 4), is_cut_off
            self.product = Do(lambda step, x: x * 1e30 * 10.0**(step + 2))

        def forward(self, x):
            x = self.product(self.line(x))
            return x.clamp(-1e30, 1e30) * 1e-30 if self.is_cut_off else x

    class Norm(torch.nn.Module):
        """One sample has no variance."""

        def __init__(self):
            super().__init__()
            self.register_buffer("running_var", torch.ones(4))

        def forward(self, x):
            with torch.no_grad():
                self.running_var.lerp_(x.var(0), 0.1)
            return x - x.mean(0)


@unittest.skipUnless(torch, "there is no torch")
class WordsOfThePast(unittest.TestCase):
    """The details of a verdict refer to earlier iterations."""

    def setUp(self):
        logging.disable(logging.CRITICAL)
        self.addCleanup(logging.disable, logging.NOTSET)
        torch.manual_seed(3)

    def check(self, model, words, steps=8, batch=lambda step: (torch.randn(3, 4),), spoil=lambda step, model: None,
              loss=lambda out: out.square().mean(), checks=None, **options):
        with tempfile.TemporaryDirectory() as path:
            optimizer = torch.optim.SGD([*model.parameters(), torch.zeros(1, requires_grad=True)], 0)
            with tensorstat.watch(model, path=path, **options) as watch:
                for step in range(steps):
                    for each in model.modules():
                        each.step = step
                    value = loss(model(*batch(step)))
                    value.backward()
                    if not (watch.check(value, then=checks) if checks else False):
                        optimizer.step()
                    spoil(step, model)
                    watch.step(value)
                    optimizer.zero_grad()
            verdict = same_verdict.check(self, path, watch.first_fault)["verdict"]
            self.assertRegex(" ".join([verdict["sentence"], *verdict["details"]]), words)

    def net(self, *last):
        return torch.nn.Sequential(torch.nn.Linear(4, 4), *last)

    def test_a_parameter_that_grew(self):
        def spoil(step, model):
            if step == 2:
                model[0].weight.data.mul_(1e8)

        bad = Do(lambda step, x: x.sub(x) / x.sub(x) if step == 6 else x / x.norm())
        self.check(self.net(bad), "0.weight grew: absmax .* behind the step of iteration 2", spoil=spoil)

    def test_data_that_grew(self):
        bad = Do(lambda step, x: x.sub(x) / x.sub(x) if step == 6 else x / x.norm())
        self.check(self.net(bad), "is given grew: .* in iteration 3", batch=lambda step: (torch.randn(3, 4) * (1e9 if step > 2 else 1),))

    def test_data_that_was_odd_before(self):
        def function(step, x, labels):
            return torch.nn.functional.cross_entropy(x, labels.clamp(min=0) if step < 6 else labels)

        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.line, self.loss = torch.nn.Linear(4, 4), Do(function)

            def forward(self, x, labels):
                return self.loss(self.line(x), labels)

        for first in (3, 6):
            ignored = (first, 6)
            self.check(Net(), "is all -100" if first == 6 else "^(?!.*is all -100)",
                       batch=lambda step: (torch.randn(3, 4), torch.full((3,), -100) if step in ignored else torch.tensor([0, 1, 2])))

    def test_an_overflow_that_is_likely(self):
        self.check(Product(False), "^Likely: overflow of float32 in product .* grew", zoom=False, loss=lambda out: out.mul(1e-30).mean(),
                   batch=lambda step: (torch.ones(3, 4),))

    def test_an_overflow_that_is_cut_off(self):
        self.check(Product(True), "^Likely: overflow of float32 in product .* cut the Inf off")

    def test_a_buffer_that_the_forward_wrote(self):
        self.check(self.net(Norm()), "written into its buffer 1.running_var", batch=lambda step: (torch.randn(1 if step == 5 else 3, 4),))

    def test_what_check_told(self):
        root = Do(lambda step, x: (x * (step != 5)).abs().sqrt() * x)
        self.check(self.net(root, torch.nn.Linear(4, 1)), "check\\(\\) of the watch told it", checks="skip")


if __name__ == "__main__":
    unittest.main()
