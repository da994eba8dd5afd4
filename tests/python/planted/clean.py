"""Jobs without a fault."""
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from .kit import INF, NAN, Chain, Tied, Where, batches, block, causal, clean, train, train_scaled, watch


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


@clean
def a_scaler_that_skips_steps(path):
    scaler = train_scaled(nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 1)), path)
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
