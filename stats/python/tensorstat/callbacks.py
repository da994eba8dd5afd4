"""watch() for trainers that own the loop:

    transformers.Trainer(..., callbacks=[tensorstat.callbacks.transformers_callback("runs/nan")])
    lightning.Trainer(..., callbacks=[tensorstat.callbacks.lightning_callback("runs/nan", every=10)])

Both take watch()'s arguments behind the path.
"""
import importlib
import os
from typing import Any

from ._watch import watch


def transformers_callback(path: str | os.PathLike[str], **options: Any) -> Any:
    """Of Hugging Face's Trainer: a step where the optimizer has stepped. Older versions, without on_optimizer_step, tell it
    when the gradients are zeroed; what backward made of them is in the rows nevertheless."""
    base = importlib.import_module("transformers").TrainerCallback
    return type("WatchCallback", (_OfTransformers, base), {"path": path, "options": options})()


class _OfTransformers:
    path: Any
    options: dict[str, Any]
    is_told_in_time = False

    def on_train_begin(self, args: Any, state: Any, control: Any, model: Any = None, **_: Any) -> None:
        self.watch = watch(model, path=self.path, **self.options)

    def on_optimizer_step(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self.is_told_in_time = True
        self.watch.step()

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if not self.is_told_in_time:
            self.watch.step()

    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self.watch.close()


def lightning_callback(path: str | os.PathLike[str], **options: Any) -> Any:
    """Of Lightning's Trainer: a step where its global_step goes on, with the loss that training_step returned."""
    try:
        lightning = importlib.import_module("lightning.pytorch")
    except ImportError:
        lightning = importlib.import_module("pytorch_lightning")
    return type("WatchCallback", (_OfLightning, lightning.Callback), {"path": path, "options": options})()


class _OfLightning:
    path: Any
    options: dict[str, Any]
    watch: Any = None

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        self.watch, self.seen = watch(pl_module, path=self.path, **self.options), trainer.global_step

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        if trainer.global_step != self.seen:  # else gradients are still added up
            self.seen = trainer.global_step
            self.watch.step(outputs.get("loss") if isinstance(outputs, dict) else outputs)

    def teardown(self, trainer: Any, pl_module: Any, stage: str) -> None:
        if self.watch is not None:
            self.watch.close()
