"""Dumps a PyTorch model's modules as msprobe's PrecisionDebugger does (level L0), by a session of msprobe's config."""
import dataclasses
import json
import linecache
import re
import sys
import threading
import weakref
from typing import Any

from ._alerts import Step
from ._calls import pop_call
from ._compiled import is_tracing
from ._edges import edges_of, wait_for
from ._hooks import Accumulation, ModuleHooks, drop_left, keywords_of_call, say_fault
from ._journal import OURS
from ._layout import Layout
from ._library import logger
from ._rerun import versions_of
from ._session import DumpSession
from ._tensors import can_be_walked
from ._watch import Watch, models_of, modules_of_msprobe


class ModuleWatch(Watch):
    """Watches modules as msprobe does: each call of a module except the model itself, with its arguments, outputs and
    parameters, and the gradients of its outputs, inputs and parameters."""

    def __init__(self, model: Any, session: DumpSession, *, every: int, where: str | None, rank: int,
                 has_stacks: bool) -> None:
        super().__init__(session, every=every, rank=rank)
        self._has_stacks = has_stacks
        self._cut: set[tuple[str, str]] = set()  # the words about stems' inputs and outputs
        self._local = _PerThread()
        self._counts: dict[str, int] = {}
        self._backward: list[_Call] = []  # their gradients have not come yet
        self._rounds: dict[str, _Round] = {}
        self._wanted = re.compile(where or "").search
        self._hooks = ModuleHooks(self._before, self._leave, self._give_up)
        self._accumulations: dict[tuple[str, str], Accumulation] = {}
        self._of_step: list[Accumulation] = []  # those that hold a node
        self._of_leaves: list[Any] = []  # hooks of this step
        self._is_begun = False
        self._layout = Layout()
        # msprobe numbers the models of a list.
        self._keyed = {key: weakref.ref(each) for key, each in models_of(
            {str(number): each for number, each in enumerate(model)} if isinstance(model, (list, tuple)) else model).items()}
        self._take_modules()
        if not self._hooks.count:
            logger.warning("where=%r matches no module: nothing is watched", where)
        self._switch()

    def _take_modules(self) -> None:
        models = {key: model for key, each in self._keyed.items() if (model := each()) is not None}
        self._layout.keep(module for model in models.values() for module in model.modules())
        accumulations = {}
        for name, module in modules_of_msprobe(models):
            if not self._wanted(name):
                continue
            kind = type(module).__name__
            stem = f"Module.{name}.{kind}"
            self._hooks.add(module, stem)
            for each, parameter in module.named_parameters(recurse=False):
                known = self._accumulations.pop((stem, each), None)
                if known is not None and known.parameter is not parameter:
                    known.remove()
                    known = None
                accumulations[stem, each] = known or Accumulation(parameter, _parameter_hook(self, kind, stem, each))
        for known in self._accumulations.values():
            known.remove()
        self._accumulations = accumulations

    def close(self) -> None:
        super().close()
        self._leave_parameters()

    def _abandon(self) -> None:
        super()._abandon()
        self._leave_parameters()

    def _leave_parameters(self) -> None:
        for each in self._accumulations.values():
            each.remove()
        self._accumulations = {}
        self._leave_leaves()

    def _leave_leaves(self) -> None:
        for each in self._of_leaves:
            each.remove()
        self._of_leaves.clear()

    def _begin(self) -> None:
        """With a step that is watched, and again with its first forward: parameters may have changed."""
        if self._layout.has_changed():
            self._take_modules()
        if not sys.modules["torch"].is_inference_mode_enabled():  # in it a parameter has no node
            self._of_step = [each for each in self._accumulations.values() if each.begin()]

    def _switch(self) -> None:
        if self.active:
            self._begin()
            self._hooks.start()
            if self._hooks.is_eager:
                self._say_once("steps that are measured run without torch.compile")
        elif self._is_closed:
            self._hooks.close()
        else:
            self._hooks.stop()

    def step(self, loss: Any = None) -> Step:
        """A step is over, and the next begins: call it after backward(). msprobe's files have no place for a loss."""
        for call in list(self._backward):  # what lacks a gradient, because something had no part in the loss
            self._gradients_are_known(call)
        if self.active:
            self._end_step()
        for each in self._of_step:
            each.end()
        self._of_step, self._is_begun = [], False
        self._leave_leaves()
        step = self._found()
        self._local.calls.clear()
        self._counts.clear()
        self._rounds.clear()
        self.iteration += 1
        self._switch()
        self._actions.check(step)
        return step

    def _before(self, module: Any, stem: str, arguments: tuple[Any, ...]) -> None:
        if not is_tracing(arguments):
            if not self._is_begun:
                self._is_begun = not sys.modules["torch"].is_inference_mode_enabled()
                self._begin()
            self._enter(module, stem, arguments, keywords_of_call(sys._getframe(2)))

    def _enter(self, module: Any, stem: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        number = self._counts.get(stem, 0)
        self._counts[stem] = number + 1
        calls = self._local.calls  # that run in this thread, the innermost last
        drop_left(calls)
        call = _Call(module, stem, number, calls[-1] if calls else None)
        calls.append(call)
        if self._has_stacks:
            parent = call.parent.key("forward") if call.parent else ""
            self._session.describe(call.kind, call.key("forward"), stack=_stack(), parent=parent)
        if self._saves_tensors:
            call.versions = versions_of(args)
        places = _Places()
        layout = places.text_of({"input_args": args, "input_kwargs": kwargs}, "i")
        self._say_what_is_cut(places, stem, "inputs")
        self._collect(call.kind, call.key("forward"), places.tensors, (), layout)
        call.are_inputs_saved, self._is_of_alert = self._is_of_alert, False
        if sys.modules["torch"].is_grad_enabled():
            given = [each for each in _tensors_in(args) if each.requires_grad]
            call.edges = edges_of(given)
            slots = {slot for slot, *_ in call.edges}
            call.of_inputs = [None] * len(given)
            call.twice = [slot not in slots for slot in range(len(given))]

    def _leave(self, module: Any, _stem: str, arguments: Any, outputs: Any) -> None:
        call = pop_call(self._local.calls, module)
        if call is None:
            return
        places = _Places()
        members: dict[str, Any] = {"output": outputs if isinstance(outputs, tuple) else (outputs,)}
        if parameters := dict(module.named_parameters(recurse=False)):
            members["parameters"] = parameters
        layout = places.text_of(members, "o")
        self._say_what_is_cut(places, call.stem, "outputs")
        self._collect(call.kind, call.key("forward"), (), places.tensors, layout)
        if self._is_of_alert and not call.are_inputs_saved:
            self._save_inputs(call.kind, call.key("forward"), arguments, call.versions)
        outcomes = [tensor for tensor in _tensors_in(outputs) if _has_gradient(tensor)]
        if not outcomes:
            return
        hook = _GradientHook(self, call, call.of_inputs, 0)
        if not wait_for(call.edges, outcomes, hook.take, self._of_leaves, (self, call.stem), self.iteration):
            self._say_once("%s has too large a graph: the gradients of its inputs are not seen", call.stem)
        call.edges = []
        call.of_outputs = [None] * len(outcomes)
        self._backward.append(call)
        for slot, tensor in enumerate(outcomes):
            done = (each for each in (tensor._backward_hooks or {}).values() if type(each) is _GradientHook and each.is_done_for(self))
            if (before := next(done, None)) is not None:  # the tensor is of a graph that is kept
                before.aim_at(call, call.of_outputs, slot)
                continue
            handle = tensor.register_hook(_GradientHook(self, call, call.of_outputs, slot))
            if tensor.grad_fn is None:  # a parameter that the module returns, which outlives the step
                self._of_leaves.append(handle)

    def _give_up(self, module: Any) -> None:
        """An exception ends the call."""
        pop_call(self._local.calls, module)

    def _say_what_is_cut(self, places: "_Places", stem: str, io: str) -> None:
        if places.is_cut and (stem, io) not in self._cut:
            self._cut.add((stem, io))
            logger.warning("%s of %s hold themselves, or are nested too deep: dump.json has null there, and no tensors below it",
                           io, stem)

    def _gradient(self, call: "_Call", among: list[Any], slot: int, gradient: Any) -> None:
        if among[slot] is not None or gradient is None:
            return
        among[slot] = gradient
        if call.layout:  # of an output that the inputs have no part in
            io = "inputs" if among is call.of_outputs else "outputs"
            self._collect(call.kind, call.key("backward"), layout=call.layout, **{io: [None] * slot + [gradient]})
        elif all(each is not None or is_twice for each, is_twice in zip(call.of_inputs, call.twice)) if call.of_inputs else all(
                each is not None for each in call.of_outputs):
            self._gradients_are_known(call)

    def _gradients_are_known(self, call: "_Call") -> None:
        if call not in self._backward:
            return
        self._backward.remove(call)
        if all(each is None for each in (*call.of_outputs, *call.of_inputs)) or not self.active:
            return
        if self._has_stacks:
            parent = call.parent.key("backward") if call.parent else ""
            self._session.describe(call.kind, call.key("backward"), parent=parent)
        # msprobe calls the gradients of the outputs its input.
        members = [f'"{name}": ' + _bracketed("[]", [_mark(io, slot) for slot in range(len(gradients))], 1)
                   for name, io, gradients in (("input", "i", call.of_outputs), ("output", "o", call.of_inputs))]
        call.layout = _bracketed("{}", members, 0)
        self._collect(call.kind, call.key("backward"), call.of_outputs, call.of_inputs, call.layout)
        for gradients in (call.of_outputs, call.of_inputs):  # they have to be kept no longer
            gradients[:] = [None if each is None else True for each in gradients]

    def _parameter_has_gradient(self, kind: str, stem: str, name: str, gradient: Any) -> None:
        """A parameter's gradient was added up. msprobe counts how often this happens to the module's first parameter."""
        if gradient is None or not self.active:
            return
        round_ = self._rounds.setdefault(stem, _Round(name))
        if round_.first == name:
            round_.number += 1
            round_.slot = 0
        places = _Places(round_.slot)
        layout = places.text_of({name: [gradient]}, "o")
        self._collect(kind, f"{stem}.parameters_grad.{round_.number}", (), places.at_slots(), layout)
        round_.slot += 1


@dataclasses.dataclass(eq=False)
class _Call:
    module: Any
    stem: str
    number: int
    parent: "_Call | None"
    of_outputs: list[Any] = dataclasses.field(default_factory=list)
    of_inputs: list[Any] = dataclasses.field(default_factory=list)
    layout: str = ""  # of the gradients that were handed over
    versions: list[int] = dataclasses.field(default_factory=list)  # of its arguments
    are_inputs_saved: bool = False  # beside one that an alert names
    edges: list[tuple[int, Any, int]] = dataclasses.field(default_factory=list)  # of those that have a gradient: see _edges
    twice: list[bool] = dataclasses.field(default_factory=list)  # by slot: the tensor stands at an earlier slot, too

    @property
    def kind(self) -> str:
        return type(self.module).__name__

    def key(self, direction: str) -> str:
        return f"{self.stem}.{direction}.{self.number}"


class _PerThread(threading.local):
    def __init__(self) -> None:
        self.calls: list[_Call] = []  # that are open, the innermost last


@dataclasses.dataclass
class _Round:
    first: str
    number: int = -1
    slot: int = 0


class _Places:
    """Where tensors stand among other values, as a session takes it: see `layout` of DumpSession.collect()."""

    def __init__(self, first_slot: int = 0) -> None:
        self.tensors: list[Any] = []
        self.is_cut = False  # null stands for something that may have tensors
        self._first_slot = first_slot

    def at_slots(self) -> list[Any]:
        return [None] * self._first_slot + self.tensors

    def text_of(self, value: Any, io: str, around: tuple[Any, ...] = ()) -> str:
        """The text in msprobe's form: a tensor has a mark, other values their type; unknown types are null."""
        torch = sys.modules["torch"]
        columns = len(around)
        if isinstance(value, torch.Tensor):
            self.tensors.append(value)
            return _mark(io, self._first_slot + len(self.tensors) - 1)
        if isinstance(value, torch.Size):
            return _leaf("torch.Size", [int(each) for each in value], columns)
        if isinstance(value, (bool, int, float, str)):
            return _leaf(type(value).__name__, value, columns)
        if isinstance(value, slice):
            bounds = [int(each) if isinstance(each, (int, torch.Tensor)) else None for each in (value.start, value.stop, value.step)]
            return _leaf("slice", bounds, columns)
        if value is Ellipsis:
            return _leaf("ellipsis", "...", columns)
        if not can_be_walked(value, around):
            self.is_cut = True
            return "null"
        around = (*around, value)
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            value = dict(zip(value._fields, value))
        elif dataclasses.is_dataclass(value) and not isinstance(value, type):
            value = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        if isinstance(value, dict):
            members = [f"{_name(key)}: {self.text_of(each, io, around)}" for key, each in value.items()]
            return _bracketed("{}", members, columns)
        if isinstance(value, (list, tuple)):
            return _bracketed("[]", [self.text_of(each, io, around) for each in value], columns)
        return "null"


def _mark(io: str, slot: int) -> str:
    return f"\x01{io}{slot}\x01"


def _leaf(kind: str, value: Any, columns: int) -> str:
    if isinstance(value, str):
        value = _unicode(value)
    elif isinstance(value, int) and value.bit_length() > 10_000:  # more digits than Python writes
        return "null"
    return json.dumps({"type": kind, "value": value}, indent=1).replace("\n", "\n" + " " * columns)


def _bracketed(brackets: str, lines: list[str], columns: int) -> str:
    if not lines:
        return brackets
    margin = "\n" + " " * columns
    return brackets[0] + margin + " " + f",{margin} ".join(lines) + margin + brackets[1]


def _name(key: Any) -> str:
    """As json.dumps has it."""
    if key is None or isinstance(key, (bool, int, float)):
        key = json.dumps(key)
    return json.dumps(_unicode(str(key)))


def _unicode(text: str) -> str:
    """Spells out \\ud800 and the like, which are not characters, so that no JSON reader has to accept them."""
    return text.encode("utf-8", "backslashreplace").decode()


def _tensors_in(value: Any, around: tuple[Any, ...] = ()) -> list[Any]:
    """In lists, tuples and dicts, as msprobe looks for gradients."""
    if isinstance(value, sys.modules["torch"].Tensor):
        return [value]
    if not isinstance(value, (dict, list, tuple)) or not can_be_walked(value, around):
        return []
    members = value.values() if isinstance(value, dict) else value
    return [tensor for each in members for tensor in _tensors_in(each, (*around, value))]


def _has_gradient(tensor: Any) -> bool:
    return bool(tensor.requires_grad) and bool(sys.modules["torch"].is_grad_enabled())


def _stack() -> list[str]:
    """Where a module is called from, in msprobe's words."""
    frames = []
    frame = sys._getframe(1)
    while frame is not None:
        file, line = frame.f_code.co_filename, frame.f_lineno
        source = linecache.getline(file, line).strip()
        if source and not file.startswith(OURS):
            frames.append(f"File {file}, line {line}, in {frame.f_code.co_name}, \n {source}")
        frame = frame.f_back  # type: ignore[assignment]
    return frames


class _GradientHook:
    """Is given a gradient of an output, by its tensor, or of an input."""
    __slots__ = ("_watch", "_call", "_among", "_slot")

    def __init__(self, watch: ModuleWatch, call: _Call, among: list[Any], slot: int) -> None:
        self._watch = watch
        self.aim_at(call, among, slot)

    def aim_at(self, call: _Call, among: list[Any], slot: int) -> None:
        self._call, self._among, self._slot = call, among, slot

    def is_done_for(self, watch: ModuleWatch) -> bool:
        return self._watch is watch and self._among[self._slot] is not None

    def take(self, slot: int, gradient: Any) -> None:
        self._watch._gradient(self._call, self._among, slot, gradient)

    def __call__(self, gradient: Any) -> None:
        try:
            self._watch._gradient(self._call, self._among, self._slot, gradient)
        except Exception as fault:
            say_fault(fault)


def _parameter_hook(watch: ModuleWatch, kind: str, stem: str, name: str) -> Any:
    def hook(parameter: Any, _: Any) -> None:
        watch._parameter_has_gradient(kind, stem, name, parameter.grad)
    return hook


def say_level(level: object) -> None:
    if level not in ("L0", "mix"):
        logger.warning("level %s dumps functions, and watch() sees modules alone: set \"level\": \"L0\" in the config", level)
