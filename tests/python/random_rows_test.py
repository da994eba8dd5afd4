"""The rows of a watch are the tensors that torch's own hooks see in random models (random_models.py): results of forward, their
gradients in backward, gradients of parameters. Each has its max, min and l2norm; none is missing, and there are no others. A few models;
TENSORSTAT_FULL=1 runs 150, and SEED=N runs one. The test needs torch (Debian's python3-torch)."""
import collections
import csv
import glob
import random
import sys
import tempfile
import unittest

import tensorstat

try:
    import torch
except ImportError:
    print("torch is not installed: nothing is tested here", file=sys.stderr)
    sys.exit(0)

from random_models import batch, names_of_modules, random_model, seeds

STEPS = 2
HAS_EXACT_HOOKS = hasattr(torch.Tensor, "register_post_accumulate_grad_hook")  # before, hooks of tensors follow a write in place


def tensors_in(value):
    if isinstance(value, torch.Tensor):
        return [value]
    members = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return [tensor for each in members for tensor in tensors_in(each)]


class Oracle:
    """Reads tensors by hooks of torch. `rows`: {(step, name, io, slot): [(max, min, l2norm), ...]}."""

    def __init__(self, model, with_inputs):
        self.rows = collections.defaultdict(list)
        self.step, self.is_backward = 0, False
        self.accumulations = []  # nodes of autograd live as long as somebody holds them
        for module, name in names_of_modules(model).items():
            if with_inputs:
                module.register_forward_pre_hook(lambda _, arguments, name=name: self.see_forward(name, "input", arguments))
            module.register_forward_hook(lambda _, __, results, name=name: self.see_results(name, results))
        for name, parameter in model.named_parameters():
            node = parameter.expand_as(parameter).grad_fn.next_functions[0][0]
            node.register_hook(lambda *_, name=name, parameter=parameter: self.see(name, "input", 0, parameter.grad))
            self.accumulations.append(node)

    def see(self, name, io, slot, tensor):
        values = tensor.detach().double()
        self.rows[self.step, name, io, slot].append((values.max().item(), values.min().item(), values.norm().item()))

    def see_forward(self, name, io, values):
        if not self.is_backward:  # there a checkpoint runs it again
            for slot, tensor in enumerate(tensors_in(values)):
                self.see(f"{name}/forward", io, slot, tensor)

    def see_results(self, name, results):
        self.see_forward(name, "output", results)
        for slot, tensor in enumerate(tensors_in(results)):
            if tensor.grad_fn is not None:  # a watch has no row of a leaf's gradient, such as of a checkpoint's input that Identity returns
                self.wait_for_gradient(tensor, f"{name}/backward", slot)

    def wait_for_gradient(self, tensor, name, slot):
        if HAS_EXACT_HOOKS:
            tensor.register_hook(lambda gradient: self.see(name, "input", slot, gradient))
        else:
            number = tensor.output_nr
            tensor.grad_fn.register_hook(lambda _, gradients: self.see(name, "input", slot, gradients[number]))

    def backward(self, loss):
        self.is_backward = True
        loss.backward()
        self.is_backward = False


def train(model, oracle, dice, watch):
    batches, is_backward_late = dice.choice([1, 1, 2]), dice.random() < 0.3
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
    for oracle.step in range(STEPS):
        losses = []
        for number in range(batches):
            losses.append(model(batch(oracle.step, number)).square().mean())
            if not is_backward_late:
                oracle.backward(losses[-1])
        if is_backward_late:
            for each in losses:
                oracle.backward(each)
        optimizer.step()
        watch.step(losses[-1])
        optimizer.zero_grad()


def rows_in(folder, with_inputs):
    """The rows of the dump, in the form of Oracle.rows."""
    rows = collections.defaultdict(list)
    for step in range(STEPS):
        (path,) = glob.glob(f"{folder}/rank_*/*/0/{step}/statistic.csv")
        with open(path, newline="") as file:
            for row in csv.DictReader(file):
                name, io = row["Op Name"], row["IO"]
                is_seen = (io == "output" or with_inputs if name.endswith("/forward") else
                           io == "input" and (name.endswith("/backward") or row["Op Type"] == "Gradient"))
                if is_seen:
                    values = tuple(float(row[f"{each} Value"]) for each in ("Max", "Min", "L2Norm"))
                    rows[step, name, io, int(row["Slot"])].append(values)
    return rows


class RandomRows(unittest.TestCase):
    def test_rows_are_those_of_hooks(self):
        torch.set_num_threads(1)
        for seed in seeds(8):
            model = random_model(seed)
            with self.subTest(seed=seed), tempfile.TemporaryDirectory() as folder:
                dice = random.Random(seed)
                with_inputs = dice.random() < 0.5
                oracle = Oracle(model, with_inputs)
                with tensorstat.watch(model, path=folder, inputs=with_inputs) as watch:
                    train(model, oracle, dice, watch)
                self.check(rows_in(folder, with_inputs), oracle.rows, f"SEED={seed} {model}")

    def check(self, rows, expected, model):
        counts, expected_counts = (collections.Counter({key: len(values) for key, values in each.items()}) for each in (rows, expected))
        self.assertEqual((expected_counts - counts, counts - expected_counts), ({}, {}), f"missing rows, and others: {model}")
        for key, values in expected.items():
            for got, each in zip(rows[key], values):
                for value, oracles in zip(got, each):
                    self.assertAlmostEqual(value, oracles, delta=1e-5 * max(abs(oracles), 1e-6), msg=f"{key} {model}")


if __name__ == "__main__":
    unittest.main()
