"""watch() of tensors on a GPU waits for nothing between two steps, and says what a watch that waits says: the same rows, journal, first
fault and answer, a step later. The GPU is tests/device/fake_gpu.cpp: its streams run nothing until they are waited for. PyTorch of this
machine has no CUDA, so tensors are put there where the watch hands them over, and are overwritten behind each call.
Skipped where there is no torch (Debian's python3-torch)."""
import contextlib
import csv
import ctypes
import glob
import json
import logging
import os
import re
import subprocess
import sys
import tempfile
import types
import unittest
import weakref
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
        ("plant", ctypes.c_int, [ctypes.c_char_p, ctypes.c_char_p]), ("waits", ctypes.c_long, []), ("launches", ctypes.c_long, []),
        ("lose_launch", None, [ctypes.c_long])):
    function = getattr(DRIVER, "fake_gpu_" + name)
    function.restype, function.argtypes = result, arguments
STATISTICS = b"max,min,avg,l2norm,nan count,positive inf count,negative inf count,zero count"
assert DRIVER.fake_gpu_plant(b"float32", STATISTICS) == 1


class There:
    """A tensor of torch as it is on a GPU: what the extension asks of it. The stream writes its values before the call, and others
    behind it."""
    is_cpu, device, layout = False, types.SimpleNamespace(type="cuda", index=0), torch.strided

    def __init__(self, tensor):
        with torch._C.DisableTorchFunction():  # no operation of the training
            values = tensor.detach().contiguous().clone()
            self.dtype, self.shape, self.requires_grad = tensor.dtype, tensor.shape, tensor.requires_grad
            self.bytes = max(values.numel() * values.element_size(), 1)
            junk = ctypes.create_string_buffer(b"\x7f" * self.bytes, self.bytes)
            self.pointer = DRIVER.fake_gpu_allocate(0, junk, self.bytes, 0)
            if values.numel():
                DRIVER.fake_gpu_write(0, None, self.pointer, values.data_ptr(), self.bytes)

    def overwrite(self):
        junk = ctypes.create_string_buffer(b"\xff" * self.bytes, self.bytes)  # NaN
        DRIVER.fake_gpu_write(0, None, self.pointer, junk, self.bytes)

    def __dlpack_device__(self):
        return (2, 0)

    def is_neg(self):
        return False

    def is_contiguous(self):
        return True

    def data_ptr(self):
        return self.pointer


@contextlib.contextmanager
def gpu(is_there=lambda tensor: True):
    """Tensors that `is_there` says lie on the GPU."""
    collect = tensorstat._native.collect

    def put_there(session, operator, rank, device, graph, iteration, inputs, outputs, *more):
        put = []

        def of(tensor):
            if tensor is None or tensor.dtype is not torch.float32 or not is_there(tensor):
                return tensor
            put.append(There(tensor))
            return put[-1]

        faults = collect(session, operator, rank, device, graph, iteration, [of(each) for each in inputs], [of(each) for each in outputs], *more)
        for each in put:
            each.overwrite()
        return faults

    stream = types.SimpleNamespace(cuda_stream=0)
    with mock.patch.object(tensorstat._native, "collect", put_there), mock.patch.object(torch.cuda, "current_stream", lambda device: stream):
        yield


class LineHandler(logging.Handler):
    def __init__(self):
        super().__init__(logging.WARNING)
        self.lines = []

    def emit(self, record):
        self.lines.append(record.getMessage())


@contextlib.contextmanager
def logged():
    logger, handler = logging.getLogger("tensorstat"), LineHandler()
    logger.addHandler(handler)
    propagates, logger.propagate = logger.propagate, False
    try:
        yield handler.lines
    finally:
        logger.removeHandler(handler)
        logger.propagate = propagates


class Faulty(nn.Module):
    """Does in one step what its fault says."""

    def __init__(self, fault):
        super().__init__()
        self.fault = fault
        self.number = -1

    def forward(self, x):
        if self.training:
            self.number += 1
        if self.number != 3:
            return x
        if self.fault in ("forward", "two"):
            return x * torch.log(-x.abs() - 1)
        if self.fault == "Inf":
            return x / torch.zeros_like(x)
        if self.fault == "backward":
            return x + 0 * torch.sqrt(x - x)
        return x


class Mask(nn.Module):
    def forward(self, x):
        return torch.nan_to_num(x, 0.0, 1.0, -1.0)


class Inner(nn.Module):
    def __init__(self, fault):
        super().__init__()
        self.linear, self.faulty, self.act = nn.Linear(6, 6), Faulty(fault), nn.ReLU()

    def forward(self, x, scale=None):
        return self.act(self.faulty(self.linear(x))) * (1 if scale is None else scale)


class Model(nn.Module):
    def __init__(self, fault, is_masked):
        super().__init__()
        self.first, self.inner, self.norm = nn.Linear(4, 6), Inner(fault), nn.BatchNorm1d(6)
        self.mask, self.second, self.last = Mask() if is_masked else nn.Identity(), Faulty("forward" if fault == "two" else ""), nn.Linear(6, 1)

    def forward(self, x):
        return self.last(self.second(self.norm(self.mask(self.inner(self.first(x), scale=x.mean())))))


FAULTS = "", "forward", "Inf", "backward", "loss", "data", "parameter", "optimizer", "gradient"
STEPS = 5


def train(w, model, optimizer, fault, steps=STEPS, evaluates=False, around=None):
    """`around`: is called before each step, and behind it."""
    generator = torch.Generator().manual_seed(20261127)
    for step in range(steps):
        if around:
            around(step, False)
        x = torch.randn(8, 4, generator=generator)
        if step == 3 and fault == "data":
            x[2, 1] = float("nan")
        if step == 3 and fault == "parameter":
            with torch.no_grad():
                model.inner.linear.weight[1, 1] = float("nan")
        if evaluates and step % 2 == 1:
            model.eval()
            with torch.no_grad():
                model(x)
            model.train()
        optimizer.zero_grad()
        loss = (model(x) ** 2).mean()
        if step == 3 and fault == "loss":
            loss = loss * torch.log(-loss.detach() - 1)
        loss.backward()
        if step == 3 and fault == "gradient":
            model.first.weight.grad[0, 0] = float("inf")
        optimizer.step()
        if step == 3 and fault == "optimizer":
            with torch.no_grad():
                model.last.weight.mul_(float("inf"))
        if around:
            around(step, True)
        w.step(loss)


def made(fault, is_masked=False):
    torch.manual_seed(7)
    model = Model(fault, is_masked)
    return model, torch.optim.Adam(model.parameters(), lr=0.01)


def rows_of(folder):
    """All that rows say but their time."""
    rows = []
    for path in sorted(glob.glob(folder + "/rank_0/model/*/*/statistic.csv"), key=lambda name: [int(each) for each in re.findall(r"/(\d+)", name[len(folder):])]):
        with open(path) as lines:
            header, *values = csv.reader(lines)
        column = header.index("Timestamp")
        rows += [(*path.split("/")[-3:-1], *row[:column], *row[column + 1:]) for row in values]
    return rows


def journal_of(folder):
    with open(folder + "/rank_0/model/watch.ndjson") as lines:
        return [json.loads(line) for line in lines]


def answer_of(folder):
    process = subprocess.run([os.environ["COMMAND"], "origin", folder], capture_output=True, text=True)
    return process.returncode, process.stdout.replace(folder, "FOLDER"), process.stderr.replace(folder, "FOLDER")


class Run:
    """What a training under watch() leaves."""

    def __init__(self, fault, where, is_masked=False, training=train, **options):
        model, optimizer = made(fault, is_masked)
        with tempfile.TemporaryDirectory() as folder, where, logged() as self.lines:
            self.alerts = []
            options = {"zoom": False, "optimizer": optimizer, **options}
            with tensorstat.watch(model, path=folder, **options) as w:
                training(w, model, optimizer, fault)
            self.first_fault, self.rows, self.journal, self.answer = w.first_fault, rows_of(folder), journal_of(folder), answer_of(folder)
            self.counters = w.counters
            self.lines = [line.replace(os.path.relpath(folder), "FOLDER").replace(folder, "FOLDER") for line in self.lines]


class WatchOnGpu(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        """A name of a faulty tensor and the rows of it that hold the fault are looked up in the tensor, which is gone a step later."""
        from tensorstat._faulty import FaultyTensors
        for name in "of_arguments", "first":
            patched = mock.patch.object(FaultyTensors, name, lambda self, *_: None)
            patched.start()
            self.addCleanup(patched.stop)

    def is_same(self, late, at_once):
        self.assertEqual(late.rows, at_once.rows)
        self.assertEqual(late.first_fault, at_once.first_fault)
        self.assertEqual(late.journal, at_once.journal)
        self.assertEqual(late.answer, at_once.answer)
        self.assertEqual(late.lines, at_once.lines)
        self.assertGreater(late.counters["device_row_count"], 100)
        self.assertEqual(late.counters["stall_count"], 0)
        self.assertEqual(late.counters["lost_tensor_count"], 0)

    def test_each_fault_is_what_a_watch_says_that_waits(self):
        for fault in FAULTS:
            with self.subTest(fault=fault):
                at_once = Run(fault, contextlib.nullcontext(), inputs=True)
                self.assertEqual(at_once.first_fault is None, fault == "")
                if fault:
                    self.assertEqual(at_once.first_fault.iteration, 3)
                self.is_same(Run(fault, gpu(), inputs=True), at_once)

    def test_beside_tensors_on_the_cpu_and_in_evaluations(self):
        def training(*arguments):
            train(*arguments, evaluates=True)

        for fault, masked in (("forward", True), ("forward", False), ("optimizer", False), ("data", True)):
            with self.subTest(fault=fault, masked=masked):
                at_once = Run(fault, contextlib.nullcontext(), masked, training, inputs=True)
                partly = gpu(lambda tensor: tensor.numel() % 8 == 0)  # outputs and their gradients, but few parameters
                late = Run(fault, partly, masked, training, inputs=True)
                self.is_same(late, at_once)
                self.assertGreater(late.counters["host_row_count"], 100)

    @unittest.skipIf(torch.__version__.startswith("1."), "this torch sees the test's own copies of tensors as operations of the training")
    def test_with_operations(self):
        for fault in ("forward", "backward", "loss"):
            with self.subTest(fault=fault):
                at_once = Run(fault, contextlib.nullcontext(), level="op", inputs=True)
                self.assertEqual(at_once.first_fault.iteration, 3)
                self.is_same(Run(fault, gpu(), level="op", inputs=True), at_once)

    def test_every_other_step_and_stopped_ones(self):
        def training(w, model, optimizer, fault):
            def around(step, is_behind):
                if step == 1 and is_behind:
                    w.stop()
                if step == 3 and not is_behind:
                    w.start()

            train(w, model, optimizer, fault, around=around)

        for every in (1, 3):
            at_once = Run("data", contextlib.nullcontext(), training=training, every=every, inputs=True)
            self.is_same(Run("data", gpu(), training=training, every=every, inputs=True), at_once)

    def test_nothing_waits_between_two_steps(self):
        def waits_of(**options):
            before, waits = 0, []

            def around(step, is_behind):
                nonlocal before
                if is_behind:
                    waits.append(DRIVER.fake_gpu_waits() - before)
                before = DRIVER.fake_gpu_waits()

            Run("", gpu(), training=lambda *arguments: train(*arguments, steps=7, around=around), alerts="nan", **options)
            return waits[3:]  # kernels and memory are taken in the first steps

        self.assertEqual(waits_of(), [0] * 4)
        self.assertEqual(waits_of(zoom=True), [0] * 4)
        self.assertTrue(all(each > 20 for each in waits_of(wait=True)))

    def test_inputs_of_modules_inside_have_no_rows(self):
        for fault in ("forward", "Inf", "backward", "optimizer"):
            for masked in (False, True):
                with self.subTest(fault=fault, masked=masked):
                    at_once, late = Run(fault, contextlib.nullcontext(), masked), Run(fault, gpu(), masked)
                    self.assertEqual(late.first_fault, at_once.first_fault)
                    self.assertEqual(late.journal, at_once.journal)
                    missing = [row for row in at_once.rows if row not in late.rows]
                    self.assertEqual([row for row in at_once.rows if row in late.rows], late.rows)
                    self.assertEqual({row[row.index("input")] for row in missing} - {"input"}, set())
                    self.assertEqual(late.answer[1].splitlines()[:1], at_once.answer[1].splitlines()[:1])

    def test_without_a_zoom_the_module_is_named_and_the_answer_says_why(self):
        at_once = Run("forward", contextlib.nullcontext(), zoom=False, inputs=True)
        late = Run("forward", gpu(), zoom=True, inputs=True)
        self.assertEqual(late.rows, at_once.rows)
        self.assertEqual(late.first_fault, at_once.first_fault)
        zooms = [each for each in late.journal if each not in at_once.journal]
        self.assertEqual([(each["op_name"], each["iteration"], each["result"]) for each in zooms], [("inner.faulty/forward", 3, "refused")])
        self.assertIn("watch(wait=True)", zooms[0]["why"])
        self.assertIn("watch(wait=True)", late.answer[1])
        self.assertIn("watch(wait=True)", late.lines[0])
        self.assertIn("iteration 3", late.lines[-1])

    def test_first_fault_comes_with_the_next_step(self):
        for wait in (False, True):
            known = []

            def training(w, model, optimizer, fault):
                train(w, model, optimizer, fault, around=lambda step, is_behind: is_behind or known.append(w.first_fault is not None))

            Run("data", gpu(), training=training, wait=wait)
            self.assertEqual(known, [False] * 4 + [wait])

    def test_check_knows_of_its_own_step(self):
        for where in (contextlib.nullcontext(), gpu()):
            results = []

            def training(w, model, optimizer, fault):
                train(w, model, optimizer, fault, around=lambda step, is_behind: results.append(w.check()) if is_behind else None)

            Run("forward", where, training=training)
            self.assertEqual([bool(each) for each in results], [False] * 3 + [True] * 2)
            self.assertEqual((results[3].fault.op_name, results[3].fault.iteration), ("inner.faulty/forward", 3))

    def test_alerts_come_with_the_next_step_and_say_theirs(self):
        told = {}
        for wait in (False, True):
            steps, alerts = [], []

            def training(w, model, optimizer, fault):
                step = w.step

                def steps_on(loss):
                    status = step(loss)
                    steps.append((status.step, [each.step for each in status.alerts]))

                w.step = steps_on
                train(w, model, optimizer, fault)

            Run("data", gpu(), training=training, wait=wait, inputs=True, alerts="nan", then=lambda alert: alerts.append(str(alert)))
            told[wait] = alerts
            if wait:
                self.assertEqual(steps[2:5], [(2, []), (3, [3]), (4, [])])
            else:
                self.assertEqual(steps[2:5], [(1, []), (2, []), (3, [3])])
        self.assertEqual(told[False], told[True])

    def test_stop_comes_a_step_later(self):
        for wait, last in ((True, 3), (False, 4)):
            with self.assertRaises(tensorstat.Stopped) as stopped:
                Run("data", gpu(), wait=wait, alerts="nan", then="stop")
            self.assertEqual(stopped.exception.found.alerts[0].step, 3)
            self.assertIn("step 3: ", str(stopped.exception))

    def test_the_last_step_is_told_when_the_watch_closes(self):
        alerts = []
        run = Run("data", gpu(), training=lambda *arguments: train(*arguments, steps=4), alerts="nan", then=alerts.append)
        self.assertEqual((run.first_fault.iteration, run.first_fault.phase), (3, "input"))
        self.assertEqual([each.step for each in alerts], [3])

    def test_a_lost_kernel_costs_its_row_alone(self):
        whole = Run("", gpu())

        def training(w, model, optimizer, fault):
            train(w, model, optimizer, fault, around=lambda step, is_behind: DRIVER.fake_gpu_lose_launch(5) if step == 3 and not is_behind else None)

        run = Run("", gpu(), training=training)
        self.assertEqual(len(run.rows), len(whole.rows) - 1)
        self.assertEqual([row for row in whole.rows if row in run.rows], run.rows)
        self.assertEqual(run.counters["lost_tensor_count"], 1)
        self.assertIsNone(run.first_fault)

    def test_no_tensor_is_kept_until_its_faults_are_known(self):
        kept = []

        def training(w, model, optimizer, fault):
            references = []

            def around(step, is_behind):
                if step == 3 and not is_behind:
                    handle = model.inner.register_forward_hook(lambda module, given, out: references.append(weakref.ref(out)))
                    self.addCleanup(handle.remove)
                if step == 4 and not is_behind:
                    kept.extend(each() is not None for each in references)

            train(w, model, optimizer, fault, around=around)

        Run("", gpu(), training=training)
        self.assertEqual(kept, [False])


if __name__ == "__main__":
    unittest.main()
