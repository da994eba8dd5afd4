"""Faults that come in: data and parameters."""
import torch
from torch import nn

from .kit import INF, NAN, Tied, batches, block, planted, train, watch

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
