"""A training that is watched is the training alone, whatever its forward does: results, state and identities are compared. Each
case gives NaN once, so that a module is run again, or is refused. Skipped without torch (Debian's python3-torch)."""
import collections
import contextvars
import dataclasses
import functools
import gc
import io
import itertools
import logging
import os
import queue
import random
import sqlite3
import tempfile
import threading
import time
import unittest
import weakref

import tensorstat

try:
    import numpy
    import torch
except ImportError:
    torch = None

CASES = {}
STEPS = 4
FAULTY = 2  # the step with NaN in its output


def case(**options):
    def keep(function):
        CASES[function.__name__] = function, options
        return function
    return keep


class Alone:
    """Stands for a watch."""

    def step(self, loss=None):
        pass


class Now:
    step = 0


def spoilt(x):
    """NaN in one step."""
    return torch.log(x - 1e9) if Now.step == FAULTY else x


def train(model, watch, *, batch=None, finish=None):
    """Four steps; the losses' bits and the gradients'."""
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    trace = []
    for Now.step in range(STEPS):
        x = torch.randn(3, 4) if batch is None else batch()
        y = model(x)
        loss = torch.nan_to_num(y).square().sum()
        optimizer.zero_grad()
        loss.backward()
        trace += [loss.item().hex(), *(float(each.grad.nan_to_num().sum()).hex() for each in model.parameters() if each.grad is not None)]
        for each in model.parameters():
            each.grad = None if each.grad is None else each.grad.nan_to_num()
        optimizer.step()
        watch.step(loss)
    return trace


def module(forward, **attributes):
    """A module with a Linear, and with this function as its forward."""
    class Network(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(4, 4)
            for name, value in attributes.items():
                setattr(self, name, value)
    Network.forward = forward
    return Network()


COUNTER = 0
TABLE = collections.defaultdict(int)
DEQUE = collections.deque(maxlen=3)
GENERATOR = None
QUEUE = queue.Queue()
CONTEXT = contextvars.ContextVar("context", default=0)
LOGGER = logging.getLogger("forward")
ITERATOR = None


@functools.lru_cache(maxsize=2)
def remembered(key):
    return [key]


if torch is not None:
    @case()
    def generators(watch):
        global GENERATOR
        GENERATOR = numpy.random.default_rng(5)
        mine = torch.Generator().manual_seed(3)

        def forward(self, x):
            drawn = random.random() + numpy.random.rand() + GENERATOR.random() + torch.rand(1, generator=mine).item()
            return spoilt(self.linear(x)) * (drawn + self.own.random() + torch.rand(1, generator=self.generator).item())
        model = module(forward, own=random.Random(1), generator=torch.Generator().manual_seed(9))
        with watch(model) as w:
            trace = train(model, w)
        return trace, random.random(), numpy.random.rand(), GENERATOR.random(), torch.rand(1, generator=mine).item(), model.own.random()

    @case()
    def seeds(watch):
        def forward(self, x):
            torch.manual_seed(5)
            return spoilt(self.linear(x)) * torch.rand(1)
        model = module(forward)
        with watch(model) as w:
            trace = train(model, w)
        return trace, torch.rand(1).item()

    @case()
    def frozen(watch):
        """gc.get_objects() does not list what gc.freeze() froze."""
        calls = []

        def forward(self, x):
            calls.append(1)
            return spoilt(self.linear(x))
        model = module(forward)
        gc.freeze()
        try:
            with watch(model) as w:
                return train(model, w), calls
        finally:
            gc.unfreeze()

    @case()
    def containers(watch):
        global COUNTER
        COUNTER = 0
        TABLE.clear(), DEQUE.clear()
        calls, seen, count = [], {0}, [0]
        number = 0

        def forward(self, x):
            global COUNTER
            nonlocal number
            COUNTER += 1
            number += 1
            TABLE["calls"] += 1
            TABLE[len(calls)]
            DEQUE.append(COUNTER)
            calls.append(COUNTER)
            seen.add(len(calls))
            count[0] += 1
            self.deep["a"][0] += 1
            self.rows[0][0] += 1
            self.array += 1
            self.counter["x"] += 1
            return spoilt(self.linear(x))
        model = module(forward, deep={"a": [0]}, rows=[[0]], array=numpy.zeros(2), counter=collections.Counter())
        with watch(model) as w:
            trace = train(model, w)
        return trace, COUNTER, number, dict(TABLE), list(DEQUE), calls, seen, count, model.deep, model.rows, list(model.array), model.counter

    @case()
    def containers_alone(watch):
        calls, seen, state, order = [], {0}, {"a": 0}, collections.OrderedDict(a=1, b=2)

        def forward(self, x):
            calls.append([len(calls)])
            calls[0][0] += 1
            seen.add(len(calls))
            state["a"] += 1
            state[f"b{len(calls)}"] = calls
            order.move_to_end("a" if len(calls) % 2 else "b")
            if len(calls) > 3:
                calls.pop(0)
            return spoilt(self.linear(x))
        model = module(forward)
        with watch(model) as w:
            trace = train(model, w)
        return trace, calls, seen, state["a"], list(state), list(order), state["b1"] is calls

    @case()
    def classes(watch):
        class Counting(torch.nn.Module):
            count = 0
            shared = []
            table = {}

            def __init__(self):
                super().__init__()
                self.linear = torch.nn.Linear(4, 4)

            def forward(self, x):
                Counting.count += 1
                type(self).last = Counting.count
                self.__class__.other = 3
                self.shared.append(1)
                self.table[len(self.table)] = 1
                return spoilt(self.linear(x))
        model = Counting()
        with watch(model) as w:
            trace = train(model, w)
        return trace, Counting.count, Counting.last, Counting.shared, Counting.table

    @case()
    def class_counter(watch):
        class Counting(torch.nn.Module):
            count = 0
            shared = []

            def __init__(self):
                super().__init__()
                self.linear = torch.nn.Linear(4, 4)

            def forward(self, x):
                Counting.count += 1
                self.shared.append(Counting.count)
                return spoilt(self.linear(x))
        model = Counting()
        with watch(model) as w:
            trace = train(model, w)
        return trace, Counting.count, Counting.shared

    @case()
    def function_attributes_and_defaults(watch):
        def step(x, seen=[], *, table={}):  # noqa: B006
            seen.append(1)
            table[len(seen)] = 1
            step.calls += 1
            return x
        step.calls = 0
        step.seen = []

        def forward(self, x):
            step.seen.append(2)
            return spoilt(step(self.linear(x)))
        model = module(forward)
        with watch(model) as w:
            trace = train(model, w)
        return trace, step.calls, step.seen, step.__defaults__, step.__kwdefaults__

    @case()
    def files_and_iterators(watch):
        global ITERATOR
        ITERATOR = itertools.count()
        path = os.path.join(tempfile.mkdtemp(), "log")
        written = open(path, "w")
        base = sqlite3.connect(":memory:")
        base.execute("create table t (n)")

        def rows():
            number = 0
            while True:
                number += 1
                yield number
        endless = rows()

        def forward(self, x):
            k = next(self.it) + next(endless) + next(ITERATOR)
            for each in self.taken:
                k += each
                break
            self.text.read(3)
            written.write("a line\n")
            written.flush()
            base.execute("insert into t values (?)", (k,))
            base.commit()
            return spoilt(self.linear(x)) + k
        model = module(forward, it=iter(range(1000)), text=io.StringIO("x" * 100), taken=iter([1] * 50))
        with watch(model) as w:
            trace = train(model, w)
        written.close()
        with open(path) as file:
            return (trace, next(model.it), next(endless), next(ITERATOR), model.text.tell(), len(list(model.taken)), len(file.read()),
                    base.execute("select count(*) from t").fetchone())

    @case()
    def local_file(watch):
        path = os.path.join(tempfile.mkdtemp(), "log")

        def forward(self, x):
            try:
                with open(path, "a") as file:
                    file.write("x")
            except:  # noqa: E722
                pass
            return spoilt(self.linear(x))
        model = module(forward)
        with watch(model) as w:
            trace = train(model, w)
        return trace, os.path.getsize(path)

    @case()
    def finally_and_contexts(watch):
        log = []

        class Entered:
            def __enter__(self):
                log.append("in")

            def __exit__(self, *_):
                log.append("out")
                os.environ["TENSORSTAT_TEST"] = str(len(log))

        def forward(self, x):
            with Entered():
                try:
                    x = self.linear(x)
                finally:
                    random.random()
            return spoilt(x)
        model = module(forward)
        with watch(model) as w:
            trace = train(model, w)
        return trace, log, random.random(), os.environ.pop("TENSORSTAT_TEST")

    @case()
    def queues_and_others(watch):
        while not QUEUE.empty():
            QUEUE.get()
        CONTEXT.set(0)
        remembered.cache_clear()
        heard = []
        handler = logging.Handler()
        handler.emit = lambda record: heard.append(record.getMessage())
        LOGGER.addHandler(handler)

        def forward(self, x):
            QUEUE.put(1)
            self.inbox.put(2)
            CONTEXT.set(CONTEXT.get() + 1)
            remembered(CONTEXT.get() % 2)
            LOGGER.warning("forward")
            self.times.append(time.perf_counter())
            return spoilt(self.linear(x))
        model = module(forward, inbox=queue.Queue(), times=[])
        with watch(model) as w:
            trace = train(model, w)
        LOGGER.removeHandler(handler)
        return trace, QUEUE.qsize(), model.inbox.qsize(), CONTEXT.get(), remembered.cache_info(), heard, len(model.times)

    @case()
    def one_at_a_time(watch):
        """As above, but nothing else refuses first."""
        results = []
        CONTEXT.set(0)
        remembered.cache_clear()
        heard = []
        handler = logging.Handler()
        handler.emit = lambda record: heard.append(record.getMessage())
        LOGGER.addHandler(handler)
        box, lock, event = queue.SimpleQueue(), threading.Lock(), threading.Event()
        forwards = [lambda self, x: (CONTEXT.set(CONTEXT.get() + 1), spoilt(self.linear(x)))[1],
                    lambda self, x: (remembered(len(self.seen)), self.seen.append(1), spoilt(self.linear(x)))[-1],
                    lambda self, x: (LOGGER.warning("x"), spoilt(self.linear(x)))[-1],
                    lambda self, x: (box.put(1), spoilt(self.linear(x)))[-1],
                    lambda self, x: (lock.acquire(False) and event.set(), spoilt(self.linear(x)))[-1],
                    lambda self, x: (setattr(type(self), "mark", getattr(type(self), "mark", 0) + 1), spoilt(self.linear(x)))[-1],
                    lambda self, x: (vars(Now).get("step"), self.__dict__.update(mark=1), spoilt(self.linear(x)))[-1],
                    lambda self, x: (globals().__setitem__("COUNTER", COUNTER + 1), spoilt(self.linear(x)))[-1],
                    lambda self, x: (numpy.add(self.array, 1, out=self.array), spoilt(self.linear(x)))[-1],
                    lambda self, x: (exec("COUNTER += 1", globals()), spoilt(self.linear(x)))[-1],
                    lambda self, x: (list(map(DEQUE.append, [1, 2])), spoilt(self.linear(x)))[-1],
                    lambda self, x: (functools.reduce(lambda a, b: DEQUE.append(b), [1, 2]), spoilt(self.linear(x)))[-1],
                    lambda self, x: (sorted([1, 2], key=lambda each: DEQUE.append(each) or each), spoilt(self.linear(x)))[-1]]
        for forward in forwards:
            model = module(forward, seen=[], array=numpy.zeros(2))
            with watch(model) as w:
                results.append(train(model, w))
            results.append((getattr(type(model), "mark", None), list(model.array), len(model.seen)))
        LOGGER.removeHandler(handler)
        return results, CONTEXT.get(), remembered.cache_info(), heard, box.qsize(), COUNTER, list(DEQUE)

    @case()
    def objects(watch):
        @dataclasses.dataclass
        class Stats:
            count: int = 0
            seen: list = dataclasses.field(default_factory=list)

            def add(self, value):
                self.count += 1
                self.seen.append(value)

        class Guarded:
            def __init__(self):
                object.__setattr__(self, "writes", [])

            def __setattr__(self, name, value):
                self.writes.append(name)
                object.__setattr__(self, name, value)

        class Slotted:
            __slots__ = ("n",)
        outside, guarded, slotted = Stats(), Guarded(), Slotted()
        slotted.n = 0

        def forward(self, x):
            self.stats.add(1)
            self.stats.extra = 3
            outside.add(2)
            guarded.x = 1
            slotted.n += 1
            self.reference().add(4)
            return spoilt(self.linear(x))
        stats = Stats()
        model = module(forward, stats=stats, reference=weakref.ref(stats))
        with watch(model) as w:
            trace = train(model, w)
        return trace, stats, outside, guarded.writes, slotted.n, model.stats is stats

    @case()
    def objects_of_the_module(watch):
        class Stats:
            def __init__(self):
                self.seen, self.n = {}, 0

            def add(self, value):
                self.n += 1
                self.seen[self.n] = value

        def forward(self, x):
            self.stats.add(x)
            self.reference().add(3)
            self.n = self.n + 1
            self.last = x
            return spoilt(self.linear(x))
        stats = Stats()
        model = module(forward, stats=stats, n=0, reference=weakref.ref(stats))
        with watch(model) as w:
            trace = train(model, w)
        return trace, stats.n, list(stats.seen), model.n, model.last.shape, list(model.__dict__)

    @case(inputs=True)
    def arguments_are_the_caller_s(watch):
        class Inner(torch.nn.Module):
            def forward(self, x, other=None):
                self.same = x is other
                return x * x.scale

        def forward(self, x):
            y = self.linear(x)
            y.scale = 3.0
            self.seen.setdefault(id(y), 0)
            self.kept = x
            y = self.inner(y, other=y)
            return spoilt(y)
        model = module(forward, inner=Inner(), seen={})
        x = torch.randn(3, 4, requires_grad=True)
        with watch(model) as w:
            trace = train(model, w, batch=lambda: x)
        return trace, model.kept is x, model.inner.same, x.grad.nan_to_num().sum().item()

    @case(inputs=True)
    def leaves(watch):
        def forward(self, x):
            if x.is_leaf and x.grad is not None:
                x.data = x.data - 0.1 * x.grad.nan_to_num()
                x.grad = None
            self.cache[id(x)] = self.cache.get(id(x), 0) + 1
            return spoilt(self.linear(x))
        model = module(forward, cache={})
        x = torch.randn(3, 4, requires_grad=True)
        with watch(model) as w:
            trace = train(model, w, batch=lambda: x)
        return trace, x.nan_to_num().sum().item(), len(model.cache), x.grad.nan_to_num().sum().item(), len(x._backward_hooks or ())

    @case(inputs=True)
    def retained_and_hooked(watch):
        seen = []

        def forward(self, x):
            y = self.linear(x)
            y.retain_grad()
            y.register_hook(lambda gradient: seen.append(gradient.shape))
            self.linear.register_forward_hook(lambda *_: seen.append("forward")).remove()
            self.kept = y
            return spoilt(torch.tanh(y))
        model = module(forward)
        with watch(model) as w:
            trace = train(model, w)
        return trace, model.kept.grad.nan_to_num().sum().item(), seen

    @case(inputs=True)
    def attention(watch):
        class Block(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.linear, self.attention = torch.nn.Linear(64, 64), torch.nn.MultiheadAttention(64, 4, batch_first=True)

            def forward(self, x):
                q = k = v = self.linear(x)
                return spoilt(self.attention(q, k, value=v)[0])
        model = Block()
        with watch(model) as w:
            return train(model, w, batch=lambda: torch.randn(3, 17, 64))

    @case(inputs=True)
    def in_place(watch):
        total = torch.zeros(1)

        def forward(self, x):
            total.add_(1)
            self.buffer += 1
            self.plain.mul_(2)
            y = self.linear(x)
            y.relu_()
            return spoilt(self.act(y * 2))
        model = module(forward, act=torch.nn.ReLU(inplace=True), plain=torch.ones(1))
        model.register_buffer("buffer", torch.zeros(1))
        with watch(model) as w:
            trace = train(model, w)
        return trace, total.item(), model.buffer.item(), model.plain.item()

    @case()
    def parameters_written(watch):
        def forward(self, x):
            with torch.no_grad():
                self.linear.weight.mul_(0.99)
            self.linear.bias.data = self.linear.bias.data * 0.9
            self.linear.bias.mark = getattr(self.linear.bias, "mark", 0) + 1
            return spoilt(self.linear(x))
        model = module(forward)
        with watch(model) as w:
            trace = train(model, w)
        return trace, model.linear.bias.mark, model.linear.weight.sum().item()

    @case()
    def own_backward(watch):
        calls = []

        class Doubled(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2

            @staticmethod
            def backward(ctx, gradient):
                calls.append(1)
                return gradient * (float("nan") if Now.step == FAULTY else 2)

        def forward(self, x):
            return self.last(Doubled.apply(self.linear(x)))
        model = module(forward, last=torch.nn.Linear(4, 4))
        with watch(model) as w:
            trace = train(model, w)
        return trace, len(calls)

    @case()
    def threads(watch):
        done = []

        def forward(self, x):
            thread = threading.Thread(target=done.append, args=(1,))
            thread.start()
            thread.join()
            return spoilt(self.linear(x))
        model = module(forward)
        with watch(model) as w:
            trace = train(model, w)
        return trace, done, threading.active_count()

    @case()
    def modes(watch):
        from torch.overrides import TorchFunctionMode

        class Counting(TorchFunctionMode):
            count = 0

            def __torch_function__(self, func, types, args=(), kwargs=None):
                if not func.__name__.startswith("__"):
                    Counting.count += 1
                return func(*args, **(kwargs or {}))
        model = torch.nn.Sequential(torch.nn.Linear(4, 4), module(lambda self, x: spoilt(self.linear(x))))
        results = []
        with watch(model) as w:
            for Now.step in range(STEPS):
                with Counting():
                    before = Counting.count
                    y = model(torch.randn(3, 4))
                    results.append(y.nan_to_num().sum().item())
                results.append(Counting.count > before)
                w.step()
        return results


@unittest.skipIf(torch is None, "torch is not installed")
class Harmless(unittest.TestCase):
    def run_of(self, name, is_watched, folder):
        function, options = CASES[name]
        torch.manual_seed(0)
        random.seed(0)
        numpy.random.seed(0)
        number = itertools.count()

        class Nobody(Alone):
            def __enter__(self):
                return self

            def __exit__(self, *_):
                pass

        def watch(model):
            return tensorstat.watch(model, path=f"{folder}/{next(number)}", **options) if is_watched else Nobody()
        globals()["COUNTER"] = 0
        DEQUE.clear()
        return repr(function(watch))


def _test(name):
    def test(self):
        with tempfile.TemporaryDirectory() as folder, self.assertNoLogsOf("a module is not watched here"):
            alone = self.run_of(name, False, folder)
            self.assertEqual(self.run_of(name, True, folder), alone)
    return test


class _Listening(logging.Handler):
    def __init__(self):
        super().__init__()
        self.heard = []

    def emit(self, record):
        self.heard.append(record.getMessage())

    def __enter__(self):
        logging.getLogger("tensorstat").addHandler(self)
        return self

    def __exit__(self, *_):
        logging.getLogger("tensorstat").removeHandler(self)


class _NoLogs(_Listening):
    def __init__(self, test, words):
        super().__init__()
        self._test, self._words = test, words

    def __exit__(self, *exception):
        super().__exit__(*exception)
        self._test.assertFalse([each for each in self.heard if each.startswith(self._words)])


Harmless.assertNoLogsOf = lambda self, words: _NoLogs(self, words)
for _name in CASES:
    setattr(Harmless, f"test_{_name}", _test(_name))


@unittest.skipIf(torch is None, "torch is not installed")
class Process(unittest.TestCase):
    def test_a_working_directory_that_is_gone(self):
        before = os.getcwd()
        with tempfile.TemporaryDirectory() as folder:
            gone = tempfile.mkdtemp()
            os.chdir(gone)
            os.rmdir(gone)
            try:
                model = torch.nn.Linear(2, 1)
                with tensorstat.watch(model, path=f"{folder}/run") as watch:
                    watch.step(model(torch.full((1, 2), float("nan"))).sum())
                self.assertIsNotNone(watch.first_fault)
            finally:
                os.chdir(before)

    def test_a_handler_that_raises(self):
        class Raises(logging.Handler):
            def emit(self, record):
                heard.append(record.getMessage())
                raise RuntimeError("the handler's own")

        heard, handler = [], Raises()
        logging.getLogger("tensorstat").addHandler(handler)
        try:
            model = torch.nn.Linear(2, 1)
            with tempfile.TemporaryDirectory() as folder, tensorstat.watch(model, path=folder) as watch:
                watch.step(model(torch.full((1, 2), float("nan"))).sum())
        finally:
            logging.getLogger("tensorstat").removeHandler(handler)
        self.assertTrue(heard)


if __name__ == "__main__":
    unittest.main()
