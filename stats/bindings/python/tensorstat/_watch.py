"""Every tensor of a PyTorch model, watched while it trains."""
import os
import sys
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import _native
from ._alerts import Actions, Alert, AlertSettings, Step
from ._calls import class_of
from ._check import Checked, check, has_scaler
from ._compiled import inner_of, is_compiled, name_in_model
from ._hooks import leave_in_fork
from ._journal import Journal
from ._later import Faults, Later, Numbers, joined
from ._library import Error, logger
from ._modes import leave
from ._parameters import optimizers_of
from ._rerun import versions_of
from ._session import DumpSession
from ._tensors import is_dtensor, is_wrapped, readable, tensors_in
from ._verdict import Course, Fault
from ._watch_config import config_of_path, has_scope, initial_iteration, make_way, members_of, whole_number

if TYPE_CHECKING:
    from ._replicas import ReplicaFault

__all__ = ["Watch", "watch"]


class Watch:
    """Hooks on a model's modules; see watch()."""

    def __init__(self, session: DumpSession, *, every: int, rank: int) -> None:
        self._session, self._every, self._rank = session, every, rank
        self.iteration = 0
        self._is_closed = self._is_stopped = False
        self._operators: dict[tuple[str, str], Any] = {}
        torch = sys.modules["torch"]
        self._plain_types = {type(None), torch.Tensor, torch.nn.Parameter}
        self._unreadable: set[str] = set()
        self._said: set[str] = set()
        self._finalizer: Any = None
        self._actions = Actions((), None, rank, 1)
        self._alerts: list[Alert] = []
        self._event: str | None = None  # the folder of the last one
        self._saves_tensors = self._is_of_alert = False  # whether an alert names a tensor that was collected
        self._journal: Journal | None = None
        self._not_saved: dict[str, list[str]] = {}  # by operator, in this step
        self._models: dict[str, Any] = {}  # weak references, by prefix
        self._may_be_late = False  # faults of tensors on a GPU may be known later
        self._later: Later | None = None  # once the first of them was
        self._told_iteration = 0  # with _later: of the step that is told by the next step()
        session._on_alert = self._alerts.append
        leave_in_fork(self)

    def close_with(self, models: Any) -> None:
        """Closes the watch when the first model is garbage-collected or the process exits."""
        named = models_of(models)
        self._models = {prefix: weakref.ref(each) for prefix, each in named.items()}
        self._finalizer = weakref.finalize(next(iter(named.values())), self.close)

    @property
    def active(self) -> bool:
        """Whether this step is one of every `every` steps, and not between stop() and start()."""
        return not self._is_closed and not self._is_stopped and self.iteration % self._every == 0

    @property
    def first_fault(self) -> Fault | None:
        """Where the first NaN or Inf began, as far as the watch knows without reading its rows; None where nothing is wrong. Of tensors
        on a GPU it knows at the next step(), in check() and at close(): see `wait` of watch()."""
        return None

    @property
    def replica_faults(self) -> "list[ReplicaFault]":
        """With `shards`: replicas that began to differ from the others, on every rank alike."""
        return []

    def step(self, loss: Any = None) -> Step:
        """A step is over, and the next begins."""
        raise NotImplementedError

    def check(self, loss: Any = None, *, then: str | None = None) -> Checked:
        """Whether this step is faulty: the loss, or a gradient of the models' parameters as it is now, has NaN or Inf. Call it
        between backward() and optimizer.step(), and step() behind that, whatever it finds:

            loss.backward()
            if not w.check(loss):
                optimizer.step()
            w.step(loss); optimizer.zero_grad()

        loss  as for step(); None: only the gradients are looked at
        then  "skip": if the step is faulty, the gradients of all parameters are set to None, so that optimizer.step() leaves
              parameters and states as they are. Not for LBFGS, nor where a GradScaler steps, which skips by itself

        `fault` of the result says where it began. Behind the first faulty step of a run no operation is sought any more. In a
        step that is not measured (`every`, stop(), a closed watch) the same is checked, and `fault` is the loss or the gradient. If there
        is no gradient yet, the results of the model are checked, in a step that is measured.

        With several ranks each of them calls it in each step: one all-reduce (MAX of an int64; `agree` of watch() takes its
        place), after which all of them have the same `faulty`, `rank` and `skipped`. Reads each gradient once, copies none,
        and waits once for each device. Raises ValueError for another `then`, and nothing of its own else: a tensor that
        cannot be read is said once, and passes for clean.
        """
        leave()
        result = check(self, loss, then, self._actions.first_of_all)
        if result.faulty:
            is_of_scaler = not result.skipped and has_scaler()
            if not is_of_scaler:
                self._has_told_by_check()
            if self._journal is not None and not self._is_closed:
                self._journal.say("check", iteration=self.iteration, rank=result.rank, skipped=result.skipped,
                                  **({"scaler": True} if is_of_scaler else {}))
            if "checked" not in self._said:
                self._said.add("checked")
                logger.warning("%s; later ones are not logged", result)
        return result

    @property
    def rank(self) -> int:
        """The rank of this process."""
        return self._rank

    def _models_now(self) -> dict[str, Any]:
        return {prefix: each for prefix, reference in self._models.items() if (each := reference()) is not None}

    def parameters_now(self) -> list[tuple[str, Any]]:
        """(name, parameter) of the models that are still there."""
        return named_parameters(self._models_now())

    def course_of_step(self) -> Course | None:
        """The course of this step; None if it is not measured."""
        return None

    def operation_of_loss(self, loss: Any, name: str) -> dict[str, Any] | None:
        """The operation that made this loss, with its line; None where it is not known."""
        return None

    def operation_of_gradient(self) -> dict[str, Any] | None:
        """The operation that made the gradient that the loss hands to the model faulty; None where it is not known, or not the loss's."""
        return None

    def has_seen_gradient(self, name: str) -> bool:
        """Whether backward was clean in a step that is measured, and something has changed this gradient since."""
        return False

    def is_to_skip(self) -> None:
        """check() takes the gradients now."""

    def _has_told_by_check(self) -> None:
        """check() has told a fault: a step without a written parameter is one that the training skips for it."""

    def go_to(self, iteration: int) -> None:
        """The next step is this iteration."""
        if iteration != self.iteration:
            self.iteration = iteration
            self._switch()

    def trains(self) -> None:
        """The model is trained: from now on a call in eval mode is an evaluation."""

    def finds_loss(self) -> None:
        """The loss is the tensor that backward begins with."""

    def act_by(self, actions: Actions) -> None:
        self._actions, self._saves_tensors = actions, actions.saves_tensors

    def _found(self) -> Step:
        """The result of the step that was ended. With several ranks all of them call this."""
        is_measured = self.iteration % self._every == 0
        if self._later is not None and not is_measured and self._actions.agrees:
            return Step(self._told_iteration, [])  # alerts of a step before wait for one in which all ranks agree
        alerts, self._alerts[:] = list(self._alerts), ()
        for alert in alerts:
            self._event = alert.event or self._event
            alert.not_saved += self._not_saved.get(alert.op_name, ())
        self._not_saved.clear()
        step = self.iteration if self._later is None else self._told_iteration
        if self._is_closed or not is_measured and not (alerts and self._later is not None):
            return Step(step, alerts)
        return self._actions.after(step, alerts)

    def stop(self) -> None:
        """Watches nothing until start(). Steps are counted on."""
        self._is_stopped = True
        self._switch()

    def start(self) -> None:
        """Watches again, after stop()."""
        self._is_stopped = False
        self._switch()

    def close(self) -> None:
        """Takes the hooks away, and ends the session. A second call does nothing."""
        self._is_closed = True
        self._switch()
        if self._finalizer is not None:
            self._finalizer.detach()
        self._session.close()
        if self._later is not None:  # of the last step, too
            self._actions.tell(self._alerts, is_last=True)
        else:
            for alert in self._alerts:  # of a step that did not end
                logger.warning("%s", alert)
        self._alerts.clear()

    def __enter__(self) -> "Watch":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    @property
    def counters(self) -> dict[str, int]:
        """The counters of the session: {"tensor_count": 12, "row_count": 12, ...}"""
        return self._session.counters

    def _switch(self) -> None:
        """Hooks are there in steps that are watched, and only then."""

    def _abandon(self) -> None:
        """In a forked process: nothing is written, nothing is said."""
        self._is_closed = True
        self._switch()
        if self._finalizer is not None:
            self._finalizer.detach()

    def _say_once(self, words: str, *arguments: Any) -> None:
        if words not in self._said:
            self._said.add(words)
            logger.warning(words, *arguments)

    def _end_step(self) -> None:
        self._session.step_end(rank=self._rank, iteration=self.iteration)

    def _collect(self, op_type: str, name: str, inputs: Sequence[Any] = (), outputs: Sequence[Any] = (),
                 layout: str = "", differs_over: Sequence[str | None] | None = None, graph: Any = 0) -> Faults | Numbers | None:
        """Returns the faults, or numbers while they are unknown: see _later. `differs_over` tells for each output how its replicas differ."""
        try:
            operator = self._operators.get((op_type, name))
            if operator is None:
                operator = self._operators[op_type, name] = self._session._operator(op_type, name)
            plain = self._plain_types
            for tensor in (*inputs, *outputs):
                if tensor is not None and tensor.is_complex():
                    raise Error("complex numbers have no rows: their parts have", "unsupported")
                if type(tensor) not in plain and is_dtensor(tensor):
                    raise Error("a DTensor has no address: this rank's shard has", "unsupported")
            handles = self._session._handles
            answer: Any = _native.collect(handles[0] if handles else self._session._handle(), operator, self._rank, 0, graph, self.iteration,
                                          inputs, outputs, layout, False, False, False, differs_over, self._may_be_late)
            if answer is None:
                return None
            if type(answer) is list:
                if self._later is None:
                    self._is_late()
                return answer
            kinds, first, is_of_alert = answer
            self._is_of_alert |= is_of_alert
            return Faults(kinds, first) if kinds else None
        except Exception as refused:  # training goes on: what can be read is, and the rest is said once
            if sum(tensor is not None for tensor in (*inputs, *outputs)) > 1:
                each: list[Faults | Numbers | None] = []
                for io, tensors in (("inputs", inputs), ("outputs", outputs)):
                    for slot, tensor in enumerate(tensors):
                        if tensor is None:
                            continue
                        each.append(self._collect(op_type, name, layout=layout, differs_over=differs_over if io == "outputs" else None,
                                                  graph=graph, **{io: alone(tensor, slot)}))
                return joined(each)
            if (other := self._readable(inputs, outputs)) is not None:
                return self._collect(op_type, name, *other, layout=layout, differs_over=differs_over, graph=graph)
            if name not in self._unreadable:
                self._unreadable.add(name)
                logger.warning("%s is not watched: %s", name, refused)
                if self._journal is not None:
                    io = "output" if any(output is not None for output in outputs) else "input"
                    self._journal.say("not_seen", iteration=self.iteration, op_name=name, io=io, why=str(refused))
            return None

    def _is_late(self) -> None:
        """The faults of a call are known behind its step, for the first time."""
        self._later = Later()

    def _save_inputs(self, op_type: str, name: str, arguments: Any, versions: Sequence[int], graph: int = 0) -> None:
        """After an alert that names an output of this operator: saves its inputs for the event. `versions`: the tensors' versions before it
        ran."""
        self._is_of_alert = False
        now = versions_of(arguments)
        for slot, tensor in enumerate(tensors_in(arguments)):
            why = None
            if slot < len(versions) and now[slot] != versions[slot]:
                why = "it was written in place"
            else:
                try:
                    _native.collect(self._session._handle(), self._operators[op_type, name], self._rank, 0, graph, self.iteration,
                                    alone(readable(tensor), slot), (), "", False, False, True)
                except Exception as fault:
                    why = str(fault)
            if why:
                self._not_saved.setdefault(name, []).append(f"input {slot} is not saved: {why}")
                if self._journal is not None:
                    self._journal.say("not_saved", iteration=self.iteration, op_name=name, io="input", slot=slot, why=why)

    def _readable(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]] | None:
        """The one tensor as the engine can read it; None where it is that already, or cannot be."""
        try:
            made = [[each if each is None else readable(each) for each in tensors] for tensors in (inputs, outputs)]
        except Exception:
            return None
        given = [each for each in (*inputs, *outputs) if each is not None]
        (mine,) = [each for each in (*made[0], *made[1]) if each is not None] or [None]
        if not given or mine is None:
            return None
        is_same = (mine.layout, mine.dtype, mine.device) == (given[0].layout, given[0].dtype, given[0].device)
        if is_same and type(mine) is type(given[0]) and not is_wrapped(given[0]) or mine.device.type == "meta":
            return None
        if not given[0].is_cpu:
            self._say_once("tensors on %s are copied to the host to be measured", given[0].device.type)
        return made[0], made[1]


def alone(tensor: Any, slot: int) -> list[Any]:
    """A list of one tensor at its slot: None stands in front of it."""
    return [None] * slot + [tensor]


def named_modules(models: Any) -> list[tuple[str, Any, bool]]:
    """(name, module, whether it is outermost) of a model, or of several: by their keys, or in a list by their classes."""
    modules = []
    for prefix, model in models_of(models).items():
        outermost = prefix or class_of(model)
        modules += [(".".join(filter(None, (prefix, name_in_model(name)))) or outermost, module, not name)
                    for name, module in model.named_modules() if not is_compiled(module)]
    return modules


def modules_of_msprobe(models: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """(name, module) of the modules inside of the models: "fc", or if a model has a key, "0.fc"."""
    return [(".".join(filter(None, (key, name_in_model(name)))), module)
            for key, model in models_of(models).items() for name, module in model.named_modules()
            if name and not is_compiled(module)]


def named_parameters(models: Any) -> list[tuple[str, Any]]:
    seen: set[int] = set()
    parameters = []
    for prefix, model in models_of(models).items():
        for name, parameter in model.named_parameters():
            if id(parameter) not in seen:
                seen.add(id(parameter))
                parameters.append((".".join(filter(None, (prefix, name_in_model(name)))), parameter))
    return parameters


def models_of(models: Any) -> dict[str, Any]:
    if isinstance(models, Mapping):
        named = {name: inner_of(each) for name, each in models.items()}
    elif isinstance(models, (list, tuple)):
        inner = [inner_of(each) for each in models]
        classes = [class_of(each) for each in inner]
        named = {name if classes.count(name) == 1 else f"{name}{number}": each
                 for number, (name, each) in enumerate(zip(classes, inner))}
    else:
        named = {"": inner_of(models)}
    for name, model in named.items():
        if not hasattr(model, "named_modules"):
            raise TypeError(f"watch() wants a torch.nn.Module, or a list or dict of them; {name or 'this'} is a {type(model).__name__}")
    return named


def world_of_process() -> tuple[int, int]:
    """(rank, how many there are), as torch.distributed has them."""
    from torch import distributed
    if distributed.is_available() and distributed.is_initialized():
        return distributed.get_rank(), distributed.get_world_size()
    return 0, 1


def _session_with(asked: AlertSettings, *arguments: Any, **options: Any) -> tuple[DumpSession, list[str]]:
    """The session, and the groups of ranks over which its rules compare replicas."""
    session = DumpSession(*arguments, **options)
    try:
        return session, asked.set(session._handle())
    except BaseException:
        session.close()
        raise


def watch(model: Any, config: str | os.PathLike[str] | None = None, *, path: str | os.PathLike[str] | None = None,
          every: int = 1, where: str | None = None, inputs: bool = False, parameters: bool = True, gradients: bool = True,
          optimizer: Any = None, level: str = "module", zoom: bool = True, code: bool = True, exist: str = "refuse",
          resume: bool | int = False, dialect: str = "ours", rank: int | None = None, alerts: str | Sequence[str] = (),
          keep: int | tuple[int, int] = 0, then: str | Callable[[Alert], Any] | Sequence[Any] = ("write", "warn"),
          agree: Callable[[int], int] | None = None, shards: str | Callable[[str, Any], str] | None = None,
          output_shards: str | Callable[[str, Any], str | None] | None = None, group: Any = None,
          groups: Mapping[str, Any] | None = None, only_bad: bool = False, event_bytes: int = 1 << 30,
          compiled: str = "eager", updates: bool = False, wait: bool = False) -> Watch:
    """Writes the statistics of a torch.nn.Module's tensors while it trains; a context manager.

        with tensorstat.watch(model, path="runs/nan", every=10) as w:
            for batch in data:
                loss = model(batch).sum(); loss.backward(); optimizer.step()
                w.step(loss); optimizer.zero_grad()

    and then, in a shell, `tensorstat origin runs/nan`.

    model       a module, or several: {"gen": g, "disc": d}, or a list of them
    config      a data_dump.json (a path, or the text); None: the one that MINDSPORE_DUMP_CONFIG names, or where it names
                none, everything, to `path`
    path        a folder; takes the place of the config's
    every       a step of so many is measured
    where       a regular expression that a module's or parameter's name has to contain
    inputs      the inputs of all modules, not only of the outermost
    parameters  those that the optimizer wrote, and before the first step all
    updates     after - before of each parameter that the optimizer wrote. It wants parameters, and in a measured step the memory
                of a copy of each parameter, from the first forward to step(): so it is off by default
    gradients   the gradients of parameters and of the modules' outputs; with inputs, also the gradients of inputs
    optimizer   its state too (Adam's moments); one, or a list or dict of them
    level       "op": the operations inside of the modules, too, and those between the model and the loss. It is slow
    zoom        the first module that gives NaN or Inf is run once more, so that the operation and its line are known. It runs
                on copies: where it may write to something that has none, such as a file, an iterator or a generator of random
                numbers, it is not run again, and watch.ndjson says why. Nor does it run what may need other ranks
    code        the line of the caller's own code that called each module
    exist       of rows and events that an earlier run left in the folder: "refuse" (rows), or "replace"
    resume      True: go on behind them, `iteration` begins after the last. A number: go on at this iteration, and take away the
                rows from there on, as a training does that goes on from a checkpoint
    dialect     of statistic.csv: "ours", "mindspore-2.7", "mindspore-next"
    rank        of this process; None: torch.distributed's, or 0
    alerts      rules that are asked of each row: ["nan", "l2norm > 8 * median(l2norm, 50)", "zero count == count for 3 steps"]
    keep        no row is written but in an event: the rows of so many steps before the current one stand in last_steps.ring,
                which outlives the process (`tensorstat events`); (before, after): with further steps after an event
    then        what follows an alert. "write": event_STEP below `path` has the steps that are kept, and alerts.ndjson a line;
                "save tensors": and the tensor that the alert names, with the inputs of its module, as .npy files; "warn": it
                is logged; "stop": step() raises Stopped when the step is complete, on all ranks; a function of an
                Alert; an exception in it is logged
    agree       with "stop", how ranks agree: a function that gives all of them the greatest of their numbers; None:
                torch.distributed's all_reduce. All ranks call it after each step
    shards      how the tensors lie on the ranks of `group`: "dtensor" (their placements say it), "tp" (cut), "dp" (replicas), or
                a function of a parameter's name and the parameter that returns "shard" or "replica". At the end of a step
                the rows of whole outputs, parameters, gradients and optimizer states are then written to {path}-whole, and
                replicas are compared. Every rank of the group calls step(): stats/doc/ranks.md
    output_shards  how outputs of modules lie: "shard", "replica", or a function of the row's name, as in "0/forward", and the
                output that returns one of these, or None for no row of the whole. None: with "dp" they are shards, and DTensors
                say it themselves
    group       what tensorstat.Ranks takes, or a Ranks
    groups      for rules such as "differs over dp": {"dp": group}, the ranks that have replicas of the parameters; each is what
                tensorstat.Ranks takes. None: any name stands for `group`. All ranks of a group call step()
    only_bad    writes only the rows of a step with NaN or Inf, and of the step before: alerts "nan" and "inf", keep=1
    event_bytes  the limit of an event's files, for each rank
    compiled    what torch.compile does in a step that is measured. "eager": nothing, the step runs eagerly. "graph": it compiles
                the model once more, with the measurements inside; a module's operation and its line are then not looked for,
                and what does not go into a graph makes later steps run eagerly, which is logged. The other steps run the graph
                that they would run without a watch

    wait        of tensors in a GPU's memory. False: their statistics are enqueued on the tensor's own stream, and nothing waits for
                them. Rows are written while the training goes on. first_fault, alerts and "stop" come with the next step(), or at
                close(). zoom is off for them: their module is named, and not the operation. True: a step waits for each tensor,
                and has all of this at once. Tensors on the CPU do not need it: nothing comes later. "save tensors" waits, too, and
                so does a GPU without NVIDIA's compiler of kernels

    Rows lie in {path}/rank_{rank}/{net_name}/0/{step}/statistic.csv, in the order of the events. More facts are in watch.ndjson beside
    them: stats/doc/origin.md says what each means. `w.first_fault` is where the first NaN or Inf began, and the end of the block logs it.

    Outputs may be nested in lists, dicts, dataclasses and simple objects. Of complex tensors the parts are measured, of sparse
    ones the values that they hold; what lies on another device is copied to the host. What cannot be read is said once to
    logging.getLogger("tensorstat"), and left out. Nothing that a watch does raises in the training.

    With msprobe's config.json, of level L0 or mix, it leaves the dump.json that msprobe's PrecisionDebugger would have left for the model's
    modules. The config chooses the tensors; of the arguments above only path, every, where and rank are used. step() is then called after
    backward().

    The hooks are gone when the block ends, by an exception too. Without a kept result the watch lasts until the model is gone, or the
    process ends. A copy of the model, and a saved model, are not watched.
    """
    every = whole_number(every, "every", 1, 2**63)
    from ._shards import KINDS, folder_of_whole
    if shards is not None and shards not in KINDS and not callable(shards):
        raise ValueError(f"shards is {shards!r}; it is \"dtensor\", \"tp\", \"dp\", a function or None")
    if output_shards not in (None, "shard", "replica") and not callable(output_shards):
        raise ValueError(f"output_shards is {output_shards!r}; it is \"shard\", \"replica\", a function or None")
    this_rank, world_size = world_of_process()
    if rank is None and world_size == 1 and os.environ.get("WORLD_SIZE", "1") not in ("", "1"):
        logger.warning("WORLD_SIZE is %s, and torch.distributed has no group: this process watches as rank 0. Call init_process_group "
                       "before watch(), or give rank=", os.environ["WORLD_SIZE"])
    rank = this_rank if rank is None else whole_number(rank, "rank", 0, 2**32 - 1)
    actions = Actions(then, agree, rank, world_size)
    asked = AlertSettings(alerts, keep, event_bytes, only_bad, actions.is_written, actions.saves_tensors)
    if exist not in ("refuse", "replace"):
        raise ValueError(f"exist is {exist!r}; it is \"refuse\" or \"replace\"")
    if not isinstance(resume, bool):
        resume = whole_number(resume, "resume", 0, 2**63)
    if compiled not in ("eager", "graph"):
        raise ValueError(f"compiled is {compiled!r}; it is \"eager\" or \"graph\"")
    if level not in ("module", "op"):
        raise ValueError(f"level is {level!r}; it is \"module\" or \"op\"")
    if updates and not parameters:
        raise ValueError("updates=True goes with parameters=True")
    optimizers = optimizers_of(optimizer)
    if config is not None and path is None and not str(config).lstrip().startswith("{") and not str(config).endswith(".json"):
        config, path = None, config  # watch(model, "runs/nan")
    if config is None and path is None and not os.environ.get("MINDSPORE_DUMP_CONFIG"):
        raise ValueError("watch() wants a config, or a path for the rows")
    if path is not None:
        path = os.path.abspath(os.path.expanduser(path))
    is_everything = config is None and not os.environ.get("MINDSPORE_DUMP_CONFIG")
    if is_everything:
        config = config_of_path()
    members = members_of(config)
    if "task" in members or "dump_path" in members:
        from ._watch_modules import ModuleWatch, say_level
        say_level(members.get("level", "L1"))
        if shards is not None:
            raise ValueError("msprobe's dump.json has no rows of whole tensors: shards goes with a path, or MindSpore's config")
        session, compared = _session_with(asked, config, path=path, framework="pytorch")
        if compared:
            session.close()
            raise ValueError(f"'differs over {compared[0]}' goes with a path, or MindSpore's config: msprobe's has no rows of "
                             "parameters alone")
        of_modules = ModuleWatch(model, session, every=every, where=where, rank=rank,
                                 has_stacks=members.get("extra_info", True) or has_scope(members))
        of_modules.close_with(model)
        of_modules.act_by(actions)
        return of_modules
    from ._watch_rows import RowWatch
    may_be_late = not (wait or actions.saves_tensors)
    initial, config = initial_iteration(config, members)
    session, compared = _session_with(asked, config, path=path, dialect=dialect, ordered_by_queue=may_be_late, settles_later=may_be_late)
    common = members.get("common_dump_settings")
    net_name = common.get("net_name") if isinstance(common, dict) else None
    folder = os.path.join(_native.session_rank_folder(session._handle(), rank), str(net_name or "model"))
    try:
        if shards is None and not (output_shards is None and (group is None or compared)):
            raise ValueError("group and output_shards say how tensors are merged over ranks: give shards, too")
        first_iteration = make_way(folder, exist, resume) if session.enabled else 0
        if shards is not None:
            make_way(folder_of_whole(folder), exist, resume)
        made = RowWatch(model, session, folder=folder, every=every, where=where, inputs=inputs, parameters=parameters,
                        gradients=gradients, optimizers=optimizers, level=level, zoom=zoom, code=code, rank=rank,
                        world_size=world_size, path=path, shards=shards, output_shards=output_shards, group=group, compiled=compiled, updates=updates,
                        may_be_late=may_be_late)
        made.compare_over(compared, groups)
    except BaseException:
        session.close()
        raise
    made.act_by(actions)
    made.go_to(max(first_iteration, initial) if isinstance(resume, bool) else first_iteration)
    made.close_with(model)
    return made
