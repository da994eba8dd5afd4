"""The loss that a step is told."""
import inspect
import re
import sys
from types import FrameType
from typing import Any

from ._check import losses_of
from ._later import Faults

OF_MODEL = "tensorstat: a result of the model"  # in the metadata of its node


def loss_of_backward() -> Any:
    """The one tensor that the outermost backward of this thread began with, or if none runs here, the one of another thread:
    a device's nodes run in threads of their own. None if several may be it."""
    backward = inspect.unwrap(sys.modules["torch"].autograd.backward).__code__

    def begun_with(frame: FrameType | None) -> Any:
        roots = None
        while frame is not None:
            if frame.f_code is backward:
                roots = frame.f_locals.get("tensors")
            frame = frame.f_back
        return roots

    begun = [begun_with(sys._getframe(1))]
    if begun[0] is None:
        begun = [each for each in map(begun_with, sys._current_frames().values()) if each is not None]
    tensors = [each for several in begun for each in (several if isinstance(several, (tuple, list)) else [several])]
    return tensors[0] if len(tensors) == 1 else None


def look_at_loss(watch: Any, loss: Any) -> None:
    """A row of the loss, and the operation between the model and the loss that made it faulty, or its gradient."""
    torch = sys.modules["torch"]
    losses = losses_of(loss)
    for name, each in losses:
        tensor = each if isinstance(each, torch.Tensor) else torch.as_tensor(each, dtype=torch.float64)
        faults = watch._collect("Loss", name, (), (tensor,))
        if watch._later is None:
            _judge(faults, watch, name, tensor, None)
        else:
            watch.judge(faults, _judge, watch, name, None, _operations_behind(tensor))
    if not losses and watch._gradients.is_loss_suspect:
        _say_operation(watch, "loss", None, 0, [])


def _judge(faults: Faults | None, watch: Any, name: str, loss: Any, behind: list[str] | None) -> None:
    """`behind`: the operations before the loss; None: to be asked of it."""
    is_forward_clean = watch._course.is_forward_clean
    if faults:
        watch._note("loss", faults, "Loss", name, "output")
    else:
        watch._course.is_clean("loss")
    if faults or watch._gradients.is_loss_suspect:
        _say_operation(watch, name, loss, faults.kinds if faults else 0, [] if not is_forward_clean else behind)


def _say_operation(watch: Any, name: str, loss: Any, kinds: int, behind: list[str] | None) -> None:
    operations = watch._loss_operations
    maker = None
    if watch._course.first is None and watch._later is None:
        maker = operations.maker(loss, kinds) if kinds else operations.maker_of_gradient()
    if maker is not None:
        watch._journal.say("zoom", iteration=watch.iteration, op_name=name, **maker)
        fault = watch._course.later("loss" if kinds else "backward")
        if fault is not None and fault.operation is None and (kinds == 0 or fault.op_name == name):
            fault.operation, fault.file, fault.line = maker["operation"], maker.get("file"), maker.get("line")
            fault.op_type, fault.op_name, fault.io, fault.slot = "Loss", name, "output", 0
    elif behind := _operations_behind(loss) if behind is None else behind:
        what = "the loss" if kinds else "the loss's gradient"
        watch._journal.say("zoom", iteration=watch.judged_iteration, op_name=name, result="refused",
                           why=f"between the model and {what} ran {', '.join(behind)}: which of them made it is not "
                               "known, or the targets held it")


def _operations_behind(loss: Any) -> list[str]:
    """The operations between the model's results and the loss, by autograd's nodes; the model's first."""
    names: list[str] = []
    waiting = [loss.grad_fn]
    seen: set[Any] = set()
    while waiting and len(seen) < 200:
        node = waiting.pop(0)
        if node is None or node in seen or OF_MODEL in node.metadata or "AccumulateGrad" in node.name():
            continue
        seen.add(node)
        name = re.sub(r"(Backward)?\d*$", "", node.name()).lower()
        if name not in names:
            names.append(name)
        waiting += [each for each, _ in node.next_functions]
    return names[:12][::-1]
