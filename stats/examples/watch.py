"""Where a NaN begins, in a PyTorch model that trains: wants torch.  watch.py [FOLDER]"""
import os
import sys
import tempfile

import tensorstat
import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = torch.nn.Linear(8, 8), torch.nn.Linear(8, 1)

    def forward(self, x):
        x = torch.log(self.first(x) + 1)
        return self.last(x)


torch.manual_seed(1)
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
path = sys.argv[1] if len(sys.argv) > 1 else os.path.join(tempfile.mkdtemp(), "nan")
with tensorstat.watch(model, path=path) as w:
    for batch in torch.randn(10, 4, 8):
        loss = model(batch).square().mean()
        loss.backward()
        optimizer.step()
        w.step(loss)  # after the optimizer, before the gradients are zeroed
        optimizer.zero_grad()
print(w.first_fault)
