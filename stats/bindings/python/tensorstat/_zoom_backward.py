"""The backward of a call is run again, and each of its nodes is looked at: which was the first that was given finite
gradients and gave others, and which line of the forward made it.
"""
import functools
import sys
from collections.abc import Callable
from typing import Any

from ._journal import caller_of
from ._checkpoints import taken_out
from ._forward_faults import ForwardFaults
from ._rerun import Run, Stop, World, as_it_was, counts_of, kinds_in, refusal_of, values_of
from ._tensors import tensors_in
from ._verdict import NAN


def backward(run: Run, gradients: dict[int, Any], module_name: Callable[[], str], silence: Any, hooks: Any) -> dict[str, Any]:
    """The first node of autograd that is given finite gradients and gives others, where the call is run again with these
    gradients of its results."""
    torch = sys.modules["torch"]
    if words := refusal_of(run):
        return {"result": "refused", "why": words}
    try:
        nodes = _Nodes(module_name)
        with as_it_was(run, hooks) as world, silence(nodes.take_of_module), torch.enable_grad(), _writes(world):
            with world.named(nodes.run), taken_out():
                outputs = tensors_in(world.call())
            if kinds_in(outputs):
                return {"result": "refused", "why": "run again, it gave other results"}
            nodes.take(outputs, "")
            if nodes.has_python and any(not each.is_cpu for each in outputs):
                return {"result": "refused", "why": "on a device the caller's own backward cannot be looked at"}
            nodes.watch()
            wanted = [(outputs[slot], gradient) for slot, gradient in gradients.items()
                      if slot < len(outputs) and outputs[slot].requires_grad and outputs[slot].shape == gradient.shape]
            for result, gradient in wanted:
                nodes.hand_over(result, gradient)
            # A function of the caller's may hold the model itself. A hook of its parameter's would run twice.
            own = [each for each in world.shadow.originals if not each._backward_hooks]
            leaves = [each for each in (*world.shadow.parameters.values(), *own, *tensors_in((world.arguments, world.keywords)))
                      if each.requires_grad and each.is_leaf]
            if not wanted or not leaves:
                return {"result": "refused", "why": "run again, it has no graph of its own"}
            world.run(torch.autograd.grad, [each for each, _ in wanted], leaves, [torch.zeros_like(each) for _, each in wanted],
                      allow_unused=True)
    except Stop as stop:
        return {"result": "refused", "why": str(stop)}
    except Exception as fault:
        return {"result": "refused", "why": f"run again, it raised {type(fault).__name__}: {str(fault)[:160]}"}
    if nodes.is_given:
        return {"result": "given", "why": "the gradient that the loss handed over held the fault"}
    if nodes.source is None:
        return {"result": "clean", "why": "run again, every gradient was finite, or a sum of finite gradients was not"}
    node_name, public, where, module, given, gave = nodes.source
    members: dict[str, Any] = {"result": "found", "operation": node_name, "inside": module, "given": given, "gave": gave,
                               "inf_written": False}
    if node_name.startswith("hook "):
        members["why"] = "no node gave the NaN that the next was given: a hook on a tensor did"
    if public:
        members["why"] = f"backward of {public}{nodes.words_of_forward()}"
    if (maker := nodes.maker(where)) is not None:  # in the forward, as where it is seen in another module
        members["operation"], where, members["gave"], members["why"] = maker
        members["given"] = ""
    if where is not None:
        members["file"], members["line"] = where[:2]
    return members


def _writes(world: World) -> Any:
    """Stops an operation that would write to existing storages."""
    return _writes_class()(world)


@functools.cache
def _writes_class() -> Any:
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_flatten

    class Writes(TorchDispatchMode):  # type: ignore[misc]
        def __init__(self, world: World) -> None:
            super().__init__()
            self._world = world

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            kwargs = kwargs or {}
            self._world.stop_write(getattr(func, "_schema", None), args, kwargs)
            out = func(*args, **kwargs)
            given, results = ([each for each in tree_flatten(all_of_it)[0] if isinstance(each, torch.Tensor)]
                              for all_of_it in ((args, kwargs), out))
            self._world.made(results, given)
            return out
    return Writes


class _Nodes:
    """The nodes of autograd, by the functions and lines that made them."""

    def __init__(self, module_name: Callable[[], str]) -> None:
        self._module_name = module_name
        self._known: dict[int, tuple[Any, str, Any, str]] = {}
        self._forward = ForwardFaults()
        self.source: tuple[str, str, Any, str, str, str] | None = None
        self._source_id = 0  # of the node
        self.has_gone = False  # a node has given a fault
        self.has_python = False  # a node is a function of the caller's
        self.is_given = False  # the loss handed the fault over, before any node made one

    def run(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        name = getattr(func, "__name__", "")
        before = self._forward.before(args, kwargs)
        out = func(*args, **kwargs)
        results = tensors_in(out)
        self._forward.behind(name, caller_of(sys._getframe(1)), before, (args, kwargs), results)
        self.take(results, name)
        return out

    def words_of_forward(self) -> str:
        """What the forward did to the operands of the node that was found."""
        return self._forward.words_of(self._source_id)

    def maker(self, line: Any) -> tuple[str, Any, str, str] | None:
        """What made the operand of the node that was found, at another line than the node's."""
        return self._forward.maker_of(self._source_id, line) if self._source_id else None

    def take_of_module(self, arguments_or_results: Any) -> None:
        """Arguments, too: run() does not see a torch.autograd.Function that the caller of the module used."""
        self.take(tensors_in(arguments_or_results), "")

    def take(self, tensors: list[Any], name: str) -> None:
        waiting = [each.grad_fn for each in tensors if each.grad_fn is not None]
        where = None
        while waiting:
            node = waiting.pop()
            if node is None or id(node) in self._known:
                continue
            where = where or caller_of(sys._getframe(1))
            self._known[id(node)] = node, name, where, self._module_name()
            self._forward.take_node(id(node))
            forward_class = getattr(type(node), "_forward_cls", None)
            self.has_python |= forward_class is not None and not forward_class.__module__.startswith("torch.")
            waiting += [each for each, _ in node.next_functions]

    def hand_over(self, result: Any, whole: Any) -> None:
        """`whole` is the gradient that a result had. A part of it comes from inside of the call, where the call used the result itself,
        as it does the keys that it gives back in a cache. So it takes the place of that part when backward gets there."""
        is_faulty = bool(kinds_in([whole]))

        def hook(part: Any) -> Any:
            if is_faulty and self.source is None and not kinds_in([part]):
                self.is_given = True
            return whole

        result.register_hook(hook)

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
            if self.has_gone or self.is_given or not kinds_in(gave):
                return
            self.has_gone, kinds = True, kinds_in(given)
            if not kinds:
                bad = [each for each in gave if each is not None and kinds_in([each])]
                self._source_id = id(node)
                self.source = node_name, name, where, module, values_of(each for each in given if each is not None), counts_of(bad)
            elif kinds & NAN:  # no node gave it; a sum of finite gradients may be Inf, but never NaN
                self.source = f"hook on what {name or node_name} gave", "", where, module, "", ""
        return hook
