"""A hook of the caller's that spoils an output or a gradient is named, with its line, by the log and by origin alike; one that only
looks is not. Skipped without torch (Debian's python3-torch)."""
import logging
import os
import tempfile
import unittest

import tensorstat

try:
    import torch
except ImportError:
    torch = None


def spoil_forward(module, given, out):
    return out * float("nan")


def spoil_in_place(module, given, out):
    out[0, 0] = float("nan")


def spoil_backward(module, given, gave):
    return tuple(each * float("nan") for each in given)


def spoil_before(module, given):
    return (given[0] * float("inf"),)


def spoil_gradient(gradient):
    return gradient * float("nan")


def only_looks(module, given, out):
    kept.append(float(out.abs().max()))


kept = []
if torch is not None:
    class Tap(torch.nn.Module):
        hook = None

        def forward(self, x):
            x = x * 2  # TAP
            if self.hook is not None:
                x.register_hook(self.hook)
            return x + 1


def line_of(text):
    with open(__file__) as file:
        return next(number for number, line in enumerate(file, 1) if text in line)


@unittest.skipIf(torch is None, "torch is not installed")
class UserHooks(unittest.TestCase):
    def run_with(self, put, **options):
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Tanh(), Tap(), torch.nn.Linear(4, 1))
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        with tempfile.TemporaryDirectory() as folder, tensorstat.watch(model, path=folder, **options) as w:
            for step in range(3):
                if step == 2:
                    put(model)
                loss = model(torch.randn(3, 4)).square().mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                w.step(loss)
            w.close()
            return w.first_fault, tensorstat.origin(folder)["verdict"]

    def test_the_hook_is_named(self):
        for put, module, hook in (
                (lambda m: m[1].register_forward_hook(spoil_forward), "1/forward", "spoil_forward"),
                (lambda m: m[0].register_forward_hook(spoil_in_place), "0/forward", "spoil_in_place"),
                (lambda m: m[3].register_forward_hook(spoil_forward), "3/forward", "spoil_forward"),
                (lambda m: m[2].register_forward_pre_hook(spoil_before), "2/forward", "spoil_before"),
                (lambda m: m[1].register_full_backward_hook(spoil_backward), "1/backward", "spoil_backward"),
                (lambda m: m[0].weight.register_hook(spoil_gradient), "0/backward", "spoil_gradient"),
                (lambda m: setattr(m[2], "hook", spoil_gradient), "2/backward", None)):
            with self.subTest(module=module, hook=hook):
                fault, verdict = self.run_with(put)
                operation = f"hook {hook}" if hook else "hook on what mul gave"
                line = line_of(f"def {hook}(" if hook else "# TAP")
                self.assertEqual((verdict["op_name"], verdict["operation"], verdict["line"], verdict["iteration"]),
                                 (module, operation, line, 2), verdict)
                self.assertEqual((fault.op_name, fault.operation, fault.line), (module, operation, line))

    def test_of_several_none_is_chosen(self):
        def put(model):
            for each in (0, 1):
                model[each].register_forward_hook(spoil_forward)
        _, verdict = self.run_with(put)
        self.assertIsNone(verdict["operation"])
        self.assertIn("one of 2 hooks", " ".join(verdict["details"]))

    def test_without_a_second_run_it_is_suspected(self):
        for options in ({"level": "op"}, {"zoom": False}):
            for put, hook in ((lambda m: m[0].weight.register_hook(spoil_gradient), "spoil_gradient"),
                              (lambda m: m[1].register_full_backward_hook(spoil_backward), "spoil_backward"),
                              (lambda m: m[1].register_forward_hook(spoil_forward), "spoil_forward")):
                with self.subTest(options=options, hook=hook):
                    _, verdict = self.run_with(put, **options)
                    text = " ".join([verdict["sentence"], *verdict["details"]])
                    is_row = hook == "spoil_forward" and "level" in options
                    line = line_of(f"def {hook}(")
                    self.assertIn(f"user_hooks_test.py:{line + 1}" if is_row else f"hook {hook} (user_hooks_test.py:{line})", text)
                    self.assertEqual('watch(model, level="op")' in text, "level" not in options, text)
        _, verdict = self.run_with(lambda m: m[3].register_forward_hook(only_looks) and m[2].register_forward_hook(spoil_forward), zoom=False)
        self.assertNotIn("only_looks", str(verdict))

    def test_one_that_only_looks_is_not_named(self):
        for look in (only_looks, lambda module, given, out: kept.append(float(out.abs().max()))):
            kept.clear()

            def put(model):
                for each in (model, model[1]):
                    each.register_forward_hook(look)

                def once(x, calls=[]):
                    calls.append(1)
                    return torch.tanh(x) * (float("nan") if len(calls) == 1 else 1)
                model[1].forward = once
            _, verdict = self.run_with(put)
            self.assertNotIn("hook ", verdict["sentence"] + " ".join(verdict["details"]))
            self.assertTrue(kept)


if __name__ == "__main__":
    logging.getLogger("tensorstat").propagate = False
    unittest.main()
