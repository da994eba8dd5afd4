"""What a hook costs where the tensors are small: 200 Linear(8, 8), batches of 4, one thread of torch.

    modules.py [--quick]

A figure is the microseconds of a step for each module, beyond those of a bare step of the same round: of the thread that
trains, which other load on the machine disturbs less than the wall clock, and of the process, where the session's thread
writes the rows.
"""
import shutil
import sys
import tempfile
import time

from rounds import rounds_of, show, spread

try:
    import torch
except ImportError:
    sys.exit("PyTorch is not installed: the hooks are not measured")
import tensorstat

MODULES = 200


class Job:
    def __init__(self, has_backward, watch=None):
        torch.manual_seed(1)
        self.model = torch.nn.Sequential(*[torch.nn.Linear(8, 8) for _ in range(MODULES)])
        self.batch, self.has_backward = torch.randn(4, 8), has_backward
        self.watch = watch and watch(self.model)

    def __call__(self):
        thread, process = time.thread_time(), time.process_time()
        result = self.model(self.batch)
        if self.has_backward:
            result.sum().backward()
        if self.watch:
            self.watch.step()
        thread, process = time.thread_time() - thread, time.process_time() - process
        self.model.zero_grad(set_to_none=True)
        return 1e6 * thread / MODULES, 1e6 * process / MODULES


def with_empty_hooks(model):
    for module in model:
        module.register_forward_pre_hook(lambda *_: None)
        module.register_forward_hook(lambda *_: None)


def watched(folder, **options):
    return lambda model: tensorstat.watch(model, path=folder, parameters=False, **options)


def main(rounds):
    torch.set_num_threads(1)
    folder = tempfile.mkdtemp()
    try:
        times = rounds_of({"bare": Job(False), "torch's own empty hooks": Job(False, with_empty_hooks),
                           "watch(): outputs": Job(False, watched(f"{folder}/outputs", gradients=False)),
                           "bare, backward": Job(True),
                           "watch(): outputs and gradients": Job(True, watched(f"{folder}/gradients"))}, rounds)
        rows, base = [], None
        for name, steps in times.items():
            if name.startswith("bare"):
                base = steps
                continue
            more = [[each[clock] - bare[clock] for each, bare in zip(steps, base)] for clock in (0, 1)]
            rows.append([name, *(spread(each, "{:.1f}") for each in more)])
        show(f"{MODULES} Linear(8, 8), microseconds a module beyond the bare step",
             ["", "thread that trains", "process"], rows)
    finally:
        shutil.rmtree(folder)


main(30 if "--quick" in sys.argv else 200)
