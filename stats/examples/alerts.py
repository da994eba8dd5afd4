"""Stops a PyTorch training when a gradient jumps, with the numbers of the steps before: wants torch.  alerts.py [FOLDER]"""
import os
import sys
import tempfile

import tensorstat
import torch

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
path = sys.argv[1] if len(sys.argv) > 1 else os.path.join(tempfile.mkdtemp(), "run")
try:
    with tensorstat.watch(model, path=path, keep=5, then=["write", "stop"],
                          alerts=["nan", "op_type == Gradient and l2norm > 8 * median(l2norm, 20)"]) as w:
        for step in range(100):
            batch = torch.randn(32, 8) * (300 if step == 60 else 1)  # one bad batch
            loss = model(batch).square().mean()
            loss.backward()
            optimizer.step()
            w.step(loss)
            optimizer.zero_grad()
except tensorstat.Stopped as stopped:
    alert = stopped.found.alerts[0]
    print(f"step {alert.step}: the gradient of {alert.op_name}")
    for step, value in alert.history:
        print(f"  {step}: {value:.2g}")
