"""Two ranks train the same model on other data, as in data parallelism. Before the third step one bit of rank 1's copy flips:
the watch tells it in that step, and writes one row of the whole for each tensor.

    python3 replicas.py            then    tensorstat report runs/replicas
"""
import sys

import tensorstat
import torch
import torch.distributed as dist
import torch.multiprocessing as processes


def train(rank, ranks, path, port):
    meeting = f"tcp://127.0.0.1:{port}?use_libuv=0"  # Debian builds torch without libuv, which torch asks for since 2.4
    dist.init_process_group("gloo", init_method=meeting, rank=rank, world_size=ranks)
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    torch.manual_seed(rank)
    with tensorstat.watch(model, path=path, exist="replace", optimizer=optimizer, shards="dp") as w:
        for step in range(4):
            loss = model(torch.randn(32, 8)).square().mean()
            loss.backward()
            for parameter in model.parameters():
                dist.all_reduce(parameter.grad)
                parameter.grad /= ranks
            optimizer.step()
            if step == 2 and rank == 1:  # what a faulty memory does
                model[2].weight.data.view(torch.int32)[0, 5] ^= 1
            w.step(loss)
            optimizer.zero_grad()
    if rank == 0:
        for fault in w.replica_faults[:1]:
            print(fault)  # iteration 2, parameter 2.weight: of 2 replicas ranks 0, 1 differ in a bit


if __name__ == "__main__":
    path = sys.argv[1] if len(sys.argv) > 1 else "runs/replicas"
    port = int(sys.argv[2]) if len(sys.argv) > 2 else 29507
    processes.spawn(train, (2, path, port), nprocs=2)
