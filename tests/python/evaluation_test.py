"""Evaluation between the steps of a training has rows of its own: the training's rows are those of a training without it, rules about
the past do not mix the two, and a fault of evaluation data is told as one. A training in eval mode is a training."""
import csv
import logging
import os
import sys
import tempfile
import unittest

import tensorstat

try:
    import torch
except ImportError:
    print("torch is not installed: nothing is tested here", file=sys.stderr)
    sys.exit(0)

NAN = float("nan")


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.drop, self.head = torch.nn.Linear(4, 8), torch.nn.Dropout(0.1), torch.nn.Linear(8, 1)

    def forward(self, x):
        return self.head(self.drop(torch.relu(self.body(x))))


def train(path, steps=4, evaluate=None, spoil=None, **options):
    torch.manual_seed(3)
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    batches = [torch.randn(5, 4) for _ in range(steps)]

    def evaluation(step):
        state = torch.get_rng_state()
        model.eval()
        evaluate(step, model)
        model.train()
        torch.set_rng_state(state)
    with tensorstat.watch(model, path=path, **options) as w:
        for step, batch in enumerate(batches):
            if spoil is not None:
                spoil(step, model)
            value = model(batch).square().mean()
            value.backward()
            optimizer.step()
            w.step(value)
            optimizer.zero_grad()
            if evaluate is not None:
                evaluation(step)
    return w


def without_gradients(data):
    def evaluate(step, model):
        with torch.no_grad():
            model(data(step))
    return evaluate


def rows_of(path, graph, step):
    with open(f"{path}/rank_0/model/{graph}/{step}/statistic.csv", newline="") as file:
        return [[row[each] for each in ("Op Type", "Op Name", "IO", "Slot", "Shape", "L2Norm Value")] for row in csv.DictReader(file)]


class Evaluation(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder, self.messages = folder.name, []
        handler = logging.Handler()
        handler.emit = lambda record: self.messages.append(record.getMessage())
        logger = logging.getLogger("tensorstat")
        logger.addHandler(handler)
        logger.propagate = False
        self.addCleanup(logger.removeHandler, handler)

    def path(self, name):
        return os.path.join(self.folder, name)

    def test_the_rows_of_the_training_are_those_without_it(self):
        train(self.path("bare"))
        for name, more in (("no_grad", {"evaluate": without_gradients(lambda step: torch.ones(5, 4))}),
                           ("with_grad", {"evaluate": lambda step, model: model(torch.ones(5, 4))})):
            with self.subTest(name):
                train(self.path(name), **more)
                self.assertEqual(sorted(os.listdir(self.path(f"{name}/rank_0/model/0"))), ["0", "1", "2", "3"])
                self.assertEqual(sorted(os.listdir(self.path(f"{name}/rank_0/model/1"))), ["1", "2", "3", "4"])
                for step in range(4):
                    bare = [row for row in rows_of(self.path("bare"), 0, step) if row[0] != "Parameter" or row[2] == "output"]
                    with_it = [row for row in rows_of(self.path(name), 0, step) if row[0] != "Parameter" or row[2] == "output"]
                    self.assertEqual(bare, with_it)
                of_calls = {row[1] for row in rows_of(self.path(name), 1, 2) if row[0] != "Parameter"}
                self.assertEqual(of_calls, {"Net/eval", "body/eval", "drop/eval", "head/eval"})
                self.assertEqual(tensorstat.compare(self.path("bare"), self.path(name), first=True)["first"], [])
        self.assertEqual([each for each in self.messages if "was never called" not in each], [])

    def test_before_the_first_step(self):
        torch.manual_seed(3)
        model = Net()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for path, model in ((self.path("trained"), model), (self.path("infers"), Net())):
            with tensorstat.watch(model, path=path) as w:
                with torch.no_grad():
                    model.eval()(torch.ones(5, 4))
                model.train()(torch.ones(5, 4)).square().mean().backward()
                optimizer.step()
                w.step()
            names = {row[1] for row in rows_of(path, 0, 0) if row[1].startswith("Net/")}
            self.assertEqual(names, {"Net/forward", "Net/backward"})
            self.assertEqual(os.path.isdir(f"{path}/rank_0/model/1/0"), path.endswith("trained"))

    def test_a_fault_of_evaluation_is_told_as_one(self):
        def data(step):
            x = torch.ones(5, 4)
            x[0, 0] = NAN if step == 1 else 1
            return x
        w = train(self.path("run"), evaluate=without_gradients(data))
        verdict = tensorstat.origin(self.path("run"))["verdict"]
        self.assertEqual((verdict["kind"], verdict["iteration"], verdict["evaluation"]), ("entered", 2, True), verdict["sentence"])
        self.assertIn("evaluation before iteration 2", verdict["sentence"])
        self.assertEqual(str(w.first_fault), "first NaN: evaluation before iteration 2, came in with the data, Net input 0")

    def test_a_fault_of_the_training_comes_first(self):
        def spoil(step, model):
            if step == 2:
                model.head.weight.data[0, 0] = NAN
        w = train(self.path("run"), evaluate=without_gradients(lambda step: torch.full((5, 4), NAN if step == 2 else 1.0)), spoil=spoil)
        verdict = tensorstat.origin(self.path("run"))["verdict"]
        self.assertEqual((verdict["kind"], verdict["op_name"], verdict["iteration"]), ("parameter", "head.weight", 2), verdict["sentence"])
        self.assertNotIn("evaluation", verdict)
        self.assertEqual((w.first_fault.phase, w.first_fault.iteration), ("parameter", 2))

    def test_rules_do_not_mix_them(self):
        train(self.path("run"), steps=14, evaluate=without_gradients(lambda step: torch.ones(5, 4) * (1000 if step == 9 else 1)),
              alerts=["absmax > 20 * median(absmax, 5)"], keep=2, then=["warn"])
        fired = [each for each in self.messages if "median" in each]
        self.assertTrue(fired and all("/eval" in each for each in fired), self.messages)

    def test_a_training_in_eval_mode(self):
        # From the third step on the model is in eval mode, and goes on to train.
        def spoil(step, model):
            if step == 2:
                model.eval()
            if step == 3:
                model.head.weight.data[0, 0] = NAN
        train(self.path("run"), spoil=spoil)
        verdict = tensorstat.origin(self.path("run"))["verdict"]
        self.assertEqual((verdict["kind"], verdict["op_name"], verdict["iteration"]), ("parameter", "head.weight", 3), verdict["sentence"])

    def test_a_teacher_is_a_part_of_the_step(self):
        torch.manual_seed(3)
        teacher, student = Net().eval(), Net()
        for parameter in teacher.parameters():
            parameter.requires_grad_(False)
        with tensorstat.watch({"teacher": teacher, "student": student}, path=self.path("run")) as w:
            for step in range(2):
                x = torch.randn(5, 4)
                value = (student(x) - teacher(x * (NAN if step == 1 else 1))).square().mean()
                value.backward()
                w.step(value)
        names = {row[1] for row in rows_of(self.path("run"), 0, 0)}
        self.assertIn("teacher.body/forward", names)
        verdict = tensorstat.origin(self.path("run"))["verdict"]
        self.assertEqual((verdict["iteration"], verdict.get("evaluation")), (1, None), verdict["sentence"])


if __name__ == "__main__":
    unittest.main()
