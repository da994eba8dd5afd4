"""PyTorch jobs of some hundred steps through `watch`, then `tensorstat report`: clean jobs of many kinds have no finding, and a
planted fault is the first finding. Skipped without torch (Debian's python3-torch)."""
import json
import math
import os
import subprocess
import sys
import tempfile
import unittest

import tensorstat

try:
    import torch
    from torch import nn
    from torch.nn import functional as F
except ImportError:
    print("torch is not installed: nothing is tested here", file=sys.stderr)
    sys.exit(0)

COMMAND = os.environ["COMMAND"]
SEED = 20


class Net(nn.Module):
    """Attention with a mask, a norm, a dead unit or two, dropout, and a head of zeros."""

    def __init__(self, width=16):
        super().__init__()
        self.embed = nn.Embedding(50, width)
        self.norm = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.up = nn.Linear(width, 4 * width)
        self.relu = nn.ReLU()
        self.dropout = nn.Dropout(0.1)
        self.down = nn.Linear(4 * width, width)
        self.head = nn.Linear(width, 50)
        nn.init.zeros_(self.head.weight)
        nn.init.zeros_(self.head.bias)

    def forward(self, tokens):
        x = self.embed(tokens)
        q, k, v = self.qkv(self.norm(x)).chunk(3, -1)
        scores = q @ k.transpose(-1, -2) / 4
        mask = torch.full(scores.shape[-2:], torch.finfo(scores.dtype).min).triu(1)
        x = x + (scores + mask).softmax(-1) @ v
        return self.head(x + self.down(self.dropout(self.relu(self.up(x)))))


def language(path, steps=260, rate=1e-2, warmup=50, decay=True, optimizer=torch.optim.AdamW, plant=None):
    model = Net()
    optimizer = optimizer(model.parameters(), rate)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1, (step + 1) / warmup) * (0.5 + 0.5 * math.cos(math.pi * step / steps) if decay else 1))
    with tensorstat.watch(model, path=path) as watch:
        for step in range(steps):
            tokens = torch.randint(0, 50, (8, 12))
            target = (tokens + 1) % 50
            if plant:
                plant(model, step)
            loss = F.cross_entropy(model(tokens).transpose(1, 2), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            watch.step(loss)


def regression(path, steps=300, model=None, rate=1e-2, optimizer=torch.optim.SGD, batch=32, change=None, set_to_none=False):
    model = model or nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 1))
    optimizer = optimizer(model.parameters(), rate)
    with tensorstat.watch(model, path=path) as watch:
        for step in range(steps):
            x = torch.randn(batch if batch else 4 + step % 60, 8)
            y = x.sum(-1, keepdim=True) / 8
            if change:
                x = change(model, step, x)
            loss = F.mse_loss(model(x), y)
            optimizer.zero_grad(set_to_none=set_to_none)
            loss.backward()
            optimizer.step()
            watch.step(loss)


def transformer(path, steps=240):
    """Two layers of torch's own encoder, with padding, and a learning rate that warms up and falls as the root of the step."""
    layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.1, batch_first=True)
    model = nn.ModuleDict(dict(embed=nn.Embedding(30, 16), encoder=nn.TransformerEncoder(layer, 2), head=nn.Linear(16, 30)))
    optimizer = torch.optim.Adam(model.parameters(), 3e-3, betas=(0.9, 0.98))
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min((step + 1) / 40, (40 / (step + 1)) ** 0.5))
    with tensorstat.watch(model, path=path) as watch:
        for _ in range(steps):
            tokens = torch.randint(1, 30, (8, 10))
            padding = torch.arange(10) >= torch.randint(4, 11, (8, 1))
            hidden = model["encoder"](model["embed"](tokens), src_key_padding_mask=padding)
            loss = F.cross_entropy(model["head"](hidden)[~padding], tokens.flip(1)[~padding])
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            watch.step(loss)


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(4, 16, batch_first=True)
        self.head = nn.Linear(16, 1)

    def forward(self, x):
        return self.head(self.lstm(x)[0][:, -1])


def recurrent(path, steps=240):
    """An LSTM, sequences of many lengths, clipped gradients."""
    model = Recurrent()
    optimizer = torch.optim.RMSprop(model.parameters(), 3e-3)
    with tensorstat.watch(model, path=path) as watch:
        for step in range(steps):
            x = torch.randn(8, 3 + step % 17, 4)
            loss = F.mse_loss(model(x), x.mean((1, 2)).unsqueeze(-1))
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            optimizer.step()
            watch.step(loss)


def adversaries(path, steps=240):
    """Two networks with an optimizer each, trained in turn, as a GAN is."""
    model = nn.ModuleDict(dict(
        generator=nn.Sequential(nn.Linear(4, 16), nn.LeakyReLU(0.2), nn.Linear(16, 2)),
        critic=nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))))
    generate, judge = model["generator"], model["critic"]
    of_generator = torch.optim.Adam(generate.parameters(), 2e-3, betas=(0.5, 0.9))
    of_critic = torch.optim.Adam(judge.parameters(), 2e-3, betas=(0.5, 0.9))
    ones, zeros = torch.ones(16, 1), torch.zeros(16, 1)
    with tensorstat.watch(model, path=path) as watch:
        for _ in range(steps):
            real = torch.randn(16, 2) * 0.5 + torch.tensor([2.0, -1.0])
            made = generate(torch.randn(16, 4))
            loss = (F.binary_cross_entropy_with_logits(judge(real), ones) +
                    F.binary_cross_entropy_with_logits(judge(made.detach()), zeros))
            of_critic.zero_grad()
            loss.backward()
            of_critic.step()
            wanted = F.binary_cross_entropy_with_logits(judge(made), ones)
            of_generator.zero_grad()
            wanted.backward()
            of_generator.step()
            watch.step(loss + wanted.detach())


def accumulation(path, steps=240):
    """The gradients of four small batches are one step's. Each batch is an iteration; the optimizer writes at every fourth."""
    model = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 1))
    optimizer = torch.optim.AdamW(model.parameters(), 3e-3)
    with tensorstat.watch(model, path=path) as watch:
        for step in range(steps):
            x = torch.randn(4, 8)
            loss = F.mse_loss(model(x), x.sum(-1, keepdim=True) / 8)
            (loss / 4).backward()
            if step % 4 == 3:
                optimizer.step()
                optimizer.zero_grad()
            watch.step(loss)


def scaled(path, steps=260):
    """Autocast, and a loss scale that grows until gradients overflow float16; those steps are skipped."""
    model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    scale, good = 2.0**16, 0
    skipped = 0
    with tensorstat.watch(model, path=path) as watch:
        for _ in range(steps):
            x = torch.randn(16, 8)
            with torch.autocast("cpu", dtype=torch.bfloat16):
                out = model(x)
            loss = F.mse_loss(out.float(), x.sum(-1, keepdim=True) / 8)
            optimizer.zero_grad()
            (loss * scale).backward()
            for each in model.parameters():
                each.grad.copy_(each.grad.half().float() / scale)  # as float16 would hold it
            if all(each.grad.isfinite().all() for each in model.parameters()):
                optimizer.step()
                good += 1
                if good % 30 == 0:
                    scale *= 2
            else:
                scale /= 2
                skipped += 1
            watch.step(loss)
    assert skipped > 0


def augmented_labels(path, steps=220):
    """A convolution with batch norm, labels that are mixed, and evaluation of every tenth step without a gradient."""
    model = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(64, 5))
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9, weight_decay=5e-4, nesterov=True)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 70, 0.1)
    means = torch.randn(5, 1, 8, 8)
    with tensorstat.watch(model, path=path) as watch:
        for step in range(steps):
            labels = torch.randint(0, 5, (16,))
            x = means[labels] + torch.randn(16, 1, 8, 8)
            share = float(torch.distributions.Beta(0.4, 0.4).sample())
            other = torch.randperm(16)
            mixed = model(share * x + (1 - share) * x[other])
            loss = share * F.cross_entropy(mixed, labels) + (1 - share) * F.cross_entropy(mixed, labels[other])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            if step % 10 == 9:
                model.eval()
                with torch.no_grad():
                    model(x)
                model.train()
            watch.step(loss)


CLEAN = {
    "a transformer with padding": transformer,
    "an LSTM with sequences of many lengths": recurrent,
    "two networks that are trained in turn": adversaries,
    "gradients of four batches a step": accumulation,
    "mixed precision and a loss scale": scaled,
    "a convolution, mixed labels, evaluation between": augmented_labels,
    "warm-up and decay": language,
    "warm-up without decay, to a loss of nearly 0": lambda path: language(path, decay=False, steps=300),
    "a long warm-up": lambda path: language(path, warmup=260),
    "SGD": lambda path: language(path, rate=0.5, optimizer=torch.optim.SGD, steps=220),
    "a loss that falls a thousandfold": lambda path: regression(path, optimizer=torch.optim.Adam),
    "an exact solution": lambda path: regression(path, model=nn.Linear(8, 1), rate=0.3, steps=400),
    "batches of many sizes": lambda path: regression(path, batch=None),
    "one sample a batch": lambda path: regression(path, batch=1, rate=1e-3),
    "batch norm and an unused layer": lambda path: regression(
        path, model=nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 1))),
}


def grow(model, step):
    if step >= 180:
        with torch.no_grad():
            model.down.weight *= 1.06


def kill(model, step):
    if step == 150:
        with torch.no_grad():
            model.up.bias -= 1e4


def freeze(model, step):
    if step == 120:
        model.qkv.weight.register_hook(torch.zeros_like)


class Report(unittest.TestCase):
    def report(self, job):
        with tempfile.TemporaryDirectory() as folder:
            torch.manual_seed(SEED)
            job(folder)
            done = subprocess.run([COMMAND, "report", folder, "--format", "json"], capture_output=True, text=True)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        report = json.loads(done.stdout)
        self.assertEqual(done.returncode, 1 if report["findings"] else 0)
        return report

    def first(self, job):
        report = self.report(job)
        self.assertTrue(report["findings"], report["verdict"])
        return report["findings"][0]

    def test_clean_jobs_have_no_finding(self):
        # The quick test runs every third one.
        for name, job in list(CLEAN.items())[::1 if "TENSORSTAT_FULL" in os.environ else 3]:
            with self.subTest(name, seed=SEED):
                report = self.report(job)
                self.assertEqual([finding["text"] for finding in report["findings"]], [])
                self.assertTrue(report["verdict"].startswith("Nothing found in "), report["verdict"])

    def test_a_batch_of_large_values_is_a_jump(self):
        finding = self.first(lambda path: regression(path, change=lambda model, step, x: x * 200 if step == 150 else x))
        self.assertEqual((finding["rule"], finding["first_iteration"], finding["last_clean_iteration"]), ("jump", 150, 149))
        self.assertIn("input 0", finding["text"])

    def test_a_slow_growth_is_a_drift(self):
        finding = self.first(lambda path: language(path, plant=grow, steps=300))
        self.assertEqual(finding["rule"], "drift")
        self.assertIn(finding["op_name"], ("down.weight", "down/forward"))

    def test_an_activation_of_zeros_is_dead(self):
        report = self.report(lambda path: language(path, plant=kill, steps=200))
        dead = [finding for finding in report["findings"] if finding["rule"] == "dead"]
        self.assertEqual([(finding["op_name"], finding["first_iteration"]) for finding in dead], [("relu/forward", 150)])

    def test_a_parameter_that_stops_is_frozen(self):
        report = self.report(lambda path: language(path, plant=freeze, decay=False, steps=220, rate=0.1, optimizer=torch.optim.SGD))
        findings = [(each["rule"], each["op_type"], each["op_name"], each["first_iteration"]) for each in report["findings"]]
        self.assertEqual(findings[0], ("dead", "Gradient", "qkv.weight", 120))  # a hook gives 0
        self.assertIn(("frozen", "Parameter", "qkv.weight", 120), findings)

    def test_a_nan_is_the_first_finding_and_its_followers_are_counted(self):
        def poison(model, step, x):
            if step == 200:
                x[0, 0] = math.nan
            return x
        report = self.report(lambda path: regression(path, change=poison))
        self.assertEqual([(finding["rule"], finding["first_iteration"]) for finding in report["findings"]], [("nan", 200)])
        self.assertGreater(report["findings"][0]["others"], 5)
        self.assertIn("came in with the data", report["verdict"])

    def test_an_inf_does_not_hide_what_comes_later(self):
        def spoil(model, step, x):
            if step == 90:
                return torch.full_like(x, math.inf)
            return x * 200 if step == 150 else x
        model = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 1))

        def job(path):
            optimizer = torch.optim.SGD(model.parameters(), 1e-2)
            with tensorstat.watch(model, path=path) as watch:
                for step in range(200):
                    x = torch.randn(32, 8)
                    y = x.sum(-1, keepdim=True) / 8
                    loss = F.mse_loss(model(spoil(model, step, x)), y)
                    optimizer.zero_grad()
                    loss.backward()
                    if step != 90:
                        optimizer.step()
                    watch.step(loss)
        report = self.report(job)
        findings = [(finding["rule"], finding["first_iteration"]) for finding in report["findings"]]
        self.assertIn(findings[0], [("inf", 90), ("nan", 90)])
        self.assertIn(("jump", 150), findings)
        self.assertTrue(any("from 90 on in which they hold NaN or Inf" in each for each in report["not_measured"]), report["not_measured"])

    def test_an_inf_that_becomes_nan_has_a_finding_for_who_turned_it(self):
        class Divide(nn.Module):
            def forward(self, x):
                return x / x.abs().max().sub(x.abs().max()) if self.is_bad else x

        class Minus(nn.Module):
            def forward(self, x):
                return x - x
        bad, minus = Divide(), Minus()
        bad.is_bad = False

        def break_it(model, step, x):
            bad.is_bad = step == 60
            return x
        model = nn.Sequential(nn.Linear(8, 4), bad, minus, nn.Linear(4, 1))
        report = self.report(lambda path: regression(path, model=model, steps=80, change=break_it))
        turned = [finding for finding in report["findings"] if finding["rule"] == "turned"]
        self.assertEqual([(each["op_name"], each["first_iteration"]) for each in turned], [("2/forward", 60)])
        self.assertEqual(report["findings"][0]["op_name"], "1/forward")

    def test_a_gradient_that_is_gone_is_named(self):
        class Cut(nn.Module):
            is_on = False

            def forward(self, x):
                return x.detach() if self.is_on else x
        cut = Cut()

        def detach(model, step, x):
            cut.is_on = step >= 100
            return x
        for set_to_none in (False, True):  # PyTorch's default before 2.0, and since
            with self.subTest(set_to_none=set_to_none):
                cut.is_on = False
                model = nn.Sequential(nn.Linear(8, 16), cut, nn.Tanh(), nn.Linear(16, 1))
                report = self.report(lambda path, model=model, set_to_none=set_to_none: regression(
                    path, steps=160, model=model, optimizer=torch.optim.Adam, change=detach, set_to_none=set_to_none))
                gone = [finding for finding in report["findings"] if finding["rule"] == "gone"]
                self.assertEqual([(each["op_name"], each["op_type"], each["first_iteration"]) for each in gone],
                                 [("0.weight", "Gradient", 100)])
                self.assertEqual((gone[0]["last_clean_iteration"], gone[0]["value"], gone[0]["limit"]), (99, 60, 20))

    def test_a_parameter_that_no_optimizer_has_is_named(self):
        def train(path, forgotten, frozen, steps=60):
            model = nn.Sequential(*(nn.Linear(8, 8) for _ in range(4)))
            model[frozen].requires_grad_(False)
            optimizer = torch.optim.SGD([each for name, each in model.named_parameters() if not name.startswith(forgotten)
                                         and each.requires_grad], lr=1e-3)
            with tensorstat.watch(model, path=path) as watch:
                for _ in range(steps):
                    loss = model(torch.randn(4, 8)).square().mean()
                    loss.backward()
                    optimizer.step()
                    watch.step(loss)
                    model.zero_grad()

        report = self.report(lambda path: train(path, "2.", 0))
        self.assertEqual([(each["rule"], each["op_name"], each["op_type"], each["first_iteration"], each["others"], each["value"])
                          for each in report["findings"]], [("unwritten", "2.weight", "Parameter", 0, 1, 60)])
        self.assertEqual(self.report(lambda path: train(path, "2.", 0, steps=49))["findings"], [])
        self.assertEqual(self.report(lambda path: train(path, "none", 0))["findings"], [])  # a frozen parameter has no gradient

    def test_python_has_the_same_list(self):
        with tempfile.TemporaryDirectory() as folder:
            torch.manual_seed(SEED)
            regression(folder, change=lambda model, step, x: x * 200 if step == 150 else x)
            answer = json.loads(subprocess.run([COMMAND, "report", folder, "--format", "json"], capture_output=True, text=True).stdout)
            findings = tensorstat.findings(folder)
            page = os.path.join(folder, "page.html")
            report = tensorstat.report(folder, page)
            drawn = subprocess.run([COMMAND, "report", folder, "--format", "html"], capture_output=True, text=True).stdout
            with open(page, encoding="utf-8", newline="") as file:
                self.assertEqual(file.read(), drawn)
            self.assertFalse(tensorstat.findings(folder, limits={"jump": 1e9, "drift": 1e9, "overflow": 1e9}))
            with self.assertRaisesRegex(tensorstat.Error, "a limit is RULE=NUMBER"):
                tensorstat.findings(folder, limits={"leap": 3})
        self.assertEqual([vars(each) for each in findings], answer["findings"])
        self.assertEqual((findings.verdict, findings.sentences, findings.notes, findings.measured, findings.not_measured),
                         (answer["verdict"], answer["sentences"], answer["notes"], answer["measured"], answer["not_measured"]))
        self.assertEqual(findings[0].rule, "jump")
        self.assertIn("150", str(findings))
        self.assertEqual(len(report.findings), len(findings))
        self.assertTrue(report._repr_html_().startswith("<iframe srcdoc=\"&lt;!"))
        self.assertNotIn("</iframe", report._repr_html_()[:-9])
        with self.assertRaises(tensorstat.Error):
            tensorstat.findings("/nowhere/at/all")


if __name__ == "__main__":
    unittest.main()
