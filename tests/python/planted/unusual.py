"""Less usual jobs, with a fault and without one."""
import functools

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from .kit import INF, NAN, Chain, Log, Where, batches, clean, planted, train, train_scaled, watch


@planted("unknown", "disc", watch_says=False)
def code_between_two_models(path):
    generator, discriminator = nn.Sequential(nn.Linear(8, 8)), nn.Sequential(nn.Linear(8, 1))
    with watch({"gen": generator, "disc": discriminator}, path) as w:
        value = discriminator(torch.log(generator(torch.randn(2, 8)) - 1e3)).sum()
        value.backward()
        w.step(value)


@planted("unknown", "average.bias", phase="optimizer", iteration=2, watch_says=False)
def an_average_of_weights(path):
    models = {name: nn.Linear(8, 1) for name in ("model", "average")}
    optimizer = torch.optim.SGD(models["model"].parameters(), lr=0.1)
    with watch(models, path, optimizer=optimizer) as w:
        for step, batch in enumerate(batches(3)):
            value = models["model"](batch).square().mean() + models["average"](batch).detach().sum()
            value.backward()
            optimizer.step()
            with torch.no_grad():
                models["average"].bias.mul_(0.9).add_(models["model"].bias / (0 if step == 2 else 10))
            w.step(value)
            optimizer.zero_grad()


@planted("produced", "1", operation="cumprod", comment="a long product")
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


@planted("produced", "Net", comment="the loss is the model's")
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


@planted("produced", "two", phase="backward", operation="Sqrt", comment="one of two heads")
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


@planted("produced", "1", phase="backward", operation="Sqrt", comment="in a residual")
def the_backward_of_a_residual_block(path):
    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Linear(8, 8)

        def forward(self, x):
            return x + torch.sqrt((self.a(x) * 0).abs())  # in a residual
    train(nn.Sequential(nn.Linear(8, 8), Block(), nn.Linear(8, 1)), path, batches())


@planted("produced", "body.0", operation="log", comment="# log of a negative")
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


@planted("produced", "module.1", operation="log", comment="# log of a negative")
def in_data_parallel(path):
    train(nn.DataParallel(nn.Sequential(nn.Linear(8, 8), Log())), path, batches())


@planted("produced", "0")
def a_weight_norm_of_nothing(path):
    model = nn.Sequential(nn.utils.weight_norm(nn.Linear(8, 8)), nn.Linear(8, 1))
    with torch.no_grad():
        model[0].weight_v.zero_()
    train(model, path, batches())


@planted("produced", "1", operation="log", comment="# log of a negative", iteration=2)
def a_fault_after_a_skipped_step(path):
    steps = []

    class Late(Log):
        def forward(self, x):
            steps.append(1)
            return super().forward(x) if len(steps) > 2 else x
    train_scaled(nn.Sequential(nn.Linear(8, 8), Late(), nn.Linear(8, 1)), path)


@planted("produced", "1", comment=None)
def a_batch_norm_without_variance_and_epsilon(path):
    model = nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8, eps=5e-324)).eval()
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


class MaskedLogits(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(8, 5)

    def forward(self, x):
        return self.a(x).masked_fill(torch.tensor([False, False, False, False, True]), -INF)


@clean
def masked_logits_of_the_model(path):
    train(MaskedLogits(), path, batches(2), loss=lambda y: F.cross_entropy(y, torch.tensor([0, 1, 2, 3])))


@clean
def masked_logits_without_a_loss(path):
    model = MaskedLogits()
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
