"""A second run of a call may set some state of torch, such as the random numbers' state. It is read before the run and put back behind
it. A setter of any other state ends the run (_guard)."""
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

# Setters of torch._C, by their getters. Each thread has a value of its own.
_OF_THREAD = {"set_autocast_cache_enabled": "is_autocast_cache_enabled", "_set_multithreading_enabled": "_is_multithreading_enabled",
              "_set_fwd_grad_enabled": "_is_fwd_grad_enabled"}
# All threads share these values. A run sets them only if the process has one thread.
_OF_PROCESS = {"_set_sdp_use_flash": "_get_flash_sdp_enabled", "_set_sdp_use_mem_efficient": "_get_mem_efficient_sdp_enabled",
               "_set_sdp_use_math": "_get_math_sdp_enabled", "_set_sdp_use_cudnn": "_get_cudnn_sdp_enabled",
               "_set_sdp_use_overrideable": "_get_overrideable_sdp_enabled", "_set_sdp_use_fa3": "_get_fa3_sdp_enabled",
               "_set_sdp_priority_order": "_get_sdp_priority_order", "_set_default_dtype": "get_default_dtype"}
_HOOKS = {"_saved_tensors_hooks_get_disabled_error_message", "_saved_tensors_hooks_disable", "_saved_tensors_hooks_enable"}
# Torch's dispatch modes tell the compiler that they are there.
_OF_MODES = {"set_is_in_mode_without_ignore_compile_internals"}
_MODES = ("_is_in_torch_dispatch_mode", "_is_in_non_infra_torch_dispatch_mode", "_is_in_any_mode_without_ignore_compile_internals")

_Back = Callable[[], None]  # puts a value back


class TorchState:
    """A snapshot of torch's state."""

    def __init__(self) -> None:
        self._back: list[_Back] = []
        self._setters: set[str] = set()
        self._of_process: set[str] = set()
        torch = sys.modules["torch"]
        on_devices = torch.cuda.is_initialized()
        self._generators = [torch.default_generator, *(torch.cuda.default_generators if on_devices else ())]
        for setters, is_of_process, read in _rows(torch):
            try:
                self._back.append(read())
            except Exception:  # this torch has no such state: its setters end the run
                continue
            self._setters.update(setters)
            if is_of_process:
                self._of_process.update(setters)

    def may_set(self, name: str, owner: Any) -> bool:
        """Whether what this function of torch sets is put back. `owner`: the object that it is a method of."""
        if name == "set_state":
            return any(owner is each for each in self._generators)
        return name in self._setters and (name not in self._of_process or threading.active_count() == 1)

    def put_back(self) -> None:
        for back in reversed(self._back):
            back()


def _rows(torch: Any) -> Iterator[tuple[set[str], bool, Callable[[], _Back]]]:
    """The setters of a state, whether all threads share it, and what reads it."""
    yield set(), False, partial(_random, torch)
    for setter, getter in (*_OF_THREAD.items(), *_OF_PROCESS.items()):
        yield {setter}, setter in _OF_PROCESS, partial(_value, torch._C, setter, getter)
    for device in ("cpu", "cuda"):
        yield set(), False, partial(_autocast, torch, device)
    yield _HOOKS, False, partial(_saved_tensors_hooks, torch)
    yield _OF_MODES, False, partial(_modes, torch)
    tracing = sys.modules.get("torch.fx._symbolic_trace")
    yield {"_set_is_fx_tracing"}, False, partial(_value, tracing, "_set_is_fx_tracing", "_get_is_fx_tracing")


def _random(torch: Any) -> _Back:
    state = torch.default_generator.get_state()
    on_devices = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else None

    def back() -> None:
        torch.default_generator.set_state(state)
        if on_devices is not None:
            torch.cuda.set_rng_state_all(on_devices)
    return back


def _value(module: Any, setter: str, getter: str) -> _Back:
    write, read = getattr(module, setter), getattr(module, getter)
    value = read()
    return lambda: None if read() == value else write(value)


def _autocast(torch: Any, device: str) -> _Back:
    was = torch.is_autocast_enabled(device), torch.get_autocast_dtype(device)

    def back() -> None:
        if (torch.is_autocast_enabled(device), torch.get_autocast_dtype(device)) != was:
            torch.set_autocast_enabled(device, was[0])
            torch.set_autocast_dtype(device, was[1])
    return back


def _saved_tensors_hooks(torch: Any) -> _Back:
    autograd = torch._C._autograd
    words = autograd._saved_tensors_hooks_get_disabled_error_message()

    def back() -> None:
        if autograd._saved_tensors_hooks_get_disabled_error_message() == words:
            return
        if words is None:
            autograd._saved_tensors_hooks_enable()
        else:
            autograd._saved_tensors_hooks_disable(words)
    return back


def _modes(torch: Any) -> _Back:
    module = torch.utils._python_dispatch
    write = module.set_is_in_mode_without_ignore_compile_internals
    was = {name: getattr(module, name) for name in _MODES}

    def back() -> None:
        vars(module).update(was)
        write(was[_MODES[-1]])
    return back
