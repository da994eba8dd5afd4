"""What is told of a faulty tensor beside its row: its name, which rows of it hold the fault, and whether a call that was given it
may have looked past it, because it lay in a container. All of it is looked at where there is a fault, and never before."""
import sys
from typing import Any

from ._calls import Call
from ._later import Faults
from ._modes import modes
from ._rerun import kinds_in
from ._tensors import ways_in
from ._verdict import NAN

_MOST_COUNTED = 16  # tensors whose rows are counted: each waits for its device
_MOST_ROWS = 8  # that are named
_MOST_NAMES = 64


class FaultyTensors:
    """Those of a watch."""

    def __init__(self, watch: Any) -> None:
        self._watch = watch
        self._said: dict[tuple[str, str], list[Any]] = {}  # by kind of line and operator, what was said last
        self._count = 0

    def of_arguments(self, call: Call, tensors: list[Any]) -> None:
        """Before a call that is given a fault. What lies in a list, a dict or an object may be for another call: it is said which
        inputs do."""
        ways = ways_in(_all_arguments(call))
        if len(ways) != len(tensors):
            return
        direct = 2 if call.keywords else 1
        slots = [slot for slot, way in enumerate(ways) if len(way) > direct]
        if slots and not _may_look(tensors):
            slots = []
        self._say("held", call.name, {"slots": slots})
        call.is_only_held = bool(slots) and not kinds_in(each for slot, each in enumerate(tensors) if slot not in slots)

    def first(self, call: Call, io: str, value: Any, tensors: list[Any], faults: Faults) -> None:
        """The first fault of a forward is in one of `tensors`, of `value`."""
        slot = faults.first
        self._say_names(call.name, io, ["" if len(way) < 2 and way[:1] in ((), (str(index),)) else ".".join(way)
                                        for index, way in enumerate(ways_in(value))] if io == "output" else _names_of_arguments(call))
        outermost = call
        while outermost.parent is not None:
            outermost = outermost.parent
        if outermost is not call or io == "output":
            self._say_names(outermost.name, "input", _names_of_arguments(outermost))
        if slot < len(tensors) and self._count < _MOST_COUNTED and _may_look([tensors[slot]]):
            self._count += 1
            rows, whole = _rows_with(tensors[slot], faults.kinds)
            if whole > 1:
                self._watch._journal.say("rows", iteration=self._watch.iteration, op_name=call.name, io=io, slot=slot, count=len(rows),
                                         rows=rows[:_MOST_ROWS], whole=whole)

    def _say_names(self, op_name: str, io: str, names: list[str]) -> None:
        names = names[:_MOST_NAMES]
        if any(names):
            self._say("names", op_name, {"io": io, "names": names})

    def _say(self, kind: str, op_name: str, members: dict[str, Any]) -> None:
        key, values = (f"{kind} {members.get('io', '')}", op_name), list(members.values())
        if self._said.get(key, [[]]) != values:
            self._said[key] = values
            self._watch._journal.say(kind, iteration=self._watch.iteration, op_name=op_name, **members)


def _all_arguments(call: Call) -> Any:
    return (call.arguments, call.keywords) if call.keywords else call.arguments


def _names_of_arguments(call: Call) -> list[str]:
    """As the module's forward names them: "labels", "cache.keys.1"."""
    code = getattr(getattr(type(call.module), "forward", None), "__code__", None)
    own = code.co_varnames[1:code.co_argcount] if code is not None else ()
    names = []
    for way in ways_in(_all_arguments(call)):
        is_keyword = bool(call.keywords) and way[0] == "1"
        way = way[1:] if call.keywords else way
        number = int(way[0]) if not is_keyword and way and way[0].isdigit() else -1
        if 0 <= number < len(own) and own[number] == "input" and len(way) == 1:  # as torch's own modules name it
            own = ()
        names.append(".".join([own[number], *way[1:]] if 0 <= number < len(own) else way if is_keyword or len(way) > 1 else []))
    return names


def _may_look(tensors: list[Any]) -> bool:
    """Whether operations of ours on these tensors are seen by nobody else."""
    torch = sys.modules["torch"]
    is_plain = all(type(each) in (torch.Tensor, torch.nn.Parameter) and each.layout is torch.strided and each.device.type != "meta"
                   for each in tensors)
    return is_plain and not modes()[1] and not any(each.is_cuda and torch.cuda.is_current_stream_capturing() for each in tensors)


def _rows_with(tensor: Any, kinds: int) -> tuple[list[int], int]:
    """The rows of the first dimension that hold the fault, and how many rows there are."""
    torch = sys.modules["torch"]
    if tensor.dim() == 0 or not tensor.numel() or not (tensor.is_floating_point() or tensor.is_complex()):
        return [], 0
    with torch.no_grad(), torch._C.DisableTorchFunction():
        values = tensor.detach()
        bad = torch.isnan(values) if kinds & NAN else torch.isinf(values)
        return bad.flatten(1).any(1).nonzero().flatten().tolist() if bad.dim() > 1 else bad.nonzero().flatten().tolist(), len(values)
