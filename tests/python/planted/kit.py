"""The parts of the jobs: the verdict that a job has to get, a watch, a loop of training, and small modules."""
import functools
import math

import tensorstat
import torch
from torch import nn

NAN, INF = math.nan, math.inf
JOBS = {}
LAST = []  # the watch of the job that runs
SWITCHED = {}  # options of every watch, and whether it is told the loss
TELLS_LOSS = True


def planted(kind, op_name=None, *, phase=None, iteration=0, operation=None, comment=None, rank=0, notes=None, watch_says=True):
    """A job and its verdict. `comment`: a text in the guilty line of code. The job has it once."""
    def decorate(job):
        JOBS[job.__name__] = job, dict(kind=kind, op_name=op_name, phase=phase, iteration=iteration, operation=operation, comment=comment,
                                       rank=rank, notes=notes, watch_says=watch_says)
        return job
    return decorate


clean = planted("none")


def watch(model, path, **options):
    made = tensorstat.watch(model, path=path, **{**options, **SWITCHED})
    if not TELLS_LOSS:
        made.step = functools.partial(lambda step, loss=None: step(), made.step)
    LAST.append(made)
    return made


def train(model, path, batches, *, loss=lambda y: y.square().mean(), lr=0.1, between=None, optimizer=None, **options):
    """A step of each batch, or of several arguments in a tuple."""
    trained = [each for each in model.parameters() if each.requires_grad]
    optimizer = optimizer or torch.optim.SGD(trained or [torch.zeros(1, requires_grad=True)], lr=lr)
    with watch(model, path, **options) as w:
        for step, batch in enumerate(batches):
            value = loss(model(*batch) if isinstance(batch, tuple) else model(batch))
            if value.requires_grad:
                value.backward()
            if between:
                between(step, model, optimizer)
            optimizer.step()
            w.step(value)
            optimizer.zero_grad()


def batches(count=1, *shape):
    return [torch.randn(*(shape or (4, 8))) for _ in range(count)]


class Log(nn.Module):
    def forward(self, x):
        return torch.log(-x.abs() - 1)  # log of a negative


class Where(nn.Module):
    """Whatever is given."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args, **kwargs):
        return self.function(*args, **kwargs)


class Chain(nn.Module):
    """Modules by name, one after another. Not a Sequential: a Sequential's own code could stand between them."""

    def __init__(self, **modules):
        super().__init__()
        for name, module in modules.items():
            self.add_module(name, module)

    def forward(self, x):
        for module in self.children():
            x = module(x)
        return x


class Tied(nn.Module):
    """One weight of two modules."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(5, 8)
        self.head = nn.Linear(8, 5, bias=False)
        self.head.weight = self.table.weight

    def forward(self, x):
        return self.head(self.table(x))


def causal(x):
    """A mask of -Inf that leaves a value in each row."""
    return x.masked_fill(torch.triu(torch.ones(4, 4, dtype=torch.bool), 1), -INF)


def block(width=8):
    return nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.LayerNorm(width))


class Between(nn.Module):
    """Its own code stands between a and b."""

    def __init__(self, between):
        super().__init__()
        self.a, self.b, self.between = nn.Linear(8, 8), nn.Linear(8, 1), between

    def forward(self, x):
        return self.b(self.between(self.a(x)))


class Scaler:
    """As a gradient scaler does: a step with faulty gradients is skipped."""

    def __init__(self):
        self.scale = 1e38

    def step(self, optimizer):
        parameters = [each for group in optimizer.param_groups for each in group["params"] if each.grad is not None]
        for each in parameters:
            each.grad.div_(self.scale)
        if all(each.grad.isfinite().all() for each in parameters):
            optimizer.step()
        else:
            self.scale /= 1e30


def train_scaled(model, path):
    """Four steps with a Scaler, which is returned."""
    scaler = Scaler()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)
    with watch(model, path) as w:
        for batch in batches(4):
            value = (model(batch) * 30).square().mean()
            (value * scaler.scale).backward()
            scaler.step(optimizer)
            w.step(value)
            optimizer.zero_grad()
    return scaler
