"""Small models of random parts, made by a seed, for random_rows_test, random_origin_test and random_diff_test: modules that are shared,
tied weights, lists and dicts between modules, checkpoints of both kinds, views, writes in place, autocast, parts without gradients."""
import os
import random

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

WIDTH, BATCH = 8, 4
IS_FULL = os.environ.get("TENSORSTAT_FULL") == "1"


def seeds(count):
    """`count` seeds, 150 in the long version. SEED=N: this one."""
    return [int(os.environ["SEED"])] if "SEED" in os.environ else range(150 if IS_FULL else count)


class Part(nn.Module):
    """A test may set `change`: a function that forward calls on one of its tensors."""
    change = None

    def changed(self, x):
        return x if self.change is None else self.change(x)


class Scale(Part):
    def __init__(self):
        super().__init__()
        self.factor = nn.Parameter(torch.randn(WIDTH) * 0.3 + 1)

    def forward(self, x):
        return torch.tanh(self.changed(x) * self.factor)


class Norm(nn.LayerNorm):
    """torch 1.13 does not mix a bfloat16 input, as autocast makes, with float32 weights."""

    def forward(self, x):
        return super().forward(x.float())


class View(nn.Module):
    def forward(self, x):
        return x.view(2, 2, WIDTH).transpose(0, 1).reshape(BATCH, WIDTH)


class Block(Part):
    """Two modules, joined in one of WAYS."""

    def __init__(self, first, second, way):
        super().__init__()
        self.first, self.second, self.way = first, second, way

    def extra_repr(self):
        return self.way

    def forward(self, x):
        return WAYS[self.way](self, x, self.changed(self.first(x)))


def in_place(block, _, y):
    y = block.second(y) * 1
    return y.add_(1)


def without_gradients(block, x, y):
    with torch.no_grad():
        constant = block.second(x)
    return y + constant


def autocast(block, _, y):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = block.second(y)
    return y.float()


# Functions of a block, its input and the result of its first module.
WAYS = {
    "residual": lambda block, x, y: block.second(y) + x,
    "chain": lambda block, _, y: block.second(y * 0.5),
    "first twice": lambda block, _, y: block.second(block.first(y)),
    "parallel": lambda block, x, y: y + block.second(x),
    "halves": lambda block, _, y: torch.cat([block.second(y)[:, :4], y[:, 4:]], 1),
    "checkpoint": lambda block, _, y: checkpoint(block.second, y, use_reentrant=False),
    "reentrant checkpoint": lambda block, _, y: checkpoint(block.second, y, use_reentrant=True),
    "in place": in_place,
    "without gradients": without_gradients,
    "autocast": autocast,
}


class TakesList(Part):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, tensors):
        return {"result": self.inner(self.changed(tensors[0])), "more": (tensors[0] * 2, None)}


class TakesDict(Part):
    def __init__(self, inner, behind):
        super().__init__()
        self.inner, self.behind = TakesList(inner), behind

    def forward(self, x):
        results = self.inner([x])
        return self.behind(self.changed(results["result"])) + results["more"][0]


class RandomModel(Part):
    def __init__(self, dice):
        super().__init__()
        self.dice, self.made = dice, []
        self.blocks = nn.ModuleList(self.tree(dice.choice([1, 2, 2])) for _ in range(dice.randint(1, 3)))
        self.head = nn.Linear(WIDTH, 1)
        del self.dice, self.made

    def linear(self):
        linear = nn.Linear(WIDTH, WIDTH)
        others = [each for each in self.made if isinstance(each, nn.Linear)]
        if others and self.dice.random() < 0.3:
            linear.weight = self.dice.choice(others).weight
        return linear

    def leaf(self):
        return self.dice.choice([self.linear, Scale, Scale, nn.Identity, View, nn.GELU, lambda: Norm(WIDTH),
                                 lambda: nn.Sequential(self.linear(), nn.ReLU(inplace=self.dice.random() < 0.5))])()

    def tree(self, depth):
        """A new module, or one that was made before."""
        if depth == 0:
            if self.made and self.dice.random() < 0.3:
                return self.dice.choice(self.made)
            leaf = self.leaf()
            self.made.append(leaf)
            return leaf
        first, second = self.tree(depth - 1), self.tree(depth - 1)
        kind = self.dice.choice(["block"] * 4 + ["sequence", "structures"])
        if kind == "block":
            module = Block(first, second, self.dice.choice(list(WAYS)))
        elif kind == "sequence":
            module = nn.Sequential(first, second)
        else:
            module = TakesDict(first, second)
        if self.dice.random() < 0.2:
            self.made.append(module)
        return module

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.head(self.changed(x))


def random_model(seed):
    """The same seed gives the same model with the same values."""
    torch.manual_seed(seed)
    return RandomModel(random.Random(seed))


def batch(step, number):
    generator = torch.Generator().manual_seed(100 * step + number)
    return torch.randn(BATCH, WIDTH, generator=generator)


def names_of_modules(model):
    """{module: its name in rows}."""
    return {module: name or type(model).__name__ for name, module in model.named_modules()}
