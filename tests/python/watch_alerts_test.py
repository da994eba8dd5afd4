"""Alerts of a watched PyTorch model: planted faults are found in their step and none else, and the steps before are there."""
import contextlib
import csv
import json
import logging
import math
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

import tensorstat

try:
    import torch
except ImportError:
    torch = None

COMMAND = os.environ["COMMAND"]
RULES = ["nan", "inf", "op_name ~ '*/forward' and io == output and l2norm > 6 * median(l2norm, 12)",
         "(op_name ~ '*/forward' and io == output and zero count == count) for 3 steps",
         "(op_type == Parameter and l2norm == previous(l2norm)) for 4 steps"]
KEEP = 8
IS_FULL = os.environ.get("TENSORSTAT_FULL") == "1"  # 1,000 steps for a fault, and 10,000 without one


def fault_class():
    class Fault(torch.nn.Module):
        """Changes what it is given, from one step on."""

        def __init__(self, kind):
            super().__init__()
            self.kind, self.is_on = kind, False

        def forward(self, x):
            if not self.is_on:
                return x + 0
            if self.kind == "nan":
                return torch.log(-x.abs() - 1)
            if self.kind == "inf":
                return x / torch.zeros_like(x)
            if self.kind == "spike":
                return x * 10
            return x * 0 if self.kind == "dead" else x + 0
    return Fault


def rows_of(folder):
    """(step, name, io, slot) -> cells without time, in the order of the file."""
    rows = []
    for step in sorted(pathlib.Path(folder).iterdir(), key=lambda each: int(each.name) if each.name.isdigit() else -1):
        if step.is_dir():
            with open(step / "statistic.csv", newline="") as file:
                rows += [(int(step.name), {key: cell for key, cell in row.items() if key != "Timestamp"}) for row in csv.DictReader(file)]
    return rows


def distributed_job(rank, folder):
    """Of two ranks: NaN on rank 1 alone."""
    torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=2)
    torch.manual_seed(rank)
    model, fault = torch.nn.Sequential(torch.nn.Linear(4, 4), fault_class()("nan")), 7
    with tensorstat.watch(model, path=f"{folder}/run", alerts="nan", keep=3, then=["write", "stop"], gradients=False) as w:
        for step in range(20):
            model[1].is_on = rank == 1 and step == fault
            model(torch.randn(3, 4))
            try:
                w.step()
            except tensorstat.Stopped as stopped:
                print(json.dumps([step, stopped.found.rank, len(stopped.found.alerts)]), flush=True)
                return
    print("not stopped", flush=True)


@unittest.skipIf(torch is None, "no torch")
class WatchAlerts(unittest.TestCase):
    def train(self, folder, kind="none", fault_step=None, layer=0, steps=40, then=("write", "stop"), keep=KEEP, alerts=RULES, seed=0):
        """The step and the alerts of the first that stops; None if none does."""
        torch.manual_seed(seed)
        faults = [fault_class()(kind), fault_class()(kind)]
        model = torch.nn.Sequential(torch.nn.Linear(8, 12), faults[0], torch.nn.Tanh(), torch.nn.Linear(12, 6), faults[1],
                                    torch.nn.Linear(6, 1))
        optimizer = torch.optim.SGD([{"params": model[each].parameters()} for each in (0, 3, 5)], lr=0.01)
        with tensorstat.watch(model, path=folder, alerts=alerts, keep=keep, then=then) as w:
            for step in range(steps):
                faults[layer].is_on = step == fault_step or (kind == "dead" and fault_step is not None and step >= fault_step)
                if kind == "frozen" and step == fault_step:
                    optimizer.param_groups[layer]["lr"] = 0
                loss = (model(torch.randn(32, 8)) ** 2).mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                try:
                    w.step(loss)
                except tensorstat.Stopped as stopped:
                    return step, stopped.found.alerts
        return None

    def test_planted_faults_are_found_in_their_step(self):
        seed = int(os.environ.get("SEED", random.randrange(1 << 32)))
        print("seed", seed, file=sys.stderr)
        dice = random.Random(seed)
        late = {"dead": 2, "frozen": 3}
        for number in range(40):
            kind = ["nan", "inf", "spike", "dead", "frozen"][number % 5]
            layer, fault_step = dice.randrange(2), dice.randrange(14, 990 if IS_FULL else 34)
            with self.subTest(kind=kind, layer=layer, fault_step=fault_step), tempfile.TemporaryDirectory() as folder:
                result = self.train(folder, kind, fault_step, layer, seed=number, steps=1000 if IS_FULL else 40)
                self.assertIsNotNone(result)
                step, alerts = result
                if kind == "dead" and step == fault_step:  # late in a training an output behind it may jump, to six times its median
                    self.assertEqual({(alert.op_name, alert.statistic) for alert in alerts}, {("5/forward", "l2norm")})
                    continue
                self.assertEqual(step, fault_step + late.get(kind, 0))
                name = {"frozen": ["0.weight", "3.weight"]}.get(kind, ["1/forward", "4/forward"])[layer]
                self.assertIn(name, [alert.op_name for alert in alerts], alerts)
                (event,) = pathlib.Path(folder).glob("event_*")
                self.assertEqual(event.name, f"event_{step}")
                steps = sorted(int(each.name) for each in event.glob("rank_0/model/0/*"))
                self.assertEqual(steps, list(range(step - KEEP, step + 1)))
                alert = next(each for each in alerts if each.op_name == name)
                self.assertEqual([iteration for iteration, _ in alert.history], steps)
                self.assertEqual(repr(alert.history[-1][1]), repr(alert.value))
                with open(f"{folder}/alerts.ndjson") as file:
                    self.assertEqual([json.loads(line)["step"] for line in file], [step] * len(alerts))
                self.assertEqual(list(pathlib.Path(folder).glob("rank_0/model/0")), [], "nothing else is on disk")
                if kind == "nan" and number < 15:
                    process = subprocess.run([COMMAND, "origin", str(event)], capture_output=True, text=True)
                    self.assertIn(f"NaN in {name.split('/')[0]} (Fault), forward, iteration {step}", process.stdout, process.stderr)
                    self.assertIn("log at watch_alerts_test.py:", process.stdout)

    def test_a_clean_run_has_no_event(self):
        steps = 10_000 if IS_FULL else 150
        for seed in range(1 if IS_FULL else 3):
            with tempfile.TemporaryDirectory() as folder:
                self.assertIsNone(self.train(folder, steps=steps, seed=seed))
                self.assertEqual(list(pathlib.Path(folder).glob("event_*")), [])
                self.assertFalse(os.path.exists(f"{folder}/alerts.ndjson"))
                process = subprocess.run([COMMAND, "events", folder], capture_output=True, text=True)
                self.assertEqual((process.returncode, process.stderr), (0, ""))
                self.assertIn(f"ended the run; steps {steps - 9} to {steps - 1} are kept", process.stdout)
                asked = subprocess.run([COMMAND, "origin", folder], capture_output=True, text=True)
                self.assertIn(f"`tensorstat events {folder} --write` makes a dump of its last steps", asked.stderr)

    def test_kept_rows_are_those_of_an_ordinary_dump(self):
        with tempfile.TemporaryDirectory() as plain, tempfile.TemporaryDirectory() as kept:
            self.train(plain, "nan", 12, alerts=(), keep=0, steps=13)
            self.assertEqual(self.train(kept, "nan", 12)[0], 12)
            rows = [each for each in rows_of(f"{plain}/rank_0/model/0") if each[0] >= 12 - KEEP]
            of_event = rows_of(f"{kept}/event_12/rank_0/model/0")
            for _, row in of_event:
                self.assertTrue(row.pop("Count"))  # a rule needs it, so it is kept, too
            self.assertEqual(of_event, rows)

    def test_a_step_in_two_events_is_read_once(self):
        with tempfile.TemporaryDirectory() as folder:
            self.train(folder, "nan", 12, then="write", steps=16)  # NaN comes back by the parameters
            events = sorted(map(str, pathlib.Path(folder).glob("event_*")))
            self.assertGreater(len(events), 1)
            answers = [subprocess.run([COMMAND, "origin", each], capture_output=True, text=True).stdout for each in (folder, events[0])]
            self.assertIn("NaN in 1 (Fault), forward, iteration 12", answers[0])
            self.assertEqual(answers[0], answers[1])
            last = max(int(each.name) for each in pathlib.Path(events[-1]).glob("rank_0/model/0/*"))
            for rows in (tensorstat.read(folder), tensorstat.follow(folder, findings=False, idle=0)):
                keys = [tuple(row[key] for key in ("iteration", "op name", "io", "slot", "timestamp")) for row in rows]
                self.assertEqual(len(keys), len(set(keys)))
                self.assertEqual({each[0] for each in keys}, set(range(12 - KEEP, last + 1)))

    def test_events_of_two_runs_are_not_one_run(self):
        with tempfile.TemporaryDirectory() as folder:
            self.train(folder, "nan", 12, seed=1)
            self.train(folder, "nan", 14, seed=2)
            process = subprocess.run([COMMAND, "origin", folder], capture_output=True, text=True)
            self.assertEqual(process.returncode, 3)
            self.assertIn(f"{folder}/event_12 and {folder}/event_14 are two runs: name one of them", process.stderr)
            self.assertEqual(subprocess.run([COMMAND, "origin", f"{folder}/event_14"], capture_output=True).returncode, 1)

    def test_a_run_that_replaces_or_resumes_minds_events(self):
        with tempfile.TemporaryDirectory() as folder:
            model = torch.nn.Linear(2, 2)
            self.train(folder, "nan", 12)
            with tensorstat.watch(model, path=folder, keep=2, resume=True) as w:
                self.assertEqual(w.iteration, 13)
            with tensorstat.watch(model, path=folder, keep=2, exist="replace") as w:
                self.assertEqual(w.iteration, 0)
            self.assertEqual([each.name for each in pathlib.Path(folder).iterdir()], ["rank_0"])

    def test_alerts_change_no_row_of_a_dump_that_is_written(self):
        with tempfile.TemporaryDirectory() as plain, tempfile.TemporaryDirectory() as alerted:
            self.train(plain, "nan", 12, alerts=(), keep=0, steps=13)
            step, alerts = self.train(alerted, "nan", 12, keep=0)
            self.assertEqual((step, alerts[0].event, len(alerts[0].history)), (12, None, 1))
            self.assertEqual(rows_of(f"{plain}/rank_0/model/0"), rows_of(f"{alerted}/rank_0/model/0"))

    def test_the_first_step_and_one_that_did_not_end(self):
        with tempfile.TemporaryDirectory() as folder:
            step, alerts = self.train(folder, "nan", 0)
            self.assertEqual((step, [iteration for iteration, _ in alerts[0].history]), (0, [0]))
        with tempfile.TemporaryDirectory() as folder, self.assertLogs("tensorstat", logging.WARNING) as log:
            model = torch.nn.Sequential(torch.nn.Linear(4, 4), fault_class()("nan"))
            model[1].is_on = True
            with self.assertRaises(ZeroDivisionError), tensorstat.watch(model, path=folder, alerts="nan", keep=3):
                model(torch.randn(2, 4))
                raise ZeroDivisionError
            self.assertTrue(os.path.exists(f"{folder}/event_0/rank_0/model/0/0/statistic.csv"))
            self.assertIn("step 0: 1/forward output 0", "\n".join(log.output))

    def test_keep_without_alerts(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertIsNone(self.train(folder, "nan", 5, alerts=(), keep=3, steps=12))
            self.assertEqual([str(path.relative_to(folder)) for path in pathlib.Path(folder).rglob("*") if path.is_file()
                              and ".dump_metadata" not in path.parts], ["rank_0/last_steps.ring", "rank_0/model/watch.ndjson"])
            process = subprocess.run([COMMAND, "events", "--write", folder], capture_output=True, text=True)
            self.assertEqual((process.returncode, process.stderr), (0, ""))
            self.assertEqual(sorted(int(each.name) for each in pathlib.Path(folder).glob("event_11/rank_0/model/0/*")), [8, 9, 10, 11])

    def test_keep_with_msprobes_config_leaves_events_alone(self):
        rows = []
        for keep in (0, 2):
            with tempfile.TemporaryDirectory() as folder, self.assertLogs("tensorstat", logging.WARNING):
                model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Tanh())
                config = json.dumps({"task": "statistics", "dump_path": folder, "level": "L0", "statistics": {"list": ["Tanh"]}})
                with tensorstat.watch(model, config=config, alerts="nan", keep=keep) as w:
                    for step in range(8):
                        model(torch.full((2, 3), math.nan if step == 6 else 1.0)).sum().backward()
                        alerts = w.step().alerts
                        rows += [(step, alert.op_name, alert.tensors) for alert in alerts]
                made = sorted(name for name in os.listdir(folder) if not name.startswith("."))
                steps = [f"step{step}" for step in range(8)]
                self.assertEqual(made, ["alerts.ndjson", *steps] if keep == 0 else ["alerts.ndjson", "event_6", "last_steps.ring"])
                if keep:
                    written = rows_of(f"{folder}/event_6/rank_0/Net/0")
                    self.assertEqual({(step, row["Op Type"]) for step, row in written}, {(step, "Tanh") for step in (4, 5, 6)})
        self.assertEqual(rows[:len(rows) // 2], rows[len(rows) // 2:])

    def test_further_steps_follow_an_event(self):
        with tempfile.TemporaryDirectory() as folder:
            self.train(folder, "inf", 12, then="write", keep=(3, 2), alerts="inf and op_name == 1/forward", steps=20)
            steps = sorted(int(each.name) for each in pathlib.Path(folder).glob("event_12/rank_0/model/0/*"))
            self.assertEqual(steps, [9, 10, 11, 12, 13, 14])

    def test_functions_are_called_and_what_they_raise_is_logged(self):
        told = []

        def raises(alert):
            told.append(alert)
            raise ZeroDivisionError("mine")
        with tempfile.TemporaryDirectory() as folder, self.assertLogs("tensorstat", logging.WARNING) as log:
            self.assertIsNone(self.train(folder, "spike", 20, then=[raises, "write"], alerts=RULES[2], steps=30))
        self.assertEqual([(alert.step, alert.op_name) for alert in told], [(20, "1/forward")])
        self.assertGreater(told[0].value, told[0].limit)
        self.assertEqual((os.path.basename(told[0].file), told[0].line > 0), ("watch_alerts_test.py", True))
        self.assertIn("the function of then raised for an alert, and training goes on: ZeroDivisionError: mine", log.output[0])

    def test_a_full_disk_at_the_event(self):
        with tempfile.TemporaryDirectory() as folder:
            mounted = ["unshare", "-m", "sh", "-c", 'mount -t tmpfs -o size=2M tmpfs "$0" && exec "$@"', folder]
            if subprocess.run([*mounted, "true"], capture_output=True).returncode != 0:
                self.skipTest("wants root, to mount a small disk")
            ran = subprocess.run([*mounted, sys.executable, __file__, "--small-disk", folder], capture_output=True, text=True)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn("the event of step 5 is not written as a whole", ran.stderr)
        self.assertEqual(ran.stdout.split(), ["2", "3", "4", "5"])  # the steps are not lost

    def test_two_watches_in_one_folder_keep_both(self):
        with tempfile.TemporaryDirectory() as folder:
            models = [torch.nn.Linear(4, 4) for _ in range(2)]
            watches = [tensorstat.watch(model, path=folder, keep=2) for model in models]
            for _ in range(3):
                for model, each in zip(models, watches):
                    model(torch.randn(2, 4))
                    each.step()
            for each in watches:
                each.close()
            self.assertEqual(sorted(os.listdir(f"{folder}/rank_0"))[:2], ["last_steps.ring", "last_steps_2.ring"])
            again = tensorstat.watch(models[0], path=folder, keep=2)
            models[0](torch.randn(2, 4))
            again.step()
            again.close()
            self.assertIn("last_steps.old.ring", os.listdir(f"{folder}/rank_0"))

    def test_a_forked_child_writes_nothing(self):
        with tempfile.TemporaryDirectory() as folder:
            model = torch.nn.Linear(4, 4)
            with tensorstat.watch(model, path=folder, alerts="nan", keep=2, then="stop") as w:
                model(torch.randn(2, 4))
                w.step()
                child = os.fork()
                if child == 0:
                    try:
                        model(torch.full((2, 4), math.nan))
                        w.step()
                    finally:
                        os._exit(7)
                self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 7)
                model(torch.randn(2, 4))
                self.assertFalse(w.step())
            self.assertEqual(list(pathlib.Path(folder).glob("event_*")), [])

    def test_all_ranks_stop_in_the_same_step(self):
        with tempfile.TemporaryDirectory() as folder:
            code = f"import watch_alerts_test as t, sys; t.distributed_job(int(sys.argv[1]), {folder!r})"
            jobs = [subprocess.Popen([sys.executable, "-c", code, str(rank)], stdout=subprocess.PIPE, text=True,
                                     cwd=os.path.dirname(os.path.abspath(__file__))) for rank in range(2)]
            outputs = [job.communicate(timeout=120)[0] for job in jobs]
            self.assertEqual(outputs, ["[7, 1, 0]\n", "[7, 1, 1]\n"])
            self.assertEqual(sorted(os.listdir(f"{folder}/run/event_7")), ["rank_1"])

    def test_the_example(self):
        example = pathlib.Path(__file__).resolve().parents[2] / "stats/examples/alerts.py"
        with tempfile.TemporaryDirectory() as folder:
            lines = subprocess.run([sys.executable, "-B", example, folder], capture_output=True, text=True).stdout.splitlines()
            self.assertEqual([lines[0], len(lines)], ["step 60: the gradient of 0.weight", 7])
            self.assertTrue(os.path.exists(f"{folder}/event_60/rank_0/model/0/55/statistic.csv"))

    def test_what_makes_no_sense_is_refused(self):
        model = torch.nn.Linear(4, 4)
        with tempfile.TemporaryDirectory() as folder:
            for options, words in (({"alerts": "max >"}, "a number should follow 'max >', and the end does; at character 6"),
                                   ({"alerts": ["nan"], "then": "halt"}, "then has 'halt'; it can have write, save tensors, warn, stop")):
                with self.assertRaises(tensorstat.Error) as refused:
                    tensorstat.watch(model, path=folder, **options)
                self.assertIn(words, str(refused.exception))


def on_a_small_disk(folder):
    """Prints the steps of an event for which there was no room at first."""
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), fault_class()("nan"))
    filler = os.path.join(folder, "filler")
    with tensorstat.watch(model, path=folder, alerts="nan", keep=3) as w:
        for step in range(6):
            model[1].is_on = step == 5
            if step == 5:
                with open(filler, "wb", buffering=0) as file, contextlib.suppress(OSError):
                    while file.write(bytes(4096)):
                        pass
            model(torch.randn(2, 4))
            w.step()
        os.remove(filler)
    subprocess.run([COMMAND, "events", "--write", folder], capture_output=True, check=False)
    print(*sorted(int(each.name) for each in pathlib.Path(folder).glob("event_5/rank_0/model/0/*")))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--small-disk"]:
        on_a_small_disk(sys.argv[2])
        sys.exit()
    unittest.main()
