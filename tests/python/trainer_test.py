"""The callback with Hugging Face's own Trainer: the losses are those of a training without it, the loss is told whoever makes it,
evaluation is no training step, an iteration is a global step, and nothing stays behind when the training raises."""
import contextlib
import csv
import importlib.util
import logging
import os
import socket
import subprocess
import sys
import tempfile
import unittest

if not (importlib.util.find_spec("transformers") and importlib.util.find_spec("accelerate") and importlib.util.find_spec("torch")):
    print("transformers or accelerate is not installed: nothing is tested here", file=sys.stderr)
    sys.exit(0)

os.environ.setdefault("HF_HUB_OFFLINE", "1")
import tensorstat
import tensorstat.callbacks
import torch
import transformers

torch.set_num_threads(1)
STEPS = 6


class Rows(torch.utils.data.Dataset):
    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        ids = torch.randint(1, 30, (8,), generator=torch.Generator().manual_seed(index))
        return {"input_ids": ids, "labels": ids.clone()}


class Spoil(transformers.TrainerCallback):
    def __init__(self, function):
        self.function = function

    def on_step_begin(self, args, state, control, model=None, **_):
        self.function(state.global_step, model)


def model_of():
    torch.manual_seed(1)
    config = transformers.LlamaConfig(hidden_size=16, intermediate_size=24, num_hidden_layers=1, num_attention_heads=2, vocab_size=32,
                                      num_key_value_heads=1, max_position_embeddings=16)
    return transformers.LlamaForCausalLM(config)


def trainer_of(folder, callbacks, model=None, **options):
    more = {each: options.pop(each) for each in ("compute_loss_func", "eval_dataset") if each in options}
    arguments = transformers.TrainingArguments(
        output_dir=os.path.join(folder, "out"), max_steps=options.pop("max_steps", STEPS), per_device_train_batch_size=2, logging_steps=1,
        save_strategy=options.pop("save_strategy", "no"), report_to=[], use_cpu=True, disable_tqdm=True, seed=3, **options)
    return transformers.Trainer(model=model or model_of(), args=arguments, train_dataset=Rows(64), callbacks=callbacks, **more)


def iterations(path, graph=0):
    return sorted(int(each) for each in os.listdir(f"{path}/rank_0/model/{graph}"))


def rows_of(path, step, graph=0):
    with open(f"{path}/rank_0/model/{graph}/{step}/statistic.csv", newline="") as file:
        return list(csv.DictReader(file))


class WithTrainer(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder, self.path, self.messages = folder.name, os.path.join(folder.name, "run"), []
        handler = logging.Handler()
        handler.emit = lambda record: self.messages.append(record.getMessage())
        logger = logging.getLogger("tensorstat")
        logger.addHandler(handler)
        logger.propagate = False
        self.addCleanup(logger.removeHandler, handler)

    def callback(self, **options):
        return tensorstat.callbacks.transformers_callback(self.path, **options)

    def train(self, *callbacks, **options):
        with contextlib.redirect_stdout(None):
            trainer = trainer_of(self.folder, list(callbacks), **options)
            trainer.train()
        return trainer

    def losses(self, trainer):
        return [each["loss"] for each in trainer.state.log_history if "loss" in each]

    def test_the_losses_are_the_same_and_in_the_rows(self):
        bare, watched = self.train(), self.train(self.callback())
        self.assertEqual(self.losses(bare), self.losses(watched))
        for a, b in zip(bare.model.parameters(), watched.model.parameters()):
            self.assertTrue(torch.equal(a, b))
        self.assertEqual(iterations(self.path), list(range(STEPS)))
        for step, loss in enumerate(self.losses(bare)):
            (row,) = [each for each in rows_of(self.path, step) if each["Op Type"] == "Loss"]
            self.assertAlmostEqual(float(row["Max Value"]), loss, places=3)
        self.assertTrue(str(tensorstat.origin(self.path)).startswith("Nothing wrong"), tensorstat.origin(self.path))
        self.assertEqual(self.messages, [])

    def test_a_loss_of_its_own_function(self):
        seen = []

        def loss(outputs, labels, num_items_in_batch=None):
            seen.append(1)
            value = outputs.logits.square().mean()
            return value * float("inf") if len(seen) == 4 else value
        self.train(self.callback(), compute_loss_func=loss, max_grad_norm=0.0, max_steps=4)
        verdict = tensorstat.origin(self.path)["verdict"]
        self.assertEqual((verdict["kind"], verdict["iteration"]), ("loss", 3), verdict["sentence"])

    def test_evaluation_is_no_step(self):
        class Faulty(Rows):
            def __getitem__(self, index):
                return {**super().__getitem__(index), "inputs_embeds": torch.full((8, 16), float("nan"))}

        class Model(transformers.LlamaForCausalLM):
            def forward(self, input_ids=None, inputs_embeds=None, labels=None, **more):
                input_ids = None if inputs_embeds is not None else input_ids
                return super().forward(input_ids=input_ids, inputs_embeds=inputs_embeds, labels=labels, **more)
        torch.manual_seed(1)
        model = Model(model_of().config)
        self.train(self.callback(), model=model, eval_dataset=Faulty(2), eval_strategy="steps", eval_steps=3, eval_on_start=True)
        self.assertEqual(iterations(self.path), list(range(STEPS)))
        self.assertEqual(iterations(self.path, 1), [0, 3, 6])
        names = {each["Op Name"].rpartition("/")[2] for each in rows_of(self.path, 3, 1) if "/" in each["Op Name"]}
        self.assertEqual(names, {"eval"})
        self.assertFalse([each for each in rows_of(self.path, 3) if each["Op Name"].endswith("/eval")])
        verdict = tensorstat.origin(self.path)["verdict"]
        self.assertIn("evaluation before iteration 0", verdict["sentence"])
        self.assertTrue(verdict["evaluation"])

    def test_an_exception_closes_the_watch(self):
        def spoil(step, model):
            if step == 2:
                model.lm_head.weight.data[0, 0] = float("nan")
            if step == 4:
                raise FloatingPointError("the loss is NaN")
        trainer = trainer_of(self.folder, [self.callback(), Spoil(spoil)])
        with contextlib.suppress(FloatingPointError), contextlib.redirect_stdout(None):
            trainer.train()
        self.assertEqual(len(torch.nn.modules.module._global_forward_hooks), 0)
        self.assertTrue([each for each in self.messages if "first NaN: iteration 2, parameter lm_head.weight" in each], self.messages)

    def test_train_twice(self):
        callback = self.callback()
        trainer = self.train(callback, max_steps=2)
        with contextlib.redirect_stdout(None):
            trainer.train()
        self.assertEqual((iterations(self.path), iterations(f"{self.path}-2")), ([0, 1], [0, 1]))

    def test_a_resume_goes_on_with_its_global_step(self):
        self.train(self.callback(), save_strategy="steps", save_steps=4)
        with contextlib.redirect_stdout(None):
            trainer_of(self.folder, [self.callback(resume=True)], max_steps=8).train(
                resume_from_checkpoint=os.path.join(self.folder, "out", "checkpoint-4"))
        self.assertEqual(iterations(self.path), list(range(8)))
        names = [(each["Op Type"], each["Op Name"], each["IO"], each["Slot"]) for each in rows_of(self.path, 5) if each["Op Type"] == "Loss"]
        self.assertEqual(len(names), 1)

    def test_a_micro_batch_is_named(self):
        calls = []

        class Head(torch.nn.Linear):
            def forward(self, x):
                calls.append(1)
                return super().forward(x) / (0 if len(calls) == 11 else 1)  # the third of step 2
        model = model_of()
        model.lm_head = Head(16, 32, bias=False)
        self.train(self.callback(), model=model, gradient_accumulation_steps=4, max_steps=3)
        verdict = tensorstat.origin(self.path)["verdict"]
        self.assertEqual((verdict["iteration"], verdict.get("call"), verdict.get("calls")), (2, 3, 4), verdict["sentence"])
        self.assertIn("call 3 of 4", verdict["sentence"])

    def test_the_example_of_accelerate(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        example = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../stats/examples/accelerate_watch.py")
        environment = {**os.environ, "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port),
                       "USE_LIBUV": "0", "OMP_NUM_THREADS": "1"}
        ranks = [subprocess.Popen([sys.executable, "-W", "ignore", example, self.path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                  env={**environment, "RANK": str(rank), "LOCAL_RANK": str(rank)}) for rank in range(2)]
        outputs = [each.communicate(timeout=300) for each in ranks]
        self.assertEqual([each.returncode for each in ranks], [0, 0], outputs)
        self.assertIn("NaN in module.1 (Root), forward, iteration 1 (0 was clean), rank 1", outputs[0][0])
        verdict = tensorstat.origin(self.path)["verdict"]
        self.assertEqual((verdict["operation"], os.path.basename(verdict["file"] or "")), ("sqrt", "accelerate_watch.py"), verdict)


if __name__ == "__main__":
    unittest.main()
