"""A forward that writes to what it has borrowed, and gives it back or does not: attributes of a configuration that a finally
restores, context variables, containers that a library's function writes to. A training that is watched is the training alone,
and what can be put back is run again all the same. Skipped without torch (Debian's python3-torch)."""
import abc
import collections
import contextlib
import contextvars
import functools
import glob
import inspect
import itertools
import json
import operator
import random
import sys
import tempfile
import types
import unittest
import weakref

import tensorstat

try:
    import torch
except ImportError:
    torch = None

STEPS, FAULTY = 4, 2


class Now:
    step = 0


class Configuration:
    """Names of attributes have other names, as in transformers."""
    names = {"causal": "is_causal"}

    def __init__(self, **values):
        for name, value in values.items():
            setattr(self, name, value)

    def __setattr__(self, name, value):
        if name in super().__getattribute__("names"):
            name = super().__getattribute__("names")[name]
        super().__setattr__(name, value)

    def __getattribute__(self, name):
        if name != "names" and name in super().__getattribute__("names"):
            name = super().__getattribute__("names")[name]
        return super().__getattribute__(name)


class Plain:
    count = 0

    def __init__(self):
        self.rows, self.last = [], None

    def add(self, value):
        self.count += 1
        self.rows.append(value)

    @property
    def newest(self):
        return self.last

    @newest.setter
    def newest(self, value):
        self.last = value
        self.add(value)


SHARED, COUNTS, LIST, TABLE, WEAK = Plain(), collections.Counter(), [0], {}, weakref.WeakKeyDictionary()
USER = collections.UserDict()
CONTEXT, HELD = contextvars.ContextVar("context", default=0), contextvars.ContextVar("held")


class Key:
    pass


KEY = Key()


class Kind(abc.ABC):
    pass


@functools.singledispatch
def shown(value):
    return 1.0


def defaults(x, seen=[]):  # noqa: B006
    return x


def spoilt(x):
    """NaN in one step."""
    return torch.log(x - 1e9) if Now.step == FAULTY else x


def borrows(forward):
    """As transformers.utils.generic.merge_with_config_defaults."""
    @functools.wraps(forward)
    def wrapper(self, *arguments, **keywords):
        is_there = hasattr(self.config, "is_causal")
        if is_there:
            before = self.config.is_causal
        self.config.is_causal = False
        token = CONTEXT.set({"collected": []})
        try:
            return forward(self, *arguments, **keywords)
        finally:
            CONTEXT.reset(token)
            if is_there:
                self.config.is_causal = before
            else:
                del self.config.is_causal
    return wrapper


def fails(x):
    """Refused: the state of an iterator cannot be put back."""
    next(ITERATOR)
    return x


ITERATOR = itertools.count()


def goes_on():
    random.random()
    LIST.append(next(ITERATOR))


def of_global(self, x):
    SHARED.count += 1
    SHARED.newest = len(SHARED.rows)
    SHARED.add(x.shape)
    return spoilt(self.linear(x))


def of_alias(self, x):
    configuration, made = self.config, Plain()
    configuration.scale = 3
    made.scale = configuration.scale
    self.linear.calls = made.scale
    return spoilt(self.linear(x))


def of_either(self, x):
    (self if x is None else SHARED).mark = len(vars(SHARED))
    return spoilt(self.linear(x))


def of_function(self, x):
    shown.calls = getattr(shown, "calls", 0) + 1
    return spoilt(self.linear(x))


def of_setattr(self, x):
    setattr(self.config, f"scale{Now.step}", 3)
    setattr(SHARED, "last", len(SHARED.rows) + Now.step)
    delattr(self.config, f"scale{Now.step}")
    made = Plain()
    setattr(made, "last", 3)
    return spoilt(self.linear(x))


def of_setattr_in_c(self, x):
    list(map(setattr, [SHARED], ["mark"], [len(vars(SHARED))]))
    return spoilt(self.linear(x))


def of_setattr_of_call(self, x):
    setattr((lambda: KEY)(), "mark", getattr(KEY, "mark", 0) + 1)
    return spoilt(self.linear(x))


def of_deleted(self, x):
    SHARED.mark = 1
    del SHARED.mark
    SHARED.other = 2
    return spoilt(self.linear(x))


def of_swapped(self, x):
    """The path leads elsewhere when it is written."""
    self.config = SHARED
    self.config.mark = getattr(SHARED, "mark", 0) + 1
    return spoilt(self.linear(x))


def of_finally(self, x):
    """Cases behind the end of a refused run."""
    try:
        return fails(spoilt(self.linear(x)))
    finally:
        LIST.append(len(LIST))
        SHARED.add(1)
        for _ in range(3):
            TABLE[len(TABLE)] = 1
        goes_on()


def of_nested_finally(self, x):
    try:
        try:
            return fails(spoilt(self.linear(x)))
        finally:
            goes_on()
    finally:
        self.config.mark = 5
        CONTEXT.set(CONTEXT.get(0) or 7)
        goes_on()


def of_finally_alone(self, x):
    try:
        return spoilt(self.linear(x))
    finally:
        SHARED.count += 1
        self.calls += 1
        LIST.append(self.calls)


def of_handler(self, x):
    try:
        return fails(spoilt(self.linear(x)))
    except:  # noqa: E722
        goes_on()
        return x


@contextlib.contextmanager
def mark(owner):
    before = owner.mark
    owner.mark = before + 1
    try:
        yield
    finally:
        owner.mark = before


def of_manager(self, x):
    with mark(self.config), mark(SHARED):
        return fails(spoilt(self.linear(x))) if self.config.mark == 0 else spoilt(self.linear(x))


def of_manager_refused(self, x):
    with mark(self.config), mark(SHARED):
        return fails(spoilt(self.linear(x)))


def of_context(self, x):
    CONTEXT.set((CONTEXT.get() or 0) + 1)
    HELD.get().append(1)
    HELD.get()["x" if False else 0] = CONTEXT.get()
    return spoilt(self.linear(x))


def of_libraries(self, x):
    COUNTS.update(["a"])
    WEAK.setdefault(KEY, []).append(1)
    USER.update(a=len(LIST))
    USER.setdefault("list", []).append(1)
    return spoilt(self.linear(x))


def of_weak(self, x):
    WEAK[KEY] = x.shape
    self.weak = weakref.WeakValueDictionary()
    self.weak["x"] = x
    return spoilt(self.linear(x))


def of_registers(self, x):
    if Now.step == FAULTY:
        shown.register(int, float)
    return spoilt(self.linear(x)) * shown(1)


def of_abc(self, x):
    if Now.step == FAULTY and not isinstance(3, Kind):
        Kind.register(int)
    return spoilt(self.linear(x))


def of_finalizers(self, x):
    weakref.finalize(KEY, LIST.append, 3)
    return spoilt(self.linear(x))


def of_operators(self, x):
    operator.setitem(TABLE, len(TABLE), 1)
    operator.iadd(LIST, [len(LIST)])
    return spoilt(self.linear(x))


def of_callers_in_c(self, x):
    list(map(LIST.append, [1, 2]))
    list(map(operator.methodcaller("append", 3), [LIST]))
    TABLE.__setitem__(len(TABLE), 2)
    getattr(TABLE, "__setitem__")(len(TABLE), 3)
    list(itertools.starmap(TABLE.setdefault, [(len(TABLE), 1)]))
    return spoilt(self.linear(x))


def of_inspect(self, x):
    inspect.signature(defaults).parameters["seen"].default.append(1)
    inspect.signature(defaults).parameters["seen"].default[0] = len(LIST)
    return spoilt(self.linear(x))


def of_frames(self, x):
    inspect.currentframe().f_globals["LIST"][0] += 1
    return spoilt(self.linear(x))


def of_closure(self, x):
    inspect.getclosurevars(of_global).globals["LIST"] if False else None
    inspect.getattr_static(sys.modules[__name__], "LIST")[0] += 1
    return spoilt(self.linear(x))


# Calls that are run again, and calls that are refused.
FOUND = [of_global, of_alias, of_function, of_setattr, of_deleted, of_swapped, of_finally_alone, of_manager, of_libraries]
REFUSED = {of_finally: "it uses ITERATOR", of_nested_finally: "it uses ITERATOR", of_handler: "takes everything",
           of_manager_refused: "it uses ITERATOR", of_registers: "register", of_setattr_in_c: "calls setattr", of_setattr_of_call: "calls setattr",
           of_frames: "f_globals"}
OTHERS = [of_either, of_finalizers, of_context, of_weak, of_abc, of_operators, of_callers_in_c, of_inspect, of_closure]


def state():
    """All that a forward may have written to."""
    return [vars(SHARED), COUNTS, LIST, TABLE, dict(WEAK), USER.data, CONTEXT.get(), HELD.get(), getattr(shown, "calls", 0), getattr(KEY, "mark", 0),
            sorted(map(str, shown.registry)), isinstance(3, Kind), defaults.__defaults__, random.random(), list(map(str, vars(SHARED))),
            repr(ITERATOR), sum(1 for each in weakref.finalize._registry.values() if getattr(each.func, "__self__", None) is LIST)]


@unittest.skipIf(torch is None, "torch is not installed")
class Borrows(unittest.TestCase):
    def model_of(self, forward, config):
        class Network(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.linear = torch.nn.Linear(4, 4)
                self.config, self.calls, self.list = config, 0, []
        Network.forward = forward
        return Network()

    def train(self, forward, folder):
        """The losses, and all state in words; and what the watch says of its runs."""
        torch.manual_seed(0)
        random.seed(0)
        global ITERATOR
        ITERATOR = itertools.count()
        SHARED.__dict__.clear()
        SHARED.__init__()
        SHARED.mark = 0
        for each in (COUNTS, TABLE, USER, WEAK):
            each.clear()
        LIST[:], defaults.__defaults__[0][:] = [0], [0]
        shown.__dict__.pop("calls", None)
        KEY.mark = 0
        for each in list(weakref.finalize._registry):
            if each.peek()[1] == LIST.append:
                each.detach()
        context = contextvars.copy_context()
        return context.run(self.steps, forward, folder)

    def steps(self, forward, folder):
        HELD.set([0])
        config = Configuration(scale=2.0, mark=0)
        model, losses = self.model_of(forward, config), []
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
        watch = tensorstat.watch(model, path=folder) if folder else contextlib.nullcontext(types.SimpleNamespace(step=lambda loss: None))
        with watch as w:
            for Now.step in range(STEPS):
                loss = torch.nan_to_num(model(torch.randn(3, 4))).square().sum()
                optimizer.zero_grad()
                loss.backward()
                for each in model.parameters():
                    each.grad = each.grad.nan_to_num()
                optimizer.step()
                w.step(loss)
                losses.append(loss.item().hex())
        own = {name: value for name, value in vars(model).items() if name in ("calls", "list")}
        text = repr((losses, state(), own, vars(config), list(vars(config)), vars(model.linear).get("calls"), model.config is config))
        operation = ""
        if folder:
            with open(*glob.glob(f"{folder}/**/watch.ndjson", recursive=True)) as journal:
                zooms = [each for line in journal if "result" in (each := json.loads(line))]
            operation = zooms[0].get("operation") or zooms[0]["why"]
        return text, operation

    def check(self, forward, expected):
        with tempfile.TemporaryDirectory() as folder:
            alone, _ = self.train(forward, None)
            watched, operation = self.train(forward, f"{folder}/run")
        self.assertEqual(watched, alone, forward.__name__)
        if expected is not None:
            self.assertIn(expected, operation, forward.__name__)

    def test_what_is_put_back_is_run_again(self):
        for forward in (borrows(of_alias), borrows(lambda self, x: spoilt(self.linear(x))), *FOUND):
            with self.subTest(forward.__name__):
                self.check(forward, "log")

    def test_what_cannot_be_put_back_is_refused(self):
        for forward in (borrows(of_finally), *REFUSED):
            with self.subTest(forward.__name__):
                self.check(forward, REFUSED.get(forward, "it uses ITERATOR"))

    def test_nothing_is_written(self):
        for forward in OTHERS:
            with self.subTest(forward.__name__):
                self.check(forward, None)

    def test_beside_a_debugger(self):
        seen = []

        def trace(frame, event, _):
            seen.append(event)
        for forward in (borrows(of_alias), of_finally, of_global):
            with self.subTest(forward.__name__):
                sys.settrace(trace)
                try:
                    self.check(forward, None)
                    self.assertIs(sys.gettrace(), trace)
                finally:
                    sys.settrace(None)
        self.assertTrue(seen)


if __name__ == "__main__":
    unittest.main()
