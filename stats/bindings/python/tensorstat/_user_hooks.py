"""Hooks that the caller put on modules and parameters. A second run of a call has none of them: if it is clean, one of them is to
blame for what the first gave."""
import dis
from collections.abc import Iterable
from types import CodeType
from typing import Any

from ._journal import is_callers

_FORWARD = ("_forward_pre_hooks", "a forward pre-hook"), ("_forward_hooks", "a forward hook")
_BACKWARD = ("_backward_pre_hooks", "a backward pre-hook"), ("_backward_hooks", "a backward hook")
_KEEPERS = {"append", "extend", "add", "update", "print", "write", "info", "debug", "log", "put"}  # what a lambda that only looks calls
_OF_PARAMETER = ("_backward_hooks", "a hook"), ("_post_accumulate_grad_hooks", "a hook behind the sum")


def to_blame(members: dict[str, Any], hooks: list[dict[str, Any]]) -> dict[str, Any]:
    """The result of a clean second run, if such hooks exist. With several, none is chosen, because no hook of theirs runs twice."""
    if members["result"] != "clean" or not hooks:
        return members
    if len(hooks) == 1:
        return {"given": "", "gave": "", "inf_written": False, **hooks[0], "result": "found"}
    return {**members, "result": "refused", "why": f"run again without hooks, it was finite: one of {len(hooks)} hooks made it: {_named(hooks)}"}


def suspected(hooks: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The line that names the hooks which may have made a fault, where no second run tells. None if the caller has no hooks."""
    if not hooks:
        return None
    return {"result": "refused", "why": f"nothing was run again, and it may come from {'a hook' if len(hooks) == 1 else 'one of the hooks'}: {_named(hooks)}"}


def _named(hooks: list[dict[str, Any]]) -> str:
    return "; ".join(f"{each['operation']} ({each['file'].rpartition('/')[2]}:{each['line']}), {each['why'].partition(';')[0]}" for each in hooks[:4])


def of_forward(modules: Iterable[tuple[str, Any]], called: Any) -> list[dict[str, Any]]:
    """The hooks of a call of the module `called`, and of the calls inside. Its own forward hooks run behind the watch's."""
    return [each for name, module in modules for each in _in(module, _FORWARD[:1] if module is called else _FORWARD, name, name)]


def of_backward(modules: Iterable[tuple[str, Any]]) -> list[dict[str, Any]]:
    return [each for name, module in modules for each in _in(module, _BACKWARD, name, name)]


def of_parameter(name: str, parameter: Any, module: str) -> list[dict[str, Any]]:
    return _in(parameter, _OF_PARAMETER, name, module)


def _in(holder: Any, kinds: tuple[tuple[str, str], ...], name: str, module: str) -> list[dict[str, Any]]:
    lines = []
    for attribute, what in kinds:
        for hook in (getattr(holder, attribute, None) or {}).values():
            function = getattr(hook, "func", hook)  # a partial
            code = getattr(getattr(function, "__func__", function), "__code__", None)
            code = code or getattr(getattr(type(function), "__call__", None), "__code__", None)
            if code is not None and is_callers(code) and _may_change(code):
                lines.append({"operation": f"hook {getattr(function, '__name__', type(function).__name__)}", "inside": module,
                              "file": code.co_filename, "line": code.co_firstlineno,
                              "why": f"{what} of {name}; run again without it, all was finite"})
    return lines


def _may_change(code: CodeType) -> bool:
    """Whether a hook with this code returns something, or writes in place. One that only looks is not suspected."""
    if code.co_name == "<lambda>" and not _KEEPERS.isdisjoint(code.co_names):
        return False
    if any(name.endswith("_") and not name.endswith("__") for name in code.co_names):
        return True
    before: Any = None
    for each in dis.get_instructions(code):
        is_return = each.opname == "RETURN_VALUE" and not (before is not None and before.opname == "LOAD_CONST" and before.argval is None)
        is_constant = each.opname == "RETURN_CONST" and each.argval is not None
        is_write = each.opname == "STORE_SUBSCR" or each.opname == "BINARY_OP" and each.argrepr.endswith("=")
        if is_return or is_constant or is_write:
            return True
        before = each
    return False
