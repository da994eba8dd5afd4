"""A call of a module is run again, and nothing of the caller's is written: it runs on copies (_shadow), parameters share their
elements and have no hooks, torch's own random state is put back. A function (_guard) or an operation that would write to
what the run has not made itself ends it before it writes.
"""
import contextlib
import contextvars
import gc
import sys
import traceback
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ._calls import Call
from ._compiled import STANCE
from ._modes import around, foreign_mode, leave_modes, modes, sets_attribute, written_by
from ._one_rank import refusal_of_operation
from ._shadow import Shadow, Unknown
from ._tensors import elements_of, is_freed, local_of, tensors_in
from ._verdict import INF, NAN


class Stop(BaseException):
    """Ends a run; no `except Exception` of the caller's takes it for his own. `sent`: the tensors of the collective that it ends before."""

    def __init__(self, why: str, sent: Sequence[Any] = ()) -> None:
        super().__init__(why)
        self.sent = sent
        self.maker: Any = None  # of a fault in them


class Run:
    """A call that is to be run again."""
    __slots__ = ("_module", "arguments", "keywords", "versions", "buffers", "random_state", "kept_parameters", "parameters",
                 "was_given_finite", "may_write_arguments", "is_as_before")

    def __init__(self, call: Call, keywords: dict[str, Any]) -> None:
        module, torch = call.module, sys.modules["torch"]
        while isinstance(module, torch.nn.parallel.DistributedDataParallel):  # its own code waits for a backward
            module = module.module
        self._module = weakref.ref(module)
        self.arguments, self.keywords = (call.arguments, keywords) if call.before is None else call.before
        self.is_as_before = call.before is not None
        self.versions, self.buffers, self.random_state = call.versions, call.buffers, call.random_state
        self.was_given_finite = call.is_looked_at and not call.took
        self.may_write_arguments = True  # into containers; False: run again, it did not
        self.kept_parameters: list[Any] = []
        self.parameters: list[int] | None = None  # their versions; None: nothing can have written them since

    def keep(self, parameters: list[Any]) -> None:
        """For a run that comes later: what may have been written by then."""
        self.kept_parameters, self.parameters = parameters, _versions(parameters)

    @property
    def module(self) -> Any:
        return self._module()

    def has_written(self, buffer: str) -> bool:
        """Whether the call itself wrote this buffer of its module: then the old values are lost."""
        return self.buffers.get(buffer) != versions_of_buffers(self.module).get(buffer)


def kinds_in(tensors: Any) -> int:
    torch = sys.modules["torch"]
    kinds = 0
    for each in tensors:
        if each is None or not (each.is_floating_point() or each.is_complex()):
            continue
        each = elements_of(local_of(each).detach())
        if is_freed(each):
            continue
        kinds |= NAN * bool(torch.isnan(each).any()) | INF * bool(torch.isinf(each).any())
    return kinds


def versions_of(arguments: Any) -> list[int]:
    return _versions(tensors_in(arguments))


def _versions(tensors: list[Any]) -> list[int]:
    try:
        return [each._version for each in tensors]
    except RuntimeError:  # one of inference mode has none
        return [version_of(each) for each in tensors]


def versions_of_buffers(module: Any) -> dict[str, tuple[int, int]]:
    """The buffers of the module itself, without modules inside."""
    return {name: (id(each), version_of(each)) for name, each in (module.__dict__.get("_buffers") or {}).items() if each is not None}


def version_of(tensor: Any) -> int:
    try:
        return int(tensor._version)
    except RuntimeError:  # one of inference mode has none
        return -1


def refusal_of(run: Run) -> str:
    """Why the call cannot be run again; "" where it can."""
    torch = sys.modules["torch"]
    if versions_of(run.arguments) != run.versions:
        return "its arguments were written in place, and what they were is gone"
    if any(map(is_freed, tensors_in((run.arguments, run.keywords)))):
        return "the memory of its arguments was freed, and what they were is gone"
    if run.parameters is not None and run.parameters != _versions(run.kept_parameters):
        return "parameters were written since, and what they were is gone"
    if mode := foreign_mode():
        return f"{mode} would see its operations twice"
    if sys.getprofile() is not None or _is_monitored():
        return "a profiler or debugger would see it twice"
    if gc.get_freeze_count():
        return "gc.freeze() hides objects that were there before, and what a call writes to could not be told from its own"
    if torch.cuda.is_initialized():
        if torch.cuda.is_current_stream_capturing():
            return "a CUDA graph is captured"
        free, whole = torch.cuda.mem_get_info()
        if free < 0.2 * whole:
            return "too little memory of the device is free"
    return ""


def _is_monitored() -> bool:
    """Whether a profiler or debugger uses sys.monitoring, as cProfile does from Python 3.12 on, and pdb from 3.14 on."""
    monitoring = getattr(sys, "monitoring", None)
    return monitoring is not None and any(monitoring.get_tool(each) for each in (monitoring.DEBUGGER_ID, monitoring.PROFILER_ID))


class World:
    """The environment of a second run: copies of the module, its arguments, and all objects that they hold."""

    def __init__(self, run: Run) -> None:
        from ._guard import Guard
        self.guard = Guard()  # before the copies
        self.shadow = Shadow()
        try:
            self.module = self.shadow.of(run.module)
            self.arguments, self.keywords = self.shadow.of(run.arguments), self.shadow.of(run.keywords)
        except Unknown as unknown:
            raise Stop(str(unknown)) from None
        self._own = {storage_of(each) for each in self.shadow.clones}  # storages that the run may write to
        self._context = contextvars.copy_context()  # values that the run sets in it are dropped with it

    def call(self) -> Any:
        return self.run(self.module, *self.arguments, **self.keywords)

    def run(self, function: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
        before = modes()
        try:
            return self._context.run(function, *arguments, **keywords)
        except BaseException as fault:
            references = modes()  # torch 2.6 crashes when it takes off one that nothing else holds
            # Generators that wait in its frames, such as checkpoint()'s, leave the modes that they have entered now, the last one
            # first: torch takes off the last mode, whosever it is.
            for frame, _ in reversed(list(traceback.walk_tb(fault.__traceback__))):
                with contextlib.suppress(RuntimeError):  # one that runs still
                    frame.clear()
            leave_modes(before)
            del references
            raise

    def storages_given(self) -> list[int]:
        """The storages of all tensors in the arguments, in order."""
        return [storage_of(each) for each in tensors_in((self.arguments, self.keywords))]

    def stop_write(self, schema: Any, args: Any, kwargs: Any) -> list[Any]:
        """The storages that an operation writes to. If one is not the run's own, the run ends."""
        self.guard.check()
        if words := refusal_of_operation(schema, args, kwargs):
            raise Stop(words, tensors_in((args, kwargs)))
        written = written_by(schema, args, kwargs)
        if any(storage_of(each) not in self._own for each in written):
            raise Stop(f"{schema.name.split('::')[-1].strip('_')} would write to a tensor that was there before")
        return written

    def made(self, results: list[Any], given: list[Any]) -> list[int]:
        """New storages of an operation's results."""
        sources = {storage_of(each) for each in given}
        new = [place for each in results if (place := storage_of(each)) not in sources]
        self._own.update(new)
        return new

    def named(self, run: Callable[[Any, Any, dict[str, Any]], Any]) -> Any:
        """run() around each of torch's functions. One that sets an attribute of a tensor from outside ends the run."""
        def checked(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
            if sets_attribute(func) and not self.guard.may_set(tensors_in(args[:1])):
                raise Stop("it would set an attribute of a tensor that was there before")
            return run(func, args, kwargs)
        return around(checked)


@contextlib.contextmanager
def as_it_was(run: Run, hooks: Any) -> Iterator[World]:
    """Copies, the random state of the call, and a guard. Torch's own state is put back behind it. `hooks` are called for the copies of modules, too."""
    torch = sys.modules["torch"]
    with torch.no_grad():
        world = World(run)
    try:
        hooks.stand_in(world.shadow.modules)
        if run.random_state is not None:
            torch.default_generator.set_state(run.random_state[0])
            if run.random_state[1] is not None:
                torch.cuda.set_rng_state(run.random_state[1])
        with STANCE.eagerly() as is_eager, world.guard.of(world.shadow):
            if not is_eager:
                raise Stop("it would run compiled")
            yield world
        world.guard.check()
    finally:
        hooks.stand_in([])
        world.guard.torch_state.put_back()


def storage_of(tensor: Any) -> int:
    """The address of its storage; views share it."""
    try:
        storage = tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else tensor.storage()
        return int(storage.data_ptr())
    except Exception:  # sparse, or of a kind that has none
        return id(tensor)


def values_of(arguments: Any) -> str:
    """Values of an operation's arguments, in a line."""
    torch = sys.modules["torch"]
    words = []
    for each in list(arguments)[:5]:  # as many as batch_norm has tensors
        if isinstance(each, torch.Tensor):
            values = each.detach()
            shape = f"{str(values.dtype).removeprefix('torch.')}{list(values.shape)}"
            if values.numel() == 0 or values.is_complex() or values.layout is not torch.strided:
                words.append(shape)
                continue
            values = values.double() if values.dtype is not torch.bool else values.int()
            low, high = values.min().item(), values.max().item()
            words.append(f"{shape} {low:.6g} to {high:.6g}" if values.numel() > 1 else f"{shape} {low:.6g}")
        elif isinstance(each, (int, float)) and not isinstance(each, bool):
            words.append(f"{each:.6g}")
    return ", ".join(words)


def counts_of(tensors: Any) -> str:
    torch = sys.modules["torch"]
    nans = sum(int(torch.isnan(each).sum()) for each in tensors)
    infs = sum(int(torch.isinf(each).sum()) for each in tensors)
    whole = sum(each.numel() for each in tensors)
    return ", ".join(words for count, words in ((nans, f"{nans} NaN"), (infs, f"{infs} Inf")) if count) + f" of {whole}"
