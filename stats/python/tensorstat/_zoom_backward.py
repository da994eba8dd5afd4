"""The backward of a call is run again, and each of its nodes is looked at: which was the first that was given finite
gradients and gave others, and which line of the forward made it.
"""
import sys
from collections.abc import Callable
from typing import Any

from ._journal import caller_of
from ._modes import around
from ._rerun import Run, Stop, as_it_was, counts_of, kinds_in, refusal_of, values_of
from ._tensors import tensors_in


def backward(run: Run, gradients: dict[int, Any], module_name: Callable[[], str], silence: Any) -> dict[str, Any]:
    """The first node of autograd that is given finite gradients and gives others, where the call is run again with these
    gradients of its results."""
    torch = sys.modules["torch"]
    if words := refusal_of(run):
        return {"result": "refused", "why": words}
    if kinds_in(gradients.values()):
        return {"result": "given", "why": "the gradient that the loss handed over held the fault"}
    try:
        nodes = _Nodes(module_name)
        with as_it_was(run, keep_graph=True) as copies, silence(nodes.take_of_module), torch.enable_grad():
            arguments = _leaves(run.arguments, torch)
            with around(nodes.run):
                outputs = tensors_in(run.module(*arguments, **run.keywords))
            nodes.take(outputs, "")
            nodes.watch()
            wanted = [(outputs[slot], gradient) for slot, gradient in gradients.items()
                      if slot < len(outputs) and outputs[slot].requires_grad and outputs[slot].shape == gradient.shape]
            leaves = [each for each in (*copies.values(), *tensors_in(arguments)) if each.requires_grad and each.is_leaf]
            if not wanted or not leaves:
                return {"result": "refused", "why": "run again, it has no graph of its own"}
            torch.autograd.grad([each for each, _ in wanted], leaves, [each for _, each in wanted], allow_unused=True)
    except Stop as stop:
        return {"result": "refused", "why": str(stop)}
    except Exception as fault:
        return {"result": "refused", "why": f"run again, it raised {type(fault).__name__}: {str(fault)[:160]}"}
    if nodes.found is None:
        return {"result": "clean", "why": "run again, every gradient was finite, or a sum of finite gradients was not"}
    node_name, public, where, module, given, gave = nodes.found
    found: dict[str, Any] = {"result": "found", "operation": node_name, "inside": module, "given": given, "gave": gave,
                             "inf_written": False}
    if public:
        found["why"] = f"backward of {public}"
    if where is not None:
        found["file"], found["line"] = where[:2]
    return found


def _leaves(value: Any, torch: Any) -> Any:
    if type(value) is torch.Tensor:
        return value.detach().requires_grad_(value.requires_grad)
    if type(value) in (tuple, list):
        return type(value)(_leaves(each, torch) for each in value)
    return {key: _leaves(each, torch) for key, each in value.items()} if type(value) is dict else value


class _Nodes:
    """The nodes of autograd, by the functions and lines that made them."""

    def __init__(self, module_name: Callable[[], str]) -> None:
        self._module_name = module_name
        self._known: dict[int, tuple[Any, str, Any, str]] = {}
        self.found: tuple[str, str, Any, str, str, str] | None = None

    def run(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        out = func(*args, **kwargs)
        self.take(tensors_in(out), getattr(func, "__name__", ""))
        return out

    def take_of_module(self, outputs: Any) -> None:
        self.take(tensors_in(outputs), "")

    def take(self, tensors: list[Any], name: str) -> None:
        waiting = [each.grad_fn for each in tensors if each.grad_fn is not None]
        where = None
        while waiting:
            node = waiting.pop()
            if node is None or id(node) in self._known:
                continue
            where = where or caller_of(sys._getframe(1))
            self._known[id(node)] = node, name, where, self._module_name()
            waiting += [each for each, _ in node.next_functions]

    def watch(self) -> None:
        for node, name, where, module in self._known.values():
            node.register_hook(self._hook(node, name, where, module))

    def _hook(self, node: Any, name: str, where: Any, module: str) -> Callable[[Any, Any], None]:
        node_name = node.name()
        backward_of = getattr(getattr(type(node), "_forward_cls", None), "backward", None)
        code = getattr(backward_of, "__code__", None)
        if code is not None:  # the caller's own torch.autograd.Function
            where, name = (code.co_filename, code.co_firstlineno, code.co_name), ""

        def hook(gave: Any, given: Any) -> None:
            if self.found is None and kinds_in(gave) and not kinds_in(given):
                bad = [each for each in gave if each is not None and kinds_in([each])]
                self.found = node_name, name, where, module, values_of(each for each in given if each is not None), counts_of(bad)
        return hook
