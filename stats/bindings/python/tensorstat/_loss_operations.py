"""The operations between the end of the model and backward, and the line of the one that made a faulty loss, or a faulty gradient
of a finite one. They run once, so they are looked at while they run: by a mode of torch's functions that is there from the end of
the outermost forward to backward, and only where nobody else has a mode."""
import cmath
import math
import sys
import weakref
from typing import Any

from ._check import losses_of
from ._compiled import is_tracing, is_transformed, is_used
from ._forward_faults import at_line, is_writer, uses_values, words_of_return, words_of_source
from ._hooks import say_fault
from ._journal import caller_of
from ._loss import OF_MODEL
from ._modes import HERE, Leaver, around, below_modes, is_alone, leave
from ._rerun import counts_of, kinds_in, values_of
from ._tensors import tensors_in
from ._verdict import INF, NAN

_MOST = 400  # operations; a longer loss is given up: it is not looked at again
_MOST_SHOWN = 1 << 22  # elements of a tensor with a shown range
_LEFT_OUT = {"__get__", "__set__", "__delete__", "requires_grad_", "detach", "detach_", "register_hook", "retain_grad", "item",
             "tolist", "numpy", "size", "stride", "numel", "dim", "empty", "empty_like", "new_empty", "empty_strided", "__repr__",
             "__format__", "__deepcopy__", "__reduce_ex__", "__len__", "__hash__", "is_floating_point", "is_complex"}
_OF_LOSS = "tensorstat: an operation of the loss"  # in the metadata of its node


class _Operation:
    """An operation's result: `kinds` of fault, if they are known at once; a device reports them later."""
    __slots__ = ("name", "where", "kinds", "parents", "given", "gave", "why", "cut_by")

    def __init__(self, name: str, where: Any, kinds: Any, parents: "list[tuple[Any, _Operation | None]]") -> None:
        self.name, self.where, self.kinds, self.parents = name, where, kinds, parents
        self.given = self.gave = self.why = self.cut_by = ""

    @property
    def is_written(self) -> bool:
        return _known(self.kinds) == INF and is_writer(self.name) and not any(
            _known(kinds) for kinds, _ in self.parents)

    def told(self) -> dict[str, Any]:
        members: dict[str, Any] = {"result": "found", "operation": self.name, "given": self.given, "gave": self.gave}
        if self.where is not None:
            members["file"], members["line"] = self.where[:2]
        given = 0
        for kinds, _ in self.parents:
            given |= _known(kinds)
        if self.why:
            members["why"] = self.why
        elif given & _known(self.kinds):
            members["why"] = f"what it was given holds {'NaN' if given & NAN else 'Inf'}, such as the targets"
        elif given:
            members["why"] = "it made NaN of the Inf that it was given"
        return members


class LossOperations:
    """The loss operations of a watch, in one step."""

    def __init__(self, watch: Any) -> None:
        self._watch = watch
        self._is_given_up = self._is_over = self._is_of_loss = False
        self.forget()

    def forget(self) -> None:
        self._known: dict[int, tuple[Any, int, Any, _Operation | None]] = {}  # by id: the tensor (weak), version, kinds, maker
        self._integers: dict[int, tuple[Any, str]] = {}  # by id: the tensor (weak), and where an operation was given it first
        self._faulty: list[_Operation] = []  # or of a device all
        self._backward: list[tuple[_Operation, Any]] = []  # nodes in the order in which they ran, with the kinds that they gave
        self._odd = ""
        self._count = 0
        self._loss: _Operation | None = None  # that gave what backward began with
        self._of_earlier_call: dict[str, Any] | None = None  # maker_of_gradient() of a call before, where gradients are accumulated

    def begin(self, outputs: list[Any]) -> None:
        """The outermost forward is over."""
        if self._is_over:
            self._is_over = False
            maker = self.maker_of_gradient() if self._watch._gradients.is_loss_suspect and self._watch._later is None else None
            self.forget()
            self._of_earlier_call = maker
        torch = sys.modules["torch"]
        if self._is_given_up or HERE.mode is not None or not torch.is_grad_enabled() or not any(each.requires_grad for each in outputs):
            return
        if is_used() and not self._watch._hooks.is_eager or not is_alone() or is_tracing(outputs):
            return
        mode = around(self._run)
        mode.is_on = True
        mode.__enter__()
        HERE.mode = mode

    def begins_backward(self) -> None:
        if not self._is_of_loss:
            self._is_over = True
            if HERE.mode is not None:  # to pop it here is in vain: autograd restores what backward began with
                HERE.mode.is_on = False

    def end(self) -> None:
        """Before the next forward, or at the end of a step."""
        # Backward began without Tensor.backward(), so that the mode is still there: the optimizer's functions went through it.
        self._is_given_up |= self._is_over and HERE.mode is not None
        leave()

    def _run(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        mode, name = HERE.mode, getattr(func, "__name__", "")
        if self._watch._is_closed:  # by another thread
            try:
                return func(*args, **kwargs)
            finally:
                kwargs["tensorstat"] = Leaver(mode)
        if mode is None or not mode.is_on or name in _LEFT_OUT:
            return func(*args, **kwargs)
        if name == "grad" and kwargs.get("create_graph"):  # of a loss that uses gradients
            self._is_of_loss = True
            try:
                return func(*args, **kwargs)
            finally:
                self._is_of_loss = False
        if name in ("backward", "grad"):
            mode.is_on = False
            known = self._known.get(id(args[0])) if name == "backward" and args else None
            self._loss = known[3] if known is not None and known[0]() is args[0] else None
            try:
                return func(*args, **kwargs)
            finally:
                kwargs["tensorstat"] = Leaver(mode)
        call = None
        try:
            with below_modes():
                call = self._before(name.strip("_"), args, kwargs)
        except Exception as fault:
            mode.is_on = False
            say_fault(fault)
        out = func(*args, **kwargs)
        if call is not None:
            try:
                with below_modes():
                    self._behind(call, (args, kwargs), out)
            except Exception as fault:
                mode.is_on = False
                say_fault(fault)
        return out

    def _before(self, name: str, args: Any, kwargs: Any) -> _Operation | None:
        self._count += 1
        if self._count > _MOST:
            self._is_given_up, HERE.mode.is_on = True, False
            self.forget()
            return None
        if is_transformed() or is_tracing():
            return None
        given = tensors_in((*args, *kwargs.values()) if kwargs else args)
        where = caller_of(sys._getframe(2))
        for each in given:
            if each.dtype is sys.modules["torch"].int64 and ((known := self._integers.get(id(each))) is None or known[0]() is not each):
                self._integers[id(each)] = weakref.ref(each), at_line(name, where)
        looked = [self._look(each, None) for each in given if _is_plain(each)]
        parents = [(kinds, maker) for _, _, kinds, maker in looked]
        return _Operation(name, where, 0, parents)

    def _look(self, tensor: Any, maker: _Operation | None) -> tuple[Any, int, Any, _Operation | None]:
        known = self._known.get(id(tensor))
        version = tensor._version if not tensor.is_inference() else -1
        if maker is None and known is not None and known[0]() is tensor and known[1] == version:
            return known
        known = self._known[id(tensor)] = weakref.ref(tensor), version, _kinds_of(tensor), maker
        return known

    def _behind(self, call: _Operation, given: Any, out: Any) -> None:
        results = [each for each in tensors_in(out) if _is_plain(each)]
        faulty = []
        for each in results:
            kinds = self._look(each, call)[2]
            if kinds:
                faulty.append(each)
                call.kinds = kinds if not isinstance(kinds, int) else call.kinds | kinds
        for known, made in call.parents if results and not faulty and uses_values(call.name) else ():
            if isinstance(known, int) and known and made is not None and not made.cut_by:
                made.cut_by = at_line(call.name, call.where)
        if faulty:
            self._faulty.append(call)
            if isinstance(call.kinds, int):
                self._describe(call, given, faulty)
                if call.kinds & NAN:  # labels may be gone at the end of the step
                    self._odd = self._odd or self._odd_labels()
        if self._watch._with_gradients:
            for each in results:
                if each.grad_fn is not None:
                    self._wait_for(each.grad_fn, call)

    def _describe(self, call: _Operation, given: Any, faulty: list[Any]) -> None:
        call.gave = counts_of(faulty)
        args, kwargs = given
        tensors = tensors_in(given)
        if not any(each is one for each in tensors for one in faulty) and all(each.numel() <= _MOST_SHOWN for each in tensors):
            call.given = values_of((*args, *kwargs.values()))
        if any(isinstance(each, float) and not math.isfinite(each) for each in args) and not any(_known(kinds) for kinds, _ in call.parents):
            call.why = "a number that it was given is no finite one"
        if call.name in ("cross_entropy", "nll_loss") and len(tensors) > 1 and not tensors[1].is_floating_point():
            ignored = kwargs.get("ignore_index", -100)
            if bool((tensors[1] == ignored).all()):
                call.why = f"all targets are {ignored}, which is ignored: the mean of nothing"

    def _wait_for(self, node: Any, call: _Operation) -> None:
        waiting = [node]
        while waiting:
            node = waiting.pop()
            if node is None or _OF_LOSS in node.metadata or OF_MODEL in node.metadata or "AccumulateGrad" in node.name():
                continue
            node.metadata[_OF_LOSS] = True
            node.register_hook(_GradientOfOperation(self, node.name(), call))
            waiting += [each for each, _ in node.next_functions]

    def took_gradient(self, node_name: str, call: _Operation, gave: Any, given: Any) -> None:
        tensors = [each for each in gave if each is not None and _is_plain(each)]
        for each in tensors:
            kinds = _kinds_of(each)
            if not kinds:
                continue
            operation = _Operation(node_name, call.where, kinds, [])
            operation.why = f"backward of {call.name}{_words_of_forward(call)}"
            if isinstance(kinds, int):
                if self._backward or kinds_in(each for each in given if each is not None and _is_plain(each)):
                    return
                operation.gave = counts_of([each])
                operation.given = values_of(each for each in given if each is not None and each.numel() <= _MOST_SHOWN)
                if (maker := _maker_of_operand(call)) is not None:  # of the fault that backward brought back
                    operation.name, operation.where, operation.given, operation.gave = maker.name, maker.where, "", f"{maker.gave} in the forward"
                    operation.why = words_of_return(call.cut_by or maker.cut_by, call.where)
            self._backward.append((operation, kinds))
            return

    def maker(self, loss: Any, kinds: int) -> dict[str, Any] | None:
        """The members of a zoom's line; None where it is not known."""
        known = self._known.get(id(loss))
        made = known[3] if known is not None and known[0]() is loss else None
        wanted = NAN if kinds & NAN else INF
        if made is None or not _known(made.kinds) & wanted:
            made = next((each for each in self._faulty if _known(each.kinds) & wanted and not each.is_written), None)
        if made is None:
            return None
        members = _root_of(made, wanted).told()
        if "targets are" not in members.get("why", "") and (odd := self._odd or self._odd_labels()):
            members["why"] = f"{members['why']}; {odd}" if "why" in members else odd
        return members

    def _odd_labels(self) -> str:
        """Labels of one negative number alone, as those that a loss ignores; "" if there are none."""
        for reference, where in self._integers.values():
            labels = reference()
            if labels is None or not 2 <= labels.numel() <= _MOST_SHOWN or labels.device.type == "meta":
                continue
            low, high = (int(each) for each in sys.modules["torch"].aminmax(labels))
            if low == high < 0:
                return f"the int64{list(labels.shape)} that {where} was given is all {low}"
        return ""

    def maker_of_gradient(self) -> dict[str, Any] | None:
        """Of a loss that was faulty itself, which step() is not told where gradients are accumulated, what made the loss so."""
        made = next((made for made, kinds in self._backward if _known(kinds)), None)
        if self._of_earlier_call is not None or made is None:
            return self._of_earlier_call
        if self._loss is not None and (kinds := _known(self._loss.kinds)):
            made = _root_of(self._loss, NAN if kinds & NAN else INF)
        return made.told()

    def maker_in(self, loss: Any, name: str) -> dict[str, Any] | None:
        """For the loss of this name, as check() calls it."""
        each = dict(losses_of(loss)).get(name)
        return self.maker(each, kinds_in([each])) if isinstance(each, sys.modules["torch"].Tensor) else None


class _GradientOfOperation:
    __slots__ = ("_operations", "_name", "_call")

    def __init__(self, operations: LossOperations, name: str, call: _Operation) -> None:
        self._operations, self._name, self._call = weakref.ref(operations), name, call

    def __call__(self, gave: Any, given: Any) -> None:
        operations = self._operations()
        if operations is None:
            return
        try:
            operations.took_gradient(self._name, self._call, gave, given)
        except Exception as fault:
            say_fault(fault)


def _is_plain(tensor: Any) -> bool:
    torch = sys.modules["torch"]
    return (type(tensor) is torch.Tensor or type(tensor) is torch.nn.Parameter) and tensor.layout is torch.strided and (
        tensor.is_floating_point() or tensor.is_complex()) and tensor.numel() > 0 and tensor.device.type != "meta"


def _kinds_of(tensor: Any) -> Any:
    """Kinds of fault: a number of a tensor in host memory, else what tells it later without waiting for the device now."""
    torch = sys.modules["torch"]
    values = tensor.detach()
    if values.is_cpu:
        total = values.sum(dtype=torch.float32) if values.dtype in (torch.float16, torch.bfloat16) else values.sum()
        return 0 if cmath.isfinite(total.item()) else kinds_in([values])
    if values.is_cuda and torch.cuda.is_current_stream_capturing():
        return 0
    with torch.no_grad():
        return torch.aminmax(torch.view_as_real(values.resolve_conj()) if values.is_complex() else values)


def _known(kinds: Any) -> int:
    if isinstance(kinds, int):
        return kinds
    low, high = (float(each) for each in kinds)
    return NAN if low != low or high != high else INF if low == -float("inf") or high == float("inf") else 0


def _root_of(made: _Operation, wanted: int) -> _Operation:
    """The first that gave such a fault and was given none. NaN may come of an Inf, and that is to blame, if it was not meant."""
    for _ in range(_MOST):
        same = [each for kinds, each in made.parents if each is not None and _known(kinds) & wanted]
        if not same and wanted == NAN and not any(_known(kinds) & NAN for kinds, _ in made.parents):
            same = [each for kinds, each in made.parents if each is not None and _known(kinds) & INF and not _is_of_written(each)]
            wanted = INF if same else wanted
        if not same:
            break
        made = same[0]
    return made


def _maker_of_operand(call: _Operation) -> _Operation | None:
    """The operation that computed the NaN or Inf of an operand at another line, if the loss computed it. An Inf that was written is meant:
    the backward that made NaN of it is to blame."""
    for kinds, made in call.parents:
        if made is not None and (known := _known(kinds)):
            root = _root_of(made, NAN if known & NAN else INF)
            is_elsewhere = root.where is not None and call.where is not None and root.where[:2] != call.where[:2]
            return root if is_elsewhere and root.gave and not root.is_written and not any(_known(each) for each, _ in root.parents) else None
    return None


def _words_of_forward(call: _Operation) -> str:
    """The effect of the forward on the operands of this operation's backward."""
    faulty = [(call.kinds, call), *call.parents]
    for kinds, made in faulty:
        if isinstance(kinds, int) and kinds and made is not None:
            return words_of_source(at_line(made.name, made.where), made.gave, made.cut_by)
    return ""


def _is_of_written(made: _Operation) -> bool:
    """Whether its Inf goes back to a mask's, or to one that came from outside."""
    root = _root_of(made, INF)
    return root.is_written or any(_known(kinds) & INF for kinds, _ in root.parents)
