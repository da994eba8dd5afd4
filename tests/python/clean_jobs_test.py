"""Small trainings of random parts in which nothing is wrong: neither the watch nor `origin` accuses anybody, and `report` finds nothing
that is not so. A few; with TENSORSTAT_FULL 200. SEED=N runs one. Skipped where there is no torch (Debian's python3-torch)."""
import contextlib
import io
import math
import os
import random
import re
import sys
import tempfile
import unittest

import tensorstat

try:
    import torch
except ImportError:
    print("torch is not installed: nothing is tested here", file=sys.stderr)
    sys.exit(0)

from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

SEEDS = [int(os.environ["SEED"])] if "SEED" in os.environ else range(200) if os.environ.get("TENSORSTAT_FULL") else [3, 7, 9, 13, 16, 17]
WIDTH = 8


class Attention(nn.Module):
    """With a causal mask of -Inf, added or written, or torch's own with padding."""

    def __init__(self, chance):
        super().__init__()
        self.kind = chance.choice(["added", "written", "torch"])
        self.qkv, self.norm = nn.Linear(WIDTH, 3 * WIDTH), nn.LayerNorm(WIDTH)
        self.attention = nn.MultiheadAttention(WIDTH, 2, batch_first=True) if self.kind == "torch" else None

    def forward(self, x):
        length = x.shape[1]
        later = torch.ones(length, length, dtype=torch.bool).triu(1)
        if self.attention is not None:
            padding = torch.zeros(x.shape[:2], dtype=torch.bool)
            padding[0, -1] = True
            return x + self.attention(x, x, x, key_padding_mask=padding, need_weights=False)[0]
        q, k, v = self.qkv(self.norm(x)).chunk(3, -1)
        scores = q @ k.transpose(1, 2) / math.sqrt(WIDTH)
        if self.kind == "written":
            scores = scores.masked_fill(later, -math.inf)
        else:
            scores = scores + torch.full_like(scores, -math.inf).triu(1)
        return x + scores.softmax(-1) @ v


class Recurrent(nn.Module):
    def __init__(self, chance):
        super().__init__()
        self.layer = chance.choice([nn.GRU, nn.LSTM, nn.RNN])(WIDTH, WIDTH, batch_first=True)

    def forward(self, x):
        return x + self.layer(x)[0]


class Convolution(nn.Module):
    """Over the sequence, with a norm that has buffers."""

    def __init__(self, chance):
        super().__init__()
        self.conv = nn.Conv1d(WIDTH, WIDTH, 3, padding=1, bias=chance.random() < 0.5)
        self.norm = chance.choice([nn.BatchNorm1d(WIDTH), nn.InstanceNorm1d(WIDTH, affine=True, track_running_stats=True),
                                   nn.GroupNorm(2, WIDTH)])

    def forward(self, x):
        return x + F.relu(self.norm(self.conv(x.transpose(1, 2)))).transpose(1, 2)


class Perceptron(nn.Module):
    def __init__(self, chance):
        super().__init__()
        act = chance.choice([nn.ReLU, nn.GELU, nn.SiLU, nn.Tanh, nn.Softplus])
        self.layers = nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 2 * WIDTH), act(), nn.Dropout(chance.choice([0, 0.1, 0.5])),
                                    nn.Linear(2 * WIDTH, WIDTH))
        if chance.random() < 0.2:
            nn.utils.weight_norm(self.layers[1])

    def forward(self, x):
        return x + self.layers(x)


class Experts(nn.Module):
    """The best of a few, by an index: an expert may have no token."""

    def __init__(self, chance):
        super().__init__()
        self.gate, self.experts = nn.Linear(WIDTH, 3), nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(3))

    def forward(self, x):
        weight, best = self.gate(x).softmax(-1).max(-1)
        out = torch.zeros_like(x)
        for number, expert in enumerate(self.experts):
            chosen = best == number
            if chosen.any():
                out[chosen] = (expert(x[chosen]) * weight[chosen].unsqueeze(-1)).to(out.dtype)
        return x + out


class Net(nn.Module):
    def __init__(self, chance, classes):
        super().__init__()
        parts = [Attention, Recurrent, Convolution, Perceptron, Perceptron, Experts]
        self.table = nn.Embedding(12, WIDTH, padding_idx=0)
        self.blocks = nn.ModuleList(chance.choice(parts)(chance) for _ in range(chance.randint(1, 4)))
        self.head = nn.Linear(WIDTH, classes)
        self.is_checkpointed, self.masks_classes = chance.random() < 0.25, chance.random() < 0.25
        self.reentrant = chance.random() < 0.3

    def forward(self, ids):
        x = self.table(ids)
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=self.reentrant) if self.is_checkpointed and self.training else block(x)
        logits = self.head(x)
        if self.masks_classes:  # such as actions that are not allowed; no target is one
            logits = logits.masked_fill(torch.arange(logits.shape[-1]) == logits.shape[-1] - 1, -math.inf)
        return logits


class Job:
    """What a seed decides."""

    def __init__(self, seed):
        self.chance = chance = random.Random(seed)
        torch.manual_seed(seed)
        self.classes = chance.choice([3, 5])
        self.model = Net(chance, self.classes)
        self.steps, self.accumulation = chance.randint(4, 30), chance.choice([1, 1, 2])
        self.is_bf16, self.clips, self.evaluates = (chance.random() < each for each in (0.25, 0.4, 0.4))
        self.scales = not self.is_bf16 and chance.random() < 0.2
        self.loss = chance.choice(["cross_entropy", "nll", "bce", "smooth", "mse"])
        if self.model.masks_classes and self.loss != "nll":
            self.loss = "cross_entropy"
        kind = chance.choice(["SGD", "momentum", "Adam", "AdamW", "RMSprop", "Adagrad", "LBFGS"])
        parameters, self.is_lbfgs = self.model.parameters(), kind == "LBFGS" and not self.scales and self.accumulation == 1
        self.optimizer = {"SGD": lambda: torch.optim.SGD(parameters, 0.05), "momentum": lambda: torch.optim.SGD(parameters, 0.02, 0.9),
                          "Adam": lambda: torch.optim.Adam(parameters, 1e-3), "AdamW": lambda: torch.optim.AdamW(parameters, 1e-3),
                          "RMSprop": lambda: torch.optim.RMSprop(parameters, 1e-3), "Adagrad": lambda: torch.optim.Adagrad(parameters, 1e-2),
                          "LBFGS": lambda: torch.optim.LBFGS(parameters, 0.1, 4)}[kind if kind != "LBFGS" or self.is_lbfgs else "Adam"]()
        self.schedule = torch.optim.lr_scheduler.LambdaLR(
            self.optimizer, chance.choice([lambda step: 1.0, lambda step: min(1.0, (step + 1) / 5), lambda step: 0.5 ** (step / 10)]))
        self.options = {}
        for key, value, share in (("inputs", True, 0.2), ("level", "op", 0.2), ("updates", True, 0.2), ("optimizer", self.optimizer, 0.3),
                                  ("every", 2, 0.1)):
            if chance.random() < share:
                self.options[key] = value

    def batch(self):
        """Ids with padding, targets of which some are ignored."""
        ids = torch.randint(1, 12, (4, 6))
        ids[0, -2:] = 0
        targets = torch.randint(0, self.classes - 1, ids.shape)
        if self.loss in ("cross_entropy", "nll", "smooth"):
            targets[ids == 0] = -100
        return ids, targets

    def value(self, ids, targets):
        with torch.autocast("cpu", torch.bfloat16) if self.is_bf16 else contextlib.nullcontext():
            logits = self.model(ids)
        logits, targets = logits.float().flatten(0, 1), targets.flatten()
        if self.loss == "bce":
            return F.binary_cross_entropy_with_logits(logits, F.one_hot(targets, self.classes).float())
        if self.loss == "mse":
            return (logits - F.one_hot(targets, self.classes)).square().mean()
        if self.loss == "nll":
            return F.nll_loss(logits.log_softmax(-1), targets)
        return F.cross_entropy(logits, targets, label_smoothing=0.1 if self.loss == "smooth" else 0)

    def step(self, scale):
        """Whether the optimizer stepped, and the loss."""
        for _ in range(self.accumulation):
            value = self.value(*self.batch()) / self.accumulation
            (value * scale).backward()
        gradients = [each.grad for each in self.model.parameters() if each.grad is not None]
        for each in gradients:
            each.div_(scale)
        if self.clips:
            nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        if all(each.isfinite().all() for each in gradients):
            self.optimizer.step()
        return value

    def run(self, path=None):
        """Without a path it is not watched."""
        scale = 1e38 if self.scales else 1.0
        with tensorstat.watch(self.model, path=path, **self.options) if path else contextlib.nullcontext() as watch:
            for number in range(self.steps):
                if self.evaluates and number % 5 == 4:
                    self.model.eval()
                    with torch.no_grad():
                        self.value(*self.batch())
                    self.model.train()
                if self.is_lbfgs:
                    value = self.step_of_lbfgs()
                else:
                    value = self.step(scale)
                if watch:
                    watch.step(value)
                self.optimizer.zero_grad()
                self.schedule.step()
                if scale > 1 and number == 1:
                    scale = 1024.0
        return watch and watch.first_fault

    def step_of_lbfgs(self):
        batch = self.batch()

        def closure():
            self.optimizer.zero_grad()
            value = self.value(*batch)
            value.backward()
            return value
        return self.optimizer.step(closure)

    def __str__(self):
        blocks = [type(each).__name__ for each in self.model.blocks]
        return (f"{blocks} {self.loss} {type(self.optimizer).__name__} bf16={self.is_bf16} scales={self.scales} lbfgs={self.is_lbfgs} "
                f"accumulation={self.accumulation} checkpoint={self.model.is_checkpointed} masks={self.model.masks_classes} "
                f"steps={self.steps} {sorted(self.options)}")


class CleanJobs(unittest.TestCase):
    def test_of_seeds(self):
        print("seeds", *SEEDS, file=sys.stderr)
        for seed in SEEDS:
            with tempfile.TemporaryDirectory() as path:
                job, words = Job(seed), io.StringIO()
                try:
                    with contextlib.redirect_stderr(words):
                        fault = job.run(path)
                except RuntimeError as error:  # torch 1.13 has no bfloat16 for some layers in an evaluation
                    with self.subTest(seed=seed, job=str(job)), self.assertRaisesRegex(RuntimeError, re.escape(str(error))):
                        Job(seed).run()
                    continue
                verdict = tensorstat.origin(path)["verdict"]
                with self.subTest(seed=seed, job=str(job)):
                    self.assertEqual(verdict["kind"], "none", verdict["sentence"])
                    self.assertIsNone(fault)
                with self.subTest(seed=seed, job=str(job), report=True):
                    self.assertEqual(list(tensorstat.findings(path)), [])


if __name__ == "__main__":
    torch.set_num_threads(1)
    unittest.main()
