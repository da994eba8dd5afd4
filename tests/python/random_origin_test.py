"""A NaN is planted at a random place in the training of a random model (random_models.py): in the data, a parameter, the forward or the
backward of a module, the loss, a gradient, or by the optimizer. `origin` names the place, or says that it is not known; it never names
another. A few faults; TENSORSTAT_FULL=1 plants 150, and SEED=N plants one. The test needs torch (Debian's python3-torch)."""
import logging
import math
import random
import sys
import tempfile
import types
import unittest

import tensorstat

try:
    import torch
except ImportError:
    print("torch is not installed: nothing is tested here", file=sys.stderr)
    sys.exit(0)

from bad_backward import BadBackward
from random_models import Part, batch, names_of_modules, random_model, seeds

STEPS = 4
# The verdict's kind of each place.
KINDS = {"data": "entered", "parameter": "parameter", "forward": "produced", "backward": "produced", "loss": "loss", "gradient": "gradient",
         "optimizer": "optimizer"}
PLACES = (*KINDS, "forward", "backward")


def nan_in_forward(x):
    return torch.sqrt(x * 0 - 1)


def nan_in_backward(x):
    return x + torch.sqrt(x * 0)


class Fault:
    """`names`: names of the place; of several parameters the verdict names one."""

    def __init__(self, model, place, dice):
        self.place = place
        self.step = dice.randrange(3)
        self.module = dice.choice([each for each in model.modules() if isinstance(each, Part)])
        named = list(model.named_parameters())
        self.parameters = dict(dice.sample(named, dice.choice([1, 1, min(3, len(named))])))
        self.backward = dice.choice([nan_in_backward, BadBackward.apply])
        self.has_backward = False
        names = names_of_modules(model)
        self.names = (["loss"] if self.place == "loss" else [names[model]] if self.place == "data" else
                      [names[self.module]] if self.place in ("forward", "backward") else list(self.parameters))

    def is_in(self, place, step):
        return (place, step) == (self.place, self.step)

    def begin(self, step):
        if self.is_in("parameter", step):
            self.spoil_parameters()
        self.module.change = nan_in_forward if self.is_in("forward", step) else self.spoil if self.is_in("backward", step) else None

    def spoil_parameters(self):
        with torch.no_grad():
            for parameter in self.parameters.values():
                parameter.fill_(math.nan)

    def spoil(self, x):
        self.has_backward |= x.requires_grad and torch.is_grad_enabled()
        return self.backward(x)


def train(model, fault, batches, watch):
    """Returns the names of the parameters that hold NaN at the beginning of each step."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
    spoiled = []
    for step in range(STEPS):
        fault.begin(step)
        spoiled.append({name for name, parameter in model.named_parameters() if parameter.isnan().any()})
        for number in range(batches):
            x = batch(step, number)
            if fault.is_in("data", step) and number == batches - 1:
                x[1, 2] = math.nan
            loss = model(x).square().mean()
            if fault.is_in("loss", step):
                loss = torch.log(loss * 0 - 1)
            loss.backward()
        if fault.is_in("gradient", step):
            for parameter in fault.parameters.values():
                parameter.grad = torch.full_like(parameter, math.nan)
        optimizer.step()
        if fault.is_in("optimizer", step):
            fault.spoil_parameters()
        watch.step(loss)
        optimizer.zero_grad()
    return spoiled


def is_around(name, fault, verdict, model):
    """Whether the verdict names a module around the fault's, and does not say that its own code did it."""
    modules = dict(model.named_modules())
    return (fault.place in ("forward", "backward") and "own code" not in verdict["sentence"] and
            (name == type(model).__name__ or name in modules and fault.module in modules[name].modules()))


class RandomOrigin(unittest.TestCase):
    def setUp(self):
        torch.set_num_threads(1)
        logger = logging.getLogger("tensorstat")
        self.addCleanup(logger.setLevel, logger.level)
        logger.setLevel(logging.ERROR)

    def test_the_place_is_named_or_not_known(self):
        named, count = 0, 0
        for seed in seeds(len(PLACES)):
            model = random_model(seed)
            with self.subTest(seed=seed), tempfile.TemporaryDirectory() as folder:
                dice = random.Random(seed)
                fault = Fault(model, PLACES[seed % len(PLACES)], dice)
                options = types.SimpleNamespace(every=dice.choice([1, 1, 2]), inputs=dice.random() < 0.5, zoom=dice.random() < 0.7,
                                                level=dice.choice(["module", "module", "op"]))
                batches = dice.choice([1, 1, 2])
                with tensorstat.watch(model, path=folder, **vars(options)) as watch:
                    spoiled = train(model, fault, batches, watch)
                verdict = tensorstat.origin(folder)["verdict"]
                words = f"SEED={seed} {fault.place} of {fault.names}, step {fault.step}, {batches} batches, {options}\n{verdict}\n{model}"
                named += self.is_named(model, fault, options, spoiled, verdict, words)
                count += 1
        if count > 1:
            self.assertGreater(named, 0.8 * count)

    def is_named(self, model, fault, options, spoiled, verdict, words):
        kind = verdict["kind"]
        if kind == "unknown":
            return False
        if fault.place == "backward" and not fault.has_backward:
            self.assertEqual(kind, "none", words)
            return True
        if fault.step % options.every:  # a step without rows
            if kind != "none":
                self.assertEqual(kind, "parameter", words)
                self.assertIn(verdict["op_name"], spoiled[verdict["iteration"]], words)
                self.assertLess(verdict["last_clean_iteration"], fault.step, words)
                self.assertGreater(verdict["iteration"], fault.step, words)
            return True
        self.assertEqual((kind, verdict["iteration"]), (KINDS[fault.place], fault.step), words)
        name = verdict["op_name"].split("/")[0]  # blocks.0/sqrt.0/forward is an operation of blocks.0
        self.assertTrue(name in fault.names or is_around(name, fault, verdict, model), words)
        return True


if __name__ == "__main__":
    unittest.main()
