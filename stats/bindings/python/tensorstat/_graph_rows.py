"""The rows from a compiled graph's marks (see _graph), for a watch with compiled measured steps."""
from typing import Any

from ._calls import Call, pop_call
from ._compiled import backwards_compiled, has_stance
from ._graph import LIMIT, Site, Tracer, caller_of_graph
from ._library import logger


def graph_rows(watch: Any, compiled: str, level: str) -> "GraphRows | None":
    if compiled != "graph":
        return None
    why = ("torch 2.6 is needed" if not has_stance() else "level=\"op\" sees operations before they are compiled" if level == "op"
           else "several ranks have not been tried" if watch._world_size > 1 else "")
    if why:
        logger.warning("compiled=\"graph\" is not possible, and steps that are measured run without torch.compile: %s", why)
        return None
    import torch._dynamo  # noqa: F401
    if watch._inputs and watch._with_gradients:
        watch._journal.say("not_seen", iteration=0, op_name="", io="input", why="in compiled graphs the gradients of inputs have no rows")
    return GraphRows(watch, watch._inputs, watch._with_gradients)


class GraphRows:
    """Calls of a watch's modules that run inside of compiled graphs. It has what _graph asks of `rows`."""

    def __init__(self, watch: Any, inputs: bool, gradients: bool) -> None:
        self._watch = watch
        self.wants_gradients = gradients
        self.why_eager = ""  # why measured steps run without torch.compile from the next one on
        self.tracer = watch._hooks.tracer = Tracer(self, watch._hooks.places, inputs, gradients)
        self._backwards_compiled = backwards_compiled()
        LIMIT.raise_for(self)

    def close(self) -> None:
        LIMIT.lower_for(self)
        self.tracer.forget()

    def is_incomplete(self, why: str) -> None:
        """Something was not seen, in this step and in this graph."""
        if not self.why_eager:
            self.why_eager = why
            self._watch._journal.say("not_seen", iteration=self._watch.iteration, op_name="", io="output",
                                     why=f"in this step some modules ran in a compiled graph that has no rows: {why}")

    def take_if_new(self, module: Any) -> bool:
        return self._watch.take_if_new(module)

    def begin_step(self) -> bool:
        """Before a step that is measured, because inside of a graph no hook can be set. False: it is to run without
        torch.compile."""
        watch = self._watch
        if backwards_compiled() != self._backwards_compiled:
            self.is_incomplete("compiled autograd runs the backward")
        if self.why_eager:
            watch._say_once("from now on steps that are measured run without torch.compile: %s", self.why_eager)
            watch._hooks.close()
            watch._hooks.tracer = None
            self.close()
            return False
        if watch._layout.has_changed():
            watch._look_anew()
        if watch._with_gradients:
            watch._gradients.wait_for_parameters(watch._parameters.named)
        return True

    def enter(self, site: Site, tensors: list[Any]) -> None:
        watch, module = self._watch, site.module()
        if module is None or not watch.active or watch._local.is_silent:
            return
        call = watch._open(site.place, module)
        call.is_compiled = True
        self._say(call, site)
        if tensors and site.place.is_wanted and not call.is_quiet and (call.parent is None or watch._inputs):
            watch._look_at_inputs(call, tensors)

    def leave(self, site: Site, tensors: list[Any]) -> None:
        watch, module = self._watch, site.module()
        if module is None or not watch.active or watch._local.is_silent:
            return
        calls = watch._local.calls
        if not calls or not site.is_root:
            call = watch._open(site.place, module)
            call.is_compiled = True
            self._say(call, site)
        call = pop_call(calls, module)
        if call is None:
            return
        if not call.is_quiet:
            watch._look_at_outputs(call, tensors, tensors, [])
        if watch._later is not None:
            call.forget_tensors()
        if not call.parent:
            watch._close_outermost(call)
            watch._local.is_evaluation = False

    def gradient(self, site: Site, slot: int, gradient: Any) -> None:
        watch = self._watch
        if not watch._gradients.is_running:
            watch._gradients.begin()
        if watch.active and not watch._local.is_silent:
            watch._gradients.take(site.place.op_type, site.place.backward, "input", slot, gradient)

    def _say(self, call: Call, site: Site) -> None:
        watch = self._watch
        if call.is_quiet:
            return
        if watch._with_code:
            inside = watch._places.get(site.parent)  # of the same graph
            parent = None if inside is None else inside.eval if watch._local.is_evaluation else inside.forward
            watch._say_line_at(call, site.where or caller_of_graph(), parent)
        if call.module.training is not site.place.mode:
            watch._say_mode(call.module, site.place)
