"""What a forward did to the operands of a backward that made NaN of finite gradients: it made a NaN or Inf, or held one, and cut it
off before its results. Backward brings it back: 0 * NaN."""
import os
from typing import Any

from ._rerun import counts_of, kinds_in, storage_of
from ._tensors import tensors_in


class _Source:
    """An operation that gave the first NaN or Inf of a storage; without a name, it was there before."""
    __slots__ = ("name", "where", "gave", "cut_by")

    def __init__(self, name: str, where: Any, gave: str) -> None:
        self.name, self.where, self.gave, self.cut_by = name, where, gave, ""

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
                found = self._sources.get(storage_of(each))
                return found if found is not None else self._keep(each, _Source("", None, counts_of([each])))
        return None

    def behind(self, name: str, where: Any, given: "_Source | None", arguments: Any, results: list[Any]) -> None:
        faulty = [each for each in results if _is_float(each) and kinds_in([each])]
        written = [each for each in tensors_in(arguments[0][:1]) if given is None and _is_float(each) and kinds_in([each])]
        self._now = given
        if not faulty and not written:
            if given is not None and results and not given.cut_by and uses_values(name) and any(_is_float(each) for each in results):
                given.cut_by = at_line(name, where)
            return
        source = given or _Source(name, where, counts_of(faulty or written))
        self._now = source
        for each in (*faulty, *written):
            self._keep(each, source)

    def take_node(self, node: int) -> None:
        if self._now is not None:
            self._of_nodes[node] = self._now

    def words_of(self, node: int) -> str:
        source = self._of_nodes.get(node)
        if source is None:
            return ""
        return words_of_source(at_line(source.name, source.where) if source.name else "what it was given", source.gave, source.cut_by)

    def _keep(self, tensor: Any, source: _Source) -> _Source:
        self._sources[storage_of(tensor)] = source
        self._held.append(tensor)
        return source


def uses_values(name: str) -> bool:
    """Whether its results are made of the values of its operands, and are not one of them."""
    base = name.partition(".")[0]
    return not base.endswith("_like") and not base.startswith("new_") and (not base.endswith("_") or base == "__getitem__")


def _is_float(tensor: Any) -> bool:
    return bool(tensor.is_floating_point() or tensor.is_complex()) and tensor.device.type != "meta"


def words_of_source(maker: str, gave: str, cut_by: str) -> str:
    """Of the operation that made the NaN or Inf of the forward, and of the one that cut it off."""
    cut = f", {cut_by} cut it off" if cut_by else ""
    return f"; in the forward {maker} gave {gave}{cut}, and backward multiplied it by 0"


def at_line(name: str, where: Any) -> str:
    shown = "indexing" if name == "__getitem__" else name.partition(".")[0].strip("_")
    return f"{shown} at {os.path.basename(where[0])}:{where[1]}" if where is not None else shown
