"""When a call is run again, so that the operation is known that made a fault. _zoom says how."""
import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Any

from . import _rerun, _user_hooks, _zoom
from ._calls import Call
from ._hooks import keywords_of_call
from ._shadow import Skeleton
from ._verdict import INF, NAN

_MOST_ZOOMS = 16
_ON_GPU = "its tensors were on a GPU, and the fault was known when they were gone; watch(wait=True) looks for the operation"


class Zooms:
    """The calls of a watch's model that were run again."""

    def __init__(self, watch: Any) -> None:
        self._watch = watch
        self._zoomed: set[tuple[str, int]] = set()
        self._without_copy: set[str] = set()  # names of outermost modules with arguments that cannot be copied

    def before(self, call: Call) -> Any:
        """The arguments of an outermost call, with copies of its containers, such as a cache that the call writes to. None: it has no
        containers, or they cannot be copied."""
        keywords = call.keywords or {}
        if call.place.name in self._without_copy or not any(map(_zoom.holds_container, (*call.arguments, *keywords.values()))):
            return None
        try:
            return Skeleton().of((call.arguments, keywords))
        except Exception:
            self._without_copy.add(call.place.name)
            return None

    def forward(self, call: Call, kinds: int) -> None:
        """Runs a call again. It gave the first fault, or its code handed one to a module inside."""
        watch = self._watch
        name = call.name
        if call.is_compiled:
            outer = call.parent
            while outer is not None and outer.is_compiled:
                outer = outer.parent
            if outer is not None:  # it was called by eager code, with its arguments
                outer.is_to_be_zoomed, outer.blamed = True, outer.blamed or call.place.name
                outer.compiled_inside = outer.compiled_inside or (name, call.place.name)
            elif self.may(name, kinds):
                watch._journal.say("zoom", iteration=watch.iteration, op_name=name, result="refused",
                                   why="it ran in a compiled graph, and its arguments are gone")
            return
        if not self.may(name, kinds):
            return
        keywords = call.keywords if call.keywords is not None else keywords_of_call(sys._getframe(1))
        run = _rerun.Run(call, keywords)
        members = _zoom.forward(run, kinds, call.parent is None, self.silent_name, self.silence, watch._hooks)
        members = _user_hooks.to_blame(members, _user_hooks.of_forward(self._modules_in(call), call.module))
        if "parameter" in members:
            members["parameter"] = self._name_of_parameter(call, run.module, members["parameter"])
        if call.compiled_inside is not None:
            self._say_of_compiled(call, members)
        if call.blamed_reads and members["result"] == "found":
            members["by_container"] = True
        watch._journal.say("zoom", iteration=watch.iteration, op_name=name, **members)
        fault = watch._course.pending
        if members["result"] == "given" and call.parent is not None and fault is not None and members["why"].startswith("its arg"):
            call.parent.is_to_be_zoomed = True
            if fault.operation is not None or fault.phase == "input":  # an Inf that is known, and that was made NaN since; or the data's
                return
            fault.op_type, fault.op_name = call.parent.place.op_type, call.parent.name
            watch._at_line(fault, call)
        elif "parameter" in members and fault is not None:
            fault.phase, fault.op_type, fault.op_name = "parameter", "Parameter", members["parameter"]
        elif members["result"] in ("refused", "clean") and call.parent is not None and _zoom.may_be_other(run):
            call.parent.is_to_be_zoomed, call.parent.blamed = True, call.blamed or call.place.name
            call.parent.blamed_reads = call.blamed_reads or any(map(_zoom.holds_container, (*call.arguments, *keywords.values())))
        elif members["result"] == "found" and fault is not None and (call.blamed_reads or _is_around(members["inside"], call)):
            if members.get("inf_written"):
                watch._course.writes_inf(name)
            inside = watch._places.get(members["inside"], call.place)
            if members["gave"]:
                fault.kind = "NaN" if "NaN" in members["gave"] else "Inf"
            fault.op_type, fault.op_name = inside.op_type, inside.eval if name == call.place.eval else inside.forward
            fault.phase = "forward"
            fault.operation, fault.file, fault.line = members["operation"], members.get("file"), members.get("line")

    def say_hooks(self, op_name: str, hooks: list[dict[str, Any]], kinds: int) -> None:
        """Without a second run (`zoom`, `level`, tensors on a GPU): which of the caller's hooks may have made a fault."""
        members = _user_hooks.suspected(hooks)
        if members is None and self._watch._asks_for_zoom and self._watch._later is not None and self.may(op_name, kinds):
            members = {"result": "refused", "why": _ON_GPU}
        if members is not None:
            name = _of_module(op_name) if self._watch._operations is not None else op_name
            self._watch._journal.say("zoom", iteration=self._watch.judged_iteration, op_name=name, of=op_name, **members)

    def hooks_before(self, call: Call) -> list[dict[str, Any]]:
        """The hooks of modules that have run in this step, without the call's own hooks behind the watch's."""
        watch = self._watch
        modules = [(name, module) for name, module in watch.modules_now()
                   if not watch._with_code or watch._has_run(name)]
        module = call.module if call.module is not None else dict(modules).get(call.place.name)
        return _user_hooks.of_forward(modules, module)

    def _say_of_compiled(self, call: Call, members: dict[str, Any]) -> None:
        """The call of a module around it tells what made the fault of one that ran in a compiled graph."""
        row, module = call.compiled_inside or ("", "")
        if members["result"] == "found" and f"{members['inside']}.".startswith(f"{module}."):
            line = members
        elif members["result"] == "found" and _is_around(members["inside"], call):
            line = {"result": "given", "why": "its arguments held the fault before the call"}
        else:
            line = {"result": "refused", "why": "it ran in a compiled graph, and the module around it, run again, does not tell"}
        self._watch._journal.say("zoom", iteration=self._watch.iteration, op_name=row, **line)

    def cut_off(self, call: Call) -> None:
        """Behind a call that was given an overflow, or that ran its maker, and gives finite results."""
        watch, course = self._watch, self._watch._course
        fault = course.pending
        if call.is_compiled or fault is None or fault.operation is None or course.pending_kinds & NAN or course.is_written or course.cut_off is not None:
            return
        if fault.operation.partition(" ")[0] not in _zoom.OVERFLOWS:
            return
        if not call.took and all(each is not call for each in course.around) or not self.may(f"{call.name} cut off", INF):
            return
        keywords = call.keywords if call.keywords is not None else keywords_of_call(sys._getframe(1))
        members = _zoom.cut_off(_rerun.Run(call, keywords), self.silent_name, self.silence, watch._hooks)
        if members is not None:
            watch._journal.say("cut_off", iteration=watch.iteration, op_name=course.row, by=call.name, **members)
            watch._journal.flush()
            course.cut(fault, members["operation"], members.get("file"), members.get("line"))

    def _modules_in(self, call: Call) -> list[tuple[str, Any]]:
        """With the names of their places."""
        prefix = "" if call.place.is_outermost else call.place.name
        return [(".".join(filter(None, (prefix, name))) or call.place.name, module) for name, module in call.module.named_modules()]

    def _name_of_parameter(self, call: Call, module: Any, local: str) -> str:
        """As the rows have it: a parameter that several modules share has the name of the first."""
        parameter = {name: each for named in (module.named_parameters(), module.named_buffers()) for name, each in named}[local]
        for name, each in self._watch._parameters.named:
            if each is parameter:
                return name
        return local if call.place.is_outermost else f"{call.place.name}.{local}"

    def may(self, name: str, kinds: int) -> bool:
        """Once for a name and a kind of fault, and not for ever."""
        if (name, kinds) in self._zoomed or len(self._zoomed) >= _MOST_ZOOMS or not self._watch._course.is_parameter_clean:
            return False
        self._zoomed.add((name, kinds))
        return True

    @contextlib.contextmanager
    def silence(self, on_call: Callable[[Any], None] | None = None) -> Iterator[None]:
        local = self._watch._local
        local.is_silent, local.silent_names, local.on_silent_call = True, [], on_call
        try:
            yield
        finally:
            local.is_silent, local.on_silent_call = False, None

    def silent_name(self) -> str:
        names = self._watch._local.silent_names
        return names[-1] if names else ""


def _of_module(op_name: str) -> str:
    """The row of the module that ran an operation: "1/backward" of "1/relu.0/backward"."""
    parts = op_name.split("/")
    return f"{parts[0]}/{parts[-1]}" if len(parts) == 3 else op_name


def _is_around(inside: str, call: Call) -> bool:
    """Whether an operation of the module `inside` can have made the fault of a module that could not be run again itself."""
    blamed = call.blamed
    return not blamed or inside == call.place.name or f"{blamed}.".startswith(f"{inside}.") or f"{inside}.".startswith(f"{blamed}.")
