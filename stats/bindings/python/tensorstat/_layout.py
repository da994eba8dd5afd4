"""Whether a model still has the modules and parameters that it had."""
import weakref
from collections.abc import Iterable
from typing import Any

_MOST_CHANGES = 100  # of a model that exchanges them in each step, no more is looked at


class Layout:
    """The contents of the dicts of a model's modules. A check costs some 50 ns an entry."""

    def __init__(self) -> None:
        self._modules: list[tuple[dict[str, Any], str, Any]] = []  # held weakly: one may hold the model
        self._parameters: list[tuple[dict[str, Any], str, int]] = []  # by their ids: who looks at them holds them
        self._lengths: list[tuple[dict[str, Any], int]] = []
        self._changes = 0

    def keep(self, modules: Iterable[Any]) -> None:
        self.clear()
        for module in modules:
            children, parameters = module.__dict__.get("_modules") or {}, module.__dict__.get("_parameters") or {}
            if not (isinstance(children, dict) and isinstance(parameters, dict)):  # a scripted module's cannot be exchanged
                continue
            self._modules += [(children, key, weakref.ref(each)) for key, each in children.items() if each is not None]
            self._parameters += [(parameters, key, id(each)) for key, each in parameters.items()]
            self._lengths += [(children, len(children)), (parameters, len(parameters))]

    def clear(self) -> None:
        self._modules, self._parameters, self._lengths = [], [], []

    def has_changed(self) -> bool:
        if self._changes >= _MOST_CHANGES:
            return False
        is_same = self._is_same()
        self._changes += not is_same
        return not is_same

    def _is_same(self) -> bool:  # loops: a generator costs twice as much
        for container, length in self._lengths:
            if len(container) != length:
                return False
        for children, key, child in self._modules:
            if children.get(key) is not child():
                return False
        for parameters, key, known in self._parameters:
            if id(parameters.get(key)) != known:
                return False
        return True
