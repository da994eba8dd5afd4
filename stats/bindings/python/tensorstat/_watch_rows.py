"""Each tensor of a model as rows of its module's name. stats/doc/origin.md lists the rows and their meaning."""
import os
import re
import sys
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from . import _operations, _rerun
from ._alerts import Step
from ._buffers import Buffers
from ._calls import Call, PerThread, Place, is_inside_backward, pop_call
from ._compiled import is_tracing, is_transformed
from ._cuda_graphs import CudaGraphs
from ._edges import edges_of
from ._faulty import FaultyTensors
from ._gradients import Gradients
from ._graph_rows import graph_rows
from ._hooks import ModuleHooks, drop_left, is_called_again, keywords_of_call, say_fault, tells_of_exceptions
from ._journal import Journal, caller_of
from ._later import Faults, Numbers
from ._layout import Layout
from ._library import logger
from ._loss import look_at_loss
from ._loss_operations import LossOperations
from ._modes import leave as leave_loss
from ._parameters import Parameters
from ._random_modules import RandomModules, random_state
from ._session import DumpSession
from ._replicas import ReplicaFault
from ._shards import Shards, folder_of_whole
from ._tensors import is_float, look_into, tensors_in
from ._verdict import NAN, Course, Fault
from ._watch import Watch, named_modules, named_parameters
from ._zooms import Zooms

EVALUATION = 1  # the graph of its rows
_NOTHING_RAN = ("in a step that was watched no module of the model ran: is it the model that is trained? What torch.compile (before "
                "torch 2.6, or called since the step began), torch.jit or torch.export made of it is not seen")
_UNSEEN = "because none of its modules ran: another model was trained, or one that was compiled, traced or exported"


class RowWatch(Watch):
    """Each module's tensors as rows of its own name."""

    _is_unseen_said = _is_transform_said = False

    def __init__(self, model: Any, session: DumpSession, *, folder: str, every: int, where: str | None, inputs: bool,
                 parameters: bool, gradients: bool, optimizers: list[Any], level: str, zoom: bool, code: bool, rank: int,
                 world_size: int, path: str | None, shards: Any = None, output_shards: Any = None, group: Any = None,
                 compiled: str = "eager", updates: bool = False, may_be_late: bool = False) -> None:
        super().__init__(session, every=every, rank=rank)
        self._may_be_late, self._asks_for_zoom = may_be_late, zoom and level == "module"
        self._inputs, self._with_gradients, self._with_code, self._world_size = inputs, gradients, code, world_size
        self._with_zoom = self._asks_for_zoom  # rows of operations say it themselves
        self._path = path
        self._journal: Journal = Journal(os.path.join(folder, "watch.ndjson"))
        run = {"world_size": world_size, "every": every, "inputs": "all" if inputs else "outermost", "level": level,
               "parameters": parameters, "gradients": gradients}
        if updates:
            run["updates"] = True
        if where:
            run["where"] = where
        if not parameters:
            run["holders"] = [name for name, module, _ in named_modules(model) if module._parameters or module._buffers]
        if shards is not None:
            run["shards"] = "function" if callable(shards) else shards
        self._journal.say("run", **run)
        self._courses = Course(rank), Course(rank, is_evaluation=True)
        self._local = PerThread()
        self._tensor = sys.modules["torch"].Tensor
        self._is_begun = self._has_seen = self._has_stepped = self._has_evaluated = False
        self._is_behind_forward = False
        self._numbers: dict[str, int] = {}  # calls of each module in this iteration
        self._lines: dict[tuple[str, int], tuple[Any, ...]] = {}  # the written lines of the calls
        self._not_seen: set[str] = set()
        self._gradients, self._zooms, self._loss_operations = Gradients(self), Zooms(self), LossOperations(self)
        self._faulty = FaultyTensors(self)

        wanted = self._wanted = re.compile(where or "").search
        self._parameters = Parameters(self, [(name, each) for name, each in named_parameters(model) if wanted(name)],
                                      has_rows=parameters, optimizers=optimizers, has_updates=updates)
        self._buffers = Buffers(self, parameters)
        self._hooks = ModuleHooks(self._enter, self._leave, self._give_up)
        self._drops_left = not tells_of_exceptions()
        self._graph = graph_rows(self, compiled, level)
        self._outermost: list[tuple[str, Any]] = []
        self._places: dict[str, Place] = {}
        self._layout = Layout()
        self._take_modules(model)
        matching = sum(bool(wanted(name)) for name, *_ in named_modules(model)) + len(self._parameters.named)
        if not matching:
            logger.warning("where=%r matches no module and no parameter: nothing is watched. There is, for example, %r", where,
                           named_modules(model)[-1][0])
        self._operations = _operations.enter(self) if level == "op" else None
        self._shards = (None if shards is None else
                        Shards(shards, output_shards, group, folder_of_whole(folder), self._journal, run))
        self._cuda_graphs = CudaGraphs(self) if may_be_late else None
        self._made_iteration: int | None = None  # of the call that was put off, and is made now
        self._group, self._kind_of_shards = group, shards
        self._compared: dict[str, Shards] = {}  # by the names of groups
        self._switch()

    def _take_modules(self, model: Any) -> None:
        self._outermost.clear()
        for name, module, is_outermost in named_modules(model):
            if not self._hooks.has(module):
                self._take_module(name, module, is_outermost)
            if is_outermost:
                self._outermost.append((name, weakref.ref(module)))
        self._buffers.take(named_modules(model))
        self._random = RandomModules(named_modules(model), self._places)
        self._layout.keep(module for _, module, _ in named_modules(model))

    def _take_module(self, name: str, module: Any, is_outermost: bool) -> None:
        self._places[name] = Place(name, module, is_outermost, bool(self._wanted(name)))
        self._hooks.add(module, self._places[name])

    def take_if_new(self, module: Any) -> bool:
        """Whether the model has been given this module since the last look at it. It has rows from now on then."""
        for name, each, is_outermost in named_modules(self._models_now()):
            if each is module:
                self._take_module(name, module, is_outermost)
                return True
        return False

    def _look_anew(self) -> None:
        """Parameters or modules were replaced, as by load_state_dict(assign=True), to_empty() or a new head."""
        models = self._models_now()
        kind = sys.modules["torch"].nn.Parameter
        if is_transformed() or not all(isinstance(each, kind) for _, each in named_parameters(models)):
            return  # functional_call has put others there, for as long as it runs
        self._take_modules(models)
        self._gradients.forget_parameters(self._parameters.replace(
            [(name, each) for name, each in named_parameters(models) if self._wanted(name)]))

    def compare_over(self, names: Sequence[str], groups: Mapping[str, Any] | None) -> None:
        """Compares replicas for rules "differs over NAME"."""
        for name in names:
            if groups is not None and name not in groups:
                raise ValueError(f"alerts: 'differs over {name}', and groups has {', '.join(groups) or 'none'}")
            if groups is None and self._shards is not None:
                self._compared[name] = self._shards
                continue
            kind = self._kind_of_shards if callable(self._kind_of_shards) else "dp"
            self._compared[name] = Shards(kind, None, self._group if groups is None else groups[name], None, self._journal, {})

    def _all_shards(self) -> list[Shards]:
        """The shards that write rows of the whole, and the shards that only compare: on every rank in the same order."""
        return list(dict.fromkeys(filter(None, (self._shards, *self._compared.values()))))

    def difference(self, op_type: str, name: str) -> str | None:
        """The text for DumpTensor::differs_over of a tensor; None: its replicas were not compared."""
        if not self._compared:
            return None
        words = {group: each.compared[op_type, name] for group, each in self._compared.items() if (op_type, name) in each.compared}
        return "\n".join(f"{group}: {each}" for group, each in words.items() if each) if words else None

    # --- steps ---

    def step(self, loss: Any = None) -> Step:
        """A step is over, and the next begins. Call it after optimizer.step() and before the gradients are zeroed. Returns
        the step's alerts.

        loss  a tensor, or a dict of them: a NaN of the loss is then told from one of the model

        If tensors of the step are on a GPU and wait is False, nothing is known of them yet: the next step() waits for them, writes
        first_fault, and returns, logs and acts upon their alerts, which say the step that they are of. "stop" then stops a step later.
        """
        self._has_stepped = True
        self._loss_operations.end()
        self._settle()
        if not self._is_closed and self.iteration % self._every == 0:
            for shards in self._all_shards():
                shards.step(self.iteration, self._parameters.of_step, self._is_stopped)
        if self.active:
            _try(look_at_loss, self, loss)
            if self._is_begun:
                _try(self._buffers.look_after, len(self._outermost) > 1)
            is_skipped = bool(_try(self._parameters.look_after))
            _try(self.judge, None, self._end_course, is_skipped)
            self._journal.flush()  # before the step ends: an event takes a copy
            if self._has_evaluated:
                self._session.step_end(rank=self._rank, graph=EVALUATION, iteration=self.iteration)
            self._end_step()
            if self._later is not None:
                self._later.end_step()
            if not self._is_begun and not self._has_evaluated and not self._is_transform_said:
                if self._graph is not None:
                    self._graph.is_incomplete("none of its modules was seen in a compiled step")
                self._say_once(_NOTHING_RAN)
                if not self._has_seen and not self._is_unseen_said:
                    self._is_unseen_said = True
                    self._journal.say("not_seen", iteration=self.iteration, op_name="", io="output", why=_UNSEEN)
        step = self._found()
        self._forget_step()
        self.iteration += 1
        self._switch()
        self._actions.check(step)
        return step

    def close(self) -> None:
        if self._is_closed:
            return super().close()
        leave_loss()
        if (self._is_begun or self._has_evaluated) and not self._is_stopped:
            self.judge(None, self._end_course, False)
        self._settle(with_this_step=True)
        if self._has_seen and not self._has_stepped:
            self._say_once("step() of the watch was never called: all is iteration %d, without parameters. Call it after "
                           "optimizer.step()", self.iteration)
        elif not self._has_seen:
            self._say_once(_NOTHING_RAN)
        if self._has_stepped and ((self.iteration - 1) % self._every or self._is_stopped):
            self._journal.say("closed", iteration=self.iteration)  # the last steps have no rows, by which a resume would count on
        self._journal.flush()
        super().close()
        if self._operations is not None:
            _operations.leave(self._operations)
            self._operations = None
        if self._cuda_graphs is not None:
            self._cuda_graphs.close()
        self._gradients.close()
        self._parameters.clear()
        self._buffers.clear()
        self._outermost.clear()
        self._layout.clear()
        self._forget_step()
        if (fault := self.first_fault) is not None:
            logger.warning("%s; tensorstat origin %s", fault, self._shown_path())

    def _abandon(self) -> None:
        super()._abandon()
        leave_loss()
        if self._operations is not None:
            _operations.leave(self._operations)
        self._gradients.close()

    @property
    def replica_faults(self) -> list[ReplicaFault]:
        return [fault for each in self._all_shards() for fault in each.faults]

    @property
    def first_fault(self) -> Fault | None:
        faults = [fault for course in self._courses if (fault := course.now()) is not None]
        faults = faults or [course.cut_off for course in self._courses if course.cut_off is not None]
        return min(faults, key=lambda each: each.iteration) if faults else None

    @property
    def _course(self) -> Course:
        """The course of the call that runs in this thread."""
        return self._courses[self._local.is_evaluation]

    def _end_course(self, _: None, is_skipped: bool) -> None:
        self._local.is_evaluation = self._gradients.is_loss_suspect = False
        for course in self._courses:
            course.end_iteration(is_skipped)

    def modules_now(self) -> list[tuple[str, Any]]:
        return [(name, module) for name, module, _ in named_modules(self._models_now())]

    def holder_of(self, parameter: Any) -> str:
        """The module that has this parameter."""
        return next((name for name, module in self.modules_now() if any(each is parameter for each in module._parameters.values())), "")

    def course_of_step(self) -> Course | None:
        self._settle(with_this_step=True)
        return self._courses[0] if self.active and self._is_begun else None

    def has_seen_gradient(self, name: str) -> bool:
        return self.active and self._world_size == 1 and self._parameters.has_seen_gradient(name)

    def operation_of_loss(self, loss: Any, name: str) -> dict[str, Any] | None:
        return self._loss_operations.maker_in(loss, name) if self.active else None

    def operation_of_gradient(self) -> dict[str, Any] | None:
        return self._loss_operations.maker_of_gradient() if self.active and self._gradients.is_loss_suspect else None

    def is_to_skip(self) -> None:
        self._parameters.is_taken_by_check = True
        if self.active and self._is_begun:
            try:
                self._parameters.look_at_changed()
            except Exception as fault:
                say_fault(fault)

    def _has_told_by_check(self) -> None:
        self._course.is_told_by_check = True

    def trains(self) -> None:
        for place in self._places.values():
            place.has_trained = True

    def finds_loss(self) -> None:
        self._gradients.finds_loss = True

    def _shown_path(self) -> str:
        folder = self._event or self._path or os.path.dirname(os.path.dirname(os.path.dirname(self._journal.path)))
        try:
            shown = os.path.relpath(folder)
        except OSError:  # the working directory is gone
            return folder
        return folder if shown.startswith("..") else shown

    def _switch(self) -> None:
        if self.active:
            if self._graph is not None and not self._graph.begin_step():
                self._graph = None
            self._hooks.start()
            if self._hooks.is_eager:
                self._say_once("steps that are measured run without torch.compile")
        elif self._is_closed:
            self._hooks.close()
            if self._graph is not None:
                self._graph.close()
        else:
            self._hooks.stop()

    def _forget_step(self) -> None:
        self._is_begun = self._is_behind_forward = self._has_evaluated = self._local.is_evaluation = False
        self._numbers.clear()
        self._loss_operations.forget()
        self._local.calls.clear()
        self._parameters.forget_step()
        self._gradients.forget_step()

    # --- faults, at once or later ---

    def judge(self, faults: Faults | Numbers | None, call: Callable[..., Any], *arguments: Any) -> None:
        """Calls call(faults, *arguments): now, or if faults are not known yet, or an earlier call waits, behind the end of the step and
        in the order of these calls. Arguments that wait hold no tensors."""
        if self._later is None:
            call(faults, *arguments)
        else:
            self._later.put_off(self.iteration, self._local.is_evaluation, faults, call, arguments)

    def _is_late(self) -> None:
        super()._is_late()
        if self._asks_for_zoom:
            self._say_once("tensors are on a GPU: their faults are known a step later, and no module is run again to find the operation. "
                           "watch(wait=True) knows at once, looks for the operation, and waits for each tensor")
        self._with_zoom = False  # arguments are not kept for so long

    def _settle(self, with_this_step: bool = False) -> None:
        """Makes the waiting calls of the ended steps, or all of them."""
        if self._later is None or self._is_closed:
            return
        try:
            self._later.settle(self._session._handle(), with_this_step, self._make)
        except Exception as fault:
            say_fault(fault)
        self._local.is_evaluation, self._made_iteration = False, None
        self._session._tell_alerts()
        self._journal.flush()

    def _make(self, iteration: int, is_evaluation: bool, faults: Faults | None, call: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        self._told_iteration = self._made_iteration = iteration
        self._local.is_evaluation = is_evaluation
        try:
            call(faults, *arguments)
        except Exception as fault:
            say_fault(fault)

    @property
    def judged_iteration(self) -> int:
        """The iteration of the row that is judged."""
        return self.iteration if self._made_iteration is None else self._made_iteration

    def note(self, faults: Faults | None, phase: str, op_type: str, op_name: str, io: str) -> None:
        """For judge()."""
        if faults:
            self._note(phase, faults, op_type, op_name, io)

    def is_clean(self, _: None, phase: str) -> None:
        """For judge()."""
        self._course.is_clean(phase)

    def _note(self, phase: str, faults: Faults, op_type: str, op_name: str, io: str, slot: int | None = None,
              call: Call | None = None) -> Fault | None:
        """Handles a faulty row. Returns the fault if it is a new one of the forward. `call` has its line."""
        kinds = faults.kinds
        fault = self._course.fault(phase, kinds, op_type, op_name, self.judged_iteration, io, faults.first if slot is None else slot)
        fault.is_of_ranks = phase == "gradient" and self._world_size > 1
        if call is not None:
            self._at_line(fault, call)
        return fault if self._course.note(fault, kinds, self._local.calls) else None

    # --- forward ---

    def _enter(self, module: Any, place: Place, arguments: tuple[Any, ...]) -> None:
        local = self._local
        if local.is_silent:
            if local.on_silent_call is not None:
                local.on_silent_call(arguments)
            local.silent_names.append(place.name)
            return
        call = self._open(place, module, arguments)
        if call is None:
            return
        parent, is_quiet = call.parent, call.is_quiet
        looks = parent is None or self._inputs or self._courses[local.is_evaluation].pending is not None
        if not is_quiet:
            frame = sys._getframe(3)  # torch's frame that calls the module
            if self._with_code:
                self._say_line_at(call, caller_of(frame))
            if self._with_zoom or self._saves_tensors:
                call.versions = _rerun.versions_of(arguments)
                if module.__dict__.get("_buffers"):
                    call.buffers = _rerun.versions_of_buffers(module)
            if self._with_zoom and place.is_random_now:
                call.random_state = random_state()
            if looks:
                call.keywords = keywords_of_call(sys._getframe(2))
            if module.training is not place.mode:
                self._say_mode(module, place)
        call.arguments = arguments
        if parent is None and self._with_zoom and not is_quiet:
            call.before = self._zooms.before(call)
        if looks and place.is_wanted:
            keywords = call.keywords if call.keywords is not None else keywords_of_call(sys._getframe(2))
            given = tensors_in((arguments, keywords) if keywords else arguments)
            if given and not is_quiet:
                self._look_at_inputs(call, given)
            if given and self._with_gradients and (parent is None or self._inputs) and not call.is_transformed and (
                    sys.modules["torch"].is_grad_enabled()):
                call.edges = edges_of(given)

    def _open(self, place: Place, module: Any, arguments: Any = ()) -> Call | None:
        """A call begins; None of one that is traced."""
        local = self._local
        calls = local.calls
        forward = module.__dict__.get("forward")
        # An exception has left these calls (KeyboardInterrupt, or any before torch 2.1), or Lightning's DDP calls training_step() as forward().
        if calls and place.is_outermost and calls[0].place is place and not (calls[0].forward is forward and is_called_again(module)):
            calls.clear()
        elif calls and self._drops_left:
            drop_left(calls)
        parent = calls[-1] if calls else None
        if parent is None:
            self._loss_operations.end()
            if is_tracing(arguments):
                return None
            if self._with_zoom:
                self._random.look()
            is_quiet = self._gradients.is_running and is_inside_backward()
            self._gradients.is_running = is_quiet
            try:
                local.is_evaluation = not is_quiet and self._evaluates(place, module)
                if local.is_evaluation:
                    self._begin_evaluation()
                elif not is_quiet and not self._is_begun:
                    self._begin()
            except Exception as fault:  # the call is one nevertheless
                say_fault(fault)
        else:
            is_quiet = parent.is_quiet
        call = Call(place, module, parent, is_quiet, local.is_evaluation)
        if forward is not None:
            call.forward = forward
        call.is_transformed = is_transformed() if parent is None else parent.is_transformed
        calls.append(call)
        return call

    def _look_at_inputs(self, call: Call, given: list[Any]) -> None:
        place = call.place
        faults = self._collect(place.op_type, call.name, given, graph=self._local.is_evaluation)
        call.are_inputs_saved, self._is_of_alert = self._is_of_alert, False
        call.is_looked_at = True
        if faults:
            self.judge(faults, self._judge_inputs, call, given if self._later is None else None)

    def _judge_inputs(self, faults: Faults | None, call: Call, given: list[Any] | None) -> None:
        """`given`: None where the fault is known too late to look at them."""
        place = call.place
        if faults:
            call.took = faults.kinds
            if given is not None and not call.is_transformed:
                self._faulty.of_arguments(call, given)
            phase = "input" if call.parent is None else "forward"
            new = self._note(phase, faults, place.op_type, call.name, "input")
            if new is not None and given is not None and self._with_code and not call.is_transformed:
                self._faulty.first(call, "input", None, given, faults)
            if call.parent is not None and call.parent.is_only_held and not call.is_only_held:  # which may have made it anew
                call.parent.is_to_be_zoomed = True
            if new is not None and call.parent is not None:  # its parent's code made it
                parent = call.parent
                new.op_type, new.op_name, new.io = parent.place.op_type, parent.name, "output"
                new.held_by = place.name if call.is_only_held else ""
                self._at_line(new, parent)
                parent.is_to_be_zoomed = True

    def _leave(self, module: Any, place: Place, arguments: tuple[Any, ...], outputs: Any) -> None:
        local = self._local
        if local.is_silent:
            if local.on_silent_call is not None:
                local.on_silent_call(outputs)
            if local.silent_names:
                local.silent_names.pop()
            return
        call = pop_call(local.calls, module)
        if call is None:
            return
        if isinstance(outputs, self._tensor):
            tensors, unknown = [outputs], []
        else:
            contents = look_into(outputs)
            tensors, unknown = contents.tensors, contents.unknown
        if not call.is_quiet:
            self._look_at_outputs(call, outputs, tensors, unknown)
        if not call.parent:
            self._close_outermost(call)
        if call.is_transformed:  # its graph is not ours
            if self._later is not None:
                call.forget_tensors()
            return
        if self._with_gradients and place.is_wanted:
            self._gradients.wait_for(call, tensors)
            if call.edges:
                self._gradients.wait_for_arguments(call, tensors)  # behind: one node may give both gradients
        elif not call.parent:
            self._gradients.wait_for_any(tensors)
        if self._later is not None:
            call.forget_tensors()
        if not call.parent:
            local.is_evaluation = False
            if self._graph is None and self._is_behind_forward and self._with_zoom:  # last: what we ask of tensors goes through its mode
                self._loss_operations.begin(tensors)

    def _give_up(self, module: Any) -> None:
        """An exception ends the call."""
        local = self._local
        if local.is_silent:
            if local.silent_names:
                local.silent_names.pop()
            return
        pop_call(local.calls, module)
        if not local.calls:
            local.is_evaluation = False

    def _close_outermost(self, call: Call) -> None:
        self._local.calls.clear()
        self._is_behind_forward = not call.is_quiet and not self._local.is_evaluation

    def _look_at_outputs(self, call: Call, value: Any, outputs: list[Any], unknown: list[str]) -> None:
        place, name, is_evaluation = call.place, call.name, self._local.is_evaluation
        faults = self._collect(place.op_type, name, (), outputs, graph=is_evaluation) if outputs and place.is_wanted else None
        if self._shards is not None and place.is_wanted and not is_evaluation:
            self._shards.saw(place.op_type, name, outputs)
        if self._is_of_alert and not call.are_inputs_saved:
            keywords = call.keywords if call.keywords is not None else keywords_of_call(sys._getframe(2))
            arguments = (call.arguments, keywords) if keywords else call.arguments
            self._save_inputs(place.op_type, name, arguments, call.versions, is_evaluation)
        if unknown and place.is_wanted and name not in self._not_seen:
            self._not_seen.add(name)
            why = unknown[0]
            self._journal.say("not_seen", iteration=self.iteration, op_name=name, io="output", why=why)
            logger.warning("outputs of %s are not seen: %s. Tensors are found in lists, dicts, dataclasses and simple objects",
                           place.name, why)
        gives_floats = (call.took != 0 or self._later is not None) and any(map(is_float, outputs))
        self.judge(faults, self._judge_outputs, call, bool(outputs), gives_floats, (value, outputs) if self._later is None else None)

    def _judge_outputs(self, faults: Faults | None, call: Call, has_outputs: bool, gives_floats: bool,
                       gave: tuple[Any, list[Any]] | None) -> None:
        """`gave`: the results, and the tensors in them."""
        place, name = call.place, call.name
        if name in self._unreadable:
            self._course.not_read = place.name
        if faults and call.took & faults.kinds and self._course.pending is None:
            self._course.pass_on()
        if faults:
            before = self._course.set_aside() if call.is_only_held and self._with_zoom and not call.is_transformed else None
            new = self._note("forward", faults, place.op_type, name, "output", call=call)
            if new is not None and gave is not None and self._with_code and not call.is_transformed:
                self._faulty.first(call, "output", *gave, faults)
            if (new is not None or call.is_to_be_zoomed) and self._with_zoom and not call.is_transformed:
                self._zooms.forward(call, faults.kinds)
            elif new is not None and self._operations is None:  # with level="op" operations name the hooks
                self._zooms.say_hooks(name, self._zooms.hooks_before(call), faults.kinds)
            if before is not None and (new is None or new.operation is None):
                self._course.take_back(before)
            if new is not None:
                self._journal.flush()
        elif call.is_to_be_zoomed and self._with_zoom and not call.is_only_held:
            self._zooms.forward(call, 0)
        elif self._course.pending is not None and has_outputs and place.is_wanted:
            if self._with_zoom and not call.is_transformed:
                self._zooms.cut_off(call)
            if call.took and gives_floats and not call.is_only_held or call.parent is None:
                self._course.end(call.name)

    def _say_line_at(self, call: Call, where: Any, parent: str | None = None) -> None:
        name = call.name
        number = self._numbers.get(name, 0)
        self._numbers[name] = number + 1
        call.where = where
        if where is None or not call.place.is_wanted:
            return
        if parent is None:
            parent = call.parent.name if call.parent else ""
        line = (*where, parent)
        if self._lines.get((name, number)) != line:
            self._lines[name, number] = line
            self._journal.say("code", op_name=name, iteration=self.iteration, file=where[0], line=where[1],
                              function=where[2], parent=parent, call=number)

    def _say_mode(self, module: Any, place: Place) -> None:
        if not sys.modules["torch"].is_grad_enabled():
            return
        if place.mode is not None:
            self._journal.say("mode", op_name=place.name, iteration=self.iteration, training=bool(module.training))
        place.mode = module.training

    def _at_line(self, fault: Fault, call: Call) -> None:
        if call.where is not None:
            fault.file, fault.line = call.where[:2]

    def _begin(self) -> None:
        """The first forward of a step that is watched."""
        if is_transformed():
            self._has_seen = True
            if not self._is_transform_said:
                self._is_transform_said = True
                self._journal.say("not_seen", iteration=self.iteration, op_name="transforms", io="output",
                                  why="gradients and parameters inside of a transform of torch.func, such as grad or vmap, have no rows")
            return
        if self._layout.has_changed():
            self._look_anew()
        _try(self._buffers.look_before, len(self._outermost) > 1)
        if not self._has_seen:
            self._journal.say("trained", iteration=self.iteration,
                              names=[name for name, each in self._parameters.named if each.requires_grad])
            if self._is_unseen_said:
                self._journal.say("not_seen", iteration=self.iteration, op_name="", io="output", why="")
        self._is_begun = self._has_seen = True
        _try(self._parameters.look_before)
        if self._with_gradients and not sys.modules["torch"].is_inference_mode_enabled():
            self._gradients.wait_for_parameters(self._parameters.named)

    def _begin_evaluation(self) -> None:
        """Begins the rows of an evaluation: a graph of its own, in the iteration that follows."""
        if not self._has_evaluated:
            self._has_evaluated = self._has_seen = True
            _try(self._parameters.look_before, EVALUATION)
        torch = sys.modules["torch"]  # it trains in eval mode where gradients are on
        if self._with_gradients and torch.is_grad_enabled() and not torch.is_inference_mode_enabled() and not self._gradients.waits_for_parameters:
            self._gradients.wait_for_parameters(self._parameters.named)

    def _evaluates(self, place: Place, module: Any) -> bool:
        """A module that is called alone trains if its model does."""
        for name, reference in self._outermost:
            if (len(self._outermost) == 1 or place.name.startswith(f"{name}.")) and (outermost := reference()) is not None:
                return self._places[name].evaluates(outermost)
        return place.evaluates(module)

    def _note_buffer(self, faults: Faults | None, module: str, buffer: str) -> None:
        """The forward of this module wrote a buffer. An Inf in it may be a mask."""
        if not faults or not faults.kinds & NAN:
            return
        place = self._places[module]
        where = self._lines.get((place.forward, self._numbers.get(place.forward, 1) - 1))
        self._course.note_buffer(Fault("NaN", "forward", place.op_type, place.forward, self.judged_iteration, self._rank, buffer=buffer,
                                       file=where[0] if where else None, line=where[1] if where else None))

    def _has_run(self, name: str) -> bool:
        """Whether a module was called in this step. Only with `code`, which counts its calls."""
        return f"{name}/forward" in self._numbers or f"{name}/eval" in self._numbers

    def _next_number(self, name: str) -> int:
        number = self._numbers.get(name, 0)
        self._numbers[name] = number + 1
        return number


def _try(look: Callable[..., Any], *arguments: Any) -> Any:
    """A fault of one look does not end the next ones."""
    try:
        return look(*arguments)
    except Exception as fault:
        say_fault(fault)
        return None
