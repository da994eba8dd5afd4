"""Each tensor of a model as rows of its module's name. stats/doc/origin.md says which rows there are, and what they mean."""
import contextlib
import functools
import os
import re
import sys
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from . import _operations, _zoom
from ._hooks import Accumulation, ModuleHooks, keywords_of_call, say_fault
from ._journal import Journal, caller_of
from ._library import logger
from ._session import DumpSession
from ._tensors import look_into, tensors_in
from ._verdict import NAN, Course, Fault
from ._watch import Watch, alone, named_modules, named_parameters

_NOTHING_RAN = "in a step that was watched no module of the model ran: is it the model that is trained?"
_MOST_ZOOMS = 16
_MOST_KEPT_BYTES = 256 << 20  # gradients of the outermost results, until backward ends
_RANDOM = re.compile("drop|rand|bernoulli|multinomial|normal|uniform|poisson|exponential|sample|noise")


class Place:
    """A module of the model."""
    __slots__ = ("name", "op_type", "is_outermost", "is_wanted", "is_random_now", "forward", "backward")

    def __init__(self, name: str, module: Any, is_outermost: bool, is_wanted: bool) -> None:
        self.name, self.op_type, self.is_outermost, self.is_wanted = name, type(module).__name__, is_outermost, is_wanted
        self.forward, self.backward = f"{name}/forward", f"{name}/backward"
        self.is_random_now = False


class Call:
    """A module that runs."""
    arguments: tuple[Any, ...] = ()
    keywords: dict[str, Any] | None = None
    versions: list[int] = []
    random_state: Any = None
    where: tuple[str, int, str] | None = None
    took = 0  # kinds of fault in its inputs, where they were looked at
    is_to_be_zoomed = False

    def __init__(self, place: Place, module: Any, parent: "Call | None", is_quiet: bool) -> None:
        self.place, self.module, self.parent, self.is_quiet = place, module, parent, is_quiet
        # Of the outermost: results that wait for their gradient, with the calls that gave them, the innermost first.
        self.results: dict[tuple[int, int], tuple[Any, list[tuple[str, str, int]], Any]] = parent.results if parent else {}


class Outermost:
    """What it takes to run an outermost call's backward again."""
    __slots__ = ("name", "run", "gradients", "has_come")

    def __init__(self, name: str, run: _zoom.Run) -> None:
        self.name, self.run = name, run
        self.gradients: dict[int, Any] = {}
        self.has_come = False


class _PerThread(threading.local):
    def __init__(self) -> None:
        self.calls: list[Call] = []  # that are open, the innermost last
        self.is_silent = False  # a call that is run again
        self.silent_names: list[str] = []  # of the modules that run then
        self.on_silent_leave: Callable[[Any], None] | None = None


class RowWatch(Watch):
    """Each module's tensors as rows of its own name."""

    def __init__(self, model: Any, session: DumpSession, *, folder: str, every: int, where: str | None, inputs: bool,
                 parameters: bool, gradients: bool, optimizer: Any, level: str, zoom: bool, code: bool, rank: int,
                 world_size: int, path: str | None, is_zoom_wanted: bool) -> None:
        super().__init__(session, every=every, rank=rank)
        self._inputs, self._with_parameters, self._with_gradients = inputs, parameters, gradients
        self._optimizer, self._with_code, self._world_size = optimizer, code, world_size
        self._with_zoom = zoom and level == "module"  # rows of operations say it themselves
        self._is_zoom_refused = is_zoom_wanted and not zoom and level == "module"
        self._path = path
        self._journal = Journal(os.path.join(folder, "watch.ndjson"))
        self._journal.say("run", world_size=world_size, every=every, inputs="all" if inputs else "outermost", level=level,
                          parameters=parameters, gradients=gradients,
                          **({} if parameters else {"holders": [name for name, module, _ in named_modules(model)
                                                                if module._parameters or module._buffers]}))
        self._course = Course(rank)
        self._local = _PerThread()
        self._tensor = sys.modules["torch"].Tensor
        self._is_begun = self._has_seen = self._has_stepped = False
        self._is_in_backward = self._is_loss_suspect = False
        self._numbers: dict[str, int] = {}  # calls of each module in this iteration
        self._lines: dict[tuple[str, int], tuple[Any, ...]] = {}  # what was said of the calls' lines
        self._not_seen: set[str] = set()
        self._zoomed: set[tuple[str, int]] = set()
        self._outermost_calls: list[Outermost] = []  # their backward has not run yet
        self._is_backward_to_be_zoomed = ""

        wanted = re.compile(where or "").search
        self._parameters = [(name, each) for name, each in named_parameters(model) if wanted(name)]
        self._known: dict[str, tuple[int, int]] = {}  # what the parameters were when they were last looked at
        self._seen_gradients: dict[str, tuple[int, int]] = {}
        self._accumulations: dict[str, Accumulation] = {}
        self._by_data: list[tuple[str, Any, Any]] | None = []  # see _is_written_by_data; None: it is
        self._hooks = ModuleHooks(self._enter, self._leave)
        self._outermost = []
        self._places: dict[str, Place] = {}
        for name, module, is_outermost in named_modules(model):
            place = self._places[name] = Place(name, module, is_outermost, bool(wanted(name)))
            self._hooks.add(module, place)
            if is_outermost:
                self._outermost.append((name, weakref.ref(module)))
        self._random = self._may_be_random(model)
        matching = sum(bool(wanted(name)) for name, *_ in named_modules(model)) + len(self._parameters)
        if not matching:
            logger.warning("where=%r matches no module and no parameter: nothing is watched. There is, for example, %r", where,
                           named_modules(model)[-1][0])
        self._is_behind_forward = False
        self._operations = _operations.enter(self) if level == "op" else None
        self._switch()

    # --- steps ---

    def step(self, loss: Any = None) -> None:
        """A step is over, and the next begins. Call it after optimizer.step() and before the gradients are zeroed.

        loss  a tensor, or a dict of them: a NaN of the loss is then told from one of the model
        """
        self._has_stepped = True
        if self.active:
            try:
                self._look_at_loss(loss)
                is_skipped = self._look_at_parameters()
                self._course.end_iteration(is_skipped)
            except Exception as fault:
                say_fault(fault)
            self._end_step()
            self._journal.flush()
            if not self._is_begun:
                self._say_once(_NOTHING_RAN)
        self._forget_step()
        self.iteration += 1
        self._switch()

    def close(self) -> None:
        if self._is_closed:
            return super().close()
        if self._is_begun and not self._is_stopped:
            self._course.end_iteration(False)
        if self._has_seen and not self._has_stepped:
            self._say_once("step() of the watch was never called: all is iteration %d, without parameters. Call it after "
                           "optimizer.step()", self.iteration)
        elif not self._has_seen:
            self._say_once(_NOTHING_RAN)
        self._journal.flush()
        super().close()
        if self._operations is not None:
            _operations.leave(self._operations)
            self._operations = None
        for each in self._accumulations.values():
            each.remove()
        self._accumulations.clear()
        self._parameters.clear()
        self._outermost.clear()
        self._known.clear()
        self._by_data = None
        self._forget_step()
        if (fault := self._course.first) is not None:
            logger.warning("%s; tensorstat origin %s", fault, self._shown_path())

    @property
    def first_fault(self) -> Fault | None:
        return self._course.now()

    def _shown_path(self) -> str:
        folder = self._path or os.path.dirname(os.path.dirname(os.path.dirname(self._journal.path)))
        shown = os.path.relpath(folder)
        return folder if shown.startswith("..") else shown

    def _switch(self) -> None:
        if self.active:
            self._hooks.start()
        else:
            self._hooks.stop()

    def _forget_step(self) -> None:
        self._is_begun = self._is_loss_suspect = self._is_behind_forward = False
        self._numbers.clear()
        self._seen_gradients.clear()
        self._local.calls.clear()
        self._outermost_calls.clear()

    def _note(self, phase: str, faults: int, op_type: str, op_name: str, io: str, slot: int | None = None) -> Fault | None:
        """Of a row that is faulty: the fault, where it is a new one of the forward."""
        kinds = faults & 3
        fault = self._course.fault(phase, kinds, op_type, op_name, self.iteration, io, faults >> 2 if slot is None else slot)
        return fault if self._course.note(fault, kinds) else None

    # --- forward ---

    def _enter(self, module: Any, place: Place, arguments: tuple[Any, ...]) -> Any:
        local = self._local
        if local.is_silent:
            local.silent_names.append(place.name)
            return None
        calls = local.calls
        if calls and place.is_outermost and calls[0].place is place:
            calls.clear()  # what an exception has left
        parent = calls[-1] if calls else None
        if parent is None:
            if _is_tracing():
                return None
            if self._with_zoom:
                self._look_for_random()
            is_quiet = self._is_in_backward and _is_in_backward()
            self._is_in_backward = is_quiet
            if not is_quiet and not self._is_begun:
                try:
                    self._begin()
                except Exception as fault:  # the call is one nevertheless
                    say_fault(fault)
        else:
            is_quiet = parent.is_quiet
        call = Call(place, module, parent, is_quiet)
        calls.append(call)
        looks = parent is None or self._inputs or self._course.pending is not None
        if not is_quiet:
            frame = sys._getframe(3)  # torch's frame that calls the module
            if self._with_code:
                self._say_line(call, frame)
            if self._with_zoom:
                call.versions = _zoom.versions_of(arguments)
                if place.is_random_now:
                    call.random_state = _random_state()
            if looks:
                call.keywords = keywords_of_call(sys._getframe(2))
                if place.is_wanted:
                    self._look_at_inputs(call, arguments)
        call.arguments = arguments
        if looks and self._with_gradients and place.is_wanted and (parent is None or self._inputs):
            arguments = self._with_nodes(call, arguments)
        return arguments

    def _may_be_random(self, model: Any) -> list[tuple[Any, list[Place]]]:
        """The modules that may draw random numbers. Each comes with its own place and the places of the modules around it."""
        random: dict[int, tuple[Any, list[Place]]] = {}
        for name, module, _ in named_modules(model):
            for each in module.modules():
                if _may_be_random(type(each)):
                    random.setdefault(id(each), (weakref.ref(each), []))[1].append(self._places[name])
        return list(random.values())

    def _look_for_random(self) -> None:
        """Says of each place whether it may draw random numbers now. A dropout of 0, or in eval(), does not; to copy the state
        of the generator costs as much as a row."""
        for _, places in self._random:
            for place in places:
                place.is_random_now = False
        for reference, places in self._random:
            if (module := reference()) is not None and _is_random_now(module):
                for place in places:
                    place.is_random_now = True

    def _look_at_inputs(self, call: Call, arguments: tuple[Any, ...]) -> None:
        place = call.place
        given = tensors_in((arguments, call.keywords) if call.keywords else arguments)
        if not given:
            return
        faults = self._collect(place.op_type, place.forward, given)
        if faults:
            call.took = faults & 3
            phase = "input" if call.parent is None else "forward"
            new = self._note(phase, faults, place.op_type, place.forward, "input")
            if new is not None and call.parent is not None:  # its parent's code made it
                parent = call.parent
                new.op_type, new.op_name, new.io = parent.place.op_type, parent.place.forward, "output"
                self._at_line(new, parent)
                parent.is_to_be_zoomed = True

    def _leave(self, module: Any, place: Place, arguments: tuple[Any, ...], outputs: Any) -> None:
        local = self._local
        if local.is_silent:
            if local.on_silent_leave is not None:
                local.on_silent_leave(outputs)
            if local.silent_names:
                local.silent_names.pop()
            return
        calls = local.calls
        while calls and calls[-1].module is not module:  # one that an exception has left
            calls.pop()
        if not calls:
            return
        call = calls.pop()
        if isinstance(outputs, self._tensor):
            tensors, unknown = [outputs], []
        else:
            found = look_into(outputs)
            tensors, unknown = found.tensors, found.unknown
        if not call.is_quiet:
            self._look_at_outputs(call, tensors, unknown)
        if not call.parent:
            calls.clear()
            self._is_behind_forward = not call.is_quiet
        if self._with_gradients and place.is_wanted:
            self._await_gradients(call, tensors)
        elif not call.parent:
            self._await_backward(tensors)

    def _look_at_outputs(self, call: Call, outputs: list[Any], unknown: list[str]) -> None:
        place, name = call.place, call.place.forward
        faults = self._collect(place.op_type, name, (), outputs) if outputs and place.is_wanted else 0
        if unknown and place.is_wanted and name not in self._not_seen:
            self._not_seen.add(name)
            why = unknown[0]
            self._journal.say("not_seen", iteration=self.iteration, op_name=name, io="output", why=why)
            logger.warning("outputs of %s are not seen: %s. Tensors are found in lists, dicts, dataclasses and simple objects",
                           place.name, why)
        if faults and call.took & faults & 3 and self._course.pending is None:
            self._course.pass_on()
        if faults:
            new = self._note("forward", faults, place.op_type, name, "output")
            if new is not None:
                self._at_line(new, call)
            if (new is not None or call.is_to_be_zoomed) and self._with_zoom:
                self._zoom(call, faults)
            elif new is not None and self._is_zoom_refused:
                self._journal.say("zoom", iteration=self.iteration, op_name=name, result="refused",
                                  why=f"there are {self._world_size} ranks, and one alone cannot run a module again")
            if new is not None:
                self._journal.flush()
        elif call.is_to_be_zoomed and self._with_zoom:
            self._zoom(call, 0)
        elif self._course.pending is not None and outputs and (call.took or call.parent is None):
            self._course.end()

    def _zoom(self, call: Call, faults: int) -> None:
        """Runs a call again. It gave the first fault, or its code handed one to a module inside."""
        kinds, name = faults & 3, call.place.forward
        if not self._may_zoom(name, kinds):
            return
        keywords = call.keywords if call.keywords is not None else keywords_of_call(sys._getframe(1))
        run = _zoom.Run(call.module, call.arguments, keywords, call.versions, call.random_state)
        said = _zoom.forward(run, kinds, call.parent is None, self._silent_name, self._silence)
        if "parameter" in said:
            said["parameter"] = self._name_of_parameter(call, said["parameter"])
        self._journal.say("zoom", iteration=self.iteration, op_name=name, **said)
        fault = self._course.pending
        if said["result"] == "given" and call.parent is not None and fault is not None and said["why"].startswith("its arg"):
            call.parent.is_to_be_zoomed = True
            fault.op_type, fault.op_name = call.parent.place.op_type, call.parent.place.forward
            self._at_line(fault, call)
        elif "parameter" in said and fault is not None:
            fault.phase, fault.op_type, fault.op_name = "parameter", "Parameter", said["parameter"]
        elif said["result"] == "found" and fault is not None:
            self._course.is_written |= bool(said.get("inf_written"))
            inside = self._places.get(said["inside"], call.place)
            if kinds & NAN:
                fault.kind = "NaN"
            fault.op_type, fault.op_name = inside.op_type, inside.forward
            fault.operation, fault.file, fault.line = said["operation"], said.get("file"), said.get("line")

    def _name_of_parameter(self, call: Call, local: str) -> str:
        """As the rows have it: a parameter that several modules share has the name of the first."""
        held = {name: each for named in (call.module.named_parameters(), call.module.named_buffers()) for name, each in named}[local]
        for name, each in self._parameters:
            if each is held:
                return name
        return local if call.place.is_outermost else f"{call.place.name}.{local}"

    def _may_zoom(self, name: str, kinds: int) -> bool:
        """Once for a name and a kind of fault, and not for ever."""
        if (name, kinds) in self._zoomed or len(self._zoomed) >= _MOST_ZOOMS or not self._course.is_parameter_clean:
            return False
        self._zoomed.add((name, kinds))
        return True

    @contextlib.contextmanager
    def _silence(self, on_leave: Callable[[Any], None] | None = None) -> Iterator[None]:
        local = self._local
        local.is_silent, local.silent_names, local.on_silent_leave = True, [], on_leave
        try:
            yield
        finally:
            local.is_silent, local.on_silent_leave = False, None

    def _silent_name(self) -> str:
        names = self._local.silent_names
        return names[-1] if names else ""

    def _say_line(self, call: Call, frame: Any) -> None:
        name = call.place.name
        number = self._numbers.get(name, 0)
        self._numbers[name] = number + 1
        call.where = where = caller_of(frame)
        if where is None or not call.place.is_wanted:
            return
        parent = call.parent.place.forward if call.parent else ""
        said = (*where, parent)
        if self._lines.get((name, number)) != said:
            self._lines[name, number] = said
            self._journal.say("code", op_name=call.place.forward, iteration=self.iteration, file=where[0], line=where[1],
                              function=where[2], parent=parent, call=number)

    def _at_line(self, fault: Fault, call: Call) -> None:
        if call.where is not None:
            fault.file, fault.line = call.where[:2]

    def _begin(self) -> None:
        """The first forward of a step that is watched."""
        if not self._has_seen:
            self._look_at_buffers()
        self._is_begun = self._has_seen = True
        torch = sys.modules["torch"]
        can_have_gradients = self._with_gradients and not torch.is_inference_mode_enabled()
        for name, parameter in self._parameters:
            state = _state_of(parameter)
            if self._known.get(name) != state:
                self._known[name] = state
                if self._with_parameters and (faults := self._collect("Parameter", name, (parameter,))):
                    self._note("parameter", faults, "Parameter", name, "input")
            if can_have_gradients and parameter.requires_grad and name not in self._accumulations:
                self._accumulations[name] = Accumulation(parameter, functools.partial(self._accumulated, name))
        if self._by_data is not None and not self._is_version_proved:  # a few small ones, to see what their versions do not say
            small = sorted((each for each in self._parameters if each[1].requires_grad and each[1].is_cpu
                            and each[1].layout is torch.strided), key=lambda each: each[1].numel())[:3]
            self._by_data = [(name, each, each.detach().clone()) for name, each in small if each.numel() <= 1 << 16]

    def _look_at_buffers(self) -> None:
        torch = sys.modules["torch"]
        for name, reference in self._outermost:
            module = reference()
            if module is None:
                continue
            for key, buffer in module.named_buffers():
                if buffer.is_floating_point() and buffer.is_cpu and buffer.layout is torch.strided and bool(buffer.isnan().any()):
                    name_of = f"{name}.{key}" if len(self._outermost) > 1 else key
                    if faults := self._collect("Parameter", name_of, (buffer,)):
                        self._note("parameter", faults, "Parameter", name_of, "input")

    # --- operations ---

    def _place_of_operation(self) -> str | None:
        """The name of the module that runs, or "loss"; None where operations are not watched."""
        local = self._local
        if local.is_silent or not self.active or _is_tracing():
            return None
        if local.calls:
            call = local.calls[-1]
            return call.place.name if call.place.is_wanted and not call.is_quiet else None
        return "loss" if self._is_behind_forward and not self._is_in_backward else None

    def _next_number(self, name: str) -> int:
        number = self._numbers.get(name, 0)
        self._numbers[name] = number + 1
        return number

    def _operation_given(self, call: Any) -> int:
        """Kinds of fault in what an operation is given."""
        name = f"{call.name}/forward"
        if self._with_code and call.where is not None and self._lines.get((name, 0)) != call.where:
            self._lines[name, 0] = call.where
            parent = f"{self._local.calls[-1].place.name}/forward" if self._local.calls else ""
            self._journal.say("code", op_name=name, iteration=self.iteration, file=call.where[0], line=call.where[1],
                              function=call.where[2], parent=parent)
        return self._collect(call.op_type, name, call.given) & 3

    def _operation_gave(self, call: Any, results: list[Any]) -> None:
        name = f"{call.name}/forward"
        faults = self._collect(call.op_type, name, (), results)
        if not faults:
            if call.took and self._course.pending is not None and any(each.is_floating_point() for each in results):
                self._course.end()
        elif call.took & NAN or call.took == faults & 3:
            self._course.pass_on()
        else:
            new = self._note("loss" if call.in_loss else "forward", faults, call.op_type, name, "output")
            if call.in_loss and (first := self._course.later("loss")) is not None and first.op_name == name:
                new = first
            if new is None:
                return
            if call.took and self._course.pending is not None:  # an Inf that became NaN
                self._course.pending.kind = "NaN"
                return
            new.operation = call.op_type
            if call.where is not None:
                new.file, new.line = call.where[:2]

    # --- backward ---

    def _with_nodes(self, call: Call, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments; each that needs a gradient gets a view with a node of its own. The node's gradient belongs to this call
        alone, even if the tensor is used elsewhere, too. Lists and dicts are not copied: a module may write to them."""
        torch = sys.modules["torch"]
        if not torch.is_grad_enabled():
            return arguments
        if not any(isinstance(each, tuple) or isinstance(each, torch.Tensor) and each.requires_grad for each in arguments):
            return arguments
        slots = {id(each): slot for slot, each in reversed(list(enumerate(tensors_in(arguments))))}
        return self._noded(call.place, arguments, slots, {})

    def _noded(self, place: Place, value: Any, slots: dict[int, int], views: dict[int, Any]) -> Any:
        if type(value) is sys.modules["torch"].Tensor and value.requires_grad:
            view = views.get(id(value))
            if view is None:
                view = views[id(value)] = value.view_as(value)
                view.grad_fn.register_hook(_GradientOfArgument(self, place, slots[id(value)]))
            return view
        return tuple([self._noded(place, each, slots, views) for each in value]) if type(value) is tuple else value

    def _await_gradients(self, call: Call, outputs: list[Any]) -> None:
        place = call.place
        for slot, tensor in enumerate(outputs):
            if not tensor.requires_grad:
                continue
            node = tensor.grad_fn
            said = (place.op_type, place.backward, slot)
            if node is None:
                continue
            key = id(node), tensor.output_nr
            waiting = call.results.get(key)
            if waiting is not None:
                waiting[1].append(said)
            else:
                calls = [said]
                hook = _GradientOfResult(self, calls, tensor.output_nr)
                call.results[key] = node, calls, hook
                node.register_hook(hook)
            if call.parent is None:
                node.metadata[_OF_MODEL] = True
        if call.parent is None:
            if self._with_zoom and not call.is_quiet and call.results:
                self._keep_outermost(call, outputs)
            call.results = {}  # nodes are not kept

    def _keep_outermost(self, call: Call, outputs: list[Any]) -> None:
        run = _zoom.Run(call.module, call.arguments, call.keywords or {}, call.versions, call.random_state)
        outermost = Outermost(call.place.name, run)
        self._outermost_calls.append(outermost)
        del self._outermost_calls[:-8]
        for slot, tensor in enumerate(outputs):
            if tensor.grad_fn is not None and (waiting := call.results.get((id(tensor.grad_fn), tensor.output_nr))) is not None:
                waiting[2].keep_for(outermost, slot)

    def _await_backward(self, outputs: list[Any]) -> None:
        """Only to know that it runs."""
        for tensor in outputs:
            if tensor.requires_grad and tensor.grad_fn is not None:
                tensor.grad_fn.register_hook(_GradientOfResult(self, [], 0))
                return

    def _backward_begins(self) -> None:
        self._is_in_backward, self._is_behind_forward = True, False
        sys.modules["torch"].autograd.Variable._execution_engine.queue_callback(self._backward_ends)

    def _backward_ends(self) -> None:
        self._is_in_backward = False
        try:
            if self._is_backward_to_be_zoomed:
                self._zoom_backward(self._is_backward_to_be_zoomed)
        except Exception as fault:
            say_fault(fault)
        self._is_backward_to_be_zoomed = ""
        self._outermost_calls = [each for each in self._outermost_calls if not each.has_come]

    def _zoom_backward(self, op_name: str) -> None:
        for outermost in self._outermost_calls:
            if not outermost.has_come:
                continue
            said = _zoom.backward(outermost.run, outermost.gradients, self._silent_name, self._silence)
            name = f"{said['inside']}/backward" if said.get("inside") else op_name
            self._journal.say("zoom", iteration=self.iteration, op_name=name, of=op_name, **said)
            self._journal.flush()
            if said["result"] == "found":
                fault = self._course.later("backward")
                if fault is not None:
                    fault.operation, fault.file, fault.line = said["operation"], said.get("file"), said.get("line")
                    fault.op_name = name
                return

    def _note_backward(self, faults: int, op_type: str, op_name: str, io: str, slot: int) -> None:
        is_first = not self._course.has_fault_of_backward
        self._is_loss_suspect |= is_first and io == "input" and self._is_of_outermost(op_name)
        self._note("backward", faults, op_type, op_name, io, slot)
        if is_first and self._with_zoom and self._course.first is None and self._course.is_forward_clean:
            if self._may_zoom("backward", faults & 3):
                self._is_backward_to_be_zoomed = op_name

    def _gradient(self, op_type: str, op_name: str, io: str, slot: int, gradient: Any) -> None:
        faults = self._collect(op_type, op_name, **{f"{io}s": alone(gradient, slot)})
        if faults:
            self._note_backward(faults, op_type, op_name, io, slot)

    def _is_of_outermost(self, op_name: str) -> bool:
        place = self._places.get(op_name.removesuffix("/backward"))
        return place is not None and place.is_outermost

    def _accumulated(self, name: str, parameter: Any, gradients: Any) -> None:
        if not self._is_in_backward:
            self._backward_begins()
        if self._local.is_silent or not self.active:
            return
        gradient = now = parameter.grad
        if self._world_size > 1:  # what the ranks are about to add up is not to be read meanwhile
            gradient = gradients[0] if gradients else gradient
        if gradient is None:
            return
        faults = self._collect("Gradient", name, (gradient,))
        if faults:
            self._note_backward(faults, "Gradient", name, "input", 0)
        self._seen_gradients[name] = id(now), now._version if now is not None else -1

    # --- the end of a step ---

    def _look_at_loss(self, loss: Any) -> None:
        if loss is None:
            return
        torch = sys.modules["torch"]
        for name, each in ((f"loss/{key}", each) for key, each in loss.items()) if isinstance(loss, Mapping) else (("loss", loss),):
            if each is None:
                continue
            tensor = each if isinstance(each, torch.Tensor) else torch.as_tensor(float(each), dtype=torch.float64)
            is_forward_clean = self._course.is_forward_clean
            faults = self._collect("Loss", name, (), (tensor,))
            if faults:
                self._note("loss", faults, "Loss", name, "output")
            else:
                self._course.is_clean("loss")
            if is_forward_clean and (faults or self._is_loss_suspect) and (operations := _operations_behind(tensor)):
                what = "the loss" if faults else "the loss's gradient"
                self._journal.say("zoom", iteration=self.iteration, op_name=name, result="refused",
                                  why=f"between the model and {what} ran {', '.join(operations)}: which of them made it is not "
                                      "known, or the targets held it")

    def _look_at_parameters(self) -> bool:
        """Whether gradients are there and no parameter was written: a scaler has skipped the step."""
        gradient_count = written = 0
        is_written_by_data = self._is_written_by_data()
        zeroed = 0
        for name, parameter in self._parameters:
            gradient = parameter.grad
            if gradient is not None and self._with_gradients:
                gradient_count += 1
                seen = self._seen_gradients.get(name)
                if self._world_size > 1 or seen != (id(gradient), gradient._version):
                    zeroed += seen is not None and not self._has_checked_zero and _is_zero(gradient)
                    if faults := self._collect("Gradient", name, (), (gradient,)):
                        self._note("gradient", faults, "Gradient", name, "output")
            elif gradient is None:
                zeroed += name in self._seen_gradients
            state = _state_of(parameter)
            if is_written_by_data and parameter.requires_grad or self._known.get(name) != state:
                written += 1
                self._known[name] = state
                if self._with_parameters and (faults := self._collect("Parameter", name, (), (parameter,))):
                    self._note("optimizer", faults, "Parameter", name, "output")
            for key, value in self._state_of_optimizer(parameter):
                if found := tensors_in(value):
                    if faults := self._collect("OptimizerState", f"{name}/{key}", (), found):
                        self._note("optimizer", faults, "OptimizerState", f"{name}/{key}", "output")
        if zeroed and zeroed == len(self._seen_gradients):
            self._say_once("the gradients were zeroed before step() of the watch: call it between optimizer.step() and "
                           "optimizer.zero_grad()")
        self._has_checked_zero = self._has_checked_zero or bool(self._seen_gradients)
        if self._with_gradients and self._seen_gradients or self._with_parameters and written:
            self._course.is_clean("gradient")
        is_skipped = not written and bool(self._seen_gradients or gradient_count)
        if is_skipped:
            self._journal.say("step", iteration=self.iteration, written=0, parameter_count=len(self._parameters))
        return is_skipped

    _has_checked_zero = _is_version_proved = False

    def _state_of_optimizer(self, parameter: Any) -> Iterable[tuple[str, Any]]:
        return self._optimizer.state.get(parameter, {}).items() if self._optimizer else ()

    def _is_written_by_data(self) -> bool:
        """Whether the optimizer writes through `.data`, which leaves a parameter's version as it is: then no version tells
        what was written."""
        if self._by_data is None:
            return True
        torch = sys.modules["torch"]
        for name, parameter, before in self._by_data:
            now = parameter.detach()
            is_same_version = self._known.get(name) == _state_of(parameter)
            if is_same_version and now.shape == before.shape and not bool(((now == before) | (now != now) & (before != before)).all()):
                self._by_data = None
                return True
            # The optimizer counts its writes: nothing is to be compared from now on.
            self._is_version_proved = self._is_version_proved or not is_same_version
        self._by_data = []
        return False


class _GradientOfResult:
    """Of a node that gave a tensor: the tensor's gradient, to the calls that it is a result of."""
    __slots__ = ("_watch", "_calls", "_number", "_outermost", "_slot")

    def __init__(self, watch: RowWatch, calls: list[tuple[str, str, int]], number: int) -> None:
        self._watch, self._calls, self._number = watch, calls, number
        self._outermost: Outermost | None = None
        self._slot = 0

    def keep_for(self, outermost: Outermost, slot: int) -> None:
        self._outermost, self._slot = outermost, slot

    def __call__(self, _: Any, gradients: Any) -> None:
        watch = self._watch
        try:
            if not watch._is_in_backward:
                watch._backward_begins()
            gradient = gradients[self._number] if self._number < len(gradients) else None
            if gradient is not None and watch.active and not watch._local.is_silent:
                if self._outermost is not None:
                    self._outermost.has_come = True
                    if gradient.numel() * gradient.element_size() <= _MOST_KEPT_BYTES:
                        self._outermost.gradients[self._slot] = gradient
                    self._outermost = None
                for op_type, op_name, slot in reversed(self._calls):
                    watch._gradient(op_type, op_name, "input", slot, gradient)
        except Exception as fault:
            say_fault(fault)


class _GradientOfArgument:
    __slots__ = ("_watch", "_place", "_slot")

    def __init__(self, watch: RowWatch, place: Place, slot: int) -> None:
        self._watch, self._place, self._slot = watch, place, slot

    def __call__(self, gradients: Any, _: Any) -> None:
        watch = self._watch
        try:
            if not watch._is_in_backward:
                watch._backward_begins()
            if gradients and gradients[0] is not None and watch.active and not watch._local.is_silent:
                watch._gradient(self._place.op_type, self._place.backward, "output", self._slot, gradients[0])
        except Exception as fault:
            say_fault(fault)


def _state_of(parameter: Any) -> tuple[int, int]:
    return id(parameter.data) if parameter.layout is None else parameter.data_ptr(), parameter._version


_OF_MODEL = "tensorstat: a result of the model"


def _operations_behind(loss: Any) -> list[str]:
    """Those between the model's results and the loss, by autograd's nodes; the model's first."""
    names: list[str] = []
    waiting, seen = [loss.grad_fn], set()
    while waiting and len(seen) < 200:
        node = waiting.pop(0)
        if node is None or node in seen or _OF_MODEL in node.metadata or "AccumulateGrad" in node.name():
            continue
        seen.add(node)
        name = re.sub(r"(Backward)?\d*$", "", node.name()).lower()
        if name not in names:
            names.append(name)
        waiting += [each for each, _ in node.next_functions]
    return names[:12][::-1]


def _is_zero(tensor: Any) -> bool:
    return not bool((tensor._values() if tensor.is_sparse else tensor).any())


def _random_state() -> list[Any]:
    torch = sys.modules["torch"]
    on_device = torch.cuda.get_rng_state() if torch.cuda.is_initialized() else None
    return [torch.default_generator.get_state(), on_device]


def _may_be_random(module_class: type) -> bool:
    try:
        code = getattr(module_class.forward, "__code__", None)
    except AttributeError:  # a scripted module
        code = None
    names = (module_class.__name__, *(code.co_names if code else ()))
    return code is None or any(_RANDOM.search(each.lower()) for each in names)


def _is_random_now(module: Any) -> bool:
    """Torch's own modules draw random numbers for their dropout alone, which some call p; a dropout that is a module is asked
    itself."""
    if not type(module).__module__.startswith("torch.nn.modules."):
        return True
    chance = module.__dict__.get("p", module.__dict__.get("dropout"))
    if not isinstance(chance, (int, float)):
        return "dropout" not in module._modules
    return bool(module.training and chance > 0)


def _is_tracing() -> bool:
    return sys.modules["torch"]._C._get_tracing_state() is not None


def _is_in_backward() -> bool:
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
