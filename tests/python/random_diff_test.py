"""A parameter of a random model (random_models.py) is changed before the training, and the run is compared to its twin's: the first
difference of `diff --first` is that parameter, or, without rows of parameters, a module that holds it. A few models;
TENSORSTAT_FULL=1 runs 150, and SEED=N runs one. The test needs torch (Debian's python3-torch)."""
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


def train(model, folder, **options):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
    with tensorstat.watch(model, path=folder, **options) as watch:
        for step in range(2):
            loss = model(batch(step, 0)).square().mean()
            loss.backward()
            optimizer.step()
            watch.step(loss)
            optimizer.zero_grad()


def holders_of(model, parameter):
    """The rows of the modules that hold it themselves. A tied weight has several."""
    return [f"{name}/forward" for module, name in names_of_modules(model).items()
            if any(each is parameter for each in module.parameters(recurse=False))]


class RandomDiff(unittest.TestCase):
    def test_first_difference_is_the_parameter(self):
        torch.set_num_threads(1)
        for seed in seeds(8):
            dice, model, twin = random.Random(seed), random_model(seed), random_model(seed)
            name, parameter = dice.choice(list(twin.named_parameters()))
            options = {"inputs": dice.random() < 0.5, "parameters": dice.random() < 0.5}
            with self.subTest(seed=seed), tempfile.TemporaryDirectory() as folder:
                with torch.no_grad():
                    parameter.add_(0.5)
                train(model, f"{folder}/a", **options)
                train(twin, f"{folder}/b", **options)
                first = tensorstat.compare(f"{folder}/a", f"{folder}/b", first=True)["first"][0]
                phase, names = ("parameter", [name]) if options["parameters"] else ("forward", holders_of(twin, parameter))
                words = f"SEED={seed} {name} {options}\n{first}\n{model}"
                self.assertEqual((first["phase"], first["iteration"]), (phase, 0), words)
                self.assertIn(first["op_name"], names, words)


if __name__ == "__main__":
    unittest.main()
