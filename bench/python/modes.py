"""A training step in eager mode, compiled and as a CUDA graph: bare, watched, and with what torch has for the same question.

    modes.py [--quick] [--device cuda]

Each mode's steps are compared with the bare steps of that mode, in turns. Compiled jobs need torch 2.6, graphs a GPU. The
reductions in hooks are torch's own, on the tensor's device, and nothing waits for them. Anomaly mode and DebugMode (torch 2.10)
find NaN and log operations, and have no statistics. On a GPU a step is over when the GPU has ended it.
"""
import contextlib
import importlib.util
import shutil
import sys
import tempfile
import time

from rounds import rounds_of, show, spread

try:
    import torch
except ImportError:
    sys.exit("PyTorch is not installed: nothing is measured")
import tensorstat

DEVICE = sys.argv[sys.argv.index("--device") + 1] if "--device" in sys.argv else "cpu"
IS_GPU = DEVICE != "cpu"


def tiny():
    return torch.nn.Sequential(*(layer for _ in range(4) for layer in (torch.nn.Linear(64, 64), torch.nn.ReLU()))), torch.randn(32, 64)


def transformer():
    width, layers = (1024, 8) if IS_GPU else (128, 2)
    layer = torch.nn.TransformerEncoderLayer(width, 4, 4 * width, dropout=0.0, batch_first=True)
    return torch.nn.TransformerEncoder(layer, layers), torch.randn(8, 512 if IS_GPU else 64, width)


class Job:
    """A model of its own, with the same numbers in each job. A call is a step."""

    def __init__(self, make, mode, around=contextlib.nullcontext):
        torch.manual_seed(1)
        self.model, batch = make()
        self.model.to(DEVICE)
        self.batch, self.around, self.after = batch.to(DEVICE), around, lambda: None
        self.run = torch.compile(self.model) if mode == "compiled" else self.model
        self.optimizer = torch.optim.AdamW(self.model.parameters(), **({"capturable": True} if IS_GPU else {}))
        self.mode, self.step = mode, self.steps_of_torch

    def steps_of_torch(self):
        self.optimizer.zero_grad(set_to_none=self.mode != "graph")
        with self.around():
            self.run(self.batch).square().mean().backward()
        self.optimizer.step()

    def capture(self):
        """As torch's documents advise: some steps on a side stream, and then the capture."""
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.steps_of_torch()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self.steps_of_torch()
        self.step = graph.replay

    def __call__(self):
        if self.mode == "graph" and self.step == self.steps_of_torch:
            self.capture()
        start = time.perf_counter()
        self.step()
        self.after()
        if IS_GPU:
            torch.cuda.synchronize()
        return time.perf_counter() - start


def watched(folder, make, mode, **options):
    job = Job(make, mode)
    job.watch = tensorstat.watch(job.run, path=tempfile.mkdtemp(dir=folder), **options)
    job.after = job.watch.step
    return job


def with_reductions(make, mode):
    """Six numbers of each output and its gradient stay on the device."""
    job = Job(make, mode)
    job.reductions = []

    def look(x):
        x = x.detach()
        job.reductions.append(torch.stack([x.amax(), x.amin(), x.mean(), x.norm(), x.isnan().sum(), x.isinf().sum()]))

    def hook(module, inputs, outputs):
        for x in outputs if isinstance(outputs, tuple) else (outputs,):
            if x is not None:
                look(x)
                if x.requires_grad:
                    x.register_hook(look)

    for module in job.model.modules():
        module.register_forward_hook(hook)
    job.after = job.reductions.clear
    return job


def contestants(folder, make, mode):
    jobs = {"nothing": Job(make, mode),
            "watch(): outputs": watched(folder, make, mode, parameters=False, gradients=False),
            "watch(): all": watched(folder, make, mode),
            "watch(), every=10": watched(folder, make, mode, every=10)}
    if mode == "compiled":
        jobs["watch(compiled=\"graph\")"] = watched(folder, make, mode, compiled="graph")
    if mode == "eager":
        jobs["torch's reductions in hooks"] = with_reductions(make, mode)
        jobs["anomaly mode"] = Job(make, mode, torch.autograd.detect_anomaly)
        if importlib.util.find_spec("torch.utils._debug_mode"):
            from torch.utils._debug_mode import DebugMode
            jobs["torch.utils._debug_mode"] = Job(make, mode, DebugMode)
    return jobs


def main(rounds):
    modes = ["eager", *(["compiled"] if hasattr(getattr(torch, "compiler", None), "set_stance") else []), *(["graph"] if IS_GPU else [])]
    folder = tempfile.mkdtemp()
    try:
        for make in tiny, transformer:
            for mode in modes:
                times = rounds_of(contestants(folder, make, mode), rounds)
                rows = [[name, spread([each * 1e3 for each in steps], "{:.2f}"),
                         spread([each / bare for each, bare in zip(steps, times["nothing"])])] for name, steps in times.items()]
                show(f"A step of the {make.__name__}, {mode}, on {DEVICE}, torch {torch.__version__}, {torch.get_num_threads()} threads",
                     ["beside each step", "ms", "times"], rows)
    finally:
        shutil.rmtree(folder)


main(12 if "--quick" in sys.argv else 40)
