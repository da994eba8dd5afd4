"""watch() for trainers that own the loop:

    transformers.Trainer(..., callbacks=[tensorstat.callbacks.transformers_callback("runs/nan")])
    lightning.Trainer(..., callbacks=[tensorstat.callbacks.lightning_callback("runs/nan", every=10)])

Both take watch()'s arguments behind the path. An iteration is the trainer's global step, also after a resume. With `resume=True`, a
training that goes on from a checkpoint takes the place of the rows from its first step on. A second training of one callback in one
process writes to "runs/nan-2", unless it goes on from a checkpoint. Evaluation between the steps has rows of its own.
"""
import importlib
import os
import sys
import weakref
from types import FrameType
from typing import Any

from ._library import logger
from ._watch import Watch, watch

__all__ = ["lightning_callback", "transformers_callback"]


def transformers_callback(path: str | os.PathLike[str], **options: Any) -> Any:
    """For Hugging Face's Trainer: a step ends when the optimizer has stepped. Older versions, without on_optimizer_step, tell it when the
    gradients are zeroed; the gradients are in the rows nevertheless. The loss is the tensor that backward begins with, for each
    micro-batch: divided by the number of micro-batches, and scaled if there is a gradient scaler. If the
    training ends by an exception, the watch closes when the exception is gone."""
    base = importlib.import_module("transformers").TrainerCallback
    return type("WatchCallback", (_OfTransformers, base), {"path": path, "options": options})()


class _Trainings:
    """The watches of a callback: one of each training."""
    path: Any
    options: dict[str, Any]
    watch: Watch | None = None
    count = 0  # trainings that began in a folder of their own

    def begin(self, model: Any, global_step: int) -> Watch:
        self.close()
        options, path = dict(self.options), os.fspath(self.path)
        goes_on = global_step > 0 and (self.count > 0 or options.get("resume") is True)
        if goes_on:
            options.update(resume=global_step, exist="refuse")  # nothing before it is replaced
        else:
            self.count += 1
        if self.count > 1:
            path = f"{path.rstrip('/')}-{self.count}"
            if not goes_on:
                logger.warning("another training in this process: its rows are in %s", path)
        self.watch = made = watch(model, path=path, **options)
        if global_step > 0 and "resume" not in options:
            made.go_to(global_step)
        made.trains()
        return made

    def close(self) -> None:
        if self.watch is not None:
            self.watch.close()
            self.watch = None


class _OfTransformers(_Trainings):
    is_told_in_time = False
    stack: list[tuple[int, Any, int]] | None = None  # where the training began

    def on_train_begin(self, args: Any, state: Any, control: Any, model: Any = None, **_: Any) -> None:
        self.begin(model, int(getattr(state, "global_step", 0) or 0)).finds_loss()
        self.stack = _stack()

    def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if self.stack is not None and self.watch is not None:
            _close_with_loop(self.stack, self.watch)
            self.stack = None

    def on_optimizer_step(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self.is_told_in_time = True
        if self.watch is not None:
            self.watch.step()

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if not self.is_told_in_time and self.watch is not None:
            self.watch.step()

    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self.close()


def lightning_callback(path: str | os.PathLike[str], **options: Any) -> Any:
    """For Lightning's Trainer: a step ends when its global_step advances; the loss is the one that training_step returned."""
    try:
        lightning = importlib.import_module("lightning.pytorch")
    except ImportError:
        lightning = importlib.import_module("pytorch_lightning")
    return type("WatchCallback", (_OfLightning, lightning.Callback), {"path": path, "options": options})()


class _OfLightning(_Trainings):
    seen = 0

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        self.seen = trainer.global_step
        self.begin(pl_module, self.seen)

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        if trainer.global_step == self.seen or self.watch is None:
            return  # gradients are still added up
        self.seen = trainer.global_step
        self.watch.step(outputs.get("loss") if isinstance(outputs, dict) else outputs)
        self.watch.go_to(self.seen)  # several optimizers of one batch count each

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        self.close()

    def teardown(self, trainer: Any, pl_module: Any, stage: str) -> None:
        self.close()


class _Loop:
    """Lies among the variables of the function that has the training's loop, and goes with them."""


def _stack() -> list[tuple[int, Any, int]]:
    """The frames above, the outermost first. They are not kept: a frame holds its variables."""
    frames = []
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        frames.append((id(frame), frame.f_code, frame.f_lasti))
        frame = frame.f_back
    return frames[::-1]


def _close_with_loop(began: list[tuple[int, Any, int]], made: Watch) -> None:
    """The Trainer tells nobody of an exception. The function with its loop is the one that has gone on between two calls of a
    callback. When it ends by an exception, what lies in its frame goes."""
    frame: FrameType | None = sys._getframe(2)
    frames = []
    while frame is not None:
        frames.append(frame)
        frame = frame.f_back
    for each, (frame_id, code, instruction) in zip(frames[::-1], began):
        if id(each) != frame_id or each.f_code is not code:
            return
        if each.f_lasti == instruction:
            continue
        is_function = bool(code.co_flags & 1)  # CO_OPTIMIZED: its locals are not a dictionary that other code reads
        if is_function and sys.gettrace() is None:
            loop = _Loop()
            weakref.finalize(loop, made.close).atexit = False
            variables = each.f_locals
            if sys.version_info < (3, 13):
                variables.clear()  # a copy, which would keep the values of all variables
            variables["tensorstat loop"] = loop
        return
