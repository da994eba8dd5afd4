"""watch() with msprobe's config: a scope of modules is what runs from the beginning of the first to the end of the last, in forward
and in backward; several models are watched by their numbers or keys; a config that selects nothing says so. Skipped where there is no
torch."""
import json
import logging
import os
import tempfile
import threading
import unittest

import tensorstat

try:
    import torch
except ImportError:
    torch = None


@unittest.skipUnless(torch, "there is no torch")
class MsprobeScope(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.path = scratch.name

    def model(self):
        class Block(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.l, self.r = torch.nn.Linear(3, 3), torch.nn.Linear(3, 3)

            def forward(self, x):
                return self.r(self.l(x))

        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.a, self.b = Block(), Block()

            def forward(self, x):
                return self.b(self.a(x))

        return Net()

    def config(self, task=None, **common):
        return json.dumps({"task": "statistics", "dump_path": self.path, "level": "L0", "statistics": task or {}, **common})

    def dumped(self, models, config, run):
        """The calls of step 0, in order: "a.l" of Module.a.l.Linear.forward.0, "-a.l" of its backward."""
        with tensorstat.watch(models, config=config) as watch:
            run().sum().backward()
            watch.step()
        file = os.path.join(self.path, "step0/rank0/dump.json")
        if not os.path.exists(file):
            return []
        with open(file, encoding="utf-8") as text:
            keys = list(json.load(text)["data"])
        calls = [key.split(".")[1:] for key in keys if "parameters_grad" not in key]
        return ["-" * (call[-2] == "backward") + ".".join(call[:-3]) for call in calls]

    def test_a_scope_is_from_a_beginning_to_an_end(self):
        for scope, calls in {
                ("a.Block.forward", "a.Block.forward"): ["a", "a.l", "a.r"],
                ("a.r.Linear.forward", "b.Block.forward"): ["a.r", "a", "b", "b.l", "b.r"],
                ("b.l.Linear.forward", "b.l.Linear.forward"): ["b.l"],
                ("b.Block.forward", "b.Block.backward"): ["b", "b.l", "b.r", "-b.r", "-b.l", "-b"],
                ("b.Block.backward", "b.Block.backward"): ["-b.r", "-b.l", "-b"],
                ("b.l.Linear.backward", "a.r.Linear.backward"): ["-b.l", "-b", "-a.r"],
        }.items():
            for extra_info in (True, False):
                with self.subTest(scope=scope, extra_info=extra_info):
                    model = self.model()
                    config = self.config({"scope": [f"Module.{name}.0" for name in scope]}, extra_info=extra_info)
                    dump = self.dumped(model, config, lambda model=model: model(torch.ones(2, 3, requires_grad=True)))
                    self.assertEqual(sorted(dump), sorted(calls))

    def test_several_models(self):
        first, second = self.model().a, torch.nn.Sequential(torch.nn.Linear(3, 2))
        for models, names in (([first, second], ("0", "1")), ((first, second), ("0", "1")), ({"x": first, "y": second}, ("x", "y"))):
            with self.subTest(models=type(models).__name__):
                dump = self.dumped(models, self.config(), lambda: second(first(torch.ones(2, 3, requires_grad=True))))
                calls = [f"{names[0]}.l", f"{names[0]}.r", f"{names[1]}.0"]
                self.assertEqual(sorted(dump), sorted(calls + ["-" + each for each in calls]))

    def test_gradients_of_parameters_go_by_their_module(self):
        model = self.model()
        with tensorstat.watch(model, config=self.config({"data_mode": ["input"], "list": ["b.l"]})) as watch:
            model(torch.ones(2, 3)).sum().backward()
            watch.step()
        with open(os.path.join(self.path, "step0/rank0/dump.json"), encoding="utf-8") as text:
            data = json.load(text)["data"]
        self.assertEqual(sorted(key for key in data if "parameters_grad" in key), ["Module.b.l.Linear.parameters_grad.0"])
        gradients = data["Module.b.l.Linear.parameters_grad.0"]
        self.assertEqual(sorted(gradients), ["bias", "weight"])
        self.assertEqual(gradients["bias"][0]["Max"], 2 * model.b.r.weight.sum(0).max().item())

    def test_an_exception_and_threads_leave_calls_inside_of_their_own(self):
        class Fails(torch.nn.Linear):
            def forward(self, x):
                if not x.any():
                    raise ZeroDivisionError
                return super().forward(x)

        class Waits(torch.nn.Linear):
            def forward(self, x):
                if self.before is not None:
                    self.inside.set()
                    self.before.wait(60)
                return super().forward(x)

        inside, left = threading.Event(), threading.Event()
        model = torch.nn.ModuleDict({"a": Fails(3, 3), "b": Waits(3, 3), "c": Waits(3, 3)})
        model["b"].before, model["b"].inside = inside, threading.Event()  # b ends inside of c
        model["c"].before, model["c"].inside = left, inside
        with tensorstat.watch(model, config=self.config()) as watch:
            with self.assertRaises(ZeroDivisionError):
                model["a"](torch.zeros(2, 3))
            x = model["a"](torch.ones(2, 3))
            first = threading.Thread(target=lambda: (model["b"](x).sum().backward(retain_graph=True), left.set()))
            first.start()
            model["b"].inside.wait(60)
            model["c"](x).sum().backward()
            first.join()
            watch.step()
        with open(os.path.join(self.path, "step0/rank0/construct.json"), encoding="utf-8") as text:
            self.assertEqual(set(json.load(text).values()), {None})
        with open(os.path.join(self.path, "step0/rank0/dump.json"), encoding="utf-8") as text:
            data = json.load(text)["data"]
        for name, kind, number in (("a", "Fails", 1), ("b", "Waits", 0), ("c", "Waits", 0)):
            self.assertIn("output", data[f"Module.{name}.{kind}.forward.{number}"], name)
            self.assertIn(f"Module.{name}.{kind}.backward.{number}", data)

    def test_what_selects_nothing_is_said_once(self):
        for config, words in ((self.config(step=[100]), "of step [100] nothing came; steps 0 to 2 did"),
                              (self.config(rank=[4, 5]), "of rank [4, 5] nothing came; rank 0 did")):
            model = self.model()
            with self.assertLogs("tensorstat", logging.WARNING) as log:
                with tensorstat.watch(model, config=config) as watch:
                    for _ in range(3):
                        model(torch.ones(2, 3)).sum().backward()
                        watch.step()
            self.assertEqual([each for each in log.output if words in each].__len__(), 1, log.output)


if __name__ == "__main__":
    unittest.main()
