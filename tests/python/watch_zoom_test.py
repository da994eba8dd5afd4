"""What a second run of a call says where several calls share a container, such as a cache of keys, where results of the model are used
inside of it, and where an overflow was cut off: the operation and its line, by the watch and by `tensorstat origin` alike.
Skipped without torch (Debian's python3-torch)."""
import cProfile
import glob
import json
import logging
import sys
import tempfile
import threading
import unittest

import tensorstat

try:
    import torch
except ImportError:
    print("torch is not installed: nothing is tested here", file=sys.stderr)
    sys.exit(0)

from torch import nn

HERE = open(__file__).read().splitlines()
HALF = torch.finfo(torch.float16).max


def line_of(text):
    """The one line of this file that ends with this comment."""
    (number,) = (number for number, line in enumerate(HERE, 1) if line.endswith(f"# {text}"))
    return number


class Cache:
    def __init__(self):
        self.keys = []

    def update(self, key, index):
        if index < len(self.keys):
            self.keys[index] = torch.cat([self.keys[index], key], 1)
        else:
            self.keys.append(key)
        return self.keys[index]


class Results:
    def __init__(self, loss, logits, cache, hidden):
        self.loss, self.logits, self.cache, self.hidden = loss, logits, cache, hidden


class Act(nn.Module):
    def __init__(self, fault):
        super().__init__()
        self.fault = fault

    def forward(self, x):
        if self.fault == "backward of act":
            return x + 0 * torch.sqrt(x - x)  # backward of act
        return torch.relu(x)


class Layer(nn.Module):
    """Attention with one head. It puts its keys into the cache."""

    def __init__(self, index, fault):
        super().__init__()
        self.index, self.fault = index, fault
        self.k, self.v, self.act = nn.Linear(8, 8), nn.Linear(8, 8), Act(fault)

    def forward(self, x, cache):
        key = self.k(x)
        if self.fault == "keys":
            key = key / (key - key).detach()  # keys
        key = cache.update(key, self.index)
        scores = torch.softmax(x @ key.transpose(1, 2), -1)
        if self.fault == "scores":
            scores = torch.log(scores - 2)  # scores
        if self.fault == "backward of scores":
            scores = scores + 0 * torch.sqrt(scores - scores)  # backward of scores
        return x + self.act(self.v(scores @ x))


class Net(nn.Module):
    def __init__(self, fault, is_spoiled=False):
        super().__init__()
        self.layers = nn.ModuleList(Layer(index, fault if index == 1 else "") for index in range(3))
        self.head, self.fault, self.is_spoiled = nn.Linear(8, 4), fault, is_spoiled

    def forward(self, x, cache=None):
        cache = cache or Cache()
        if self.is_spoiled:  # keys that no layer reads
            for _ in range(3):
                cache.update(x, len(cache.keys))
            cache.keys[:] = [torch.zeros(2, 0, 8)] * 3 + [x / 0 * 0]
        hidden = []
        for layer in self.layers:
            x = layer(x, cache=cache)
            hidden.append(x)
        logits = self.head(x)
        if self.fault == "backward of the loss":
            return Results((logits - logits.detach()).norm(dim=0).mul(0).div(0.1).sqrt().sum(), logits, cache, hidden)  # backward of the loss
        return Results(logits.square().mean(), logits, cache, hidden)


class Clamped(nn.Module):
    """As a block of T5 in half precision: an overflow is cut off."""

    def __init__(self, cut, scale=3e4):
        super().__init__()
        self.a, self.ff, self.cut, self.scale = nn.Linear(8, 8), Product(scale), cut, scale

    def forward(self, x):
        return self.cut(x + self.ff(self.a(x))) * 1e-6


class Product(nn.Module):
    def __init__(self, scale):
        super().__init__()
        self.scale = scale

    def forward(self, x):
        return x * self.scale * self.scale  # overflow


class Cut(nn.Module):
    def __init__(self, cut):
        super().__init__()
        self.cut = cut

    def forward(self, x):
        return self.cut(x)


class Watched(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(5)
        logging.disable(logging.CRITICAL)
        self.addCleanup(logging.disable, logging.NOTSET)

    def run_of(self, model, steps=2, loss=lambda result: result.loss, call=lambda model, x: model(x), **options):
        """(first_fault, the verdict, the lines of the zooms)"""
        optimizer = torch.optim.SGD(model.parameters(), 1e-4)
        with tempfile.TemporaryDirectory() as folder:
            with tensorstat.watch(model, path=folder, **options) as w:
                for _ in range(steps):
                    value = loss(call(model, torch.randn(2, 5, 8)))
                    value.backward()
                    optimizer.step()
                    w.step(value)
                    optimizer.zero_grad()
            (journal,) = glob.glob(f"{folder}/**/watch.ndjson", recursive=True)
            with open(journal) as file:
                lines = [json.loads(line) for line in file]
            answer = tensorstat.origin(folder)
            if answer["verdict"]["kind"] != "none":
                self.assertEqual(tensorstat.findings(folder).sentences[0], answer["verdict"]["sentence"])
            return w.first_fault, answer["verdict"], [each for each in lines if each["kind"] == "zoom"]

    def check(self, ran, path, operation, line, certainty="sure"):
        first, verdict, zooms = ran
        with self.subTest(path=path):
            self.assertEqual((verdict["kind"], verdict["op_name"].rpartition("/")[0], verdict["operation"], verdict["line"], verdict["certainty"]),
                             ("produced", path, operation, line_of(line), certainty), (verdict, zooms))
            self.assertEqual((first.op_name.rpartition("/")[0], first.operation, first.line), (path, operation, line_of(line)), zooms)

    def test_keys_of_a_cache_are_results_that_the_model_uses(self):
        self.check(self.run_of(Net("backward of act")), "layers.1.act", "SqrtBackward0", "backward of act")
        self.check(self.run_of(Net("backward of scores")), "layers.1", "SqrtBackward0", "backward of scores")

    def test_a_loss_that_the_model_computes_has_its_backward_in_the_model(self):
        self.check(self.run_of(Net("backward of the loss")), "Net", "SqrtBackward0", "backward of the loss")

    def test_a_gradient_that_the_loss_spoils_is_the_loss_s(self):
        def loss(result):
            return result.loss + (result.cache.keys[1] - result.cache.keys[1].detach()).abs().sqrt().sum()
        first, verdict, zooms = self.run_of(Net(""), loss=loss)
        self.assertEqual([each["result"] for each in zooms if each["op_name"] != "loss"], ["given"], zooms)
        self.assertEqual((verdict["kind"], verdict["certainty"]), ("loss", "sure"), verdict)

    def test_without_a_second_run_nobody_is_accused_of_such_a_gradient(self):
        first, verdict, _ = self.run_of(Net("backward of scores"), zoom=False)
        self.assertEqual((verdict["kind"], verdict["operation"]), ("unknown", None), verdict)

    def test_a_call_is_not_given_what_it_put_into_a_cache_itself(self):
        self.check(self.run_of(Net("keys")), "layers.1", "div", "keys")
        self.check(self.run_of(Net("scores")), "layers.1", "log", "scores")

    def test_a_call_that_is_handed_a_cache_is_not_given_what_it_does_not_read(self):
        self.check(self.run_of(Net("scores", is_spoiled=True)), "layers.1", "log", "scores")

    def test_a_cache_of_the_caller_s_is_as_it_was_before_the_call(self):
        for fault, path, operation in (("keys", "layers.1", "div"), ("scores", "layers.1", "log"),
                                       ("backward of scores", "layers.1", "SqrtBackward0")):
            for call in (lambda model, x: model(x, cache=Cache()), lambda model, x: model(x, Cache())):
                self.check(self.run_of(Net(fault), steps=1, call=call), path, operation, fault)

    def test_a_cache_that_has_no_copy_and_was_written_is_gone(self):
        def call(model, x):
            cache = Cache()
            cache.file = iter(())
            return model(x, cache=cache)
        first, verdict, zooms = self.run_of(Net("keys"), steps=1, call=call)
        self.assertEqual(zooms[-1]["op_name"], "Net/forward")
        self.assertEqual(zooms[-1]["result"], "refused", zooms)
        self.assertNotIn(verdict["kind"], ("entered", "none"), verdict)
        self.assertTrue(first.op_name.startswith("layers.1"), first)

    def test_a_profiler_sees_each_call_once(self):
        class Log(nn.Module):
            def forward(self, x):
                return x.log()

        profile, calls = cProfile.Profile(), []

        def call(model, x):
            calls.append(model)
            return profile.runcall(model, x - 1e9)

        first, _, zooms = self.run_of(nn.Sequential(nn.Linear(8, 8), Log()), call=call, loss=torch.sum)
        counted = [each.callcount for each in profile.getstats() if each.code is Log.forward.__code__]
        self.assertEqual(counted, [len(calls)])
        self.assertEqual([(each["result"], each["why"]) for each in zooms if each["op_name"] == "1/forward"],
                         [("refused", "a profiler or debugger would see it twice")], zooms)

    def test_what_another_thread_may_use_is_not_written(self):
        kept, counts = [], {"calls": 0}

        class Keeps(nn.Module):
            def forward(self, x):
                kept.append(1)
                return x.log()

        class Counts(nn.Module):
            def forward(self, x):
                counts["calls"] += 1
                return x.log()
        over = threading.Event()
        for kind in (Keeps, Counts):
            for is_alone in (True, False):
                with self.subTest(kind=kind.__name__, is_alone=is_alone):
                    thread = threading.Thread(target=over.wait)
                    if not is_alone:
                        thread.start()
                    try:
                        _, _, zooms = self.run_of(nn.Sequential(nn.Linear(8, 8), kind()), steps=1, loss=lambda y: y.mean())
                    finally:
                        over.set()
                        if not is_alone:
                            thread.join()
                        over.clear()
                    if is_alone:
                        self.assertEqual(zooms[0]["operation"], "log", zooms)
                    else:
                        self.assertEqual(zooms[0]["result"], "refused", zooms)
                        self.assertIn("another thread may use", zooms[0]["why"])
        self.assertEqual((len(kept), counts["calls"]), (2, 2))

    def test_an_overflow_that_a_clamp_cut_off_is_told(self):
        cuts = {"clamp": lambda x: x.clamp(-HALF, HALF), "nan_to_num": torch.nan_to_num, "clamp_": lambda x: x.clone().clamp_(-HALF, HALF)}
        for name, cut in cuts.items():
            for each in (cut, Cut(cut))[:1 + (name == "clamp")]:
                ran = self.run_of(Clamped(each), loss=lambda y: (y * 1e-30).square().mean(), call=lambda model, x: model(x * 1e35))
                self.check(ran, "ff", "mul", "overflow", "likely")
                self.assertIn(f"{name.rstrip('_')} at watch_zoom_test.py:", ran[1]["sentence"])
                self.assertIn(f"cut off by {name.rstrip('_')}", ran[0].cut_off and str(ran[0]))

    def test_an_inf_that_was_meant_is_clean(self):
        finite = torch.Tensor.isfinite
        jobs = {"log": (lambda x: torch.log(x * 0), lambda x: x.clamp(min=-100)),
                "mask": (lambda x: x.masked_fill(x > 0, -torch.inf), lambda x: x.clamp(min=-1e4)),
                "reciprocal": (lambda x: 1 / (x * 0), lambda x: x.clamp(-1e4, 1e4)),
                "selection": (lambda x: x * 1e38 * 1e38, lambda x: torch.where(finite(x), x, 0.0)),
                "full": (lambda x: torch.full_like(x, torch.inf), lambda x: torch.minimum(x, torch.ones(()))),
                "exp": (lambda x: torch.exp(x * x * 1e6 + 100), lambda x: x.clamp(max=1e4))}
        for name, (make, cut) in jobs.items():
            between = nn.Sequential(Cut(lambda x: make(x.detach())), Cut(cut)) if name != "exp" else Cut(lambda x: cut(make(x.detach())))
            with self.subTest(name=name):
                model = nn.Sequential(nn.Linear(8, 8), between, nn.Linear(8, 1))
                first, verdict, _ = self.run_of(model, loss=lambda y: (y * 1e-6).square().mean())
                self.assertEqual((first, verdict["kind"]), (None, "none"), verdict)

    def test_a_later_fault_comes_before_an_overflow_that_was_cut_off(self):
        class Late(nn.Module):
            steps = 0

            def __init__(self):
                super().__init__()
                self.block, self.end = Clamped(lambda x: x.clamp(-HALF, HALF)), Cut(self.late)

            def late(self, x):
                return torch.sqrt(-1 - x * x) if self.training and Late.steps > 1 else x  # late

            def forward(self, x):
                Late.steps += 1
                return self.end(self.block(x * 1e35))
        first, verdict, _ = self.run_of(Late(), steps=3, loss=lambda y: y.square().mean())
        self.assertEqual((verdict["op_name"], verdict["iteration"], verdict["certainty"]), ("end/forward", 1, "sure"), verdict)
        self.assertEqual((first.op_name, first.iteration, first.cut_off), ("end/forward", 1, ""), first)

    def test_a_backward_that_a_fault_of_the_forward_spoils_is_not_run_again(self):
        """Nor is a second fault of one backward: the first row names the operation."""
        _, _, zooms = self.run_of(Net("scores"), steps=1)
        self.assertEqual({each["op_name"].rpartition("/")[2] for each in zooms}, {"forward"}, zooms)
        _, _, zooms = self.run_of(Net("backward of scores"), steps=1)
        self.assertEqual([each["op_name"] for each in zooms], ["layers.1/backward"], zooms)

    def test_a_later_zoom_leaves_a_fault_that_was_found(self):
        """The maker of an Inf is known when another module makes NaN of it. That one was given the Inf, and the code around it is
        looked at next: the words stay those of the maker."""
        class Decoder(nn.Module):
            def __init__(self):
                super().__init__()
                self.ff, self.norm, self.out = Product(1e38), Cut(lambda x: x - x.mean()), nn.Linear(8, 1)

            def forward(self, x):
                return self.out(self.norm(self.ff(x)))
        ran = self.run_of(nn.Sequential(nn.Linear(8, 8), Decoder()), loss=lambda y: y.square().mean())
        self.assertIn("given", [each["result"] for each in ran[2]])
        self.check(ran, "1.ff", "mul", "overflow")


if __name__ == "__main__":
    unittest.main()
