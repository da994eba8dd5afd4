"""The statistics of tensors that are cut over ranks, on every rank: the same digits on 1, 2 or 1,000 ranks.

    mpirun -n 4 python3 -m mpi4py all_reduce.py
"""
import numpy
import tensorstat
from mpi4py import MPI

rank, ranks = MPI.COMM_WORLD.Get_rank(), MPI.COMM_WORLD.Get_size()
first, end = 1000 * rank // ranks, 1000 * (rank + 1) // ranks  # this rank's rows of 1,000

group = tensorstat.Ranks(MPI.COMM_WORLD)  # once: it remembers the list of tensors
for step in range(2):
    rows = numpy.arange(first, end, dtype=numpy.float32)[:, None]
    weight = numpy.cos(rows + numpy.arange(64, dtype=numpy.float32)) / (step + 1)
    gradient = weight * 0.25

    def parts():  # what it raises is an error on all ranks, and no rank waits
        return {"weight": tensorstat.fold(weight, "max,l2norm,argmax").move_to(first * 64),  # argmax counts in the whole
                "gradient": tensorstat.fold(gradient, "l2norm,nan_count")}

    whole = {name: part.finish() for name, part in group.all_reduce(parts).items()}
    if rank == 0:
        print(f"step {step}: weight {dict(whole['weight'])}, gradient {dict(whole['gradient'])}")
