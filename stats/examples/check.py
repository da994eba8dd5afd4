"""Skips the steps of a PyTorch training whose loss or gradients are NaN: wants torch.  check.py [FOLDER]"""
import os
import sys
import tempfile

import tensorstat
import torch

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
path = sys.argv[1] if len(sys.argv) > 1 else os.path.join(tempfile.mkdtemp(), "run")
with tensorstat.watch(model, path=path) as w:
    for step in range(20):
        batch = torch.randn(32, 8)
        if step in (7, 12):
            batch[3] = torch.nan  # a sample that is broken
        loss = model(batch).square().mean()
        loss.backward()
        if finding := w.check(loss):  # behind backward, before the optimizer
            print(finding)
        else:
            optimizer.step()
        w.step(loss)
        optimizer.zero_grad()
print(f"the loss is {loss.item():.3f}")
