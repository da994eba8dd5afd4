"""Rows of a step that torch.compile has compiled: modules are marked while dynamo traces them, and the marks become operations of
the compiled graph. A graph with marks has a backend of its own, because dynamo keeps its graphs by the backend: the graph of the
other steps stays, and runs as if there were no watch."""
import contextlib
import dataclasses
import enum
import functools
import importlib
import itertools
import sys
import weakref
from collections.abc import Callable
from typing import Any

from ._compiled import is_transformed
from ._hooks import say_fault
from ._journal import caller_of, is_callers

ENTER, LEAVE = 0, 1
_WAITING = "tensorstat: modules that wait for this gradient"  # in the metadata of a node of autograd
_numbers = itertools.count(1)


class Site:
    """A call of a module in a graph."""
    __slots__ = ("rows", "place", "module", "where", "parent", "is_root")

    def __init__(self, rows: Any, place: Any, module: Any, where: Any, parent: str, is_root: bool) -> None:
        self.rows, self.place, self.module = weakref.ref(rows), place, weakref.ref(module)
        self.where, self.parent, self.is_root = where, parent, is_root


_sites: dict[str, Site] = {}  # by the mark, a constant of the graph


class Tracer:
    """The marks of one watch's modules. `rows` has enter(site, tensors), leave(site, tensors), gradient(site, slot, tensor),
    take_if_new(module) and is_incomplete(why)."""

    def __init__(self, rows: Any, places: dict[int, tuple[Any, Any]], wants_inputs: bool, wants_gradients: bool) -> None:
        self._rows, self._places = weakref.ref(rows), places
        self._wants_inputs, self.wants_gradients = wants_inputs, wants_gradients
        self._marks: dict[Any, str] = {}
        self.number = next(_numbers)

    def hooks(self, before: Callable[..., Any], behind: Callable[..., Any]) -> tuple[Any, Any]:
        """Global hooks: marks while dynamo traces, else `before` and `behind`, which it does not compile."""
        torch = sys.modules["torch"]
        importlib.import_module("torch._dynamo")
        _define()
        constant: Callable[[Any], Any] = torch._dynamo.assume_constant_result
        is_compiling, board, look, tensor = torch.compiler.is_dynamo_compiling, _board(), torch.ops.tensorstat.look, torch.Tensor
        eager_before, eager_behind = torch._dynamo.disable(before), torch._dynamo.disable(behind)

        # Dynamo calls this while it traces, and treats the result as a constant.
        @constant
        def entered() -> str:
            return self._mark(True)

        @constant
        def left() -> str:
            return self._mark(False)

        @constant
        def members_of(kind: type) -> tuple[str, ...]:
            return self._members_of(kind)

        def tensors_in(value: Any) -> list[Any]:
            if isinstance(value, tensor):
                return [value]
            if isinstance(value, dict):
                return [each for member in value.values() for each in tensors_in(member)]
            if isinstance(value, (list, tuple)):
                return [each for member in value for each in tensors_in(member)]
            return [each for name in members_of(type(value)) for each in tensors_in(getattr(value, name))]

        def enter(module: Any, arguments: Any) -> None:
            if is_compiling():
                mark = entered()
                if mark:
                    look(tensors_in(arguments), board, mark, 0)
                return
            eager_before(module, arguments)

        def leave(module: Any, arguments: Any, outputs: Any) -> None:
            if is_compiling():
                mark = left()
                if mark:
                    look(tensors_in(outputs), board, mark, 1)
                return
            eager_behind(module, arguments, outputs)
        return enter, leave

    def _mark(self, is_enter: bool) -> str:
        rows = self._rows()
        if rows is None:
            return ""
        try:
            tx = _translator()
            if tx.export:
                return ""
            variable = _variable(tx.symbolic_locals["module"], tx)
            _guard_identity(variable)  # also of a module that has no mark: another one may share the graph, and have rows
            module = _value(variable, tx)
            known = self._places.get(id(module))
            if known is None or known[0]() is not module:
                if not rows.take_if_new(module):
                    return ""
                known = self._places[id(module)]
            if getattr(tx.output.current_tracer, "parent", None) is not None:
                rows.is_incomplete("a checkpoint, torch.cond or another operation of a higher order has a graph of its own")
                return ""
            if is_transformed():
                rows.is_incomplete("a transform of torch.func, such as vmap")
                return ""
            place, (parent, where) = known[1], self._around(tx, module)
            if not (place.is_wanted or not parent) or is_enter and parent and not self._wants_inputs:
                return ""
            key = place, is_enter, parent, where  # a later module may have the module's id
            if key not in self._marks:
                mark = self._marks[key] = f"{self.number}:{len(self._marks)}"
                _sites[mark] = Site(rows, place, module, where, parent, not parent or self._wants_inputs)
            return self._marks[key]
        except Exception as fault:
            if _is_of_dynamo(fault):
                raise
            rows.is_incomplete(f"{type(fault).__name__}: {fault}"[:200])
            return ""

    def _members_of(self, kind: type) -> tuple[str, ...]:
        if dataclasses.is_dataclass(kind):
            return tuple(each.name for each in dataclasses.fields(kind))
        if not issubclass(kind, (str, bytes, int, float, complex, type(None), type, enum.Enum, slice, range)) and kind.__module__ != "torch":
            if (rows := self._rows()) is not None:
                rows.is_incomplete(f"tensors are not looked for in a {kind.__name__}")
        return ()

    def _around(self, tx: Any, module: Any) -> tuple[str, Any]:
        """The innermost module of the watch around this call in the same graph, "" of none; and the line of the caller's code in it,
        None where all of this graph is torch's."""
        parent, where = "", None
        while tx is not None and not (parent and where):
            code = tx.f_code
            if where is None and is_callers(code):
                summary = tx.frame_summary()
                where = summary.filename, summary.lineno, summary.name
            if not parent and code.co_argcount and code.co_varnames[0] in tx.symbolic_locals:
                variable = _variable(tx.symbolic_locals[code.co_varnames[0]], tx)  # self of its forward()
                first = _value(variable, tx)
                known = self._places.get(id(first))
                if known is not None and known[0]() is first is not module:
                    parent = known[1].name
                    _guard_identity(variable)
            tx = getattr(tx, "parent", None)
        return parent, where

    def forget(self) -> None:
        """Call when the watch is over: its graphs are dropped, the model's own stay."""
        for mark in self._marks.values():
            _sites.pop(mark, None)
        self._marks.clear()
        with contextlib.suppress(Exception):
            _drop_graphs(self.number)


def caller_of_graph() -> Any:
    """The line of the caller's code that runs the graph from which this is called."""
    frame: Any = sys._getframe(1)
    while frame is not None and not any(name.startswith("__compiled_fn") for name in frame.f_code.co_names):
        frame = frame.f_back
    return caller_of(frame)


def _translator() -> Any:
    """Dynamo's, of the hook that it traces."""
    frame = sys._getframe(1)
    while frame.f_code.co_name != "invoke_and_store_as_constant":
        frame = frame.f_back  # type: ignore[assignment]
    return frame.f_locals["tx"]


def _variable(variable: Any, tx: Any) -> Any:
    """What dynamo has for a variable of the code that it traces."""
    variable = variable.realize() if hasattr(variable, "realize") else variable
    if type(variable).__name__ in ("CellVariable", "NewCellVariable"):
        variable = tx.output.side_effects.load_cell(variable)
    return variable


def _guard_identity(variable: Any) -> None:
    """Makes the graph one of this object alone. Dynamo lets modules of one class and of like parameters share a graph."""
    if (source := getattr(variable, "source", None)) is not None:
        guards = sys.modules["torch._dynamo.guards"]
        guards.install_guard(source.make_guard(guards.GuardBuilder.ID_MATCH))


def _value(variable: Any, tx: Any) -> Any:
    return tx.output.get_submodule(variable.module_key) if hasattr(variable, "module_key") else getattr(variable, "value", None)


# --- what becomes of marks ---

class Backend:
    """The caller's backend, for graphs with marks of these watches."""

    def __init__(self, numbers: frozenset[int]) -> None:
        self.numbers = numbers
        self.compiled: list[tuple[Any, str]] = []  # the functions' code, with dynamo's number of the graph

    def __call__(self, graph: Any, inputs: Any, **keywords: Any) -> Any:
        with contextlib.suppress(Exception):
            self.compiled.append((_code_of_graph(), _graph_number()))
        theirs = _backend_of_caller()
        look = sys.modules["torch"].ops.tensorstat.look
        marked = [each for each in graph.graph.nodes if each.op == "call_function" and each.target in (look, look.default)]
        if not marked:
            return theirs(graph, inputs, **keywords)
        for each in marked:
            each.target = observe
        graph.recompile()
        try:
            return theirs(graph, inputs, **keywords)
        except Exception as fault:
            if _is_of_dynamo(fault):
                raise
            for each in marked:
                graph.graph.erase_node(each)
            graph.recompile()
            for number in self.numbers:
                for site in [each for mark, each in _sites.items() if mark.startswith(f"{number}:")][:1]:
                    if (rows := site.rows()) is not None:
                        rows.is_incomplete(f"{type(fault).__name__}: {fault}"[:200])
            return theirs(graph, inputs, **keywords)


_backends: dict[frozenset[int], Backend] = {}


def backend_of(numbers: frozenset[int]) -> Backend:
    return _backends.setdefault(numbers, Backend(numbers))


def _backend_of_caller() -> Any:
    frames = sys.modules["torch._dynamo.eval_frame"]
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_filename == frames.__file__ and frame.f_code.co_name in ("_fn", "compile_wrapper"):
            backend = frame.f_locals.get("callback")
            while (inner := getattr(backend, "_torchdynamo_orig_backend", None) or
                   getattr(backend, "_torchdynamo_orig_callable", None)) is not None:
                backend = inner
            if callable(backend):
                return backend
        frame = frame.f_back  # type: ignore[assignment]
    return lambda graph, _: graph.forward


def _is_of_dynamo(fault: Exception) -> bool:
    """Whether dynamo raised it to begin anew."""
    errors = sys.modules["torch._dynamo.exc"]
    return isinstance(fault, (errors.RestartAnalysis, errors.SkipFrame))


def observe(tensors: list[Any], board: Any, mark: str, kind: int) -> None:
    """Runs in the caller's graph, in place of a mark. A compiler runs it once, when it traces: the calls in it are in the graph then."""
    sys.modules["torch"].ops.tensorstat.look([each.detach() for each in tensors], board, mark, kind)
    site = _sites.get(mark)
    rows = site.rows() if site is not None else None
    if kind != LEAVE or rows is None or not site.place.is_wanted or not rows.wants_gradients:  # type: ignore[union-attr]
        return
    for number, tensor in enumerate(tensors):
        node = tensor.grad_fn if tensor.requires_grad else None
        if node is None:
            continue
        waiting = node.metadata.setdefault(_WAITING, {})
        if tensor.output_nr not in waiting:
            waiting[tensor.output_nr] = []
            node.register_prehook(functools.partial(_come, waiting[tensor.output_nr], tensor.output_nr))
        waiting[tensor.output_nr].append(f"{number}@{mark}")


def _come(waiting: list[str], number: int, gradients: Any) -> Any:
    if number >= len(gradients) or gradients[number] is None:
        return None
    seen = sys.modules["torch"].ops.tensorstat.look_back(gradients[number], ",".join(reversed(waiting)))
    return (*gradients[:number], seen, *gradients[number + 1:])


def _look_back(gradient: Any, marks: str) -> Any:
    """Runs in the backward. Its result is a copy: torch omits an operation from a backward if its result is unused, and a board that one
    backward wrote would fail autograd's check in another."""
    for slot, _, mark in (each.partition("@") for each in marks.split(",")):
        site = _sites.get(mark)
        rows = site.rows() if site is not None else None
        if site is not None and rows is not None:
            try:
                rows.gradient(site, int(slot), gradient)
            except Exception as fault:
                say_fault(fault)
    return gradient.clone()


def _look(tensors: list[Any], board: Any, mark: str, kind: int) -> None:
    """Where the forward runs."""
    site = _sites.get(mark)
    rows = site.rows() if site is not None else None
    if site is None or rows is None:
        return
    try:
        if kind == ENTER:
            rows.enter(site, tensors)
        else:
            rows.leave(site, tensors)
    except Exception as fault:
        say_fault(fault)


@functools.cache
def _define() -> Any:
    """The operations. The forward's says that it writes to the board, so that compilers neither leave it out nor change the
    order."""
    torch = sys.modules["torch"]
    library = torch.library.Library("tensorstat", "DEF")
    library.define("look(Tensor[] tensors, Tensor(a!) board, str mark, int kind) -> ()")
    library.impl("look", torch._dynamo.disable(_look), "CompositeExplicitAutograd")
    torch.library.register_fake("tensorstat::look", lambda tensors, board, mark, kind: None, lib=library)
    library.define("look_back(Tensor gradient, str marks) -> Tensor")
    library.impl("look_back", torch._dynamo.disable(_look_back), "CompositeExplicitAutograd")
    torch.library.register_fake("tensorstat::look_back", lambda gradient, marks: gradient.clone(), lib=library)
    return library


@functools.cache
def _board() -> Any:
    return sys.modules["torch"].zeros(1)


# --- what dynamo keeps ---

def _code_of_graph() -> Any:
    frame = sys._getframe(1)
    while frame.f_code.co_name != "compile_and_call_fx_graph":
        frame = frame.f_back  # type: ignore[assignment]
    return frame.f_locals["self"].root_tx.f_code


def _graph_number() -> str:
    return str(sys.modules["torch._guards"].CompileContext.current_compile_id())


def entries_of(number: int) -> list[Any]:
    """Dynamo's entries for graphs that were compiled for this watch alone or with others."""
    frames = sys.modules["torch._C._dynamo.eval_frame"]
    return [entry for numbers, backend in _backends.items() if number in numbers
            for code in {code for code, _ in backend.compiled} for entry in frames._debug_get_cache_entry_list(code)
            if (code, str(entry.compile_id)) in backend.compiled]


def _drop_graphs(number: int) -> None:
    deleted = sys.modules["torch._dynamo.guards"].DeletedGuardManagerWrapper
    for entry in entries_of(number):
        guard = entry.guard_manager
        if not isinstance(guard, deleted):  # else something that it asked for is gone already
            guard = deleted("a watch has ended")
            entry.guard_manager.extra_state.invalidate(entry, guard)
        guard.id_matched_objs = {"": lambda: _backends}  # of another object than any call's: it counts for no recompile limit
    for numbers in [each for each in _backends if number in each]:
        del _backends[numbers]


class Limit:
    """Dynamo gives a function up that it has compiled eight times. While graphs are watched there are two of each."""

    def __init__(self) -> None:
        self._holders: set[int] = set()
        self._before = self._mine = 0

    def _name(self) -> str:
        config = sys.modules["torch._dynamo"].config
        return "recompile_limit" if hasattr(config, "recompile_limit") else "cache_size_limit"

    def raise_for(self, holder: object) -> None:
        if not self._holders:
            config = sys.modules["torch._dynamo"].config
            self._before = getattr(config, self._name())
            self._mine = 2 * self._before
            setattr(config, self._name(), self._mine)
        self._holders.add(id(holder))

    def lower_for(self, holder: object) -> None:
        if id(holder) not in self._holders:
            return
        self._holders.discard(id(holder))
        config = sys.modules["torch._dynamo"].config
        if not self._holders and getattr(config, self._name()) == self._mine:  # else the caller has set another
            setattr(config, self._name(), self._before)


LIMIT = Limit()
