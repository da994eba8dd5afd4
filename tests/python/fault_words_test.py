"""What is said of a fault beside its place: which tensor of a cache that several calls are given, whether a call read it, its name and the
rows that hold it, what the forward did to the operand of a backward, what was odd in the data, and where a growth began. By `origin`,
and of containers by the watch, too. Skipped where there is no torch (Debian's python3-torch)."""
import logging
import sys
import tempfile
import unittest

import tensorstat

try:
    import torch
except ImportError:
    print("torch is not installed: nothing is tested here", file=sys.stderr)
    sys.exit(0)

from torch import nn
from torch.nn import functional as F

NAN = float("nan")
OPTIONS = {}, {"inputs": True}, {"level": "op"}


class Cache:
    def __init__(self, keys):
        self.keys = keys


class Reader(nn.Module):
    """Puts its key into its own part of the cache, or reads one part."""

    def __init__(self, part, reads=True, makes=None):
        super().__init__()
        self.line, self.part, self.reads, self.makes = nn.Linear(8, 8), part, reads, makes

    def forward(self, x, cache):
        y = self.line(x)
        if self.makes == "anew":
            y = torch.acos(y.abs() + 2)
        if self.makes == "in the cache":
            cache.keys[self.part] = torch.acos(y.abs() + 2)
        elif self.reads:
            cache.keys[self.part] = torch.cat([cache.keys[self.part], y], 1)
            y = y + cache.keys[self.part].mean(1, keepdim=True)
        return y


class Model(nn.Module):
    def __init__(self, *layers):
        super().__init__()
        self.layers, self.head = nn.ModuleList(layers), nn.Linear(8, 3)

    def forward(self, x, cache):
        for layer in self.layers:
            x = layer(x, cache)
        return {"logits": self.head(x), "cache": cache}


def caches(faulty=None):
    """A call's arguments: a cache of four parts, one of them with a NaN in its second sample."""
    keys = [torch.randn(3, 2, 8) for _ in range(4)]
    if faulty is not None:
        keys[faulty][1, 0, 3] = NAN
    return torch.randn(3, 1, 8), Cache(keys)


class Words(unittest.TestCase):
    def answer(self, model, batches, loss=lambda out: out["logits"].square().mean(), lr=0.01, **options):
        torch.manual_seed(3)
        logging.getLogger("tensorstat").setLevel(logging.CRITICAL)
        with tempfile.TemporaryDirectory() as path:
            optimizer = torch.optim.SGD(model.parameters(), lr)
            with tensorstat.watch(model, path=path, **options) as watch:
                for batch in batches:
                    value = loss(model(*batch))
                    value.backward()
                    optimizer.step()
                    watch.step(value)
                    optimizer.zero_grad()
            origin = tensorstat.origin(path)
        self.first, self.notes = watch.first_fault, origin["notes"]
        self.told = "\n".join([origin["verdict"]["sentence"], *origin["verdict"]["details"]])
        return origin["verdict"]

    def test_a_part_of_a_cache_that_a_later_call_reads_came_in_with_it(self):
        for options in OPTIONS:
            with self.subTest(options):
                verdict = self.answer(Model(*map(Reader, range(4))), [caches(), caches(2)], **options)
                self.assertEqual((verdict["kind"], verdict["certainty"], verdict["iteration"]), ("entered", "sure", 1), self.told)
                self.assertEqual((verdict["tensor"], verdict["rows"], verdict["row_count"]), ("cache.keys.2", [1], 1), self.told)
                self.assertIn("Model input 3 (cache.keys.2)", self.told)
                self.assertIn("NaN is in row 1 of 3", self.told)
                self.assertEqual(self.notes, [])
                self.assertEqual((self.first.phase, self.first.slot), ("input", 3), self.first)

    def test_a_part_that_nobody_reads_is_nobodys(self):
        for options in OPTIONS:
            with self.subTest(options):
                verdict = self.answer(Model(Reader(0), Reader(1)), [caches(3)], lambda out: out["logits"].square().mean(), **options)
                self.assertEqual(verdict["kind"], "none", self.told)
                self.assertIsNone(self.first)
                self.assertFalse([each for each in self.notes if "layers" in each], self.notes)

    def test_a_call_that_makes_one_anew_beside_it_is_to_blame(self):
        for options in OPTIONS:
            with self.subTest(options):
                model = Model(Reader(0), Reader(1, reads=False, makes="anew"), Reader(1))
                verdict = self.answer(model, [caches(3)], **options)
                self.assertEqual((verdict["kind"], verdict["operation"]), ("produced", "acos"), self.told)
                self.assertTrue(verdict["op_name"].startswith("layers.1/"), self.told)
                self.assertEqual(self.first.operation, "acos", self.first)

    def test_who_wrote_it_into_a_cache_is_named_where_another_call_reads_it(self):
        for options in OPTIONS:
            with self.subTest(options):
                model = Model(Reader(0), Reader(2, makes="in the cache"), Reader(3), Reader(2))
                verdict = self.answer(model, [caches()], **options)
                self.assertEqual((verdict["kind"], verdict["operation"]), ("produced", "acos"), self.told)
                self.assertTrue(verdict["op_name"].startswith("layers.1/"), self.told)
                self.assertEqual(self.first.operation, "acos", self.first)

    def test_without_a_second_run_it_is_likely(self):
        verdict = self.answer(Model(*map(Reader, range(4))), [caches(2)], zoom=False)
        self.assertEqual((verdict["kind"], verdict["certainty"]), ("entered", "likely"), self.told)
        self.assertIn("was given it in a container", self.told)

    def test_a_result_has_its_name(self):
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.line = nn.Linear(8, 8)

            def forward(self, x):
                x = self.line(x)
                return {"logits": x, "cache": Cache([x * 2, (-x.abs() - 1).log()])}
        verdict = self.answer(Net(), [(torch.randn(3, 8),)], lambda out: out["cache"].keys[1].sum())
        self.assertEqual(verdict["tensor"], "cache.keys.1", self.told)
        self.assertIn("output 2 (cache.keys.1)", self.told)

    def test_what_the_forward_did_to_the_operand_of_a_backward(self):
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.line = nn.Linear(8, 8)

            def forward(self, x):
                x = self.line(x)
                return torch.where(x > 0, x.sqrt(), torch.zeros_like(x))
        batches = [(torch.randn(3, 8),)]
        self.answer(Net(), batches, lambda out: out.sum())
        words = r"in the forward sqrt at fault_words_test.py:\d+ gave \d+ NaN of 24, where at fault_words_test.py:\d+ cut it off, and backward"
        self.assertRegex(self.told, words)
        self.answer(nn.Linear(8, 8), batches, lambda out: torch.where(out > 0, out.sqrt(), torch.zeros_like(out)).sum())
        self.assertRegex(self.told, words)

    def test_what_was_odd_in_the_data(self):
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.line = nn.Linear(8, 5)

            def forward(self, x, types, labels):
                return F.cross_entropy(self.line(x), labels)
        labels, types = torch.tensor([0, 1, 2]), torch.zeros(3, dtype=torch.long)
        batches = [(torch.randn(3, 8), types, each) for each in (labels, torch.full_like(labels, -100))]
        self.answer(Net(), batches, lambda out: out)
        self.assertIn("Net input 2 (labels) is all -100", self.told)
        self.assertNotIn("input 1 (types) is all", self.told)

    def test_where_a_growth_began(self):
        def model():
            return nn.Sequential(nn.Linear(8, 8), nn.LayerNorm(8), nn.Linear(8, 8), nn.LayerNorm(8), nn.Linear(8, 2))
        batches = [(torch.randn(3, 8),) for _ in range(3)]
        self.answer(model(), batches, lambda out: out.square().mean(), lr=1e25)
        self.assertRegex(self.told, r"the parameter \d.weight grew: absmax 0\.\d+ in iteration 0, .*e\+\d+ behind the step of iteration 0")
        self.answer(model(), [batches[0], (batches[1][0] * 1e31,)], lambda out: out.square().mean())
        self.assertIn("what the model is given grew: absmax ", self.told)

    def test_an_operation_that_was_given_nothing(self):
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.line = nn.Linear(8, 8)

            def forward(self, x):
                return self.line(x[x > 100].reshape(-1, 8)).mean()
        verdict = self.answer(Net(), [(torch.randn(3, 8),)], lambda out: out, level="op")
        self.assertEqual((verdict["kind"], verdict["operation"]), ("produced", "mean"), self.told)
        self.assertIn("a tensor without elements", self.told)

    def test_the_backward_of_the_loss_is_called_so_at_any_level(self):
        for options in OPTIONS:
            verdict = self.answer(nn.Linear(8, 8), [(torch.randn(3, 8),)], lambda out: (out - out.detach()).square().sum().sqrt(), **options)
            self.assertEqual((verdict["kind"], verdict["phase"]), ("loss", "backward"), self.told)
            self.assertIn("ackward of the loss", verdict["sentence"])


if __name__ == "__main__":
    torch.set_num_threads(1)
    unittest.main()
