"""tensorstat.follow: every row once and in order, findings as they come, in a dump that another thread writes; the examples for
W&B and MLflow, against stand-ins."""
import os
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import unittest

import tensorstat

HEADING = ("Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape,Max Value,Min Value,Avg Value,"
           "L2Norm Value,NaN Count,Positive Inf Count,Negative Inf Count\n")
EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "stats", "examples")


def row(kind, name, size, nan=0):
    return f'{kind},{name},0,0,{int(time.time() * 1e6)},output,0,64,float32,"(16)",{size!r},-1.0,{size / 2!r},{size * 2!r},{nan},0,0\n'


class Follow(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.dump = os.path.join(folder.name, "dump")

    def write(self, iteration, rows, rank=0):
        folder = os.path.join(self.dump, f"rank_{rank}", "net", "0", str(iteration))
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "statistic.csv"), "a") as file:
            if file.tell() == 0:
                file.write(HEADING)
            for each in rows:  # a row in two pieces: a half one must wait
                file.write(each[:20])
                file.flush()
                file.write(each[20:])
                file.flush()

    def iteration(self, i, nan=False):
        self.write(i, [row("Loss", "loss", 1.0 + 0.01 * (i % 3)),
                       row("Gradient", "a.weight", float("nan") if nan else 2.0 + 0.01 * (i % 5), 3 if nan else 0)])

    def test_rows_come_once_and_in_order_while_they_are_written(self):
        def work():
            for i in range(40):
                self.iteration(i)
                time.sleep(0.02)

        writer = threading.Thread(target=work)
        writer.start()
        news = list(tensorstat.follow(self.dump, findings=False, idle=3))
        writer.join()
        self.assertEqual([(each["iteration"], each["op name"]) for each in news],
                         [(i, name) for i in range(40) for name in ("loss", "a.weight")])
        self.assertTrue(all(isinstance(each, tensorstat.Row) for each in news))
        self.assertEqual(news[1]["l2norm"], 4.0)
        self.assertTrue(news[1]["path"].endswith("statistic.csv"))

    def test_what_came_between_two_looks_is_in_order(self):
        self.write(0, [row("Loss", "loss", 1.0)])
        os.makedirs(os.path.join(self.dump, "rank_0", "net", "0", "1"))  # its rows come later
        news = tensorstat.follow(self.dump, findings=False, idle=1)
        next(news)
        self.write(0, [row("Gradient", "a.weight", 2.0)])
        for i in range(1, 12):
            self.iteration(i)
        self.assertEqual([(each["iteration"], each["op name"]) for each in news],
                         [(0, "a.weight")] + [(i, name) for i in range(1, 12) for name in ("loss", "a.weight")])

    def test_a_finding_comes_once_and_while_the_run_goes_on(self):
        stop, findings = threading.Event(), []

        def work():
            for i in range(400):
                self.iteration(i, nan=i >= 30)
                if stop.wait(0.02):
                    return

        writer = threading.Thread(target=work)
        writer.start()
        for news in tensorstat.follow(self.dump, rows=False, idle=8):
            findings.append(news)
            if not stop.is_set():
                self.assertTrue(writer.is_alive(), "the finding comes before the run ends")
                stop.set()
        writer.join()
        self.assertEqual([(each.rule, each.first_iteration, each.op_name) for each in findings], [("nan", 30, "a.weight")])

    def test_replicas_that_differ_are_told(self):
        for i in range(3):
            self.iteration(i)
        news = tensorstat.follow(self.dump, rows=True, idle=6)
        for _ in range(6):  # the rows so far
            next(news)
        with open(os.path.join(self.dump, "rank_0", "net", "watch.ndjson"), "w") as file:
            file.write('{"kind": "replica", "iteration": 3, "op_type": "Parameter", "op_name": "a", "ranks": [1], "replicas": 4}\n')
        self.iteration(3)
        findings = [each for each in news if not isinstance(each, tensorstat.Row)]
        self.assertEqual([(each.rule, each.first_iteration, each.rank, each.op_name) for each in findings], [("replica", 3, 1, "a")])

    def test_what_is_wrong_is_said(self):
        with self.assertRaises(tensorstat.Error):
            next(tensorstat.follow(self.dump, limits={"nan": 3}))
        self.assertEqual(list(tensorstat.follow(os.path.join(self.dump, "nowhere"), idle=0.1)), [])

    def run_example(self, name, module, stand_in):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, module + ".py"), "w") as file:
                file.write(textwrap.dedent(stand_in))
            for i in range(34):
                self.iteration(i, nan=i >= 30)
            path = os.pathsep.join([folder, *filter(None, [os.environ.get("PYTHONPATH")])])
            ran = subprocess.run([sys.executable, "-B", os.path.join(EXAMPLES, name), self.dump, "project", "1"], text=True,
                                 capture_output=True, env=os.environ | {"PYTHONPATH": path})
            self.assertEqual((ran.returncode, ran.stderr), (0, ""))
            return ran.stdout.splitlines()

    def test_the_example_for_wandb(self):
        lines = self.run_example("follow_wandb.py", "wandb", """
            import enum
            class AlertLevel(enum.Enum):
                ERROR = "ERROR"
                WARN = "WARN"
            class Run:
                def define_metric(self, name, step_metric): print("define", name, step_metric)
                def log(self, data): print("log", data)
                def alert(self, title, text, level): print("alert", title, level.value)
                def finish(self): print("finish")
            def init(project, name): return Run()
            """)
        self.assertEqual(lines[0], "define * iteration")
        self.assertIn("log {'rank 0/loss': 0.5, 'iteration': 0}", lines)
        self.assertIn("log {'rank 0/a.weight': nan, 'iteration': 33}", lines)
        self.assertEqual(sum(line.startswith("log") for line in lines), 68)
        self.assertEqual([line for line in lines if line.startswith("alert")], ["alert nan at iteration 30 ERROR"])
        self.assertEqual(lines[-1], "finish")

    def test_the_example_for_mlflow(self):
        lines = self.run_example("follow_mlflow.py", "mlflow", """
            import contextlib
            def set_experiment(name): print("experiment", name)
            @contextlib.contextmanager
            def start_run(run_name):
                yield
                print("end")
            def log_metric(key, value, step): print("metric", key, value, step)
            def set_tag(key, value): print("tag", key, value)
            """)
        self.assertIn("metric rank 0/loss 0.5 0", lines)
        self.assertEqual(sum(line.startswith("metric rank 0/a.weight") for line in lines), 30)  # no NaN
        self.assertEqual([line.split(",")[0] for line in lines if line.startswith("tag")], ["tag finding.nan.30 error nan"])


if __name__ == "__main__":
    unittest.main()
