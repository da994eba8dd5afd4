"""A model's modules, and their calls that are open."""
import gc
import sys
import threading
from collections.abc import Callable
from typing import Any


def module_of(op_name: str) -> str:
    """The module's path in the name of a row: "layers.6" of "layers.6/backward". Other names stay."""
    return op_name.removesuffix("/forward").removesuffix("/backward").removesuffix("/eval")


class Place:
    """A module of the model."""
    __slots__ = ("name", "op_type", "is_outermost", "is_wanted", "is_random_now", "has_trained", "is_of_optimizer", "mode", "forward", "backward", "eval")

    def __init__(self, name: str, module: Any, is_outermost: bool, is_wanted: bool) -> None:
        self.name, self.op_type, self.is_outermost, self.is_wanted = name, class_of(module), is_outermost, is_wanted
        self.forward, self.backward, self.eval = f"{name}/forward", f"{name}/backward", f"{name}/eval"
        self.is_random_now = self.has_trained = False
        self.is_of_optimizer: bool | None = None  # None: not asked yet
        self.mode: bool | None = None  # module.training of its last call with gradients

    def evaluates(self, module: Any) -> bool:
        """Whether a call of this outermost module is an evaluation, and no part of a training step. A module that never
        trains, such as a teacher or one that only infers, has none. One that has not trained yet, but has an optimizer, may be
        evaluated before its first step, without gradients."""
        self.has_trained |= bool(module.training)
        if module.training or self.has_trained or sys.modules["torch"].is_grad_enabled():
            return self.has_trained and not module.training
        if self.is_of_optimizer is None:
            self.is_of_optimizer = is_of_optimizer(module)
        return self.is_of_optimizer


def is_of_optimizer(module: Any) -> bool:
    """Whether an optimizer of torch's in this process has a parameter of this module. This runs no code of other objects."""
    parameters, kind = set(map(id, module.parameters())), sys.modules["torch"].optim.Optimizer
    groups = [group for each in gc.get_objects() if issubclass(type(each), kind)
              for group in object.__getattribute__(each, "__dict__").get("param_groups", ())]
    return any(id(each) in parameters for group in groups for each in group["params"])


def class_of(module: Any) -> str:
    """The name of the caller's class: FSDP2 makes FSDPSequential of a Sequential, and parametrize ParametrizedSequential."""
    classes = type(module).__mro__
    number = 0
    while classes[number].__module__.startswith(("torch.distributed.", "torch.nn.utils.parametrize")):
        made = classes[number].__name__
        below = [each for each in range(number + 1, len(classes)) if made != classes[each].__name__ and made.endswith(classes[each].__name__)]
        if not below:
            break
        number = below[0]
    return str(classes[number].__name__)


class Call:
    """A module that runs."""
    arguments: tuple[Any, ...] = ()
    keywords: dict[str, Any] | None = None
    versions: list[int] = []
    buffers: dict[str, tuple[int, int]] = {}  # of the module itself, by name: their state before the call
    before: Any = None  # of the outermost: (arguments, keywords) as they were before the call, where they hold containers
    random_state: Any = None
    forward: Any = None  # of the module alone, in place of its class's
    where: tuple[str, int, str] | None = None
    took = 0  # kinds of fault in its inputs, where they were looked at
    is_looked_at = False
    are_inputs_saved = False  # beside one that an alert names
    is_only_held = False  # the fault in its inputs lies in containers: it may look past it
    is_to_be_zoomed = is_transformed = False  # of the latter: by torch.func
    blamed_reads = False  # that module was given a container, and may read what another module wrote into it
    blamed = ""  # is_to_be_zoomed because of this module inside, which could not be run again itself
    is_compiled = False  # it ran inside of a compiled graph: see _graph
    compiled_inside: tuple[str, str] | None = None  # the row and the module of the first such call inside that gave a fault
    edges: list[tuple[int, Any, int]] = []  # of its arguments: see _edges

    def __init__(self, place: Place, module: Any, parent: "Call | None", is_quiet: bool, is_evaluation: bool = False) -> None:
        self.place, self.module, self.parent, self.is_quiet = place, module, parent, is_quiet
        self.name = place.eval if is_evaluation else place.forward
        # For the outermost: results that wait for their gradient, with the calls that gave them, the innermost first.
        self.results: dict[tuple[int, int], tuple[Any, list[tuple[str, str, int]], Any]] = parent.results if parent else {}


    def forget_tensors(self) -> None:
        """Its rows are judged when what it was given is gone."""
        self.arguments, self.keywords, self.before, self.random_state, self.edges, self.results = (), None, None, None, [], {}
        self.module = self.forward = None


def pop_call(calls: list[Any], module: Any) -> Any:
    """Takes the open call of this module off, with those inside that an exception has left. None: it has none."""
    while calls:
        if (call := calls.pop()).module is module:
            return call
    return None


class PerThread(threading.local):
    def __init__(self) -> None:
        self.calls: list[Call] = []  # that are open, the innermost last
        self.is_evaluation = False  # the outermost call is
        self.is_silent = False  # a call that is run again
        self.silent_names: list[str] = []  # of the modules that run then
        self.on_silent_call: Callable[[Any], None] | None = None  # with what a module is given, and with its results


def is_inside_backward() -> bool:
    """Whether this thread is inside of a backward: a module that runs there is run again, by a checkpoint."""
    torch = sys.modules["torch"]
    if hasattr(torch._C, "_current_graph_task_id"):
        return bool(torch._C._current_graph_task_id() != -1)
    try:
        torch.autograd.Variable._execution_engine.queue_callback(_nothing)
    except RuntimeError:
        return False
    return True


def _nothing() -> None:
    pass
