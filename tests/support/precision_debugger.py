"""Trains a small model for two steps under msprobe's PrecisionDebugger. Run it as a process of its own, because it
changes torch.

    precision_debugger.py SOURCES FOLDER LEVEL TASK SUMMARY_MODE [ours]

SOURCES is the folder `python` of msprobe's repository. The dump goes to FOLDER/dump. With "ours", tensorstat.watch()
writes it with the same config.
"""
import contextlib
import json
import sys
import types

import torch

# msprobe needs these from later versions of packages.
sys.modules['einops'] = types.ModuleType('einops')
sys.modules['einops'].rearrange = None
if not hasattr(torch.Tensor, 'untyped_storage'):
    torch.Tensor.untyped_storage = lambda self: self.storage().untyped()
if not hasattr(torch._C._autograd, '_get_creation_meta'):  # without it msprobe leaves out the gradients of modules
    torch._C._autograd.CreationMeta = int
    torch._C._autograd._get_creation_meta = lambda tensor: 0


class Net(torch.nn.Module):
    """Operators of every dtype: named arguments, NaN, Inf, no elements, no dimensions. No operator works in place,
    because msprobe's threads may read a tensor later, until step() returns.
    """

    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 4, 3)
        self.norm = torch.nn.BatchNorm2d(4, track_running_stats=False)
        self.linear = torch.nn.Linear(4 * 6 * 6, 5)
        self.embedding = torch.nn.Embedding(7, 5)

    def forward(self, x, indices):
        y = torch.relu(self.norm(self.conv(x)))
        y = torch.cat([y, torch.zeros_like(y)[:0]])
        y = self.linear(y.flatten(1)) + self.embedding(indices)
        odd = torch.where(y > 0, y, torch.full_like(y, float('nan')))
        half, brain, double = y.to(torch.float16) * 3, y.to(torch.bfloat16) + 1, y.double().abs()
        other = ((y * 100).to(torch.int32) - 5, (y.abs() * 10).to(torch.uint8) + 1, torch.div(y, torch.zeros_like(y)),
                 torch.add(y[:0], 1), torch.clamp(input=y, min=torch.zeros(5)))
        unused = torch.nan_to_num(odd).sum() + half.float().sum() + brain.float().sum() + double.sum().float()
        return y.square().mean() + 0 * unused, other


class Debugged:
    """The calls of a step under msprobe."""

    def __init__(self, sources, config, model):
        sys.path.insert(0, sources)
        from msprobe.pytorch import PrecisionDebugger
        self.debugger, self.model = PrecisionDebugger(config_path=config), model

    def begin(self):
        self.debugger.start(self.model)

    def end(self):
        self.debugger.stop()
        self.debugger.step()

    def close(self):
        pass


class Watched:
    """The same under tensorstat."""

    def __init__(self, _, config, model):
        import tensorstat
        self.watch = tensorstat.watch(model, config)
        self.end, self.close = self.watch.step, self.watch.close

    def begin(self):
        pass


def main(sources, folder, level, task, summary_mode, tool='msprobe'):
    with open(f'{folder}/config.json', 'w', encoding='utf-8') as file:
        json.dump({'task': task, 'dump_path': f'{folder}/dump', 'rank': [], 'step': [], 'level': level,
                   task: {'scope': [], 'list': [], 'data_mode': ['all'], 'summary_mode': summary_mode}}, file)
    torch.manual_seed(0)
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    dumper = (Watched if tool == 'ours' else Debugged)(sources, f'{folder}/config.json', model)
    with contextlib.closing(dumper):
        for _ in range(2):
            dumper.begin()
            loss, _ = model(torch.randn(2, 3, 8, 8), torch.tensor([1, 6]))
            loss.backward()
            dumper.end()
            optimizer.step()
            optimizer.zero_grad()


main(*sys.argv[1:])
