"""The gradients of a model's modules and parameters, by hooks on autograd's nodes."""
import contextlib
import functools
import sys
from typing import Any

from . import _rerun, _user_hooks, _zoom_backward
from ._calls import Call, module_of
from ._compiled import for_autograd
from ._edges import hook_before, wait_for
from ._hooks import Accumulation, say_fault
from ._later import Faults
from ._loss import OF_MODEL, look_at_loss, loss_of_backward
from ._operations import register_of_module
from ._tensors import is_dtensor, tensors_in
from ._watch import alone

_MOST_KEPT_BYTES = 256 << 20  # gradients of the outermost results, until backward ends


class Outermost:
    """The data for running an outermost call's backward again."""
    __slots__ = ("name", "run", "gradients", "has_come")

    def __init__(self, name: str, run: _rerun.Run) -> None:
        self.name, self.run = name, run
        self.gradients: dict[int, Any] = {}
        self.has_come = False


class Gradients:
    """The backward of a watch's model."""

    def __init__(self, watch: Any) -> None:
        self._watch = watch
        self.is_running = self.is_loss_suspect = self.finds_loss = False
        self._loss: Any = None  # that this backward began with
        self._outermost_calls: list[Outermost] = []  # their backward has not run yet
        self._accumulations: dict[str, Accumulation] = {}
        self._of_step: list[Accumulation] = []  # those that hold a node
        self._of_leaves: list[Any] = []  # hooks of this step
        self._run = 0  # of the outermost module
        self.waits_for_parameters = False  # in this step
        self._is_to_be_zoomed = ""

    def forget_step(self) -> None:
        self.is_loss_suspect = self.waits_for_parameters = False
        self._outermost_calls.clear()
        for each in self._of_step:
            each.end()
        self._of_step.clear()
        for each in self._of_leaves:
            each.remove()
        self._of_leaves.clear()

    def close(self) -> None:
        for each in self._accumulations.values():
            each.remove()
        self._accumulations.clear()

    def forget_parameters(self, names: list[str]) -> None:
        for name in names:
            if (known := self._accumulations.pop(name, None)) is not None:
                known.remove()

    def wait_for_parameters(self, named: list[tuple[str, Any]]) -> None:
        self.waits_for_parameters = True
        is_sharded = any(each.__name__ == "FSDPModule" for _, model in self._watch._outermost for each in type(model()).__mro__)
        for name, parameter in named:
            known = self._accumulations.get(name)
            if known is None:
                if is_sharded and is_dtensor(parameter):  # FSDP2 adds gradients up, and a hook makes it wait for offloaded ones
                    continue
                known = self._accumulations[name] = Accumulation(parameter, functools.partial(self._accumulated, name), self._watch._world_size > 1)
            if known.begin():
                self._of_step.append(known)

    def changes_stream(self) -> None:
        """A CUDA graph is captured: nodes that were made on the stream before would end it."""
        for each in self._of_step:
            each.begin()

    def wait_for_arguments(self, call: Call, outputs: list[Any]) -> None:
        place = call.place

        def take(slot: int, gradient: Any) -> None:
            if not self.is_running:
                self.begin()
            if self._watch.active and not self._watch._local.is_silent:
                self.take(place.op_type, place.backward, "output", slot, gradient)

        if not wait_for(call.edges, outputs, take, self._of_leaves, (self, place.name), self._run):
            self._watch._say_once("%s has too large a graph: the gradients of its inputs are not seen", place.name)
        call.edges = []

    def wait_for(self, call: Call, outputs: list[Any]) -> None:
        place = call.place
        for slot, tensor in enumerate(outputs):
            if not tensor.requires_grad:
                continue
            node = tensor.grad_fn
            row = (place.op_type, place.backward, slot)
            if node is None:
                continue
            key = id(node), tensor.output_nr
            waiting = call.results.get(key)
            if waiting is not None:
                waiting[1].append(row)
                continue
            calls = [row]
            if (hook := hook_before(node, (self, tensor.output_nr), self._run)) is not None:
                hook.calls = calls
            else:
                hook = _GradientOfResult(self, calls, tensor.output_nr)
                register_of_module(self._watch, node, for_autograd(hook))
                node.metadata[self, tensor.output_nr] = self._run, hook
            call.results[key] = node, calls, hook
        for tensor in outputs if call.parent is None else ():
            if tensor.requires_grad and tensor.grad_fn is not None:
                tensor.grad_fn.metadata[OF_MODEL] = True
        if call.parent is None:
            if self._watch._with_zoom and not call.is_quiet and call.results:
                self._keep_outermost(call, outputs)
            call.results = {}  # nodes are not kept
            self._run += 1

    def _keep_outermost(self, call: Call, outputs: list[Any]) -> None:
        run = _rerun.Run(call, call.keywords or {})
        run.keep([each for _, each in self._watch._parameters.named])
        outermost = Outermost(call.place.name, run)
        self._outermost_calls.append(outermost)
        del self._outermost_calls[:-8]
        for slot, tensor in enumerate(outputs):
            if tensor.grad_fn is not None and (waiting := call.results.get((id(tensor.grad_fn), tensor.output_nr))) is not None:
                waiting[2].keep_for(outermost, slot)

    def wait_for_any(self, outputs: list[Any]) -> None:
        """Only to know that it runs."""
        for tensor in outputs:
            if tensor.requires_grad and tensor.grad_fn is not None:
                tensor.grad_fn.register_hook(for_autograd(_GradientOfResult(self, [], 0)))
                return

    def begin(self) -> None:
        self.is_running, self._watch._is_behind_forward = True, False
        self._watch._loss_operations.begins_backward()
        self._loss = loss_of_backward() if self.finds_loss and self._watch.active else None
        with contextlib.suppress(RuntimeError):  # compiled autograd runs it: the next forward ends it
            sys.modules["torch"].autograd.Variable._execution_engine.queue_callback(self._end)

    def _end(self) -> None:
        self.is_running = False
        loss, self._loss = self._loss, None
        try:
            if loss is not None:
                look_at_loss(self._watch, loss)
            if self._is_to_be_zoomed:
                self._run_again(self._is_to_be_zoomed)
        except Exception as fault:
            say_fault(fault)
        self._is_to_be_zoomed = ""
        self._outermost_calls = [each for each in self._outermost_calls if not each.has_come]

    def _run_again(self, op_name: str) -> None:
        watch = self._watch
        for outermost in self._outermost_calls:
            if not outermost.has_come:
                continue
            members = _zoom_backward.backward(outermost.run, outermost.gradients, watch._zooms.silent_name, watch._zooms.silence,
                                              watch._hooks)
            members = _user_hooks.to_blame(members, self._user_hooks(op_name))
            name = f"{members['inside']}/backward" if members.get("inside") else op_name
            watch._journal.say("zoom", iteration=watch.iteration, op_name=name, of=op_name, **members)
            watch._journal.flush()
            if members["result"] == "found":
                fault = watch._course.later("backward")
                if fault is not None:
                    fault.operation, fault.file, fault.line = members["operation"], members.get("file"), members.get("line")
                    fault.op_name = name
                    if (place := watch._places.get(module_of(name))) is not None:
                        fault.op_type = place.op_type
                return

    def _user_hooks(self, op_name: str) -> list[dict[str, Any]]:
        """The hooks that may have changed the gradient of this row."""
        watch = self._watch
        for name, parameter in watch._parameters.named:
            if name == op_name and (hooks := _user_hooks.of_parameter(name, parameter, watch.holder_of(parameter))):
                return hooks
        return _user_hooks.of_backward(watch.modules_now())

    def _judge(self, faults: Faults | None, op_type: str, op_name: str, io: str, slot: int) -> None:
        if not faults:
            return
        watch = self._watch
        is_first = not watch._course.has_fault_of_backward
        self.is_loss_suspect |= is_first and io == "input" and self._is_of_outermost(op_name)
        watch._note("backward", faults, op_type, op_name, io, slot)
        if is_first and watch._with_zoom and watch._course.first is None and watch._course.is_forward_clean:
            if watch._zooms.may("backward", faults.kinds):
                self._is_to_be_zoomed = op_name
        elif is_first:
            self.suspect_hooks(op_name, faults.kinds)

    def suspect_hooks(self, op_name: str, kinds: int) -> None:
        """Call for the first fault of backward, in a row that a hook may have changed."""
        if self._watch._course.first is None and self._watch._course.is_forward_clean:
            self._watch._zooms.say_hooks(op_name, self._user_hooks(op_name), kinds)

    def take(self, op_type: str, op_name: str, io: str, slot: int, gradient: Any) -> None:
        given = alone(gradient, slot)
        faults = self._watch._collect(op_type, op_name, given) if io == "input" else self._watch._collect(op_type, op_name, (), given)
        if faults:
            self._watch.judge(faults, self._judge, op_type, op_name, io, slot)

    def _is_of_outermost(self, op_name: str) -> bool:
        place = self._watch._places.get(module_of(op_name))
        return place is not None and place.is_outermost

    def _accumulated(self, name: str, parameter: Any, gradients: Any) -> None:
        watch = self._watch
        if not self.is_running:
            self.begin()
        if watch._local.is_silent or not watch.active:
            return
        gradient = now = parameter.grad
        # With ranks: the gradient that they are about to add up must not be read meanwhile. None: an optimizer inside of backward took it.
        if watch._world_size > 1 or gradient is None:
            gradient = gradients[0] if gradients else gradient
        if gradient is None:
            return
        faults = watch._collect("Gradient", name, (gradient,))
        if faults:
            watch.judge(faults, self._judge, "Gradient", name, "input", 0)
        watch._parameters.saw_gradient(name, now, not faults)


class _GradientOfResult:
    """A hook of a node that gave a tensor: passes the tensor's gradient to the calls that returned the tensor."""
    __slots__ = ("_backward", "calls", "_number", "_outermost", "_slot")

    def __init__(self, backward: Gradients, calls: list[tuple[str, str, int]], number: int) -> None:
        self._backward, self.calls, self._number = backward, calls, number
        self._outermost: Outermost | None = None
        self._slot = 0

    def keep_for(self, outermost: Outermost, slot: int) -> None:
        self._outermost, self._slot = outermost, slot

    def __call__(self, _: Any, gradients: Any) -> None:
        backward, watch = self._backward, self._backward._watch
        try:
            if not backward.is_running:
                backward.begin()
            gradient = gradients[self._number] if self._number < len(gradients) else None
            if gradient is not None and watch.active and not watch._local.is_silent:
                if self._outermost is not None:
                    self._outermost.has_come = True
                    if gradient.numel() * gradient.element_size() <= _MOST_KEPT_BYTES:
                        self._outermost.gradients[self._slot] = gradient
                    self._outermost = None
                for op_type, op_name, slot in reversed(self.calls):
                    backward.take(op_type, op_name, "input", slot, gradient)
        except Exception as fault:
            say_fault(fault)
