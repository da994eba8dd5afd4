"""A module that gave NaN or Inf is run once more, and each of its operations is looked at: which was the first that was
given finite values and gave others, and at which line.

Nothing of the caller's is written: the attributes of modules are exchanged for copies while it runs, parameters share
their elements and have no hooks, the random state is put back, and an operation that would write to a tensor that the run
has not made itself ends it before it writes.
"""
import collections
import contextlib
import functools
import sys
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from ._journal import caller_of
from ._modes import around
from ._tensors import tensors_in
from ._verdict import INF, NAN

# Operations that put a value where the caller wants it: an Inf of theirs is meant.
_WRITERS = {"full", "full_like", "new_full", "fill", "masked_fill", "where", "copy", "scalar_tensor", "index_put", "index_fill",
            "scatter", "masked_scatter", "lift_fresh", "constant_pad_nd", "triu", "tril", "index_copy", "slice_scatter",
            "select_scatter", "to_copy", "clone"}
_UNWRITTEN = {"empty", "empty_like", "new_empty", "empty_strided", "new_empty_strided", "resize"}  # hold anything
_PLAIN_NAMES = {"linear", "conv1d", "conv2d", "conv3d", "matmul", "bmm", "mm", "einsum", "batch_norm", "layer_norm", "group_norm",
                "embedding", "softmax", "log_softmax", "gelu", "relu", "silu", "dropout", "baddbmm", "addmm", "pow", "mean"}
_REASONS = {"log": "log of a number below zero, or of zero", "log2": "log of a number below zero, or of zero",
            "log10": "log of a number below zero, or of zero", "log1p": "log1p of a number of -1 or below",
            "sqrt": "the root of a number below zero", "rsqrt": "the root of zero, or of a number below",
            "acos": "acos beyond 1", "asin": "asin beyond 1", "div": "a division by zero, or an overflow",
            "reciprocal": "a division by zero", "exp": "an overflow of the dtype", "pow": "a power that is none, or an overflow",
            "mul": "an overflow of the dtype", "to_copy": "an overflow of the dtype that it was cast to",
            "softmax": "a row of -Inf alone", "log_softmax": "a row of -Inf alone"}


class Stop(BaseException):
    """Ends a run; no `except Exception` of the caller's takes it for his own."""


class Run:
    """A call that is to be run again."""
    __slots__ = ("_module", "arguments", "keywords", "versions", "random_state")

    def __init__(self, module: Any, arguments: tuple[Any, ...], keywords: dict[str, Any], versions: list[int],
                 random_state: Any) -> None:
        self._module, self.arguments, self.keywords = weakref.ref(module), arguments, keywords
        self.versions, self.random_state = versions, random_state

    @property
    def module(self) -> Any:
        return self._module()


class Made:
    """A tensor that holds NaN or Inf, by the operation that gave it; `operation` is "" of what came from outside."""
    __slots__ = ("operation", "public", "kinds", "parents", "is_written", "where", "module", "given", "gave")

    def __init__(self, operation: str, kinds: int, parents: "list[Made]") -> None:
        self.operation, self.kinds, self.parents = operation, kinds, parents
        self.public = self.module = self.given = self.gave = ""
        self.is_written = False
        self.where: tuple[str, int, str] | None = None


def kinds_in(tensors: Any) -> int:
    torch = sys.modules["torch"]
    kinds = 0
    for each in tensors:
        if each is None or not (each.is_floating_point() or each.is_complex()):
            continue
        each = each.detach()
        if each.layout is not torch.strided:
            each = each._values() if each.layout is torch.sparse_coo else each.values()
        kinds |= NAN * bool(torch.isnan(each).any()) | INF * bool(torch.isinf(each).any())
    return kinds


def versions_of(arguments: Any) -> list[int]:
    return [-1 if each.is_inference() else each._version for each in tensors_in(arguments)]


def forward(run: Run, kinds: int, is_outermost: bool, module_name: Callable[[], str], silence: Any) -> dict[str, Any]:
    """The members of a line of watch.ndjson: what made `kinds` of fault in the outputs of this call, 0 where it is not in
    its outputs but was given to a module inside."""
    if words := _refusal(run):
        return {"result": "refused", "why": words}
    given = kinds_in(tensors_in((run.arguments, run.keywords)))
    if given & NAN or (given and not (is_outermost and kinds & NAN)):
        return {"result": "given", "why": "its arguments held the fault before the call"}
    return {**_again(run, kinds, module_name, silence), "given_finite": not given}


def _again(run: Run, kinds: int, module_name: Callable[[], str], silence: Any) -> dict[str, Any]:
    torch = sys.modules["torch"]
    eye = _eye_class()(module_name, run)
    try:
        with _as_it_was(run, keep_graph=False), silence(), torch.no_grad(), _names(eye), eye:
            outputs = tensors_in(run.module(*run.arguments, **run.keywords))
        made = eye.maker(outputs, kinds)
    except Stop as stop:
        return {"result": "refused", "why": str(stop)}
    except Exception as fault:
        return {"result": "refused", "why": f"run again, it raised {type(fault).__name__}: {str(fault)[:160]}"}
    if made is None:
        return {"result": "clean", "why": "run again, it gave finite values: by a state that is gone, such as a cache or random "
                                          "numbers of the caller's own, or by a fault of the hardware"}
    event, is_of_written = made
    if not event.operation:
        return {"result": "given", **eye.named_outside(event)}
    found = _line_of(event)
    found["inf_written"] = is_of_written or event.is_written
    return found


def _line_of(event: Made) -> dict[str, Any]:
    found: dict[str, Any] = {"result": "found", "operation": _shown(event.operation, event.public), "given": event.given,
                             "gave": event.gave, "inside": event.module}
    if event.where is not None:
        found["file"], found["line"] = event.where[:2]
    if event.operation in _REASONS:
        found["why"] = _REASONS[event.operation]
    return found


def _shown(operation: str, public: str) -> str:
    if not public or public.startswith("_") or operation in public or public in operation:
        return public if public in _PLAIN_NAMES else operation
    return public if public in _PLAIN_NAMES else f"{operation} in {public}"


def _refusal(run: Run) -> str:
    torch = sys.modules["torch"]
    if versions_of(run.arguments) != run.versions:
        return "its arguments were written in place, and what they were is gone"
    if type(run.module).__name__ == "OptimizedModule":
        return "it is compiled"
    if torch.cuda.is_initialized():
        free, whole = torch.cuda.mem_get_info()
        if free < 0.2 * whole:
            return "too little memory of the device is free"
    return ""


@contextlib.contextmanager
def _as_it_was(run: Run, keep_graph: bool) -> Iterator[dict[int, Any]]:
    """Copies of the attributes of the module, and the random state of the call; yields the parameters' copies by the ids of
    their originals."""
    torch = sys.modules["torch"]
    copies: dict[int, Any] = {}

    def of_parameter(parameter: Any) -> Any:
        if parameter is None or not keep_graph:
            return parameter
        if id(parameter) not in copies:
            copies[id(parameter)] = torch.nn.Parameter(parameter.detach(), requires_grad=parameter.requires_grad)
        return copies[id(parameter)]

    def of_attribute(key: str, value: Any) -> Any:
        if key == "_parameters":
            return type(value)((name, of_parameter(each)) for name, each in value.items())
        if key == "_buffers":
            return type(value)((name, each if each is None else each.detach().clone()) for name, each in value.items())
        if key.endswith("_hooks") and isinstance(value, dict):
            keeps = key == "_forward_pre_hooks"
            return type(value)((name, hook) for name, hook in value.items()
                               if keeps and (getattr(hook, "__module__", "") or "").startswith("torch.nn.utils"))
        if isinstance(value, torch.nn.Parameter):
            return of_parameter(value)
        if isinstance(value, torch.Tensor):
            return value if value.grad_fn is not None else value.detach().clone().requires_grad_(value.requires_grad)
        if type(value) is list and any(isinstance(each, torch.nn.Parameter) for each in value):  # an RNN has such a list
            return [of_parameter(each) if isinstance(each, torch.nn.Parameter) else each for each in value]
        if type(value) in (list, dict, set, collections.OrderedDict, collections.deque, collections.defaultdict):
            return value.copy()
        return value

    modules = list(run.module.modules()) if not isinstance(run.module, torch.jit.ScriptModule) else []
    modules = [each for each in modules if not isinstance(each, torch.jit.ScriptModule)]
    kept = [(each, each.__dict__) for each in modules]
    now = torch.default_generator.get_state()
    on_device = torch.cuda.get_rng_state() if torch.cuda.is_initialized() else None
    try:
        for each, attributes in kept:
            object.__setattr__(each, "__dict__", {key: of_attribute(key, value) for key, value in attributes.items()})
        if run.random_state is not None:
            torch.default_generator.set_state(run.random_state[0])
            if run.random_state[1] is not None:
                torch.cuda.set_rng_state(run.random_state[1])
        yield copies
    finally:
        for each, attributes in kept:
            object.__setattr__(each, "__dict__", attributes)
        torch.default_generator.set_state(now)
        if on_device is not None:
            torch.cuda.set_rng_state(on_device)


def _place_of(tensor: Any) -> int:
    """Of its storage; views share it."""
    try:
        storage = tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else tensor.storage()
        return int(storage.data_ptr())
    except Exception:  # sparse, or of a kind that has none
        return id(tensor)


def _text_of(arguments: Any) -> str:
    """Values of an operation's arguments, in a line."""
    torch = sys.modules["torch"]
    words = []
    for each in list(arguments)[:4]:
        if isinstance(each, torch.Tensor):
            values = each.detach()
            shape = f"{str(values.dtype).removeprefix('torch.')}{list(values.shape)}"
            if values.numel() == 0 or values.is_complex() or values.layout is not torch.strided:
                words.append(shape)
                continue
            values = values.double() if values.dtype is not torch.bool else values.int()
            low, high = values.min().item(), values.max().item()
            words.append(f"{shape} {low:.6g} to {high:.6g}" if values.numel() > 1 else f"{shape} {low:.6g}")
        elif isinstance(each, (int, float)) and not isinstance(each, bool):
            words.append(f"{each:.6g}")
    return ", ".join(words)


def _counts_of(tensors: Any) -> str:
    torch = sys.modules["torch"]
    nans = sum(int(torch.isnan(each).sum()) for each in tensors)
    infs = sum(int(torch.isinf(each).sum()) for each in tensors)
    whole = sum(each.numel() for each in tensors)
    return ", ".join(words for count, words in ((nans, f"{nans} NaN"), (infs, f"{infs} Inf")) if count) + f" of {whole}"


def _names(eye: Any) -> Any:
    """Tells the eye which function the caller called, around the operations that it is made of."""
    def run(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        before = eye.public
        eye.public = before or getattr(func, "__name__", "")
        try:
            return func(*args, **kwargs)
        finally:
            eye.public = before
    return around(run)


@functools.cache
def _eye_class() -> Any:
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_flatten

    class Eye(TorchDispatchMode):  # type: ignore[misc]
        """Each operation below autograd, with what is known of the storages that hold NaN or Inf."""

        def __init__(self, module_name: Callable[[], str], run: Run) -> None:
            super().__init__()
            self.public = ""
            self._module_name, self._run = module_name, run
            self._faulty: dict[int, Made] = {}  # by their storage
            self._own: set[int] = set()  # storages that the run has made
            self._events: list[Made] = []
            self._copies: set[int] | None = None  # storages of what was exchanged before the run

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            kwargs = kwargs or {}
            schema = getattr(func, "_schema", None)
            name = schema.name.split("::")[-1].strip("_") if schema is not None else str(func)
            given = [each for each in tree_flatten((args, kwargs))[0] if isinstance(each, torch.Tensor)]
            written = self._written(schema, args, kwargs)
            for each in written:
                if _place_of(each) not in self._own and not self._is_of_copies(each):
                    raise Stop(f"{name} would write to a tensor that was there before")
            # What is written is looked at before; of all else it is done only where the result asks for it.
            parents = self._made_of_all(given) if written else []
            given_text = _text_of((*args, *kwargs.values())) if written else ""
            out = func(*args, **kwargs)
            results = [each for each in tree_flatten(out)[0] if isinstance(each, torch.Tensor)]
            sources = {_place_of(each) for each in given}
            for each in results:
                if (place := _place_of(each)) not in sources:
                    self._own.add(place)
                    self._faulty.pop(place, None)
            if name in _UNWRITTEN:
                return out
            bad = [each for each in results if kinds_in([each])]
            is_view = not written and schema is not None and any(_place_of(each) in sources for each in results)
            if not bad or is_view:
                if written and not bad:
                    for each in written:
                        if not kinds_in([each]):
                            self._faulty.pop(_place_of(each), None)
                return out
            if not written:
                parents = self._made_of_all(given)
            kinds = kinds_in(bad)
            made = Made(name, kinds, parents)
            made.public, made.module = self.public, self._module_name()
            made.where = caller_of(sys._getframe(1))
            known = 0
            for each in parents:
                known |= each.kinds
            if kinds & ~known:
                made.given = given_text or _text_of((*args, *kwargs.values()))
                made.gave = _counts_of(bad)
                made.is_written = not kinds & NAN and not known and (name in _WRITERS and not _is_cast(name, given, results))
                self._events.append(made)
            for each in bad:
                self._faulty[_place_of(each)] = made
            return out

        def _written(self, schema: Any, args: Any, kwargs: Any) -> list[Any]:
            if schema is None:
                return []
            found = []
            for number, argument in enumerate(schema.arguments):
                if argument.alias_info is not None and argument.alias_info.is_write:
                    value = args[number] if number < len(args) else kwargs.get(argument.name)
                    found += [each for each in tree_flatten(value)[0] if isinstance(each, torch.Tensor)]
            return found

        def _is_of_copies(self, tensor: Any) -> bool:
            if self._copies is None:
                self._copies = set()
                for module in self._run.module.modules():
                    values = [*module.__dict__.get("_buffers", {}).values(), *module.__dict__.values()]
                    self._copies |= {_place_of(each) for each in values if isinstance(each, torch.Tensor)
                                      and not isinstance(each, torch.nn.Parameter)}
            return _place_of(tensor) in self._copies

        def _made_of_all(self, tensors: list[Any]) -> list[Made]:
            found: list[Made] = []
            for each in tensors:
                if (made := self._made_of(each)) is not None and made not in found:
                    found.append(made)
            return found

        def _made_of(self, tensor: Any) -> Made | None:
            kinds = kinds_in([tensor])
            if not kinds:
                return None
            made = self._faulty.get(_place_of(tensor))
            if made is None and tensor.dim() == 0:
                return None  # a constant: the operation that writes it is its maker
            if made is None:  # from outside
                made = self._faulty[_place_of(tensor)] = Made("", kinds, [])
                made.is_written = kinds == INF and (tensor.numel() == 1 or not bool(torch.isposinf(tensor).any()))
                made.given = str(_place_of(tensor))
            return made

        def maker(self, outputs: list[Any], kinds: int) -> tuple[Made, bool] | None:
            wanted = NAN if kinds & NAN else INF
            if kinds:
                for each in outputs:
                    found = kinds_in([each])
                    if found & wanted and (made := self._faulty.get(_place_of(each))) is not None:
                        return _root_of(made, wanted)
                if not kinds_in(outputs) & wanted:
                    return None
            events = [each for each in self._events if not each.is_written]
            if not events:
                return None
            return _root_of(events[0], NAN if events[0].kinds & NAN else INF)

        def named_outside(self, made: Made) -> dict[str, str]:
            for kind, named in (("parameter", self._run.module.named_parameters()), ("buffer", self._run.module.named_buffers())):
                for name, each in named:
                    if str(_place_of(each)) == made.given:
                        return {"why": f"the {kind} {name} holds the fault", "parameter": name}
            return {"why": "a tensor from outside of the call holds the fault"}

    return Eye


def _is_cast(name: str, given: list[Any], results: list[Any]) -> bool:
    return name in ("to_copy", "copy", "clone") and bool(given) and bool(results) and given[-1].dtype != results[0].dtype


def _root_of(made: Made, wanted: int) -> tuple[Made, bool]:
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


def backward(run: Run, gradients: dict[int, Any], module_name: Callable[[], str], silence: Any) -> dict[str, Any]:
    """The first node of autograd that is given finite gradients and gives others, where the call is run again with these
    gradients of its results."""
    torch = sys.modules["torch"]
    if words := _refusal(run):
        return {"result": "refused", "why": words}
    if kinds_in(gradients.values()):
        return {"result": "given", "why": "the gradient that the loss handed over held the fault"}
    try:
        nodes = _Nodes(module_name)
        with _as_it_was(run, keep_graph=True) as copies, silence(nodes.take_of_module), torch.enable_grad():
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
                self.found = node_name, name, where, module, _text_of(each for each in given if each is not None), _counts_of(bad)
        return hook
