"""Files of other tools, read by readers that are not ours: TensorBoard's event files by protoc's reader of the published messages
and a CRC-32C that is written here bit by bit; msprobe's trend database by the queries of its own reader; OpenMetrics by Prometheus'
parser where Debian's python3-prometheus-client is installed."""
import importlib
import math
import os
import random
import shutil
import sqlite3
import struct
import subprocess
import sys
import tempfile
import unittest

COMMAND = os.environ["COMMAND"]
HERE = os.path.dirname(os.path.abspath(__file__))
HEADING = ("Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape,Max Value,Min Value,Avg Value,"
           "L2Norm Value,NaN Count,Exponents\n")
SEED = 3


def crc32c(data):
    """RFC 3720: reflected, polynomial 0x1edc6f41, all ones before and after."""
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff


def records(data):
    """TFRecord: length, masked checksum of it, bytes, masked checksum of them."""
    def unmasked(masked):
        rotated = (masked - 0xa282ead8) & 0xffffffff
        return (rotated >> 17 | rotated << 15) & 0xffffffff
    offset = 0
    while offset < len(data):
        length, check = struct.unpack_from("<QI", data, offset)
        assert unmasked(check) == crc32c(data[offset:offset + 8])
        record = data[offset + 12:offset + 12 + length]
        (check,) = struct.unpack_from("<I", data, offset + 12 + length)
        assert unmasked(check) == crc32c(record)
        yield record
        offset += 16 + length


class Exports(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.dump = os.path.join(self.folder, "dump")
        self.random = random.Random(SEED)
        self.rows = {}  # (rank, iteration, type, name, io, slot): max, min, avg, l2norm, nan, exponents

    def write(self, rows, ranks=2, iterations=5):
        for rank in range(ranks):
            for iteration in range(iterations):
                path = os.path.join(self.dump, f"rank_{rank}", "net", "0", str(iteration))
                os.makedirs(path)
                with open(os.path.join(path, "statistic.csv"), "w") as file:
                    file.write(HEADING)
                    for index, (kind, name, io, slot, values) in enumerate(rows(rank, iteration)):
                        self.rows[rank, iteration, kind, name, io, slot] = values
                        time = 1_700_000_000_000_000 + 1_000_000 * iteration + index
                        file.write(f'{kind},{name},0,0,{time},{io},{slot},64,float32,"(16)",' + ",".join(map(str, values)) + "\n")

    def convert(self, output, to, status=0):
        ran = subprocess.run([COMMAND, "convert", self.dump, "-o", output, "--to", to], capture_output=True, text=True)
        self.assertEqual(ran.returncode, status, ran.stderr)
        return ran.stderr

    def values(self):
        size = self.random.uniform(0.1, 9)
        return [size, -size, size / 7, size * 3, 0, "zero:1 subnormal:0 -3:2 -2:5 1:8 inf:0 nan:0"]

    def event_type(self):
        """The Event that protoc makes of its .proto."""
        if not shutil.which("protoc"):
            self.skipTest("there is no protoc")
        try:
            import google.protobuf  # noqa: F401
        except ImportError:
            self.skipTest("python3-protobuf is not installed")
        subprocess.run(["protoc", f"--proto_path={HERE}", f"--python_out={self.folder}", "tfevents.proto"], check=True)
        sys.path.insert(0, self.folder)
        self.addCleanup(sys.path.remove, self.folder)
        return importlib.import_module("tfevents_pb2").Event

    def test_event_files_are_read_by_protoc(self):
        Event = self.event_type()

        def rows(rank, iteration):
            yield "Linear", "a.b/forward", "output", 0, self.values()
            yield "Parameter", "a.b", "output", 0, ["nan", "nan", "nan", "nan", 3, ""]
            yield "Gradient", "a.b", "input", 0, ["inf", -1.5, "inf", 1e300, 0, ""]
        self.write(rows)
        out = os.path.join(self.folder, "events")
        notices = self.convert(out, "tensorboard")
        self.assertIn("30 rows converted, into 2 files", notices)
        self.assertIn("10 numbers are Inf or 0 in TensorBoard's float32", notices)  # 1e300
        self.assertEqual(sorted(os.listdir(out)), ["rank_0", "rank_1"])
        seen = 0
        for rank in range(2):
            (name,) = os.listdir(os.path.join(out, f"rank_{rank}"))
            self.assertIn("tfevents", name)
            with open(os.path.join(out, f"rank_{rank}", name), "rb") as file:
                events = [Event.FromString(record) for record in records(file.read())]
            self.assertEqual((events[0].file_version, events[0].wall_time), ("brain.Event:2", 0))  # before all rows
            summaries = {}
            for event in events[1:]:
                self.assertEqual(int(event.wall_time), 1_700_000_000 + event.step)
                for value in event.summary.value:
                    self.assertNotIn((event.step, value.tag), summaries)
                    summaries[event.step, value.tag] = value
            for (of_rank, iteration, kind, name, io, slot), values in self.rows.items():
                if of_rank != rank:
                    continue
                where = f"{kind}/{name}/{io}.{slot}" if kind in ("Parameter", "Gradient") else f"{name}/{io}.{slot}"
                for statistic, wanted in zip(("max", "min", "avg", "l2norm", "nan_count"), values):
                    got = summaries.pop((iteration, f"{statistic}/{where}")).simple_value
                    wanted = float(wanted)
                    as_float = math.inf if wanted == 1e300 else struct.unpack("f", struct.pack("f", wanted))[0]
                    self.assertTrue(got == as_float or (math.isnan(got) and math.isnan(wanted)), (where, got, wanted))
                    seen += 1
                if values[5]:
                    histogram = summaries.pop((iteration, f"exponents/{where}")).histo
                    buckets = {limit - 1: count for limit, count in zip(histogram.bucket_limit, histogram.bucket) if count}
                    self.assertEqual(buckets, {-3: 2, -2: 5, 1: 8})
                    self.assertEqual(list(histogram.bucket_limit), sorted(set(histogram.bucket_limit)))
                    self.assertEqual((histogram.min, histogram.max, histogram.num), (-3, 2, 15))
                    self.assertEqual((histogram.sum, histogram.sum_squares), (-3 * 2 - 2 * 5 + 8, 9 * 2 + 4 * 5 + 8))
            self.assertEqual(summaries, {})
        self.assertEqual(seen, 150)

    def test_a_tag_of_an_event_file_has_one_value_in_a_step(self):
        Event = self.event_type()
        row = '{0},{1},0,0,{2},output,0,64,float32,"(16)",{2},0,0,0,0,\n'
        for graph, iteration in (0, 0), (0, 1), (1, 0), (1, 1):
            path = os.path.join(self.dump, "rank_0", "net", str(graph), str(iteration))
            os.makedirs(path)
            with open(os.path.join(path, "statistic.csv"), "w") as file:
                file.write(HEADING)
                for call in range(1, 4 - graph):  # a module that is called several times in a step
                    file.write(row.format("ReLU", "act/forward", 100 * graph + 10 * iteration + call))
                file.write(row.format("Linear", "fc/forward", 7 + iteration) if graph == 0 else "")
        out = os.path.join(self.folder, "events")
        self.convert(out, "tensorboard")
        (name,) = os.listdir(os.path.join(out, "rank_0"))
        values = {}
        with open(os.path.join(out, "rank_0", name), "rb") as file:
            for event in map(Event.FromString, records(file.read())):
                for value in event.summary.value:
                    self.assertNotIn((value.tag, event.step), values)
                    values[value.tag, event.step] = value.simple_value
        tags = {tag.removeprefix("max/"): [values[tag, 0], values[tag, 1]] for tag, _ in values if tag.startswith("max/")}
        self.assertEqual(tags, {"act/forward/output.0": [1, 11], "act/forward/output.0#2": [2, 12], "act/forward/output.0#3": [3, 13],
                                "act/forward/output.0/graph.1": [101, 111], "act/forward/output.0/graph.1#2": [102, 112],
                                "fc/forward/output.0": [7, 8]})

    def test_a_trend_database_answers_the_queries_of_its_reader(self):
        def rows(rank, iteration):
            yield "Linear", "Module.layers.1.fc.Linear.forward.0", "output", 0, self.values()
            yield "Linear", "Module.layers.1.fc.Linear.forward.1", "output", 0, self.values()
            yield "Linear", "Module.layers.1.fc.Linear.backward.0", "input", 1, self.values()
            yield "Linear", "a/forward", "output", 0, ["nan", "inf", "-inf", 3e9, 4, ""]
            yield "Gradient", "a.weight", "input", 0, [1e9, -1e9, *self.values()[2:]]  # the greatest that are kept
        self.write(rows)
        out = os.path.join(self.folder, "run.trend.db")
        notices = self.convert(out, "msprobe-trend")
        for words in ("50 rows converted", "10 NaN became no value", "20 Inf became", "10 values were clipped"):
            self.assertIn(words, notices)
        db = sqlite3.connect(out)
        db.row_factory = sqlite3.Row
        stats = db.execute("SELECT * FROM global_stats ORDER BY ROWID DESC LIMIT 1").fetchone()
        self.assertEqual((stats["max_rank"], stats["min_step"], stats["max_step"]), (1, 0, 4))
        metrics = [name for name in stats.keys() if name not in ("max_rank", "min_step", "max_step")]
        self.assertEqual(sorted(metrics), ["backward", "forward", "parameters_grad"])
        self.assertEqual(stats["forward"].split(",")[:4], ["norm", "max", "min", "mean"])
        trend = {}
        for metric in metrics:
            (number,) = db.execute("SELECT metric_id FROM monitoring_metrics WHERE metric_name = ?", (metric,)).fetchone()
            for rank in range(2):
                for row in db.execute(
                        "SELECT t.rank, t.step, t.target_id, t.norm, t.max, t.min, t.mean, t.nans, m.target_name, m.vpp_stage, m.micro_step "
                        "FROM trend_data t JOIN monitoring_targets m ON t.target_id = m.target_id WHERE t.metric_id = ? AND t.rank = ?",
                        (number, rank)):
                    trend[metric, row["target_name"], row["micro_step"], rank, row["step"]] = tuple(row[name] for name in ("norm", "max", "min", "mean", "nans"))
        self.assertEqual(len(trend), 50)
        for rank in range(2):
            for iteration in range(5):
                for kind, name, io, slot, metric, target, micro in (
                        ("Linear", "Module.layers.1.fc.Linear.forward.0", "output", 0, "forward", "Module.layers.1.fc.Linear.output.0", 0),
                        ("Linear", "Module.layers.1.fc.Linear.forward.1", "output", 0, "forward", "Module.layers.1.fc.Linear.output.0", 1),
                        ("Linear", "Module.layers.1.fc.Linear.backward.0", "input", 1, "backward", "Module.layers.1.fc.Linear.input.1", 0),
                        ("Gradient", "a.weight", "input", 0, "parameters_grad", "a.weight.input.0", 0)):
                    most, least, avg, norm, nan, _ = self.rows[rank, iteration, kind, name, io, slot]
                    self.assertEqual(trend[metric, target, micro, rank, iteration], (norm, most, least, avg, nan))
                self.assertEqual(trend["forward", "a.output.0", 0, rank, iteration], (1e9, None, 1e9 + 1, -1e9 - 1, 4))

    def test_a_call_that_comes_again_has_a_micro_step(self):
        self.write(lambda rank, iteration: [("Add", "add", "output", 0, self.values())] * 3, ranks=1, iterations=2)
        out = os.path.join(self.folder, "again.trend.db")
        self.convert(out, "msprobe-trend")
        rows = sqlite3.connect(out).execute("SELECT step, micro_step FROM trend_data JOIN monitoring_targets USING (target_id) ORDER BY 1, 2")
        self.assertEqual(rows.fetchall(), [(step, micro) for step in range(2) for micro in range(3)])

    def test_open_metrics(self):
        self.write(lambda rank, iteration: [("Add", f"add{index}", "output", 0, self.values()) for index in range(30)] +
                   ([("Log", "log", "output", 0, ["nan", "nan", "nan", "nan", 3, ""])] if (rank, iteration) == (1, 3) else []))
        ran = subprocess.run([COMMAND, "report", self.dump, "--format", "openmetrics"], capture_output=True, text=True)
        self.assertEqual((ran.returncode, ran.stderr), (1, ""))
        lines = ran.stdout.splitlines()
        self.assertEqual(lines[-1], "# EOF")
        self.assertLess(len(lines), 40)
        self.assertIn('tensorstat_findings{rule="nan",severity="error"} 1', lines)
        self.assertIn('tensorstat_findings{rule="jump",severity="warning"} 0', lines)
        self.assertIn('tensorstat_last_iteration{rank="1"} 4', lines)
        self.assertIn('tensorstat_rows{rank="1"} 151', lines)
        self.assertIn('tensorstat_last_row_timestamp_seconds{rank="0"} 1700000004.000029', lines)
        self.assertNotIn("add", ran.stdout)
        try:
            from prometheus_client.openmetrics.parser import text_string_to_metric_families
        except ImportError:
            return
        families = {family.name: family for family in text_string_to_metric_families(ran.stdout)}
        self.assertEqual(set(families), {"tensorstat_findings", "tensorstat_rows", "tensorstat_last_iteration",
                                         "tensorstat_last_row_timestamp_seconds"})
        self.assertEqual(sum(sample.value for sample in families["tensorstat_rows"].samples), 301)

    def test_names_that_are_no_utf_8(self):
        """Protocol buffers refuse a record with such a tag, and Python's sqlite3 such a text."""
        path = os.path.join(self.dump, "rank_0", "net", "0", "0")
        os.makedirs(path)
        with open(os.path.join(path, "statistic.csv"), "wb") as file:
            file.write(HEADING.encode())
            for value, name in enumerate((b"a\xff", b"a\xfe", b"b\xc3\xbc", b"\xed\xa0\x80")):
                file.write(b'Add,' + name + b',0,0,%d,output,0,64,float32,"(16)",%d,0,0,0,0,\n' % (value, value))
        expected = {"a\ufffd": 0, "a\ufffd#2": 1, "b\u00fc": 2, "\ufffd\ufffd\ufffd": 3}
        out = os.path.join(self.folder, "x.trend.db")
        self.convert(out, "msprobe-trend")
        rows = sqlite3.connect(out).execute("SELECT target_name, micro_step, max FROM trend_data JOIN monitoring_targets USING (target_id)")
        self.assertEqual({name.removesuffix(".output.0") + ("#2" if step else ""): value for name, step, value in rows}, expected)
        Event = self.event_type()
        events = os.path.join(self.folder, "events")
        self.convert(events, "tensorboard")
        with open(os.path.join(events, "rank_0", "events.out.tfevents.0.tensorstat"), "rb") as file:
            values = [value for event in map(Event.FromString, records(file.read())) for value in event.summary.value]
        self.assertEqual({value.tag.removeprefix("max/").replace("/output.0", ""): value.simple_value for value in values
                          if value.tag.startswith("max/")}, expected)

    def test_what_is_wrong_is_said(self):
        self.write(lambda rank, iteration: [("Add", "add", "output", 0, self.values())])
        taken = os.path.join(self.folder, "taken.trend.db")
        open(taken, "w").close()
        self.assertIn("taken.trend.db", self.convert(taken, "msprobe-trend", status=5))
        self.assertIn(".trend.db", self.convert(os.path.join(self.folder, "out.db"), "msprobe-trend", status=2))
        for to, out in (("tensorboard", "events"), ("msprobe-trend", "x.trend.db")):
            ran = subprocess.run([COMMAND, "convert", self.dump + "/none", "-o", os.path.join(self.folder, out), "--to", to],
                                 capture_output=True, text=True)
            self.assertEqual(ran.returncode, 3)
            self.assertIn("no such file or folder", ran.stderr)
            self.assertFalse(os.path.exists(os.path.join(self.folder, out)))
        self.assertEqual(crc32c(b"123456789"), 0xe3069283)


if __name__ == "__main__":
    unittest.main()
