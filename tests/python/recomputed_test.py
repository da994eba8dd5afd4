"""Faults in modules that torch.utils.checkpoint runs again in backward, of both kinds, are named with operation and line. The losses are
those without a watch, and checkpoint() is as it was. Skipped where there is no torch (Debian's python3-torch)."""
import logging
import sys
import tempfile
import unittest

import tensorstat

try:
    import torch
except ImportError:
    print("torch is not installed: nothing is tested here", file=sys.stderr)
    sys.exit(0)

import torch.utils.checkpoint as checkpoints
from torch import nn


class Spoiled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 1

    @staticmethod
    def backward(ctx, gradient):  # own
        return gradient * float("nan")


def log(x):
    return torch.log(-x.abs() - 1)  # log


def root(x):
    return torch.sqrt(x * 0) + x  # root


FAULTS = {"log": (log, "forward", "log"), "root": (root, "backward", "SqrtBackward0"), "own": (Spoiled.apply, "backward", "SpoiledBackward")}


class Part(nn.Module):
    def __init__(self):
        super().__init__()
        self.fault = None

    def forward(self, x):
        return x if self.fault is None else self.fault(x)


class Net(nn.Module):
    """A block is run by a checkpoint; or both in one."""

    def __init__(self, reentrant, is_one):
        super().__init__()
        self.first, self.last = nn.Linear(8, 8), nn.Linear(8, 1)
        self.blocks = nn.ModuleList(nn.Sequential(nn.Linear(8, 8), Part(), nn.Dropout(0.1), nn.Linear(8, 8)) for _ in range(2))
        self.reentrant, self.is_one = reentrant, is_one

    def forward(self, x):
        x = self.first(x)
        for block in [nn.Sequential(*self.blocks)] if self.is_one else self.blocks:
            x = checkpoints.checkpoint(block, x, use_reentrant=self.reentrant)
        return self.last(x)


def train(reentrant, is_one, fault, path=None):
    torch.manual_seed(3)
    model = Net(reentrant, is_one)
    optimizer, losses = torch.optim.SGD(model.parameters(), 0.01), []
    watch = tensorstat.watch(model, path=path) if path else None
    for step in range(3):
        model.blocks[1][1].fault = fault if step == 1 else None
        loss = model(torch.randn(4, 8)).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if watch:
            watch.step(loss)
        optimizer.zero_grad()
    if watch:
        watch.close()
    return losses


class Recomputed(unittest.TestCase):
    def test_faults_are_named(self):
        names = "CheckpointFunction", "_checkpoint_without_reentrant"
        before = [getattr(checkpoints, each, None) for each in names]
        with open(__file__, encoding="utf-8") as file:
            lines = file.read().split("\n")
        for reentrant in (False, True):
            for is_one in (False, True):
                for name, (fault, phase, operation) in FAULTS.items():
                    with self.subTest(reentrant=reentrant, one=is_one, fault=name), tempfile.TemporaryDirectory() as path:
                        losses = train(reentrant, is_one, fault, path)
                        self.assertEqual(str(losses), str(train(reentrant, is_one, fault)))
                        verdict = tensorstat.origin(path)["verdict"]
                        self.assertEqual((verdict["kind"], verdict["op_name"], verdict["phase"], verdict["iteration"]),
                                         ("produced", f"blocks.1.1/{phase}", phase, 1), verdict)
                        self.assertIn(operation, verdict["operation"])
                        self.assertTrue(lines[verdict["line"] - 1].endswith(f"# {name}") or name == "own", verdict)
        self.assertEqual([getattr(checkpoints, each, None) for each in names], before)


if __name__ == "__main__":
    torch.set_num_threads(1)
    logging.getLogger("tensorstat").setLevel(logging.CRITICAL)
    unittest.main()
