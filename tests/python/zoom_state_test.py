"""A call is run again below contexts that set a state of torch, such as checkpoint(): the operation and its line are found, and the
state is what it is in a training alone, also where the run ends early. Skipped without torch (Debian's python3-torch)."""
import contextlib
import functools
import glob
import json
import sys
import tempfile
import threading
import unittest
from unittest import mock

import tensorstat

try:
    import torch
except ImportError:
    print("torch is not installed: nothing is tested here", file=sys.stderr)
    sys.exit(0)

from torch import nn
from torch.utils import checkpoint as checkpoints
from torch.utils.checkpoint import checkpoint

if not hasattr(torch, "get_autocast_dtype"):  # below 2.4: hooks of saved tensors and modes do not go together there
    print("this torch is too old: nothing is tested here", file=sys.stderr)
    sys.exit(0)

CASES = {}


def lines_of(path):
    with open(path) as file:
        return file.read().splitlines()


HERE = lines_of(__file__)


def case(function):
    CASES[function.__name__] = function
    return function


class Root(nn.Module):
    def forward(self, x):
        return x + 0 * torch.sqrt(x - x)  # backward of the root


class Net(nn.Module):
    """Its middle runs as `how` calls it."""

    def __init__(self, how):
        super().__init__()
        self.first, self.drop, self.root, self.last, self.how = nn.Linear(8, 8), nn.Dropout(0.5), Root(), nn.Linear(8, 1), how

    def middle(self, x):
        return self.root(self.drop(torch.relu(x)))

    def forward(self, x):
        return self.last(self.how(self.middle, self.first(x)))


@case
def checkpointed(run, x):
    return checkpoint(run, x, use_reentrant=False)


@case
def without_random_state(run, x):
    return checkpoint(run, x, use_reentrant=False, preserve_rng_state=False)


@case
def nested(run, x):
    return checkpoint(lambda y: checkpoint(run, y, use_reentrant=False), x, use_reentrant=False)


@case
def without_early_stop(run, x):
    with checkpoints.set_checkpoint_early_stop(False):
        return checkpoint(run, x, use_reentrant=False)


@case
def with_contexts(run, x):
    def contexts():
        return torch.autocast("cpu", dtype=torch.bfloat16), torch.autocast("cpu", dtype=torch.bfloat16)
    return checkpoint(run, x, use_reentrant=False, context_fn=contexts).float()


def policy(context, operation, *arguments, **keywords):
    kept = operation is torch.ops.aten.relu.default
    return checkpoints.CheckpointPolicy.MUST_SAVE if kept else checkpoints.CheckpointPolicy.PREFER_RECOMPUTE


@case
def selective(run, x):
    contexts = functools.partial(checkpoints.create_selective_checkpoint_contexts, policy)
    return checkpoint(run, x, use_reentrant=False, context_fn=contexts)


@case
def selective_by_list(run, x):
    contexts = functools.partial(checkpoints.create_selective_checkpoint_contexts, [torch.ops.aten.relu.default])
    return checkpoint(run, x, use_reentrant=False, context_fn=contexts)


@case
def hooks_of_saved_tensors(run, x):
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t):
        return run(x)


@case
def no_hooks_of_saved_tensors(run, x):
    with torch.autograd.graph.disable_saved_tensors_hooks("none here"):
        return run(x)


@case
def a_forked_generator(run, x):
    with torch.random.fork_rng(devices=[]):
        return run(x)


@case
def attention_s_kernel(run, x):
    with nn.attention.sdpa_kernel(nn.attention.SDPBackend.MATH):
        return run(x)


@case
def a_range_of_the_profiler(run, x):
    with torch.profiler.record_function("middle"):
        return run(x)


@case
def a_default_dtype(run, x):
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    y = run(x)
    torch.set_default_dtype(before)
    return y


@torch.compiler.disable
def uncompiled(run, x):
    return run(x)


CASES["not_to_be_compiled"] = uncompiled
# A second run costs a second where torch's compiler is loaded, so several are tried in one, each inside of the one before.
TOGETHER = [["checkpointed"], ["without_random_state", "nested", "with_contexts", "without_early_stop"],
            ["selective", "selective_by_list", "selective"],
            ["a_forked_generator", "attention_s_kernel", "hooks_of_saved_tensors", "a_range_of_the_profiler", "a_default_dtype",
             "not_to_be_compiled"],
            ["no_hooks_of_saved_tensors"]]


def nest(names, run):
    for name in reversed(names):
        run = functools.partial(CASES[name], run)
    return run


def state():
    """State that a run may set, except the random numbers that are drawn next."""
    modes = torch.utils._python_dispatch
    return (torch.get_default_dtype(), torch.is_autocast_cache_enabled(), torch.get_autocast_dtype("cpu"), torch.is_grad_enabled(),
            torch._C._get_flash_sdp_enabled(), torch._C._get_math_sdp_enabled(),
            torch._C._autograd._saved_tensors_hooks_get_disabled_error_message(), modes._get_current_dispatch_mode_stack(),
            modes._is_in_torch_dispatch_mode)


def train(model, watch=None, steps=3):
    """The bits of each loss, the state of torch behind each step, and the number that is drawn last."""
    trace = []
    for _ in range(steps):
        loss = model(torch.ones(2, 8)).sum()
        loss.backward()
        trace += [loss.item().hex(), state()]
        if watch is not None:
            watch.step(loss)
    return trace, torch.rand(1).item()


class States(unittest.TestCase):
    maxDiff = None

    def both(self, how):
        """A training alone, and the same one watched: they are the same. What was said of each second run."""
        ways = []
        for is_watched in (False, True):
            torch.manual_seed(3)
            model = Net(how)
            with self.put_back(), tempfile.TemporaryDirectory() as folder:
                with tensorstat.watch(model, path=folder) if is_watched else contextlib.nullcontext() as watch:
                    ways.append(train(model, watch))
                lines = [json.loads(line) for path in glob.glob(f"{folder}/rank_0/*/watch.ndjson") for line in lines_of(path)]
        self.assertEqual(*ways)
        return [line for line in lines if line["kind"] == "zoom" and line["op_name"] != "loss"]

    def find_spec(self, name, path, target=None):
        """As a finder of sys.meta_path, such as setuptools's: torch looks for modules in a forward."""
        return locals() and None

    @contextlib.contextmanager
    def put_back(self):
        dtype, is_cached = torch.get_autocast_dtype("cpu"), torch.is_autocast_cache_enabled()
        try:
            yield
        finally:
            torch.set_autocast_dtype("cpu", dtype)
            torch.set_autocast_cache_enabled(is_cached)

    def test_the_line_of_a_backward(self):
        (line,) = (number for number, each in enumerate(HERE, 1) if each.endswith("  # backward of the root"))
        self.assertEqual(set(sum(TOGETHER, [])), set(CASES))
        for names in TOGETHER:
            with self.subTest(names=names), mock.patch.object(sys, "meta_path", [self, *sys.meta_path]):
                (zoom, *_) = self.both(lambda run, x, names=names: nest(names, run)(x))
                self.assertEqual((zoom["result"], zoom.get("operation"), zoom.get("line")), ("found", "SqrtBackward0", line), zoom)

    def test_a_state_that_a_forward_leaves_behind(self):
        """Each call sets what the last one did not: a call more would be seen."""
        def toggled(run, x):
            torch.set_autocast_dtype("cpu", torch.float16 if torch.get_autocast_dtype("cpu") is torch.bfloat16 else torch.bfloat16)
            torch.set_autocast_cache_enabled(not torch.is_autocast_cache_enabled())
            return run(x)
        (zoom, *_) = self.both(toggled)
        self.assertEqual(zoom["result"], "found", zoom)

    def test_numbers_that_are_drawn(self):
        def drawn(run, x):
            was = torch.default_generator.get_state()
            x = x + 0 * torch.rand(x.shape)
            torch.default_generator.set_state(was)
            return checkpoint(run, x, use_reentrant=False)
        (zoom, *_) = self.both(drawn)
        self.assertEqual(zoom["result"], "found", zoom)

    def test_a_generator_of_the_caller_s(self):
        """Its state is not known to be put back: nothing is run twice."""
        mine = torch.Generator().manual_seed(3)

        def drawn(run, x):
            mine.set_state(mine.get_state())
            return run(x + 0 * torch.rand(x.shape, generator=mine))
        (zoom, *_) = self.both(drawn)
        self.assertEqual(zoom["result"], "refused", zoom)

    def test_another_thread(self):
        """It may see a state of the process, and not that of a thread."""
        end = threading.Event()
        other = threading.Thread(target=end.wait)
        other.start()
        try:
            self.assertEqual(self.both(CASES["checkpointed"])[0]["result"], "found")
            self.assertEqual(self.both(CASES["attention_s_kernel"])[0]["result"], "refused")
        finally:
            end.set()
            other.join()

    def test_a_run_that_ends_inside(self):
        """Until torch 2.6 an exception leaves the modes of a selective checkpoint only when nothing holds its frames any more."""
        def stops(*names):
            def ends(run, x):
                def inner(y):
                    open("/dev/null").close()  # the run ends here
                    return run(y)
                return nest(names, inner)(x)
            return ends
        for names in (["selective", "selective"], ["a_default_dtype", "no_hooks_of_saved_tensors", "attention_s_kernel"]):
            with self.subTest(names=names):
                (zoom, *_) = self.both(stops(*names))
                self.assertEqual(zoom["result"], "refused", zoom)

    def test_a_selective_checkpoint_counts_none_of_the_watch_s_operations(self):
        """It keeps the results of all operations, and hands them out by their number in the recomputation."""
        def all_of_them(context, operation, *arguments, **keywords):
            return checkpoints.CheckpointPolicy.MUST_SAVE

        contexts = functools.partial(checkpoints.create_selective_checkpoint_contexts, all_of_them)

        class Complex(nn.Module):
            def forward(self, x):
                return torch.view_as_complex(x.reshape(-1, 2))

        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.weight, self.parts = nn.Parameter(torch.arange(8.0)), Complex()

            def middle(self, x):
                return torch.view_as_real(self.parts(x * self.weight) * 2).sin().sum()

            def loss(self, y):
                return torch.complex(y, y).abs().square()

            def forward(self, x):
                return checkpoint(self.middle, x, use_reentrant=False, context_fn=contexts)

        def train(watch):
            model = Model()
            with watch(model) as w:
                loss = model(torch.ones(8))
                loss = loss + checkpoint(model.loss, loss, use_reentrant=False, context_fn=contexts)
                loss.backward()
                if w is not None:
                    w.step()
            return model.weight.grad.tolist(), loss.item()

        alone = train(lambda _: contextlib.nullcontext())
        for options in ({}, {"inputs": True}, {"level": "op"}, {"config": True}):
            with self.subTest(options=options), tempfile.TemporaryDirectory() as path:
                if options.pop("config", False):
                    options["config"] = json.dumps({"task": "statistics", "level": "L0", "rank": [], "step": [], "dump_path": path,
                                                    "statistics": {"summary_mode": "statistics"}})
                self.assertEqual(train(lambda model: tensorstat.watch(model, path=path, **options)), alone)

    def test_a_mode_that_is_entered_by_hand(self):
        class Plain(torch.utils._python_dispatch.TorchDispatchMode):
            def __torch_dispatch__(self, function, types, arguments=(), keywords=None):
                return function(*arguments, **(keywords or {}))

        def entered(run, x):
            mode = Plain()
            mode.__enter__()
            open("/dev/null").close()
            y = run(x)
            mode.__exit__(None, None, None)
            return y
        (zoom, *_) = self.both(entered)
        self.assertEqual(zoom["result"], "refused", zoom)


if __name__ == "__main__":
    unittest.main()
