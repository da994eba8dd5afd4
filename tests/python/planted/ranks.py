"""Jobs of two processes."""
import tensorstat
import torch
from torch import nn

from .kit import NAN, Log, Where


def planted_in_ranks(folder, rank):
    """Jobs of two processes, one after another."""
    torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=2)
    for name, (job, _) in RANK_JOBS.items():
        torch.manual_seed(rank)
        job(f"{folder}/{name}", rank)
    torch.distributed.destroy_process_group()


def ddp(model):
    return nn.parallel.DistributedDataParallel(model)


def step_of_ranks(model, path, given, steps=2):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    with tensorstat.watch(model, path=path) as w:
        for step in range(steps):
            value = model(given(step)).square().mean()
            value.backward()
            optimizer.step()
            w.step(value)
            optimizer.zero_grad()


def a_backward_of_one_rank(path, rank):
    steps = []

    class Late(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, gradient):
            steps.append(1)
            return gradient * (NAN if rank == 1 and len(steps) == 2 else 1)
    step_of_ranks(ddp(nn.Sequential(nn.Linear(8, 8), Where(Late.apply), nn.Linear(8, 1))), path, lambda step: torch.randn(4, 8), 3)


def a_batch_of_one_rank(path, rank):
    step_of_ranks(ddp(nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 1))), path,
                  lambda step: torch.full((4, 8), NAN) if rank == 1 and step == 1 else torch.randn(4, 8))


def a_forward_of_one_rank(path, rank):
    step_of_ranks(ddp(nn.Sequential(nn.Linear(8, 8), Log() if rank == 0 else nn.Tanh(), nn.Linear(8, 1))), path,
                  lambda step: torch.randn(4, 8))


def a_sqrt_of_one_rank(path, rank):
    class Root(nn.Module):
        def forward(self, x):
            return torch.sqrt(x * 0 if rank == 1 else x * x + 1) + x  # of zero, on rank 1
    step_of_ranks(ddp(nn.Sequential(nn.Linear(8, 8), Root(), nn.Linear(8, 1))), path, lambda step: torch.randn(4, 8), 1)


def behind_a_collective(path, rank):
    """Run again by one rank alone, the module would wait for ever."""
    class Norm(nn.Module):
        def forward(self, x):
            whole = x.detach().square().sum()
            torch.distributed.all_reduce(whole)
            return torch.log(x * 0 - 1) if rank == 1 else x / whole
    step_of_ranks(ddp(nn.Sequential(nn.Linear(8, 8), Norm(), nn.Linear(8, 1))), path, lambda step: torch.randn(4, 8), 1)


def inside_of_a_collective(path, rank):
    """The model's own code makes it, and a module inside has a collective."""
    class Sum(nn.Module):
        def forward(self, x):
            torch.distributed.all_reduce(x.detach().clone())
            return x

    class Own(nn.Module):
        def __init__(self):
            super().__init__()
            self.sum, self.last = Sum(), nn.Linear(8, 1)

        def forward(self, x):
            x = torch.log(x * 0 - 1) if rank == 0 else x
            return self.last(self.sum(x))
    step_of_ranks(ddp(Own()), path, lambda step: torch.randn(4, 8), 1)


def clean_ranks(path, rank):
    step_of_ranks(ddp(nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 1))), path, lambda step: torch.randn(4, 8))


RANK_JOBS = {
    "a_backward_of_one_rank": (a_backward_of_one_rank, dict(kind="produced", op_name="module.1", phase="backward", iteration=1, rank=1)),
    "a_batch_of_one_rank": (a_batch_of_one_rank, dict(kind="entered", op_name="DistributedDataParallel", iteration=1, rank=1)),
    "a_forward_of_one_rank": (a_forward_of_one_rank, dict(kind="produced", op_name="module.1", phase="forward", iteration=0, rank=0, operation="log")),
    "a_sqrt_of_one_rank": (a_sqrt_of_one_rank, dict(kind="produced", op_name="module.1", phase="backward", iteration=0, rank=1,
                                                    operation="Sqrt", comment="of zero, on rank 1")),
    "behind_a_collective": (behind_a_collective, dict(kind="produced", op_name="module.1", phase="forward", iteration=0, rank=1)),
    "inside_of_a_collective": (inside_of_a_collective, dict(kind="produced", op_name="module", phase="forward", iteration=0, rank=0)),
    "clean_ranks": (clean_ranks, dict(kind="none")),
}
