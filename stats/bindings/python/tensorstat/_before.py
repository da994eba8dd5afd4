"""Containers, globals and attributes of classes that a second run of a call may write to, as they were before it."""
import collections
import threading
from typing import Any

from ._code import Code


class Before:
    """Lists, dicts, sets and deques of the caller's own that are in reach, and globals that are assigned. They are put back."""

    def __init__(self) -> None:
        self._kept: dict[int, tuple[Any, Any]] = {}  # the container, and a copy of it
        self._globals: dict[tuple[int, str], tuple[dict[str, Any], Any]] = {}
        self._attributes: dict[tuple[int, str], tuple[type, Any]] = {}  # of classes
        self._written: set[int] = set()
        self._writes_items = False  # into some container that is in reach
        self._was_alone = _is_alone()

    def has(self, container: Any) -> bool:
        return id(container) in self._kept

    def keep(self, container: Any) -> None:
        self._kept[id(container)] = container, container.copy()

    def keep_attribute(self, kind: type, name: str) -> bool:
        """False: another thread may write to it meanwhile."""
        self._attributes.setdefault((id(kind), name), (kind, vars(kind).get(name, self)))
        return _is_alone()

    def may_be_written(self, names: dict[str, Any], facts: Code) -> bool:
        """Whether what a function writes can be put back: not beside a thread that may write to it meanwhile."""
        self._writes_items |= facts.writes_items
        for key in facts.written_globals:
            self._globals.setdefault((id(names), key), (names, names.get(key, self)))
        return not (self._globals or self._writes_items and self._kept) or _is_alone()

    def is_to_be_written(self, container: Any) -> bool:
        if not self.has(container) or not _is_alone():
            return False
        self._written.add(id(container))
        return True

    def put_back(self, is_all: bool) -> None:
        """`is_all`: whatever has changed, where no other thread can have done it; else what the run is known to have written."""
        is_all &= self._was_alone and _is_alone()
        for (_, key), (names, value) in self._globals.items():
            if value is self:
                names.pop(key, None)
            else:
                names[key] = value
        for (_, key), (kind, value) in self._attributes.items():
            if value is not self:
                setattr(kind, key, value)
            elif key in vars(kind):
                delattr(kind, key)
        for container, was in self._kept.values():
            if is_all or self._writes_items or id(container) in self._written or type(container) is collections.defaultdict:
                _put_back(container, was)


def _is_alone() -> bool:
    return threading.active_count() == 1


def _put_back(container: Any, was: Any) -> None:
    now, before = list(container), list(was)
    is_same = len(now) == len(before) and all(mine is theirs for mine, theirs in zip(now, before))
    if isinstance(container, dict):
        for key in now:
            if key not in was:
                del container[key]
        if is_same or all(key in container for key in before):
            for key in before:
                if container[key] is not was[key]:
                    container[key] = was[key]
            if [*container] == before:
                return
        container.clear()
        container.update(was)
    elif is_same:
        return
    elif isinstance(container, list):
        container[:] = before
    else:
        container.clear()
        (container.extend if isinstance(container, collections.deque) else container.update)(before)
