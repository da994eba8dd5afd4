"""A watch names the operation between the model and backward that made a faulty loss, or a faulty gradient of a finite one, with its
line; log, check() and origin say the same; the training and the caller's modes are as without it. Skipped where there is no torch
(Debian's python3-torch)."""
import logging
import os
import tempfile
import unittest

import tensorstat

try:
    import torch
    import torch.nn.functional as F
    from torch.overrides import TorchFunctionMode, _get_current_function_mode_stack
except ImportError:
    torch = None


def line_of(mark):
    with open(__file__) as file:
        return next(number for number, line in enumerate(file, 1) if line.rstrip().endswith(f"# {mark}"))


def log_of_zero(x, y):
    p = torch.softmax(x, -1).gather(1, y[:, None])
    return torch.log(p - 2)  # LOG


def root_of_zero(x, y):
    return torch.sqrt((x * 0).sum(-1))  # SQRT


def nothing_to_learn(x, y):
    return F.cross_entropy(x, torch.full_like(y, -100))  # TARGETS


def nothing_to_learn_by_hand(x, y):
    y = torch.full_like(y, -100)
    is_kept = y != -100  # KEPT
    return (F.cross_entropy(x, y, reduction="none") * is_kept).sum() / is_kept.sum()


def bad_targets(x, y):
    targets = F.one_hot(y, 3).float()
    targets[0, 0] = torch.nan
    return F.mse_loss(x, targets)  # MSE


def beside_metrics(x, y):
    shares = (x.argmax(-1) == y).float() / torch.zeros(5)  # is NaN, and no part of the loss
    assert not bool(shares.isfinite().all())
    big = torch.exp(x * 0 + 1000)  # EXP
    return big - big + x.sum(-1, keepdim=True)


def times_mask(x, y):
    p = x.masked_fill(torch.arange(3) == 2, -torch.inf).log_softmax(-1)
    return p.exp() * p  # MASK


def in_place(x, y):
    x = x * 1
    x.sub_(x).div_(torch.zeros(3))  # DIV
    return x


def clean(x, y):
    return F.cross_entropy(x.masked_fill(torch.arange(3) == 2, -torch.inf), y * 0)


@unittest.skipIf(torch is None, "torch is not installed")
class LossLines(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = os.path.join(self.folder.name, "run")
        torch.manual_seed(2)
        self.renew()
        self.x, self.y = torch.randn(5, 4), torch.randint(0, 3, (5,))

    def renew(self):
        self.model = torch.nn.Sequential(torch.nn.Linear(4, 3))

    def watch(self, **options):
        made = tensorstat.watch(self.model, path=self.path, exist="replace", **options)
        self.addCleanup(made.close)
        return made

    def test_the_line_of_the_loss(self):
        for made, operation, mark, kind in ((log_of_zero, "log", "LOG", "NaN"), (root_of_zero, "SqrtBackward0", "SQRT", None),
                                            (nothing_to_learn, "cross_entropy", "TARGETS", "NaN"), (bad_targets, "mse_loss", "MSE", "NaN"),
                                            (beside_metrics, "exp", "EXP", "NaN"), (times_mask, "mul", "MASK", "NaN"),
                                            (in_place, "div", "DIV", "NaN")):
            for is_told in (True, False) if kind else (True,):
                with self.subTest(made=made.__name__, is_told=is_told), self.assertLogs("tensorstat") as log:
                    self.renew()
                    with self.watch() as w:
                        loss = made(self.model(self.x), self.y).mean()
                        checked = w.check(loss) if is_told and kind else None
                        loss.backward()
                        torch.optim.SGD(self.model.parameters(), 0.1).step()  # else the step is one that a scaler skipped
                        w.step(loss)
                    told, verdict = w.first_fault, tensorstat.origin(self.path)["verdict"]
                    expected = operation, line_of(mark)
                    self.assertEqual((verdict["kind"], verdict["operation"], verdict["line"]), ("loss", *expected), verdict)
                    self.assertEqual((told.op_name, told.operation, told.line), ("loss", *expected))
                    self.assertIn(f"loss_lines_test.py:{expected[1]}", log.output[-1])
                    if checked is not None:
                        self.assertEqual((checked.fault.operation, checked.fault.line), expected)
        self.renew()
        self.assertIn("-100", self.why(nothing_to_learn))
        self.assertIn(f"the int64[5] that ne at loss_lines_test.py:{line_of('KEPT')} was given is all -100", self.why(nothing_to_learn_by_hand))
        self.assertIn("such as the targets", self.why(bad_targets))
        self.assertIn("the Inf that it was given", self.why(times_mask))

    def why(self, made):
        with self.watch() as w:
            w.step(made(self.model(self.x), self.y).mean())
        return " ".join(tensorstat.origin(self.path)["verdict"]["details"])

    def test_a_clean_loss_is_none(self):
        with self.watch() as w:
            for _ in range(3):
                loss = clean(self.model(self.x), self.y)
                loss.backward()
                w.step(loss)
        self.assertIsNone(w.first_fault)
        self.assertEqual(tensorstat.origin(self.path)["verdict"]["kind"], "none")

    def test_the_second_call_of_a_step(self):
        with self.watch() as w:
            for made in (clean, log_of_zero):
                loss = made(self.model(self.x), self.y).mean()
                loss.backward()
            w.step(loss)
        self.assertEqual(tensorstat.origin(self.path)["verdict"]["line"], line_of("LOG"))

    def test_no_mode_is_left_and_none_is_disturbed(self):
        class Counting(TorchFunctionMode):
            def __init__(self):
                super().__init__()
                self.names = []

            def __torch_function__(self, func, types, args=(), kwargs=None):
                self.names.append(getattr(func, "__name__", ""))
                return func(*args, **(kwargs or {}))

        self.x.requires_grad_()
        for is_watched in (False, True):
            w = self.watch() if is_watched else None
            counted = []
            with Counting() as around_all:
                loss = self.model(self.x).sum()
            self.assertEqual(len(_get_current_function_mode_stack()), 0)  # it was there first
            loss.backward()
            out = self.model(self.x)
            before = len(_get_current_function_mode_stack())
            self.assertEqual(before, int(is_watched))
            with Counting() as inside:
                loss = (out * 2).sum()
            self.assertEqual(len(_get_current_function_mode_stack()), before)
            with Counting():
                loss.backward()  # with another mode in front
            if w:
                w.step(loss)
            self.assertEqual(len(_get_current_function_mode_stack()), 0)
            for _ in range(2):  # what torch.autograd.backward leaves goes with the step, and does not come again
                torch.autograd.backward(self.model(self.x).sum())
                if w:
                    w.step()
                self.assertEqual(len(_get_current_function_mode_stack()), 0)
            with self.assertRaises(RuntimeError):
                (self.model(self.x) @ torch.ones(7, 7)).sum()
            if w:
                w.close()
            self.assertEqual(len(_get_current_function_mode_stack()), 0)
            counted.append((around_all.names.count("sum"), inside.names))
            self.assertEqual(counted, [(1, ["mul", "sum"])])

    def test_another_model_in_the_loss_rounds_as_ever(self):
        layer = torch.nn.TransformerEncoderLayer(4, 2, 8, batch_first=True, dropout=0.0)
        teacher = torch.nn.TransformerEncoder(layer, 2).eval()
        seen = []
        teacher.layers[0].register_forward_hook(lambda *_: seen.append(len(_get_current_function_mode_stack())))

        def losses():
            results = []
            for _ in range(3):
                out = self.model(self.x)
                with torch.no_grad():
                    target = teacher(self.x[None])[0, :, :3]
                loss = (out - target).square().mean()
                results.append((target, loss.detach()))
                yield loss
                loss.backward()
            self.assertTrue(results)
            kept.append(results)

        kept = []
        for _ in losses():
            pass
        with self.watch() as w:
            for loss in losses():
                self.assertEqual(len(_get_current_function_mode_stack()), 1)  # again, behind the teacher
                w.check(loss)
            w.step()
        self.assertFalse(any(seen), seen)
        for bare, watched in zip(*kept):
            self.assertTrue(all(map(torch.equal, bare, watched)))

    def test_a_long_loss_is_left_alone(self):
        with self.watch() as w:
            for step in range(2):
                loss = self.model(self.x).sum()
                for _ in range(500):
                    loss = loss + 1
                self.assertEqual(len(_get_current_function_mode_stack()), 1 - step)
                loss.backward()
                w.step(loss)
        self.assertIsNone(w.first_fault)


if __name__ == "__main__":
    logging.getLogger("tensorstat").propagate = False
    unittest.main()
