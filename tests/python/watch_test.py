"""A PyTorch model that is watched while it trains: the first NaN is found at its step and operator; hooks go with the
watch. Skipped without torch (Debian's python3-torch)."""
import contextlib
import copy
import csv
import dataclasses
import gc
import glob
import json
import logging
import math
import os
import pathlib
import re
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import types
import unittest
import unittest.mock
import weakref

import tensorstat

try:
    import torch
except ImportError:
    torch = None


if torch is not None:
    from bad_backward import BadBackward

    class Marked(torch.Tensor):
        """A subclass that a library may make."""


def rows_of(folder):
    """(step, operator, io, row) in the order of execution."""
    rows = []
    for path in glob.glob(f"{folder}/rank_*/*/0/*/statistic.csv"):
        with open(path, newline="") as file:
            rows += [(int(path.split("/")[-2]), int(row["Timestamp"]), row["Op Name"], row["IO"], row) for row in csv.DictReader(file)]
    return [(step, name, io, row) for step, _, name, io, row in sorted(rows, key=lambda each: each[:2])]


@unittest.skipIf(torch is None, "torch is not installed")
class Watched(unittest.TestCase):
    def setUp(self):
        gc.collect()  # a watch that another test dropped says its last words when it is collected
        torch.manual_seed(7)
        layer = torch.nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
        self.model = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.TransformerEncoder(layer, 1), torch.nn.Linear(16, 1))
        self.optimizer = torch.optim.Adam(self.model.parameters())

    def train(self, watch, steps, poisoned=None):
        for step in range(steps):
            batch = torch.randn(3, 5, 4)
            if step == poisoned:
                batch[0, 0, 0] = math.nan
            self.model(batch).square().mean().backward()
            self.optimizer.step()
            watch.step()
            self.optimizer.zero_grad()

    def test_the_first_nan_is_found(self):
        with tempfile.TemporaryDirectory() as folder:
            with tensorstat.watch(self.model, path=folder, optimizer=self.optimizer, inputs=True) as watch:
                self.train(watch, 5, poisoned=3)
            rows = rows_of(folder)
            bad = [(step, name, io) for step, name, io, row in rows if int(row["NaN Count"])]
            self.assertEqual(bad[0], (3, "Sequential/forward", "input"))
            self.assertIn((3, "0/forward", "input"), bad)
            kinds = {name.split("/")[-1] for _, name, _, _ in rows}
            self.assertLessEqual({"forward", "backward", "exp_avg_sq"}, kinds)

    def test_values_are_torchs(self):
        with tempfile.TemporaryDirectory() as folder:
            seen = {}
            hook = self.model[0].register_forward_hook(lambda module, inputs, output: seen.update(y=output.detach().clone()))
            with tensorstat.watch(self.model, path=folder, where="^0$", gradients=False, parameters=False) as watch:
                self.train(watch, 1)
            hook.remove()
            (step, name, io, row), = rows_of(folder)
            self.assertEqual((step, name, io, row["Shape"]), (0, "0/forward", "output", "(3,5,16)"))
            values = seen["y"].double().flatten().tolist()
            self.assertEqual(float(row["Max Value"]), max(values))
            self.assertEqual(float(row["Avg Value"]), math.fsum(values) / len(values))

    def test_tensors_that_require_a_gradient_are_read_as_they_are(self):
        class Through(torch.nn.Module):  # gives its content
            def forward(self, _):
                return self.result

        plain = torch.tensor([[1.0, -2.0], [3.0, 4.0]])
        results = {"plain": plain.clone().requires_grad_(), "strided": (plain.clone().requires_grad_() * 1).t(),
                   "parameter": torch.nn.Parameter(plain.clone()), "subclass": plain.clone().requires_grad_().as_subclass(Marked),
                   "negative": torch.complex(plain, -plain).requires_grad_().conj().imag}
        self.assertTrue(results["negative"].is_neg() and results["negative"].requires_grad)
        with tempfile.TemporaryDirectory() as folder:
            modules = {name: Through() for name in results}
            with tensorstat.watch(modules, path=folder, parameters=False, gradients=False) as watch:
                for name, module in modules.items():
                    module.result = results[name]
                    module(None)
                watch.step()
            rows = {name: row for _, name, io, row in rows_of(folder) if io == "output"}
        self.assertEqual(set(rows), {f"{name}/forward" for name in results})
        for row in rows.values():
            self.assertEqual((row["Max Value"], row["Min Value"], row["Shape"]), ("4", "-2", "(2,2)"))

    def test_inference_mode_has_rows(self):
        with tempfile.TemporaryDirectory() as folder:
            with self.assertNoLogs("tensorstat", "WARNING"), tensorstat.watch(self.model, path=folder, gradients=False) as watch:
                with torch.inference_mode():
                    self.model(torch.randn(3, 5, 4))
                watch.step()
            names = {name for _, name, io, _ in rows_of(folder) if io == "output"}
        self.assertLessEqual({"0/forward", "2/forward", "Sequential/forward"}, names)

    def test_the_smallest_parameters_tell_who_writes_through_data(self):
        model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Linear(8, 2), torch.nn.Linear(2, 1))
        with tempfile.TemporaryDirectory() as folder:
            with tensorstat.watch(model, path=folder, gradients=False) as watch:
                for _ in range(3):
                    model(torch.randn(3, 8))
                    for parameter in model.parameters():
                        parameter.data.add_(1)  # no version tells
                    watch.step()
            written = {(step, name) for step, name, io, row in rows_of(folder) if io == "output" and row["Op Type"] == "Parameter"}
        self.assertEqual(written, {(step, name) for step in range(3) for name, _ in model.named_parameters()})

    def test_hooks_are_gone_after_an_exception(self):
        before = len(self.model[0]._forward_hooks)
        with tempfile.TemporaryDirectory() as folder:
            with self.assertRaises(ZeroDivisionError):
                with tensorstat.watch(self.model, path=folder):
                    self.model(torch.randn(1, 2, 4))
                    raise ZeroDivisionError
        self.assertEqual(len(self.model[0]._forward_hooks), before)
        self.model(torch.randn(1, 2, 4)).sum().backward()

    def test_every_tenth_step(self):
        with tempfile.TemporaryDirectory() as folder:
            with tensorstat.watch(self.model, path=folder, every=10) as watch:
                self.train(watch, 21)
            self.assertEqual(sorted({step for step, *_ in rows_of(folder)}), [0, 10, 20])

    def test_a_config_and_every_dialect(self):
        config = {"common_dump_settings": {
            "dump_mode": 0, "path": "/absent", "net_name": "Net", "iteration": "1|3", "input_output": 0, "kernels": [],
            "support_device": [0], "op_debug_mode": 0, "saved_data": "statistic", "statistic_category": ["max", "nan count"]},
            "e2e_dump_settings": {"enable": True, "trans_flag": True}}
        for dialect in ("ours", "mindspore-2.7", "mindspore-next"):
            self.setUp()  # a model that no NaN has been through
            with self.subTest(dialect=dialect), tempfile.TemporaryDirectory() as folder:
                with open(f"{folder}/data_dump.json", "w") as file:
                    json.dump(config, file)
                with tensorstat.watch(self.model, f"{folder}/data_dump.json", path=f"{folder}/dump", dialect=dialect) as watch:
                    self.train(watch, 5, poisoned=3)
                read = {step: tensorstat.read(f"{folder}/dump/rank_0/Net/0/{step}/statistic.csv") for step in (1, 3)}
                self.assertEqual(len(os.listdir(f"{folder}/dump/rank_0/Net/0")), 2)
                self.assertEqual(sum(row["nan count"] for row in read[1]), 0)
                first = next(row for row in read[3] if row["nan count"])
                self.assertEqual(first["op name"], "Sequential_forward" if dialect == "mindspore-2.7" else "Sequential/forward")

    def test_iterations_that_a_config_begins_later(self):
        config = {"common_dump_settings": {
            "dump_mode": 0, "path": "/absent", "net_name": "model", "iteration": "10-99", "input_output": 0, "kernels": [],
            "support_device": [0], "op_debug_mode": 0, "saved_data": "statistic", "statistic_category": ["max", "nan count"],
            "initial_iteration": 10}, "e2e_dump_settings": {"enable": True, "trans_flag": True}}
        with tempfile.TemporaryDirectory() as folder:
            for resume in (False, True):
                with tensorstat.watch(self.model, json.dumps(config), path=folder, resume=resume) as watch:
                    self.train(watch, 3, poisoned=2 if resume else None)
            self.assertEqual(sorted({step for step, *_ in rows_of(folder)}), list(range(10, 16)))
            self.assertEqual(watch.first_fault.iteration, 15)
            with open(f"{folder}/rank_0/model/watch.ndjson") as file:
                numbers = [line["iteration"] for line in map(json.loads, file) if "iteration" in line]
            self.assertEqual((min(numbers), max(numbers)), (10, 15))

    def test_nested_outputs_and_what_cannot_be_read(self):
        class Nested(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.table = torch.nn.Embedding(5, 3, sparse=True)

            def forward(self, x):
                vectors = self.table(x)
                return {"a": [vectors, (vectors * 2,)], "b": torch.view_as_complex(vectors[..., :2].contiguous()), "c": None}

        model = Nested()
        with tempfile.TemporaryDirectory() as folder:
            with tensorstat.watch(model, path=folder) as watch:
                for _ in range(2):
                    out = model(torch.tensor([1, 4]))
                    (out["a"][0].sum() + out["a"][1][0].sum()).backward()
                    watch.step()
            rows = {(name, io, row["Slot"]): row for step, name, io, row in rows_of(folder) if step == 1}
        self.assertLessEqual({("Nested/forward", "output", "0"), ("Nested/forward", "output", "1"), ("Nested/backward", "input", "1"),
                              ("table/forward", "output", "0")}, set(rows))
        self.assertEqual(rows["Nested/forward", "output", "2"]["Shape"], "(2,2)")  # the parts of a complex number
        self.assertRegex(rows["table.weight", "input", "0"]["Shape"], r"\([24],3\)")  # what a sparse gradient holds

    def test_in_place_functions_and_a_backward_after_the_end(self):
        model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU(inplace=True), torch.nn.Linear(4, 1))
        with tempfile.TemporaryDirectory() as folder:
            with tensorstat.watch(model, path=folder) as watch:
                model(torch.ones(2, 4)).sum().backward()
                watch.step()
                last = model(torch.ones(2, 4)).sum()
            last.backward()
            rows = {name: row for _, name, _, row in rows_of(folder)}
            self.assertEqual((rows["2/backward"]["Max Value"], rows["2/backward"]["Min Value"]), ("1", "1"))

    def test_a_model_is_saved_copied_traced_and_scripted_inside_of_a_watch(self):
        with tempfile.TemporaryDirectory() as folder:
            with tensorstat.watch(self.model, path=folder, gradients=False) as watch:
                torch.save(self.model, f"{folder}/model.pt")
                with open(f"{folder}/model.pt", "rb") as file:
                    self.assertNotIn(b"tensorstat", file.read())
                other = copy.deepcopy(self.model)
                loaded = torch.load(f"{folder}/model.pt", weights_only=False)  # of PyTorch 2.6 on not the default
                x = torch.ones(1, 2, 4)
                for each in (other, loaded, self.model):
                    each(x)
                block = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.LayerNorm(4), torch.nn.GELU())
                tensorstat.watch(block, path=f"{folder}/block")
                traced = torch.jit.trace(block, x)
                scripted = torch.jit.script(block)
                self.assertTrue(torch.equal(traced(x), scripted(x)))
                watch.step()
            names = [name for _, name, _, row in rows_of(folder)]
            self.assertEqual(names.count("0/forward"), 1)

    def test_a_scripted_module_inside_of_a_model(self):
        model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.jit.script(torch.nn.Linear(4, 4)))
        with tempfile.TemporaryDirectory() as folder:
            with tensorstat.watch(model, path=folder) as watch:
                model(torch.ones(2, 4)).sum().backward()
                watch.step()
            self.assertLessEqual({"0/forward", "1/forward", "1/backward"}, {name for _, name, _, _ in rows_of(folder)})

    def test_two_models(self):
        gen, disc = torch.nn.Linear(4, 4), torch.nn.Sequential(torch.nn.Linear(4, 1))
        with tempfile.TemporaryDirectory() as folder:
            for number, (models, names) in enumerate((({"gen": gen, "disc": disc}, {"gen", "disc", "disc.0"}),
                                                      ([gen, disc], {"Linear", "Sequential", "Sequential.0"}),
                                                      ([gen, copy.deepcopy(gen)], {"Linear0", "Linear1"}))):
                with tensorstat.watch(models, path=f"{folder}/{number}") as watch:
                    x = torch.ones(2, 4)
                    for each in models.values() if isinstance(models, dict) else models:
                        x = each(x)
                    watch.step()
                row_names = {name.removesuffix("/forward") for _, name, _, _ in rows_of(f"{folder}/{number}") if name.endswith("/forward")}
                self.assertEqual(row_names, names)
            with self.assertRaisesRegex(TypeError, "a torch.nn.Module"):
                tensorstat.watch([3], path=f"{folder}/none")

    def test_stop_and_start(self):
        with tempfile.TemporaryDirectory() as folder:
            with tensorstat.watch(self.model, path=folder) as watch:
                watch.stop()
                self.train(watch, 2)
                watch.start()
                self.train(watch, 1)
            self.assertEqual({step for step, *_ in rows_of(folder)}, {2})

    def test_a_model_that_calls_itself(self):
        class Tree(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.leaf = torch.nn.Linear(2, 2)

            def forward(self, x, depth=1):
                return self.leaf(x) if depth == 0 else self(x * 2, depth - 1) + 10

        model = Tree()
        with tempfile.TemporaryDirectory() as folder:
            with tensorstat.watch(model, path=folder) as watch:
                model(torch.ones(1, 2)).sum().backward()
                watch.step()
            names = [name for _, name, io, _ in rows_of(folder) if io == "output" and "/forward" in name]
            self.assertEqual(names, ["leaf/forward", "Tree/forward", "Tree/forward"])
            outer, inner = [float(row["Avg Value"]) for _, name, io, row in rows_of(folder) if name == "Tree/forward" and io == "output"][::-1]
            self.assertAlmostEqual(outer, inner + 10, places=4)

    def test_a_forward_that_stands_for_another_once(self):
        """As in Lightning's DDP: the call of the model runs training_step(), which calls the model."""
        class Model(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.body = torch.nn.Linear(2, 2)

            def forward(self, x):
                return self.body(x)

        model = Model()

        def redirected(x):
            model.forward = before
            return model(x).square().mean()

        before = model.forward
        with tempfile.TemporaryDirectory() as folder:
            with tensorstat.watch(model, path=folder) as watch:
                for _ in range(2):
                    model.forward = redirected
                    model(torch.ones(1, 2)).backward()
                    watch.step()
            names = [name for step, name, io, _ in rows_of(folder) if io == "output" and "/forward" in name]
            self.assertEqual(names, 2 * ["body/forward", "Model/forward"])

    def test_a_step_behind_an_interrupt(self):
        def interrupts(*_):
            raise KeyboardInterrupt

        with tempfile.TemporaryDirectory() as folder:
            with tensorstat.watch(self.model, path=folder) as watch:
                handle = self.model[1].register_forward_hook(interrupts)
                with self.assertRaises(KeyboardInterrupt):
                    self.model(torch.randn(3, 5, 4))
                handle.remove()
                self.train(watch, 1)
            names = [name for _, name, io, _ in rows_of(folder) if io == "input" and "/forward" in name]
            self.assertEqual(names, 2 * ["Sequential/forward"])

    def test_global_hooks_of_the_callers_keep_their_order(self):
        module = torch.nn.modules.module
        model = torch.nn.Sequential(torch.nn.Linear(2, 2))
        with tempfile.TemporaryDirectory() as folder:
            with module.register_module_forward_hook(lambda _, given, out: out + 1):
                with tensorstat.watch(model, path=folder, every=2, gradients=False, parameters=False) as watch:
                    with module.register_module_forward_hook(lambda _, given, out: out * 3), (
                            module.register_module_forward_pre_hook(lambda _, given: (given[0] + 1,))):
                        for _ in range(4):
                            model(torch.ones(1, 2))
                            watch.step()
            rows = [[(name, io, row["Avg Value"]) for step, name, io, row in rows_of(folder) if step == each] for each in (0, 2)]
        self.assertTrue(rows[0])
        self.assertEqual(rows[0], rows[1])

    def test_parts_of_a_model_behind_an_exception(self):
        class Part(torch.nn.Linear):
            fails = True

            def forward(self, x):
                if self.fails:
                    Part.fails = False
                    raise ZeroDivisionError
                return super().forward(x)

        model = torch.nn.ModuleDict({"a": Part(3, 3), "b": torch.nn.Linear(3, 3)})
        with tempfile.TemporaryDirectory() as folder:
            with tensorstat.watch(model, path=folder, gradients=False, parameters=False) as watch:
                with self.assertRaises(ZeroDivisionError):
                    model["a"](torch.randn(2, 3))
                model["b"](model["a"](torch.randn(2, 3)))
                watch.step()
            self.assertEqual([(name, io) for _, name, io, _ in rows_of(folder)],
                             [("a/forward", "input")] + [(f"{each}/forward", io) for each in "ab" for io in ("input", "output")])
            with open(f"{folder}/rank_0/model/watch.ndjson") as file:
                lines = [json.loads(line) for line in file]
            self.assertEqual([line["parent"] for line in lines if line["kind"] == "code"], ["", "", ""])

    def test_a_run_behind_a_line_that_was_cut(self):
        with tempfile.TemporaryDirectory() as folder:
            for cut in (1, 30):
                with tensorstat.watch(self.model, path=folder, exist="replace") as watch:
                    self.train(watch, 1)
                path = f"{folder}/rank_0/model/watch.ndjson"
                os.truncate(path, os.path.getsize(path) - cut)
                with tensorstat.watch(self.model, path=folder, resume=True, gradients=False) as watch:
                    self.train(watch, 1)
                with open(path) as file:
                    lines = [line for line in file if line.startswith("{") and line.endswith("}\n")]
                runs = [each for each in map(json.loads, lines) if each["kind"] == "run"]
                self.assertEqual([each["gradients"] for each in runs], [True, False], cut)

    def test_lines_that_a_full_disk_refuses_are_written_later(self):
        journal = tensorstat._journal.Journal
        with tempfile.TemporaryDirectory() as folder:
            written = journal(os.path.join(folder, "model", "watch.ndjson"))
            before = resource.getrlimit(resource.RLIMIT_FSIZE)
            handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            try:
                resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, before[1]))
                for number in range(30):
                    written.say("code", number=number, text="x" * 1000)
                    written.flush()
            finally:
                resource.setrlimit(resource.RLIMIT_FSIZE, before)
                signal.signal(signal.SIGXFSZ, handler)
            self.assertEqual(os.path.getsize(written.path), 10_000)
            written.say("code", number=30)
            written.flush()
            with open(written.path) as file:
                self.assertEqual([json.loads(line)["number"] for line in file], list(range(31)))

    def test_a_second_run_into_one_folder(self):
        with tempfile.TemporaryDirectory() as folder:
            def run(**options):
                with tensorstat.watch(self.model, path=folder, **options) as watch:
                    self.train(watch, 2)
                return sorted({step for step, *_ in rows_of(folder)})
            self.assertEqual(run(), [0, 1])
            with self.assertRaisesRegex(tensorstat.Error, "rows of an earlier run.*resume=True"):
                run()
            self.assertEqual(run(resume=True), [0, 1, 2, 3])
            rows = len(rows_of(folder))
            self.assertEqual(run(exist="replace"), [0, 1])
            self.assertLess(len(rows_of(folder)), rows)
            with self.assertRaises(ValueError):
                run(exist="append")

    def test_a_line_that_a_kill_cut_takes_no_line_of_the_next_run_with_it(self):
        for resume in (True, 2):
            with self.subTest(resume=resume), tempfile.TemporaryDirectory() as folder:
                for options in ({}, {"resume": resume}):
                    with tensorstat.watch(self.model, path=folder, **options) as watch:
                        self.train(watch, 2)
                    (path,) = pathlib.Path(folder).glob("rank_0/*/watch.ndjson")
                    lines = path.read_bytes().splitlines(keepends=True)
                    if not options:
                        path.write_bytes(b"".join(lines[:-1]) + b'{"kind": "zoom", "path": "caf\xc3')
                        whole = len(lines) - 1
                self.assertEqual(lines[whole], b'{"kind": "zoom", "path": "caf\xc3\n')
                for line in lines[:whole] + lines[whole + 1:]:
                    json.loads(line)
                self.assertGreater(len(lines), whole + 1)
                self.assertEqual(list(path.parent.glob(".new-*")), [])
                self.assertEqual(tensorstat.origin(folder)["verdict"]["kind"], "none")

    def test_every_path_that_the_file_system_takes(self):
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), unittest.mock.patch.dict(os.environ, HOME=folder):
            for path in ("runs/nan", f"{folder}/v1.2/lr=0.1", f"{folder}/a b", f"{folder}/\u00fc", "~/d", pathlib.Path("of/pathlib")):
                with tensorstat.watch(self.model, path=path) as watch:
                    self.train(watch, 1)
                self.assertTrue(rows_of(os.path.expanduser(path)), path)
            with tensorstat.watch(self.model, "positional") as watch:
                self.train(watch, 1)
            self.assertTrue(rows_of("positional"))

    def test_arguments_that_make_no_sense_are_refused_at_the_call(self):
        with tempfile.TemporaryDirectory() as folder:
            for options in ({"every": 0}, {"every": -1}, {"every": "x"}, {"every": 1.5}, {"every": True}, {"rank": -1}, {"rank": 2**40},
                            {"level": "L0"}, {"exist": 3}):
                with self.subTest(options), self.assertRaises((ValueError, TypeError)):
                    tensorstat.watch(self.model, path=folder, **options)
            self.assertEqual(os.listdir(folder), [])
            with self.assertRaises(ValueError):
                tensorstat.watch(self.model)

    def said_by(self, run, **options):
        with tempfile.TemporaryDirectory() as folder, self.assertLogs("tensorstat", "WARNING") as log:
            logging.getLogger("tensorstat").warning("begin")
            with tensorstat.watch(self.model, path=folder, **options) as watch:
                run(watch)
        return [each.split(":", 2)[2] for each in log.output[1:]]

    def test_what_is_likely_a_slip_is_said_once(self):
        def nothing(watch):
            watch.step()
            watch.step()

        def no_step(watch):
            self.model(torch.ones(1, 2, 4))

        def zeroed(watch, set_to_none):
            for _ in range(2):
                self.model(torch.ones(1, 2, 4)).sum().backward()
                self.optimizer.step()
                self.optimizer.zero_grad(set_to_none=set_to_none)
                watch.step()

        for run, words, options in ((lambda watch: self.train(watch, 1), "matches no module", {"where": "no such"}),
                                    (nothing, "no module of the model ran", {}),
                                    (no_step, "step.* was never called", {}),
                                    (lambda watch: zeroed(watch, True), "zeroed before", {}),
                                    (lambda watch: zeroed(watch, False), "zeroed before", {})):
            messages = self.said_by(run, **options)
            self.assertEqual(len([each for each in messages if re.search(words, each)]), 1, (words, messages))
        self.assertEqual(self.said_by(lambda watch: self.train(watch, 2)), [])

    def test_odd_outputs_never_reach_training(self):
        class Lies:
            def data_ptr(self):
                raise RuntimeError("no")

        class Property:
            @property
            def values(self):
                raise ValueError

        itself = []
        itself.append(itself)
        deep = torch.ones(2)
        for _ in range(900):
            deep = [deep]
        @dataclasses.dataclass
        class Config:
            x: object = None

        class NoTensor:
            def data_ptr(self):
                return 1

        twice = {}  # a walk that only counts levels would never end
        twice.update(a=twice, b=[twice], c=Config(twice))

        odd = [itself, deep, Lies(), Property(), Config, Config(torch.ones(1)), (each for each in ()), {"\ud800": torch.ones(1)},
               slice("a", None), 10 ** 5000, object(), {1, 2}, NoTensor(), twice, "\udcff"]

        class Odd(torch.nn.Module):
            def forward(self, x, which):
                return x * 1, odd[which]

        model = torch.nn.ModuleList([Odd()])
        for config in (None, json.dumps({"task": "statistics", "dump_path": "/absent", "level": "L0"})):
            with tempfile.TemporaryDirectory() as folder, self.assertLogs("tensorstat", "WARNING") as log:
                with tensorstat.watch(model, config, path=f"{folder}/dump") as watch:
                    for which in range(len(odd)):
                        model[0](torch.ones(2, requires_grad=True), which)[0].sum().backward()
                    watch.step()
                text = "\n".join(log.output)
                self.assertNotIn("Traceback", text)
                self.assertNotIn("training goes on", text)
                self.assertNotIn("a what", text)
                self.assertEqual(len(log.output), 1, text)  # one module's results: values nested too deep
                if config is not None:
                    with open(f"{folder}/dump/step0/rank0/dump.json") as file:
                        calls = json.load(file)["data"]
                    for which in range(len(odd)):
                        self.assertEqual(calls[f"Module.0.Odd.forward.{which}"]["output"][0]["Max"], 1.0, odd[which])
                        self.assertEqual(len(calls[f"Module.0.Odd.backward.{which}"]["input"]), 1)
                else:
                    rows = [row for _, name, io, row in rows_of(folder + "/dump") if (name, io, row["Slot"]) == ("0/forward", "output", "0")]
                    self.assertEqual(len(rows), len(odd))

    def test_a_fault_of_our_own_never_reaches_training(self):
        def raises(*_):
            raise ZeroDivisionError
        for place in ("_watch_rows.RowWatch._look_at_outputs", "_watch_rows.RowWatch._look_at_inputs", "_gradients.Gradients.take",
                      "_parameters.Parameters.look_after", "_watch_rows.RowWatch._begin"):
            with unittest.mock.patch(f"tensorstat.{place}", raises):
                messages = self.said_by(lambda watch: self.train(watch, 2))
            self.assertLessEqual(len([each for each in messages if "training goes on" in each]), 1)

    def test_a_forked_worker_stays_out(self):
        class Data(torch.utils.data.Dataset):
            def __init__(self, model):
                self.model = model

            def __len__(self):
                return 4

            def __getitem__(self, index):
                return self.model(torch.ones(2, 4)).detach().sum()

        model = torch.nn.Linear(4, 4)
        with tempfile.TemporaryDirectory() as folder:
            with tensorstat.watch(model, path=folder) as watch:
                for batch in torch.utils.data.DataLoader(Data(model), num_workers=2, multiprocessing_context="fork"):
                    model(torch.ones(2, 4))
                watch.step()
            self.assertEqual(sum(name == "Linear/forward" and io == "output" for _, name, io, _ in rows_of(folder)), 4)

    def test_a_forked_worker_has_no_modes(self):
        class Data(torch.utils.data.Dataset):
            def __len__(self):
                return 2

            def __getitem__(self, index):
                return len(torch.overrides._get_current_function_mode_stack()), sum(
                    bool(getattr(each, "_post_accumulate_grad_hooks", None)) for each in model.parameters())

        for level in ("op", "module"):
            model = torch.nn.Linear(4, 4)
            with self.subTest(level=level), tempfile.TemporaryDirectory() as folder, tensorstat.watch(model, path=folder, level=level) as watch:
                loss = model(torch.ones(2, 4)).sum()
                batches = list(torch.utils.data.DataLoader(Data(), num_workers=1, batch_size=None, multiprocessing_context="fork"))
                self.assertEqual([list(each) for each in batches], [[0, 0], [0, 0]])
                loss.backward()
                watch.step()
            self.assertEqual(torch.overrides._get_current_function_mode_stack(), [])

    def test_modes_of_closed_watches(self):
        """Each is taken off, in the thread that has it, whatever is closed first."""
        model, stacks = torch.nn.Linear(4, 4), []
        ran, is_closed = threading.Event(), threading.Event()

        def acts():  # no backward, and no call of the model behind it
            model(torch.ones(2, 4))
            ran.set()
            is_closed.wait()
            stacks.append(len(torch.overrides._get_current_function_mode_stack()))
            for _ in range(2):
                torch.nn.functional.relu(torch.ones(2), inplace=False)
            stacks.append(len(torch.overrides._get_current_function_mode_stack()))

        with tempfile.TemporaryDirectory() as folder:
            with tensorstat.watch(model, path=f"{folder}/0"):
                thread = threading.Thread(target=acts)
                thread.start()
                ran.wait()
            is_closed.set()
            thread.join()
            self.assertEqual(stacks, [1, 0])
            several = [tensorstat.watch(model, path=f"{folder}/{number}", level="op") for number in (1, 2, 3)]
            for number in (1, 0, 2):
                several[number].close()
            self.assertEqual(torch.overrides._get_current_function_mode_stack(), [])

    def test_a_rank_without_a_group_is_told(self):
        for size, is_told in ("2", True), ("1", False), ("", False):
            with tempfile.TemporaryDirectory() as folder, unittest.mock.patch.dict(os.environ, {"WORLD_SIZE": size}):
                with (self.assertLogs if is_told else self.assertNoLogs)("tensorstat", "WARNING") as log:
                    model = torch.nn.Linear(2, 2)
                    with tensorstat.watch(model, path=folder) as w:
                        model(torch.ones(1, 2)).sum().backward()
                        w.step()
                if is_told:
                    self.assertIn("WORLD_SIZE is 2, and torch.distributed has no group", log.output[0])

    def test_who_keeps_no_watch_watches_until_the_model_is_gone(self):
        with tempfile.TemporaryDirectory() as folder:
            model = torch.nn.Linear(4, 4)
            tensorstat.watch(model, path=folder)
            gc.collect()
            model(torch.ones(2, 4))
            gone = weakref.ref(model)
            with self.assertLogs("tensorstat", "WARNING"):  # step() was never called
                del model
            self.assertIsNone(gone())
            self.assertEqual(len(rows_of(folder)), 4)
            self.assertEqual(torch.nn.modules.module._global_forward_hooks, {})

    def test_parameters_that_are_made_by_the_first_call(self):
        model = torch.nn.Sequential(torch.nn.LazyLinear(3), torch.nn.LazyBatchNorm1d())
        with tempfile.TemporaryDirectory() as folder, self.assertNoLogs("tensorstat", "WARNING"):
            with tensorstat.watch(model, path=folder) as watch:
                for _ in range(2):
                    model(torch.randn(4, 2)).square().sum().backward()
                    watch.step()
            rows = {(step, row["Op Type"], name, io) for step, name, io, row in rows_of(folder)}
        for row in ((0, "Parameter", "0.weight", "output"), (0, "Gradient", "1.bias", "output"), (1, "Gradient", "0.weight", "input")):
            self.assertIn(row, rows)

    def test_parameters_of_inference_mode(self):
        with tempfile.TemporaryDirectory() as folder, self.assertNoLogs("tensorstat", "WARNING"), torch.inference_mode():
            model = torch.nn.Linear(2, 2)
            with tensorstat.watch(model, path=folder) as watch:
                model(torch.ones(1, 2))
                watch.step()
            self.assertEqual({name for _, name, _, row in rows_of(folder) if row["Op Type"] == "Parameter"}, {"weight", "bias"})

    def test_a_step_that_begins_in_inference_mode(self):
        config = {"task": "statistics", "level": "L0", "statistics": {}}
        with tempfile.TemporaryDirectory() as folder:
            for options in ({"updates": True}, {"config": json.dumps({**config, "dump_path": folder})}):
                with self.assertNoLogs("tensorstat"):
                    with tensorstat.watch(self.model, path=folder, **options) as watch:
                        for _ in range(2):
                            with torch.inference_mode():
                                self.model(torch.randn(3, 5, 4))
                            self.train(watch, 1)
            kinds = [(step, row["Op Type"]) for step, _, _, row in rows_of(folder)]
            count = len(list(self.model.parameters()))
            self.assertEqual([kinds.count((step, "ParameterUpdate")) for step in range(2)], [count, count])
            with open(f"{folder}/step1/rank0/dump.json") as file:
                keys = json.load(file)["data"]
        self.assertEqual(sum("parameters_grad" in key for key in keys), 8, keys)
        self.assertIn("Module.0.Linear.forward.1", keys)

    def test_the_first_fault_where_the_model_itself_is_not_wanted(self):
        model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 2))
        with torch.no_grad():
            model[1].weight[0, 0] = math.nan
        with tempfile.TemporaryDirectory() as folder, tensorstat.watch(model, path=folder, where="^1$", zoom=False) as watch:
            loss = model(torch.ones(1, 2)).sum()
            loss.backward()
            watch.step(loss)
            self.assertEqual((watch.first_fault.phase, watch.first_fault.op_name), ("forward", "1/forward"))

    def test_an_inf_that_becomes_nan_behind_is_an_inf_where_it_began(self):
        class Half(torch.nn.Module):
            def forward(self, x):
                return (x.abs() * 1e6 + 1e6).half().float()
        model = torch.nn.Sequential(torch.nn.Linear(4, 4), Half(), torch.nn.LayerNorm(4))
        with tempfile.TemporaryDirectory() as folder, tensorstat.watch(model, path=folder) as watch:
            loss = model(torch.ones(1, 4)).sum()
            loss.backward()
            watch.step(loss)
            self.assertEqual((watch.first_fault.kind, watch.first_fault.op_name), ("Inf", "1/forward"))

    def test_all_tensors_of_a_batch_norm_are_shown(self):
        model = torch.nn.Sequential(torch.nn.BatchNorm1d(2)).eval()
        model[0].running_var.fill_(-1)
        with tempfile.TemporaryDirectory() as folder:
            with tensorstat.watch(model, path=folder) as watch, torch.no_grad():
                model(torch.ones(3, 2))
                watch.step()
            self.assertIn("float32[2] -1 to -1 and gave 6 NaN of 6", str(tensorstat.origin(folder)))

    def test_several_optimizers(self):
        models = {name: torch.nn.Linear(2, 2) for name in ("gen", "disc")}
        optimizers = [torch.optim.Adam(each.parameters()) for each in models.values()]
        with tempfile.TemporaryDirectory() as folder:
            with tensorstat.watch(models, path=folder, optimizer=optimizers) as watch:
                sum(each(torch.ones(1, 2)).sum() for each in models.values()).backward()
                for each in optimizers:
                    each.step()
                watch.step()
            names = {name for _, name, _, row in rows_of(folder) if row["Op Type"] == "OptimizerState"}
            self.assertTrue({"gen.weight/exp_avg", "disc.bias/exp_avg_sq"} <= names, names)
            with self.assertRaisesRegex(TypeError, "optimizer: a torch.optim.Optimizer is expected, or a list or dict of them; this is a Linear"):
                tensorstat.watch(models, path=folder, optimizer=models["gen"])

    def test_rows_are_those_of_the_model(self):
        """stats/doc/origin.md"""
        model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        with tempfile.TemporaryDirectory() as folder:
            with tensorstat.watch(model, path=folder, inputs=True) as watch:
                for _ in range(2):
                    value = model(torch.ones(2, 4)).sum()
                    value.backward()
                    model[0].weight.grad.mul_(2)
                    optimizer.step()
                    watch.step({"sum": value})
                    optimizer.zero_grad()
            rows = [[(row["Op Type"], name, io, int(row["Slot"])) for step, name, io, row in rows_of(folder) if step == which] for which in (0, 1)]
            with open(f"{folder}/rank_0/model/watch.ndjson", encoding="utf-8") as file:
                lines = [json.loads(line) for line in file]
        parameters = ["0.weight", "0.bias", "2.weight", "2.bias"]
        forward = [("Sequential", "Sequential/forward", "input", 0)]
        for name, kind in (("0", "Linear"), ("1", "ReLU"), ("2", "Linear")):
            forward += [(kind, f"{name}/forward", "input", 0), (kind, f"{name}/forward", "output", 0)]
        forward += [("Sequential", "Sequential/forward", "output", 0)]
        backward = [("Sequential", "Sequential/backward", "input", 0), ("Linear", "2/backward", "input", 0),
                    ("Gradient", "2.bias", "input", 0), ("Gradient", "2.weight", "input", 0), ("Linear", "2/backward", "output", 0),
                    ("ReLU", "1/backward", "input", 0), ("ReLU", "1/backward", "output", 0), ("Linear", "0/backward", "input", 0),
                    ("Gradient", "0.bias", "input", 0), ("Gradient", "0.weight", "input", 0)]
        end = [("Loss", "loss/sum", "output", 0), ("Gradient", "0.weight", "output", 0)]
        end += [("Parameter", name, "output", 0) for name in parameters]
        whole = forward + backward + end
        self.assertEqual([sorted(each) for each in rows], [sorted([("Parameter", name, "input", 0) for name in parameters] + whole), sorted(whole)])
        order = {each: number for number, each in enumerate(rows[1])}
        for before, after in zip(forward + backward[:2], (forward + backward[:2])[1:]):
            self.assertLess(order[before], order[after])
        self.assertLess(order["Linear", "2/backward", "output", 0], order["ReLU", "1/backward", "input", 0])
        self.assertEqual([line["kind"] for line in lines], ["run", "trained"] + ["code"] * 4)
        self.assertEqual(lines[0], {"kind": "run", "world_size": 1, "every": 1, "inputs": "all", "level": "module",
                                    "parameters": True, "gradients": True})
        self.assertEqual({(line["op_name"], line["parent"], os.path.basename(line["file"])) for line in lines[2:]},
                         {("Sequential/forward", "", "watch_test.py"), *((f"{name}/forward", "Sequential/forward", "watch_test.py") for name in "012")})

    def test_rows_of_operations(self):
        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.a = torch.nn.Linear(4, 4)

            def forward(self, x):
                y = self.a(x)
                return torch.log(y.square() + 1) + torch.log(y.abs() + 1)

        model = Net()
        with tempfile.TemporaryDirectory() as folder:
            with tensorstat.watch(model, path=folder, level="op") as watch:
                for _ in range(2):
                    value = model(torch.ones(2, 4)).square().mean()
                    value.backward()
                    watch.step(value)
            torch.ones(2) + 1
            rows = {(name, io, row["Op Type"]): row for step, name, io, row in rows_of(folder) if step == 1}
            with open(f"{folder}/rank_0/model/watch.ndjson", encoding="utf-8") as file:
                lines = [json.loads(line) for line in file]
        for name in ("a/linear.0", "Net/log.0", "Net/log.1", "loss/mean.0", "loss/square.0"):
            kind = name.split("/")[1].split(".")[0]
            for direction in ("forward", "backward"):
                for io in ("input", "output"):
                    self.assertIn((f"{name}/{direction}", io, kind), rows)
        kinds = {kind for name, _, kind in rows if name.endswith("/forward")}  # the watch's own calls do not count
        self.assertEqual(kinds, {"Net", "Linear", "linear", "square", "add", "log", "abs", "mean"})
        self.assertEqual(rows["Net/log.0/backward", "output", "log"]["Shape"], "(2,4)")
        code = {line["op_name"]: line for line in lines if line["kind"] == "code"}
        self.assertEqual((code["Net/log.1/forward"]["function"], code["Net/log.1/forward"]["parent"]), ("forward", "Net/forward"))
        self.assertEqual(sum(line["kind"] == "code" for line in lines), len(code))  # said once

    def test_operations_stand_behind_their_module_in_backward(self):
        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.a, self.b = torch.nn.Linear(4, 4), torch.nn.Tanh()

            def forward(self, x):
                return self.b(BadBackward.apply(self.b(self.a(x))))

        model = Net()
        with tempfile.TemporaryDirectory() as folder:
            with tensorstat.watch(model, path=folder, level="op", inputs=True) as watch:
                model(torch.ones(2, 4)).sum().backward()
                torch.optim.SGD(model.parameters(), lr=0.1).step()
                watch.step()
            names = [name for _, name, io, _ in rows_of(folder) if name.endswith("/backward") and io == "input"]
            verdict = tensorstat.origin(folder)["verdict"]
        self.assertEqual([name.removesuffix("/backward") for name in names],
                         ["loss/sum.0", "Net", "b", "b/tanh.1", "b", "b/tanh.0", "a", "a/linear.0"])
        self.assertEqual((verdict["kind"], verdict["op_name"], verdict["phase"]), ("produced", "Net/backward", "backward"), verdict)

    def test_the_gradient_of_results_stands_before_that_of_arguments(self):
        model = torch.nn.Linear(4, 4)  # one node of autograd has both
        with tempfile.TemporaryDirectory() as folder:
            with tensorstat.watch(model, path=folder, inputs=True) as watch:
                model(torch.ones(2, 4, requires_grad=True)).sum().backward()
                watch.step()
            self.assertEqual([io for _, name, io, _ in rows_of(folder) if name == "Linear/backward"], ["input", "output"])

    def test_callbacks_of_trainers(self):
        class Base:
            pass

        from tensorstat import callbacks
        trainers = {"transformers": types.SimpleNamespace(TrainerCallback=Base), "lightning": types.ModuleType("lightning"),
                    "lightning.pytorch": types.SimpleNamespace(Callback=Base)}
        with tempfile.TemporaryDirectory() as folder, unittest.mock.patch.dict(sys.modules, trainers):
            def step():
                value = self.model(torch.ones(1, 2, 4)).sum()
                value.backward()
                self.optimizer.step()
                return value

            new, old = (callbacks.transformers_callback(f"{folder}/{name}") for name in ("new", "old"))
            for callback in (new, old):
                callback.on_train_begin(None, None, None, model=self.model, optimizer=self.optimizer)
                for _ in range(2):
                    step()
                    if callback is new:
                        callback.on_optimizer_step(None, None, None)
                    self.optimizer.zero_grad(set_to_none=False)
                    callback.on_step_end(None, None, None)
                callback.on_train_end(None, None, None)
            of_lightning = callbacks.lightning_callback(f"{folder}/lightning")
            trainer = types.SimpleNamespace(global_step=0)
            of_lightning.on_train_start(trainer, self.model)
            for number in range(4):
                value = step()
                trainer.global_step = number // 2
                of_lightning.on_train_batch_end(trainer, self.model, {"loss": value}, None, number)
            of_lightning.teardown(trainer, self.model, "fit")
            for name, steps in (("new", {0, 1}), ("old", {0, 1}), ("lightning", {0, 1})):
                rows = rows_of(f"{folder}/{name}")
                self.assertEqual({step for step, *_ in rows}, steps, name)
            self.assertIn("loss", {name for _, name, _, _ in rows})

    def test_the_example(self):
        example = os.path.join(os.path.dirname(__file__), "../../stats/examples/watch.py")
        done = subprocess.run([sys.executable, "-B", example], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (0, "first NaN: iteration 1, Net, log (watch.py:16)\n"), done.stderr)

    def test_lines_of_code_and_zoom_are_left_out_on_demand(self):
        model = torch.nn.Sequential(torch.nn.Linear(4, 4))
        with tempfile.TemporaryDirectory() as folder, self.assertLogs("tensorstat", "WARNING") as log:
            with tensorstat.watch(model, path=folder, code=False, zoom=False) as watch:
                model(torch.full((2, 4), 1e38) * 100)
                watch.step()
                self.assertEqual((watch.first_fault.phase, watch.first_fault.op_name), ("input", "Sequential/forward"))
            with open(f"{folder}/rank_0/model/watch.ndjson", encoding="utf-8") as file:
                self.assertEqual([json.loads(line)["kind"] for line in file], ["run", "trained"])
        self.assertRegex(log.output[-1], r"first Inf: iteration 0, came in with the data, Sequential input 0; tensorstat origin .*")

    def test_a_zoom_leaves_everything_as_it_was(self):
        class Inner(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.norm, self.drop = torch.nn.BatchNorm1d(4), torch.nn.Dropout(0.5)
                self.calls, self.cache, self.plain = 0, [], torch.zeros(1)
                self.register_buffer("count", torch.zeros(()))

            def forward(self, x):
                self.calls += 1
                self.cache.append(x)
                self.count += 1
                self.plain += 1
                return self.drop(self.norm(x)) + torch.log(x - 100)

        def trained(zoom):
            torch.manual_seed(3)
            model = torch.nn.Sequential(torch.nn.Linear(4, 4), Inner(), torch.nn.Linear(4, 1))
            seen = []
            model[1].norm.register_forward_hook(lambda *_: seen.append(1))
            model[0].weight.register_hook(lambda gradient: seen.append(2))
            with tempfile.TemporaryDirectory() as folder, self.assertLogs("tensorstat", "WARNING"):
                with tensorstat.watch(model, path=folder, zoom=zoom) as watch:
                    value = model(torch.randn(5, 4))
                    value.sum().backward()
                    watch.step()
                self.assertEqual(watch.first_fault.operation, "log" if zoom else None)
            inner = model[1]
            return ([each.tolist() for each in inner.norm.buffers()], inner.calls, len(inner.cache), inner.count.item(), inner.plain.item(),
                    seen, torch.rand(3).tolist(), str(value.tolist()), [str(each.grad) for each in model.parameters()])
        self.assertEqual(trained(True), trained(False))

    def dump_of_modules(self, model, run, steps=1, **settings):
        """The files that watch() leaves for each step, with msprobe's config."""
        with tempfile.TemporaryDirectory() as folder:
            config = {"task": "statistics", "dump_path": f"{folder}/dump", "level": "L0", **settings}
            with tensorstat.watch(model, json.dumps(config)) as watch:
                for _ in range(steps):
                    model.zero_grad()
                    run(model)
                    watch.step()
            dumps = []
            for step in range(steps):
                with open(f"{folder}/dump/step{step}/rank0/dump.json", encoding="utf-8") as file:
                    text = file.read()
                self.assertEqual(text, json.dumps(json.loads(text), indent=1))
                dumps.append(json.loads(text)["data"])
            with open(f"{folder}/dump/step0/rank0/construct.json", encoding="utf-8") as file:
                self.parents = json.load(file)
            return dumps

    def test_modules_as_msprobe_has_them(self):
        """A tensor that goes two ways, a module that runs twice and inside of another, nested outputs, arguments that are no
        tensors, outputs that nobody uses, in-place functions: gradients are those of the call, by autograd itself."""
        class Inner(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.linear = torch.nn.Linear(3, 3)

            def forward(self, x, more, scale=2, *, mask=None):
                y = self.linear(x) * scale
                return {"y": torch.relu_(y), "more": [more[0], (y * 2,)], "n": 3}

        class Outer(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = Inner()

            def forward(self, x):
                x = x * 1
                first = self.inner(x, [torch.ones(2), "text", slice(1, None)], 0.5, mask=None)
                second = self.inner(first["y"] + x, [None, {"a": 1.5}])
                self.seen = x, first["y"], second["y"]
                return second["y"].sum() + x.sum()

        model = Outer()
        x = torch.randn(2, 3, requires_grad=True)

        def run(model):
            loss = model(x)
            for tensor in model.seen:
                tensor.retain_grad()
            loss.backward()

        for data in self.dump_of_modules(model, run, steps=2):
            inner, linear = "Module.inner.Inner", "Module.inner.linear.Linear"
            self.assertEqual([call for call in data if "forward" in call],
                             [f"{inner}.forward.0", f"{linear}.forward.0", f"{inner}.forward.1", f"{linear}.forward.1"])
            self.assertEqual([call for call in data if "backward" in call],
                             [f"{linear}.backward.1", f"{inner}.backward.1", f"{linear}.backward.0", f"{inner}.backward.0"])
            first = data[f"{inner}.forward.0"]
            self.assertEqual(list(first), ["input_args", "input_kwargs", "output"])
            self.assertEqual(first["input_args"][1][1:], [{"type": "str", "value": "text"}, {"type": "slice", "value": [1, None, None]}])
            self.assertEqual(first["input_args"][2], {"type": "float", "value": 0.5})
            self.assertEqual(data[f"{inner}.forward.1"]["input_args"][1], [None, {"a": {"type": "float", "value": 1.5}}])
            (output,) = first["output"]
            self.assertEqual((list(output), output["n"]), (["y", "more", "n"], {"type": "int", "value": 3}))
            self.assertEqual([output["more"][0]["shape"], output["more"][1][0]["shape"]], [[2], [2, 3]])
            self.assertEqual(list(data[f"{linear}.forward.0"]["parameters"]), ["weight", "bias"])
            self.assertEqual(list(data[f"{linear}.parameters_grad.0"]), ["bias", "weight"])
            gradient = data[f"{linear}.parameters_grad.0"]["weight"][0]
            self.assertAlmostEqual(gradient["Norm"], model.inner.linear.weight.grad.norm().item(), places=4)
            # The last output is used once; x in three ways, one in each call.
            ones = data[f"{inner}.backward.1"]["input"]
            self.assertEqual((ones[0]["Max"], ones[0]["Min"], ones[1]), (1.0, 1.0, None))
            first_ones = data[f"{inner}.backward.0"]["input"]
            self.assertEqual((first_ones[0]["shape"], first_ones[1]), ([2, 3], None))
            through = {call: data[f"{inner}.backward.{call}"]["output"][0]["Mean"] for call in (0, 1)}
            whole = model.seen[0].grad.mean().item()
            self.assertAlmostEqual(through[0] + through[1] + 1, whole, places=4)
            self.assertEqual(self.parents[f"{linear}.forward.1"], f"{inner}.forward.1")
            self.assertIsNone(self.parents[f"{inner}.forward.0"])

    def test_modules_that_work_in_place_train_as_they_would(self):
        def made():
            torch.manual_seed(3)
            return torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU(inplace=True), torch.nn.Linear(4, 2),
                                       torch.nn.Dropout(0.5, inplace=True))

        def run(model):
            torch.manual_seed(4)
            model(torch.ones(2, 4)).square().sum().backward()

        watched, free = made(), made()
        (data,) = self.dump_of_modules(watched, run)
        run(free)
        for mine, theirs in zip(watched.parameters(), free.parameters()):
            self.assertTrue(torch.equal(mine.grad, theirs.grad))
        self.assertGreater(data["Module.1.ReLU.backward.0"]["output"][0]["Norm"], 0)
        self.assertEqual(len(data), 4 + 4 + 2)

    def test_outputs_of_a_module_with_many_calls_inside(self):
        inside = torch.nn.Sequential(*(torch.nn.Identity() for _ in range(300)))
        (data,) = self.dump_of_modules(torch.nn.Sequential(inside), lambda model: model(torch.ones(2)))
        self.assertEqual(len(data), 301)
        self.assertEqual(list(data)[:2], ["Module.0.Sequential.forward.0", "Module.0.0.Identity.forward.0"])
        self.assertEqual([len(data["Module.0.Sequential.forward.0"][io]) for io in ("input_args", "output")], [1, 1])

    def test_what_the_config_of_msprobe_wants(self):
        def run(model):
            model(torch.ones(1, 2, 4)).sum().backward()

        (data,) = self.dump_of_modules(self.model, run, statistics={"data_mode": ["forward", "output"], "list": ["Linear"]})
        self.assertGreater(len(data), 3)
        self.assertEqual({(tuple(call), key.split(".")[-2]) for key, call in data.items()}, {(("output", "parameters"), "forward")})
        self.assertTrue(all("Linear" in key for key in data))
        with tempfile.TemporaryDirectory() as folder, self.assertLogs("tensorstat", "WARNING") as log:
            with tensorstat.watch(self.model, json.dumps({"task": "statistics", "dump_path": folder, "level": "L1"})) as watch:
                run(self.model)
                watch.step()
            self.assertEqual((os.listdir(folder), len(log.output)), ([], 2))  # at the beginning and at the end

    def test_every_dtype_of_torch(self):
        for dtype in (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16,
                      torch.bfloat16, torch.float32, torch.float64):
            x = (torch.randn(7, 9) * 10).to(dtype)
            r = tensorstat.measure(x.t()[::2])
            self.assertEqual(r.dtype, str(dtype).removeprefix("torch."))
            self.assertEqual(r.max, x.t()[::2].max().item())
            self.assertEqual(r.count, x.t()[::2].numel())
        parameter = torch.nn.Parameter(torch.ones(3))
        self.assertEqual(tensorstat.measure(parameter).l2norm, math.sqrt(3))


if __name__ == "__main__":
    unittest.main()
