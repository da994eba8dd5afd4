"""Whether a step may be taken: its loss and its gradients, between backward and the optimizer."""
import dataclasses
import gc
import math
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ._hooks import say_fault
from ._library import logger
from ._tensors import elements_of, is_lazy, local_of
from ._verdict import Fault

__all__ = ["Checked"]

_said: set[str] = set()
OF_ONE_RANK = "parameter", "input", "forward", "loss"


@dataclasses.dataclass
class Checked:
    """The result of check(). It is true if the step is faulty: on this rank or, with several, on any."""
    step: int
    fault: Fault | None = None  # of this rank: where NaN or Inf began, as far as the watch knows
    rank: int | None = None  # the lowest rank with a fault
    skipped: bool = False  # the gradients were taken away: the optimizer finds none

    @property
    def faulty(self) -> bool:
        return self.rank is not None

    def __bool__(self) -> bool:
        return self.faulty

    def __str__(self) -> str:
        if self.rank is None:
            return f"step {self.step} is clean"
        what = str(self.fault) if self.fault is not None else f"rank {self.rank} has a NaN or Inf"
        return f"step {self.step} is {'skipped' if self.skipped else 'faulty'}: {what}"


def first_faulty(named: Iterable[tuple[str, Any]]) -> tuple[str, str] | None:
    """The first tensor with NaN or Inf: its name, and "NaN" or "Inf". What torch can sum is not copied. Each is read once, and again only
    if its sum is not finite: a finite sum has no NaN and no Inf in it, but a sum of finite elements may overflow. It waits for a device
    once."""
    torch = sys.modules["torch"]
    tensors: list[tuple[str, Any]] = []
    sums: dict[Any, list[tuple[int, Any]]] = {}
    mine = [(name, local_of(tensor)) for name, tensor in named]
    with torch.no_grad(), torch._C.DisableTorchFunction():
        for name, tensor in mine:
            try:
                summed = _summed(tensor.detach())
            except Exception as refused:  # passes for clean, and the others are looked at
                say_fault(refused)
                continue
            if summed is not None:
                sums.setdefault(summed[0].device, []).append((len(tensors), summed[1]))
                tensors.append((name, summed[0]))
        doubtful: list[int] = []
        for several in sums.values():
            finite = torch.stack([each for _, each in several]).tolist()
            doubtful += [number for (number, _), is_finite in zip(several, finite) if not is_finite]
        for number in sorted(doubtful):
            name, tensor = tensors[number]
            if not bool(tensor.isfinite().all()):
                return name, "NaN" if bool(tensor.isnan().any()) else "Inf"
    return None


def _summed(tensor: Any) -> tuple[Any, Any] | None:
    """The elements of a tensor, and whether their sum is finite; None of one that cannot hold NaN or Inf."""
    torch = sys.modules["torch"]
    if not (tensor.is_floating_point() or tensor.is_complex()) or tensor.device.type == "meta":
        return None
    tensor = elements_of(tensor)
    if not tensor.numel():
        return None
    if tensor.is_complex() and tensor.element_size() == 4 or tensor.element_size() == 1:  # torch sums neither complex32 nor float8
        tensor = (torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor).to(torch.float32)
    is_short = tensor.dtype in (torch.float16, torch.bfloat16)
    total = tensor.sum(dtype=torch.float32) if is_short else tensor.sum()
    return tensor, total.isfinite()


def losses_of(loss: Any) -> list[tuple[str, Any]]:
    """(the name of its row, its value as a tensor or float) of one loss, a dict of them, or None. A value that is no number is left out with
    a warning."""
    named = [(f"loss/{key}", each) for key, each in loss.items()] if isinstance(loss, Mapping) else [("loss", loss)]
    losses: list[tuple[str, Any]] = []
    for name, each in named:
        if each is None:
            continue
        try:
            losses.append((name, each if isinstance(each, sys.modules["torch"].Tensor) else float(each)))
        except Exception:
            words = f"{name} of step() and check() is no tensor and no number, but a {type(each).__name__}"
            if words not in _said:
                _said.add(words)
                logger.warning("%s: it is left out", words)
    return losses


def fault_of(watch: Any, loss: Any) -> Fault | None:
    """The fault of this step on this rank. If the watch has seen the step, it knows where the fault began."""
    losses = losses_of(loss)
    of_loss = _first_of_losses(losses)
    gradients = [(name, each.grad) for name, each in watch.parameters_now() if not is_lazy(each) and each.grad is not None]
    of_gradients = first_faulty(gradients)
    course = watch.course_of_step()
    if course is not None and losses and of_loss is None:
        course.is_clean("loss")
    if of_loss is None and of_gradients is None:
        if course is None or not (gradients or losses):
            return None if course is None else course.of_iteration()  # before backward: what the model gave
        course.is_harmless()
        return None
    began = course.of_iteration() if course is not None else None
    if of_loss is not None and (began is None or began.phase not in OF_ONE_RANK):
        maker = watch.operation_of_loss(loss, of_loss[0]) or {}
        return Fault(of_loss[1], "loss", "Loss", of_loss[0], watch.iteration, watch.rank, operation=maker.get("operation"),
                     file=maker.get("file"), line=maker.get("line"))
    if began is None and of_gradients is not None:
        phase = "gradient" if watch.has_seen_gradient(of_gradients[0]) else "backward"
        return Fault(of_gradients[1], phase, "Gradient", of_gradients[0], watch.iteration, watch.rank)
    if began is not None and began.phase == "backward" and began.operation is None and (maker := watch.operation_of_gradient()) is not None:
        return dataclasses.replace(began, op_type="Loss", op_name=losses[0][0] if losses else "loss", io="output", slot=0,
                                   operation=maker["operation"], file=maker.get("file"), line=maker.get("line"))
    return began


def _first_of_losses(losses: list[tuple[str, Any]]) -> tuple[str, str] | None:
    for name, each in losses:
        if isinstance(each, sys.modules["torch"].Tensor):
            if (fault := first_faulty([(name, each)])) is not None:
                return fault
        elif not math.isfinite(each):
            return name, "NaN" if math.isnan(each) else "Inf"
    return None


def has_scaler() -> bool:
    """Whether a GradScaler of torch's is enabled in this process. It skips steps with overflowing gradients, and such a skip is not a
    fault. This runs no code of other objects."""
    torch = sys.modules["torch"]
    amp, of_cuda = getattr(torch, "amp", None), torch.cuda.amp
    kinds = tuple(kind for kind in (getattr(amp, "GradScaler", None), of_cuda.GradScaler) if isinstance(kind, type))
    return any(issubclass(type(each), kinds) and object.__getattribute__(each, "__dict__").get("_enabled") for each in gc.get_objects())


def check(watch: Any, loss: Any, then: str | None, first_of_all: Callable[[int], int | None]) -> Checked:
    """See Watch.check(). All ranks come to first_of_all(weight), whatever this one finds."""
    if then not in (None, "skip"):
        raise ValueError(f"then is {then!r}; check() takes \"skip\" or None")
    fault = None
    try:
        fault = fault_of(watch, loss)
    except Exception as refused:
        say_fault(refused)
    # A parameter's gradient may have come from another rank, by an all-reduce: a rank with more than that goes before.
    is_of_this_rank = fault is not None and (fault.phase in OF_ONE_RANK or fault.phase == "backward" and fault.op_type != "Gradient")
    weight = 0 if fault is None else 2 if is_of_this_rank else 1
    result = Checked(watch.iteration, fault, first_of_all(weight))
    if result.faulty and then == "skip":
        watch.is_to_skip()
        for _, parameter in watch.parameters_now():
            parameter.grad = None
        result.skipped = True
    return result
