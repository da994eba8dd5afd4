"""Measured steps that stay compiled, watch(compiled="graph"): they have the rows of eager steps with the same values, however the
model was compiled; the other steps run the graph that was there before; what does not go into a graph makes later steps eager, and
no training ends. Skipped without torch.compiler.set_stance (before torch 2.6)."""
import csv
import gc
import glob
import json
import logging
import tempfile
import unittest

import tensorstat

try:
    import torch
    from torch import nn
except ImportError:
    torch = None


def has_stance():
    return torch is not None and hasattr(getattr(torch, "compiler", None), "set_stance")


def rows_of(folder):
    """By step, each row without its time. A compiled backward is one node of autograd: gradients of parameters come behind it."""
    tables = {}
    for path in glob.glob(f"{folder}/rank_*/*/*/*/statistic.csv"):
        with open(path, newline="") as file:
            rows = [tuple(value for key, value in row.items() if key != "Timestamp") for row in csv.DictReader(file)]
        tables[tuple(path.split("/")[-3:-1])] = sorted(rows)
    return tables


def lines_of(folder, *kinds):
    lines = []
    for path in glob.glob(f"{folder}/rank_*/*/watch.ndjson"):
        with open(path) as file:
            lines += [each for each in map(json.loads, file) if each["kind"] in kinds]
    return lines


def calls_of(folder):
    """Lines of calls inside of the model."""
    calls = [(each["op_name"], each["line"], each["parent"], each["call"]) for each in lines_of(folder, "code")]
    return sorted(each for each in calls if each[2])


class Listening(logging.Handler):
    def __init__(self):
        super().__init__()
        self.heard = []

    def emit(self, record):
        self.heard.append(record.getMessage())


if has_stance():
    import torch._dynamo as dynamo
    from tensorstat import _graph

    class Part(nn.Module):
        """Results of several kinds, and arguments by name."""

        def __init__(self):
            super().__init__()
            self.first = nn.Linear(8, 8)

        def forward(self, x, factor=None):
            y = self.first(x)
            return {"y": y * factor, "more": (y + 1, None)}

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.act, self.norm, self.part, self.head = nn.Linear(8, 8), nn.ReLU(inplace=True), nn.LayerNorm(8), Part(), nn.Linear(8, 1)

        def forward(self, x):
            y = self.act(self.a(x))
            y = self.norm(self.act(self.a(self.between(y))) + y)  # a and act are called twice
            results = self.part(y, factor=2)
            return self.head(results["y"] + results["more"][0])

        def between(self, x):
            return x

    class Breaks(Model):
        def between(self, x):
            dynamo.graph_break()
            return x

    class Root(Model):
        def between(self, x):
            return torch.sqrt(x - 10)

    class Blocks(nn.Module):
        """Of one class and with like parameters, which dynamo lets share a graph."""

        def __init__(self):
            super().__init__()
            self.blocks = nn.ModuleList([Part() for _ in range(4)])

        def forward(self, x):
            for each in self.blocks:
                x = each(x, factor=2)["y"].relu()
            return x

    class Checkpointed(Model):
        def between(self, x):
            return torch.utils.checkpoint.checkpoint(lambda y: self.norm(y), x, use_reentrant=False)


class Compiled(unittest.TestCase):
    eager = {}  # what eager jobs gave

    def setUp(self):
        if not has_stance():
            self.skipTest("torch.compiler.set_stance is of torch 2.6")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder, self.runs = folder.name, 0
        dynamo.reset()
        listening = Listening()
        self.heard = listening.heard
        logging.getLogger("tensorstat").addHandler(listening)
        self.addCleanup(logging.getLogger("tensorstat").removeHandler, listening)

    def compiled(self, model, how, backend):
        options = {"backend": backend, "fullgraph": not isinstance(model, Breaks)}
        if how == "whole":
            return torch.compile(model, **options)
        if how == "function":
            return torch.compile(lambda x: model(x), **options)
        if how == "method":
            model.compile(**options)
        elif how == "blocks":
            for each in model.blocks:
                each.compile(**options)
        elif how == "inside":
            model.part = torch.compile(model.part, **options)
        return model

    def run_job(self, kind=None, how="whole", backend="aot_eager", *, steps=4, is_warm=False, micro=1, rows="batch", **options):
        """The folder of the rows, the losses, and how many graphs there were after each step and behind the watch."""
        dynamo.reset()
        dynamo.utils.counters.clear()
        torch.manual_seed(1)
        model = (kind or Model)()
        if is_warm:
            compiled = self.compiled(model, how, backend)
            compiled(torch.randn(4, 8))
        self.runs += 1
        path, losses, graphs = f"{self.folder}/{self.runs}", [], []
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        torch.manual_seed(2)
        with tensorstat.watch(model, path=path, every=2, **options) as watch:
            if not is_warm:
                compiled = self.compiled(model, how, backend)
            for step in range(steps):
                values = [compiled(torch.randn(4 if rows == "batch" or step < 2 else 6, 8)).square().mean() for _ in range(micro)]
                for value in values:
                    value.backward()
                optimizer.step()
                watch.step(value)
                optimizer.zero_grad()
                losses.append(value.item())
                graphs.append(dynamo.utils.counters["stats"]["unique_graphs"])
        compiled(torch.randn(4 if rows == "batch" else 6, 8)).sum().backward()
        graphs.append(dynamo.utils.counters["stats"]["unique_graphs"])
        return path, losses, graphs

    def check_rows(self, tables, wanted):
        self.assertEqual(tables.keys(), wanted.keys())
        for step, rows in wanted.items():
            missing, more = ([each for each in ours if each not in theirs] for ours, theirs in ((rows, tables[step]), (tables[step], rows)))
            if missing or more or len(rows) != len(tables[step]):  # assertEqual takes minutes to show the difference
                self.fail(f"step {step}: missing {missing[:5]}, more {more[:5]}")

    def check_same(self, kind=None, how="whole", backend="aot_eager", graphs=None, **options):
        key = kind, *options.items()
        if key not in self.eager:
            folder, losses, _ = self.run_job(kind, "bare", **options)
            self.eager[key] = losses, rows_of(folder), calls_of(folder)
        path, losses, counts = self.run_job(kind, how, backend, compiled="graph", **options)
        self.assertEqual(losses, self.eager[key][0])
        self.check_rows(rows_of(path), self.eager[key][1])
        self.assertEqual(calls_of(path), self.eager[key][2])
        self.assertFalse(self.heard)
        if graphs is not None:
            self.assertEqual(counts, graphs)

    def test_what_is_compiled_inside_of_the_watch_has_rows_from_the_first_step_on(self):
        wanted = rows_of(self.run_job(how="bare")[0])
        for how in ("whole", "inside"):
            with self.subTest(how):
                self.check_rows(rows_of(self.run_job(how=how)[0]), wanted)

    def test_however_it_was_compiled(self):
        for how in ("whole", "method", "inside", "function"):
            with self.subTest(how):
                # A graph of the measured steps, and one of the others, which goes on behind the watch.
                self.check_same(how=how, graphs=[1, 2, 2, 2, 2])

    def test_a_graph_that_was_there_before(self):
        for how in ("whole", "function"):
            with self.subTest(how):
                self.check_same(how=how, is_warm=True, graphs=[2, 2, 2, 2, 2])

    def test_a_backend_that_runs_the_graph_itself(self):
        self.check_same(backend="eager", graphs=[1, 2, 2, 2, 2])

    def test_breaks_of_the_graph(self):
        self.check_same(Breaks, graphs=[2, 4, 4, 4, 4])

    def test_blocks_of_one_class(self):
        """Each has rows of its own name, also in the backward."""
        for micro in (1, 2):
            self.check_same(Blocks, "blocks", micro=micro)

    def test_a_teacher_of_the_same_class(self):
        """It is not watched, and runs first."""
        tables = []
        for options in ({}, {"compiled": "graph"}):
            for kind in (Model, lambda: nn.Sequential(nn.Linear(8, 8), nn.ReLU())):
                dynamo.reset()
                torch.manual_seed(1)
                model, teacher = kind(), kind()
                first, second = (torch.compile(each, backend="eager") if options else each for each in (teacher, model))
                self.runs += 1
                path = f"{self.folder}/{self.runs}"
                with tensorstat.watch(model, path=path, **options) as watch:
                    for _ in range(2):
                        x = torch.ones(4, 8)
                        (first(x).detach() - second(x)).sum().backward()
                        watch.step()
                tables.append(rows_of(path))
        for compiled, eager in zip(tables[2:], tables):
            self.check_rows(compiled, eager)

    def test_lines_and_modules_that_change(self):
        """The graph of a step may be called from another line in the next, and a module be exchanged between the steps."""
        folders = []
        for options in ({}, {"compiled": "graph"}):
            dynamo.reset()
            torch.manual_seed(1)
            model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 2))
            called = torch.compile(model, backend="aot_eager") if options else model
            callers = (lambda x: called(x),
                       lambda x: called(x))
            folders.append(f"{self.folder}/{len(folders)}")
            with tensorstat.watch(model, path=folders[-1], **options) as watch:
                for step in range(5):
                    callers[step % 2](torch.ones(4, 8)).sum().backward()
                    watch.step()
                    if step == 1:
                        model[2] = None  # so that the next may have its id
                        gc.collect()
                        model[2] = nn.Linear(8, 2)
        eager, compiled = folders
        self.check_rows(rows_of(compiled), rows_of(eager))
        for kind in ("code", "mode"):
            self.assertEqual(lines_of(compiled, kind), lines_of(eager, kind))

    def test_another_shape(self):
        self.check_same(rows="change", graphs=[1, 2, 3, 4, 4])

    def test_several_forwards_before_their_backwards(self):
        self.check_same(micro=3)

    def test_nothing_of_a_watch_is_left(self):
        limit = _graph.LIMIT._name()
        before = getattr(dynamo.config, limit)
        model = Model()
        model(torch.ones(1, 8))
        compiled = torch.compile(model, backend="eager", fullgraph=True)
        with tensorstat.watch(model, path=self.folder, compiled="graph") as watch:
            compiled(torch.ones(2, 8)).sum().backward()
            watch.step()
            self.assertEqual(getattr(dynamo.config, limit), 2 * before)
            number = watch._graph.tracer.number
            entries = _graph.entries_of(number)
            self.assertTrue(entries)
        self.assertFalse(_graph.entries_of(number))
        self.assertEqual({type(each.guard_manager).__name__ for each in entries}, {"DeletedGuardManagerWrapper"})
        self.assertEqual(getattr(dynamo.config, limit), before)
        self.assertFalse(torch.nn.modules.module._global_forward_hooks)
        self.assertEqual(dynamo.eval_frame._stance.stance, "default")
        self.assertIsNone(dynamo.eval_frame._stance.backend)

    def test_more_shapes_than_dynamo_compiles(self):
        """Dynamo gives a function up after so many graphs: it does not count those of the watch."""
        torch.manual_seed(1)
        dynamo.reset()
        model, graphs = Model(), []

        def backend(graph, _):
            graphs.append(1)
            return graph.forward
        compiled = torch.compile(model, backend=backend, dynamic=False)
        count = getattr(dynamo.config, _graph.LIMIT._name())
        with tensorstat.watch(model, path=self.folder, every=2, compiled="graph") as watch:
            for step in range(2 * count):
                compiled(torch.randn(2 + step // 2, 8)).sum().backward()
                watch.step()
        self.assertEqual(len(graphs), 2 * count)
        self.assertEqual({len(each) for each in rows_of(self.folder).values()}, {len(rows_of(self.folder)["0", "2"]), len(rows_of(self.folder)["0", "0"])})

    def test_the_module_and_the_line_of_a_fault(self):
        path, *_ = self.run_job(Root, compiled="graph")
        eager, *_ = self.run_job(Root, "bare")
        verdict, wanted = (tensorstat.origin(each)["verdict"] for each in (path, eager))
        self.assertEqual(wanted["operation"], "sqrt")
        for key in ("kind", "op_name", "iteration", "operation", "file", "line", "sentence"):
            self.assertEqual(verdict[key], wanted[key], key)

    def fails(self, kind, backend, words):
        bare, wanted, _ = self.run_job(kind, "bare")
        self.heard.clear()
        path, losses, _ = self.run_job(kind, "whole", backend, compiled="graph")
        self.assertEqual(losses, wanted)
        self.check_rows({"2": rows_of(path)["0", "2"]}, {"2": rows_of(bare)["0", "2"]})
        self.assertTrue(rows_of(path)["0", "0"] != rows_of(bare)["0", "0"])
        self.assertEqual(len([each for each in self.heard if each.startswith("from now on steps that are measured run without")]), 1)
        self.assertIn(words, str([each["why"] for each in lines_of(path, "not_seen")]))

    def test_a_backend_that_refuses_the_marks(self):
        def backend(graph, _):
            if any(each.target is _graph.observe for each in graph.graph.nodes):
                raise ValueError("an unknown function")
            return graph.forward
        self.fails(Model, backend, "an unknown function")

    def test_a_checkpoint(self):
        self.fails(Checkpointed, "eager", "checkpoint")

    def test_a_word_that_is_none(self):
        with self.assertRaises(ValueError):
            tensorstat.watch(Model(), path=self.folder, compiled="whole")


if __name__ == "__main__":
    torch and torch.set_num_threads(1)
    unittest.main()
