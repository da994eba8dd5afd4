"""Every tensor of a PyTorch model, watched while it trains."""
import dataclasses
import json
import os
import re
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from ._library import Error, logger
from ._session import DumpSession


class Watch:
    """Hooks on a model's modules; see watch()."""

    def __init__(self, session: DumpSession, *, every: int, rank: int | None) -> None:
        self._session, self._every, self._rank = session, every, _rank_of_process() if rank is None else rank
        self._hooks: list[Any] = []
        self.iteration = 0
        self._is_closed = False
        self._unreadable: set[str] = set()

    @property
    def active(self) -> bool:
        """Whether this step is one of every `every` steps."""
        return not self._is_closed and self.iteration % self._every == 0

    def step(self) -> None:
        """A step is over, and the next begins."""
        raise NotImplementedError

    def close(self) -> None:
        """Takes the hooks away, and ends the session. A second call does nothing."""
        self._is_closed = True
        for hook in self._hooks:
            hook.remove()
        self._hooks.clear()
        self._session.close()

    def __enter__(self) -> "Watch":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    @property
    def counters(self) -> dict[str, int]:
        """Those of the session: {"tensor_count": 12, "row_count": 12, ...}"""
        return self._session.counters

    def _end_step(self) -> None:
        self._session.step_end(rank=self._rank, iteration=self.iteration)

    def _collect(self, op_type: str, name: str, inputs: Sequence[Any] = (), outputs: Sequence[Any] = (),
                 layout: str = "") -> None:
        try:
            self._session.collect(op_type, name, inputs=inputs, outputs=outputs, rank=self._rank, iteration=self.iteration,
                                  layout=layout)
        except Error as refused:  # training goes on: what can be read is, and the rest is said once
            if sum(tensor is not None for tensor in (*inputs, *outputs)) > 1:
                for io, tensors in (("inputs", inputs), ("outputs", outputs)):
                    for slot, tensor in enumerate(tensors):
                        self._collect(op_type, name, layout=layout, **{io: _alone(tensor, slot)})
            elif name not in self._unreadable:
                self._unreadable.add(name)
                logger.warning("%s is not watched: %s", name, refused)


class RowWatch(Watch):
    """Each module's tensors as rows of its own name."""

    def __init__(self, model: Any, session: DumpSession, *, every: int = 1, where: str | None = None, inputs: bool = False,
                 parameters: bool = True, gradients: bool = True, optimizer: Any = None, rank: int | None = None) -> None:
        super().__init__(session, every=every, rank=rank)
        self._inputs, self._with_parameters, self._with_gradients = inputs, parameters, gradients
        self._optimizer = optimizer
        wanted = re.compile(where or "").search
        self._parameters = [(name, each) for name, each in model.named_parameters() if wanted(name)]
        # The hooks hold the watch weakly: a watch that nobody has any more is no reason to measure.
        self._hooks = [module.register_forward_hook(_forward_hook(weakref.ref(self), name))
                       for name, module in _named_modules(model) if wanted(name)]

    def step(self) -> None:
        """A step is over: parameters, their gradients and the optimiser's state are handed over, and the next begins.
        Call it after optimizer.step() and before the gradients are zeroed."""
        if self.active:
            for name, parameter in self._parameters:
                if self._with_parameters:
                    self._collect("Parameter", name, outputs=[parameter])
                if self._with_gradients and parameter.grad is not None:
                    self._collect("Gradient", name, outputs=[parameter.grad])
                state = self._optimizer.state.get(parameter, {}) if self._optimizer else {}
                for key, value in state.items():
                    if found := tensors_in(value):
                        self._collect("OptimizerState", f"{name}/{key}", outputs=found)
            self._end_step()
        self.iteration += 1

    def _ran(self, op_type: str, name: str, inputs: Any, outputs: Any) -> None:
        """A module has run forward."""
        outputs = tensors_in(outputs)
        self._collect(op_type, f"{name}/forward", tensors_in(inputs) if self._inputs else (), outputs)
        if self._with_gradients:
            for slot, tensor in enumerate(outputs):
                if tensor.requires_grad:
                    tensor.register_hook(_gradient_hook(weakref.ref(self), op_type, f"{name}/backward", slot))


def _named_modules(model: Any) -> list[tuple[str, Any]]:
    return [(name or type(module).__name__, module) for name, module in model.named_modules()]


def _forward_hook(me: Callable[[], RowWatch | None], name: str) -> Callable[[Any, Any, Any], None]:
    def hook(module: Any, inputs: Any, outputs: Any) -> None:
        watch = me()
        if watch is not None and watch.active:
            watch._ran(type(module).__name__, name, inputs, outputs)
    return hook


def _gradient_hook(me: Callable[[], RowWatch | None], op_type: str, name: str, slot: int) -> Callable[[Any], None]:
    """Of a tensor and not of its module: a module's backward hook makes in-place functions behind it fail."""
    def hook(gradient: Any) -> None:
        watch = me()
        if watch is not None and watch.active:
            watch._collect(op_type, name, outputs=_alone(gradient, slot))
    return hook


def _alone(tensor: Any, slot: int) -> list[Any]:
    """A list of one tensor at its slot: None stands in front of it."""
    return [None] * slot + [tensor]


def tensors_in(nested: Any) -> list[Any]:
    """The tensors in a tensor, or in lists, tuples, dicts and dataclasses of them, in their order."""
    if hasattr(nested, "data_ptr"):
        return [nested]
    if isinstance(nested, dict):
        nested = nested.values()
    elif dataclasses.is_dataclass(nested):
        nested = [getattr(nested, field.name) for field in dataclasses.fields(nested)]
    elif not isinstance(nested, (list, tuple)):
        return []
    return [tensor for each in nested for tensor in tensors_in(each)]


def _rank_of_process() -> int:
    from torch import distributed
    return distributed.get_rank() if distributed.is_available() and distributed.is_initialized() else 0


def _config_of(path: object) -> str:
    """A data_dump.json that wants the statistics of everything."""
    common = {"dump_mode": 0, "path": str(path), "net_name": "model", "iteration": "all", "input_output": 0, "kernels": [],
              "support_device": list(range(8)), "op_debug_mode": 0, "saved_data": "statistic",
              "statistic_category": ["max", "min", "avg", "l2norm", "nan count", "positive inf count",
                                     "negative inf count", "zero count"]}
    return json.dumps({"common_dump_settings": common, "e2e_dump_settings": {"enable": True, "trans_flag": True}})


def _config_of_msprobe(config: str | os.PathLike[str] | None) -> dict[str, Any] | None:
    """What it says, if it is msprobe's config.json. What cannot be read, the session says."""
    text = str(os.environ["MINDSPORE_DUMP_CONFIG"] if config is None else config)
    try:
        if not text.lstrip().startswith("{"):
            with open(text, encoding="utf-8") as file:
                text = file.read()
        said = json.loads(text)
    except (OSError, ValueError):
        return None
    return said if isinstance(said, dict) and ("task" in said or "dump_path" in said) else None


def watch(model: Any, config: str | os.PathLike[str] | None = None, *, path: str | os.PathLike[str] | None = None,
          every: int = 1, where: str | None = None, inputs: bool = False, parameters: bool = True, gradients: bool = True,
          optimizer: Any = None, dialect: str = "ours", rank: int | None = None) -> Watch:
    """Writes the statistics of a torch.nn.Module's tensors while it trains; a context manager.

        with tensorstat.watch(model, path="/tmp/dump", every=10) as w:
            for batch in data:
                loss = model(batch).sum(); loss.backward(); optimizer.step()
                w.step(); optimizer.zero_grad()

    config      a data_dump.json (a path, or the text); None: the one that MINDSPORE_DUMP_CONFIG names, or where it names
                none, everything, to `path`
    path        an absolute folder; takes the place of the config's
    every       a step of so many is measured
    where       a regular expression that a module's or parameter's name has to contain
    inputs      the inputs of modules too, not only their outputs
    parameters  parameters after each step
    gradients   their gradients, and those of the modules' outputs
    optimizer   its state too (Adam's moments)
    dialect     of statistic.csv: "ours", "mindspore-2.7", "mindspore-next"
    rank        of this process; None: torch.distributed's, or 0

    Rows lie in {path}/rank_{rank}/{net_name}/0/{step}/statistic.csv, in the order in which things happened. A module `name`
    gives the operators `name/forward` and `name/backward`, which is the gradient of its outputs; parameters are of the
    types Parameter, Gradient and OptimizerState. Outputs may be nested in lists, tuples, dicts and dataclasses. What cannot
    be read, such as a sparse or complex tensor, is said once to logging.getLogger("tensorstat"), and left out.

    With msprobe's config.json, of level L0 or mix, it leaves the dump.json that msprobe's PrecisionDebugger would have left
    of the model's modules: the config says what is dumped, and of the arguments above only path, every, where and rank are
    looked at. step() is then called after backward().

    The hooks are gone when the block ends, by an exception too.
    """
    if config is None and "MINDSPORE_DUMP_CONFIG" not in os.environ:
        if path is None:
            raise ValueError("watch() wants a config, or a path for the rows")
        config = _config_of(path)
    if (of_msprobe := _config_of_msprobe(config)) is not None:
        from ._watch_modules import ModuleWatch, say_level
        say_level(of_msprobe.get("level", "L1"))
        session = DumpSession(config, path=path, framework="pytorch")
        return ModuleWatch(model, session, every=every, where=where, rank=rank, has_stacks=of_msprobe.get("extra_info", True))
    session = DumpSession(config, path=path, dialect=dialect)
    return RowWatch(model, session, every=every, where=where, inputs=inputs, parameters=parameters, gradients=gradients,
                    optimizer=optimizer, rank=rank)
