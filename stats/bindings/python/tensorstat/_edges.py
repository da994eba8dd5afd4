"""The gradient that one call of a module gives an argument. The argument itself is handed on as it is: behind the call, the nodes
that used it are looked for in the graph, from the results on, and their hooks are given the parts of the gradient."""
import sys
from collections.abc import Callable
from typing import Any

from ._compiled import for_autograd
from ._hooks import node_of_leaf, say_fault

_MOST_NODES = 20_000  # that are looked at behind one call

Edges = list[tuple[int, Any, int]]  # slot, node and its output of each argument that has a gradient


def edges_of(tensors: list[Any]) -> Edges:
    """Where the arguments come from, before the call: it may write to them in place. One that stands twice has its first slot."""
    edges: Edges = []
    seen: set[int] = set()
    for slot, tensor in enumerate(tensors):
        if not tensor.requires_grad or id(tensor) in seen:
            continue
        seen.add(id(tensor))
        node = tensor.grad_fn
        if node is None:  # a leaf's own node
            node = node_of_leaf(tensor)
        if node is not None:
            edges.append((slot, node, tensor.output_nr))
    return edges


def wait_for(edges: Edges, results: list[Any], take: Callable[[int, Any], None], of_leaves: list[Any], key: Any, run: int) -> bool:
    """take(slot, gradient) for each argument, when all parts of its gradient are known: at the latest when backward ends. An
    argument that the call returns has what the result is given. False: the graph is too large to be looked at. Appends to `of_leaves`
    the hooks that are to be removed with the step: a leaf's node may live as long as the leaf. A graph may be kept, too, and be
    found again by another run of the model: what has the same `key` there takes the place of what had it in a `run` before."""
    sums = {(id(node), number): _Sum(slot, take) for slot, node, number in edges}
    sources = {id(node): node for _, node, _ in edges}
    waiting, seen = [], {}
    for tensor in results:
        if tensor.requires_grad:
            node = tensor.grad_fn or sources.get(_leaf_of(tensor, edges))
            if node is not None and (whole := sums.get((id(node), tensor.output_nr))) is not None and not whole.is_passed:
                whole.is_passed = True
                if tensor.grad_fn is None:
                    of_leaves.append(node.register_hook(for_autograd(_OfResult(whole, tensor.output_nr, True))))
                elif (before := hook_before(node, (key, tensor.output_nr), run)) is not None:
                    before.whole = whole
                else:
                    hook = _OfResult(whole, tensor.output_nr, False)
                    node.register_hook(for_autograd(hook))
                    node.metadata[key, tensor.output_nr] = run, hook
            elif node is not None and id(node) not in sources:
                waiting.append(node)
    first = min((_age(node) for node in sources.values()), default=0)
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen[id(node)] = node
        if len(seen) > _MOST_NODES:
            return False
        parts: list[tuple[int, _Sum]] = []
        for place, (source, number) in enumerate(node.next_functions):
            if source is None:
                continue
            if (whole := sums.get((id(source), number))) is not None:
                parts.append((place, whole))
            elif id(source) not in sources and source.next_functions and _age(source) >= first:
                waiting.append(source)
        if parts:
            for _, whole in parts:
                whole.expected += 1
            if (earlier := hook_before(node, key, run)) is not None:
                earlier.parts = parts
            else:
                of_node = _OfNode(parts)
                node.register_hook(for_autograd(of_node))
                node.metadata[key] = run, of_node
    return True


def hook_before(node: Any, key: Any, run: int) -> Any:
    """Our hook of this node with this key from an earlier run; it is the one of `run` from now on."""
    known = node.metadata.get(key)
    if known is None or known[0] == run:
        return None
    node.metadata[key] = run, known[1]
    return known[1]


def _leaf_of(tensor: Any, edges: Edges) -> int:
    if tensor.grad_fn is not None:
        return 0
    return next((id(node) for _, node, _ in edges if getattr(node, "variable", None) is tensor), 0)


def _age(node: Any) -> int:
    """Grows with each node that a thread makes. 0: not known, or a leaf's."""
    number = node._sequence_nr() if hasattr(node, "_sequence_nr") else 0
    return 0 if number >= 1 << 62 else int(number)


class _Sum:
    """The gradient of an argument; `expected` nodes give a part of it."""
    __slots__ = ("_slot", "_take", "expected", "is_passed", "_count", "_whole")

    def __init__(self, slot: int, take: Callable[[int, Any], None]) -> None:
        self._slot, self._take = slot, take
        self.expected = self._count = 0
        self.is_passed = False
        self._whole: Any = None

    def add(self, part: Any) -> None:
        self._count += 1
        if part is not None:
            part = part.detach()
            self._whole = part if self._whole is None else self._whole + part
        if self._count >= self.expected:
            self.end()
        elif self._count == 1:  # a node never comes if its result does not contribute to the loss
            sys.modules["torch"].autograd.Variable._execution_engine.queue_callback(self.end)

    def end(self) -> None:
        whole, self._whole, self._count = self._whole, None, 0
        if whole is not None and not self.is_passed:
            self.give(whole)

    def give(self, whole: Any) -> None:
        try:
            self._take(self._slot, whole)
        except Exception as fault:
            say_fault(fault)


class _OfNode:
    __slots__ = ("parts",)

    def __init__(self, parts: list[tuple[int, _Sum]]) -> None:
        self.parts = parts

    def __call__(self, gave: Any, _: Any) -> None:
        try:
            for place, whole in self.parts:
                whole.add(gave[place] if place < len(gave) else None)
        except Exception as fault:
            say_fault(fault)


class _OfResult:
    __slots__ = ("whole", "_number", "_is_of_leaf")

    def __init__(self, whole: _Sum, number: int, is_of_leaf: bool) -> None:
        self.whole: _Sum | None = whole
        self._number, self._is_of_leaf = number, is_of_leaf

    def __call__(self, _: Any, given: Any) -> None:
        gradient, whole = given[self._number] if self._number < len(given) else None, self.whole
        if gradient is not None and whole is not None:
            if self._is_of_leaf:  # other backwards of the step run the leaf's node, too
                self.whole = None
            whole.give(gradient.detach())
