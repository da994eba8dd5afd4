"""Faults that leave no NaN are findings of `report`, each of a small PyTorch job; the same jobs without the fault have none. Skipped where
there is no torch (Debian's python3-torch)."""
import math
import sys
import tempfile
import unittest

import tensorstat

try:
    import torch
    from torch import nn
    from torch.nn import functional as F
except ImportError:
    print("torch is not installed: nothing is tested here", file=sys.stderr)
    sys.exit(0)


class Checkpointed(nn.Module):
    """Its first block runs without gradients, as a reentrant checkpoint of an input without one does."""

    def __init__(self, is_bad):
        super().__init__()
        self.first, self.second, self.third, self.is_bad = nn.Linear(6, 6), nn.Linear(6, 6), nn.Linear(6, 1), is_bad

    def forward(self, x):
        with torch.set_grad_enabled(not self.is_bad):
            x = self.first(x)
        return self.third(self.second(x))


class SilentFaults(unittest.TestCase):
    def findings(self, model, steps=60, lr=1e-2, batch=None, loss=None, before_step=None, before=None, backward=None, schedule=None,
                 updates=False):
        optimizer = torch.optim.SGD([each for each in model.parameters() if each.requires_grad], lr)
        with tempfile.TemporaryDirectory() as path:
            with tensorstat.watch(model, path=f"{path}/run", updates=updates) as watch:
                for step in range(steps):
                    x = batch(step) if batch else torch.randn(16, 6)
                    if before:
                        before(step, model)
                    value = loss(model, x, step) if loss else model(x).float().sub(1).square().mean()
                    optimizer.zero_grad()
                    (backward or torch.Tensor.backward)(value)
                    if before_step:
                        before_step(model)
                    if schedule:
                        optimizer.param_groups[0]["lr"] = lr * schedule(step)
                    optimizer.step()
                    watch.step(value)
            return tensorstat.findings(f"{path}/run")

    def check(self, findings, rule, names, iteration=None):
        self.assertEqual({each.rule for each in findings}, {rule}, findings.sentences)
        self.assertIn(findings[0].op_name, names, findings.sentences)
        if iteration is not None:
            self.assertEqual(findings[0].first_iteration, iteration, findings.sentences)

    def check_clean(self, findings):
        self.assertEqual([str(each) for each in findings], [])

    def setUp(self):
        torch.manual_seed(5)

    def net(self, activation=nn.Tanh):
        return nn.Sequential(nn.Linear(6, 8), activation(), nn.Linear(8, 1))

    def test_updates_that_bfloat16_loses(self):
        model = self.net().bfloat16()
        with torch.no_grad():
            for each in model.parameters():
                each.copy_(each.sign() * each.abs().clamp(min=0.02))
        batch = lambda step: torch.randn(16, 6).bfloat16()
        self.check(self.findings(model, lr=1e-6, batch=batch), "stuck", {"0.weight", "0.bias"}, 0)
        self.check_clean(self.findings(self.net(), lr=1e-3))

    def test_a_parameter_without_a_gradient(self):
        self.check(self.findings(Checkpointed(True)), "unreached", {"first.weight", "first.bias"}, 0)
        self.check_clean(self.findings(Checkpointed(False)))
        frozen = Checkpointed(True)
        frozen.first.requires_grad_(False)
        self.check_clean(self.findings(frozen))

    def test_an_activation_that_is_dead_from_the_start(self):
        model = self.net(nn.ReLU)
        nn.init.constant_(model[0].bias, -100)
        findings = self.findings(model)
        self.check(findings, "dead", {"1/forward"}, 0)
        self.check_clean(self.findings(self.net(nn.ReLU)))

    def test_a_module_of_functions_that_is_dead_from_the_start(self):
        class Block(nn.Module):
            def __init__(self):
                super().__init__()
                self.line = nn.Linear(6, 8)

            def forward(self, x):
                return F.relu(self.line(x))

        class Gated(nn.Module):
            """0 at first, as what starts as a residual's nothing."""

            def __init__(self):
                super().__init__()
                self.gate, self.line = nn.Parameter(torch.zeros(1)), nn.Linear(8, 8)

            def forward(self, x):
                return self.gate * self.line(x)
        model = nn.Sequential(Block(), Gated(), nn.Linear(8, 1))
        self.check_clean(self.findings(model))
        nn.init.constant_(model[0].line.bias, -100)
        self.assertIn(("dead", "0/forward", 0), [(each.rule, each.op_name, each.first_iteration) for each in self.findings(model)])

    def test_gradients_that_become_0(self):
        def loss(model, x, step):
            return model(x).mul(0 if step >= 30 else 1).sub(1).square().mean()
        self.check(self.findings(self.net(), loss=loss), "dead", {"0.weight", "0.bias", "2.weight", "2.bias"}, 30)

    def test_clipped_before_unscaled(self):
        def scaled(value):
            (value * 1e4).backward()

        def unscale(model):
            for each in model.parameters():
                each.grad.div_(1e4)

        def clip(model):
            nn.utils.clip_grad_norm_(model.parameters(), 0.5)

        bad = self.findings(self.net(), backward=scaled, before_step=lambda model: (clip(model), unscale(model)))
        self.assertIn("shrunk", {each.rule for each in bad}, bad.sentences)
        good = self.findings(self.net(), backward=scaled, before_step=lambda model: (unscale(model), clip(model)))
        self.check_clean(good)
        self.check_clean(self.findings(self.net(), backward=scaled, before_step=unscale))

    def test_left_in_eval_mode(self):
        def validate(step, model):
            if step in (10, 20, 30):
                model.eval()
                with torch.no_grad():
                    model(torch.randn(4, 6))
                if step != 30 or not is_bad:
                    model.train()

        for is_bad in (True, False):
            model = nn.Sequential(nn.Linear(6, 8), nn.Dropout(0.5), nn.Linear(8, 1))
            findings = self.findings(model, before=validate)
            if is_bad:
                self.check(findings, "mode", {"1/forward"}, 30)
            else:
                self.check_clean(findings)

    def test_an_input_that_grows(self):
        findings = self.findings(self.net(), batch=lambda step: torch.randn(16, 6) * 1.15 ** step, lr=1e-6, steps=80)
        self.assertIn(("drift", "Sequential/forward"), {(each.rule, each.op_name) for each in findings}, findings.sentences)
        self.check_clean(self.findings(self.net(), batch=lambda step: torch.randn(16, 6) * (1 + step % 5), lr=1e-6, steps=80))

    def test_an_update_that_jumps(self):
        """The weights move before the loss does: the updates say it first."""
        def model():
            return nn.Sequential(nn.Linear(6, 6), nn.Tanh(), nn.Linear(6, 1))

        findings = self.findings(model(), schedule=lambda step: 300 if step == 40 else 1, updates=True)
        self.assertEqual((findings[0].rule, findings[0].op_type, findings[0].first_iteration), ("jump", "ParameterUpdate", 40), findings.sentences)
        self.assertIn("pdate of ", findings.sentences[0])
        warm_up_and_decay = [lambda step: min(1, step / 30), lambda step: 0.5 + 0.5 * math.cos(step / 60 * math.pi)]
        for schedule in warm_up_and_decay:
            self.check_clean(self.findings(model(), schedule=schedule, updates=True))

    def test_rounding_noise_is_not_judged(self):
        """The gradient of a bias in front of a batch norm is 0 but for rounding."""
        for seed in range(3):
            torch.manual_seed(seed)
            model = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.Tanh(), nn.Linear(8, 1))
            self.check_clean(self.findings(model, steps=120, batch=lambda step: torch.randn(6 if step % 10 == 9 else 16, 6)))


if __name__ == "__main__":
    torch.set_num_threads(1)
    unittest.main()
