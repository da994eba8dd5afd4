"""Small PyTorch jobs with one planted fault each, and clean ones: `tensorstat origin` names the place of each fault, its phase,
its iteration and where it can the operation and its line, and accuses nobody of the clean ones. Skipped where there is no
torch (Debian's python3-torch)."""
import contextlib
import dataclasses
import functools
import inspect
import json
import logging
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
    from torch.utils.checkpoint import checkpoint
except ImportError:
    print("torch is not installed: nothing is tested here", file=sys.stderr)
    sys.exit(0)

NAN, INF = math.nan, math.inf
JOBS = {}
LAST = []  # the watch of the job that runs
SWITCHED = {}  # options of every watch, and whether it is told the loss
TELLS_LOSS = True

# What a user may switch off, and what the answer then says was not watched.
MODES = {
    "parameters": ({"parameters": False}, True, {"parameters"}),
    "gradients": ({"gradients": False}, True, {"gradients"}),
    "loss": ({}, False, {"loss"}),
    "parameters_and_gradients": ({"parameters": False, "gradients": False}, True, {"parameters", "gradients"}),
    "parameters_and_zoom": ({"parameters": False, "zoom": False}, True, {"parameters"}),
}


def planted(kind, op_name=None, *, phase=None, iteration=0, operation=None, at=None, rank=0, notes=None, unless=None, watch_says=True):
    """A job and its verdict. `at`: what the line of code says, of which the job has one."""
    def decorate(job):
        JOBS[job.__name__] = job, dict(kind=kind, op_name=op_name, phase=phase, iteration=iteration, operation=operation, at=at,
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
    """Modules by name, one after another. It is no Sequential: its own code could stand between them."""

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


# --- what comes in ---

@planted("entered", "Sequential", phase="input", iteration=2)
def a_bad_batch(path):
    given = batches(4)
    given[2][1, 3] = NAN
    train(nn.Sequential(block(), block()), path, given)


@planted("entered", "Sequential")
def a_batch_of_nan_alone(path):
    train(nn.Sequential(nn.Linear(8, 8), nn.ReLU()), path, [torch.full((4, 8), NAN)])


@planted("entered", "Sequential")
def an_infinite_value_in_the_data(path):
    given = batches()
    given[0][0, 0] = INF
    train(nn.Sequential(nn.Linear(8, 8), nn.LayerNorm(8)), path, given)


@planted("entered", "Sequential")
def a_bad_batch_through_an_identity(path):
    given = batches()
    given[0][0, 0] = NAN
    train(nn.Sequential(nn.Identity(), nn.Dropout(0.0), nn.Linear(8, 8)), path, given)


@planted("entered", "Sequential")
def a_bad_batch_with_inputs_of_all(path):
    given = batches()
    given[0][0, 0] = NAN
    train(nn.Sequential(nn.Linear(8, 8), nn.ReLU()), path, given, inputs=True)


@planted("entered", "Net")
def a_bad_argument_by_name(path):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Linear(8, 8)

        def forward(self, *, x, bias):
            return self.a(x) + bias

    model = Net()
    with watch(model, path) as w:
        value = model(x=torch.randn(2, 8), bias=torch.full((8,), NAN)).sum()
        value.backward()
        w.step(value)


@planted("entered", "Net")
def bad_data_in_a_dict(path):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Linear(8, 8)

        def forward(self, batch):
            return self.a(batch["x"]) * batch["weights"]

    train(Net(), path, [{"x": torch.randn(4, 8), "weights": torch.tensor([1.0, NAN] * 4)}])


@planted("entered", "Embedded")
def bad_data_of_eval(path):
    class Embedded(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = nn.BatchNorm1d(8)
            self.a = nn.Linear(8, 8)

        def forward(self, x):
            return self.a(self.norm(x))

    model = Embedded().eval()
    with watch(model, path) as w, torch.no_grad():
        for step in range(3):
            x = torch.randn(4, 8)
            x[0, 0] = NAN
            model(x)
            w.step()


# --- parameters ---

@planted("parameter", "1.0.weight", phase="parameter")
def a_bad_weight(path):
    model = nn.Sequential(block(), block())
    with torch.no_grad():
        model[1][0].weight[2, 2] = NAN
    train(model, path, batches())


@planted("parameter", "bias", phase="parameter", iteration=1)
def a_weight_spoiled_between_steps(path):
    model = nn.Linear(8, 8)
    with watch(model, path) as w:
        for step in range(3):
            if step == 1:
                with torch.no_grad():
                    model.bias[0] = INF
            value = model(torch.randn(2, 8)).square().mean()
            value.backward()
            w.step(value)
            model.zero_grad()


@planted("parameter", "1.running_var")
def a_bad_buffer(path):
    model = nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8)).eval()
    model[1].running_var[3] = NAN
    train(model, path, batches())


@planted("parameter", "table.weight")
def a_bad_row_of_a_tied_embedding(path):
    model = Tied()
    with torch.no_grad():
        model.table.weight[4, 1] = NAN
    train(model, path, [torch.tensor([0, 1])])


# --- modules' forward ---

@planted("produced", "1", phase="forward", operation="log", at="# log of a negative")
def log_of_negatives(path):
    train(nn.Sequential(nn.Linear(8, 8), Log(), nn.Linear(8, 1)), path, batches())


@planted("produced", "1.2", phase="forward", operation="log", at="# log of a negative", iteration=3)
def log_of_negatives_late_and_deep(path):
    class Late(nn.Module):
        def __init__(self):
            super().__init__()
            self.count = -1

        def forward(self, x):
            self.count += 1
            return x if self.count < 3 else Log()(x)

    class LateLog(Log):
        steps = 0

        def forward(self, x):
            LateLog.steps += 1
            return super().forward(x) if LateLog.steps > 3 else x

    train(nn.Sequential(block(), nn.Sequential(nn.Linear(8, 8), nn.ReLU(), LateLog())), path, batches(5))


@planted("produced", "act", operation="sqrt", at="the root of a negative")
def root_of_negatives(path):
    model = Chain(a=nn.Linear(8, 8), act=Where(lambda x: torch.sqrt(x - 1e3)))  # the root of a negative
    train(model, path, batches())


@planted("produced", "1", operation="div", at="zero by zero")
def zero_by_zero(path):
    train(nn.Sequential(nn.ReLU(), Where(lambda x: x / x)), path, [torch.zeros(2, 8) - 1])  # zero by zero


@planted("produced", "norm", at="no variance")
def a_norm_without_an_epsilon(path):
    class Norm(nn.Module):
        def forward(self, x):
            return (x - x.mean(-1, keepdim=True)) / x.std(-1, keepdim=True)  # no variance

    model = Chain(norm=Norm(), a=nn.Linear(8, 1))
    train(model, path, [torch.ones(3, 8)])


@planted("produced", "1", operation="exp", at="too large for exp")
def an_overflow_of_exp(path):
    train(nn.Sequential(nn.Linear(8, 8), Where(lambda x: torch.exp(x.abs() + 200)), nn.Linear(8, 1)), path, batches())  # too large for exp


@planted("produced", "1", operation="exp", at="grows beyond")
def an_inf_that_becomes_nan_in_another_module(path):
    train(nn.Sequential(nn.Linear(8, 8), Where(lambda x: torch.exp(x.abs() + 200)), nn.LayerNorm(8)), path, batches())  # grows beyond


@planted("produced", "1", operation="exp", at="exp and minus")
def an_inf_that_becomes_nan_in_the_same_module(path):
    def minus(x):
        y = torch.exp(x.abs() + 200)  # exp and minus
        return y - y
    train(nn.Sequential(nn.Linear(8, 8), Where(minus)), path, batches())


@planted("produced", "1", at="beyond half")
def an_overflow_of_float16(path):
    train(nn.Sequential(nn.Linear(8, 8), Where(lambda x: (x * 0 + 7e4).half().float())), path, batches())  # beyond half


@planted("produced", "1", operation="mul", at="times itself")
def an_overflow_of_bfloat16(path):
    model = nn.Sequential(nn.Identity(), Where(lambda x: x * x))  # times itself
    with watch(model, path) as w, torch.no_grad():
        model(torch.full((2, 8), 1e30, dtype=torch.bfloat16))
        w.step()


@planted("produced", "soft", operation="softmax", at="every key is masked")
def softmax_of_a_fully_masked_row(path):
    class Mask(nn.Module):
        def forward(self, scores, mask):
            return scores.masked_fill(mask, -INF)

    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.mask = nn.Linear(8, 8), Mask()
            self.soft = Where(lambda scores: F.softmax(scores, -1))  # every key is masked

        def forward(self, x, mask):
            return self.soft(self.mask(self.a(x), mask))

    mask = torch.zeros(4, 8, dtype=torch.bool)
    mask[2] = True
    train(Attention(), path, [(torch.randn(4, 8), mask)])


@planted("produced", "attention", operation="softmax", at="mask and softmax")
def softmax_and_mask_in_one_module(path):
    class Attention(nn.Module):
        def forward(self, x, mask):
            scores = x.masked_fill(mask, -INF)
            return F.softmax(scores, -1)  # mask and softmax

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.attention = nn.Linear(8, 8), Attention()

        def forward(self, x, mask):
            return self.attention(self.a(x), mask)
    mask = torch.zeros(4, 8, dtype=torch.bool)
    mask[1] = True
    train(Net(), path, [(torch.randn(4, 8), mask)])


@planted("produced", "attention", operation="softmax")
def torchs_attention_with_all_keys_padded(path):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.attention = nn.Linear(8, 8), nn.MultiheadAttention(8, 2, batch_first=True)

        def forward(self, x, padding):
            x = self.a(x)
            return self.attention(x, x, x, key_padding_mask=padding)[0]
    padding = torch.zeros(2, 5, dtype=torch.bool)
    padding[1] = True
    train(Net(), path, [(torch.randn(2, 5, 8), padding)])


@planted("produced", "1", operation="log", at="of what dropout left")
def a_dropout_decides(path):
    torch.manual_seed(5)
    model = nn.Sequential(nn.Linear(8, 8), Where(lambda x: torch.log(F.dropout(torch.ones_like(x), 0.5) - 0.5)))  # of what dropout left
    train(model, path, batches())


@planted("produced", "bn", operation="log", at="after the norm")
def a_batch_norm_whose_buffers_stay(path):
    class Norm(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = nn.BatchNorm1d(8)

        def forward(self, x):
            return torch.log(self.norm(x) - 100)  # after the norm

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.bn = nn.Linear(8, 8), Norm()

        def forward(self, x):
            return self.bn(self.a(x))
    model = Net()
    train(model, path, batches())
    assert model.bn.norm.num_batches_tracked == 1


@planted("produced", "1", operation=None)
def a_counter_decides(path):
    class Counts(nn.Module):
        def __init__(self):
            super().__init__()
            self.seen = []

        def forward(self, x):
            self.seen.append(1)
            return torch.log(x - 1e3) if len(self.seen) == 1 else x
    model = nn.Sequential(nn.Linear(8, 8), Counts())
    train(model, path, batches())
    assert len(model[1].seen) == 1


@planted("produced", "1")
def in_place_on_the_argument(path):
    train(nn.Sequential(nn.Linear(8, 8), Where(lambda x: x.mul_(-1).sub_(1e3).sqrt_())), path, batches(), gradients=False,
          loss=lambda y: y.detach().sum())


@planted("produced", "2", operation="log", at="# log of a negative")
def after_an_in_place_relu(path):
    train(nn.Sequential(nn.Linear(8, 8), nn.ReLU(inplace=True), Log()), path, batches())


@planted("produced", "inner", operation="log", at="in a custom function")
def a_custom_functions_forward(path):
    class Custom(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return torch.log(x - 1e3)  # in a custom function

        @staticmethod
        def backward(ctx, gradient):
            return gradient

    model = Chain(a=nn.Linear(8, 8), inner=Where(Custom.apply))
    train(model, path, batches())


@planted("produced", "body", operation="log", at="# log of a negative")
def inside_of_a_checkpoint(path):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.body, self.head = nn.Linear(8, 8), Log(), nn.Linear(8, 1)

        def forward(self, x):
            return self.head(checkpoint(self.body, self.a(x)))
    train(Net(), path, batches())


@planted("produced", "1")
def a_scripted_module(path):
    class Scripted(nn.Module):
        def forward(self, x):
            return torch.log(x - 1000.0)
    train(nn.Sequential(nn.Linear(8, 8), torch.jit.script(Scripted())), path, batches())


@planted("produced", "branch", operation="log", at="one branch")
def one_of_two_branches(path):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.branch = nn.Linear(8, 8), Where(lambda x: torch.log(x - 1e3))  # one branch
            self.other, self.head = nn.Linear(8, 8), nn.Linear(8, 1)

        def forward(self, x):
            x = self.a(x)
            bad = self.branch(x)
            return self.head(self.other(x) + bad)
    train(Net(), path, batches())


@planted("produced", "made", operation="log", at="in an object")
def outputs_in_an_object(path):
    class Holder:
        def __init__(self, value):
            self.value = value

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.made, self.head = nn.Linear(8, 8), Where(lambda x: Holder(torch.log(x - 1e3))), nn.Linear(8, 1)  # in an object

        def forward(self, x):
            return self.head(self.made(self.a(x)).value)
    train(Net(), path, batches())


@planted("produced", "made", operation="log", at="in a dataclass")
def outputs_in_a_dataclass(path):
    @dataclasses.dataclass
    class Holder:
        value: object
        kind: type = int

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.made, self.head = nn.Linear(8, 8), Where(lambda x: Holder([torch.log(x - 1e3)])), nn.Linear(8, 1)  # in a dataclass

        def forward(self, x):
            return self.head(self.made(self.a(x)).value[0])
    train(Net(), path, batches())


@planted("produced", "made", operation="log", at="by keyword")
def arguments_by_name(path):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.made = nn.Linear(8, 8), Where(lambda *, x, y: torch.log(x - 1e3) + y)  # by keyword

        def forward(self, x):
            return self.made(x=self.a(x), y=x)
    train(Net(), path, batches())


@planted("produced", "layer", operation="log", at="called twice")
def a_module_that_is_called_twice(path):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = Where(lambda x: torch.log(x))  # called twice

        def forward(self, x):
            return self.layer(self.layer(x) - 1e3)
    train(Net(), path, [torch.ones(2, 8) + torch.rand(2, 8)], loss=lambda y: y.sum())


@planted("produced", "1.spectrum", operation="log", at="of a spectrum")
def complex_values(path):
    class Spectrum(nn.Module):
        def forward(self, x):
            return torch.view_as_complex(torch.stack([torch.log(x - 1e3), x], -1))  # of a spectrum

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.spectrum = Spectrum()

        def forward(self, x):
            return self.spectrum(x).abs()
    train(nn.Sequential(nn.Linear(8, 8), Net()), path, batches())


@planted("produced", "1", operation="log", at="while rows are cut off elsewhere", iteration=1)
def after_an_honest_mask_in_the_step_before(path):
    steps = []

    def late(x):
        steps.append(1)
        return torch.log(x - 1e3) if len(steps) > 1 else x  # while rows are cut off elsewhere
    model = nn.Sequential(nn.Sequential(nn.Linear(4, 4), Where(lambda x: x.masked_fill(torch.eye(4, dtype=torch.bool), -INF)), nn.Softmax(-1)),
                          Where(late))
    train(model, path, batches(2, 4, 4), zoom=True)


@planted("produced", "4", operation="log", at="# log of a negative")
def behind_an_honest_mask(path):
    train(nn.Sequential(nn.Linear(4, 4), Where(causal), nn.Softmax(-1), nn.Linear(4, 4), Log()), path, batches(1, 4, 4))


# --- functional code between modules ---

class Between(nn.Module):
    """Its own code stands between a and b."""

    def __init__(self, between):
        super().__init__()
        self.a, self.b, self.between = nn.Linear(8, 8), nn.Linear(8, 1), between

    def forward(self, x):
        return self.b(self.between(self.a(x)))


@planted("produced", "Between", operation="log", at="between a and b")
def functional_code_between_modules(path):
    train(Between(lambda x: torch.log(x - 1e3)), path, batches())  # between a and b


@planted("produced", "Between", operation="log", at="with all inputs")
def functional_code_with_inputs(path):
    train(Between(lambda x: torch.log(x - 1e3)), path, batches(), inputs=True)  # with all inputs


@planted("produced", "Between", operation="div", at="by its own sum")
def functional_division(path):
    train(Between(lambda x: x / (x - x).sum()), path, batches())  # by its own sum


@planted("produced", "Net", operation="log", at="after the last")
def functional_code_after_the_last_module(path):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Linear(8, 8)

        def forward(self, x):
            return torch.log(self.a(x) - 1e3)  # after the last
    train(Net(), path, batches())


@planted("produced", "Net", operation="log", at="before the first")
def functional_code_before_the_first_module(path):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Linear(8, 8)

        def forward(self, x):
            x = torch.log(x - 1e3)  # before the first
            return self.a(x)
    train(Net(), path, batches())


@planted("produced", "inner", operation="exp", at="residual")
def functional_code_of_an_inner_module(path):
    class Inner(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(8, 8), nn.LayerNorm(8)

        def forward(self, x):
            y = torch.exp(self.a(x).abs() + 100)  # residual
            return self.b(x + y)

    model = Chain(first=nn.Linear(8, 8), inner=Inner(), last=nn.Linear(8, 1))
    train(model, path, batches())


# --- the loss ---

@planted("loss", "loss", phase="loss")
def a_loss_that_takes_a_log(path):
    train(nn.Linear(8, 8), path, batches(), loss=lambda y: torch.log(y.softmax(-1) - 1).mean())


@planted("loss", "loss", phase="loss", iteration=1)
def targets_that_are_nan(path):
    targets = [torch.zeros(4, 8), torch.full((4, 8), NAN)]
    train(nn.Linear(8, 8), path, batches(2), loss=lambda y: F.mse_loss(y, targets.pop(0)))


@planted("loss", "loss/kl", phase="loss")
def one_of_several_losses(path):
    model = nn.Linear(8, 8)
    with watch(model, path) as w:
        y = model(torch.randn(4, 8))
        losses = {"mse": y.square().mean(), "kl": (y.detach() - 1e3).log().sum()}
        losses["mse"].backward()
        w.step(losses)


@planted("loss", "loss", phase="loss")
def a_mean_of_nothing(path):
    train(nn.Linear(8, 8), path, batches(), loss=lambda y: y[y > 1e9].mean())


@planted("loss", phase="backward")
def a_loss_whose_backward_is_bad(path):
    train(nn.Sequential(nn.Linear(8, 8), nn.ReLU()), path, [torch.zeros(2, 8)], loss=lambda y: torch.sqrt((y * 0).sum()))


# --- backward ---

class BadBackward(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 1

    @staticmethod
    def backward(ctx, gradient):
        return gradient * NAN


@planted("produced", "3", phase="backward", operation="BadBackward")
def a_custom_functions_backward(path):
    train(nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8), Where(BadBackward.apply), nn.Linear(8, 1)), path, batches())


@planted("produced", "1", phase="backward", operation="Sqrt", at="root of zero")
def the_root_of_zero(path):
    train(nn.Sequential(nn.Linear(8, 8), Where(lambda x: torch.sqrt((x * 0).abs())), nn.Linear(8, 1)), path, batches())  # root of zero


@planted("produced", "1", phase="backward", operation="Sqrt", at="zero with inputs")
def the_root_of_zero_with_inputs(path):
    train(nn.Sequential(nn.Linear(8, 8), Where(lambda x: torch.sqrt((x * 0).abs())), nn.Linear(8, 1)), path, batches(), inputs=True)  # zero with inputs


@planted("produced", "norm", phase="backward", at="length of nothing")
def the_norm_of_zero(path):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.norm = nn.Linear(8, 8), Where(lambda x: (x * x).sum(-1).sqrt())  # length of nothing

        def forward(self, x):
            return self.norm(self.a(x) * 0)
    train(Net(), path, batches(), loss=lambda y: y.sum())


@planted("produced", "cut", phase="backward", at="was cut off")
def what_where_cut_off_comes_back(path):
    model = Chain(a=nn.Linear(8, 8),
                  cut=Where(lambda x: torch.where(x > 0, x.sqrt(), torch.zeros_like(x))),  # was cut off
                  b=nn.Linear(8, 1))
    train(model, path, batches())


@planted("produced", "Net", phase="backward", operation="Sqrt", at="functional root")
def functional_code_whose_backward_is_bad(path):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(8, 8), nn.Linear(8, 1)

        def forward(self, x):
            return self.b(torch.sqrt((self.a(x) * 0).abs()))  # functional root
    train(Net(), path, batches())


@planted("produced", "scale", phase="backward")
def only_the_gradient_of_a_weight(path):
    class Scale(nn.Module):
        def __init__(self):
            super().__init__()
            self.power = nn.Parameter(torch.ones(8))

        def forward(self, x):
            return x ** self.power

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.scale = nn.Linear(8, 8), Scale()

        def forward(self, x):
            self.a(x)
            return self.scale(x)
    train(Net(), path, [-torch.rand(2, 8) - 0.5], loss=lambda y: y.sum())


@planted("produced", "body", phase="backward")
def a_backward_inside_of_a_checkpoint(path):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.body, self.head = nn.Linear(8, 8), Where(lambda x: torch.sqrt((x * 0).abs())), nn.Linear(8, 1)

        def forward(self, x):
            return self.head(checkpoint(self.body, self.a(x)))
    train(Net(), path, batches())


@planted("produced", "head", phase="backward", iteration=2)
def a_backward_that_overflows(path):
    class Scaled(torch.autograd.Function):
        scale = 1.0

        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, gradient):
            return gradient * Scaled.scale

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.head = nn.Linear(8, 8), Where(Scaled.apply)

        def forward(self, x):
            return self.head(self.a(x))

    def between(step, model, optimizer):
        Scaled.scale = 1e39 if step == 1 else 1.0
    train(Net(), path, batches(4), between=between)


# --- gradients after backward ---

@planted("gradient", "weight", phase="gradient", iteration=1)
def a_clipping_that_divides_by_zero(path):
    def between(step, model, optimizer):
        if step == 1:
            model.weight.grad.mul_(0).div_(model.weight.grad.norm())
    train(nn.Linear(8, 1), path, batches(3), between=between)


@planted("gradient", "1.weight", phase="gradient")
def a_gradient_that_is_replaced(path):
    def between(step, model, optimizer):
        model[1].weight.grad = torch.full_like(model[1].weight, INF)
    train(nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 1)), path, batches(), between=between)


@planted("gradient", "bias", phase="gradient")
def an_unscaling_by_zero(path):
    def between(step, model, optimizer):
        model.bias.grad.div_(0.0)
    train(nn.Linear(8, 1), path, batches(), between=between)


# --- the optimizer ---

@planted("optimizer", phase="optimizer", iteration=1)
def a_learning_rate_that_is_too_large(path):
    def between(step, model, optimizer):
        if step == 1:
            optimizer.param_groups[0]["lr"] = 3e38
    train(nn.Linear(8, 1), path, batches(2), between=between, loss=lambda y: (y * 100).square().mean())


@planted("optimizer", "weight", phase="optimizer")
def an_optimizer_that_divides_by_zero(path):
    class Divides(torch.optim.SGD):
        def step(self):
            with torch.no_grad():
                weight = self.param_groups[0]["params"][0]
                weight.sub_(weight.grad / (weight.grad - weight.grad))
    model = nn.Linear(8, 1)
    train(model, path, batches(), optimizer=Divides(model.parameters(), lr=0.1))


@planted("optimizer", phase="optimizer")
def an_optimizer_that_writes_data(path):
    class Data(torch.optim.SGD):
        def step(self):
            for parameter in self.param_groups[0]["params"]:
                parameter.data.mul_(INF)
    model = nn.Linear(8, 1)
    train(model, path, batches(), optimizer=Data(model.parameters(), lr=0.1))


@planted("optimizer", phase="optimizer", iteration=1)
def adam_whose_moments_are_bad(path):
    model = nn.Linear(8, 1)
    optimizer = torch.optim.Adam(model.parameters())

    def between(step, model, optimizer):
        if step == 1:
            optimizer.state[model.weight]["exp_avg"].fill_(NAN)
    train(model, path, batches(3), between=between, optimizer=optimizer)


# --- steps and several models ---

@planted("produced", "1", iteration=20, operation="log")
def only_every_tenth_step_is_watched(path):
    steps = []

    def late(x):
        steps.append(1)
        return torch.log(x - 1e3) if len(steps) > 15 else x
    model = nn.Sequential(nn.Linear(8, 8), Where(late))
    with watch(model, path, every=10) as w, torch.no_grad():
        for batch in batches(25):
            w.step(model(batch).mean())


@planted("produced", "disc.1", operation="log", at="# log of a negative")
def one_of_two_models(path):
    generator, discriminator = nn.Sequential(nn.Linear(8, 8)), nn.Sequential(nn.Linear(8, 8), Log())
    with watch({"gen": generator, "disc": discriminator}, path) as w:
        value = discriminator(generator(torch.randn(2, 8))).sum()
        value.backward()
        w.step(value)


@planted("produced", "1", operation="log", at="# log of a negative")
def a_nan_in_the_result_while_gradients_are_clean_and_no_loss_is_told(path):
    model = nn.Sequential(nn.Linear(8, 8), Log())
    with watch(model, path) as w:
        model(torch.randn(2, 8)).sum().backward()
        w.step()


@planted("produced", "1", operation="log", at="# log of a negative")
def without_a_loss(path):
    model = nn.Sequential(nn.Linear(8, 8), Log())
    with watch(model, path) as w:
        model(torch.randn(2, 8)).square().sum().backward()
        w.step()


@planted("produced", "1", operation="log", at="# log of a negative")
def without_gradients(path):
    model = nn.Sequential(nn.Linear(8, 8), Log())
    with watch(model, path) as w, torch.inference_mode():
        model(torch.randn(2, 8))
        w.step()


# --- operations ---

@planted("produced", "1/log.0", phase="forward", operation="log", at="# log of a negative")
def an_operation(path):
    train(nn.Sequential(nn.Linear(8, 8), Log(), nn.Linear(8, 1)), path, batches(), level="op")


@planted("produced", "Between/log.0", operation="log", at="an operation between")
def an_operation_between_modules(path):
    train(Between(lambda x: torch.log(x - 1e3)), path, batches(), level="op")  # an operation between


@planted("produced", "1/sqrt.0", phase="backward")
def an_operations_backward(path):
    train(nn.Sequential(nn.Linear(8, 8), Where(lambda x: torch.sqrt((x * 0).abs())), nn.Linear(8, 1)), path, batches(), level="op")


@planted("loss", "loss/log.0", operation="log", at="an operation of the loss")
def an_operation_of_the_loss(path):
    train(nn.Linear(8, 8), path, batches(), loss=lambda y: torch.log(y.softmax(-1) - 1).mean(), level="op")  # an operation of the loss


@clean
def operations_of_a_mask(path):
    train(nn.Sequential(nn.Linear(4, 4), Where(lambda x: causal(x).softmax(-1)), nn.Linear(4, 1)), path, batches(2, 4, 4), level="op")


# --- clean ---

@clean
def clean_training(path):
    train(nn.Sequential(block(), block()), path, batches(3))


@clean
def clean_with_inputs(path):
    train(nn.Sequential(block(), block()), path, batches(3), inputs=True)


@clean
def a_mask_and_softmax(path):
    train(nn.Sequential(nn.Linear(4, 4), Where(causal), nn.Softmax(-1), nn.Linear(4, 1)), path, batches(3, 4, 4))


@clean
def a_mask_that_is_added(path):
    model = Chain(a=nn.Linear(4, 4), add=Where(lambda x: x + torch.full((4, 4), -INF).triu(1)), soft=nn.Softmax(-1))
    train(model, path, batches(3, 4, 4))


@clean
def a_mask_that_comes_in(path):
    class Masked(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.soft = nn.Linear(4, 4), nn.Softmax(-1)

        def forward(self, x, mask):
            return self.soft(self.a(x) + mask)
    train(Masked(), path, [(torch.randn(4, 4), torch.full((4, 4), -INF).triu(1))])


@clean
def torchs_attention_with_padding(path):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.attention = nn.MultiheadAttention(8, 2, batch_first=True)

        def forward(self, x, padding):
            return self.attention(x, x, x, key_padding_mask=padding)[0]
    padding = torch.zeros(2, 5, dtype=torch.bool)
    padding[1, 3:] = True
    train(Net(), path, [(torch.randn(2, 5, 8), padding)])


@clean
def a_log_of_zero_as_a_mask(path):
    class Masked(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.log, self.soft = nn.Linear(4, 4), Where(lambda x: torch.log(torch.eye(4) + x * 0)), nn.Softmax(-1)

        def forward(self, x):
            return self.soft(self.a(x) + self.log(x.detach()))
    train(Masked(), path, batches(2, 4, 4))


@clean
def an_inf_that_a_sigmoid_ends(path):
    train(nn.Sequential(nn.Linear(8, 8), Where(lambda x: torch.exp(x.detach().abs() + 200)), nn.Sigmoid(), nn.Linear(8, 1)), path, batches(2))


@clean
def padded_rows_of_nan_that_are_cut_off(path):
    model = Chain(a=nn.Linear(8, 8),
                  pad=Where(lambda x: torch.cat([x, torch.full((1, 8), NAN)])),
                  cut=Where(lambda x: x[:-1]),
                  b=nn.Linear(8, 1))
    train(model, path, batches(2))


@clean
def dropout_and_batch_norm(path):
    train(nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8), nn.Dropout(0.3), nn.ReLU(inplace=True), nn.Linear(8, 1)), path, batches(3))


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


@clean
def a_scaler_that_skips_steps(path):
    model, scaler = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 1)), Scaler()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)
    with watch(model, path) as w:
        for batch in batches(4):
            value = (model(batch) * 30).square().mean()
            (value * scaler.scale).backward()
            scaler.step(optimizer)
            w.step(value)
            optimizer.zero_grad()
    assert scaler.scale < 1e38


@clean
def mixed_precision(path):
    model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with watch(model, path) as w:
        for batch in batches(3):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                value = model(batch).float().square().mean()
            value.backward()
            optimizer.step()
            w.step(value)
            optimizer.zero_grad()


@clean
def frozen_layers(path):
    model = nn.Sequential(Where(lambda x: torch.sqrt(x * 0)), nn.Linear(8, 8), nn.Linear(8, 1))
    model[1].requires_grad_(False)
    train(model, path, batches(2))


@clean
def checkpointing(path):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.body, self.head = nn.Linear(8, 8), block(), nn.Linear(8, 1)

        def forward(self, x):
            return self.head(checkpoint(self.body, self.a(x)))
    train(Net(), path, batches(2))


@clean
def tied_weights(path):
    train(Tied(), path, [torch.tensor([0, 1]), torch.tensor([2, 3])])


@clean
def accumulated_gradients(path):
    model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 1))
    optimizer = torch.optim.AdamW(model.parameters())
    with watch(model, path, optimizer=optimizer) as w:
        for _ in range(2):
            for batch in batches(3):
                value = model(batch).square().mean()
                value.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 0.01)
            optimizer.step()
            w.step(value)
            optimizer.zero_grad()


@clean
def a_transformer(path):
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    model = nn.TransformerEncoder(layer, 2)
    train(model, path, batches(2, 2, 5, 8))


@clean
def an_rnn(path):
    model = nn.LSTM(8, 8, 2)
    train(model, path, batches(2, 3, 2, 8), loss=lambda y: y[0].square().mean())


@clean
def a_convolution_of_weights_that_are_normed(path):
    model = nn.Sequential(nn.utils.weight_norm(nn.Linear(8, 8)), nn.ReLU(), nn.utils.spectral_norm(nn.Linear(8, 1)))
    train(model, path, batches(2))


@clean
def a_reentrant_model_without_steps_of_an_optimizer(path):
    model = nn.Sequential(nn.Linear(8, 8), nn.ReLU())
    with watch(model, path) as w:
        for batch in batches(3):
            with torch.no_grad():
                w.step(model(batch).mean())


@clean
def two_models_of_a_gan(path):
    generator, discriminator = nn.Sequential(nn.Linear(8, 8)), nn.Sequential(nn.Linear(8, 1))
    optimizers = [torch.optim.SGD(each.parameters(), lr=0.1) for each in (generator, discriminator)]
    with watch([generator, discriminator], path) as w:
        for batch in batches(3):
            for number, optimizer in enumerate(optimizers):
                value = discriminator(generator(batch)).square().mean() * (1 - 2 * number)
                value.backward()
                optimizer.step()
            w.step({"gan": value})
            for optimizer in optimizers:
                optimizer.zero_grad()


@clean
def objects_and_generators(path):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.many = nn.Linear(8, 8), Where(lambda x: (x * each for each in range(3)))

        def forward(self, x):
            return sum(self.many(self.a(x)))
    train(Net(), path, batches(2))


@clean
def an_argmax_and_integers(path):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.pick = nn.Linear(8, 8), Where(lambda x: (x.max(-1), x.argmax(-1), x > 0))

        def forward(self, x):
            return self.pick(self.a(x))[0].values
    train(Net(), path, batches(2))


# --- what is less usual ---

@planted("unknown", "disc", watch_says=False)
def code_between_two_models(path):
    generator, discriminator = nn.Sequential(nn.Linear(8, 8)), nn.Sequential(nn.Linear(8, 1))
    with watch({"gen": generator, "disc": discriminator}, path) as w:
        value = discriminator(torch.log(generator(torch.randn(2, 8)) - 1e3)).sum()
        value.backward()
        w.step(value)


@planted("produced", "1", operation="cumprod", at="a long product")
def a_product_that_overflows(path):
    train(nn.Sequential(nn.Linear(8, 8), Where(lambda x: (x.abs() + 1e10).cumprod(-1))), path, batches())  # a long product


@planted("produced", "1")
def nan_that_is_assigned(path):
    def assign(x):
        x = x.clone()
        x[0, 0] = NAN
        return x
    train(nn.Sequential(nn.Linear(8, 8), Where(assign)), path, batches())


@planted("loss", "loss")
def a_loss_that_ignores_every_target(path):
    train(nn.Linear(8, 5), path, batches(), loss=lambda y: F.cross_entropy(y, torch.full((4,), -100)))


@planted("produced", "Net", at="the loss is the model's")
def a_loss_inside_of_the_model(path):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.head = nn.Linear(8, 5)

        def forward(self, x, labels):
            logits = self.head(x)
            return {"logits": logits, "loss": F.cross_entropy(logits, labels)}  # the loss is the model's
    train(Net(), path, [(torch.randn(4, 8), torch.full((4,), -100))], loss=lambda y: y["loss"])


@planted("optimizer", phase="optimizer")
def adam_without_an_epsilon(path):
    model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 1))
    with torch.no_grad():
        model[0].bias.fill_(-1e3)
    train(model, path, batches(), optimizer=torch.optim.Adam(model.parameters(), eps=0))


@planted("parameter", "0.weight")
def a_bad_weight_that_is_frozen(path):
    model = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 1))
    with torch.no_grad():
        model[0].weight[0, 0] = INF
    model[0].requires_grad_(False)
    train(model, path, batches())


@planted("produced", "two", phase="backward", operation="Sqrt", at="one of two heads")
def the_backward_of_one_of_two_heads(path):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.trunk, self.one = nn.Linear(8, 8), nn.Linear(8, 1)
            self.two = Where(lambda x: torch.sqrt((x * 0).abs()))  # one of two heads

        def forward(self, x):
            x = torch.relu(self.trunk(x))
            return self.one(x).sum() + self.two(x).sum()
    train(Net(), path, batches(), loss=lambda y: y)


@planted("produced", "1", phase="backward", operation="Sqrt", at="in a residual")
def the_backward_of_a_residual_block(path):
    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Linear(8, 8)

        def forward(self, x):
            return x + torch.sqrt((self.a(x) * 0).abs())  # in a residual
    train(nn.Sequential(nn.Linear(8, 8), Block(), nn.Linear(8, 1)), path, batches())


@planted("produced", "body.0", operation="log", at="# log of a negative")
def inside_of_a_checkpoint_of_the_new_kind(path):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.body, self.head = nn.Linear(8, 8), nn.Sequential(Log()), nn.Linear(8, 1)

        def forward(self, x):
            return self.head(checkpoint(self.body, self.a(x), use_reentrant=False))
    train(Net(), path, batches())


@planted("entered", "Sequential", phase="input")
def the_second_of_two_small_batches(path):
    model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 1))
    given = batches(2)
    given[1][0] = NAN
    with watch(model, path) as w:
        for batch in given:
            value = model(batch).square().mean()
            value.backward()
        w.step(value)


@planted("produced", "1")
def a_traced_module(path):
    traced = torch.jit.trace(nn.Sequential(Where(lambda x: torch.log(x - 1e3))), torch.ones(4, 8), check_trace=False)
    train(nn.Sequential(nn.Linear(8, 8), traced), path, batches())


@planted("produced", "module.1", operation="log", at="# log of a negative")
def in_data_parallel(path):
    train(nn.DataParallel(nn.Sequential(nn.Linear(8, 8), Log())), path, batches())


@planted("produced", "0")
def a_weight_norm_of_nothing(path):
    model = nn.Sequential(nn.utils.weight_norm(nn.Linear(8, 8)), nn.Linear(8, 1))
    with torch.no_grad():
        model[0].weight_v.zero_()
    train(model, path, batches())


@planted("produced", "1", operation="log", at="# log of a negative", iteration=2)
def a_fault_after_a_skipped_step(path):
    steps = []

    class Late(Log):
        def forward(self, x):
            steps.append(1)
            return super().forward(x) if len(steps) > 2 else x
    model, scaler = nn.Sequential(nn.Linear(8, 8), Late(), nn.Linear(8, 1)), Scaler()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)
    with watch(model, path) as w:
        for batch in batches(4):
            value = (model(batch) * 30).square().mean()
            (value * scaler.scale).backward()
            scaler.step(optimizer)
            w.step(value)
            optimizer.zero_grad()


@planted("produced", "1", at=None)
def a_batch_norm_without_variance_and_epsilon(path):
    model = nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8, eps=0.0)).eval()
    model[1].running_var.zero_()
    train(model, path, batches())


@planted("produced", "lstm")
def a_hidden_state_that_grows(path):
    model = Chain(a=nn.Linear(8, 8), lstm=Where(lambda x: functools.reduce(lambda h, _: h * h, range(12), x.abs() + 2)))
    train(model, path, batches())


@planted("produced", "1.b", iteration=1)
def after_clean_masks_of_other_modules(path):
    class Masks(nn.Module):
        def forward(self, x):
            return x.masked_fill(x < 0, -INF)

    class Attend(nn.Module):
        calls = 0

        def __init__(self):
            super().__init__()
            self.a, self.masks, self.soft = nn.Linear(8, 8), Masks(), nn.Softmax(-1)
            self.b = Where(self.late)

        def late(self, x):
            Attend.calls += 1
            return x / (x.sum() * 0) if Attend.calls == 2 else x  # by a sum that is zero

        def forward(self, x):
            return self.b(self.soft(self.masks(self.a(x)) + torch.eye(8)[:4] * 0))
    model = nn.Sequential(nn.Linear(8, 8), Attend())
    with torch.no_grad():
        model[1].a.bias[0] = 100
    train(model, path, batches(3))


@clean
def a_result_that_nobody_uses(path):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.aside = nn.Linear(8, 8), Log()

        def forward(self, x):
            y = self.a(x)
            return y, self.aside(y.detach())
    train(Net(), path, batches(2), loss=lambda y: y[0].square().mean())


@clean
def nan_that_where_takes_out_twice(path):
    model = Chain(a=nn.Linear(8, 8),
                  root=Where(lambda x: torch.where(x > 0, torch.where(x > 0, x, torch.ones_like(x)).sqrt(), x * 0)))
    train(model, path, batches(2))


@clean
def masked_logits_of_the_model(path):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Linear(8, 5)

        def forward(self, x):
            return self.a(x).masked_fill(torch.tensor([False, False, False, False, True]), -INF)
    train(Net(), path, batches(2), loss=lambda y: F.cross_entropy(y, torch.tensor([0, 1, 2, 3])))


@clean
def masked_logits_without_a_loss(path):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Linear(8, 5)

        def forward(self, x):
            return self.a(x).masked_fill(torch.tensor([False, False, False, False, True]), -INF)
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with watch(model, path) as w:
        for batch in batches(2):
            F.cross_entropy(model(batch), torch.tensor([0, 1, 2, 3])).backward()
            optimizer.step()
            w.step()
            optimizer.zero_grad()


@clean
def a_mask_in_a_buffer(path):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Linear(4, 4)
            self.register_buffer("mask", torch.full((4, 4), -INF).triu(1))

        def forward(self, x):
            return (self.a(x) + self.mask).softmax(-1)
    train(Net(), path, batches(2, 4, 4))


@clean
def missing_targets_that_the_loss_masks(path):
    targets = torch.randn(4, 8)
    targets[0, 0] = NAN
    train(nn.Linear(8, 8), path, batches(2), loss=lambda y: (y - targets)[targets == targets].square().mean())


@clean
def nan_as_a_missing_value_that_the_model_replaces(path):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.fill, self.a = Where(torch.nan_to_num), nn.Linear(8, 1)

        def forward(self, x):
            return self.a(self.fill(x))
    given = batches(2)
    given[0][0, 0] = NAN
    train(Net(), path, given)


@clean
def a_minimum_of_infinities(path):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Linear(8, 8)
            self.far = Where(lambda x: torch.full_like(x, INF))
            self.least = Where(torch.minimum)

        def forward(self, x):
            x = self.a(x)
            return self.least(x, self.far(x))
    train(Net(), path, batches(2))


@clean
def several_optimizers_of_which_one_steps(path):
    model = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 1))
    optimizers = [torch.optim.SGD(each.parameters(), lr=0.1) for each in model]
    with watch(model, path) as w:
        for step, batch in enumerate(batches(4)):
            value = model(batch).square().mean()
            value.backward()
            optimizers[step % 2].step()
            w.step(value)
            model.zero_grad()


# --- several ranks ---

def planted_in_ranks(folder, rank):
    """Jobs of two processes, one after another."""
    torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=2)
    for name, (job, _) in RANK_JOBS.items():
        torch.manual_seed(rank)
        job(f"{folder}/{name}", rank)
    torch.distributed.destroy_process_group()


def ddp(model):
    return nn.parallel.DistributedDataParallel(model)


def step_of_ranks(model, path, given, steps=2):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    with tensorstat.watch(model, path=path) as w:
        for step in range(steps):
            value = model(given(step)).square().mean()
            value.backward()
            optimizer.step()
            w.step(value)
            optimizer.zero_grad()


def a_backward_of_one_rank(path, rank):
    steps = []

    class Late(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, gradient):
            steps.append(1)
            return gradient * (NAN if rank == 1 and len(steps) == 2 else 1)
    step_of_ranks(ddp(nn.Sequential(nn.Linear(8, 8), Where(Late.apply), nn.Linear(8, 1))), path, lambda step: torch.randn(4, 8), 3)


def a_batch_of_one_rank(path, rank):
    step_of_ranks(ddp(nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 1))), path,
                  lambda step: torch.full((4, 8), NAN) if rank == 1 and step == 1 else torch.randn(4, 8))


def a_forward_of_one_rank(path, rank):
    step_of_ranks(ddp(nn.Sequential(nn.Linear(8, 8), Log() if rank == 0 else nn.Tanh(), nn.Linear(8, 1))), path,
                  lambda step: torch.randn(4, 8))


def clean_ranks(path, rank):
    step_of_ranks(ddp(nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 1))), path, lambda step: torch.randn(4, 8))


RANK_JOBS = {
    "a_backward_of_one_rank": (a_backward_of_one_rank, dict(kind="produced", op_name="module.1", phase="backward", iteration=1, rank=1)),
    "a_batch_of_one_rank": (a_batch_of_one_rank, dict(kind="entered", op_name="DistributedDataParallel", iteration=1, rank=1)),
    "a_forward_of_one_rank": (a_forward_of_one_rank, dict(kind="produced", op_name="module.1", phase="forward", iteration=0, rank=0)),
    "clean_ranks": (clean_ranks, dict(kind="none")),
}


class Jobs(unittest.TestCase):
    def verdict_of(self, path):
        found = tensorstat.origin(path)
        self.check_lists(found)
        self.check_findings(tensorstat.findings(path), found)
        return found["verdict"]

    def check_findings(self, findings, found):
        """`report` reads the rows in a stream, and says what origin says of all of them."""
        verdict = found["verdict"]
        self.assertEqual(findings.notes, found["notes"])
        if verdict["kind"] == "none":
            self.assertEqual(list(findings), [])
            return
        self.assertEqual(findings.sentences[:1 + len(verdict["details"])], [verdict["sentence"], *verdict["details"]])
        self.assertEqual((findings[0].op_name, findings[0].rank, findings[0].first_iteration, findings[0].last_clean_iteration),
                         (verdict["op_name"], verdict["rank"], verdict["iteration"], verdict["last_clean_iteration"]))

    def dump_of(self, name):
        """The verdict on a job that runs now."""
        torch.manual_seed(11)
        LAST.clear()
        with tempfile.TemporaryDirectory() as folder:
            with quiet():
                JOBS[name][0](f"{folder}/dump")
            return self.verdict_of(f"{folder}/dump")

    def check_lists(self, found):
        """The first of the lists is the verdict: one judge."""
        verdict = found["verdict"]
        lists = {"entered": "entered", "parameter": "entered", "unknown": "unknown"}
        if verdict["kind"] == "none":
            self.assertFalse(found["producers"] or found["entered"] or found["unknown"] or found["propagators"], found)
            return
        first = found[lists.get(verdict["kind"], "producers")][0]
        for key in ("op_type", "op_name", "rank", "iteration", "io", "slot"):
            self.assertEqual(first[key], verdict[key], found)

    def check(self, job, said, wanted):
        shown = json.dumps(dict(said), indent=1, default=str)
        self.assertEqual(said["kind"], wanted["kind"], shown)
        if wanted["kind"] == "none":
            return
        for key in ("iteration", "rank"):
            if wanted.get(key) is not None:
                self.assertEqual(said[key], wanted[key], f"{key}: {shown}")
        if wanted.get("phase"):
            self.assertEqual(said["phase"], wanted["phase"], shown)
        if wanted.get("op_name"):
            self.assertEqual(bare(said["op_name"]), wanted["op_name"], shown)
        if wanted.get("operation"):
            self.assertIn(wanted["operation"], said["operation"] or "", shown)
        if wanted.get("at"):
            self.assertIn(f"# {wanted['at'].removeprefix('# ')}", line_of(said["file"], said["line"]), shown)


class PlantedFaults(Jobs):
    def check_watch(self, made, wanted):
        """What the watch knows of it by itself."""
        fault = made.first_fault
        if wanted["kind"] == "none":
            self.assertIsNone(fault)
            return
        self.assertIsNotNone(fault, "the watch saw no fault")
        self.assertEqual(fault.iteration, wanted["iteration"], fault)
        if wanted["op_name"]:
            self.assertEqual(bare(fault.op_name), wanted["op_name"], fault)
        if wanted["operation"]:
            self.assertIn(wanted["operation"], fault.operation or "", fault)
        if wanted["at"]:
            self.assertIn(f"# {wanted['at'].removeprefix('# ')}", line_of(fault.file, fault.line), fault)

    def run_job(self, name):
        job, wanted = JOBS[name]
        torch.manual_seed(11)
        LAST.clear()
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/dump"
            with quiet():
                job(path)
            if os.environ.get("SHOW"):
                with open(f"{path}/rank_0/model/watch.ndjson") as file:
                    print(file.read(), LAST[-1].first_fault)
            with self.subTest("the watch itself"):
                self.check_watch(LAST[-1], wanted)
            with self.subTest("origin"):
                self.check(job, self.verdict_of(path), wanted)

    def test_ranks(self):
        if not torch.distributed.is_available() or not torch.distributed.is_gloo_available():
            self.skipTest("torch has no gloo")
        with tempfile.TemporaryDirectory() as folder:
            ranks = [subprocess.Popen([sys.executable, "-B", __file__, "--rank", str(rank), folder], stderr=subprocess.PIPE)
                     for rank in (0, 1)]
            for process in ranks:
                words = process.communicate(timeout=300)[1].decode()
                self.assertEqual(process.returncode, 0, words)
            for name, (job, wanted) in RANK_JOBS.items():
                with self.subTest(name):
                    self.check(job, self.verdict_of(f"{folder}/{name}"), wanted)


class SwitchedOff(Jobs):
    """Where something is switched off, the answer may be unknown, and nobody is accused who is innocent. A fault that leaves no
    trace in the rows is "nothing wrong", and the answer says what was not watched."""

    def judge(self, said, wanted, job, options, missing):
        if said["kind"] in ("none", "unknown") and said["kind"] != wanted["kind"]:
            self.assertTrue(set(said["not_watched"]) & missing or said["kind"] == "unknown", said)
            if said["kind"] == "unknown":
                self.assertTrue(said["sentence"].startswith("Not known: "), said)
            return "unknown" if said["kind"] == "unknown" else "not seen"
        if "loss" in missing and wanted["kind"] == "loss":
            wanted = {**wanted, "phase": None, "op_name": None}  # of the loss and its backward, which
        if options.get("zoom") is False:
            wanted = {**wanted, "operation": None, "at": None}
        self.check(job, said, wanted)
        return "right"

    def run_all(self, mode):
        global SWITCHED, TELLS_LOSS
        options, tells_loss, missing = MODES[mode]
        counts = {"right": 0, "unknown": 0, "not seen": 0, "wrong": 0}
        SWITCHED, TELLS_LOSS = options, tells_loss
        try:
            # The quick test runs every fifth job, and others in each mode.
            first, step = (0, 1) if "TENSORSTAT_FULL" in os.environ else (list(MODES).index(mode), len(MODES))
            for name, (job, wanted) in list(JOBS.items())[first::step]:
                with self.subTest(name):
                    counts["wrong"] += 1
                    verdict = self.dump_of(name)
                    counts[self.judge(verdict, wanted, job, options, missing)] += 1
                    counts["wrong"] -= 1
                    if wanted["kind"] == "none":
                        self.assertIsNone(LAST[-1].first_fault if verdict["kind"] == "none" else None)
        finally:
            SWITCHED, TELLS_LOSS = {}, True
        print(f"without {mode}: {counts}", file=sys.stderr)


def bare(name):
    return name.removesuffix("/forward").removesuffix("/backward")


def line_of(file, line):
    if not file:
        return "no file"
    with open(file, encoding="utf-8") as source:
        return source.read().split("\n")[line - 1]


@contextlib.contextmanager
def quiet():
    logger = logging.getLogger("tensorstat")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(level)


for each in MODES:
    setattr(SwitchedOff, f"test_without_{each}", functools.partialmethod(SwitchedOff.run_all, each))
for each in JOBS:
    setattr(PlantedFaults, f"test_{each}", functools.partialmethod(PlantedFaults.run_job, each))

if __name__ == "__main__":
    if "--rank" in sys.argv:
        logging.getLogger("tensorstat").setLevel(logging.CRITICAL)
        planted_in_ranks(sys.argv[3], int(sys.argv[2]))
    else:
        torch.set_num_threads(1)
        unittest.main()
