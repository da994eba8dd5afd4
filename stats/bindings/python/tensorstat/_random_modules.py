"""Which modules of a model may draw random numbers. Only for those the state of the generator is kept, to run them again."""
import re
import sys
import weakref
from collections.abc import Mapping
from typing import Any

from ._calls import Place

_RANDOM = re.compile("drop|rand|bernoulli|multinomial|normal|uniform|poisson|exponential|sample|noise")


class RandomModules:
    """The modules that may draw random numbers."""

    def __init__(self, modules: list[tuple[str, Any, bool]], places: Mapping[str, Place]) -> None:
        # Each comes with its own place and the places of the modules around it.
        random: dict[int, tuple[Any, list[Place]]] = {}
        for name, module, _ in modules:
            for each in module.modules():
                if _may_be_random(type(each)):
                    random.setdefault(id(each), (weakref.ref(each), []))[1].append(places[name])
        self._modules = list(random.values())

    def look(self) -> None:
        """Says of each place whether it may draw random numbers now. A dropout of 0, or in eval(), does not; to copy the state
        of the generator costs as much as a row."""
        for _, places in self._modules:
            for place in places:
                place.is_random_now = False
        for reference, places in self._modules:
            if (module := reference()) is not None and _is_random_now(module):
                for place in places:
                    place.is_random_now = True


def random_state() -> list[Any] | None:
    """None during the capture of a CUDA graph, where torch refuses to tell it."""
    torch = sys.modules["torch"]
    on_devices = torch.cuda.is_initialized()
    if on_devices and torch.cuda.is_current_stream_capturing():
        return None
    on_device = torch.cuda.get_rng_state() if on_devices else None
    return [torch.default_generator.get_state(), on_device]


def _may_be_random(module_class: Any) -> bool:
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
