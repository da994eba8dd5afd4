"""The training step of a small transformer on the CPU: bare, watched, and with hooks that ask torch for each number.

    training.py [--quick]

The hooks do what users of torch write (such as transformers' DebugUnderflowOverflow): .max().item() and others on
every module's outputs and their gradients. If PYTHONPATH has msprobe (github.com/Ascend/msprobe, folder python), its
PrecisionDebugger runs last, beside a bare job of its own, because it changes torch for the whole process. Times are
in seconds of the wall clock and of the processor. Other load on the machine affects the latter less.
"""
import importlib.util
import json
import shutil
import sys
import tempfile
import time
import types

from rounds import rounds_of, show, spread

try:
    import torch
except ImportError:
    sys.exit("PyTorch is not installed: the training job is not measured")
import tensorstat

WIDTH, HEADS, LAYERS, BATCH, LENGTH = 256, 4, 2, 8, 64


class Job:
    """A model of its own, with the same numbers in each job. A call is a step."""

    def __init__(self):
        torch.manual_seed(1)
        layer = torch.nn.TransformerEncoderLayer(WIDTH, HEADS, 4 * WIDTH, dropout=0.0, batch_first=True)
        self.model = torch.nn.Sequential(torch.nn.Linear(64, WIDTH), torch.nn.TransformerEncoder(layer, LAYERS),
                                         torch.nn.Linear(WIDTH, 1))
        self.optimizer = torch.optim.Adam(self.model.parameters())
        self.batch = torch.randn(BATCH, LENGTH, 64)
        self.before = self.after = lambda: None

    def __call__(self):
        wall, processor = time.perf_counter(), time.process_time()
        self.before()
        self.model(self.batch).square().mean().backward()
        self.optimizer.step()
        self.after()
        self.optimizer.zero_grad()
        return time.perf_counter() - wall, time.process_time() - processor


def watched(folder, **options):
    job = Job()
    job.watch = tensorstat.watch(job.model, path=folder, **options)
    job.after = job.watch.step
    return job


def with_hooks():
    job = Job()

    def look(x):
        x = x.detach()
        return (x.max().item(), x.min().item(), x.mean().item(), x.norm().item(), x.isnan().sum().item(),
                x.isinf().sum().item())

    def hook(module, inputs, outputs):
        for x in outputs if isinstance(outputs, tuple) else (outputs,):
            if x is not None:
                look(x)
                if x.requires_grad:
                    x.register_hook(lambda gradient: look(gradient) and None)

    for module in job.model.modules():
        module.register_forward_hook(hook)
    return job


def with_msprobe(folder):
    """msprobe computes max, min, mean and l2norm of every module's inputs, outputs and gradients."""
    # Debian has no einops, and it is not used here
    einops = sys.modules.setdefault("einops", types.ModuleType("einops"))
    einops.rearrange = getattr(einops, "rearrange", None)
    from msprobe.pytorch import PrecisionDebugger
    with open(f"{folder}/config.json", "w") as file:
        json.dump({"task": "statistics", "dump_path": f"{folder}/msprobe", "rank": [], "step": [], "level": "L0",
                   "statistics": {"scope": [], "list": [], "data_mode": ["all"], "summary_mode": "statistics"}}, file)
    debugger = PrecisionDebugger(config_path=f"{folder}/config.json")
    job = Job()
    job.before = lambda: debugger.start(job.model)

    def after():
        debugger.stop()
        debugger.step()
    job.after = after
    return job


ALERTS = ["nan", "inf", "l2norm > 8 * median(l2norm, 50)", "zero count == count for 3 steps", "absmax > 60000 and dtype == float16"]


def compare(contestants, rounds, base="nothing"):
    times = rounds_of(contestants, rounds)
    rows = [[name, *(spread([each[clock] * 1e3 for each in steps], "{:.0f}") for clock in (0, 1)),
             *(spread([each[clock] / bare[clock] for each, bare in zip(steps, times[base])]) for clock in (0, 1))]
            for name, steps in times.items()]
    show(f"A training step of a transformer ({LAYERS} layers of {WIDTH}, {BATCH} x {LENGTH} tokens), "
         f"{torch.get_num_threads()} threads",
         ["after each step", "ms, wall", "ms, processor", "times, wall", "times, processor"], rows)


def main(rounds):
    folder = tempfile.mkdtemp()
    try:
        compare({"nothing": Job(), "watch(): outputs and their gradients": watched(f"{folder}/each", parameters=False),
                 "watch(), every=10": watched(f"{folder}/tenth", every=10),
                 "hooks with .max().item() and five more": with_hooks()}, rounds)
        compare({"watch()": watched(f"{folder}/plain"),
                 "watch(), 5 alerts": watched(f"{folder}/alerts", alerts=ALERTS),
                 "watch(), 5 alerts and save tensors": watched(f"{folder}/saved", alerts=ALERTS, then="save tensors"),
                 "watch(), 5 alerts and keep=20": watched(f"{folder}/kept", alerts=ALERTS, keep=20)}, rounds, "watch()")
        if importlib.util.find_spec("msprobe"):
            compare({"nothing": Job(), "msprobe's PrecisionDebugger, L0": with_msprobe(folder)}, rounds)
    finally:
        shutil.rmtree(folder)


main(12 if "--quick" in sys.argv else 40)
