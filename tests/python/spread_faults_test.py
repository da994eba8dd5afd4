"""A fault that one rank made and others received, by DDP's sum of gradients or by a gathered batch, is that rank's: origin names the rank,
and the log of the others says that it may have been received. Skipped without torch (Debian's python3-torch)."""
import importlib.util
import json
import os
import sys
import tempfile
import unittest

from tensorstat._verdict import Fault

sys.path.insert(0, os.path.dirname(__file__))
import gloo_ranks
import same_verdict

RANK = """
import dataclasses, json, math

class Log(torch.nn.Module):
    is_bad = False

    def forward(self, x):
        return torch.log(x.abs() + 1 - (1e9 if self.is_bad else 0))


class Root(torch.nn.Module):
    is_bad = False

    def forward(self, x):
        return torch.sqrt(x * 0 if self.is_bad else x.abs() + 1) * x


class Gather(torch.nn.Module):
    is_bad = False

    def forward(self, x):
        if self.is_bad:
            x = torch.sqrt(x - 1e9)
        every = [torch.empty_like(x) for _ in range(ranks)]
        dist.all_gather(every, x.detach().contiguous())
        return x @ torch.cat(every).t()


def train(kind):
    torch.manual_seed(3)
    last = Gather() if kind.startswith("gathered") else torch.nn.Linear(4, 2)
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), Root(), Log(), last)
    ddp = torch.nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with tensorstat.watch(ddp, path=os.path.join(folder, kind)) as w:
        for step in range(3):
            is_bad = step == 1 and rank == 1
            x = torch.full((3, 4), float(rank + 1))
            if is_bad and "data" in kind:
                x[1, 2] = math.nan
            model[1].is_bad, model[2].is_bad = is_bad and kind == "root", is_bad and "log" in kind
            model[3].is_bad = is_bad and kind == "gathered_own"
            if kind == "accumulated":
                with ddp.no_sync():
                    loss = ddp(x).square().mean()
                    (loss * torch.log(loss * 0 - 1) if is_bad else loss).backward()
            loss = ddp(x).square().mean()
            if is_bad and kind == "loss":
                loss = loss * torch.log(loss * 0 - 1)
            loss.backward()
            if kind == "accumulated":
                assert step == 2 or w.check(loss).rank == (1 if step == 1 else None), step
            optimizer.step()
            w.step(loss)
            optimizer.zero_grad()
    if rank == 1:
        with open(folder + "." + kind, "w") as file:
            json.dump(dataclasses.asdict(w.first_fault), file)
    return str(w.first_fault)


words = {kind: train(kind) for kind in ("data", "loss", "log", "root", "accumulated", "gathered_data", "gathered_log", "gathered_own")}
if rank == 0:
    for kind in ("data", "loss", "log", "root"):
        assert "iteration 1, gradient of module." in words[kind], words[kind]
        assert words[kind].endswith("received from another rank or changed after backward"), words[kind]
dist.destroy_process_group()
"""


@unittest.skipUnless(importlib.util.find_spec("torch"), "there is no torch")
class SpreadFaults(unittest.TestCase):
    def test_the_rank_that_made_it_is_named(self):
        with tempfile.TemporaryDirectory() as folder:
            gloo_ranks.run_ranks(self, 2, gloo_ranks.BEGIN + RANK, folder)
            for kind, expected in {"data": ("entered", "DistributedDataParallel/forward", ""),
                                   "loss": ("loss", "loss", "log"),
                                   "log": ("produced", "module.2/forward", "log"),
                                   "root": ("produced", "module.1/backward", "SqrtBackward0"),
                                   "accumulated": ("loss", "loss", "log"),
                                   "gathered_own": ("produced", "module.3/forward", "sqrt"),
                                   "gathered_data": ("entered", "DistributedDataParallel/forward", ""),
                                   "gathered_log": ("produced", "module.2/forward", "log")}.items():
                with self.subTest(kind=kind):
                    with open(os.path.join(folder, f"run.{kind}")) as file:
                        fault = Fault(**json.load(file))
                    verdict = same_verdict.check(self, os.path.join(folder, "run", kind), fault)["verdict"]
                    origin = verdict["kind"], verdict["op_name"], verdict["operation"] or ""
                    self.assertEqual((origin, verdict["rank"], verdict["iteration"]), (expected, 1, 1), verdict)
                    self.assertIn("rank 0 has it, too, received", str(verdict["details"]))


if __name__ == "__main__":
    unittest.main()
