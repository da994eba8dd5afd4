"""Watch.check() tells a step that is faulty before the optimizer takes it, in measured steps and in others, alike on all ranks; a
step that it skips leaves no trace. Skipped without torch (Debian's python3-torch)."""
import logging
import math
import os
import subprocess
import sys
import tempfile
import unittest
import warnings

import tensorstat

try:
    import torch
except ImportError:
    torch = None
sys.path.insert(0, os.path.dirname(__file__))
import gloo_ranks
import same_verdict

BAD = (3, 4, 9)


def job():
    torch.manual_seed(5)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))
    return model, torch.optim.AdamW(model.parameters(), 1e-2, weight_decay=0.1), torch.randn(12, 6, 4)


def all_of(model, optimizer):
    states = [value for each in model.parameters() for _, value in sorted(optimizer.state[each].items())]
    return [torch.as_tensor(each).clone() for each in (*model.parameters(), *states)]


@unittest.skipIf(torch is None, "torch is not installed")
class Check(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = os.path.join(self.folder.name, "run")

    def watch(self, model, **options):
        made = tensorstat.watch(model, path=self.path, exist="replace", **options)
        self.addCleanup(made.close)
        return made

    def expected(self):
        """Trained without the bad batches, and without a watch."""
        model, optimizer, batches = job()
        for step, batch in enumerate(batches):
            if step not in BAD:
                optimizer.zero_grad()
                model(batch).square().mean().backward()
                optimizer.step()
        return all_of(model, optimizer)

    def test_a_skipped_step_leaves_no_trace(self):
        expected = self.expected()
        for options, ends in (({}, None), ({"every": 4, "where": "2"}, None), ({"gradients": False, "level": "op"}, None),
                              ({}, "close")):
            with self.subTest(options=options, ends=ends):
                model, optimizer, batches = job()
                w = self.watch(model, **options)
                if ends:
                    getattr(w, ends)()
                told = []
                for step, batch in enumerate(batches):
                    optimizer.zero_grad()
                    loss = model(batch * math.nan if step in BAD else batch).square().mean()
                    loss.backward()
                    result = w.check(loss if step % 2 else None, then="skip")
                    told += [step] if result else []
                    self.assertEqual((result.skipped, result.rank), (step in BAD, 0 if step in BAD else None))
                    self.assertEqual(result.fault is not None, step in BAD)
                    optimizer.step()
                    w.step(loss)
                self.assertEqual(told, list(BAD))
                w.close()
                now = all_of(model, optimizer)
                self.assertTrue(all(torch.equal(a, b) for a, b in zip(now, expected, strict=True)))

    def test_it_changes_no_row_and_no_word(self):
        rows, words = [], []
        handler = logging.Handler()
        handler.emit = lambda record: words.append(record.getMessage())
        logging.getLogger("tensorstat").addHandler(handler)
        self.addCleanup(logging.getLogger("tensorstat").removeHandler, handler)
        for checks in (False, True):
            model, optimizer, batches = job()
            with self.watch(model) as w:
                for step, batch in enumerate(batches):
                    optimizer.zero_grad()
                    loss = model(batch * math.nan if step in BAD else batch).square().mean()
                    loss.backward()
                    if not (w.check(loss).faulty if checks else step in BAD):
                        optimizer.step()
                    w.step(loss)
            table = tensorstat.read(self.path)
            rows.append([[value for key, value in row.items() if "time" not in key.lower()] for row in table])
        self.assertGreater(len(rows[0]), 12 * 8)
        self.assertEqual(repr(rows[0]), repr(rows[1]))
        self.assertEqual(len(words), 3)  # check() says its first, and each watch where the NaN came from when it closes
        self.assertEqual(sum("later ones are not logged" in each for each in words), 1)

    def test_a_skip_is_no_zeroing_before_step(self):
        model, optimizer, batches = job()
        with self.assertLogs("tensorstat", "WARNING") as log, self.watch(model) as w:
            loss = model(batches[0] * math.nan).sum()
            loss.backward()
            self.assertTrue(w.check(loss, then="skip"))
            optimizer.step()
            w.step(loss)
        self.assertFalse(any("zeroed" in each for each in log.output), log.output)
        self.assertTrue(any("step 0 is skipped: first NaN: iteration 0, came in with the data" in each for each in log.output))
        self.assertEqual(tensorstat.origin(self.path)["verdict"]["kind"], "entered")

    def test_it_says_where_the_fault_began(self):
        class Log(torch.nn.Module):
            def forward(self, x):
                return torch.log(x)  # the line

        torch.manual_seed(1)
        model = torch.nn.Sequential(torch.nn.Linear(4, 4), Log(), torch.nn.Linear(4, 1))
        w = self.watch(model)

        def step(batch, of_loss=1.0, of_gradient=0.0):
            model.zero_grad()
            loss = model(batch).abs().mean() * of_loss
            loss.backward()
            model[2].weight.grad[0, 1] += of_gradient
            result = w.check(loss)
            w.step(loss)
            return result.fault

        with torch.no_grad():
            model[0].weight.zero_()
            model[0].bias.fill_(1)
        clean = torch.randn(3, 4)
        self.assertIsNone(step(clean))
        changed = step(clean, of_gradient=math.inf)
        self.assertEqual((changed.kind, changed.phase, changed.op_name, changed.iteration), ("Inf", "gradient", "2.weight", 1))
        with torch.no_grad():
            model[0].bias.fill_(-1)
        forward = step(clean)
        self.assertEqual((forward.kind, forward.phase, forward.op_name), ("NaN", "forward", "1/forward"))
        self.assertTrue(forward.file.endswith("check_test.py"))  # of the call: no operation is sought behind the first fault
        with torch.no_grad():
            model[0].bias.fill_(1)
        told = step(clean, of_loss=math.nan)
        self.assertEqual((told.kind, told.phase, told.op_name, told.iteration), ("NaN", "loss", "loss", 3))
        self.assertIsNone(step(clean))

    def test_a_fault_of_backward_that_is_skipped_is_told(self):
        class Root(torch.nn.Module):
            def forward(self, x):
                return torch.sqrt(x * self.factor) * x

        def train(then, scaler=None):
            torch.manual_seed(1)
            model = torch.nn.Sequential(torch.nn.Linear(4, 4), Root(), torch.nn.Linear(4, 1))
            optimizer = torch.optim.SGD(model.parameters(), 0.01)
            with self.watch(model) as w:
                for step in range(3):
                    optimizer.zero_grad()
                    model[0].weight.data.abs_()
                    model[0].bias.data.fill_(1)
                    model[1].factor = step != 1
                    loss = model(torch.ones(2, 4)).sum()
                    loss.backward()
                    result = w.check(loss, then=then)
                    if not result or then is not None:
                        optimizer.step()
                    w.step(loss)
            del scaler
            return w.first_fault, tensorstat.origin(self.path)

        for then in (None, "skip"):
            with self.subTest(then=then):
                fault, origin = train(then)
                verdict = origin["verdict"]
                self.assertEqual((verdict["kind"], verdict["phase"], verdict["op_name"], verdict["iteration"]),
                                 ("produced", "backward", "1/backward", 1), verdict)
                self.assertIn("check() of the watch told it", str(verdict["details"]))
                self.assertEqual((fault.phase, fault.op_name, fault.iteration), ("backward", "1/backward", 1))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # without CUDA
            scaler = torch.cuda.amp.GradScaler()
        scaler._enabled = True
        fault, origin = train(None, scaler)
        self.assertEqual((fault, origin["verdict"]["kind"]), (None, "none"), "a scaler may have skipped it")
        self.assertIn("1 step was skipped", str(origin["notes"]))
        self.assertEqual(train("skip", scaler)[1]["verdict"]["kind"], "produced")
        scaler._enabled = False
        self.assertEqual(train(None, scaler)[1]["verdict"]["kind"], "produced")

    def test_a_mask_that_every_step_has_is_not_named(self):
        class Masked(torch.nn.Module):
            def forward(self, x):
                return x.masked_fill(torch.arange(4) == 3, -math.inf)

        torch.manual_seed(1)
        model = torch.nn.Sequential(torch.nn.Linear(4, 4), Masked())
        w = self.watch(model)
        for target, of_loss, phase in ((0, 1, None), (1, math.nan, "loss"), (2, 1, None), (0, math.inf, "loss"), (3, 1, "loss")):
            model.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(torch.randn(2, 4)), torch.tensor([target, 0])) * of_loss
            loss.backward()
            result = w.check(loss)
            w.step(loss)
            self.assertEqual(result.fault and result.fault.phase, phase, str(result))
        self.assertEqual((w.first_fault.phase, w.first_fault.iteration), ("loss", 1))
        w.close()
        self.assertEqual(tensorstat.origin(self.path)["verdict"]["kind"], "loss")

    def test_what_is_finite_is_clean(self):
        model = torch.nn.Linear(4, 4)
        w = self.watch(model, every=2)
        for each in (3e38, -3e38):  # their sum is Inf
            model.weight.grad = torch.full((4, 4), each)
            self.assertFalse(w.check(torch.tensor(3e38)))
            self.assertFalse(w.check({"a": 1.0, "b": torch.tensor([3e38, 3e38]), "c": None}))
            self.assertTrue(w.check({"a": 1.0, "b": torch.tensor([3e38, math.inf])}))
            self.assertTrue(w.check(math.nan))
            w.step()
        half = torch.nn.Linear(300, 300).half()
        half.weight.grad = torch.full((300, 300), 60_000.0).half()
        self.assertFalse(self.watch(half).check())
        half.weight.grad[299, 299] = math.inf
        self.assertEqual(self.watch(half).check().fault.kind, "Inf")
        embedding = torch.nn.Embedding(8, 2, sparse=True)
        watched = self.watch(embedding)
        embedding(torch.tensor([1, 1, 3])).sum().backward()
        self.assertFalse(watched.check())
        embedding.weight.grad = embedding.weight.grad * math.nan
        self.assertTrue(watched.check())

    def test_before_backward_the_results_of_the_model_count(self):
        model = torch.nn.Linear(4, 4)
        w = self.watch(model)
        model(torch.ones(1, 4))
        self.assertFalse(w.check())
        w.step()
        model(torch.full((1, 4), math.nan))
        self.assertEqual(w.check().fault.phase, "input")
        with self.assertRaisesRegex(ValueError, "check\\(\\) takes"):
            w.check(then="stop")

    def test_the_example(self):
        example = os.path.join(os.path.dirname(__file__), "../../stats/examples/check.py")
        done = subprocess.run([sys.executable, example, self.path], capture_output=True, text=True)
        told = [f"step {step} is faulty: first NaN: iteration {step}, came in with the data, Sequential input 0" for step in (7, 12)]
        self.assertEqual((done.returncode, done.stdout.splitlines()[:2]), (0, told), done.stderr)
        self.assertRegex(done.stdout.splitlines()[2], r"^the loss is 0\.\d+$")

    def test_a_skipped_gradient_that_was_changed_behind_backward_is_in_the_rows(self):
        model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 1))
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        w = self.watch(model)
        for step in range(4):
            loss = model(torch.randn(3, 4)).square().mean()
            loss.backward()
            if step == 2:
                model[0].weight.grad[0, 1] = math.nan
            self.assertEqual(bool(w.check(loss, then="skip")), step == 2)
            optimizer.step()
            w.step(loss)
            optimizer.zero_grad()
        w.close()
        verdict = same_verdict.check(self, self.path, w.first_fault)["verdict"]
        self.assertEqual((verdict["kind"], verdict["op_name"], verdict["iteration"]), ("gradient", "0.weight", 2), verdict)
        self.assertIn("the step was skipped", "\n".join(verdict["details"]))

    def test_what_cannot_be_judged_hides_no_other_fault(self):
        half = torch.nn.Parameter(torch.ones(3, dtype=torch.complex32))
        for losses, odd in (({"name": "n/a"}, None), ({"list": [1.0]}, None), (10 ** 400, None), (None, half)):
            model = torch.nn.Linear(4, 4)
            model.odd = odd
            w = self.watch(model)
            model(torch.randn(3, 4)).sum().backward()
            if odd is not None:
                odd.grad = torch.ones(3, dtype=torch.complex32)
            self.assertFalse(w.check(losses), losses)
            model.weight.grad[0, 1] = math.nan
            self.assertTrue(w.check(losses), losses)
            if odd is not None:
                model.weight.grad.zero_()
                odd.grad[2] = complex(0, math.inf)
                self.assertEqual(w.check(losses).fault.op_name, "odd")
            w.step(losses)
            w.close()
            with open(os.path.join(self.path, "rank_0/model/0/0/statistic.csv")) as file:
                self.assertIn("Gradient,weight,", file.read())

    def test_ranks_decide_alike(self):
        gloo_ranks.run_ranks(self, 2, gloo_ranks.BEGIN + RANK, self.folder.name)


RANK = """
import math
torch.manual_seed(3)
model = torch.nn.Linear(4, 2)
ddp = torch.nn.parallel.DistributedDataParallel(model)
optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
with tensorstat.watch(ddp, path=folder, every=3) as w:
    for step in range(6):
        batch = torch.full((3, 4), float(rank + 1))
        with torch.no_grad() if step == 4 else torch.enable_grad():
            loss = ddp(batch * math.nan if step in (2, 3) and rank == 1 else batch).square().mean()
        if step != 4:
            loss.backward()
        else:  # the loss of one rank alone, and no gradient
            loss = loss * (math.nan if rank == 1 else 1)
        before = [each.clone() for each in model.parameters()]
        result = w.check(loss, then="skip")
        optimizer.step()
        is_bad = step in (2, 3, 4)
        assert (result.faulty, result.skipped, result.rank) == (is_bad, is_bad, 1 if is_bad else None), (step, result)
        assert all(map(torch.equal, before, model.parameters())) == is_bad, step
        if step == 3:
            assert result.fault.phase == ("input" if rank == 1 else "backward"), result
        w.step(loss)
        optimizer.zero_grad()
dist.destroy_process_group()
"""


if __name__ == "__main__":
    unittest.main()
