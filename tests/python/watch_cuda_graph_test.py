"""A CUDA graph that is captured under watch(): each replay has the rows, the first fault and the answer of an eager step with the same
values, and nothing waits. The GPU is tests/device/fake_gpu.cpp, whose captured work runs in replays alone. PyTorch of this machine has no
CUDA: during a capture the tensors are put there, and before a replay they get the values of the eager run.
Skipped where there is no torch (Debian's python3-torch)."""
import contextlib
import copy
import csv
import ctypes
import gc
import glob
import logging
import os
import re
import subprocess
import sys
import tempfile
import types
import unittest
from unittest import mock

HOME = tempfile.TemporaryDirectory(dir=os.path.dirname(os.environ["FAKE_CUDA_MEMORY"]))
os.environ["XDG_CACHE_HOME"] = HOME.name  # the double's kernels lie there, and in no cache of others

import tensorstat

try:
    import torch
except ImportError:
    print("torch is not installed: nothing is tested here", file=sys.stderr)
    sys.exit(0)

from torch import nn

DRIVER = ctypes.CDLL(os.environ["FAKE_CUDA_MEMORY"])
for name, result, arguments in (
        ("allocate", ctypes.c_uint64, [ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]),
        ("write", None, [ctypes.c_int, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_void_p, ctypes.c_size_t]),
        ("plant", ctypes.c_int, [ctypes.c_char_p, ctypes.c_char_p]), ("waits", ctypes.c_long, []),
        ("stream", ctypes.c_void_p, [ctypes.c_int, ctypes.c_int]), ("begin_capture", ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_void_p]),
        ("end_capture", None, [ctypes.c_void_p]), ("replay", None, [ctypes.c_void_p, ctypes.c_void_p]),
        ("advance", None, [ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t]), ("has_broken_a_capture", ctypes.c_int, [])):
    function = getattr(DRIVER, "fake_gpu_" + name)
    function.restype, function.argtypes = result, arguments
STATISTICS = b"max,min,avg,l2norm,nan count,positive inf count,negative inf count,zero count"
assert DRIVER.fake_gpu_plant(b"float32", STATISTICS) == 1
STREAM, OTHER = DRIVER.fake_gpu_stream(0, 0), DRIVER.fake_gpu_stream(1, 0)
CURRENT = [0]  # torch's current GPU


class Graph:
    """torch.cuda.CUDAGraph, as far as a watch sees it."""

    def capture_begin(self):
        self.number = DRIVER.fake_gpu_begin_capture(STREAM, None)

    def capture_end(self):
        DRIVER.fake_gpu_end_capture(self.number)

    def replay(self):
        DRIVER.fake_gpu_replay(self.number, STREAM)


METHODS = dict(vars(Graph))


class There:
    """A tensor on the GPU: what the extension asks of it."""
    is_cpu, device, layout = False, types.SimpleNamespace(type="cuda", index=0), torch.strided

    def __init__(self, tensor):
        self.dtype, self.shape, self.requires_grad = tensor.dtype, tensor.shape, tensor.requires_grad
        self.bytes = tensor.numel() * 4
        self.pointer = DRIVER.fake_gpu_allocate(0, ctypes.create_string_buffer(self.bytes), self.bytes, 0)

    def write(self, values):
        DRIVER.fake_gpu_write(0, STREAM, self.pointer, values.data_ptr(), self.bytes)

    def __dlpack_device__(self):
        return (2, 0)

    def is_neg(self):
        return False

    def is_contiguous(self):
        return True

    def data_ptr(self):
        return self.pointer


@contextlib.contextmanager
def collecting(each):
    """Tensors that are collected are exchanged for each(tensor)."""
    collect = tensorstat._native.collect

    def exchanged(session, operator, rank, device, graph, iteration, inputs, outputs, *more):
        put = [[tensor if tensor is None else each(tensor) for tensor in tensors] for tensors in (inputs, outputs)]
        return collect(session, operator, rank, device, graph, iteration, *put, *more)

    def current_stream(device=None):
        return types.SimpleNamespace(cuda_stream=(STREAM, OTHER)[CURRENT[0] if device is None else getattr(device, "index", device)])

    with mock.patch.object(tensorstat._native, "collect", exchanged), mock.patch.object(torch.cuda, "current_stream", current_stream):
        yield


class Faulty(nn.Module):
    def forward(self, x):
        return x * torch.where(x.sum() > 1e6, float("nan"), 1.0)


def made():
    torch.manual_seed(7)
    model = nn.Sequential(nn.Linear(4, 6), Faulty(), nn.ReLU(), nn.Linear(6, 1))
    with torch.no_grad():
        model[0].weight.abs_()
    return model, torch.optim.SGD(model.parameters(), lr=0.01)


STEPS = 6


def inputs(fault):
    generator = torch.Generator().manual_seed(20261128)
    given = [torch.randn(8, 4, generator=generator) for _ in range(STEPS)]
    if fault:
        given[3] = given[3].abs() * 1e9
    return given


def one_step(model, optimizer, x):
    optimizer.zero_grad(set_to_none=False)
    loss = (model(x) ** 2).mean()
    loss.backward()
    optimizer.step()


class RunResults:
    """What a run leaves."""

    def __init__(self, w, folder, lines):
        self.rows = []
        for path in sorted(glob.glob(folder + "/rank_0/model/*/*/statistic.csv"), key=lambda name: [int(each) for each in re.findall(r"/(\d+)", name[len(folder):])]):
            with open(path) as rows:
                header, *values = csv.reader(rows)
            column = header.index("Timestamp")
            self.rows += [(int(path.split("/")[-2]), *row[:column], *row[column + 1:]) for row in values]
        process = subprocess.run([os.environ["COMMAND"], "origin", folder], capture_output=True, text=True)
        self.answer = process.returncode, process.stdout.replace(folder, "FOLDER")
        self.first_fault, self.counters, self.lines = w.first_fault, w.counters, lines

    def of_steps(self, steps):
        return [row for row in self.rows if row[0] in steps]


@contextlib.contextmanager
def watched(model, optimizer, **options):
    """The watch, and a list that has what the run left when the block has ended."""
    results, lines = [], []
    logger, handler = logging.getLogger("tensorstat"), logging.Handler(logging.WARNING)
    handler.emit = lambda record: lines.append(record.getMessage())
    logger.addHandler(handler)
    propagates, logger.propagate = logger.propagate, False
    try:
        with tempfile.TemporaryDirectory() as folder:
            with tensorstat.watch(model, path=folder, zoom=False, optimizer=optimizer, **options) as w:
                yield w, results
            results.append(RunResults(w, folder, lines))
    finally:
        logger.removeHandler(handler)
        logger.propagate = propagates


class Eager:
    """A training without graphs: the values of all tensors that were collected in each step, and what was left."""

    def __init__(self, fault, **options):
        model, optimizer = made()
        self.values, self.states = [], []
        with watched(model, optimizer, **options) as (w, results):
            for x in inputs(fault):
                now = []
                with collecting(lambda tensor: now.append(tensor.detach().clone()) or tensor):
                    one_step(model, optimizer, x)
                self.values.append(now)
                self.states.append([(each.detach().clone(), each.grad.clone()) for each in model.parameters()])
                w.step()
        self.result, = results


class Captured:
    """The same training, whose steps from 1 on are replays of what step 0 has captured."""

    def __init__(self, eager, replays=1, around=lambda w, step: None, **options):
        model, optimizer = made()
        for each in model.parameters():
            each.grad = torch.zeros_like(each)
        x = inputs("")[0]
        self.graph, self.there, self.waits = torch.cuda.CUDAGraph(), [], []
        self.eager = eager

        def put(tensor):
            self.there.append(There(tensor))
            return self.there[-1]

        with watched(model, optimizer, **options) as (w, results):
            around(w, 0)
            self.graph.capture_begin()
            with collecting(put):
                one_step(model, optimizer, x)
            self.graph.capture_end()
            w.step()
            for step in range(1, STEPS):
                around(w, step)
                waits = DRIVER.fake_gpu_waits()
                for _ in range(replays):
                    self.replay(step)
                for parameter, (value, gradient) in zip(model.parameters(), eager.states[step]):
                    parameter.data.copy_(value)
                    parameter.grad.data.copy_(gradient)
                self.waits.append(DRIVER.fake_gpu_waits() - waits)
                w.step()
        DRIVER.fake_gpu_advance(0, STREAM, 1 << 30)  # freed memory waits for the GPU, and the double does not
        self.result, = results

    def replay(self, step):
        with collecting(lambda tensor: tensor):
            for each, value in zip(self.there, self.eager.values[step][-len(self.there):]):
                each.write(value)
            self.graph.replay()


class WatchCudaGraph(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        """What is looked up in a faulty tensor is gone a step later."""
        from tensorstat._faulty import FaultyTensors
        for name in "of_arguments", "first":
            self.patch(FaultyTensors, name, lambda self, *_: None)
        self.patch(torch.cuda, "CUDAGraph", Graph)
        self.patch(torch.cuda, "current_device", lambda: CURRENT[0])
        CURRENT[0] = 0

    def patch(self, *what):
        patched = mock.patch.object(*what)
        patched.start()
        self.addCleanup(patched.stop)

    def tearDown(self):
        DRIVER.fake_gpu_advance(0, STREAM, 1 << 30)
        self.assertEqual(DRIVER.fake_gpu_has_broken_a_capture(), 0)
        self.assertEqual({name: vars(Graph)[name] for name in METHODS if callable(METHODS[name])},
                         {name: METHODS[name] for name in METHODS if callable(METHODS[name])})

    def test_each_replay_has_the_rows_of_an_eager_step(self):
        for fault in "", "forward":
            with self.subTest(fault=fault):
                eager = Eager(fault, inputs=True)
                captured = Captured(eager, inputs=True)
                self.assertGreater(len(captured.there), 15)
                self.assertEqual(captured.result.of_steps(range(1, STEPS)), eager.result.of_steps(range(1, STEPS)))
                self.assertEqual(captured.result.first_fault, eager.result.first_fault)
                self.assertEqual(captured.result.first_fault is None, not fault)
                self.assertEqual(captured.result.answer[0], eager.result.answer[0])
                self.assertEqual(captured.result.counters["lost_tensor_count"], 0)
                self.assertEqual(captured.waits[2:], [0] * (STEPS - 3))  # memory for results is taken in the first steps

    def test_steps_that_are_not_measured_have_no_rows(self):
        eager = Eager("", every=2)
        captured = Captured(eager, every=2)
        self.assertEqual(captured.result.of_steps(range(1, STEPS)), eager.result.of_steps(range(1, STEPS)))
        self.assertEqual({row[0] for row in captured.result.rows}, {0, 2, 4})

    def test_a_graph_that_is_replayed_twice_in_a_step_has_its_rows_twice(self):
        eager = Eager("")
        once, twice = Captured(eager), Captured(eager, replays=2)
        count = len(once.there)
        for step in range(1, STEPS):
            rows = once.result.of_steps([step])
            self.assertEqual([row[1:3] for row in twice.result.of_steps([step])], [row[1:3] for row in rows[:count] + rows])

    def test_a_graph_is_replayed_while_another_gpu_is_current(self):
        eager = Eager("")
        captured = Captured(eager, around=lambda w, step: CURRENT.__setitem__(0, min(step, 1)))
        self.assertEqual(captured.result.of_steps(range(1, STEPS)), eager.result.of_steps(range(1, STEPS)))

    def test_random_numbers_in_a_capture(self):
        """Torch does not give the state of a GPU's generator during a capture."""
        for is_capturing in True, False:
            get_state = mock.Mock(side_effect=RuntimeError("Cannot call CUDAGeneratorImpl::current_seed during CUDA graph capture")
                                  if is_capturing else None)
            with mock.patch.multiple(torch.cuda, is_initialized=lambda: True, get_rng_state=get_state,
                                     is_current_stream_capturing=lambda: is_capturing):
                self.assertEqual(tensorstat._random_modules.random_state() is None, is_capturing)

    def test_a_graph_may_outlive_its_watch(self):
        eager = Eager("")
        captured = Captured(eager)
        gc.collect()
        for step in range(1, 4):
            captured.replay(step)
            DRIVER.fake_gpu_advance(0, STREAM, 1 << 30)
        self.assertEqual(DRIVER.fake_gpu_has_broken_a_capture(), 0)
        graph, captured.graph = captured.graph, None
        del graph
        gc.collect()
        self.assertEqual(tensorstat._cuda_graphs._KEPT, {})

    def test_a_graph_of_a_step_that_is_not_measured_is_said(self):
        eager = Eager("")
        captured = Captured(eager, around=lambda w, step: w.stop() if step == 0 else w.start())
        self.assertEqual([row for row in captured.result.rows if row[1] not in ("Gradient", "Parameter")], [])
        self.assertIn("a CUDA graph that is captured in a step that is not measured has no rows", captured.result.lines)

    def test_a_capture_that_fails_costs_no_later_row(self):
        model, optimizer = made()
        for name in "capture_begin", "capture_end":
            def fail(graph, name=name):
                if name == "capture_end":
                    METHODS[name](graph)
                raise RuntimeError("of the driver")

            with self.subTest(call=name), mock.patch.object(Graph, name, fail):
                copied = copy.deepcopy(model)
                with watched(copied, torch.optim.SGD(copied.parameters(), lr=0.01)) as (w, results):
                    with self.assertRaises(RuntimeError):
                        graph = torch.cuda.CUDAGraph()
                        graph.capture_begin()
                        graph.capture_end()
                    one_step(copied, torch.optim.SGD(copied.parameters(), lr=0.01), inputs("")[3].abs() * 1e9)
                    w.step()
                self.assertIsNotNone(results[0].first_fault)


if __name__ == "__main__":
    unittest.main()
