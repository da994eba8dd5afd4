"""A module that gave NaN or Inf is run once more, and each of its operations is looked at: which was the first that was
given finite values and gave others, and at which line. `_zoom_backward` does the same of its gradients.
"""
import functools
import sys
from collections.abc import Callable, Sequence
from typing import Any

from ._journal import caller_of
from ._rerun import Run, Stop, World, as_it_was, counts_of, kinds_in, refusal_of, storage_of, values_of, versions_of
from ._shadow import is_atom
from ._tensors import tensors_in
from ._verdict import INF, NAN

# Operations that put a value where the caller wants it: an Inf of theirs is meant.
_WRITERS = {"full", "full_like", "new_full", "fill", "masked_fill", "where", "copy", "scalar_tensor", "index_put", "index_fill",
            "scatter", "masked_scatter", "lift_fresh", "constant_pad_nd", "triu", "tril", "index_copy", "slice_scatter",
            "select_scatter", "to_copy", "clone"}
_GIVEN = "its arguments held the fault before the call"
# Operations that give Inf of finite values only beyond the end of a dtype: others, such as log, have it as a value.
OVERFLOWS = {"conv1d", "conv2d", "conv3d", "mm", "addmm", "bmm", "baddbmm", "mv", "addmv", "dot", "linear", "matmul", "convolution", "mkldnn_convolution", "mul", "add",
              "sub", "rsub", "sum", "mean", "cumsum", "square", "addcmul", "prod", "to_copy"}
_CUTTERS = {"clamp", "clamp_min", "clamp_max", "clip", "hardtanh", "nan_to_num", "minimum", "maximum", "fmin", "fmax"}
_UNWRITTEN = {"empty", "empty_like", "new_empty", "empty_strided", "new_empty_strided", "resize"}  # hold anything
_PLAIN_NAMES = {"linear", "conv1d", "conv2d", "conv3d", "matmul", "bmm", "mm", "einsum", "batch_norm", "layer_norm", "group_norm",
                "embedding", "softmax", "log_softmax", "gelu", "relu", "silu", "dropout", "baddbmm", "addmm", "pow", "mean"}


class FaultyTensor:
    """A tensor that holds NaN or Inf, by the operation that gave it; `operation` is "" of what came from outside."""
    __slots__ = ("operation", "public", "kinds", "parents", "is_written", "where", "module", "given", "gave", "held_by", "storage")

    def __init__(self, operation: str, kinds: int, parents: "list[FaultyTensor]") -> None:
        self.operation, self.kinds, self.parents = operation, kinds, parents
        self.public = self.module = self.given = self.gave = ""
        self.is_written = False
        self.storage = 0  # of what came from outside
        self.where: tuple[str, int, str] | None = None
        self.held_by: tuple[str, str] | None = None  # of what came from outside: "parameter" or "buffer", and its name


def forward(run: Run, kinds: int, is_outermost: bool, module_name: Callable[[], str], silence: Any, hooks: Any) -> dict[str, Any]:
    """The members of a line of watch.ndjson: what made `kinds` of fault in the outputs of this call, 0 where it is not in
    its outputs but was given to a module inside."""
    if words := refusal_of(run):
        return {"result": "refused", "why": words}
    given = kinds_in(tensors_in((run.arguments, run.keywords)))
    members = _again(run, kinds, module_name, silence, hooks)
    is_unclear, is_of_arguments = members["result"] in ("refused", "clean"), members.get("why") == _GIVEN
    if given and run.was_given_finite and (is_unclear or is_of_arguments) or is_of_arguments and may_be_other(run):
        return {"result": "refused", "why": "it writes to what it is given, such as a cache, and what that held before is gone"}
    if is_unclear and (given & NAN or given and not (is_outermost and kinds & NAN)) and not may_be_other(run):
        return {"result": "given", "why": _GIVEN}
    return {**members, "given_finite": not given}


def may_be_other(run: Run) -> bool:
    """Whether the call may have written to its arguments, such as a cache: they then differ from the first run's. The call around it makes
    them anew when it is run again."""
    return versions_of(run.arguments) != run.versions or (not run.is_as_before and run.may_write_arguments
                                                          and any(map(holds_container, (*run.arguments, *run.keywords.values()))))


def holds_container(value: Any) -> bool:
    if isinstance(value, sys.modules["torch"].Tensor):
        return False
    if type(value) is tuple or isinstance(value, tuple) and hasattr(value, "_fields"):
        return any(map(holds_container, value))
    return not is_atom(value)


def cut_off(run: Run, module_name: Callable[[], str], silence: Any, hooks: Any) -> dict[str, Any] | None:
    """The first operation in this call, such as a clamp, that put a finite number in the place of an overflow."""
    if refusal_of(run):
        return None
    try:
        eye, _ = _look(run, module_name, silence, hooks)
    except (Stop, Exception):
        return None
    if not eye.cuts:
        return None
    members = _line_of(eye.cuts[0])
    return {key: members[key] for key in ("operation", "file", "line") if key in members}


def _look(run: Run, module_name: Callable[[], str], silence: Any, hooks: Any) -> tuple[Any, list[Any]]:
    with as_it_was(run, hooks) as world, silence(), sys.modules["torch"].no_grad():
        eye = _eye_class()(module_name, world)
        given = world.storages_given()
        try:
            with _names(eye, world), eye:
                outputs = tensors_in(world.call())
        except Stop as stop:
            stop.maker = eye.maker_of
            raise
        run.may_write_arguments = world.storages_given() != given
    return eye, outputs


def _again(run: Run, kinds: int, module_name: Callable[[], str], silence: Any, hooks: Any) -> dict[str, Any]:
    try:
        eye, outputs = _look(run, module_name, silence, hooks)
        made = eye.maker(outputs, kinds)
    except Stop as stop:  # before a collective: the other ranks got the fault, if this one has made it
        made = stop.maker(stop.sent, kinds) if stop.maker is not None else None
        if made is None or not made[0].operation:
            return {"result": "refused", "why": str(stop)}
    except Exception as fault:
        return {"result": "refused", "why": f"run again, it raised {type(fault).__name__}: {str(fault)[:160]}"}
    if made is None:
        return {"result": "clean", "why": "run again, it gave finite values: by a state that is gone, such as a cache or random "
                                          "numbers of the caller's own, or by a fault of the hardware"}
    event, is_of_written = made
    if not event.operation:
        return _held_outside(event, run)
    members = _line_of(event)
    members["inf_written"] = is_of_written or event.is_written
    return members


def _held_outside(event: FaultyTensor, run: Run) -> dict[str, Any]:
    if event.held_by is None and event.storage in map(storage_of, tensors_in((run.arguments, run.keywords))):
        return {"result": "given", "why": _GIVEN}
    if event.held_by is None:
        return {"result": "given", "why": "a tensor from outside of the call holds the fault"}
    kind, name = event.held_by
    if kind == "buffer" and run.has_written(name):
        return {"result": "refused", "why": f"the call wrote its buffer {name}, and what that held before is gone"}
    return {"result": "given", "why": f"the {kind} {name} holds the fault", "parameter": name}


def _line_of(event: FaultyTensor) -> dict[str, Any]:
    members: dict[str, Any] = {"result": "found", "operation": _shown(event.operation, event.public), "given": event.given,
                               "gave": event.gave, "inside": event.module}
    if event.where is not None:
        members["file"], members["line"] = event.where[:2]
    return members


def _shown(operation: str, public: str) -> str:
    if not public or public.startswith("_") or operation in public or public in operation:
        return public if public in _PLAIN_NAMES else operation
    return public if public in _PLAIN_NAMES else f"{operation} in {public}"


def _names(eye: Any, world: World) -> Any:
    """Tells the eye which function the caller called, around the operations that it is made of."""
    def run(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        before = eye.public
        eye.public = before or getattr(func, "__name__", "")
        try:
            return func(*args, **kwargs)
        finally:
            eye.public = before
    return world.named(run)


@functools.cache
def _eye_class() -> Any:
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_flatten

    class Eye(TorchDispatchMode):  # type: ignore[misc]
        """Sees each operation below autograd, and knows which storages hold NaN or Inf."""

        def __init__(self, module_name: Callable[[], str], world: World) -> None:
            super().__init__()
            self.public = ""
            self._module_name, self._world = module_name, world
            self._faulty: dict[int, FaultyTensor] = {}  # by their storage
            self._events: list[FaultyTensor] = []
            self.cuts: list[FaultyTensor] = []

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            kwargs = kwargs or {}
            schema = getattr(func, "_schema", None)
            name = schema.name.split("::")[-1].strip("_") if schema is not None else str(func)
            given = [each for each in tree_flatten((args, kwargs))[0] if isinstance(each, torch.Tensor)]
            written = self._world.stop_write(schema, args, kwargs)
            # Written tensors are checked before; the others only if the result is faulty.
            parents = self._made_of_all(given) if written else []
            given_text = values_of((*args, *kwargs.values())) if written else ""
            out = func(*args, **kwargs)
            results = [each for each in tree_flatten(out)[0] if isinstance(each, torch.Tensor)]
            sources = {storage_of(each) for each in given}
            for place in self._world.made(results, given):
                self._faulty.pop(place, None)
            if name in _UNWRITTEN:
                return out
            bad = [each for each in results if kinds_in([each])]
            is_view = not written and schema is not None and any(storage_of(each) in sources for each in results)
            if not bad and name in _CUTTERS:
                self._note_cut(name, parents if written else self._made_of_all(given))
            if not bad or is_view:
                if written and not bad:
                    for each in written:
                        if not kinds_in([each]):
                            self._faulty.pop(storage_of(each), None)
                return out
            if not written:
                parents = self._made_of_all(given)
            kinds = kinds_in(bad)
            made = FaultyTensor(name, kinds, parents)
            made.public, made.module = self.public, self._module_name()
            made.where = caller_of(sys._getframe(1))
            known = 0
            for each in parents:
                known |= each.kinds
            if kinds & ~known:
                made.given = given_text or values_of((*args, *kwargs.values()))
                made.gave = counts_of(bad)
                made.is_written = not kinds & NAN and not known and (name in _WRITERS and not _is_cast(name, given, results))
                self._events.append(made)
            for each in bad:
                self._faulty[storage_of(each)] = made
            return out

        def _note_cut(self, name: str, parents: list[FaultyTensor]) -> None:
            for each in parents:
                root = _root_of(each, INF)[0] if each.kinds & INF else None
                if root is not None and not root.is_written and (root.operation in OVERFLOWS or not root.operation):
                    made = FaultyTensor(name, INF, [])
                    made.public, made.module, made.where = self.public, self._module_name(), caller_of(sys._getframe(2))
                    self.cuts.append(made)
                    return

        def _made_of_all(self, tensors: list[Any]) -> list[FaultyTensor]:
            events: list[FaultyTensor] = []
            for each in tensors:
                if (made := self._made_of(each)) is not None and made not in events:
                    events.append(made)
            return events

        def _made_of(self, tensor: Any) -> FaultyTensor | None:
            kinds = kinds_in([tensor])
            if not kinds:
                return None
            made = self._faulty.get(storage_of(tensor))
            if made is None and tensor.dim() == 0:
                return None  # a constant: the operation that writes it is its maker
            if made is None:  # from outside
                made = self._faulty[storage_of(tensor)] = FaultyTensor("", kinds, [])
                made.is_written = kinds == INF and (tensor.numel() == 1 or not bool(torch.isposinf(tensor).any()))
                made.held_by, made.storage = self._holder_of(tensor), storage_of(tensor)
            return made

        def _holder_of(self, tensor: Any) -> tuple[str, str] | None:
            module = self._world.module
            for kind, named in (("parameter", module.named_parameters()), ("buffer", module.named_buffers())):
                for name, each in named:
                    if storage_of(each) == storage_of(tensor):
                        return kind, name
            return None

        def maker_of(self, tensors: Sequence[Any], kinds: int) -> tuple[FaultyTensor, bool] | None:
            """Of the fault in these tensors; None if they hold none of this kind, or what gave it was not seen."""
            wanted = NAN if kinds & NAN else INF
            for each in tensors if kinds else ():
                if kinds_in([each]) & wanted and (made := self._faulty.get(storage_of(each))) is not None:
                    return _root_of(made, wanted)
            return None

        def maker(self, outputs: list[Any], kinds: int) -> tuple[FaultyTensor, bool] | None:
            if kinds:
                if (made := self.maker_of(outputs, kinds)) is not None:
                    return made
                if not kinds_in(outputs) & (NAN if kinds & NAN else INF):
                    return None
            events = [each for each in self._events if not each.is_written]
            if not events:
                return None
            return _root_of(events[0], NAN if events[0].kinds & NAN else INF)

    return Eye


def _is_cast(name: str, given: list[Any], results: list[Any]) -> bool:
    return name in ("to_copy", "copy", "clone") and bool(given) and bool(results) and given[-1].dtype != results[0].dtype


def _root_of(made: FaultyTensor, wanted: int) -> tuple[FaultyTensor, bool]:
    """The operation that is to blame, and whether the Inf that became NaN there was written."""
    seen: set[int] = set()
    while id(made) not in seen:
        seen.add(id(made))
        same = [each for each in made.parents if each.kinds & wanted]
        if same:
            made = same[0]
            continue
        if wanted == NAN and made.parents:  # of Inf
            root, _ = _root_of(made.parents[0], INF)
            is_meant = root.is_written and (bool(root.operation) or "softmax" in made.operation)  # a mask; else it is data
            return (made, True) if is_meant else (root, False)
        break
    return made, False
