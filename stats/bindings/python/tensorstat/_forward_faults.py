"""What a forward did to the operands of a backward that made NaN of finite gradients: it made a NaN or Inf, or held one, and cut it
off before its results. Backward brings it back: 0 * NaN."""
import os
import sys
from types import FrameType
from typing import Any

from ._journal import caller_of
from ._rerun import counts_of, kinds_in, storage_of
from ._tensors import is_float, tensors_in

_WRITERS = "mask", "fill", "where", "triu", "tril", "full", "setitem", "pad", "scatter"  # in names of functions


class _Source:
    """An operation that gave the first NaN or Inf of a storage; without a name, it was there before."""
    __slots__ = ("name", "where", "gave", "cut_by", "is_inside")

    def __init__(self, name: str, where: Any, gave: str, is_inside: bool = False) -> None:
        self.name, self.where, self.gave, self.cut_by = name, where, gave, ""
        self.is_inside = is_inside  # a torch.autograd.Function of the caller's, which has not given it yet


class ForwardFaults:
    """Those of the operations of one run, in their order."""

    def __init__(self) -> None:
        self._sources: dict[int, _Source] = {}  # by storage
        self._held: list[Any] = []  # tensors whose storages have one
        self._of_nodes: dict[int, _Source] = {}
        self._now: _Source | None = None  # of the operation that ran last

    def before(self, args: Any, kwargs: Any) -> "_Source | None":
        """That of the first faulty operand."""
        for each in tensors_in((args, kwargs)):
            if _is_float(each) and kinds_in([each]):
                source = self._sources.get(storage_of(each))
                if source is not None and source.is_inside and function_around(sys._getframe(2)) is None:
                    source.is_inside, source.gave = False, counts_of([each])
                return source if source is not None else self._keep(each, _Source("", None, counts_of([each])))
        return None

    def behind(self, name: str, where: Any, given: "_Source | None", arguments: Any, results: list[Any]) -> None:
        faulty = [each for each in results if _is_float(each) and kinds_in([each])]
        written = [each for each in tensors_in(arguments[0][:1]) if given is None and _is_float(each) and kinds_in([each])]
        self._now = given
        inside = function_around(sys._getframe(2)) if given is not None or faulty or written else None
        if not faulty and not written:
            if given is not None and inside is None and results and not given.cut_by and uses_values(name) and any(_is_float(each) for each in results):
                given.cut_by = at_line(name, where)
            return
        gave = counts_of(faulty or written)
        source = given or (_Source(*inside, gave, True) if inside is not None else _Source(name, where, gave))
        self._now = source
        for each in (*faulty, *written):
            self._keep(each, source)

    def take_node(self, node: int) -> None:
        if self._now is not None:
            self._of_nodes[node] = self._now

    def maker_of(self, node: int, line: Any) -> tuple[str, Any, str, str] | None:
        """Returns the operation that computed the fault of the node's operand at another line: its name, its line, the counts of its result and
        the words about the way into backward. Returns None for an Inf that was written: the node made NaN of it."""
        source = self._of_nodes.get(node)
        if source is None or source.where is None or line is None or source.where[:2] == line[:2] or is_writer(source.name):
            return None
        return source.name, source.where, f"{source.gave} in the forward", words_of_return(source.cut_by, line)

    def words_of(self, node: int) -> str:
        source = self._of_nodes.get(node)
        if source is None:
            return ""
        return words_of_source(at_line(source.name, source.where) if source.name else "what it was given", source.gave, source.cut_by)

    def _keep(self, tensor: Any, source: _Source) -> _Source:
        self._sources[storage_of(tensor)] = source
        self._held.append(tensor)
        return source


def is_writer(name: str) -> bool:
    """Whether it puts a value where the caller wants it: an Inf of it is meant."""
    return any(word in name for word in _WRITERS)


def function_around(frame: FrameType | None) -> tuple[str, Any] | None:
    """Returns the name and the calling line of the caller's torch.autograd.Function, if this frame runs its forward. Autograd takes its
    operations for one."""
    torch = sys.modules["torch"]
    if torch.is_grad_enabled():
        return None
    while frame is not None:
        code, before = frame.f_code, frame.f_back
        if code.co_name == "forward" and code.co_argcount:
            of_function = getattr(type(frame.f_locals.get(code.co_varnames[0])), "_forward_cls", None)
            if of_function is not None and not of_function.__module__.startswith("torch."):
                return of_function.__name__, caller_of(before)
        frame = before
    return None


def uses_values(name: str) -> bool:
    """Whether its results are made of the values of its operands, and are not one of them."""
    base = name.partition(".")[0]
    return not base.endswith("_like") and not base.startswith("new_") and (not base.endswith("_") or base == "__getitem__")


def _is_float(tensor: Any) -> bool:
    return is_float(tensor) and tensor.device.type != "meta"


def words_of_return(cut_by: str, line: Any) -> str:
    """How a fault that the forward made at another line than this one came into backward."""
    cut = f"{cut_by} cut it off, and " if cut_by else ""
    return f"{cut}backward at {os.path.basename(line[0])}:{line[1]} multiplied it by 0"


def words_of_source(maker: str, gave: str, cut_by: str) -> str:
    """Of the operation that made the NaN or Inf of the forward, and of the one that cut it off."""
    cut = f", {cut_by} cut it off" if cut_by else ""
    return f"; in the forward {maker} gave {gave}{cut}, and backward multiplied it by 0"


def at_line(name: str, where: Any) -> str:
    shown = "indexing" if name == "__getitem__" else name.partition(".")[0].strip("_")
    return f"{shown} at {os.path.basename(where[0])}:{where[1]}" if where is not None else shown
