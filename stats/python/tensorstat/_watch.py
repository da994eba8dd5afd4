"""Every tensor of a PyTorch model, watched while it trains."""
import re
import weakref

from ._session import DumpSession


class Watch:
    """Hooks on a model's modules; see watch()."""

    def __init__(self, model, session, *, every=1, where=None, inputs=False, parameters=True, gradients=True,
                 optimizer=None, rank=0):
        self._session, self._every, self._rank = session, every, rank
        self._where = re.compile(where) if where else None
        self._inputs = inputs
        self._parameters = dict(model.named_parameters()) if parameters or gradients else {}
        self._with_parameters, self._with_gradients = parameters, gradients
        self._optimizer = optimizer
        self.iteration = 0
        self._hooks = []
        # The hooks hold the watch weakly: a watch that nobody has any more is no reason to measure.
        me = weakref.ref(self)
        for name, module in model.named_modules():
            name = name or type(module).__name__
            if self._where and not self._where.search(name):
                continue
            self._hooks.append(module.register_forward_hook(_hook(me, name, backward=False)))
            if gradients:
                self._hooks.append(module.register_full_backward_hook(_hook(me, name, backward=True)))

    @property
    def active(self):
        """Whether this step is one of every `every` steps."""
        return self.iteration % self._every == 0

    def step(self):
        """A step is over: parameters, their gradients and the optimiser's state are handed over, and the next begins.
        Call it after optimizer.step() and before the gradients are zeroed."""
        if self.active:
            for name, parameter in self._parameters.items():
                if self._where and not self._where.search(name):
                    continue
                if self._with_parameters:
                    self._collect("Parameter", name, outputs=[parameter])
                if self._with_gradients and parameter.grad is not None:
                    self._collect("Gradient", name, outputs=[parameter.grad])
                state = self._optimizer.state.get(parameter, {}) if self._optimizer else {}
                for key, value in state.items():
                    self._collect("OptimizerState", f"{name}/{key}", outputs=tensors_in(value))
            self._session.step_end(rank=self._rank, iteration=self.iteration)
        self.iteration += 1

    def close(self):
        """Takes the hooks away, and ends the session."""
        for hook in self._hooks:
            hook.remove()
        self._hooks.clear()
        self._session.close()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()

    @property
    def counters(self):
        return self._session.counters

    def _collect(self, op_type, name, inputs=(), outputs=()):
        self._session.collect(op_type, name, inputs=inputs, outputs=outputs, rank=self._rank, iteration=self.iteration)

    def _module_ran(self, op_type, name, inputs, outputs):
        if self.active:
            self._collect(op_type, name, tensors_in(inputs) if self._inputs else (), tensors_in(outputs))


def _hook(me, name, backward):
    """A hook of PyTorch's: forward ones are given inputs and outputs, backward ones the gradients of these; what goes in
    there are the gradients of the outputs."""
    def hook(module, of_inputs, of_outputs):
        watch = me()
        if watch is None:
            return
        if backward:
            watch._module_ran(type(module).__name__, f"{name}/backward", of_outputs, of_inputs)
        else:
            watch._module_ran(type(module).__name__, f"{name}/forward", of_inputs, of_outputs)
    return hook


def tensors_in(nested):
    """The tensors in a tensor, or in lists, tuples, dicts and dataclasses of them, in their order."""
    if hasattr(nested, "data_ptr"):
        return [nested]
    if isinstance(nested, dict):
        nested = nested.values()
    elif hasattr(nested, "__dataclass_fields__"):
        nested = [getattr(nested, field) for field in nested.__dataclass_fields__]
    elif not isinstance(nested, (list, tuple)):
        return []
    return [tensor for each in nested for tensor in tensors_in(each)]


def _config_of(path):
    """A data_dump.json that wants the statistics of everything."""
    import json
    common = {"dump_mode": 0, "path": str(path), "net_name": "model", "iteration": "all", "input_output": 0, "kernels": [],
              "support_device": list(range(8)), "op_debug_mode": 0, "saved_data": "statistic",
              "statistic_category": ["max", "min", "avg", "l2norm", "nan count", "positive inf count",
                                     "negative inf count", "zero count"]}
    return json.dumps({"common_dump_settings": common, "e2e_dump_settings": {"enable": True, "trans_flag": True}})


def watch(model, config=None, *, path=None, every=1, where=None, inputs=False, parameters=True, gradients=True,
          optimizer=None, dialect="ours", rank=0):
    """Writes the statistics of a torch.nn.Module's tensors while it trains; a context manager.

        with tensorstat.watch(model, path="/tmp/dump", every=10) as w:
            for batch in data:
                loss = model(batch).sum(); loss.backward(); optimizer.step()
                w.step(); optimizer.zero_grad()

    config      a data_dump.json (a path, or the text); None: everything, to `path`
    path        an absolute folder; takes the place of the config's
    every       a step of so many is measured
    where       a regular expression that a module's or parameter's name has to contain
    inputs      the inputs of modules too, not only their outputs
    parameters  parameters after each step;  gradients: their gradients, and those of the modules' outputs and inputs
    optimizer   its state too (Adam's moments)

    Rows lie in {path}/rank_{rank}/{net_name}/0/{step}/statistic.csv; `tensorstat {path}` finds the first NaN among them.
    The hooks are gone when the block ends, by an exception too.
    """
    if config is None and path is None:
        raise ValueError("watch() wants a config, or a path for the rows")
    session = DumpSession(_config_of(path) if config is None else config, path=path, dialect=dialect)
    return Watch(model, session, every=every, where=where, inputs=inputs, parameters=parameters, gradients=gradients,
                 optimizer=optimizer, rank=rank)
