"""PyTorch jobs of some hundred steps through `watch`, then `tensorstat report`: clean jobs of many kinds have no finding, and a
planted fault is the first finding. Skipped where there is no torch (Debian's python3-torch)."""
import json
import math
import os
import subprocess
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

COMMAND = os.environ["COMMAND"]
SEED = 20


class Net(nn.Module):
    """Attention with a mask, a norm, a dead unit or two, dropout, and a head of zeros."""

    def __init__(self, width=16):
        super().__init__()
        self.embed = nn.Embedding(50, width)
        self.norm = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.up = nn.Linear(width, 4 * width)
        self.relu = nn.ReLU()
        self.dropout = nn.Dropout(0.1)
        self.down = nn.Linear(4 * width, width)
        self.head = nn.Linear(width, 50)
        nn.init.zeros_(self.head.weight)
        nn.init.zeros_(self.head.bias)

    def forward(self, tokens):
        x = self.embed(tokens)
        q, k, v = self.qkv(self.norm(x)).chunk(3, -1)
        scores = q @ k.transpose(-1, -2) / 4
        mask = torch.full(scores.shape[-2:], torch.finfo(scores.dtype).min).triu(1)
        x = x + (scores + mask).softmax(-1) @ v
        return self.head(x + self.down(self.dropout(self.relu(self.up(x)))))


def language(path, steps=260, rate=1e-2, warmup=50, decay=True, optimizer=torch.optim.AdamW, plant=None):
    model = Net()
    optimizer = optimizer(model.parameters(), rate)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1, (step + 1) / warmup) * (0.5 + 0.5 * math.cos(math.pi * step / steps) if decay else 1))
    with tensorstat.watch(model, path=path) as watch:
        for step in range(steps):
            tokens = torch.randint(0, 50, (8, 12))
            target = (tokens + 1) % 50
            if plant:
                plant(model, step)
            loss = F.cross_entropy(model(tokens).transpose(1, 2), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            watch.step(loss)


def regression(path, steps=300, model=None, rate=1e-2, optimizer=torch.optim.SGD, batch=32, change=None):
    model = model or nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 1))
    optimizer = optimizer(model.parameters(), rate)
    with tensorstat.watch(model, path=path) as watch:
        for step in range(steps):
            x = torch.randn(batch if batch else 4 + step % 60, 8)
            y = x.sum(-1, keepdim=True) / 8
            if change:
                x = change(model, step, x)
            loss = F.mse_loss(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            watch.step(loss)


CLEAN = {
    "warm-up and decay": language,
    "warm-up without decay, to a loss of nearly 0": lambda path: language(path, decay=False, steps=300),
    "a long warm-up": lambda path: language(path, warmup=260),
    "SGD": lambda path: language(path, rate=0.5, optimizer=torch.optim.SGD, steps=220),
    "a loss that falls a thousandfold": lambda path: regression(path, optimizer=torch.optim.Adam),
    "an exact solution": lambda path: regression(path, model=nn.Linear(8, 1), rate=0.3, steps=400),
    "batches of many sizes": lambda path: regression(path, batch=None),
    "one sample a batch": lambda path: regression(path, batch=1, rate=1e-3),
    "batch norm and an unused layer": lambda path: regression(
        path, model=nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 1))),
}


def grow(model, step):
    if step >= 180:
        with torch.no_grad():
            model.down.weight *= 1.06


def kill(model, step):
    if step == 150:
        with torch.no_grad():
            model.up.bias -= 1e4


def freeze(model, step):
    if step == 120:
        model.qkv.weight.register_hook(torch.zeros_like)


class Report(unittest.TestCase):
    def report(self, job):
        with tempfile.TemporaryDirectory() as folder:
            torch.manual_seed(SEED)
            job(folder)
            done = subprocess.run([COMMAND, "report", folder, "--format", "json"], capture_output=True, text=True)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        report = json.loads(done.stdout)
        self.assertEqual(done.returncode, 1 if report["findings"] else 0)
        return report

    def first(self, job):
        report = self.report(job)
        self.assertTrue(report["findings"], report["verdict"])
        return report["findings"][0]

    def test_clean_jobs_have_no_finding(self):
        for name, job in CLEAN.items():
            with self.subTest(name, seed=SEED):
                report = self.report(job)
                self.assertEqual([finding["text"] for finding in report["findings"]], [])
                self.assertTrue(report["verdict"].startswith("Nothing found in "), report["verdict"])

    def test_a_batch_of_large_values_is_a_jump(self):
        finding = self.first(lambda path: regression(path, change=lambda model, step, x: x * 200 if step == 150 else x))
        self.assertEqual((finding["rule"], finding["first_iteration"], finding["last_clean_iteration"]), ("jump", 150, 149))
        self.assertIn("input 0", finding["text"])

    def test_a_slow_growth_is_a_drift(self):
        finding = self.first(lambda path: language(path, plant=grow, steps=300))
        self.assertEqual(finding["rule"], "drift")
        self.assertIn(finding["op_name"], ("down.weight", "down/forward"))

    def test_an_activation_of_zeros_is_dead(self):
        report = self.report(lambda path: language(path, plant=kill, steps=200))
        dead = [finding for finding in report["findings"] if finding["rule"] == "dead"]
        self.assertEqual([(finding["op_name"], finding["first_iteration"]) for finding in dead], [("relu/forward", 150)])

    def test_a_parameter_that_stops_is_frozen(self):
        finding = self.first(lambda path: language(path, plant=freeze, decay=False, steps=220, rate=0.1, optimizer=torch.optim.SGD))
        self.assertEqual((finding["rule"], finding["op_name"], finding["first_iteration"]), ("frozen", "qkv.weight", 120))

    def test_a_nan_is_the_first_finding_and_its_followers_are_counted(self):
        def poison(model, step, x):
            if step == 200:
                x[0, 0] = math.nan
            return x
        report = self.report(lambda path: regression(path, change=poison))
        self.assertEqual([(finding["rule"], finding["first_iteration"]) for finding in report["findings"]], [("nan", 200)])
        self.assertGreater(report["findings"][0]["others"], 5)
        self.assertIn("came in with the data", report["verdict"])


if __name__ == "__main__":
    unittest.main()
