"""The same statistics as users of PyTorch and CuPy write them, one call each, on GPU memory.

    peers.py MIB ROUNDS

Prints one figure per line, separated by tabs, in report.cpp's format. Reports missing peers on stderr.
"""
import statistics
import sys

MIB, ROUNDS = int(sys.argv[1]), int(sys.argv[2])


def figure(name, milliseconds):
    ordered = sorted(milliseconds)
    low, high = ordered[len(ordered) // 4], ordered[(3 * len(ordered)) // 4]
    print(f"{name}\t{statistics.median(ordered):.3f} ({low:.3f}-{high:.3f})\tms\t\t", flush=True)


def torch_calls():
    import torch

    if not torch.cuda.is_available():
        raise RuntimeError("PyTorch sees no GPU")

    def ten(x):
        if x.dtype.is_floating_point:
            rest = [torch.isnan(x).sum(), torch.isposinf(x).sum(), torch.isneginf(x).sum()]
            average, norm = x.mean(dtype=torch.float64), torch.linalg.vector_norm(x, dtype=torch.float64)
        else:
            rest = []
            average, norm = x.sum(dtype=torch.int64), torch.linalg.vector_norm(x.double())
        return [x.max(), x.min(), average, norm, (x < 0).sum(), (x > 0).sum(), (x == 0).sum()] + rest

    for name in ["float32", "float64", "float16", "bfloat16", "int8"]:
        dtype = getattr(torch, name)
        count = MIB * 2**20 // torch.empty(0, dtype=dtype).element_size()
        x = torch.randn(count, device="cuda", dtype=torch.float32) if name != "int8" else torch.randint(
            -128, 128, (count,), device="cuda", dtype=dtype)
        x = x.to(dtype)
        for label, work in [("ten calls", ten), ("sum", lambda x: [x.sum()])]:
            times = []
            for turn in range(ROUNDS + 1):
                begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
                begin.record()
                work(x)
                end.record()
                torch.cuda.synchronize()
                if turn:
                    times.append(begin.elapsed_time(end))
            figure(f"peer/torch {label}/{name}", times)


def cupy_calls():
    import cupy
    from cupyx.profiler import benchmark

    def ten(x):
        cupy.max(x), cupy.min(x), cupy.mean(x, dtype=cupy.float64), cupy.linalg.norm(x)
        cupy.count_nonzero(x < 0), cupy.count_nonzero(x > 0), cupy.count_nonzero(x == 0)
        cupy.count_nonzero(cupy.isnan(x)), cupy.count_nonzero(cupy.isposinf(x)), cupy.count_nonzero(cupy.isneginf(x))

    for name in ["float32", "float64"]:
        x = cupy.random.standard_normal(MIB * 2**20 // cupy.dtype(name).itemsize, dtype=name)
        result = benchmark(ten, (x,), n_repeat=ROUNDS, n_warmup=1)
        figure(f"peer/cupy ten calls/{name}", [each * 1e3 for each in result.gpu_times.ravel()])


for peer in (torch_calls, cupy_calls):
    try:
        peer()
    except Exception as missing:  # skip a peer that is missing or incomplete
        print(f"{peer.__name__}: {type(missing).__name__}: {missing}", file=sys.stderr)
