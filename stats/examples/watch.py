"""Where a NaN begins, in a PyTorch model that trains: wants torch."""
import os
import tempfile

import torch
from torch import nn

import tensorstat


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(8, 8), nn.Linear(8, 1)

    def forward(self, x):
        x = torch.log(self.first(x) + 1)  # once a number is below -1, it is no number
        return self.last(x)


torch.manual_seed(1)
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
path = os.path.join(tempfile.mkdtemp(), "nan")
with tensorstat.watch(model, path=path) as w:
    for step in range(10):
        loss = model(torch.randn(4, 8)).square().mean()
        loss.backward()
        optimizer.step()
        w.step(loss)
        optimizer.zero_grad()
print(w.first_fault)
print(tensorstat.origin(path)["verdict"]["sentence"])
