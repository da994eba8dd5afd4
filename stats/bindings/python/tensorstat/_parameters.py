"""A model's parameters, their gradients and the optimizer's state, at the beginning and the end of a step."""
import itertools
import sys
import weakref
from collections.abc import Iterator, Mapping
from typing import Any

from ._check import first_faulty
from ._rerun import version_of
from ._tensors import address_of, has_same_elements, is_freed, is_lazy, local_of, tensors_in


class Parameters:
    """The parameters of a watch's model. Those that were written since they were last looked at get a row."""

    _has_checked_zero = _is_version_proved = False
    _is_taken_in_backward = _is_zeroed = False  # by an optimizer inside of backward; before the step ended
    is_taken_by_check = False  # the gradients of this step

    def __init__(self, watch: Any, named: list[tuple[str, Any]], has_rows: bool, optimizers: list[Any],
                 has_updates: bool = False) -> None:
        self._watch, self.named, self._has_rows, self._optimizers = watch, named, has_rows, optimizers
        self._has_updates = has_updates
        self._before: dict[str, Any] = {}  # with updates: copies of the parameters as they were before this step
        self._known: dict[str, tuple[int, int]] = {}  # what the parameters were when they were last looked at
        self._seen_gradients: dict[str, tuple[weakref.ref[Any] | None, int]] = {}  # not by id(), which another may have later
        self._finite_gradients: set[str] = set()  # as their rows say
        self._by_data: list[tuple[str, Any, Any]] | None = []  # see _is_written_by_data; None: it is
        self._by_size: list[tuple[str, Any]] = []

    def replace(self, named: list[tuple[str, Any]]) -> list[str]:
        """The model has other parameters now. Returns the names of those that are new or gone."""
        before, now = dict(self.named), dict(named)
        changed = [name for name in {**before, **now} if before.get(name) is not now.get(name)]
        self.named[:] = named
        self._by_size.clear()
        for name in changed:
            self._known.pop(name, None)
            self._seen_gradients.pop(name, None)
        return changed

    def clear(self) -> None:
        self.named.clear()
        self._by_size.clear()
        self._known.clear()
        self._before.clear()
        self._by_data = None

    def forget_step(self) -> None:
        self._seen_gradients.clear()
        self._finite_gradients.clear()
        self._before.clear()
        self.is_taken_by_check = False

    def has_seen_gradient(self, name: str) -> bool:
        return name in self._seen_gradients

    def saw_gradient(self, name: str, gradient: Any, is_finite: bool) -> None:
        """Backward added this one up, and it has a row. `is_finite`: that is known, and has neither NaN nor Inf."""
        self._is_taken_in_backward |= gradient is None
        self._finite_gradients.add(name) if is_finite else self._finite_gradients.discard(name)
        self._seen_gradients[name] = (weakref.ref(gradient), gradient._version) if gradient is not None else (None, -1)

    def states(self) -> dict[str, Any]:
        """What changes when a parameter is written."""
        return {name: state for (name, _), state in zip(self.named, self._states())}

    def are_replayed(self, written: list[str], with_gradients: set[str]) -> None:
        """A CUDA graph has written these parameters, and has rows of these gradients. Versions do not show it."""
        for name in written:
            self._known.pop(name, None)
        for name, parameter in self.named if with_gradients else ():
            if name in with_gradients:
                self.saw_gradient(name, parameter.grad, is_finite=False)

    def look_before(self, graph: int = 0) -> None:
        """Before the first forward of a step."""
        known = self._known
        for (name, parameter), state in zip(self.named, self._states()):
            if state is not None and known.get(name) != state:
                known[name] = state
                if self._has_rows and (faults := self._watch._collect("Parameter", name, (parameter,), graph=graph)):
                    self._watch.judge(faults, self._watch.note, "parameter", "Parameter", name, "input")
        if self._has_updates and not graph:
            self._before = {name: local for name, parameter in self.named if (local := _copy_of(parameter)) is not None}
        if self._by_data is not None and not self._is_version_proved:  # a few small ones, to see what their versions do not say
            strided = sys.modules["torch"].strided
            if not self._by_size:
                self._by_size = sorted((each for each in self.named if not is_lazy(each[1])), key=lambda each: each[1].numel())
            readable = (each for each in self._by_size if each[1].requires_grad and each[1].is_cpu and each[1].layout is strided and
                        not is_freed(local_of(each[1])))
            small = itertools.islice(readable, 3)
            self._by_data = [(name, each, local_of(each).detach().clone()) for name, each in small if each.numel() <= 1 << 16]

    def look_at_changed(self) -> None:
        """Before check() takes the gradients: a row of each that was changed behind backward."""
        for name, parameter in self.named if self._watch._with_gradients else ():
            if not is_lazy(parameter) and parameter.grad is not None:
                self._take_changed(name, parameter.grad)

    def _take_changed(self, name: str, gradient: Any) -> bool:
        watch = self._watch
        seen, version = self._seen_gradients.get(name, (None, -1))
        if watch._world_size == 1 and seen is not None and seen() is gradient and version == gradient._version:
            return False
        self._take(name, gradient)
        return True

    def _take(self, name: str, gradient: Any) -> None:
        watch = self._watch
        if faults := watch._collect("Gradient", name, (), (gradient,)):
            watch.judge(faults, watch.note, "gradient", "Gradient", name, "output")

    def look_after(self) -> bool:
        """At the end of a step. Whether gradients are there and no parameter was written: a scaler has skipped the step."""
        watch = self._watch
        gradient_count = written = 0
        is_written_by_data = self._is_written_by_data()
        zeroed = 0
        is_compared, with_gradients, known = bool(watch._compared), watch._with_gradients, self._known
        seen_gradients = self._seen_gradients
        for (name, parameter), state in zip(self.named, self._states()):
            if state is None:
                continue
            gradient = parameter.grad if with_gradients else None
            is_taken = gradient is None
            if gradient is not None:
                gradient_count += 1
                if is_taken := self._take_changed(name, gradient):
                    zeroed += name in seen_gradients and not self._has_checked_zero and _is_zero(gradient)
            else:
                zeroed += name in seen_gradients
            is_written = is_written_by_data and parameter.requires_grad or known.get(name) != state
            difference = watch.difference("Parameter", name) if is_compared else None
            if is_written:
                written += 1
                known[name] = state
            if self._has_rows and is_written or difference:
                if faults := watch._collect("Parameter", name, (), (parameter,),
                                            differs_over=None if difference is None else (difference,)):
                    may_be_written_by_data = not is_taken and name in self._finite_gradients and type(faults) is not list
                    if may_be_written_by_data and first_faulty([(name, gradient)]) is not None:
                        self._take(name, gradient)
                    watch.judge(faults, watch.note, "optimizer", "Parameter", name, "output")
            if (before := self._before.pop(name, None)) is not None and is_written and _subtract(before, parameter):
                watch._collect("ParameterUpdate", name, (), (before,))
            for key, value in self._state_of_optimizer(parameter) if self._optimizers else ():
                if tensors := tensors_in(value):
                    state_name = f"{name}/{key}"
                    differences = [watch.difference("OptimizerState", name_of_state(name, key, slot))
                                   for slot in range(len(tensors))] if is_compared else None
                    if faults := watch._collect("OptimizerState", state_name, (), tensors, differs_over=differences):
                        watch.judge(faults, watch.note, "optimizer", "OptimizerState", state_name, "output")
        if zeroed and zeroed == len(self._seen_gradients) and not (self._is_taken_in_backward or self.is_taken_by_check):
            if not self._is_zeroed:
                self._is_zeroed = True
                watch._journal.say("zeroed", iteration=watch.iteration)
            watch._say_once("the gradients were zeroed before step() of the watch: call it between optimizer.step() and "
                            "optimizer.zero_grad()")
        self._has_checked_zero = self._has_checked_zero or bool(self._seen_gradients)
        if watch._with_gradients and self._seen_gradients or self._has_rows and written:
            watch.judge(None, watch.is_clean, "gradient")
        is_skipped = not written and bool(self._seen_gradients or gradient_count or self.is_taken_by_check)
        if is_skipped:
            watch._journal.say("step", iteration=watch.iteration, written=0, parameter_count=len(self.named))
        return is_skipped

    def of_step(self) -> Iterator[tuple[str, str, Any, str, Any]]:
        """Every tensor at the end of a step, as Shards.step() takes them: the same names on every rank."""
        for name, parameter in self.named:
            if is_lazy(parameter):
                continue
            if self._watch._with_gradients:
                yield "Gradient", name, parameter.grad, name, parameter
            yield "Parameter", name, parameter, name, parameter  # behind the step, and so behind the gradient
            for key, value in self._state_of_optimizer(parameter):
                for slot, tensor in enumerate(tensors_in(value)):
                    lies_like = parameter if tensor.shape in (parameter.shape, local_of(parameter).shape) else None
                    yield "OptimizerState", name_of_state(name, key, slot), tensor, name, lies_like

    def _state_of_optimizer(self, parameter: Any) -> Iterator[tuple[str, Any]]:
        for optimizer in self._optimizers:
            yield from optimizer.state.get(parameter, {}).items()

    def _states(self) -> list[tuple[int, int] | None]:
        """_state_of() of each parameter; None for a lazy one, which has no values yet."""
        plain = sys.modules["torch"].nn.Parameter
        try:
            return [(each.data_ptr(), each._version) if type(each) is plain else None if is_lazy(each) else _state_of(each)
                    for _, each in self.named]
        except RuntimeError:  # one of inference mode has no version, and a sparse one no address
            return [None if is_lazy(each) else _state_of(each) for _, each in self.named]

    def _is_written_by_data(self) -> bool:
        """Whether the optimizer writes through `.data`, which leaves a parameter's version unchanged: then versions do not show its
        writes."""
        if self._by_data is None:
            return True
        for name, parameter, before in self._by_data:
            now = local_of(parameter).detach()
            is_same_version = self._known.get(name) == _state_of(parameter)
            is_readable = is_same_version and now.shape == before.shape and not is_freed(now)
            if is_readable and not has_same_elements(now, before):
                self._by_data = None
                return True
            # The optimizer counts its writes: nothing is to be compared from now on.
            self._is_version_proved = self._is_version_proved or not is_same_version
        self._by_data = []
        return False


def _copy_of(parameter: Any) -> Any:
    """None of one that is not trained, or cannot be subtracted from."""
    torch = sys.modules["torch"]
    if is_lazy(parameter) or not parameter.requires_grad:
        return None
    local = local_of(parameter)
    if local.layout is not torch.strided or not local.dtype.is_floating_point or local.element_size() == 1 or local.device.type == "meta" or type(local) not in (torch.Tensor, torch.nn.Parameter):
        return None
    # A copy that is made in inference mode could not be written outside of it.
    with torch.inference_mode(False), torch.no_grad(), torch._C.DisableTorchFunction():
        return local.detach().clone()


def _subtract(before: Any, parameter: Any) -> bool:
    """Makes after - before of `before`. Not where the parameter has another shape now."""
    torch = sys.modules["torch"]
    now = local_of(parameter)
    if now.shape != before.shape or now.dtype != before.dtype:
        return False
    with torch.no_grad(), torch._C.DisableTorchFunction():
        before.neg_().add_(now.detach())
    return True


def optimizers_of(given: Any) -> list[Any]:
    """One, a list or dict of them, or None."""
    several = list(given.values()) if isinstance(given, Mapping) else given if isinstance(given, (list, tuple)) else [given]
    optimizers = [each for each in several if each is not None]
    for each in optimizers:
        if not hasattr(each, "state"):
            raise TypeError(f"optimizer: a torch.optim.Optimizer is expected, or a list or dict of them; this is a {type(each).__name__}")
    return optimizers


def name_of_state(parameter: str, key: str, slot: int) -> str:
    """The name of a tensor that an optimizer keeps under a key."""
    return f"{parameter}/{key}" + (f".{slot}" if slot else "")


def _state_of(parameter: Any) -> tuple[int, int]:
    local = local_of(parameter)  # may be written without the parameter
    return address_of(local), version_of(parameter) + (version_of(local) if local is not parameter else 0)


def _is_zero(tensor: Any) -> bool:
    tensor = local_of(tensor)
    return not bool((tensor._values() if tensor.is_sparse else tensor).any())
