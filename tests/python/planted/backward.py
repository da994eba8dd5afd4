"""Faults of the loss, of backward, of gradients, and of the optimizer."""
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from bad_backward import BadBackward
from .kit import INF, NAN, Between, Chain, Log, Where, batches, causal, clean, planted, train, watch

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


@planted("loss", phase="backward", iteration=1, operation="log", comment="of the first of two calls")
def the_loss_of_an_earlier_call_of_an_accumulation(path):
    model = nn.Linear(8, 8)
    with watch(model, path) as w:
        for step in range(2):
            for call in range(2):
                loss = model(torch.randn(4, 8)).square().mean()
                if (step, call) == (1, 0):
                    loss = loss * torch.log(loss - 1e9)  # of the first of two calls
                loss.backward()
            assert (result := w.check(loss)).faulty == (step == 1), result
            assert step == 0 or result.fault.operation == "log", result
            w.step(loss)


@planted("loss", "loss", phase="loss")
def a_mean_of_nothing(path):
    train(nn.Linear(8, 8), path, batches(), loss=lambda y: y[y > 1e9].mean())


@planted("loss", phase="backward")
def a_loss_whose_backward_is_bad(path):
    train(nn.Sequential(nn.Linear(8, 8), nn.ReLU()), path, [torch.zeros(2, 8)], loss=lambda y: torch.sqrt((y * 0).sum()))


def cut_off(y, used):
    return torch.where(y > 0, used, torch.zeros_like(y)).mean()


def root_and_use(y):
    root = y.sqrt()  # the loss makes it a line before
    used = root * y
    return cut_off(y, used)


def fill_and_use(y):
    filled = y.masked_fill(y < 0, INF)
    used = filled * y  # the loss uses what it wrote
    return cut_off(y, used)


@planted("loss", phase="backward", operation="sqrt", comment="the loss makes it a line before")
def what_a_loss_makes_a_line_before_its_use(path):
    train(nn.Linear(8, 8), path, batches(), loss=root_and_use)


@planted("loss", phase="backward", operation="MulBackward0", comment="the loss uses what it wrote")
def what_a_loss_writes_a_line_before_its_use(path):
    train(nn.Linear(8, 8), path, batches(), loss=fill_and_use)


# --- backward ---

@planted("produced", "3", phase="backward", operation="BadBackward")
def a_custom_functions_backward(path):
    train(nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8), Where(BadBackward.apply), nn.Linear(8, 1)), path, batches())


@planted("produced", "1", phase="backward", operation="Sqrt", comment="root of zero")
def the_root_of_zero(path):
    train(nn.Sequential(nn.Linear(8, 8), Where(lambda x: torch.sqrt((x * 0).abs())), nn.Linear(8, 1)), path, batches())  # root of zero


@planted("produced", "1", phase="backward", operation="Sqrt", comment="zero with inputs")
def the_root_of_zero_with_inputs(path):
    train(nn.Sequential(nn.Linear(8, 8), Where(lambda x: torch.sqrt((x * 0).abs())), nn.Linear(8, 1)), path, batches(), inputs=True)  # zero with inputs


@planted("produced", "norm", phase="backward", comment="length of nothing")
def the_norm_of_zero(path):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.norm = nn.Linear(8, 8), Where(lambda x: (x * x).sum(-1).sqrt())  # length of nothing

        def forward(self, x):
            return self.norm(self.a(x) * 0)
    train(Net(), path, batches(), loss=lambda y: y.sum())


@planted("produced", "cut", phase="backward", comment="was cut off")
def what_where_cut_off_comes_back(path):
    model = Chain(a=nn.Linear(8, 8),
                  cut=Where(lambda x: torch.where(x > 0, x.sqrt(), torch.zeros_like(x))),  # was cut off
                  b=nn.Linear(8, 1))
    train(model, path, batches())


class MadeAndCut(nn.Module):
    """One line makes a fault, another uses it, and a third cuts it off."""

    def __init__(self, make):
        super().__init__()
        self.make = make

    def forward(self, x):
        y = self.make(x)
        z = y * x  # uses it
        return torch.where(x > 0, z, torch.zeros_like(x))


class OwnLog(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x.log()
        y = y * 2
        return y

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 0


@planted("produced", "cut", phase="backward", operation="sqrt", comment="is made a line before")
def what_is_made_a_line_before_its_use(path):
    cut = MadeAndCut(lambda x: x.sqrt())  # is made a line before
    train(Chain(a=nn.Linear(8, 8), cut=cut, b=nn.Linear(8, 1)), path, batches())


@planted("produced", "cut", phase="backward", operation="OwnLog", comment="a function of its own makes it")
def what_a_function_of_its_own_makes(path):
    cut = MadeAndCut(lambda x: OwnLog.apply(x))  # a function of its own makes it
    train(Chain(a=nn.Linear(8, 8), cut=cut, b=nn.Linear(8, 1)), path, batches())


@planted("produced", "cut", phase="backward", operation="MulBackward0", comment="uses it")
def an_inf_that_is_written_for_its_use(path):
    cut = MadeAndCut(lambda x: torch.full_like(x, INF).masked_fill(x > 0, 1))
    train(Chain(a=nn.Linear(8, 8), cut=cut, b=nn.Linear(8, 1)), path, batches())


class Unit(nn.Module):
    def forward(self, x):
        return x / x.norm(dim=-1, keepdim=True)  # the length of padding


def padded(path, loss, model=None):
    batch = torch.randn(6, 8)
    batch[5] = 0
    train(model or nn.Sequential(Unit(), nn.Linear(8, 3)), path, [batch], loss=loss)


@planted("produced", "0", phase="forward", operation="div", comment="the length of padding")
def rows_of_nan_that_are_cut_off_and_come_back(path):
    padded(path, lambda y: y[:5].square().mean())


@planted("produced", "0", phase="forward", operation="div", comment="the length of padding")
def rows_of_nan_that_the_loss_ignores_and_that_come_back(path):
    padded(path, lambda y: nn.functional.cross_entropy(y, torch.tensor([0, 1, 2, 0, 1, -100])))


@planted("produced", "unit", phase="forward", operation="div", comment="the length of padding")
def rows_of_nan_that_the_model_cuts_off_and_that_come_back(path):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.unit, self.line, self.head = Unit(), nn.Linear(8, 8), nn.Linear(8, 1)

        def forward(self, x):
            return self.head(self.line(self.unit(x))[:5])

    padded(path, lambda y: y.square().mean(), Net())


@planted("produced", "Net", phase="backward", operation="Sqrt", comment="functional root")
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


@planted("produced", "disc.1", operation="log", comment="# log of a negative")
def one_of_two_models(path):
    generator, discriminator = nn.Sequential(nn.Linear(8, 8)), nn.Sequential(nn.Linear(8, 8), Log())
    with watch({"gen": generator, "disc": discriminator}, path) as w:
        value = discriminator(generator(torch.randn(2, 8))).sum()
        value.backward()
        w.step(value)


@planted("produced", "1", operation="log", comment="# log of a negative")
def a_nan_in_the_result_while_gradients_are_clean_and_no_loss_is_told(path):
    model = nn.Sequential(nn.Linear(8, 8), Log())
    with watch(model, path) as w:
        model(torch.randn(2, 8)).sum().backward()
        w.step()


@planted("produced", "1", operation="log", comment="# log of a negative")
def without_a_loss(path):
    model = nn.Sequential(nn.Linear(8, 8), Log())
    with watch(model, path) as w:
        model(torch.randn(2, 8)).square().sum().backward()
        w.step()


@planted("produced", "1", operation="log", comment="# log of a negative")
def without_gradients(path):
    model = nn.Sequential(nn.Linear(8, 8), Log())
    with watch(model, path) as w, torch.inference_mode():
        model(torch.randn(2, 8))
        w.step()


# --- operations ---

@planted("produced", "1/log.0", phase="forward", operation="log", comment="# log of a negative")
def an_operation(path):
    train(nn.Sequential(nn.Linear(8, 8), Log(), nn.Linear(8, 1)), path, batches(), level="op")


@planted("produced", "Between/log.0", operation="log", comment="an operation between")
def an_operation_between_modules(path):
    train(Between(lambda x: torch.log(x - 1e3)), path, batches(), level="op")  # an operation between


@planted("produced", "1/sqrt.0", phase="backward")
def an_operations_backward(path):
    train(nn.Sequential(nn.Linear(8, 8), Where(lambda x: torch.sqrt((x * 0).abs())), nn.Linear(8, 1)), path, batches(), level="op")


@planted("produced", "bad", phase="backward")
def a_backward_before_operations_that_return_their_argument(path):
    def as_it_is(x):
        with torch.no_grad():
            x.mul_(1)
        return x.float()
    train(Chain(a=nn.Linear(8, 8), bad=Where(BadBackward.apply), c=Where(as_it_is), d=nn.Linear(8, 1)), path, batches(), level="op", inputs=True)


@planted("loss", "loss/log.0", operation="log", comment="an operation of the loss")
def an_operation_of_the_loss(path):
    train(nn.Linear(8, 8), path, batches(), loss=lambda y: torch.log(y.softmax(-1) - 1).mean(), level="op")  # an operation of the loss


@clean
def operations_of_a_mask(path):
    train(nn.Sequential(nn.Linear(4, 4), Where(lambda x: causal(x).softmax(-1)), nn.Linear(4, 1)), path, batches(2, 4, 4), level="op")
