"""Faults of modules' forward, and of code between modules."""
import dataclasses

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from .kit import INF, Between, Chain, Log, Where, batches, block, causal, planted, train, watch

# --- a mask's Inf in the results; the loss makes NaN or Inf from it ---

class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(8, 6)

    def forward(self, x):
        return self.body(x).masked_fill(torch.arange(6) == 5, -INF)


@planted("loss", iteration=0)
def the_entropy_of_a_forbidden_action(path):
    def entropy(y):
        p = y.log_softmax(-1)
        return (p.exp() * p).sum(-1).mean()
    train(Policy(), path, batches(), loss=entropy)


@planted("loss", iteration=0)
def a_forbidden_class_with_label_smoothing(path):
    train(Policy(), path, batches(), loss=lambda y: F.cross_entropy(y, torch.tensor([0, 1, 2, 3]), label_smoothing=0.1))


@planted("loss", iteration=0)
def a_forbidden_class_that_is_assigned(path):
    class Assigned(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Linear(8, 6)

        def forward(self, x):
            y = self.body(x).clone()
            y[:, 4] = -INF
            return y

    train(Assigned(), path, batches(), loss=lambda y: F.cross_entropy(y, torch.tensor([0, 1, 2, 3]), label_smoothing=0.1))


@planted("loss", iteration=1)
def a_target_that_the_mask_forbids(path):
    targets = iter([torch.tensor([0, 1, 2, 3]), torch.tensor([0, 1, 2, 5])])
    train(Policy(), path, batches(2), loss=lambda y: F.cross_entropy(y, next(targets)))


@planted("produced", "loss", operation="log", comment="log of a negative")
def a_module_that_is_called_loss(path):
    train(Chain(line=nn.Linear(8, 8), loss=Log()), path, batches())


# --- modules' forward ---

@planted("produced", "1", phase="forward", operation="log", comment="# log of a negative")
def log_of_negatives(path):
    train(nn.Sequential(nn.Linear(8, 8), Log(), nn.Linear(8, 1)), path, batches())


@planted("produced", "1.2", phase="forward", operation="log", comment="# log of a negative", iteration=3)
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


@planted("produced", "act", operation="sqrt", comment="the root of a negative")
def root_of_negatives(path):
    model = Chain(a=nn.Linear(8, 8), act=Where(lambda x: torch.sqrt(x - 1e3)))  # the root of a negative
    train(model, path, batches())


@planted("produced", "1", operation="div", comment="zero by zero")
def zero_by_zero(path):
    train(nn.Sequential(nn.ReLU(), Where(lambda x: x / x)), path, [torch.zeros(2, 8) - 1])  # zero by zero


@planted("produced", "norm", comment="no variance")
def a_norm_without_an_epsilon(path):
    class Norm(nn.Module):
        def forward(self, x):
            return (x - x.mean(-1, keepdim=True)) / x.std(-1, keepdim=True)  # no variance

    model = Chain(norm=Norm(), a=nn.Linear(8, 1))
    train(model, path, [torch.ones(3, 8)])


@planted("produced", "1", operation="exp", comment="too large for exp")
def an_overflow_of_exp(path):
    train(nn.Sequential(nn.Linear(8, 8), Where(lambda x: torch.exp(x.abs() + 200)), nn.Linear(8, 1)), path, batches())  # too large for exp


@planted("produced", "1", operation="exp", comment="grows beyond")
def an_inf_that_becomes_nan_in_another_module(path):
    train(nn.Sequential(nn.Linear(8, 8), Where(lambda x: torch.exp(x.abs() + 200)), nn.LayerNorm(8)), path, batches())  # grows beyond


@planted("produced", "1", operation="exp", comment="exp and minus")
def an_inf_that_becomes_nan_in_the_same_module(path):
    def minus(x):
        y = torch.exp(x.abs() + 200)  # exp and minus
        return y - y
    train(nn.Sequential(nn.Linear(8, 8), Where(minus)), path, batches())


@planted("produced", "1", comment="beyond half")
def an_overflow_of_float16(path):
    train(nn.Sequential(nn.Linear(8, 8), Where(lambda x: (x * 0 + 7e4).half().float())), path, batches())  # beyond half


@planted("produced", "1", operation="mul", comment="times itself")
def an_overflow_of_bfloat16(path):
    model = nn.Sequential(nn.Identity(), Where(lambda x: x * x))  # times itself
    with watch(model, path) as w, torch.no_grad():
        model(torch.full((2, 8), 1e30, dtype=torch.bfloat16))
        w.step()


@planted("produced", "soft", operation="softmax", comment="every key is masked")
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


@planted("produced", "attention", operation="softmax", comment="mask and softmax")
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


@planted("produced", "1", operation="log", comment="of what dropout left")
def a_dropout_decides(path):
    torch.manual_seed(5)
    model = nn.Sequential(nn.Linear(8, 8), Where(lambda x: torch.log(F.dropout(torch.ones_like(x), 0.5) - 0.5)))  # of what dropout left
    train(model, path, batches())


@planted("produced", "bn", operation="log", comment="after the norm")
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


@planted("produced", "1", operation="log")
def a_batch_of_several_in_a_step(path):
    model = nn.Sequential(nn.Linear(8, 8), Where(lambda x: torch.log(x - 1e3) if len(seen) == 2 else x), nn.Linear(8, 1))
    seen = []
    with watch(model, path) as w:
        for batch in batches(4):
            seen.append(batch)
            model(batch).square().mean().backward()
        w.step()


@planted("produced", "1", operation=None)
def a_buffer_is_spoiled_by_the_call(path):
    class Average(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("mean", torch.ones(8))

        def forward(self, x):
            with torch.no_grad():
                self.mean.mul_(0.9).add_(0.1 * (x.detach().mean(0) - 1e3).log())
            return x * self.mean
    train(nn.Sequential(nn.Linear(8, 8), Average()), path, batches())


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


@planted("produced", "2", operation="log", comment="# log of a negative")
def after_an_in_place_relu(path):
    train(nn.Sequential(nn.Linear(8, 8), nn.ReLU(inplace=True), Log()), path, batches())


@planted("produced", "inner", operation="log", comment="in a custom function")
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


@planted("produced", "body", operation="log", comment="# log of a negative")
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


@planted("produced", "branch", operation="log", comment="one branch")
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


@planted("produced", "made", operation="log", comment="in an object")
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


@planted("produced", "made", operation="log", comment="in a dataclass")
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


@planted("produced", "made", operation="log", comment="by keyword")
def arguments_by_name(path):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.made = nn.Linear(8, 8), Where(lambda *, x, y: torch.log(x - 1e3) + y)  # by keyword

        def forward(self, x):
            return self.made(x=self.a(x), y=x)
    train(Net(), path, batches())


@planted("produced", "layer", operation="log", comment="called twice")
def a_module_that_is_called_twice(path):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = Where(lambda x: torch.log(x))  # called twice

        def forward(self, x):
            return self.layer(self.layer(x) - 1e3)
    train(Net(), path, [torch.ones(2, 8) + torch.rand(2, 8)], loss=lambda y: y.sum())


@planted("produced", "1.spectrum", operation="log", comment="of a spectrum")
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


@planted("produced", "1", operation="log", comment="while rows are cut off elsewhere", iteration=1)
def after_an_honest_mask_in_the_step_before(path):
    steps = []

    def late(x):
        steps.append(1)
        return torch.log(x - 1e3) if len(steps) > 1 else x  # while rows are cut off elsewhere
    model = nn.Sequential(nn.Sequential(nn.Linear(4, 4), Where(lambda x: x.masked_fill(torch.eye(4, dtype=torch.bool), -INF)), nn.Softmax(-1)),
                          Where(late))
    train(model, path, batches(2, 4, 4), zoom=True)


@planted("produced", "4", operation="log", comment="# log of a negative")
def behind_an_honest_mask(path):
    train(nn.Sequential(nn.Linear(4, 4), Where(causal), nn.Softmax(-1), nn.Linear(4, 4), Log()), path, batches(1, 4, 4))


# --- functional code between modules ---

@planted("produced", "Between", operation="log", comment="between a and b")
def functional_code_between_modules(path):
    train(Between(lambda x: torch.log(x - 1e3)), path, batches())  # between a and b


@planted("produced", "Between", operation="log", comment="with all inputs")
def functional_code_with_inputs(path):
    train(Between(lambda x: torch.log(x - 1e3)), path, batches(), inputs=True)  # with all inputs


@planted("produced", "Between", operation="div", comment="by its own sum")
def functional_division(path):
    train(Between(lambda x: x / (x - x).sum()), path, batches())  # by its own sum


@planted("produced", "Net", operation="log", comment="after the last")
def functional_code_after_the_last_module(path):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Linear(8, 8)

        def forward(self, x):
            return torch.log(self.a(x) - 1e3)  # after the last
    train(Net(), path, batches())


@planted("produced", "Net", operation="log", comment="before the first")
def functional_code_before_the_first_module(path):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Linear(8, 8)

        def forward(self, x):
            x = torch.log(x - 1e3)  # before the first
            return self.a(x)
    train(Net(), path, batches())


@planted("produced", "inner", operation="exp", comment="residual")
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
