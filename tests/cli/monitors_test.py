"""What other tools' monitors write is read as rows: msprobe's csv, as its CSVWriterWithAD has it, and the statistics log of
nvdlfw-inspect, through Python's own logging. `report` names a planted NaN in both, and the store follows them."""
import csv
import io
import json
import logging
import math
import os
import subprocess
import tempfile
import unittest

COMMAND = os.environ["COMMAND"]


def run(*arguments):
    return subprocess.run([COMMAND, *arguments], capture_output=True, text=True)


def rows_of(path):
    """{(type, name, rank, iteration): {statistic: text}}, and how many rows there are."""
    ran = run(path, "--format", "csv", "--columns", "rank,iteration")
    assert ran.returncode == 0, ran.stderr
    rows = list(csv.DictReader(io.StringIO(ran.stdout)))
    statistics = ("Max Value", "Min Value", "L2Norm Value", "NaN Count")
    return {(row["Op Type"], row["Op Name"], row["Rank"], row["Iteration"]): {name: row[name] for name in statistics if row.get(name)}
            for row in rows}, len(rows)


PATIENCE = 60  # seconds that a slow machine may take


def top_until_nan(folder):
    return subprocess.Popen([COMMAND, "top", folder, "--until", "nan"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


class MsprobeMonitor(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def write(self, rank, prefix, steps, value_of, micro=False):
        """A file has two steps. pandas rounds to 6 decimals and writes nan for NaN and for what is missing."""
        place = os.path.join(self.folder, f"Dec03_21-34-40-rank{rank}-rtpc")
        os.makedirs(place, exist_ok=True)
        for step in steps:
            path = os.path.join(place, f"{prefix}_{step // 2 * 2}-{step // 2 * 2 + 1}.csv")
            is_new = not os.path.exists(path)
            with open(path, "a", newline="") as file:
                lines = csv.writer(file, lineterminator="\n")
                if is_new:
                    lines.writerow(["vpp_stage", "name", "step"] + ["micro_step"] * micro + ["min", "max", "norm", "nans", "shape", "id"])
                for stage, name in ((0, "layers.0.weight"), (1, "layers.1.weight")):
                    value = value_of(rank, step, name)
                    texts = ["nan" if math.isnan(value) else round(each, 6) for each in (-value, value, 2 * value)]
                    for number in range(2 if micro else 1):
                        lines.writerow([stage, name, step] + [number] * micro + texts + [int(math.isnan(value)), "[4, 4]", "a,b"])

    def test_rows(self):
        self.write(3, "grad_unreduced", [6], lambda *_: 0.1234567)
        self.write(3, "param_origin", [6], lambda *_: 1.5)
        self.write(3, "actv", [6], lambda *_: math.nan, micro=True)
        rows, count = rows_of(self.folder)
        self.assertEqual(rows["Gradient", "layers.0.weight/grad_unreduced", "3", "6"],
                         {"Min Value": "-0.123457", "Max Value": "0.123457", "L2Norm Value": "0.246913", "NaN Count": "0"})
        self.assertEqual(rows["Parameter", "vpp1.layers.1.weight", "3", "6"]["Max Value"], "1.5")
        self.assertEqual(rows["actv", "layers.0.weight/actv", "3", "6"], {"Min Value": "nan", "Max Value": "nan", "L2Norm Value": "nan", "NaN Count": "1"})
        self.assertEqual(count, 8)

    def test_report_and_store(self):
        value_of = lambda rank, step, name: math.nan if rank == 1 and step >= 9 and name == "layers.1.weight" else 1.5
        for rank in (0, 1):
            self.write(rank, "grad_reduced", range(9), value_of)
        store = os.path.join(self.folder, "runs.db")
        has_store = run("store", "add", store, self.folder).returncode == 0
        for rank in (0, 1):
            self.write(rank, "grad_reduced", range(9, 14), value_of)
        answer = json.loads(run("report", self.folder, "--format", "json").stdout)
        first = answer["findings"][0]
        self.assertEqual((first["rule"], first["rank"], first["first_iteration"]), ("nan", 1, 9))
        self.assertIn("layers.1.weight/grad_reduced", first["op_name"])
        if has_store:  # the command has it where SQLite is installed
            self.assertEqual(run("store", "add", store, self.folder).returncode, 0)
            rows = run("store", "rows", store, "--format", "ndjson").stdout.splitlines()
            self.assertEqual(len(rows), 2 * 2 * 14)
            self.assertEqual(run("store", "add", store, self.folder).returncode, 0)
            self.assertEqual(len(run("store", "rows", store, "--format", "ndjson").stdout.splitlines()), len(rows))

    def test_top_waits_for_rows_that_are_written(self):
        with top_until_nan(self.folder) as waiting:
            for step in range(30):
                self.write(1, "actv", [step], lambda rank, step, name: math.nan if step == 25 else 1.5)
            output = waiting.communicate(timeout=PATIENCE)[0]
        self.assertEqual(waiting.returncode, 1)
        self.assertIn("NaN is first in output 0 of layers.0.weight/actv", output)
        self.assertIn("iteration 25", output)

    def test_a_csv_of_others_is_left(self):
        """Others name folders and files so, too. Only a file with the monitor's heading is taken from a folder."""
        self.write(0, "actv", [0], lambda *_: 1)
        place = os.path.join(self.folder, "Dec03_21-34-40-rank0-rtpc")
        with open(os.path.join(place, "loss_0-9.csv"), "w") as file:
            file.write("step,loss\n0,1.5\n")
        ran = run(self.folder, "--format", "csv")
        self.assertEqual((ran.returncode, ran.stderr, len(ran.stdout.splitlines())), (0, "", 3))

    def test_a_bad_line_is_named(self):
        self.write(0, "actv", [0], lambda *_: 1)
        path = os.path.join(self.folder, "Dec03_21-34-40-rank0-rtpc", "actv_0-1.csv")
        with open(path, "a") as file:
            file.write("0,layers.2,zero,1,1,1,0,,\n")
        self.assertIn("line 4: step is \"zero\", not a whole number", run(path, "--format", "json").stderr)

    def test_a_last_line_that_does_not_end_is_no_row(self):
        """The file was cut: 123.4 would become 12."""
        self.write(0, "actv", [0], lambda *_: 123.4)
        path = os.path.join(self.folder, "Dec03_21-34-40-rank0-rtpc", "actv_0-1.csv")
        with open(path) as file:
            whole = file.read()
        for end in range(whole.rindex("layers.1"), len(whole)):
            with open(path, "w") as file:
                file.write(whole[:end])
            ran = run(path, "--format", "csv")
            self.assertEqual((ran.returncode, len(ran.stdout.splitlines())), (3, 2), whole[:end])
            self.assertIn("line 3: the last line does not end: it may be cut off", ran.stderr)


class InspectLog(unittest.TestCase):
    def write(self, folder):
        place = os.path.join(folder, "nvdlfw_inspect_statistics_logs")
        os.makedirs(place)
        handler = logging.FileHandler(os.path.join(place, "nvdlfw_inspect_globalrank-2.log"), mode="w")
        handler.setFormatter(logging.Formatter("%(levelname)s - %(message)s"))
        log = logging.getLogger("statistics")
        log.propagate = False
        log.setLevel(logging.INFO)
        log.addHandler(handler)
        for step in range(30):
            for tensor, value in (("activation", 4.3188), ("gradient", 3.4e-5), ("weight", 1.5), ("wgrad", math.nan if step >= 20 else 0.25)):
                for statistic, number in (("max", value), ("min", -value), ("std", value), ("l2_norm", 8 * value), ("underflows%", 1)):
                    name = f"decoder.layers.1.fc1_{tensor}_{statistic}"
                    log.info(f"{name} \t\t\t\t iteration={step:06d} \t\t\t\t value={number:.4f}")
        log.removeHandler(handler)
        handler.close()

    def test_top_waits_for_rows_that_are_written(self):
        with tempfile.TemporaryDirectory() as folder, top_until_nan(folder) as waiting:
            self.write(folder)
            output = waiting.communicate(timeout=PATIENCE)[0]
        self.assertEqual(waiting.returncode, 1)
        self.assertIn("NaN is first in output 0 of decoder.layers.1.fc1_wgrad", output)
        self.assertIn("iteration 20", output)

    def test_rows_and_report(self):
        with tempfile.TemporaryDirectory() as folder:
            self.write(folder)
            rows, count = rows_of(folder)
            self.assertEqual((len(rows), count), (30 * 4, 30 * 4))
            name = "decoder.layers.1.fc1_"
            self.assertEqual(rows["Parameter", name + "weight", "2", "7"], {"Max Value": "1.5", "Min Value": "-1.5", "L2Norm Value": "12"})
            self.assertEqual(rows["gradient", name + "gradient", "2", "7"], {"L2Norm Value": "3e-04"})
            self.assertEqual(rows["Gradient", name + "wgrad", "2", "29"]["Max Value"], "nan")
            first = json.loads(run("report", folder, "--format", "json").stdout)["findings"][0]
            self.assertEqual((first["rule"], first["rank"], first["first_iteration"], first["op_name"]), ("nan", 2, 20, "decoder.layers.1.fc1_wgrad"))

    def test_a_last_line_that_does_not_end_is_left_out(self):
        with tempfile.TemporaryDirectory() as folder:
            self.write(folder)
            path = os.path.join(folder, "nvdlfw_inspect_statistics_logs", "nvdlfw_inspect_globalrank-2.log")
            with open(path) as file:
                whole = file.read()
            with open(path, "w") as file:
                file.write(whole[:whole.index("value=12.0000") + len("value=1")])
            ran = run(path, "--format", "csv", "--columns", "iteration")
            self.assertEqual(ran.returncode, 3)
            self.assertIn("the last line does not end: it may be cut off", ran.stderr)
            rows = list(csv.DictReader(io.StringIO(ran.stdout)))
            self.assertEqual([(row["Op Type"], row["L2Norm Value"]) for row in rows],
                             [("activation", "34.5504"), ("gradient", "3e-04"), ("Parameter", "")])


if __name__ == "__main__":
    unittest.main()
