"""`then="save tensors"` of a watch: the tensor that an alert names and the inputs of its module are saved as they were when the
module ran, and nothing before. What cannot be had is said. `only_bad` writes bad steps alone."""
import csv
import glob
import json
import logging
import math
import os
import pathlib
import resource
import signal
import subprocess
import tempfile
import unittest

import numpy
import tensorstat

try:
    import torch
except ImportError:
    torch = None


def saved(folder):
    """(op name, io, slot) -> array, of the .npy files below a folder."""
    arrays = {}
    for path in glob.glob(f"{folder}/**/*.npy", recursive=True):
        _, name, _, _, _, io, slot = os.path.basename(path).split(".")[:7]
        arrays[name, io, int(slot)] = numpy.load(path)
    return arrays


def adder():
    class Add(torch.nn.Module):
        """Gives NaN where it is told to."""
        is_bad = False

        def forward(self, x, *, y):
            self.given = x.detach().clone(), y.detach().clone()
            self.gave = (torch.log(-1 - (x + y).abs()) if self.is_bad else x + y).detach()
            return self.gave

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.add = Add()

        def forward(self, x):
            return self.add(x * 2, y=x.t().contiguous().t() + 1)
    return Net()


@unittest.skipIf(torch is None, "no torch")
class AlertTensors(unittest.TestCase):
    def test_the_tensor_and_the_inputs_of_its_module(self):
        for dtype in (torch.float32, torch.bfloat16, torch.float64):
            with self.subTest(dtype=dtype), tempfile.TemporaryDirectory() as folder:
                net = adder()
                with self.assertRaises(tensorstat.Stopped) as stopped, \
                        tensorstat.watch(net, path=folder, alerts="nan and op_name == add/forward and io == output", keep=2,
                                         then=["write", "save tensors", "stop"]) as w:
                    for step in range(6):
                        net.add.is_bad = step == 4
                        net(torch.randn(3, 5).to(dtype))
                        self.assertEqual(saved(folder) != {}, step == 4, "they are saved when the module has run")
                        w.step()
                (alert,) = stopped.exception.found.alerts
                self.assertEqual((alert.step, alert.event, alert.not_saved), (4, f"{folder}/event_4", []))
                self.assertEqual(sorted(os.path.exists(f"{alert.event}/{each}") for each in alert.saved), [True] * 3)
                arrays = saved(folder)
                expected = {("add_forward", "output", 0): net.add.gave, ("add_forward", "input", 0): net.add.given[0],
                            ("add_forward", "input", 1): net.add.given[1]}
                self.assertEqual(set(arrays), set(expected))
                for key, tensor in expected.items():
                    wide = tensor.float() if dtype is torch.bfloat16 else tensor
                    numpy.testing.assert_array_equal(arrays[key], wide.numpy(), str(key))
                # The event is a dump as before: rows and files of a step lie together.
                process = subprocess.run([os.environ["COMMAND"], "origin", alert.event], capture_output=True, text=True)
                self.assertIn("NaN in add (Add), forward, iteration 4", process.stdout, process.stderr)
                with open(f"{folder}/alerts.ndjson") as file:
                    self.assertEqual(json.loads(file.read())["saved"], alert.saved)
                events = subprocess.run([os.environ["COMMAND"], "events", "--write", folder], capture_output=True, text=True)
                self.assertIn(", with 3 saved tensors", events.stdout)
                self.assertEqual(set(saved(folder)), set(expected), "events leaves them")

    def test_each_is_saved_once_and_msprobes_dump_has_no_call_of_it(self):
        keys = []
        for alerts in ("", "nan", "max > 100 and io == output", "nan, max > 100"):  # an input is named, an output, and both
            with tempfile.TemporaryDirectory() as folder, self.assertLogs("tensorstat", logging.WARNING):
                logging.getLogger("tensorstat").warning("one is expected")
                model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Tanh())
                torch.nn.init.ones_(model[0].weight)
                config = json.dumps({"task": "statistics", "dump_path": f"{folder}/a", "level": "L0", "statistics": {}})
                with tensorstat.watch(model, config=config, alerts=alerts, then="save tensors") as of_modules, \
                        tensorstat.watch(model[0], path=f"{folder}/b", alerts=alerts, then="save tensors") as of_rows:
                    model(torch.tensor([[3e5, 2e5, 1.0], [math.nan if "nan" in alerts else 1.0, 1.0, 1.0]])).sum().backward()
                    told = [each.step().alerts for each in (of_modules, of_rows)]
                for each in told if alerts else ():
                    names = [name.split(".")[-4] + name.split(".")[-5] for alert in each for name in alert.saved]
                    files = {name for alert in each for name in alert.saved}
                    self.assertEqual(len(files), len(set(map(lambda name: ".".join(name.split(".")[-5:-3]), files))), (alerts, names))
                with open(f"{folder}/a/step0/rank0/dump.json") as file:
                    keys.append(list(json.load(file)["data"]))
        self.assertEqual(keys, keys[:1] * 4)

    def test_what_was_written_in_place_is_said(self):
        with tempfile.TemporaryDirectory() as folder, self.assertLogs("tensorstat", logging.WARNING) as log:
            model = torch.nn.Sequential(torch.nn.Identity(), torch.nn.ReLU(inplace=True))
            with tensorstat.watch(model, path=folder, alerts="op_name == '1/forward' and max > 5 and io == output",
                                  then="save tensors", code=False) as w:
                with torch.no_grad():
                    model(torch.full((3,), 7.0))
                step = w.step()
            (alert,) = step.alerts
            self.assertIn("input 0 is not saved: it was written in place", alert.not_saved)
            self.assertEqual(list(saved(folder)), [("1_forward", "output", 0)])
            self.assertIn("; input 0 is not saved: it was written in place", "\n".join(log.output))

    def test_parameters_gradients_and_the_loss_are_saved_alone(self):
        with tempfile.TemporaryDirectory() as folder:
            model = torch.nn.Linear(4, 2, bias=False)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            with tensorstat.watch(model, path=folder, then=["save tensors", lambda alert: None],
                                  alerts=["op_type == Parameter and io == output and absmax > 10", "op_type == Gradient and absmax > 10",
                                          "op_type == Loss and max > 10"]) as w:
                loss = (model(torch.full((3, 4), 100.0)) ** 2).mean()
                loss.backward()
                gradient = model.weight.grad.clone()
                optimizer.step()
                w.step(loss)
            arrays = saved(folder)
            self.assertEqual(set(arrays), {("weight", "output", 0), ("weight", "input", 0), ("loss", "output", 0)})
            numpy.testing.assert_array_equal(arrays["weight", "output", 0], model.weight.detach().numpy())
            numpy.testing.assert_array_equal(arrays["weight", "input", 0], gradient.numpy())
            self.assertEqual(arrays["loss", "output", 0], loss.item())

    def test_as_msprobe(self):
        with tempfile.TemporaryDirectory() as folder:
            config = json.dumps({"task": "statistics", "dump_path": folder, "level": "L0", "rank": [], "step": []})
            net = adder()
            with tensorstat.watch(net, config, alerts="nan and io == output", then=["save tensors", lambda alert: None]) as w:
                net.add.is_bad = True
                net(torch.randn(3, 5))
                step = w.step()
            self.assertEqual([alert.op_name for alert in step.alerts], ["Module.add.Add.forward.0"])
            arrays = saved(folder)
            numpy.testing.assert_array_equal(arrays["Module_add_Add_forward_0", "input", 0], net.add.given[0].numpy())
            numpy.testing.assert_array_equal(arrays["Module_add_Add_forward_0", "output", 0], net.add.gave.numpy())

    def test_a_full_disk_and_a_limit_are_said(self):
        with tempfile.TemporaryDirectory() as folder:
            net = adder()
            with tensorstat.watch(net, path=folder, alerts="nan and op_name == add/forward and io == output", keep=1, event_bytes=350,
                                  then=["save tensors", lambda alert: None]) as w:
                net.add.is_bad = True
                net(torch.randn(3, 5))
                (alert,) = w.step().alerts
            self.assertEqual(len(alert.saved), 1)
            self.assertEqual([each.split(":")[0] for each in alert.not_saved], ["input 0 is not saved", "input 1 is not saved"])
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        try:
            with tempfile.TemporaryDirectory() as folder, self.assertLogs("tensorstat", logging.WARNING):
                net = adder()
                with tensorstat.watch(net, path=folder, alerts="nan and op_name == add/forward and io == output",
                                      then=["save tensors", lambda alert: None]) as w:
                    net.add.is_bad = True
                    w.step()
                    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
                    net(torch.randn(3, 5))
                    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
                    (alert,) = w.step().alerts
                self.assertEqual((alert.saved, saved(folder)), ([], {}))
                self.assertIn("output 0 is not saved: its file could not be written; the log says why", alert.not_saved)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
            signal.signal(signal.SIGXFSZ, before)

    def test_only_bad_steps_are_written(self):
        with tempfile.TemporaryDirectory() as folder:
            net = adder()
            with self.assertLogs("tensorstat", logging.WARNING), tensorstat.watch(net, path=folder, only_bad=True) as w:
                for step in range(20):
                    net.add.is_bad = step in (7, 15)
                    net(torch.randn(3, 5))
                    w.step()
            written = sorted(str(path.relative_to(folder)) for path in pathlib.Path(folder).glob("**/statistic.csv"))
            self.assertEqual(written, [f"event_{event}/rank_0/model/0/{step}/statistic.csv" for event, step in
                                       ((15, 14), (15, 15), (7, 6), (7, 7))])
            with open(pathlib.Path(folder, written[1]), newline="") as file:
                self.assertTrue(any(int(row["NaN Count"]) for row in csv.DictReader(file)))
        with tempfile.TemporaryDirectory() as folder:
            told = []
            config = json.dumps({"common_dump_settings": {
                "dump_mode": 0, "path": folder, "net_name": "net", "iteration": "all", "input_output": 0, "kernels": [],
                "support_device": [0], "saved_data": "statistic", "statistic_category": ["max"]},
                "e2e_dump_settings": {"enable": True}})
            with tensorstat.DumpSession(config, only_bad=True, on_alert=told.append, save_tensors=True) as session:
                for step in range(5):
                    session.collect("Op", "x", outputs=[numpy.full(3, numpy.inf if step == 3 else 1, "f4")], iteration=step)
                    session.step_end(iteration=step)
            self.assertEqual([(alert.step, alert.condition, len(alert.saved)) for alert in told], [(3, "inf", 1)])
            self.assertEqual(sorted(os.listdir(f"{folder}/event_3/rank_0/net/0")), ["2", "3"])
            with self.assertRaisesRegex(tensorstat.Error, "'differs over dp' needs watch()"):
                tensorstat.DumpSession(config, alerts="differs over dp")


if __name__ == "__main__":
    unittest.main()
