"""Two processes that train by Hugging Face's accelerate, each with a watch of its own. The second step of rank 1 has a 0 under a root:
the verdict names the rank, the module, the operation and its line.

    accelerate launch --cpu --num_processes 2 accelerate_watch.py     then    tensorstat origin runs/accelerate
    torchrun --nproc_per_node 2 accelerate_watch.py                   does the same
"""
import sys

import tensorstat
import torch
from accelerate import Accelerator
from accelerate.utils import InitProcessGroupKwargs


class Root(torch.nn.Module):
    is_spoiled = False

    def forward(self, x):
        return torch.sqrt(x.abs() - (1e9 if self.is_spoiled else 0) + 1)


def main(path):
    # Where PyTorch was built with MPI, as Debian's is, accelerate takes MPI: without mpirun each process is then rank 0 of 1.
    accelerator = Accelerator(cpu=True, kwargs_handlers=[InitProcessGroupKwargs(backend="gloo")])
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), Root(), torch.nn.Linear(16, 1))
    root = model[1]
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    model, optimizer = accelerator.prepare(model, optimizer)
    torch.manual_seed(accelerator.process_index)
    with tensorstat.watch(model, path=path, exist="replace", optimizer=optimizer) as w:
        for step in range(3):
            root.is_spoiled = step == 1 and accelerator.process_index == 1
            loss = model(torch.randn(4, 8)).square().mean()
            accelerator.backward(loss)
            optimizer.step()
            w.step(loss)  # between optimizer.step() and zero_grad()
            optimizer.zero_grad()
    accelerator.wait_for_everyone()
    if accelerator.is_main_process:
        print(tensorstat.origin(path)["verdict"]["sentence"])
    accelerator.end_training()


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "runs/accelerate")
